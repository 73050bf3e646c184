"""The shapes of evaluations, verdicts and agreement as the API tells them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from polyvox.evaluation import suite
from polyvox.evaluation.plan import MOST_REPEATS, Wish
from polyvox.evaluation.run import seen
from polyvox.evaluation.statistics import Agreement
from polyvox.evaluation.suite import Compared, Result, Results
from polyvox.evaluation.tables import assertions as assertion_rows
from polyvox.evaluation.tables import samples
from polyvox.evaluation.tables.evaluations import Evaluation
from polyvox.evaluation.values import Verdict
from polyvox.shapes import usd
from polyvox.store import advisors as advisor_rows
from polyvox.store.database import Tx
from polyvox.web.fields import Body, Id, ModelName

OutcomeName = Literal["pass", "fail", "error"]
MOST_ASSERTIONS = 2_000


class EvaluateBody(Body):
    """What is to be found out. Without anything: every active assertion of every advisor, replayed
    once."""

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

    def wish(self) -> Wish:
        """As the road knows it."""
        return Wish(
            advisor=self.advisor_id,
            assertion_ids=None if self.assertion_ids is None else tuple(self.assertion_ids),
            answer_id=self.answer_id,
            mode=self.mode,
            repeats=self.repeat,
            confirm=self.confirm,
            early=self.early,
            failing=self.failing,
            model=self.model or "",
        )


class SummaryOut(BaseModel):
    """A run in numbers. `rate` is of the assertions about which anything was found out."""

    total: int
    passed: int
    failed: int
    errors: int
    flaky: int
    rate: float | None
    low: float
    high: float
    all_passed: bool

    @classmethod
    def of(cls, found: Results) -> SummaryOut:
        """From the values."""
        return cls(**{name: getattr(found, name) for name in cls.model_fields})


class TallyOut(BaseModel):
    """One context or answer that an assertion was tried on."""

    subject: str
    passes: int
    fails: int
    errors: int
    outcome: OutcomeName


class ResultOut(BaseModel):
    """What was found out about an assertion."""

    assertion_id: str
    number: int
    text: str
    kind: str
    advisor_id: str
    advisor_name: str
    outcome: OutcomeName
    passes: int
    fails: int
    errors: int
    rate: float | None
    low: float
    high: float
    flaky: bool
    overruled: int
    subjects: list[TallyOut]


class VerdictOut(BaseModel):
    """A judgement, the reason first."""

    id: str
    evaluation_id: str
    assertion_id: str
    number: int
    text: str
    """What the assertion said in that version."""
    answer_id: str | None
    sample: str
    sample_text: str | None
    """What was answered when it was asked anew; null for a stored answer."""
    prompt_hash: str
    context_hash: str
    model: str
    judge: str
    judge_hash: str
    repeat: int
    reason: str
    outcome: OutcomeName
    overruled: OutcomeName | None
    created_at: int

    @classmethod
    def of(cls, one: Verdict, text: str, sample: str | None = None) -> VerdictOut:
        """From the values."""
        given = {"text": text, "sample_text": sample}
        names = [name for name in cls.model_fields if name not in given]
        return cls(**given, **{name: getattr(one, name) for name in names})


class EvaluationOut(BaseModel):
    """A run over assertions."""

    id: str
    advisor_id: str | None
    advisor_name: str | None
    mode: Literal["judge", "replay"]
    origin: Literal["person", "suite", "badge"]
    answer_id: str | None
    model: str
    repeat: int
    confirm: bool
    early: bool
    judge: str
    judge_hash: str
    warnings: list[str]
    state: Literal["waiting", "running", "finished", "cancelled", "failed"]
    done: int
    total: int
    calls: int
    cost: float | None
    """USD; null where no price is known."""
    unpriced: int
    message: str
    blessed: bool
    created_at: int
    started_at: int | None
    ended_at: int | None
    summary: SummaryOut | None
    results: list[ResultOut] | None = None
    verdicts: list[VerdictOut] | None = None

    @classmethod
    def of(cls, one: Evaluation, name: str | None, found: Results | None) -> EvaluationOut:
        """From the values, without results and verdicts."""
        given = {
            "advisor_name": name,
            "repeat": one.repeats,
            "warnings": list(one.warnings),
            "cost": None if one.calls and one.unpriced == one.calls else usd(one.spent),
            "blessed": one.blessed_at is not None,
            "summary": None if found is None else SummaryOut.of(found),
        }
        names = set(cls.model_fields) - set(given) - {"results", "verdicts"}
        return cls(**given, **{name: getattr(one, name) for name in names})


class EvaluationPage(BaseModel):
    """Runs, newest first."""

    items: list[EvaluationOut]
    next: str | None


class ChangeOut(BaseModel):
    """What became of an assertion since another run."""

    assertion_id: str
    text: str
    advisor_name: str
    before: OutcomeName | None
    after: OutcomeName | None
    change: Literal["fixed", "broken", "same", "new", "gone", "unclear"]
    edited: bool
    rate_before: float | None
    rate_after: float | None


class ComparedOut(BaseModel):
    """A run beside the one that it is compared with; what broke comes first."""

    base: str
    changes: list[ChangeOut]
    broken: int
    fixed: int


class AgreementOut(BaseModel):
    """How verdicts compare with what a person says of them; null where nothing can be said."""

    n: int
    both_pass: int
    both_fail: int
    judge_pass: int
    judge_fail: int
    tpr: float | None
    tnr: float | None
    kappa: float | None

    @classmethod
    def of(cls, found: Agreement) -> AgreementOut:
        """From the values."""
        return cls(**{name: getattr(found, name) for name in cls.model_fields})


class JudgeAgreement(BaseModel):
    """The agreement of one judge: a model with one text of instructions."""

    judge: str
    judge_hash: str
    agreement: AgreementOut


class AssertionAgreement(BaseModel):
    """The agreement about one assertion."""

    assertion_id: str
    text: str
    agreement: AgreementOut


class AgreementsOut(BaseModel):
    """Agreement in all, per judge and per assertion."""

    overall: AgreementOut
    judges: list[JudgeAgreement]
    assertions: list[AssertionAgreement]


class AnswerVerdicts(BaseModel):
    """The newest verdict on each assertion about a stored answer."""

    answer_id: str
    state: Literal["none", "pending", "ready"]
    outcome: OutcomeName | None
    """`fail` where any failed, else `error` where any could not be found out."""
    verdicts: list[VerdictOut]


class VerdictList(BaseModel):
    """Verdicts, newest first."""

    items: list[VerdictOut]


class PassRate(BaseModel):
    """One run of an advisor's suite, for its prompt version."""

    evaluation_id: str
    created_at: int
    version_id: str
    version_number: int
    prompt_hash: str
    passes: int
    n: int
    rate: float | None
    low: float
    high: float
    summary: SummaryOut
    blessed: bool


