"""Verdicts as rows: what was found out about an assertion in a text, and what a person says of it.

Invariant: one run has one verdict for a version of an assertion, a text and a repeat. One that was
an `error` may be found out later, in its place; a pass or a fail stays what it was, and a person's
word stands beside it.

A sample, what an advisor answered when it was asked anew, belongs to the run that it was made for:
another run is another measurement. Failures are not kept.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from polyvox.errors import Conflict, NotFound
from polyvox.evaluation.tables import contexts
from polyvox.memory.tables.redaction import Found, Gone, excerpt, place
from polyvox.store.database import Tx
from polyvox.store.table import Table, rows_in
from polyvox.values import REDACTED

Outcome = Literal["pass", "fail", "error"]
"""An `error` is neither a pass nor a fail: nothing was found out."""
CODE = "code"
"""The judge of checks that need none."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A judgement that is kept."""

    id: str
    evaluation_id: str
    assertion_id: str
    number: int
    """The assertion's version."""
    answer_id: str | None
    """The stored answer it is about; None: a replay's (see `sample`)."""
    sample: str
    """Names the replayed text in the cache; empty for a stored answer."""
    prompt_hash: str
    context_hash: str
    model: str
    judge: str
    """The judge's model; `code` for a check."""
    judge_hash: str
    """Names the judge's prompt."""
    repeat: int
    reason: str
    outcome: Outcome
    overruled: Outcome | None
    """The person's word on what it should have been."""
    created_at: int

    @property
    def subject(self) -> str:
        """Names the text that was judged."""
        return self.sample or self.answer_id or ""

    @property
    def place(self) -> str:
        """Names the stored answer or the context that it is about; empty: there was none."""
        return self.answer_id or self.context_hash

    @property
    def effective(self) -> Outcome:
        """The outcome that it counts as."""
        return self.overruled or self.outcome


@dataclass(frozen=True, slots=True)
class Judged:
    """The judgement of one assertion on one answer, the reason first."""

    assertion_id: str
    number: int
    reason: str
    outcome: Outcome


_TABLE = Table("verdicts", Verdict)


def put(tx: Tx, verdicts: Iterable[Verdict]) -> None:
    """Store what was found out; what was an `error` before is found out now."""
    columns = _TABLE.columns.split(", ")
    marks = ", ".join("?" * len(columns))
    tx.many(
        f"INSERT INTO verdicts (user_id, subject, {_TABLE.columns}) VALUES (?, ?, {marks})"
        " ON CONFLICT (user_id, evaluation_id, assertion_id, number, subject, repeat) DO UPDATE"
        " SET reason = excluded.reason, outcome = excluded.outcome, judge = excluded.judge,"
        " judge_hash = excluded.judge_hash, model = excluded.model,"
        " created_at = excluded.created_at WHERE verdicts.outcome = 'error'",
        [
            (tx.user, verdict.subject, *(getattr(verdict, column) for column in columns))
            for verdict in verdicts
        ],
    )


def get(tx: Tx, verdict_id: str) -> Verdict:
    """One verdict, or NotFound."""
    verdict = _TABLE.one(tx, "AND id = ?", verdict_id)
    if verdict is None:
        raise NotFound(
            f"There is no verdict {verdict_id}.",
            "Those of a run: GET /api/evaluations/{id}, or `polyvox eval verdicts`.",
        )
    return verdict


def of_evaluation(tx: Tx, evaluation_id: str) -> list[Verdict]:
    """Every verdict of a run, in the order of their repeats."""
    return _TABLE.all(tx, "AND evaluation_id = ? ORDER BY repeat, created_at, id", evaluation_id)


def of_subject(tx: Tx, evaluation_id: str, subject: str, repeat: int) -> list[Verdict]:
    """Verdicts of a run on one text in one repeat."""
    where = "AND evaluation_id = ? AND subject = ? AND repeat = ? ORDER BY id"
    return _TABLE.all(tx, where, evaluation_id, subject, repeat)


def of_answer(tx: Tx, answer_id: str) -> list[Verdict]:
    """All verdicts on a stored answer, newest first."""
    return _TABLE.all(tx, "AND answer_id = ? ORDER BY created_at DESC, id DESC", answer_id)


def of_assertion(tx: Tx, assertion_id: str, limit: int = 200) -> list[Verdict]:
    """The newest verdicts on an assertion, of all its versions."""
    rest = "AND assertion_id = ? ORDER BY created_at DESC, id DESC LIMIT ?"
    return _TABLE.all(tx, rest, assertion_id, limit)


def overrule(tx: Tx, verdict_id: str, outcome: Literal["pass", "fail"] | None, now: int) -> Verdict:
    """Note what the person says this verdict should have been; None: nothing any more."""
    if get(tx, verdict_id).outcome == "error" and outcome is not None:
        raise Conflict(
            "This verdict is an error: nothing was found out that could be overruled.",
            "Run the evaluation again for what could not be judged.",
        )
    tx.run(
        "UPDATE verdicts SET overruled = ?, overruled_at = ? WHERE user_id = ? AND id = ?",
        (outcome, None if outcome is None else now, tx.user, verdict_id),
    )
    return get(tx, verdict_id)


def overruled(tx: Tx) -> list[Verdict]:
    """Every verdict on which a person has had a say."""
    return _TABLE.all(tx, "AND overruled IS NOT NULL ORDER BY created_at, id")


# -- samples ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StoredSample:
    """One answer that an advisor gave in a stored context."""

    key: str
    run_id: str
    context_hash: str
    prompt_hash: str
    model: str
    repeat: int
    text: str
    created_at: int


_SAMPLES = Table("samples", StoredSample)


def put_sample(tx: Tx, sample: StoredSample) -> None:
    """Keep a sample; one that is there stays as it is."""
    _SAMPLES.try_insert(tx, sample)


def find_sample(tx: Tx, key: str) -> StoredSample | None:
    """One sample, or None."""
    return _SAMPLES.one(tx, "AND key = ?", key)


# -- forgetting ------------------------------------------------------------------------------------


@place("verdict", tables=("verdicts", "samples"))
def _forgotten(tx: Tx, gone: Gone, dry: bool) -> list[Found]:
    """Reasons quote the answer that they judge, and what was answered anew may repeat what its
    context held."""
    names = [name for name, _ in contexts.touched(tx, gone)]
    found: list[Found] = []
    for table, key, column, where, ids in (
        ("verdicts", "id", "reason", "answer_id", gone.answers),
        ("verdicts", "id", "reason", "context_hash", names),
        ("samples", "key", "text", "context_hash", names),
    ):
        sql = f"SELECT {key}, {column} FROM {table} WHERE user_id = ? AND {where}"
        for name, text in rows_in(tx, sql, ids):
            if text in ("", REDACTED):
                continue
            found.append(Found(table.removesuffix("s"), name, excerpt(text)))
            if not dry:
                tx.run(
                    f"UPDATE {table} SET {column} = ? WHERE user_id = ? AND {key} = ?",
                    (REDACTED, tx.user, name),
                )
    return found
