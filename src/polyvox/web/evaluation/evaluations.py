"""Routes of runs over assertions and of their verdicts: begin, follow, cancel, overrule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import fastapi
from fastapi import Query
from pydantic import Field

from polyvox.evaluation import report
from polyvox.evaluation.plan import MOST_REPEATS, EvaluationRequest
from polyvox.evaluation.report import (
    Agreements,
    AnswerVerdicts,
    ComparedOut,
    EvaluationOut,
    PassRate,
    VerdictOut,
    evaluation_out,
    run_out,
    verdicts_out,
)
from polyvox.evaluation.tables import assertions as assertion_rows
from polyvox.evaluation.tables import evaluations, verdicts
from polyvox.fields import Body, Id, ModelName
from polyvox.shapes import shape
from polyvox.store.database import Tx
from polyvox.store.pages import Page
from polyvox.web.dependencies import App, Key, Who
from polyvox.web.errors import responses
from polyvox.web.openapi import Router

router = Router("evaluations")
Few = Annotated[int, Query(ge=1, le=200)]
AdvisorFilter = Annotated[Id | None, Query()]
MOST_ASSERTIONS = 2_000


class EvaluateBody(Body):
    """The assertions to try. Without anything: every active one of every advisor, replayed once."""

    advisor_id: Id | None = None
    """Id or slug."""
    assertion_ids: Annotated[list[Id], Field(min_length=1, max_length=MOST_ASSERTIONS)] | None = (
        None
    )
    answer_id: Id | None = None
    mode: Literal["judge", "replay"] | None = None
    repeat: int = Field(1, ge=1, le=MOST_REPEATS)
    confirm: bool | None = None
    early: bool = True
    failing: bool = False
    model: ModelName | None = None

    def wish(self) -> EvaluationRequest:
        """The value of the room."""
        return shape(
            EvaluationRequest,
            self,
            advisor=self.advisor_id,
            assertion_ids=None if self.assertion_ids is None else tuple(self.assertion_ids),
            repeats=self.repeat,
            model=self.model or "",
            coded=False,
            origin="person",
        )


class BlessBody(Body):
    """`blessed`: later runs are compared with this one."""

    blessed: bool = True


class OverruleBody(Body):
    """The right outcome of a verdict; null takes that back."""

    outcome: Literal["pass", "fail"] | None


@dataclass(frozen=True, slots=True)
class VerdictList:
    """Verdicts, newest first."""

    items: list[VerdictOut]


@dataclass(frozen=True, slots=True)
class PassRates:
    """Pass rates over prompt versions, oldest first."""

    points: list[PassRate]


@router.post("/api/evaluations", status_code=202, responses=responses(404, 409))
async def evaluate(app: App, who: Who, body: EvaluateBody) -> EvaluationOut:
    """Begin a run over assertions; it is worked on in the background."""
    made = await app.evaluations.begin(who, body.wish())
    return await app.database.read(lambda tx: evaluation_out(tx, made.id), who)


@router.get("/api/evaluations", responses=responses(404))
async def list_evaluations(
    app: App,
    who: Who,
    advisor: AdvisorFilter = None,
    limit: Few = 50,
    before: Annotated[Id | None, Query()] = None,
) -> Page[EvaluationOut]:
    """Runs, newest first; those that live badges made are not among them."""

    def read(tx: Tx) -> Page[EvaluationOut]:
        key = None if advisor is None else assertion_rows.owner(tx, advisor)[0]
        page = evaluations.list_page(tx, key, limit, before)
        return Page(tuple(run_out(tx, run, run.results) for run in page.items), page.next)

    return await app.database.read(read, who)


@router.get("/api/evaluations/{evaluation}", responses=responses(404))
async def get_evaluation(
    app: App, who: Who, evaluation: Key, verdicts: bool = True
) -> EvaluationOut:
    """A run, its progress and its results up to now."""
    return await app.database.read(
        lambda tx: evaluation_out(tx, evaluation, with_verdicts=verdicts), who
    )


@router.post("/api/evaluations/{evaluation}/cancel", responses=responses(404, 409))
async def cancel_evaluation(app: App, who: Who, evaluation: Key) -> EvaluationOut:
    """Call a run off: its calls are closed at once, its results are kept."""
    await app.evaluations.cancel(who, evaluation)
    return await app.database.read(lambda tx: evaluation_out(tx, evaluation), who)


@router.post("/api/evaluations/{evaluation}/retry", responses=responses(404, 409))
async def retry_evaluation(app: App, who: Who, evaluation: Key) -> EvaluationOut:
    """Try again what could not be found out, in the same run."""
    await app.evaluations.retry_errors(who, evaluation)
    return await app.database.read(lambda tx: evaluation_out(tx, evaluation), who)


MaybeBless = Annotated[BlessBody, fastapi.Body(default_factory=BlessBody)]
"""A body that may be left out."""


@router.post("/api/evaluations/{evaluation}/bless", responses=responses(404, 409))
async def bless_evaluation(app: App, who: Who, evaluation: Key, body: MaybeBless) -> EvaluationOut:
    """Make a finished run the one that later ones are compared with."""
    await app.evaluations.bless(who, evaluation, blessed=body.blessed)
    return await app.database.read(lambda tx: evaluation_out(tx, evaluation), who)


@router.get("/api/evaluations/{evaluation}/compare", responses=responses(404))
async def compare_evaluations(
    app: App,
    who: Who,
    evaluation: Key,
    base: Annotated[Id, Query(alias="with")] = "blessed",
) -> ComparedOut:
    """The change of each assertion since another run, or since the blessed one."""
    return await app.database.read(lambda tx: report.compared(tx, evaluation, base), who)


@router.post("/api/verdicts/{verdict}/overrule", responses=responses(404, 409))
async def overrule_verdict(app: App, who: Who, verdict: Key, body: OverruleBody) -> VerdictOut:
    """Say what a verdict should have been. That is a label: see the agreement."""
    overruled = await app.evaluations.overrule(who, verdict, body.outcome)
    (shown,) = await app.database.read(lambda tx: verdicts_out(tx, [overruled]), who)
    return shown


@router.get("/api/answers/{answer}/verdicts", responses=responses(404))
async def answer_verdicts(app: App, who: Who, answer: Key) -> AnswerVerdicts:
    """The newest verdict on each assertion about a stored answer."""
    return await app.database.read(lambda tx: report.answer_verdicts(tx, answer), who)


@router.get("/api/assertions/{assertion}/verdicts", responses=responses(404))
async def assertion_verdicts(app: App, who: Who, assertion: Key, limit: Few = 50) -> VerdictList:
    """The newest verdicts on an assertion, of all its versions."""

    def read(tx: Tx) -> VerdictList:
        if not assertion_rows.is_known(tx, assertion):
            assertion_rows.get(tx, assertion)
        return VerdictList(verdicts_out(tx, verdicts.of_assertion(tx, assertion, limit)))

    return await app.database.read(read, who)


@router.get("/api/agreement", responses=responses(404))
async def agreement(app: App, who: Who, advisor: AdvisorFilter = None) -> Agreements:
    """Agreement of judges with the labels of people, with the counts."""
    return await app.database.read(lambda tx: report.agreements(tx, advisor), who)


@router.get("/api/advisors/{advisor}/passrates", responses=responses(404))
async def pass_rates(app: App, who: Who, advisor: Key) -> PassRates:
    """Pass rates of an advisor's suite from prompt version to prompt version."""
    return PassRates(await app.database.read(lambda tx: report.pass_rates(tx, advisor), who))
