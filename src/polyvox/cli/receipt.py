"""`polyvox receipt`: what an advisor was sent for an answer, how much room it took, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from polyvox.cli.options import Json

if TYPE_CHECKING:
    from polyvox.app import Polyvox
    from polyvox.session.inspect import Inspected


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
    from polyvox.cli.running import run

    async def work(app: Polyvox) -> None:
        from polyvox.cli.choosing import SCOPE
        from polyvox.cli.output import say_json
        from polyvox.cli.show.receipt import print_receipt
        from polyvox.session.trace import decided_for

        seen = await app.receipt(SCOPE, answer)
        if json:
            say_json(as_data(seen))
            return
        trace = await app.database.read(lambda tx: decided_for(tx, SCOPE, seen.answer))
        print_receipt(seen, trace, texts=texts)

    run(work)


def as_data(seen: Inspected) -> dict[str, Any]:
    """The same as the API gives."""
    import msgspec

    from polyvox.context.describe import describe

    sent = seen.receipt.sent
    return {
        "answer_id": seen.answer.id,
        "description": msgspec.to_builtins(describe(seen.receipt)),
        "request": None if seen.body is None else msgspec.json.decode(seen.body),
        "wire_hash": None if sent is None else sent.wire_hash,
        "verified": seen.verified,
        "exact": seen.receipt.exact,
    }
