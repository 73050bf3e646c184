"""Evaluations: a run over assertions as durable work, from the wish to what it found.

    plan (what is asked of what is written down) → every subject: answer, judge, again until it is
    decided → what was found

Each answer and each verdict is kept before the next is asked for, so a run that is taken up again
pays at most for what was in flight. Calling it off closes what is in flight at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from polyvox.errors import CapReached, Conflict, Invalid, ModelError, NotFound
from polyvox.evaluation import replay, suite
from polyvox.evaluation.assertion import as_of
from polyvox.evaluation.budget import Calls, together
from polyvox.evaluation.judge import Judge, judge_model
from polyvox.evaluation.judge_prompt import Subject, judge_hash
from polyvox.evaluation.plan import EvaluationRequest, plan
from polyvox.evaluation.replay import JudgedText, Places, Prompt, RoadBench
from polyvox.evaluation.runs import Runs
from polyvox.evaluation.suite import Results, Unit
from polyvox.evaluation.tables import evaluations, verdicts
from polyvox.evaluation.tables.assertions import Assertion, version_of
from polyvox.evaluation.tables.evaluations import Evaluation
from polyvox.evaluation.tables.verdicts import Judged, Outcome, Verdict
from polyvox.resources import Resources
from polyvox.store import jobs, turns, versions
from polyvox.store.database import Tx
from polyvox.store.table import reading, writing
from polyvox.values import PromptVersion, Scope

KIND = evaluations.RUNS.noun
AT_ONCE = 3
"""Runs that one process works on at the same time; live badges are such runs too."""


class EvaluationView(NamedTuple):
    """A run as it is now."""

    evaluation: Evaluation
    results: Results
    verdicts: tuple[Verdict, ...]


def begin(tx: Tx, resources: Resources, wish: EvaluationRequest) -> Evaluation:
    """Want a run, in the commit that makes it necessary."""
    made = plan(tx, resources, wish)
    evaluations.add(tx, made)
    jobs.enqueue(tx, KIND, made.id, made.created_at)
    return made


def seen(tx: Tx, evaluation_id: str) -> EvaluationView:
    """A run with all that it has found out up to now."""
    run = evaluations.get(tx, evaluation_id)
    known = verdicts.of_evaluation(tx, evaluation_id)
    return EvaluationView(run, suite.results(run.plan, known), tuple(known))


def keep_results(tx: Tx, evaluation_id: str) -> Results:
    """Write down what a run has found out, as it is now."""
    results = seen(tx, evaluation_id).results
    evaluations.change(tx, evaluation_id, results=results)
    return results


def overrule(tx: Tx, now: int, verdict_id: str, outcome: Literal["pass", "fail"] | None) -> Verdict:
    """Note what a verdict should have been; the run's results follow."""
    verdict = verdicts.overrule(tx, verdict_id, outcome, now)
    try:
        ended = evaluations.get(tx, verdict.evaluation_id).ended
    except NotFound:  # it is an optimisation's
        return verdict
    if ended:
        keep_results(tx, verdict.evaluation_id)
    return verdict


