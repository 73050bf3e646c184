"""Settings made on the page, kept in two files of the home: `settings.toml`, of the shape of
polyvox.toml, and `keys.toml`, a key for each provider. Both are the user's alone (0600).

Invariant: a file is the old one or the new one, whole, whatever happens while it is written; and
whoever changes one has read it under the same lock, so that nobody's change is lost.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from polyvox.errors import ConfigError, StoreError, StoreFull

SETTINGS = "settings.toml"
KEYS = "keys.toml"
LARGEST = 1_000_000
"""Bytes of a configuration file."""
_ABOUT = {
    SETTINGS: "What was changed on the page. polyvox.toml and the environment win over it.",
    KEYS: "Keys that were put in on the page. Those of polyvox.toml and the environment win.",
}


@dataclass(frozen=True, slots=True)
class StoredSettings:
    """The contents of the two files."""

    page: Mapping[str, Any] = field(default_factory=dict)
    keys: Mapping[str, str] = field(default_factory=dict, repr=False)


def read(home: Path) -> StoredSettings:
    """Read the two files; a `ConfigError` names the file that cannot be read and says what to
    do."""
    page = _table(home / SETTINGS)
    keys = _keys(home / KEYS)
    return StoredSettings(page, keys)


def write(home: Path, old: StoredSettings, new: StoredSettings) -> None:
    """Write the files that differ. A removed key goes before the address that it must not be sent
    to is written. `StoreError`: nothing changed."""
    if new.keys != old.keys:
        _write(home / KEYS, new.keys)
    if new.page != old.page:
        try:
            _write(home / SETTINGS, new.page)
        except StoreError:
            if new.keys != old.keys:
                with contextlib.suppress(StoreError):
                    _write(home / KEYS, old.keys)
            raise


@contextlib.contextmanager
def alone(home: Path) -> Iterator[None]:
    """Nobody else changes the files meanwhile, in no process."""
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = (home / "settings.lock").open("ab")
    except OSError as error:
        raise _unwritten(home / SETTINGS, error) from None
    with file:  # closing it lets go
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _table(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}
    return read_toml(path, "Correct that line, or delete the file: every change made on the page.")


def _keys(path: Path) -> dict[str, str]:
    """Its errors tell nothing of what is in it."""
    again = "Delete it, and put the keys in again on the settings page."
    try:
        keys = read_toml(path, again) if path.exists() else {}
    except ConfigError as error:
        if "TOML" not in error.message:
            raise
        raise ConfigError(f"{path} is not valid TOML.", again) from None
    if not all(isinstance(key, str) for key in keys.values()):
        raise ConfigError(f"{path} must have one text for each provider.", again)
    return keys


def read_toml(path: Path, hint: str) -> dict[str, Any]:
    """A file's tables. `hint` is for one that is not TOML."""
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
        if len(data) > LARGEST:
            raise ConfigError(f"{path} has more than {LARGEST:,} bytes.", "Check --config.")
        return tomllib.loads(data.decode("utf-8"))
    except FileNotFoundError:
        raise ConfigError(
            f"There is no configuration file {path}.", "Check --config or POLYVOX_CONFIG."
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not valid TOML: {error}.", hint) from None
    except RecursionError:
        raise ConfigError(f"{path} is nested too deeply.", "No setting needs that.") from None
    except OSError as error:
        name = "Name a file." if path.is_dir() else "Check its permissions."
        raise ConfigError(f"{path} cannot be read: {error.strerror}.", name) from None


def _write(path: Path, data: Mapping[str, Any]) -> None:
    """Write a file beside the old one, then rename it into place. The temporary name is always the
    same, so that a crash leaves at most one."""
    beside = path.with_name(f"{path.name}.new")
    text = f"# {_ABOUT[path.name]}\n{to_toml(data)}"
    try:
        beside.unlink(missing_ok=True)
        number = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(number, "wb") as file:  # noqa: PTH123 - a descriptor, with the mode it was given
            file.write(text.encode())
            file.flush()
            os.fsync(number)
        beside.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise _unwritten(path, error) from None
    _settle(path.parent)


def _settle(folder: Path) -> None:
    """Make the rename survive a power cut, where the file system can."""
    with contextlib.suppress(OSError):
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


def _unwritten(path: Path, error: OSError) -> StoreError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return StoreFull(
            f"There is no space left for {path}.", "Free some space and try again; it is as before."
        )
    return StoreError(
        f"{path} cannot be written: {error.strerror}.",
        "Make the folder writable, or set POLYVOX_HOME to one of your own; it is as before.",
    )


def to_toml(data: Mapping[str, Any], path: tuple[str, ...] = ()) -> str:
    """Tables as TOML: the plain values of each, then the tables in it."""
    plain = {key: value for key, value in data.items() if not isinstance(value, Mapping)}
    lines = []
    if path and (plain or not data):
        lines.append(f"\n[{'.'.join(_name(part) for part in path)}]\n")
    lines += [f"{_name(key)} = {_plain(value)}\n" for key, value in plain.items()]
    lines += [
        to_toml(value, (*path, key)) for key, value in data.items() if isinstance(value, Mapping)
    ]
    return "".join(lines)


def _plain(value: object) -> str:
    """A text as JSON writes it, which is TOML but for one character."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_plain(each) for each in value)}]"
    return repr(value)


def _name(key: str) -> str:
    return key if re.fullmatch("[A-Za-z0-9_-]+", key) else _plain(key)
