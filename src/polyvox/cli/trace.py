"""`polyvox trace`: what was decided for a turn before its model was asked, and how long it took."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from polyvox.cli.options import Json

if TYPE_CHECKING:
    from polyvox.app import Polyvox


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
    from polyvox.cli.running import run

    async def work(app: Polyvox) -> None:
        from polyvox.cli.choosing import SCOPE
        from polyvox.cli.output import say_json
        from polyvox.session.trace import trace_of

        told = await app.database.read(lambda tx: trace_of(tx, SCOPE, turn, answer))
        if json:
            say_json(told)
            return
        print_trace(told)

    run(work)


def print_trace(told: dict[str, Any]) -> None:
    """A trace, one decision on a line."""
    from polyvox.cli.output import say_beside
    from polyvox.cli.show.decided import decided, times

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
    for name, words in (*lines, ("times", times(told["timings"]))):
        say_beside(f"{name:<9} ", words)