class Evaluations(Runs[Evaluation]):
    """The verbs of evaluations, and the work behind them."""

    table = evaluations.RUNS
    kept = "what it had found is kept"
    over = "There is nothing to call off."
    get = reading(seen)
    bless = writing(evaluations.bless)
    overrule = writing(overrule)

    async def begin(self, scope: Scope, wish: EvaluationRequest) -> Evaluation:
        """Want a run; a worker does it."""
        return await self._want(scope, lambda tx: begin(tx, self._resources, wish))

    async def retry_errors(self, scope: Scope, evaluation_id: str) -> Evaluation:
        """Take an ended run up again: what could not be found out is tried once more."""

        def write(tx: Tx) -> Evaluation:
            run, results, _ = seen(tx, evaluation_id)
            if not run.ended:
                raise Conflict(f"This evaluation is {run.state}.", "Wait for its end first.")
            missing = any(row.errors or row.rate is None for row in results.assertions)
            if run.state == "finished" and not missing:
                raise Conflict("Everything in this evaluation was found out.", "Run it anew.")
            if jobs.get(tx, f"{KIND}:{evaluation_id}").state == "running":
                raise Conflict(
                    "This evaluation is still being called off.", "Try again in a moment."
                )
            judge = judge_model(self._resources) or ""
            jobs.enqueue_again(tx, KIND, evaluation_id, self._clock())
            return self.table.take_up(tx, evaluation_id, judge=judge, judge_hash=judge_hash())

        return await self._want(scope, write)

    # live badges

    def want_badges(self, tx: Tx, answer_id: str) -> None:
        """Have a new answer checked, in the commit that ends it; nothing where there is nothing to
        check. Without a judge only checks in code are made: a mark that says "error" on every card
        would say nothing."""
        coded = judge_model(self._resources) is None
        wish = EvaluationRequest(answer_id=answer_id, mode="judge", coded=coded, origin="badge")
        try:
            begin(tx, self._resources, wish)
        except (Invalid, Conflict, NotFound):
            return

    # the work

    async def _work(self, scope: Scope, run: Evaluation) -> None:
        failure = ""
        try:
            await find_out(self._resources, scope, run)
        except CapReached as error:
            failure = f"{error.message} {error.hint}".strip()

        def write(tx: Tx) -> None:
            results, now = keep_results(tx, run.id), self._clock()
            if failure:
                self.table.end(tx, run.id, "failed", now, failure)
            else:
                self.table.end(tx, run.id, "finished", now, _told(results), done=run.total)

        await self._database.write(write, scope)

    def _settle(self, tx: Tx, run_id: str) -> None:
        keep_results(tx, run_id)


def _told(results: Results) -> str:
    """Say in words how a run ended."""
    words = f"{results.passed} of {results.total} assertions passed"
    if results.failed:
        words += f", {results.failed} failed"
    if results.errors:
        words += f", {results.errors} could not be found out"
    if results.flaky:
        words += f"; {results.flaky} {'is' if results.flaky == 1 else 'are'} flaky"
    return f"{words}."


async def find_out(resources: Resources, scope: Scope, run: Evaluation) -> None:
    """Find out whatever is not known yet. `CapReached` ends it."""
    calls = Calls(resources, scope, note=lambda tx, used: evaluations.spend(tx, run.id, used))
    judge = Judge(calls, run.judge or None, run.confirm)
    doing = await resources.database.read(lambda tx: _load(tx, resources, run, judge), scope)
    await together(doing.unit, run.plan)


