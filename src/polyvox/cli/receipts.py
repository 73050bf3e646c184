"""`polyvox receipt` and `polyvox trace`: what an advisor was sent for an answer, how much room it
took, and why."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

import typer

from polyvox.app import Polyvox
from polyvox.cli import words
from polyvox.cli.command import Json
from polyvox.cli.lookup import SCOPE
from polyvox.cli.output import say, say_beside, say_json, say_styled
from polyvox.context.describe import Description, Share, describe, memory_lines
from polyvox.memory.trace_words import decisions, missing, steps
from polyvox.session.inspect import Inspected, ReceiptOut, decided_for, trace_of

MARKS = "█▓▒░▚▞#=+:"
"""One for each kind of piece, so that the bar needs no colour."""
FREE = "·"
COLORS = ("cyan", "magenta", "green", "yellow", "blue", "red")
WIDEST = 72


async def receipt(
    app: Polyvox,
    answer: Annotated[
        str, typer.Argument(metavar="ANSWER_ID", help="`conversations show` has the ids.")
    ],
    json: Json = False,
    texts: Annotated[
        bool, typer.Option("--texts", help="Every piece with its whole text.")
    ] = False,
) -> None:
    """What an advisor was sent for an answer, and why."""
    seen = await app.receipt(SCOPE, answer)
    if json:
        say_json(ReceiptOut.of(seen))
        return
    trace = await app.database.read(lambda tx: decided_for(tx, seen.answer), SCOPE)
    print_receipt(seen, trace, texts=texts)


async def trace(
    app: Polyvox,
    turn: Annotated[
        str, typer.Argument(metavar="TURN_ID", help="`conversations show --json` has the ids.")
    ],
    json: Json = False,
    answer: Annotated[
        str | None, typer.Option(metavar="ANSWER_ID", help="Of this answer, not of the first.")
    ] = None,
) -> None:
    """What an advisor was told beside its own texts, and why; how long each step took."""
    data = await app.database.read(lambda tx: trace_of(tx, turn, answer), SCOPE)
    if json:
        say_json(data)
    else:
        print_trace(data)


def print_trace(trace: dict[str, Any]) -> None:
    """A trace, one decision on a line."""
    lines = [
        ("turn", f"{trace['turn_id']} ({trace['state']}, {trace['model'] or 'no model'})"),
        ("session", trace["startbrief_runtime"]["session_id"]),
        ("blocks", " → ".join(trace["system_blocks"]) or "none"),
        *decided(trace),
    ]
    for attempt in trace["attempts"]:
        why = attempt["message"] or attempt["category"] or "answered"
        status = f" (HTTP {attempt['status']})" if attempt["status"] else ""
        lines.append(("attempt", f"{attempt['model']}: {why}{status}"))
    for name, text in (*lines, ("times", times(trace["timings"]))):
        say_beside(f"{name:<9} ", text)


def print_receipt(
    seen: Inspected, trace: Mapping[str, Any] | None = None, *, texts: bool = False
) -> None:
    """All of it; `trace` is what was decided for the answer."""
    description = describe(seen.receipt)
    answer = seen.answer
    say(f"{answer.advisor_name}: answer {answer.id} ({answer.state})")
    of = f" of {description.n}" if description.n is not None else ""
    phase = f"{description.phase} phase, " if description.phase else ""
    turn = f"{phase}turn {description.k}{of}"
    say(f"recipe {description.recipe}, {turn}, {description.prompts} prompts")
    say()
    say(f"{description.tokens:,} of {description.budget:,} tokens ({description.limit})")
    _bar(description)
    say()
    _legend(description)
    _headed("Told from memory:", memory_lines(description))
    if trace is not None:
        say("\nDecided before it was asked:")
        for name, why in decided(trace):
            say_beside(f"  {name:<9} ", why)
    _headed("Left out:", description.left_out)
    if not description.left_out:
        say("\nNothing was left out.")
    if not seen.receipt.draft.persona:
        seats = [f"{seat.name}  {seat.model or ''}".rstrip() for seat in description.council]
        _headed("The council as it was:", seats)
    _wire(seen, description)
    if texts:
        _texts(description)


def cells(shares: tuple[Share, ...], width: int) -> list[int]:
    """Characters of the bar for each kind: at least one, in all at most the width."""
    sizes = [max(1, round(share.share * width)) for share in shares]
    while sum(sizes) > width and max(sizes) > 1:
        sizes[sizes.index(max(sizes))] -= 1
    return sizes


def _bar(description: Description) -> None:
    width = min(WIDEST, shutil.get_terminal_size().columns - 2)
    parts = cells(description.shares, width)
    bar = [
        (MARKS[at % len(MARKS)] * part, COLORS[at % len(COLORS)]) for at, part in enumerate(parts)
    ]
    say_styled(*bar, (FREE * max(0, width - sum(parts)), "dim"))


def _legend(description: Description) -> None:
    widest = max((len(share.name) for share in description.shares), default=0)
    for at, share in enumerate(description.shares):
        pieces = f"  ×{share.pieces}" if share.pieces > 1 else ""
        say(
            f"{MARKS[at % len(MARKS)]} {share.name:<{widest}}  {share.tokens:>8,} tokens"
            f"  {share.share:>6.1%}{pieces}"
        )
    free = max(0, description.budget - description.tokens)
    say(f"{FREE} {'free':<{widest}}  {free:>8,} tokens")


def _headed(title: str, lines: Sequence[str]) -> None:
    if lines:
        say(f"\n{title}")
        for line in lines:
            say(f"  {line}")


def _wire(seen: Inspected, description: Description) -> None:
    say()
    sent = description.sent
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
    elif not description.exact:
        gone = words.count(len(description.missing), "text")
        say(f"Verified: no, {gone} of it no longer exist here.")
    else:
        say("Verified: no, the rebuilt request differs from what was sent.")


def _texts(description: Description) -> None:
    for span in description.spans:
        say()
        mark = "" if span.included else " (left out)"
        kind = f"memory, {span.sources[0]}" if span.kind == "memory" else span.kind
        say(f"--- {span.role}: {kind}{mark} · {span.tokens:,} tokens · {span.reason}")
        if span.text:
            say(span.text)


def decided(trace: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield each decision with its reason: (about what, in words)."""
    for topic, text, why in decisions(trace):
        yield topic, f"{text} ({why})" if why else text
    for degrade in trace["degrades"]:
        if not degrade.startswith("gate: "):  # that is told already
            yield "missing", missing(degrade)


def times(timings: Mapping[str, float | None]) -> str:
    """The time of each step that happened."""
    names = steps(timings)
    return ", ".join(f"{names[key]} {ms:g} ms" for key, ms in timings.items() if ms)
