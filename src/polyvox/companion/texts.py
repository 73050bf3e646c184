"""The companion's prompt texts: named files, read once."""

from __future__ import annotations

import functools
from pathlib import Path

FOLDER = Path(__file__).parent / "prompts"


@functools.cache
def text(name: str) -> str:
    """A text by its path below the folder, without its ending."""
    words = (FOLDER / f"{name}.md").read_text("utf-8")
    return " ".join(words.split()) if name != "gate" else words.strip()
