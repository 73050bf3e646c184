"""A room in which answers are judged: assertions, a judge at the provider, and whole runs."""

from __future__ import annotations

from typing import Any

from tests.provider import Script
from tests.session.room import ME, Room

from polyvox.evaluation import assertion
from polyvox.evaluation.assertion import Wording
from polyvox.evaluation.plan import EvaluationRequest
from polyvox.evaluation.run import KIND, EvaluationView
from polyvox.evaluation.tables import contexts
from polyvox.evaluation.tables.assertions import Assertion
from polyvox.evaluation.tables.contexts import StoredContext
from polyvox.evaluation.tables.verdicts import Verdict
from polyvox.store.database import Tx

JUDGED: dict[str, Any] = {"models": {"judge": "lab:judge"}}
"""Settings of a room with a judge of its own."""


def stored_context(tx: Tx, name: str) -> StoredContext:
    """A context that is there."""
    found = contexts.find(tx, name)
    assert found is not None
    return found


def judging(room: Room, *fails: str, **more: Any) -> None:
    """From now on the judge fails assertions with these words in them, and passes all others."""
    room.provider.script("judge", Script(judges=True, fails=fails, **more))


async def assert_of(room: Room, answer_id: str, *texts: str) -> list[Assertion]:
    """Assertions drawn from an answer."""
    said = [Wording(text) for text in texts]
    return await assertion.from_answer(room.polyvox.resources, ME, answer_id, said)


async def assert_for(
    room: Room,
    advisor: str,
    *said: str | Wording,
    asks: str | None = None,
    phase: str | None = None,
) -> list[Assertion]:
    """Assertions by hand."""
    worded = [Wording(one) if isinstance(one, str) else one for one in said]
    return await assertion.by_hand(room.polyvox.resources, ME, advisor, worded, (), asks, phase)


async def begin(room: Room, **wish: Any) -> str:
    """The id of a run that is wanted."""
    return (await room.polyvox.evaluations.begin(ME, EvaluationRequest(**wish))).id


async def evaluate(room: Room, **wish: Any) -> EvaluationView:
    """A whole run."""
    return await finish(room, await begin(room, **wish))


async def finish(room: Room, run_id: str) -> EvaluationView:
    """Work on a run until it has ended."""
    assert await room.polyvox.worker.run_one(ME, KIND, run_id)
    return await room.polyvox.evaluations.get(ME, run_id)


def outcomes(found: EvaluationView) -> dict[str, str]:
    """What was found out, by assertion."""
    return {row.assertion_id: row.outcome for row in found.results.assertions}


def reasons(found: EvaluationView) -> list[str]:
    """Why, verdict by verdict."""
    return [one.reason for one in found.verdicts]


def asked(room: Room, model: str) -> list[Any]:
    """Every request that a model has got, as data."""
    return [one.json() for one in room.provider.log if one.model == model]


def verdict(found: EvaluationView, number: int = 0) -> Verdict:
    """One verdict of a run."""
    return found.verdicts[number]
