"""The second try of a test in a browser: once, only there, and told at the end."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TESTS = """
import pathlib, pytest

@pytest.fixture
def tries(request):
    place = pathlib.Path(__file__).with_name(request.node.name)
    place.touch()
    place.write_text(place.read_text() + "x")
    return len(place.read_text())

def test_second(tries):
    assert tries == 2, "not at once"

def test_never(tries):
    assert tries == 9, "not at all"

def test_always(tries):
    assert tries == 1
"""


@pytest.mark.slow
@pytest.mark.parametrize("workers", [[], ["-n", "1"]], ids=["alone", "beside others"])
def test_what_fails_is_tried_once_more_and_that_is_told(tmp_path: Path, workers: list[str]) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]")
    for place in ("page", "other"):
        (tmp_path / place).mkdir()
        (tmp_path / place / f"test_{place}.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-p", "tests.second_try", *workers, str(tmp_path)]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300
    )
    assert "3 failed, 3 passed" in done.stdout, done.stdout + done.stderr
    for name, count in (("second", 2), ("never", 2), ("always", 1)):
        assert len((tmp_path / "page" / f"test_{name}").read_text()) == count
        assert len((tmp_path / "other" / f"test_{name}").read_text()) == 1
    told = [line for line in done.stdout.splitlines() if "passed at the second try" in line]
    assert len(told) == 1
    assert "page/test_page.py::test_second" in told[0]
    assert "not at once" in done.stdout.split("passed at the second try")[1]
