"""JSON shapes of assertions, runs, verdicts and agreement, over HTTP and on the command line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from polyvox.errors import Invalid, NotFound
from polyvox.evaluation import report, suite
from polyvox.evaluation.assertion import History
from polyvox.evaluation.run import seen
from polyvox.evaluation.statistics import Agreement
from polyvox.evaluation.suite import AssertionResult, Change, Results
from polyvox.evaluation.tables import assertions as assertion_rows
from polyvox.evaluation.tables import evaluations, samples
from polyvox.evaluation.tables.assertions import Assertion, AssertionSource, Kind
from polyvox.evaluation.tables.evaluations import Evaluation, EvaluationState, Origin
from polyvox.evaluation.tables.past_runs import RunKind
from polyvox.evaluation.tables.verdicts import Outcome, Verdict
from polyvox.shapes import shape, usd
from polyvox.store import advisors as advisor_rows
from polyvox.store.database import Tx

SHORT = 140
"""Characters of a source's texts in a list."""


def short(text: str) -> str:
    """A text on one line, not longer than a list shows."""
    line = " ".join(text.split())
    return line if len(line) <= SHORT else f"{line[: SHORT - 1].rstrip()}…"


@dataclass(frozen=True, slots=True)
class AssertionOut:
    """An assertion as it is now."""

    id: str
    advisor_id: str
    advisor_name: str
    version: int
    text: str
    kind: Kind
    args: dict[str, Any]
    tags: tuple[str, ...]
    active: bool
    source: AssertionSource | None
    """In a list with the first words of its texts."""
    user_input: str | None
    created_at: int
    updated_at: int

    @classmethod
    def of(cls, assertion: Assertion, *, whole: bool = False) -> AssertionOut:
        """From the value; `whole`: with the source's texts as they are."""
        source = assertion.source
        if source is not None and not whole:
            source = replace(
                source, user_input=short(source.user_input), answer=short(source.answer)
            )
        given = {"version": assertion.number, "args": dict(assertion.args), "source": source}
        return shape(cls, assertion, **given)


@dataclass(frozen=True, slots=True)
class VersionSaid:
    """The text of an assertion at a time."""

    number: int
    text: str
    kind: Kind
    args: Mapping[str, Any]
    created_at: int


@dataclass(frozen=True, slots=True)
class PastRunOut:
    """A run that another program had made, word for word."""

    kind: RunKind
    id: str
    at: int | None
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class HistoryOut:
    """An assertion with all of its past."""

    assertion: AssertionOut
    versions: list[VersionSaid]
    """Newest first."""
    runs: list[PastRunOut]

    @classmethod
    def of(cls, history: History) -> HistoryOut:
        """From the value."""
        return cls(
            AssertionOut.of(history.assertion, whole=True),
            [shape(VersionSaid, version) for version in history.versions],
            [shape(PastRunOut, run) for run in history.runs],
        )


@dataclass(frozen=True, slots=True)
class RunSummary:
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


@dataclass(frozen=True, slots=True)
class TallyOut:
    """One context or answer that an assertion was tried on."""

    subject: str
    passes: int
    fails: int
    errors: int
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class ResultOut:
    """The result of an assertion in a run."""

    assertion_id: str
    number: int
    text: str
    kind: str
    advisor_id: str
    advisor_name: str
    outcome: Outcome
    passes: int
    fails: int
    errors: int
    rate: float | None
    low: float
    high: float
    flaky: bool
    overruled: int
    subjects: list[TallyOut]

    @classmethod
    def of(cls, result: AssertionResult, texts: AssertionTextCache) -> ResultOut:
        """From the value."""
        advisor_id, advisor_name = texts.advisor(result.assertion_id)
        return shape(
            cls,
            result,
            text=texts.text(result.assertion_id, result.number),
            kind=texts.kind(result.assertion_id, result.number),
            advisor_id=advisor_id,
            advisor_name=advisor_name,
            subjects=[shape(TallyOut, tally) for tally in result.subjects],
        )


