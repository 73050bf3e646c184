"""Personas: a compiled kernel is its fragment files, joined in the order of their names, read once.

None of its sentences is added again as a runtime block. A persona that the person wrote, or
changed, has its advisor's prompt or description for a kernel: the shipped one is never put over it.
"""

from __future__ import annotations

import functools
from dataclasses import replace
from pathlib import Path

from polyvox.ids import content_hash
from polyvox.values import Advisor

FOLDER = Path(__file__).parent / "personas"
OPENINGS = "openings.md"
"""A slug and a hash in each line: every opening that was ever shipped, those of today too."""
FALLBACK = "You are {name}, a companion. You listen, and you answer plainly and kindly."
"""Where nothing else says who a persona is."""


@functools.cache
def shipped() -> dict[str, str]:
    """The kernels that come with the program, by slug."""
    found = {}
    for folder in sorted(path for path in FOLDER.glob("*") if path.is_dir()):
        parts = [path.read_text("utf-8").strip() for path in sorted(folder.glob("*.md"))]
        if any(parts):
            found[folder.name] = "\n\n".join(part for part in parts if part)
    return found


@functools.cache
def openings() -> frozenset[tuple[str, str]]:
    """Which descriptions are a shipped persona's own, by slug and hash. Whoever has one of them has
    changed nothing, though it be of an earlier release."""
    path = FOLDER / OPENINGS
    lines = path.read_text("utf-8").splitlines() if path.is_file() else []
    return frozenset((slug, known) for slug, _, known in (one.partition(" ") for one in lines))


def opening(slug: str) -> str:
    """Who a shipped persona is, in its first fragment: the description of its advisor."""
    first = min((FOLDER / slug).glob("*.md"), default=None)
    return "" if first is None else first.read_text("utf-8").strip()


def kernel(advisor: Advisor) -> str:
    """The persona's text: what the person wrote for it, else the shipped kernel of its slug."""
    if advisor.prompt and advisor.prompt.strip():
        return advisor.prompt.strip()
    described = advisor.description.strip()
    own = (advisor.slug, content_hash(described)) in openings()
    whole = shipped().get(advisor.slug) if own else None
    return whole or described or FALLBACK.format(name=advisor.name)


def embodied(advisor: Advisor) -> Advisor:
    """The same advisor, with its kernel as its identity."""
    return replace(advisor, prompt=kernel(advisor))


def kernel_hash(advisor: Advisor) -> str:
    """Which kernel it is, by its content."""
    return content_hash(kernel(advisor))
