"""Reading files that people hand us, with a bound on everything."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from polyvox.errors import Invalid, TooLarge

LARGEST = 5_000_000
"""Bytes of a file of advisors."""


def read_text(path: Path, largest: int = LARGEST) -> str:
    """A text file, or a clear refusal."""
    try:
        with path.open("rb") as file:
            data = file.read(largest + 1)
    except FileNotFoundError:
        raise Invalid(f"There is no file {path}.", "Check its name.") from None
    except IsADirectoryError:
        raise Invalid(f"{path} is a directory.", "Name a file in it.") from None
    except OSError as error:
        raise Invalid(f"{path} cannot be read: {error.strerror}.", "Check it.") from None
    if len(data) > largest:
        raise TooLarge(
            f"{path} has more than {largest:,} bytes.", "That is more than is read; split it."
        )
    return decoded(data, str(path))


def decoded(data: bytes, what: str) -> str:
    """The text of a file."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Invalid(
            f"{what} is not UTF-8 text (byte {error.start}).", "Save it as UTF-8."
        ) from None


def read_beside(path: Path, name: str) -> str:
    """The text of a file that `path` names: only a plain file in the same directory is read."""
    folder = path.resolve().parent
    if not name or name != Path(name).name:
        raise Invalid(f"{name!r} is not beside the file, so it is not read.")
    other = (folder / name).resolve()
    if other.parent != folder or not other.is_file():
        raise Invalid(f"There is no file {name!r} beside it.")
    return read_text(other)


def parse_json(text: str, what: str) -> Any:  # noqa: ANN401 - whatever JSON holds
    """JSON, or a clear refusal."""
    try:
        return json.loads(text)
    except RecursionError:
        raise Invalid(f"{what} is nested too deeply.", "No file of ours is.") from None
    except ValueError as error:
        raise Invalid(f"{what} is not valid JSON: {error}.", "Check the file.") from None


def parse_yaml(text: str, what: str) -> Any:  # noqa: ANN401 - whatever YAML holds
    """YAML without anchors and aliases (with them a small file can stand for a huge one)."""
    import yaml

    class NoAliasLoader(yaml.SafeLoader):
        def compose_node(self, parent: Any, index: Any) -> Any:  # noqa: ANN401 - yaml's own
            if self.check_event(yaml.events.AliasEvent):
                raise yaml.YAMLError("anchors and aliases are not taken")
            return super().compose_node(parent, index)

    try:
        return yaml.load(text, NoAliasLoader)  # noqa: S506 - a SafeLoader with fewer rights
    except RecursionError:
        raise Invalid(f"{what} is nested too deeply.", "No file of ours is.") from None
    except (yaml.YAMLError, ValueError) as error:
        words = " ".join(str(error).split())
        raise Invalid(f"{what} is not usable YAML: {words}.", "Check the file.") from None


def to_yaml(data: object, style: Callable[[str], str | None], width: int) -> str:
    """YAML with nothing by reference; `style` chooses how a text is written."""
    import yaml

    class Readable(yaml.SafeDumper):
        """Write everything where it stands."""

        def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 - yaml's own
            return True

    def text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style(value))

    Readable.add_representer(str, text)
    return yaml.dump(data, Dumper=Readable, allow_unicode=True, sort_keys=False, width=width)


_STRETCH = re.compile(r"[^\x00-\x7f]{2,}")


def mended(text: str) -> tuple[str, int]:
    """The text as it was written, and how many stretches were put right."""
    count = 0

    def mend(match: re.Match[str]) -> str:
        nonlocal count
        try:
            right = match[0].encode("mac_roman").decode("utf-8")
        except UnicodeError:
            return match[0]
        count += 1
        return right

    return _STRETCH.sub(mend, text), count
