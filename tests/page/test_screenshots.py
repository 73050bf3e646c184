"""`make screenshots`: the command takes a picture, and what is kept of it looks the same."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image
from tests.page.scenes import SCENES
from tools.screenshots import IMAGES, ROOT, SHOTS, main, slim

MOST = 2_500_000
"""Bytes of all pictures together: they are in every clone."""


def test_the_command_takes_a_picture(tmp_path: Path) -> None:
    """As a person runs it: from the folder, by its path."""
    command = [sys.executable, "tools/screenshots.py", "--out", str(tmp_path)]
    done = subprocess.run(
        [*command, "--only", "welcome-phone"], cwd=ROOT, capture_output=True, text=True, timeout=300
    )
    assert (done.returncode, done.stderr) == (0, "")
    path = tmp_path / "welcome-phone.png"
    assert [one.name for one in tmp_path.iterdir()] == [path.name]
    assert done.stdout.startswith(str(path))
    with Image.open(path) as picture:
        assert (picture.size, picture.mode) == ((390, 844), "P")


def test_who_asks_for_another_is_told_which_there_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--only", "nothing-of-the-kind", "--out", str(tmp_path)]) == 1
    assert "conversation-dark" in capsys.readouterr().err


def test_every_picture_shows_a_scene() -> None:
    assert {shot.scene for shot in SHOTS.values()} <= set(SCENES)


def test_a_slim_picture_keeps_every_colour(tmp_path: Path) -> None:
    """A thousand greys, and one small dot that a palette of the commonest would lose."""
    path = tmp_path / "one.png"
    picture = Image.new("RGB", (256, 100))
    for x in range(256):
        for y in range(100):
            picture.putpixel((x, y), (x, x, max(0, x - y % 4)))
    picture.paste((200, 30, 90), (10, 10, 13, 13))
    picture.save(path)
    slim(path)
    with Image.open(path) as slimmed:
        after = slimmed.convert("RGB")
    for place in ((11, 11), (0, 0), (128, 50), (255, 99)):
        pairs = zip(_at(picture, place), _at(after, place), strict=True)
        assert all(abs(a - b) <= 16 for a, b in pairs), place


def _at(picture: Image.Image, place: tuple[int, int]) -> tuple[int, ...]:
    found = picture.getpixel(place)
    assert isinstance(found, tuple)
    return tuple(int(part) for part in found)


def test_the_pictures_that_are_kept_are_the_ones_that_are_taken() -> None:
    kept = {path.stem: path.stat().st_size for path in IMAGES.glob("*.png")}
    assert set(kept) == set(SHOTS)
    assert sum(kept.values()) < MOST
