"""Finds a Chromium for the tests and the screenshots, and gets one where there is none.

    python3 tools/chromium.py          prints its path; installs one first if it has to
    POLYVOX_CHROMIUM=/path/to/chrome   use this one and no other

Looked for, in this order: that variable, the usual names on the PATH, the usual places of a Mac,
and what Playwright has fetched before. A name alone proves nothing (some systems ship a script
that only says where to get the browser), so each is asked for its version.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

NAMES = (
    "chromium-headless-shell",  # has no windows to draw: a sixth less time for the same tests
    "chromium",
    "chromium-browser",
    "google-chrome-stable",
    "google-chrome",
)
PACKAGES = ("chromium-headless-shell", "chromium")
APPLICATIONS = (
    "Chromium.app/Contents/MacOS/Chromium",
    "Google Chrome.app/Contents/MacOS/Google Chrome",
)
FETCHED = (
    "chromium-*/chrome-linux*/chrome",
    "chromium-*/chrome-mac*/*.app/Contents/MacOS/*",
)
FEATURES = (
    # Playwright's own: its flag is replaced by ours.
    "AvoidUnnecessaryBeforeUnloadCheckSync",
    "DestroyProfileOnBrowserClose",
    "HttpsUpgrades",
    "HttpsFirstBalancedModeAutoEnable",
    "LensOverlay",
    "MediaRouter",
    "PaintHolding",
    "ThirdPartyStoragePartitioning",
    "AvoidCorsURLLoaderRestartOnRedirect",
    "OptimizationHints",
    "NetworkTimeServiceQuerying",
    "AimEnabled",
    "PreconnectToSearch",
    # Pages of the address bar, which nobody sees: a process with two of them for every window cost
    # as much as loading our page.
    "WebUIOmniboxPopup",
    "WebUIOmniboxAimPopup",
    "WebUIOmniboxFullPopup",
)
"""Features that are switched off."""
FLAGS = (
    "--no-sandbox",  # root has none; only our own page is ever shown
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--font-render-hinting=none",  # the same letters at every place of a line
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # nothing else can be reached
    f"--disable-features={','.join(FEATURES)}",
    # One process instead of three: a page costs a quarter less. The second feature is Playwright's,
    # whose own list this one replaces.
    "--in-process-gpu",
    "--enable-features=NetworkServiceInProcess2,CDPScreenshotNewSurface",
)
"""How it is started: quiet, the same everywhere, and unable to reach anything but this machine."""

HELP = """There is no Chromium, and none could be installed. Any of these will do:
  Debian:         apt-get install chromium
  Fedora:         dnf install chromium
  macOS:          brew install --cask chromium
  anywhere else:  .venv/bin/playwright install --with-deps chromium
or name one that is there already: POLYVOX_CHROMIUM=/path/to/chrome"""


class Missing(Exception):
    """There is no browser; the text is for the person at the terminal."""


@dataclass(frozen=True)
class Machine:
    """What is asked about the machine."""

    env: Mapping[str, str]
    root: bool
    tools: Path
    """Where Playwright's own command may be besides the PATH."""
    applications: Path = Path("/Applications")

    def which(self, name: str) -> str | None:
        """The program of that name."""
        return shutil.which(name, path=self.env.get("PATH", ""))


def this_machine() -> Machine:
    """The one we run on."""
    return Machine(os.environ, os.geteuid() == 0, Path(sys.executable).parent)


def candidates(machine: Machine) -> Iterator[Path]:
    """Every place where one might be; what the person named is the only one."""
    if named := machine.env.get("POLYVOX_CHROMIUM"):
        yield Path(named)
        return
    for name in NAMES:
        if found := machine.which(name):
            yield Path(found)
    yield from (machine.applications / name for name in APPLICATIONS)
    home = Path(machine.env.get("HOME", "/"))
    for place in (
        machine.env.get("PLAYWRIGHT_BROWSERS_PATH", ""),
        home / ".cache" / "ms-playwright",
        home / "Library" / "Caches" / "ms-playwright",
    ):
        if place:
            for pattern in FETCHED:
                yield from sorted(Path(place).glob(pattern), reverse=True)


def works(path: Path) -> bool:
    """Whether this is a browser, and not only its name."""
    try:
        asked = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return asked.returncode == 0 and "Chrom" in asked.stdout


def find(machine: Machine) -> Path:
    """The browser to use."""
    for path in candidates(machine):
        if works(path):
            return path
    if named := machine.env.get("POLYVOX_CHROMIUM"):
        raise Missing(f"POLYVOX_CHROMIUM names {named}, which is no browser that runs.")
    raise Missing(HELP)


def ways(machine: Machine) -> Iterator[tuple[str, list[list[str]]]]:
    """What to try, in this order: what it is, and its commands."""
    apt, sudo = machine.which("apt-get"), machine.which("sudo")
    before = [] if machine.root else [sudo, "-n"] if sudo else None
    if apt and before is not None:
        for package in PACKAGES:
            install = [*before, apt, "install", "--yes", package]
            yield f"apt-get install {package}", [[*before, apt, "update"], install]
    playwright = shutil.which("playwright", path=machine.tools) or machine.which("playwright")
    if playwright:
        libraries = ["--with-deps"] if apt and machine.root else []
        yield "playwright install chromium", [[playwright, "install", *libraries, "chromium"]]


def get(machine: Machine) -> Path:
    """The browser to use, installed if there is none."""
    try:
        return find(machine)
    except Missing:
        if machine.env.get("POLYVOX_CHROMIUM"):
            raise
    for name, commands in ways(machine):
        sys.stderr.write(f"Getting a browser for the tests: {name} …\n")
        for command in commands:
            quiet = {**machine.env, "DEBIAN_FRONTEND": "noninteractive"}
            done = subprocess.run(command, capture_output=True, text=True, env=quiet)
            if done.returncode:
                last = (done.stderr or done.stdout).strip().splitlines()[-3:]
                sys.stderr.write("".join(f"  {line}\n" for line in last))
                break
        try:
            return find(machine)
        except Missing:
            continue
    raise Missing(HELP)


if __name__ == "__main__":
    try:
        sys.stdout.write(f"{get(this_machine())}\n")
    except Missing as missing:
        sys.exit(f"\n{missing}")
