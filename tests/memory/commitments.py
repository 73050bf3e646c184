"""What people say in sessions, labelled by hand: [commitments] in brackets, other open loops (what
they avoid, what they wait for) in <angles>. Everything else must not become a loop.

The rules were made with the first parts at hand; the last was written after, and they were not
changed for it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal, NamedTuple

_PARTS = (Path(__file__).with_name("commitments.txt").read_text(encoding="utf-8")).split("====")
_MARKED = re.compile(r"\[(?P<commitment>[^\]]*)\]|<(?P<other>[^>]*)>")


class Said(NamedTuple):
    text: str
    commitments: tuple[str, ...]
    others: tuple[str, ...]


def sessions(part: Literal["known", "held out"]) -> list[list[Said]]:
    """Every session of a part, as its messages."""
    texts = _PARTS[:-1] if part == "known" else _PARTS[-1:]
    return [
        [_said(line) for line in session.splitlines()]
        for text in texts
        for session in text.strip().split("\n\n")
    ]


def _said(line: str) -> Said:
    found = list(_MARKED.finditer(line))
    return Said(
        re.sub(r"[\[\]<>]", "", line),
        tuple(one["commitment"] for one in found if one["commitment"]),
        tuple(one["other"] for one in found if one["other"]),
    )
