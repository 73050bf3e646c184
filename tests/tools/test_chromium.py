"""A browser is found where there is one, and got where there is none; only the programs are small
stand-ins that write down what they were asked."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tools import chromium

BROWSER = "#!/bin/sh\necho Chromium 150.0\n"
STUB = "#!/bin/sh\necho 'Get it from the store.' >&2\nexit 1\n"


class Empty:
    """A PATH and a home with nothing but what a test puts there."""

    def __init__(self, folder: Path) -> None:
        self.bin = folder / "bin"
        self.home = folder / "home"
        self.bin.mkdir()
        self.home.mkdir()
        self.env = {"PATH": str(self.bin), "HOME": str(self.home)}

    def __call__(self, root: bool = False, **env: str) -> chromium.Machine:
        applications = self.home / "Applications"
        return chromium.Machine({**self.env, **env}, root, self.home / "tools", applications)

    def program(self, name: str, text: str, place: Path | None = None) -> Path:
        path = (place or self.bin) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
        return path

    def installer(self, name: str, gives: str = "", code: int = 0, refuses: str = "-") -> None:
        """A program that writes down its words and, on `install`, leaves a browser."""
        asked = f'#!/bin/sh\necho "{name} $*" >> {self.home}/asked\n'
        made = f"printf '%s' '{BROWSER}' > {self.bin}/{gives}\nchmod +x {self.bin}/{gives}\n"
        install = (
            f'case "$*" in *{refuses}) exit 100;; *install*) {made if gives else ":"};; esac\n'
        )
        helpers = f"PATH={os.environ['PATH']}\n"
        self.program(name, asked + helpers + install + f"exit {code}\n")

    def asked(self) -> list[str]:
        path = self.home / "asked"
        return path.read_text().splitlines() if path.exists() else []


@pytest.fixture
def machine(tmp_path: Path) -> Empty:
    return Empty(tmp_path)


@pytest.mark.parametrize("name", chromium.NAMES)
def test_it_is_found_under_every_usual_name(machine: Empty, name: str) -> None:
    path = machine.program(name, BROWSER)
    assert chromium.get(machine()) == path


def test_one_that_only_has_the_name_is_passed_over(machine: Empty) -> None:
    machine.program("chromium", STUB)
    path = machine.program("google-chrome", BROWSER)
    assert chromium.find(machine()) == path


@pytest.mark.parametrize(
    "place",
    [
        ".cache/ms-playwright/chromium-1254/chrome-linux64/chrome",
        "Applications/Chromium.app/Contents/MacOS/Chromium",
        "Library/Caches/ms-playwright/chromium-1254/chrome-mac/Chromium.app/Contents/MacOS/Chromium",
    ],
)
def test_it_is_found_where_macs_and_playwright_put_it(machine: Empty, place: str) -> None:
    path = machine.program("", BROWSER, machine.home / place)
    assert chromium.find(machine()) == path


def test_the_one_that_was_named_is_the_only_one(machine: Empty) -> None:
    machine.program("chromium", BROWSER)
    mine = machine.program("mine", BROWSER)
    assert chromium.get(machine(POLYVOX_CHROMIUM=str(mine))) == mine
    machine.installer("apt-get", gives="chromium")
    with pytest.raises(chromium.Missing, match="POLYVOX_CHROMIUM names /nowhere"):
        chromium.get(machine(root=True, POLYVOX_CHROMIUM="/nowhere"))
    assert machine.asked() == [], "and nothing is installed in its place"


def test_root_installs_the_package(machine: Empty) -> None:
    machine.installer("apt-get", gives="chromium-headless-shell")
    assert chromium.get(machine(root=True)) == machine.bin / "chromium-headless-shell"
    assert machine.asked() == ["apt-get update", "apt-get install --yes chromium-headless-shell"]


def test_an_older_system_gets_the_whole_browser(machine: Empty) -> None:
    machine.installer("apt-get", gives="chromium", refuses="chromium-headless-shell")
    assert chromium.get(machine(root=True)) == machine.bin / "chromium"
    assert machine.asked()[-1] == "apt-get install --yes chromium"


def test_others_ask_sudo_and_only_if_it_does_not_ask_back(machine: Empty) -> None:
    machine.installer("apt-get")
    machine.installer("sudo", gives="chromium")
    assert chromium.get(machine()) == machine.bin / "chromium"
    apt = machine.bin / "apt-get"
    package = "chromium-headless-shell"
    assert machine.asked() == [f"sudo -n {apt} update", f"sudo -n {apt} install --yes {package}"]


def test_where_the_package_does_not_help_playwright_does(
    machine: Empty, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.installer("apt-get", code=100)
    machine.installer("playwright", gives="chromium")
    assert chromium.get(machine(root=True)) == machine.bin / "chromium"
    assert machine.asked()[-1] == "playwright install --with-deps chromium"
    assert "playwright install chromium …" in capsys.readouterr().err


def test_who_has_nothing_is_told_what_to_do(machine: Empty) -> None:
    machine.installer("apt-get", code=100)
    machine.installer("playwright", code=1)
    with pytest.raises(chromium.Missing) as told:
        chromium.get(machine())
    assert machine.asked() == ["playwright install chromium"], "apt-get needs root"
    for words in ("apt-get install chromium", "playwright install", "POLYVOX_CHROMIUM="):
        assert words in str(told.value)


def test_the_command_says_where_it_is(machine: Empty) -> None:
    path = machine.program("chromium", BROWSER)
    said = subprocess.run(
        [sys.executable, chromium.__file__],
        env={**machine.env, "POLYVOX_CHROMIUM": str(path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout == f"{path}\n"
    lost = subprocess.run(
        [sys.executable, chromium.__file__],
        env={**machine.env, "POLYVOX_CHROMIUM": "/nowhere"},
        capture_output=True,
        text=True,
    )
    assert lost.returncode == 1
    assert "Traceback" not in lost.stderr
