"""A receipt in the terminal: a bar of the budget that reads without colour, every piece with its
size, what was left out and why, and what became of it on the wire."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from typing import Any

from polyvox.cli import words
from polyvox.cli.output import console, is_terminal, say, say_beside
from polyvox.cli.show.decided import decided
from polyvox.context.describe import Description, Share, describe, memory_lines
from polyvox.session.inspect import Inspected

MARKS = "█▓▒░▚▞#=+:"
"""One for each kind of piece, so that the bar needs no colour."""
FREE = "·"
COLORS = ("cyan", "magenta", "green", "yellow", "blue", "red")
WIDEST = 72


def print_receipt(
    seen: Inspected, trace: Mapping[str, Any] | None = None, *, texts: bool = False
) -> None:
    """All of it; `trace` is what was decided for the answer."""
    told = describe(seen.receipt)
    answer = seen.answer
    say(f"{answer.advisor_name}: answer {answer.id} ({answer.state})")
    of = f" of {told.n}" if told.n is not None else ""
    phase = f"{told.phase} phase, " if told.phase else ""
    say(f"recipe {told.recipe}, {phase}turn {told.k}{of}, {told.prompts} prompts")
    say()
    say(f"{told.tokens:,} of {told.budget:,} tokens ({told.limit})")
    _bar(told)
    say()
    _legend(told)
    _memory(told, trace)
    _left_out(told)
    _council(told)
    _wire(seen, told)
    if texts:
        _texts(told)


def cells(shares: tuple[Share, ...], width: int) -> list[int]:
    """How many characters of the bar each kind gets: at least one, in all at most the width."""
    found = [max(1, round(share.share * width)) for share in shares]
    while sum(found) > width and max(found) > 1:
        found[found.index(max(found))] -= 1
    return found


def _bar(told: Description) -> None:
    width = min(WIDEST, shutil.get_terminal_size().columns - 2)
    parts = cells(told.shares, width)
    if is_terminal():
        from rich.text import Text

        line = Text()
        for at, part in enumerate(parts):
            line.append(MARKS[at % len(MARKS)] * part, COLORS[at % len(COLORS)])
        line.append(FREE * max(0, width - sum(parts)), "dim")
        console().print(line)
    else:
        bar = "".join(MARKS[at % len(MARKS)] * part for at, part in enumerate(parts))
        say(bar.ljust(width, FREE))


def _legend(told: Description) -> None:
    widest = max((len(share.name) for share in told.shares), default=0)
    for at, share in enumerate(told.shares):
        pieces = f"  ×{share.pieces}" if share.pieces > 1 else ""
        say(
            f"{MARKS[at % len(MARKS)]} {share.name:<{widest}}  {share.tokens:>8,} tokens"
            f"  {share.share:>6.1%}{pieces}"
        )
    free = max(0, told.budget - told.tokens)
    say(f"{FREE} {'free':<{widest}}  {free:>8,} tokens")


def _memory(told: Description, trace: Mapping[str, Any] | None) -> None:
    if lines := memory_lines(told):
        say()
        say("Told from memory:")
        for line in lines:
            say(f"  {line}")
    if trace is not None:
        say()
        say("Decided before it was asked:")
        for name, why in decided(trace):
            say_beside(f"  {name:<9} ", why)


def _left_out(told: Description) -> None:
    say()
    if not told.left_out:
        say("Nothing was left out.")
        return
    say("Left out:")
    for entry in told.left_out:
        say(f"  {entry}")


def _council(told: Description) -> None:
    if not told.council or told.recipe == "companion":
        return
    say()
    say("The council as it was:")
    for seat in told.council:
        model = f"  {seat.model}" if seat.model else ""
        say(f"  {seat.name}{model}")


def _wire(seen: Inspected, told: Description) -> None:
    say()
    sent = told.sent
    if sent is None:
        say("Nothing was sent: it ended before its model was asked.")
        return
    say(f"Sent to {sent.model_id}: {words.size(sent.wire_bytes)}")
    for number, attempt in enumerate(sent.attempts, 1):
        waited = "" if attempt.first_byte_ms is None else f", {attempt.first_byte_ms:.0f} ms"
        status = "" if attempt.status is None else f", HTTP {attempt.status}"
        failed = "" if attempt.category is None else f": {attempt.category}, {attempt.message}"
        say(f"  attempt {number}: {attempt.model}{status}{waited}{failed}")
    if seen.verified:
        say("Verified: yes, rebuilt byte for byte.")
    elif not told.exact:
        gone = words.count(len(told.missing), "text")
        say(f"Verified: no, {gone} of it no longer exist here.")
    else:
        say("Verified: no, the rebuilt request differs from what was sent.")


def _texts(told: Description) -> None:
    for span in told.spans:
        say()
        mark = "" if span.included else " (left out)"
        kind = f"memory, {span.sources[0]}" if span.kind == "memory" else span.kind
        say(f"--- {span.role}: {kind}{mark} · {span.tokens:,} tokens · {span.reason}")
        if span.text:
            say(span.text)
