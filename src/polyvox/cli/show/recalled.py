"""What was recalled, with its source: what is surely about the question, then the rest."""

from __future__ import annotations

from collections.abc import Sequence

from polyvox.cli.output import note, say
from polyvox.cli.words import when
from polyvox.memory.packets import Recalled
from polyvox.memory.values import Item
from polyvox.session.remembering import RELEVANT


def print_recalled(items: Sequence[Item | Recalled], zone: str) -> None:
    """Best first; what no advisor would be told stands apart."""
    if not items:
        note("Nothing is remembered about that.")
        return
    sure = [one for one in items if one.relevance is None or one.relevance >= RELEVANT]
    _told(sure, zone)
    if len(sure) < len(items):
        say("\nless sure:" if sure else "Nothing is surely about that; less sure:")
        _told([one for one in items if one not in sure], zone)


def _told(items: Sequence[Item | Recalled], zone: str) -> None:
    for item in items:
        relevance = "  – " if item.relevance is None else f"{item.relevance:.2f}"
        past = "" if item.status == "current" else ", superseded"
        say(f"{relevance}  {when(item.valid_from, zone)}  {item.text}")
        for one in item.evidence[:1]:
            where = f"{one.role}, {one.session_id}#{one.index}"
            say(f"      {item.source or 'memory'}{past}: {where}")
