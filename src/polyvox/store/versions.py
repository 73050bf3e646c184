"""Prompt versions as rows: every text that an advisor's identity has had, in a chain.

Invariant: a version is written once and never changed or deleted, also when its advisor is
removed, because answers and receipts refer to it.
"""

from __future__ import annotations

from polyvox.errors import NotFound
from polyvox.ids import content_hash
from polyvox.store.database import Tx
from polyvox.values import Advisor, PromptVersion, Scope

VERSION = "id, advisor_id, number, field, text, hash, parent_id, reason, created_at"


def get(tx: Tx, scope: Scope, version_id: str) -> PromptVersion:
    """One version by its id, or NotFound."""
    row = tx.one(
        f"SELECT {VERSION} FROM prompt_versions WHERE user_id = ? AND id = ?",
        (scope.user, version_id),
    )
    if row is None:
        raise NotFound(f"There is no prompt version {version_id}.")
    return PromptVersion(*row)


def list_all(tx: Tx, scope: Scope, advisor_id: str) -> list[PromptVersion]:
    """All versions of an advisor (also of a removed one), newest first."""
    rows = tx.all(
        f"SELECT {VERSION} FROM prompt_versions WHERE user_id = ? AND advisor_id = ?"
        " ORDER BY number DESC",
        (scope.user, advisor_id),
    )
    return [PromptVersion(*row) for row in rows]


def add(
    tx: Tx, scope: Scope, advisor: Advisor, parent: PromptVersion | None, reason: str, now: int
) -> None:
    """Store the identity that `advisor` has now as the version that it names."""
    text = advisor.identity
    tx.run(
        f"INSERT INTO prompt_versions (user_id, {VERSION}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            scope.user,
            advisor.version_id,
            advisor.id,
            1 if parent is None else parent.number + 1,
            "prompt" if advisor.prompt else "description",
            text,
            content_hash(text),
            None if parent is None else parent.id,
            reason,
            now,
        ),
    )
