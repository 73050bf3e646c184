"""Runs, verdicts and agreement as they are shown, over HTTP and on the command line."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from typing import Literal, TypeVar

from polyvox.errors import Invalid, NotFound
from polyvox.evaluation import suite
from polyvox.evaluation.run import seen
from polyvox.evaluation.statistics import Agreement, agreement, wilson
from polyvox.evaluation.suite import AssertionChange, AssertionResult, Results, RunSummary
from polyvox.evaluation.tables import assertions, evaluations, verdicts
from polyvox.evaluation.tables.assertions import OURS, AssertionFilter
from polyvox.evaluation.tables.evaluations import Evaluation, EvaluationFacts
from polyvox.evaluation.tables.verdicts import CODE, Outcome, Verdict
from polyvox.shapes import shape, usd
from polyvox.store import advisors, turns, versions
from polyvox.store.database import Tx

K = TypeVar("K")
_ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class ResultOut(AssertionResult):
    """The result of an assertion in a run."""

    text: str
    kind: str
    advisor_id: str
    advisor_name: str
    judged: bool = True
    """False: it was not run yet, so its numbers say nothing."""


@dataclass(frozen=True, slots=True)
class VerdictOut(Verdict):
    """A judgement, the reason first."""

    text: str
    """The assertion's text in that version."""
    sample_text: str | None
    """The answer when it was asked anew; null for a stored answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationOut(EvaluationFacts):
    """A run over assertions."""

    advisor_name: str | None
    repeat: int
    cost: float | None
    """USD; null where no price is known."""
    blessed: bool
    summary: RunSummary | None
    results: list[ResultOut] | None = None
    verdicts: list[VerdictOut] | None = None

    def reasons(self, assertion_id: str) -> list[str]:
        """The reasons why an assertion did not pass, each once."""
        own = [row for row in self.verdicts or () if row.assertion_id == assertion_id]
        return list(dict.fromkeys(row.reason for row in own if row.effective != "pass"))


@dataclass(frozen=True, slots=True)
class ComparedOut:
    """A run beside the one that it is compared with; broken assertions come first."""

    base: str
    changes: list[AssertionChange]
    broken: int
    fixed: int


@dataclass(frozen=True, slots=True)
class JudgeAgreement:
    """The agreement of one judge: a model with one text of instructions."""

    judge: str
    judge_hash: str
    agreement: Agreement


@dataclass(frozen=True, slots=True)
class AssertionAgreement:
    """The agreement about one assertion."""

    assertion_id: str
    text: str
    agreement: Agreement


@dataclass(frozen=True, slots=True)
class Agreements:
    """Agreement in all, per judge and per assertion."""

    overall: Agreement
    judges: list[JudgeAgreement]
    assertions: list[AssertionAgreement]


@dataclass(frozen=True, slots=True)
class AnswerVerdicts:
    """The newest verdict on each assertion about a stored answer."""

    answer_id: str
    state: Literal["none", "pending", "ready"]
    outcome: Outcome | None
    """`fail` where any failed, else `error` where any could not be found out."""
    verdicts: list[VerdictOut]


@dataclass(frozen=True, slots=True)
class PassRate:
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
    summary: RunSummary
    blessed: bool


class _Assertions:
    """Assertions that are named in a report, each looked up once."""

    def __init__(self, tx: Tx) -> None:
        self.find = cache(lambda key: assertions.find(tx, key))
        self.versions = cache(lambda key: {row.number: row for row in assertions.versions(tx, key)})

    def text(self, assertion_id: str, number: int | None = None) -> str:
        """Its text in this version, or as it is now."""
        known = self.versions(assertion_id)
        version = known.get(number or max(known, default=0))
        return version.text if version else ""

    def advisor(self, assertion_id: str) -> tuple[str, str]:
        """Id and name of its advisor; empty where it was removed."""
        assertion = self.find(assertion_id)
        return (assertion.advisor_id, assertion.advisor_name) if assertion else ("", "")


def evaluation_out(tx: Tx, evaluation_id: str, *, with_verdicts: bool = True) -> EvaluationOut:
    """A run with its results up to now."""
    run, results, known = seen(tx, evaluation_id)
    named = _Assertions(tx)
    rows = []
    for row in results.assertions:
        advisor_id, advisor_name = named.advisor(row.assertion_id)
        version = named.versions(row.assertion_id).get(row.number)
        given = {
            "text": version.text if version else "",
            "kind": version.kind if version else "judge",
            "advisor_id": advisor_id,
            "advisor_name": advisor_name,
            "judged": row.passes + row.fails + row.errors > 0,
        }
        rows.append(shape(ResultOut, row, **given))
    shown = verdicts_out(tx, known) if with_verdicts else None
    return replace(run_out(tx, run, results), results=rows, verdicts=shown)


def run_out(tx: Tx, run: Evaluation, results: Results | None) -> EvaluationOut:
    """A run as it stands in a list: with the numbers of its results, once there are any."""
    advisor = advisors.even_removed(tx, run.advisor_id or "")
    return shape(
        EvaluationOut,
        run,
        advisor_name=advisor.name if advisor else OURS.get(run.advisor_id or ""),
        repeat=run.repeats,
        cost=None if run.calls and run.unpriced == run.calls else usd(run.spent),
        blessed=run.blessed_at is not None,
        summary=None if results is None else shape(RunSummary, results),
        results=None,
        verdicts=None,
    )


def verdicts_out(tx: Tx, known: Iterable[Verdict]) -> list[VerdictOut]:
    """Verdicts with their assertions' texts and the answers that were asked anew."""
    named = _Assertions(tx)
    sample = cache(lambda key: verdicts.find_sample(tx, key))
    shown = []
    for verdict in known:
        kept = sample(verdict.sample) if verdict.sample else None
        text = named.text(verdict.assertion_id, verdict.number)
        given = {"text": text, "sample_text": kept.text if kept else None}
        shown.append(shape(VerdictOut, verdict, **given))
    return shown