@dataclass(slots=True)
class _Run:
    """A run under way, with its inputs as they were read in one transaction."""

    run: Evaluation
    bench: RoadBench
    assertions: Mapping[tuple[str, int], Assertion]
    prompts: Mapping[str, PromptVersion]
    stored: Mapping[str, JudgedText]
    """Stored answers by id."""
    known: Mapping[tuple[str, str], Mapping[int, Outcome]]
    """Outcomes of the repeats, by assertion and place."""
    done: int = 0

    async def unit(self, unit: Unit) -> None:
        """Ask about one subject, repeat after repeat until it is decided."""
        chosen = [self.assertions.get(pair) for pair in unit.assertions]
        assertions = [assertion for assertion in chosen if assertion is not None]
        if unit.nowhere:
            about = JudgedText("", None, "", "", "")
            await self.bench.errors(about, assertions, 0, unit.nowhere)
            await self._progress(len(unit.assertions))
            return
        name = self._name(unit)
        outcomes = {row.id: dict(self.known.get((row.id, name), {})) for row in assertions}
        repeats, early = self.run.repeats, self.run.early
        counted = 0
        for repeat in range(repeats):
            wanted = [
                row
                for row in assertions
                if outcomes[row.id].get(repeat, "error") == "error"
                and suite.still_open(outcomes[row.id].values(), repeats, early=early)
            ]
            if wanted:
                for judged in await self._once(unit, name, wanted, repeat):
                    outcomes[judged.assertion_id][repeat] = judged.outcome
                counted += len(wanted)
                await self._progress(len(wanted))
        await self._progress(len(unit.assertions) * repeats - counted)

    async def _once(
        self, unit: Unit, name: str, assertions: Sequence[Assertion], repeat: int
    ) -> list[Judged]:
        if unit.answer:
            gone = JudgedText("", unit.answer, "", "", "")
            about = self.stored.get(unit.answer, gone)
            return await self.bench.judge(about, assertions, repeat)
        prompt = self._prompt(unit, name)
        about = JudgedText(name, None, prompt.hash, name, "")
        try:
            about = replace(about, sample=self.bench.key(prompt, name, repeat))
            about = await self.bench.sample(prompt, name, repeat)
        except (ModelError, Invalid) as error:
            reason = f"The advisor could not be asked: {error.message} {error.hint}".strip()
            return await self.bench.errors(about, assertions, repeat, reason)
        return await self.bench.judge(about, assertions, repeat)

    def _name(self, unit: Unit) -> str:
        """The subject as its verdicts name it."""
        if not unit.asked:
            return unit.subject
        known = self.bench.places.of
        names = [
            name for assertion_id, _ in unit.assertions for name in known.get(assertion_id, ())
        ]
        return names[0] if names else unit.asked

    def _prompt(self, unit: Unit, name: str) -> Prompt:
        if unit.prompt in self.prompts:
            return Prompt(self.prompts[unit.prompt].text)
        context = self.bench.places.contexts.get(name)
        return Prompt(context.versioned if context else "")

    async def _progress(self, more: int) -> None:
        self.done += more
        done = min(self.done, self.run.total)
        await self.bench.write(lambda tx: evaluations.change(tx, self.run.id, done=done))


def _load(tx: Tx, resources: Resources, run: Evaluation, judge: Judge) -> _Run:
    units = run.plan
    assertions = {
        pair: made
        for unit in units
        for pair in unit.assertions
        if (made := version_of(tx, *pair)) is not None
    }
    prompts = {unit.prompt: versions.get(tx, unit.prompt) for unit in units if unit.prompt}
    made_with = {prompt.advisor_id: prompt for prompt in prompts.values()}
    places = Places({}, {}, {})
    if run.mode == "replay":
        places = replay.places(tx, resources, list(assertions.values()))
    advisors = {
        key: as_of(advisor, made_with[key]) if key in made_with else advisor
        for key, advisor in places.advisors.items()
    }
    known: dict[tuple[str, str], dict[int, Outcome]] = {}
    for verdict in verdicts.of_evaluation(tx, run.id):
        outcomes = known.setdefault((verdict.assertion_id, verdict.place), {})
        outcomes[verdict.repeat] = verdict.outcome
    bench = RoadBench(run.id, replace(places, advisors=advisors), judge, run.model or None)
    return _Run(run, bench, assertions, prompts, _answers(tx, units, assertions), known)


def _answers(
    tx: Tx, units: Sequence[Unit], assertions: Mapping[tuple[str, int], Assertion]
) -> dict[str, JudgedText]:
    """The stored answers; of one whose conversation is gone, what its assertions keep of it."""
    stored = {}
    for unit in units:
        if not unit.answer:
            continue
        sources = [assertions[pair].source for pair in unit.assertions if pair in assertions]
        source = next((s for s in sources if s is not None and s.answer_id == unit.answer), None)
        context = source.context_hash if source else ""
        try:
            answer = turns.get_answer(tx, unit.answer)
        except NotFound:
            if source is not None:
                text = Subject(source.user_input, source.answer)
                stored[unit.answer] = JudgedText("", unit.answer, "", context, "", text)
            continue
        text = Subject(turns.get_turn(tx, answer.turn_id).content, answer.text)
        prompt = answer.prompt_version_id
        prompt_hash = versions.get(tx, prompt).hash if prompt else ""
        stored[unit.answer] = JudgedText("", unit.answer, prompt_hash, context, answer.model, text)
    return stored
