"""Writes requirements/runtime.txt and requirements/dev.txt anew: every package with its hashes, for
Python 3.11 and newer, without the place they come from.

    python3 tools/lock.py [--upgrade]

Without --upgrade, pins that still fit are kept. uv does the work, in an environment of its own.
"""

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
UV = "uv==0.13.7"
COMMON = (
    "--universal",
    "--python-version=3.11",
    "--generate-hashes",
    "--no-emit-index-url",
    "--no-emit-find-links",
    "--no-header",
    "--quiet",
)
SOURCES = ("pyproject.toml", "requirements/build.in")


def main(arguments: list[str]) -> int:
    """Resolve what running needs, then the tools on top of exactly that."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = str(Path(folder) / "bin" / "python")
        subprocess.run([python, "-m", "pip", "install", "--quiet", UV], check=True)
        compiler = [python, "-m", "uv", "pip", "compile", *COMMON, *arguments, *SOURCES]
        for extra in (
            ["--output-file=requirements/runtime.txt"],
            [
                "requirements/dev.in",
                "--constraints=requirements/runtime.txt",
                "--output-file=requirements/dev.txt",
            ],
        ):
            subprocess.run([*compiler, *extra], check=True, cwd=ROOT)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