@dataclass(frozen=True, slots=True)
class VerdictOut:
    """A judgement, the reason first."""

    id: str
    evaluation_id: str
    assertion_id: str
    number: int
    text: str
    """The assertion's text in that version."""
    answer_id: str | None
    sample: str
    sample_text: str | None
    """The answer when it was asked anew; null for a stored answer."""
    prompt_hash: str
    context_hash: str
    model: str
    judge: str
    judge_hash: str
    repeat: int
    reason: str
    outcome: Outcome
    overruled: Outcome | None
    created_at: int


@dataclass(frozen=True, slots=True)
class EvaluationOut:
    """A run over assertions."""

    id: str
    advisor_id: str | None
    advisor_name: str | None
    mode: Literal["judge", "replay"]
    origin: Origin
    answer_id: str | None
    model: str
    repeat: int
    confirm: bool
    early: bool
    judge: str
    judge_hash: str
    warnings: tuple[str, ...]
    state: EvaluationState
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
    summary: RunSummary | None
    results: list[ResultOut] | None
    verdicts: list[VerdictOut] | None

    @classmethod
    def of(
        cls, run: Evaluation, advisor_name: str | None, results: Results | None
    ) -> EvaluationOut:
        """From the values, without results and verdicts."""
        return shape(
            cls,
            run,
            advisor_name=advisor_name,
            repeat=run.repeats,
            cost=None if run.calls and run.unpriced == run.calls else usd(run.spent),
            blessed=run.blessed_at is not None,
            summary=None if results is None else shape(RunSummary, results),
            results=None,
            verdicts=None,
        )


@dataclass(frozen=True, slots=True)
class ChangeOut:
    """The change of an assertion's outcome since another run."""

    assertion_id: str
    text: str
    advisor_name: str
    before: Outcome | None
    after: Outcome | None
    change: Change
    edited: bool
    rate_before: float | None
    rate_after: float | None


@dataclass(frozen=True, slots=True)
class ComparedOut:
    """A run beside the one that it is compared with; broken assertions come first."""

    base: str
    changes: list[ChangeOut]
    broken: int
    fixed: int


@dataclass(frozen=True, slots=True)
class AgreementOut:
    """Agreement of verdicts with a person's labels; null where nothing can be said."""

    n: int
    both_pass: int
    both_fail: int
    judge_pass: int
    judge_fail: int
    tpr: float | None
    tnr: float | None
    kappa: float | None

    @classmethod
    def of(cls, agreement: Agreement) -> AgreementOut:
        """From the value."""
        return shape(cls, agreement)


@dataclass(frozen=True, slots=True)
class JudgeAgreement:
    """The agreement of one judge: a model with one text of instructions."""

    judge: str
    judge_hash: str
    agreement: AgreementOut


@dataclass(frozen=True, slots=True)
class AssertionAgreement:
    """The agreement about one assertion."""

    assertion_id: str
    text: str
    agreement: AgreementOut


@dataclass(frozen=True, slots=True)
class AgreementsOut:
    """Agreement in all, per judge and per assertion."""

    overall: AgreementOut
    judges: list[JudgeAgreement]
    assertions: list[AssertionAgreement]


class AssertionTextCache:
    """AssertionTextCache of assertions, version by version, each looked up once."""

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
        """Its advisor: id and name."""
        if assertion_id not in self._names:
            assertion = assertion_rows.find(self._tx, assertion_id)
            self._names[assertion_id] = (
                (assertion.advisor_id, assertion.advisor_name) if assertion else ("", "")
            )
        return self._names[assertion_id]

    def _of(self, assertion_id: str) -> dict[int, tuple[str, str]]:
        if assertion_id not in self._versions:
            rows = assertion_rows.versions(self._tx, assertion_id)
            self._versions[assertion_id] = {row.number: (row.text, row.kind) for row in rows}
        return self._versions[assertion_id]


def advisor_id(tx: Tx, key: str) -> str:
    """An advisor's id by id or slug, also of one that is gone but asserted about."""
    advisor = advisor_rows.find(tx, key)
    if advisor is not None:
        return advisor.id
    if assertion_rows.name_of(tx, key) is not None:
        return key
    return advisor_rows.get(tx, key).id


