"""Prompt versions as rows: every text that an advisor's identity has had, in a chain.

Invariant: a version is written once and never changed or deleted, also when its advisor is
removed, because answers and receipts refer to it.
"""

from __future__ import annotations

from polyvox.ids import content_hash
from polyvox.store.database import Tx
from polyvox.store.table import Table, known
from polyvox.values import Advisor, PromptVersion

VERSIONS = Table("prompt_versions", PromptVersion)


def get(tx: Tx, version_id: str) -> PromptVersion:
    """One version by its id, or NotFound."""
    version = VERSIONS.one(tx, "AND id = ?", version_id)
    return known(version, f"There is no prompt version {version_id}.")


def list_all(tx: Tx, advisor_id: str) -> list[PromptVersion]:
    """All versions of an advisor (also of a removed one), newest first."""
    return VERSIONS.all(tx, "AND advisor_id = ? ORDER BY number DESC", advisor_id)


def add(tx: Tx, advisor: Advisor, parent: PromptVersion | None, reason: str, now: int) -> None:
    """Store the identity that `advisor` has now as the version that it names."""
    text = advisor.identity
    version = PromptVersion(
        id=advisor.version_id,
        advisor_id=advisor.id,
        number=1 if parent is None else parent.number + 1,
        field="prompt" if advisor.prompt else "description",
        text=text,
        hash=content_hash(text),
        parent_id=None if parent is None else parent.id,
        reason=reason,
        created_at=now,
    )
    VERSIONS.insert(tx, version)
