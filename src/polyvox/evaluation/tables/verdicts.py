"""Verdicts as rows: what was found out about an assertion in a text, and what a person says of it.

Invariant: one run has one verdict for a version of an assertion, a text and a repeat. One that was
an `error` may be found out later, in its place; a pass or a fail stays what it was, and a person's
word stands beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from polyvox.errors import Conflict, NotFound
from polyvox.memory.tables.redaction import Found, Needles, excerpt, place
from polyvox.store.database import Row, Tx, Value

Outcome = Literal["pass", "fail", "error"]
"""An `error` is neither a pass nor a fail: nothing was found out."""
CODE = "code"
"""The judge of checks that need none."""
SOME = 400
_COLUMNS = (
    "id, evaluation_id, assertion_id, number, answer_id, sample, prompt_hash, context_hash, model,"
    " judge, judge_hash, repeat, reason, outcome, overruled, created_at"
)


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
    overruled: Outcome | None = None
    """What the person says it should have been."""
    created_at: int = 0

    @property
    def subject(self) -> str:
        """Names the text that was judged."""
        return self.sample or self.answer_id or ""


@dataclass(frozen=True, slots=True)
class Judged:
    """The judgement of one assertion on one answer, the reason first."""

    assertion_id: str
    number: int
    reason: str
    outcome: Outcome


def put(tx: Tx, verdicts: Iterable[Verdict]) -> None:
    """Store what was found out; what was an `error` before is found out now."""
    tx.many(
        f"INSERT INTO verdicts (user_id, subject, {_COLUMNS})"
        f" VALUES (?, ?, {', '.join('?' * 16)})"
        " ON CONFLICT (user_id, evaluation_id, assertion_id, number, subject, repeat) DO UPDATE"
        " SET reason = excluded.reason, outcome = excluded.outcome, judge = excluded.judge,"
        " judge_hash = excluded.judge_hash, model = excluded.model,"
        " created_at = excluded.created_at WHERE verdicts.outcome = 'error'",
        [
            (
                tx.user,
                verdict.subject,
                verdict.id,
                verdict.evaluation_id,
                verdict.assertion_id,
                verdict.number,
                verdict.answer_id,
                verdict.sample,
                verdict.prompt_hash,
                verdict.context_hash,
                verdict.model,
                verdict.judge,
                verdict.judge_hash,
                verdict.repeat,
                verdict.reason,
                verdict.outcome,
                verdict.overruled,
                verdict.created_at,
            )
            for verdict in verdicts
        ],
    )


def get(tx: Tx, verdict_id: str) -> Verdict:
    """One verdict, or NotFound."""
    rows = _some(tx, "id = ?", (verdict_id,))
    if not rows:
        raise NotFound(
            f"There is no verdict {verdict_id}.",
            "Those of a run: GET /api/evaluations/{id}, or `polyvox eval verdicts`.",
        )
    return rows[0]


def of_evaluation(tx: Tx, evaluation_id: str) -> list[Verdict]:
    """Every verdict of a run, in the order of their repeats."""
    return _some(tx, "evaluation_id = ?", (evaluation_id,), "repeat, created_at, id")


def of_subject(tx: Tx, evaluation_id: str, subject: str, repeat: int) -> list[Verdict]:
    """What a run has found out about one text in one repeat."""
    where = "evaluation_id = ? AND subject = ? AND repeat = ?"
    return _some(tx, where, (evaluation_id, subject, repeat))


def of_answer(tx: Tx, answer_id: str) -> list[Verdict]:
    """Everything that was found out about a stored answer, newest first."""
    return _some(tx, "answer_id = ?", (answer_id,), "created_at DESC, id DESC")


def of_assertion(tx: Tx, assertion_id: str, limit: int = 200) -> list[Verdict]:
    """The newest verdicts on an assertion, of all its versions."""
    return _some(tx, "assertion_id = ?", (assertion_id,), "created_at DESC, id DESC", limit=limit)


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


def overruled(
    tx: Tx, *, judge: str | None = None, assertion_id: str | None = None
) -> list[Verdict]:
    """Every verdict on which a person has had a say."""
    where, params = "overruled IS NOT NULL", list[Value]()
    for column, value in (("judge", judge), ("assertion_id", assertion_id)):
        if value is not None:
            where += f" AND {column} = ?"
            params.append(value)
    return _some(tx, where, params, "created_at, id")


@place("verdict", tables=("verdicts",))
def _forgotten(tx: Tx, needles: Needles, dry: bool) -> list[Found]:
    """Forgetting reaches reasons: they quote what they judge."""
    places = []
    rows = tx.all(
        "SELECT id, reason FROM verdicts WHERE user_id = ? AND created_at >= ?",
        (tx.user, needles.since),
    )
    for verdict_id, reason in rows:
        if (clean := needles.redacted(reason)) is not None:
            places.append(Found("verdict", verdict_id, excerpt(reason)))
            if not dry:
                tx.run(
                    "UPDATE verdicts SET reason = ? WHERE user_id = ? AND id = ?",
                    (clean, tx.user, verdict_id),
                )
    return places


def _some(
    tx: Tx, where: str, params: Sequence[Value], order: str = "id", limit: int | None = None
) -> list[Verdict]:
    rows = tx.all(
        f"SELECT {_COLUMNS} FROM verdicts WHERE user_id = ? AND {where} ORDER BY {order}"
        f"{'' if limit is None else ' LIMIT ?'}",
        (tx.user, *params, *(() if limit is None else (limit,))),
    )
    return [_verdict(row) for row in rows]


def _verdict(row: Row) -> Verdict:
    return Verdict(*row)
