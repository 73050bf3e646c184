"""The two files of the home: written whole or not at all, by one at a time, and read as written."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from polyvox.errors import ConfigError
from polyvox.settings import stored
from polyvox.settings.stored import StoredSettings

SECRET = "sk-put-in-0123456789abcdef"

texts = some.text(some.characters(exclude_categories=["Cs"]))
plain = (
    texts
    | some.booleans()
    | some.integers(-(2**63), 2**63 - 1)
    | some.floats(allow_nan=False, allow_infinity=False)
    | some.lists(texts)
)
tables = some.recursive(
    some.dictionaries(texts, plain), lambda inner: some.dictionaries(texts, plain | inner)
)


@given(tables)
def test_what_is_written_is_what_is_read(data: dict[str, Any]) -> None:
    assert tomllib.loads(stored.to_toml(data)) == data


def test_a_file_reads_well() -> None:
    data = {"timezone": "UTC", "limits": {"queue": 3}, "providers": {"lab": {"models": ["a"]}}}
    lines = stored.to_toml(data).splitlines()
    assert lines[0] == 'timezone = "UTC"'
    assert lines[2:] == ["[limits]", "queue = 3", "", "[providers.lab]", 'models = ["a"]']


def test_nothing_is_kept_at_first(tmp_path: Path) -> None:
    assert stored.read(tmp_path / "nowhere") == StoredSettings()


def test_only_what_differs_is_written_and_for_this_user_alone(tmp_path: Path) -> None:
    old, new = StoredSettings(), StoredSettings({"limits": {"queue": 3}}, {})
    before = os.umask(0)
    try:
        stored.write(tmp_path, old, new)
        assert sorted(file.name for file in tmp_path.iterdir()) == ["settings.toml"]
        stored.write(tmp_path, new, StoredSettings(new.page, {"openai": SECRET}))
    finally:
        os.umask(before)
    for file in tmp_path.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert file.read_text().startswith("# ")
    assert stored.read(tmp_path) == StoredSettings({"limits": {"queue": 3}}, {"openai": SECRET})


def test_what_is_kept_does_not_show_its_keys() -> None:
    assert SECRET not in repr(StoredSettings({}, {"openai": SECRET}))


def test_what_a_crash_left_is_no_hindrance(tmp_path: Path) -> None:
    left = tmp_path / "keys.toml.new"
    left.write_text("half a")
    left.chmod(0o644)
    stored.write(tmp_path, StoredSettings(), StoredSettings({}, {"openai": SECRET}))
    assert not left.exists()
    assert stat.S_IMODE((tmp_path / "keys.toml").stat().st_mode) == 0o600


KILLED = """
import os, sys
from pathlib import Path
from polyvox.settings import stored
from polyvox.settings.stored import StoredSettings as Kept

home, step = Path(sys.argv[1]), sys.argv[2]

def die(*_, **__):
    os._exit(9)

setattr(os, step, die) if step != "rename" else setattr(Path, "replace", die)
stored.write(home, Kept({"limits": {"queue": 1}}), Kept({"limits": {"queue": 2}}))
"""


@pytest.mark.slow
@pytest.mark.parametrize("step", ["open", "fsync", "rename"])
def test_a_process_that_dies_leaves_the_old_file(tmp_path: Path, step: str) -> None:
    stored.write(tmp_path, StoredSettings(), StoredSettings({"limits": {"queue": 1}}))
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path), step], check=False)
    assert done.returncode == 9
    assert stored.read(tmp_path).page == {"limits": {"queue": 1}}
    stored.write(tmp_path, stored.read(tmp_path), StoredSettings({"limits": {"queue": 3}}))
    assert stored.read(tmp_path).page == {"limits": {"queue": 3}}


ADDING = """
import sys
from pathlib import Path
from polyvox.settings import stored
from polyvox.settings.stored import StoredSettings

home, name = Path(sys.argv[1]), sys.argv[2]
for number in range(20):
    with stored.alone(home):
        old = stored.read(home)
        stored.write(home, old, StoredSettings(old.page, {**old.keys, f"{name}{number}": "x"}))
"""


@pytest.mark.slow
def test_processes_lose_nothing_of_each_other(tmp_path: Path) -> None:
    home = tmp_path / "not" / "there" / "yet"
    command = [sys.executable, "-c", ADDING, str(home)]
    running = [subprocess.Popen([*command, name]) for name in "abc"]
    assert [process.wait(60) for process in running] == [0, 0, 0]
    assert set(stored.read(home).keys) == {f"{name}{n}" for name in "abc" for n in range(20)}


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "settings.toml").mkdir()
    with pytest.raises(ConfigError, match="cannot be read"):
        stored.read(tmp_path)
