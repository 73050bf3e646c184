"""Routes of evaluations and verdicts: begin a run, follow it, call it off, say what was wrong."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query

from polyvox.errors import Invalid, NotFound
from polyvox.evaluation import report as agreeing
from polyvox.evaluation import suite
from polyvox.evaluation.run import seen
from polyvox.evaluation.tables import assertions as assertion_rows
from polyvox.evaluation.tables import evaluations, samples, verdicts
from polyvox.evaluation.tables.evaluations import Evaluation
from polyvox.evaluation.values import Verdict
from polyvox.store import advisors as advisor_rows
from polyvox.store.database import Tx
from polyvox.web.dependencies import App, Who
from polyvox.web.errors import responses
from polyvox.web.evaluation_shapes import (
    AgreementOut,
    AgreementsOut,
    AnswerVerdicts,
    AssertionAgreement,
    ComparedOut,
    EvaluateBody,
    EvaluationOut,
    EvaluationPage,
    JudgeAgreement,
    PassRate,
    PassRates,
    SummaryOut,
    Texts,
    VerdictList,
    VerdictOut,
    changes,
    listed,
    name_of,
    shown,
    told,
)
from polyvox.web.fields import Body, Id, Key

router = APIRouter(tags=["evaluations"])
Few = Annotated[int, Query(ge=1, le=200)]
Advisor = Annotated[Id | None, Query()]


class BlessBody(Body):
    """Whether later runs are compared with this one."""

    blessed: bool = True


class OverruleBody(Body):
    """What a verdict should have been; null takes that back."""

    outcome: Literal["pass", "fail"] | None


@router.post("/api/evaluations", status_code=202, responses=responses(404, 409))
async def evaluate(app: App, who: Who, body: EvaluateBody) -> EvaluationOut:
    """Begin a run over assertions; it is worked on in the background."""
    made = await app.evaluations.begin(who, body.wish())
    return await app.database.read(lambda tx: told(tx, made.id), who)


@router.get("/api/evaluations", responses=responses(404))
async def list_evaluations(
    app: App,
    who: Who,
    advisor: Advisor = None,
    limit: Few = 50,
    before: Annotated[Id | None, Query()] = None,
) -> EvaluationPage:
    """Runs, newest first; those that live badges made are not among them."""

    def read(tx: Tx) -> EvaluationPage:
        key = None if advisor is None else advisor_id(tx, advisor)
        page = evaluations.list_page(tx, advisor_id=key, limit=limit, before=before)
        items = [listed(one, name_of(tx, one.advisor_id)) for one in page.items]
        return EvaluationPage(items=items, next=page.next)

    return await app.database.read(read, who)


@router.get("/api/evaluations/{evaluation}", responses=responses(404))
async def get_evaluation(
    app: App, who: Who, evaluation: Key, verdicts: bool = True
) -> EvaluationOut:
    """A run, how far it is, and what it has found out up to now."""
    return await app.database.read(lambda tx: told(tx, evaluation, with_verdicts=verdicts), who)


@router.post("/api/evaluations/{evaluation}/cancel", responses=responses(404, 409))
async def cancel_evaluation(app: App, who: Who, evaluation: Key) -> EvaluationOut:
    """Call a run off: its calls are closed at once, what it found is kept."""
    await app.evaluations.cancel(who, evaluation)
    return await app.database.read(lambda tx: told(tx, evaluation), who)


@router.post("/api/evaluations/{evaluation}/retry", responses=responses(404, 409))
async def retry_evaluation(app: App, who: Who, evaluation: Key) -> EvaluationOut:
    """Try again what could not be found out, in the same run."""
    await app.evaluations.retry_errors(who, evaluation)
    return await app.database.read(lambda tx: told(tx, evaluation), who)


@router.post("/api/evaluations/{evaluation}/bless", responses=responses(404, 409))
async def bless_evaluation(app: App, who: Who, evaluation: Key, body: BlessBody) -> EvaluationOut:
    """Make a finished run the one that later ones are compared with."""
    await app.evaluations.bless(who, evaluation, blessed=body.blessed)
    return await app.database.read(lambda tx: told(tx, evaluation), who)


@router.get("/api/evaluations/{evaluation}/compare", responses=responses(404))
async def compare_evaluations(
    app: App,
    who: Who,
    evaluation: Key,
    base: Annotated[Id, Query(alias="with")] = "blessed",
) -> ComparedOut:
    """What became of each assertion since another run, or since the blessed one."""
    return await app.database.read(lambda tx: compared(tx, evaluation, base), who)


@router.post("/api/verdicts/{verdict}/overrule", responses=responses(404, 409))
async def overrule_verdict(app: App, who: Who, verdict: Key, body: OverruleBody) -> VerdictOut:
    """Say what a verdict should have been. That is a label: see the agreement."""
    one = await app.evaluations.overrule(who, verdict, body.outcome)
    return await app.database.read(lambda tx: verdict_out(tx, one), who)


@router.get("/api/answers/{answer}/verdicts", responses=responses(404))
async def answer_verdicts(app: App, who: Who, answer: Key) -> AnswerVerdicts:
    """What was found out about a stored answer: the newest verdict on each assertion."""

    def read(tx: Tx) -> AnswerVerdicts:
        found = agreeing.marked(tx, answer)
        return AnswerVerdicts(
            answer_id=answer,
            state=found.state,
            outcome=found.outcome,
            verdicts=shown(found.verdicts, Texts(tx)),
        )

    return await app.database.read(read, who)


@router.get("/api/assertions/{assertion}/verdicts", responses=responses(404))
async def assertion_verdicts(app: App, who: Who, assertion: Key, limit: Few = 50) -> VerdictList:
    """The newest verdicts on an assertion, of all its versions."""

    def read(tx: Tx) -> VerdictList:
        if not assertion_rows.is_known(tx, assertion):
            assertion_rows.get(tx, assertion)
        found = verdicts.of_assertion(tx, assertion, limit)
        kept = {one.sample: samples.find(tx, one.sample) for one in found if one.sample}
        said = {key: one.text for key, one in kept.items() if one is not None}
        return VerdictList(items=shown(found, Texts(tx), said))

    return await app.database.read(read, who)


@router.get("/api/agreement", responses=responses(404))
async def agreement(app: App, who: Who, advisor: Advisor = None) -> AgreementsOut:
    """How well judges agree with what people say of their verdicts, with the counts."""
    return await app.database.read(lambda tx: agreed(tx, advisor), who)


@router.get("/api/advisors/{advisor}/passrates", responses=responses(404))
async def pass_rates(app: App, who: Who, advisor: Key) -> PassRates:
    """How an advisor's suite fared from prompt version to prompt version."""

    def read(tx: Tx) -> PassRates:
        points = agreeing.pass_rates(tx, advisor_id(tx, advisor))
        return PassRates(points=[_point(one) for one in points])

    return await app.database.read(read, who)


