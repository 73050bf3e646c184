"""`polyvox usage`: tokens and cost, in sums."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Literal

import typer

from polyvox.app import Polyvox
from polyvox.cli.command import Json
from polyvox.cli.lookup import SCOPE, find_conversation
from polyvox.cli.output import say_json, table
from polyvox.cli.words import count, money, one_line
from polyvox.shapes import UsageRow
from polyvox.store import advisors, conversations
from polyvox.store.usage import Total, totals

By = Literal["day", "advisor", "model", "conversation"]


async def usage(
    app: Polyvox,
    by: Annotated[By, typer.Option(help="What the sums are of.")] = "day",
    conversation: Annotated[
        str | None, typer.Option("--conversation", "-c", metavar="ID", help="Of this one only.")
    ] = None,
    json: Json = False,
) -> None:
    """Tokens and cost by day, advisor, model or conversation.

    What has no known price is counted apart, never as free.
    """
    chosen = (await find_conversation(app, conversation)).id if conversation else None
    (whole,), rows = await app.database.read(
        lambda tx: (totals(tx, None, chosen), totals(tx, by, chosen)), SCOPE
    )
    names = await _names(app, by)
    if json:
        data = [_data(row, names) for row in rows]
        say_json({"by": by, "rows": data, "total": _data(whole, {})})
        return
    cells = [_cells(row, names.get(row.key or "", row.key or "(deleted)")) for row in rows]
    if len(cells) > 1:
        cells.append(_cells(whole, "in all"))
    headings = (by, "answers", "tokens in", "tokens out", "cost")
    table(headings, cells, empty="Nothing has been used yet.")


async def _names(app: Polyvox, by: By) -> dict[str, str]:
    """Names for the keys of the sums."""
    if by == "advisor":
        rows = await app.database.read(advisors.everyone, SCOPE)
        names = {advisor.id: advisor.name for advisor in rows}
        own = {"assistant": "Assistant", "synthesis": "Synthesis"}
    elif by == "conversation":
        names, own = await app.database.read(conversations.titles, SCOPE), {}
    else:
        return {}
    return own | {key: one_line(name, 48) or key for key, name in names.items()}


def _cells(row: Total, name: str) -> tuple[str, ...]:
    about = "≈" if row.estimated else ""
    return (
        name,
        f"{row.answers:,}",
        f"{about}{row.input_tokens:,}",
        f"{about}{row.output_tokens:,}",
        _cost(row),
    )


def _cost(row: Total) -> str:
    if row.unpriced == row.answers and row.answers:
        return "unknown"
    unknown = f" + {count(row.unpriced, 'answer')} of unknown price" if row.unpriced else ""
    return money(row.cost) + unknown


def _data(row: Total, names: dict[str, str]) -> dict[str, Any]:
    return {"key": row.key, "name": names.get(row.key or ""), **asdict(UsageRow.of(row))}