class PassRates(BaseModel):
    """Pass rates over prompt versions, oldest first."""

    points: list[PassRate]


class Texts:
    """What assertions said, version by version, each looked up once."""

    def __init__(self, tx: Tx) -> None:
        self._tx, self._scope = tx, tx.scope
        self._versions: dict[str, dict[int, tuple[str, str]]] = {}
        self._names: dict[str, tuple[str, str]] = {}

    def text(self, assertion_id: str, number: int) -> str:
        """Its text in this version."""
        return self._of(assertion_id).get(number, ("", ""))[0]

    def newest(self, assertion_id: str) -> str:
        """Its text as it is now."""
        return next(iter(self._of(assertion_id).values()), ("", ""))[0]

    def kind(self, assertion_id: str, number: int) -> str:
        """Its kind in this version."""
        return self._of(assertion_id).get(number, ("", "judge"))[1]

    def advisor(self, assertion_id: str) -> tuple[str, str]:
        """Whose it is: id and name."""
        if assertion_id not in self._names:
            one = assertion_rows.find(self._tx, assertion_id)
            self._names[assertion_id] = (
                ("", "")
                if one is None
                else (
                    one.advisor_id,
                    one.advisor_name,
                )
            )
        return self._names[assertion_id]

    def _of(self, assertion_id: str) -> dict[int, tuple[str, str]]:
        if assertion_id not in self._versions:
            found = assertion_rows.versions(self._tx, assertion_id)
            self._versions[assertion_id] = {one.number: (one.text, one.kind) for one in found}
        return self._versions[assertion_id]


def name_of(tx: Tx, advisor_id: str | None) -> str | None:
    """What an advisor is called, or was when it was last asserted about."""
    if advisor_id is None:
        return None
    found = advisor_rows.find(tx, advisor_id)
    return found.name if found else assertion_rows.name_of(tx, advisor_id)


def told(tx: Tx, evaluation_id: str, *, with_verdicts: bool = True) -> EvaluationOut:
    """A run with what it has found out up to now."""
    found = seen(tx, evaluation_id)
    texts = Texts(tx)
    out = EvaluationOut.of(
        found.evaluation, name_of(tx, found.evaluation.advisor_id), found.results
    )
    out.results = [_result(row, texts) for row in found.results.assertions]
    if with_verdicts:
        said = {one.key: one.text for one in samples.of_run(tx, evaluation_id)}
        out.verdicts = shown(found.verdicts, texts, said)
    return out


def shown(
    found: Iterable[Verdict], texts: Texts, said: dict[str, str] | None = None
) -> list[VerdictOut]:
    """Verdicts with what they are about."""
    return [
        VerdictOut.of(one, texts.text(one.assertion_id, one.number), (said or {}).get(one.sample))
        for one in found
    ]


def listed(one: Evaluation, name: str | None) -> EvaluationOut:
    """A run as it stands in a list: with its numbers, once there are any."""
    return EvaluationOut.of(one, name, suite.read_results(one.results) if one.results else None)


def changes(base: str, found: Sequence[Compared], texts: Texts) -> ComparedOut:
    """A comparison with what it is about."""
    rows = [
        ChangeOut(
            assertion_id=one.assertion_id,
            text=texts.newest(one.assertion_id),
            advisor_name=texts.advisor(one.assertion_id)[1],
            before=one.before,
            after=one.after,
            change=one.change,
            edited=one.edited,
            rate_before=one.rate_before,
            rate_after=one.rate_after,
        )
        for one in found
    ]
    return ComparedOut(
        base=base,
        changes=rows,
        broken=sum(row.change == "broken" for row in rows),
        fixed=sum(row.change == "fixed" for row in rows),
    )


def _result(row: Result, texts: Texts) -> ResultOut:
    advisor_id, advisor_name = texts.advisor(row.assertion_id)
    tallies = [
        TallyOut(
            subject=one.subject,
            passes=one.passes,
            fails=one.fails,
            errors=one.errors,
            outcome=one.outcome,
        )
        for one in row.subjects
    ]
    given = {
        "text": texts.text(row.assertion_id, row.number),
        "kind": texts.kind(row.assertion_id, row.number),
        "advisor_id": advisor_id,
        "advisor_name": advisor_name,
        "subjects": tallies,
    }
    names = set(ResultOut.model_fields) - set(given)
    return ResultOut(**given, **{name: getattr(row, name) for name in names})
