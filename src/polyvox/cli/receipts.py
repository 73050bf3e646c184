"""`polyvox receipt`: what an advisor was sent for an answer, how much room it took, and why."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
import typer

from polyvox.app import Polyvox
from polyvox.cli import words
from polyvox.cli.command import Json
from polyvox.cli.lookup import SCOPE
from polyvox.cli.output import say, say_beside, say_json, say_styled
from polyvox.cli.run import run
from polyvox.cli.show.trace import decided, times
from polyvox.context.describe import Description, Share, describe, memory_lines
from polyvox.context.recipe import traits_of
from polyvox.session.inspect import Inspected, decided_for, trace_of


def receipt(
    answer: Annotated[
        str, typer.Argument(metavar="ANSWER_ID", help="`conversations show` has the ids.")
    ],
    json: Json = False,
    texts: Annotated[
        bool, typer.Option("--texts", help="Every piece with its whole text.")
    ] = False,
) -> None:
    """What an advisor was sent for an answer, and why."""

    async def work(app: Polyvox) -> None:

        seen = await app.receipt(SCOPE, answer)
        if json:
            say_json(as_data(seen))
            return
        trace = await app.database.read(lambda tx: decided_for(tx, seen.answer), SCOPE)
        print_receipt(seen, trace, texts=texts)

    run(work)


def as_data(seen: Inspected) -> dict[str, Any]:
    """The same as the API gives."""
    sent = seen.receipt.sent
    return {
        "answer_id": seen.answer.id,
        "description": msgspec.to_builtins(describe(seen.receipt)),
        "request": None if seen.body is None else msgspec.json.decode(seen.body),
        "wire_hash": None if sent is None else sent.wire_hash,
        "verified": seen.verified,
        "exact": seen.receipt.exact,
    }


def trace(
    turn: Annotated[
        str, typer.Argument(metavar="TURN_ID", help="`conversations show --json` has the ids.")
    ],
    json: Json = False,
    answer: Annotated[
        str | None, typer.Option(metavar="ANSWER_ID", help="Of this answer, not of the first.")
    ] = None,
) -> None:
    """What an advisor was told beside its own texts, and why; how long each step took."""

    async def work(app: Polyvox) -> None:

        told = await app.database.read(lambda tx: trace_of(tx, turn, answer), SCOPE)
        if json:
            say_json(told)
            return
        print_trace(told)

    run(work)


def print_trace(told: dict[str, Any]) -> None:
    """A trace, one decision on a line."""
    lines = [
        ("turn", f"{told['turn_id']} ({told['state']}, {told['model'] or 'no model'})"),
        ("session", told["startbrief_runtime"]["session_id"]),
        ("blocks", " → ".join(told["system_blocks"]) or "none"),
        *decided(told),
    ]
    for one in told["attempts"]:
        why = one["message"] or one["category"] or "answered"
        status = f" (HTTP {one['status']})" if one["status"] else ""
        lines.append(("attempt", f"{one['model']}: {why}{status}"))
    for name, text in (*lines, ("times", times(told["timings"]))):
        say_beside(f"{name:<9} ", text)


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
    sizes = [max(1, round(share.share * width)) for share in shares]
    while sum(sizes) > width and max(sizes) > 1:
        sizes[sizes.index(max(sizes))] -= 1
    return sizes


def _bar(told: Description) -> None:
    width = min(WIDEST, shutil.get_terminal_size().columns - 2)
    parts = cells(told.shares, width)
    bar = [
        (MARKS[at % len(MARKS)] * part, COLORS[at % len(COLORS)]) for at, part in enumerate(parts)
    ]
    say_styled(*bar, (FREE * max(0, width - sum(parts)), "dim"))


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
    if not told.council or traits_of(told.recipe).persona:
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