def name_of(tx: Tx, advisor: str | None) -> str | None:
    """An advisor's name, or the one it had when it was last asserted about."""
    if advisor is None:
        return None
    row = advisor_rows.find(tx, advisor)
    return row.name if row else assertion_rows.name_of(tx, advisor)


def evaluation_out(tx: Tx, evaluation_id: str, *, with_verdicts: bool = True) -> EvaluationOut:
    """A run with its results up to now."""
    run = seen(tx, evaluation_id)
    texts = AssertionTextCache(tx)
    name = name_of(tx, run.evaluation.advisor_id)
    verdicts = None
    if with_verdicts:
        answers = {sample.key: sample.text for sample in samples.of_run(tx, evaluation_id)}
        verdicts = verdicts_out(run.verdicts, texts, answers)
    return replace(
        EvaluationOut.of(run.evaluation, name, run.results),
        results=[ResultOut.of(row, texts) for row in run.results.assertions],
        verdicts=verdicts,
    )


def listed_run(tx: Tx, run: Evaluation) -> EvaluationOut:
    """A run as it stands in a list: with its numbers, once there are any."""
    results = suite.read_results(run.results) if run.results else None
    return EvaluationOut.of(run, name_of(tx, run.advisor_id), results)


def verdicts_out(
    verdicts: Iterable[Verdict], texts: AssertionTextCache, answers: Mapping[str, str] | None = None
) -> list[VerdictOut]:
    """Verdicts with their assertions' texts; `answers` are texts of samples by key."""
    return [
        shape(
            VerdictOut,
            verdict,
            text=texts.text(verdict.assertion_id, verdict.number),
            sample_text=(answers or {}).get(verdict.sample),
        )
        for verdict in verdicts
    ]


def verdict_out(tx: Tx, verdict: Verdict) -> VerdictOut:
    """A verdict with its assertion's text and its sample."""
    sample = samples.find(tx, verdict.sample) if verdict.sample else None
    answers = {verdict.sample: sample.text} if sample is not None else None
    return verdicts_out([verdict], AssertionTextCache(tx), answers)[0]


def agreements_out(tx: Tx, advisor: str | None) -> AgreementsOut:
    """Agreement of judges with people, about an advisor's assertions or about all."""
    key = None if advisor is None else advisor_id(tx, advisor)
    agreements = report.agreements(tx, key)
    texts = AssertionTextCache(tx)
    return AgreementsOut(
        AgreementOut.of(agreements.overall),
        [
            JudgeAgreement(judge, judge_hash, AgreementOut.of(agreement))
            for (judge, judge_hash), agreement in agreements.judges
        ],
        [
            AssertionAgreement(assertion, texts.newest(assertion), AgreementOut.of(agreement))
            for assertion, agreement in agreements.assertions
        ],
    )


def compared(tx: Tx, evaluation_id: str, base: str) -> ComparedOut:
    """A run beside another one; `blessed`: beside the one that was blessed last."""
    now = seen(tx, evaluation_id)
    other = _base(tx, now.evaluation, base)
    texts = AssertionTextCache(tx)
    changes = [
        shape(
            ChangeOut,
            row,
            text=texts.newest(row.assertion_id),
            advisor_name=texts.advisor(row.assertion_id)[1],
        )
        for row in suite.compare(seen(tx, other.id).results, now.results)
    ]
    return ComparedOut(
        other.id,
        changes,
        broken=sum(row.change == "broken" for row in changes),
        fixed=sum(row.change == "fixed" for row in changes),
    )


def _base(tx: Tx, run: Evaluation, base: str) -> Evaluation:
    if base != "blessed":
        other = evaluations.get(tx, base)
        if other.id == run.id:
            raise Invalid("A run cannot be compared with itself.", param="with")
        return other
    blessed = evaluations.latest(tx, run.advisor_id, blessed=True, other_than=run.id)
    if blessed is None:
        raise NotFound(
            "No run was blessed yet.", "Bless one first: POST /api/evaluations/{id}/bless."
        )
    return blessed