def compared(tx: Tx, evaluation_id: str, base: str) -> ComparedOut:
    """A run beside another one; `blessed`: beside the one that was blessed last."""
    run, results, _ = seen(tx, evaluation_id)
    other = _base(tx, run, base)
    named = _Assertions(tx)
    changes = [
        replace(
            row, text=named.text(row.assertion_id), advisor_name=named.advisor(row.assertion_id)[1]
        )
        for row in suite.compare(seen(tx, other.id).results, results)
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


def agreements(tx: Tx, advisor: str | None = None) -> Agreements:
    """Compare verdicts with what a person says they should have been, about an advisor's assertions
    or about all. Checks in code are not among them: they are not a matter of opinion."""
    labelled = [verdict for verdict in verdicts.overruled(tx) if verdict.judge != CODE]
    if advisor is not None:
        wanted = AssertionFilter(advisor_id=assertions.owner(tx, advisor)[0])
        own = {row.id for row in assertions.list_all(tx, wanted)}
        labelled = [verdict for verdict in labelled if verdict.assertion_id in own]
    named = _Assertions(tx)
    judges = _by(labelled, lambda verdict: (verdict.judge, verdict.judge_hash))
    every = _by(labelled, lambda verdict: verdict.assertion_id)
    return Agreements(
        _agreement(labelled),
        [JudgeAgreement(*judge, _agreement(some)) for judge, some in judges.items()],
        [AssertionAgreement(key, named.text(key), _agreement(some)) for key, some in every.items()],
    )


def _by(labelled: Iterable[Verdict], key: Callable[[Verdict], K]) -> dict[K, list[Verdict]]:
    groups: dict[K, list[Verdict]] = {}
    for verdict in labelled:
        groups.setdefault(key(verdict), []).append(verdict)
    return groups


def _agreement(labelled: Sequence[Verdict]) -> Agreement:
    return agreement((row.outcome, row.overruled) for row in labelled if row.overruled is not None)


def answer_verdicts(tx: Tx, answer_id: str) -> AnswerVerdicts:
    """The newest verdicts on a stored answer; NotFound where it and they never were."""
    every = verdicts.of_answer(tx, answer_id)
    if not every:
        turns.get_answer(tx, answer_id)
    newest: dict[str, Verdict] = {}
    for verdict in every:
        newest.setdefault(verdict.assertion_id, verdict)
    kept = [row for row in newest.values() if assertions.find(tx, row.assertion_id) is not None]
    state: Literal["none", "pending", "ready"] = "ready" if kept else "none"
    if evaluations.under_way(tx, answer_id):
        state = "pending"
    outcome = suite.worst(row.effective for row in kept) if kept else None
    return AnswerVerdicts(answer_id, state, outcome, verdicts_out(tx, kept))


def pass_rates(tx: Tx, advisor: str, limit: int = 200) -> list[PassRate]:
    """The finished replays of an advisor's assertions, oldest first, each with the prompt version
    that was tried out."""
    advisor_id, _ = assertions.owner(tx, advisor)
    page = evaluations.list_page(tx, advisor_id=advisor_id, limit=limit)
    points = []
    for run in reversed(page.items):
        tried = {unit.prompt for unit in run.plan if unit.prompt}
        results = run.results
        if run.mode != "replay" or run.state != "finished" or not results or len(tried) != 1:
            continue
        version = versions.get(tx, tried.pop())
        passes = sum(row.passes for row in results.assertions)
        n = passes + sum(row.fails for row in results.assertions)
        interval = wilson(passes, n)
        points.append(
            PassRate(
                run.id,
                run.created_at,
                version.id,
                version.number,
                version.hash,
                passes,
                n,
                passes / n if n else None,
                interval.low,
                interval.high,
                shape(RunSummary, results),
                run.blessed_at is not None,
            )
        )
    return points


# -- a run as a JUnit file, the way that build servers read test results ---------------------------


def junit(run: EvaluationOut) -> str:
    """The file: a suite for each advisor, a test for each assertion."""
    rows = run.results or []
    started = run.started_at or run.created_at
    seconds = ((run.ended_at or started) - started) / 1e6
    at = datetime.fromtimestamp(started // 1_000_000, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    time = f"{seconds:.3f}"
    root = ET.Element("testsuites", {"name": "polyvox eval", **_counts(rows), "time": time})
    for name in dict.fromkeys(row.advisor_name or "polyvox" for row in rows):
        some = [row for row in rows if (row.advisor_name or "polyvox") == name]
        line = _line(name)
        counted = {"name": line, **_counts(some), "timestamp": at}
        suite = ET.SubElement(root, "testsuite", counted)
        for row in some:
            case = ET.SubElement(suite, "testcase", classname=line, name=_line(row.text), time="0")
            if not row.judged:
                ET.SubElement(case, "skipped", message="not run")
            elif row.outcome != "pass":
                tag = "failure" if row.outcome == "fail" else "error"
                passed = f"{row.passes} of {row.passes + row.fails} passed, {row.errors} errors"
                reasons = "\n".join(run.reasons(row.assertion_id))
                ET.SubElement(case, tag, message=passed, type=tag).text = _legal(reasons)
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _counts(rows: Sequence[ResultOut]) -> dict[str, str]:
    outcomes = [row.outcome for row in rows if row.judged]
    return {
        "tests": str(len(rows)),
        "failures": str(outcomes.count("fail")),
        "errors": str(outcomes.count("error")),
        "skipped": str(len(rows) - len(outcomes)),
    }


def _line(text: str) -> str:
    return _legal(" ".join(text.split()))


def _legal(text: str) -> str:
    return _ILLEGAL.sub("\ufffd", text)
