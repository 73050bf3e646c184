"""What must be true of the project's own files."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parent.parent
PINNED = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;]+)(?: ; [^\\]+)?\s*\\$")
HASH = re.compile(r"^    --hash=sha256:[0-9a-f]{64}(?: \\)?$")
# Put together here so that this file does not hold what it looks for.
ELSEWHERE = re.compile(
    "|".join(
        (
            r"py" + r"pi\.org",
            r"python" + r"hosted\.org",
            r"npm" + r"js\.(?:com|org)",
            r"index" + r"[-_]url\s*[=:]",
            r"(?<![\w.])/wo" + r"rk/",
            r"(?<![\w.])/ro" + r"ot/",
        )
    )
)


def project_files() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    names = listed.stdout.decode().split("\0")
    return [ROOT / name for name in names if name and (ROOT / name).is_file()]


def pyproject() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def pins(name: str) -> Iterator[tuple[str, str]]:
    for line in (ROOT / "requirements" / name).read_text(encoding="utf-8").splitlines():
        if found := PINNED.match(line):
            yield canonicalize_name(found[1]), found[2]


def test_licence_readme_and_version() -> None:
    project = pyproject()["project"]
    assert project["license"] == "MIT"
    assert (ROOT / "LICENSE").read_text(encoding="utf-8").startswith("MIT License")
    assert (ROOT / "README.md").stat().st_size > 500
    import polyvox

    assert polyvox.__version__ == project["version"]


def test_no_file_names_a_registry_or_a_place_on_somebodys_machine() -> None:
    found = []
    for path in project_files():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # a picture
        lines = text.splitlines()
        found += [
            f"{path}:{n}: {line}" for n, line in enumerate(lines, 1) if ELSEWHERE.search(line)
        ]
    assert found == []


@pytest.mark.parametrize("name", ["runtime.txt", "dev.txt", "model.txt"])
def test_every_requirement_is_pinned_with_hashes_and_without_an_address(name: str) -> None:
    hashes: dict[str, int] = {}
    current = ""
    for line in (ROOT / "requirements" / name).read_text(encoding="utf-8").splitlines():
        if found := PINNED.match(line):
            current = found[1]
            hashes[current] = 0
        elif HASH.match(line):
            hashes[current] += 1
        else:
            assert re.match(r"^    #", line), f"not a pin, a hash or a comment: {line}"
        assert "://" not in line
    assert hashes
    assert all(hashes.values())


def test_pins_satisfy_what_the_package_asks_for() -> None:
    pinned = dict(pins("runtime.txt"))
    asked = [Requirement(text) for text in pyproject()["project"]["dependencies"]]
    asked += [Requirement(text) for text in pyproject()["build-system"]["requires"]]
    for requirement in asked:
        version = pinned[canonicalize_name(requirement.name)]
        assert requirement.specifier.contains(Version(version)), f"{requirement} has {version}"


def test_tests_run_on_the_packages_that_people_run_on() -> None:
    dev = dict(pins("dev.txt"))
    assert {name: dev.get(name) for name, _ in pins("runtime.txt")} == dict(pins("runtime.txt"))


def test_source_files_stay_small() -> None:
    long = {
        str(path.relative_to(ROOT)): count
        for path in project_files()
        if path.suffix == ".py"
        and (count := len(path.read_text(encoding="utf-8").splitlines())) > 500
    }
    assert long == {}


def test_every_data_file_is_shipped_with_the_package(tmp_path: Path) -> None:
    """What an installed Polyvox has is what setuptools copies, so setuptools is asked to."""
    script = "from setuptools import setup; setup()"
    command = [sys.executable, "-c", script, "-q", "build_py", "--build-lib", str(tmp_path / "lib")]
    egg_info = ["egg_info", "--egg-base", str(tmp_path)]
    subprocess.run([*command[:3], "-q", *egg_info, *command[4:]], cwd=ROOT, check=True)
    source = ROOT / "src"
    ours = {str(path.relative_to(source)) for path in project_files() if source in path.parents}
    shipped = {str(path.relative_to(tmp_path / "lib")) for path in (tmp_path / "lib").rglob("*.*")}
    assert {name for name in ours if name.endswith(".sql")}, "the migrations are data files"
    assert ours - shipped == set()


def test_make_help_lists_every_command() -> None:
    said = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in ("setup", "run", "test", "lint", "docs", "screenshots", "bench", "lock", "clean"):
        assert re.search(rf"make {name} +\S", said), name


def test_continuous_integration_runs_the_tests() -> None:
    script = ROOT / ".ci" / "run"
    assert script.stat().st_mode & 0o111
    assert "make test" in script.read_text(encoding="utf-8")
