"""The companion's prompt texts: named files, read once, known by the hash of their content."""

from __future__ import annotations

import functools
from pathlib import Path

from polyvox.ids import content_hash

FOLDER = Path(__file__).parent / "prompts"


@functools.cache
def text(name: str) -> str:
    """A text by its path below the folder, without its ending."""
    words = (FOLDER / f"{name}.md").read_text("utf-8")
    return " ".join(words.split()) if name != "gate" else words.strip()


@functools.cache
def texts_hash() -> str:
    """Which texts these are, all of them."""
    names = sorted(path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*.md"))
    return content_hash("\n".join((FOLDER / name).read_text("utf-8") for name in names))
