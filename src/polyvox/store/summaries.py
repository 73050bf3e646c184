"""Running summaries as rows: what left a bookends window, for one advisor on one branch.

Invariant: a row tells of exactly the messages it lists. Whatever changes one of them (an exclusion,
another version, forgetting) drops the row in the same transaction and wants a new one made.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import msgspec

from polyvox.store import jobs
from polyvox.store.database import Tx
from polyvox.store.table import Table

KIND = "running_summary"
"""The job that makes one."""


@dataclass(frozen=True, slots=True)
class RunningSummary:
    """A stored summary of a stretch of an advisor's thread."""

    conversation_id: str
    branch_id: str
    advisor_id: str
    text: str
    covers: tuple[str, ...]
    """The messages and answers it tells of, in order: "u" and a turn's id, "a" and an answer's."""
    after_id: str
    """The turn before the first of them; empty: there is none."""
    before_id: str
    """The turn behind the last of them."""
    model: str
    made_at: int


_SUMMARIES = Table("running_summaries", RunningSummary)


def subject(conversation_id: str, branch_id: str, advisor_id: str) -> str:
    """The subject of a summary's job."""
    return msgspec.json.encode((conversation_id, branch_id, advisor_id)).decode()


def parse(about: str) -> tuple[str, str, str]:
    """The conversation, the branch and the advisor that a job is about."""
    return msgspec.json.decode(about, type=tuple[str, str, str])


def find(tx: Tx, conversation_id: str, branch_id: str, advisor_id: str) -> RunningSummary | None:
    """The summary of an advisor's thread on a branch, if there is one."""
    return _SUMMARIES.one(
        tx,
        "AND conversation_id = ? AND branch_id = ? AND advisor_id = ?",
        conversation_id,
        branch_id,
        advisor_id,
    )


def of_advisor(tx: Tx, conversation_id: str, advisor_id: str) -> list[RunningSummary]:
    """An advisor's summaries of a conversation, of every branch."""
    return _SUMMARIES.all(
        tx,
        "AND conversation_id = ? AND advisor_id = ? ORDER BY branch_id",
        conversation_id,
        advisor_id,
    )


def of_conversation(tx: Tx, conversation_id: str) -> list[RunningSummary]:
    """Every summary of a conversation."""
    return _SUMMARIES.all(
        tx, "AND conversation_id = ? ORDER BY branch_id, advisor_id", conversation_id
    )


def list_all(tx: Tx) -> list[RunningSummary]:
    """All summaries of the user."""
    return _SUMMARIES.all(tx, "ORDER BY conversation_id, branch_id, advisor_id")


def put(tx: Tx, summary: RunningSummary) -> None:
    """Store a summary in place of the one before."""
    _delete(tx, summary)
    _SUMMARIES.insert(tx, summary)


def drop(tx: Tx, summary: RunningSummary, now: int) -> None:
    """Delete a summary and enqueue a new one."""
    _delete(tx, summary)
    about = subject(summary.conversation_id, summary.branch_id, summary.advisor_id)
    jobs.enqueue_again(tx, KIND, about, now)


def drop_covering(tx: Tx, conversation_id: str, refs: Collection[str], now: int) -> None:
    """Drop every summary that covers one of these changed messages or answers."""
    for summary in of_conversation(tx, conversation_id):
        if not set(refs).isdisjoint(summary.covers):
            drop(tx, summary, now)


def _delete(tx: Tx, summary: RunningSummary) -> None:
    tx.run(
        "DELETE FROM running_summaries WHERE user_id = ? AND conversation_id = ?"
        " AND branch_id = ? AND advisor_id = ?",
        (tx.user, summary.conversation_id, summary.branch_id, summary.advisor_id),
    )
