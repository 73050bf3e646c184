"""Where words were found: the conversation, who said them, and the words around them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from polyvox.cli import words
from polyvox.cli.output import console, harmless, is_terminal, note, printable, say
from polyvox.store.search import Hit


def as_data(hit: Hit) -> dict[str, Any]:
    """The same as the API gives."""
    return {**asdict(hit), "marks": [list(mark) for mark in hit.marks]}


def print_hits(hits: Sequence[Hit], zone: str) -> None:
    """One below the other; in a terminal the words stand out."""
    if not hits:
        note("Nothing was found. All words must occur; fewer find more.")
        return
    for hit in hits:
        who = hit.advisor_name or {"message": "you", "title": "title"}.get(hit.kind, "")
        place = f"{words.one_line(hit.title, 60)} · {who} · {words.when(hit.at, zone)}"
        if is_terminal():
            from rich.text import Text

            text = Text("  ")
            text.append(harmless(hit.snippet))
            for start, end in hit.marks:
                text.stylize("bold", start + 2, end + 2)
            console().print(Text(printable(place)))
            console().print(text)
            console().print(Text(f"  {hit.conversation_id}", "dim"))
        else:
            say(place)
            say(f"  {hit.snippet}")
            say(f"  {hit.conversation_id}")