def _point(one: agreeing.Point) -> PassRate:
    low, high = one.interval
    return PassRate(
        evaluation_id=one.evaluation.id,
        created_at=one.evaluation.created_at,
        version_id=one.version.id,
        version_number=one.version.number,
        prompt_hash=one.version.hash,
        passes=one.passes,
        n=one.n,
        rate=one.passes / one.n if one.n else None,
        low=low,
        high=high,
        summary=SummaryOut.of(one.results),
        blessed=one.evaluation.blessed_at is not None,
    )


def advisor_id(tx: Tx, key: str) -> str:
    """An advisor by id or slug, also one that is gone but asserted about."""
    found = advisor_rows.find(tx, key)
    if found is not None:
        return found.id
    if assertion_rows.name_of(tx, key) is not None:
        return key
    return advisor_rows.get(tx, key).id


def verdict_out(tx: Tx, one: Verdict) -> VerdictOut:
    """A verdict with what it is about."""
    sample = samples.find(tx, one.sample) if one.sample else None
    said = {one.sample: sample.text} if sample is not None else None
    return shown([one], Texts(tx), said)[0]


def agreed(tx: Tx, advisor: str | None) -> AgreementsOut:
    """How well judges agree with people, about an advisor's assertions or about all."""
    key = None if advisor is None else advisor_id(tx, advisor)
    found = agreeing.agreements(tx, key)
    texts = Texts(tx)
    return AgreementsOut(
        overall=AgreementOut.of(found.overall),
        judges=[
            JudgeAgreement(judge=judge, judge_hash=name, agreement=AgreementOut.of(one))
            for (judge, name), one in found.judges
        ],
        assertions=[
            AssertionAgreement(
                assertion_id=one, text=texts.newest(one), agreement=AgreementOut.of(some)
            )
            for one, some in found.assertions
        ],
    )


def compared(tx: Tx, evaluation_id: str, base: str) -> ComparedOut:
    """A run beside another one; `blessed`: beside the one that was blessed last."""
    now = seen(tx, evaluation_id)
    other = _base(tx, now.evaluation, base)
    found = suite.compare(seen(tx, other.id).results, now.results)
    return changes(other.id, found, Texts(tx))


def _base(tx: Tx, one: Evaluation, base: str) -> Evaluation:
    if base != "blessed":
        found = evaluations.get(tx, base)
        if found.id == one.id:
            raise Invalid("A run cannot be compared with itself.", param="with")
        return found
    blessed = evaluations.latest(tx, one.advisor_id, blessed=True, other_than=one.id)
    if blessed is None:
        raise NotFound(
            "No run was blessed yet.", "Bless one first: POST /api/evaluations/{id}/bless."
        )
    return blessed
