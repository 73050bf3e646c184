"""Tokens that a model really counts for one that we estimate, learned from its reports.

A running mean that forgets: each report halves the weight of all before it, so three alike outweigh
any past (after a long past at 1 and three at 2 the ratio is 1.9), whatever their sizes.
"""

from __future__ import annotations

from polyvox.store.database import Tx

KEEP = 0.5
LOWEST, HIGHEST = 0.1, 10.0
"""A report beyond these says more about the report than about the model."""


def observe(tx: Tx, model: str, reported: float, estimated: float) -> None:
    """Learn from one answer: input tokens as reported and as estimated before (without ratio)."""
    if reported <= 0 or estimated <= 0:
        return
    seen = min(HIGHEST, max(LOWEST, reported / estimated))
    tx.run(
        "INSERT INTO ratios (user_id, model, reported, estimated, samples) VALUES (?, ?, ?, ?, 1)"
        " ON CONFLICT (user_id, model) DO UPDATE SET"
        f" reported = ratios.reported * {KEEP} + excluded.reported,"
        f" estimated = ratios.estimated * {KEEP} + excluded.estimated,"
        " samples = ratios.samples + 1",
        (tx.user, model, seen, 1.0),
    )


def ratio(tx: Tx, model: str) -> float:
    """Reported over estimated; 1.0 for a model that has reported nothing yet."""
    row = tx.one(
        "SELECT reported, estimated FROM ratios WHERE user_id = ? AND model = ?",
        (tx.user, model),
    )
    return 1.0 if row is None else float(row[0] / row[1])
