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

import msgspec

from polyvox.errors import CapReached, Conflict, Invalid, ModelError, NotFound
from polyvox.evaluation import replay, suite
from polyvox.evaluation.assertion import as_of
from polyvox.evaluation.budget import together
from polyvox.evaluation.judge import judge_model
from polyvox.evaluation.judge_prompt import Subject, judge_hash
from polyvox.evaluation.plan import EvaluationRequest, plan
from polyvox.evaluation.replay import JudgedText, Places, Prompt, RoadBench
from polyvox.evaluation.suite import Results, Unit
from polyvox.evaluation.tables import assertions, evaluations, verdicts
from polyvox.evaluation.tables.assertions import Assertion, AssertionFilter, version_of
from polyvox.evaluation.tables.evaluations import Evaluation
from polyvox.evaluation.tables.verdicts import Judged, Outcome, Verdict
from polyvox.resources import Resources
from polyvox.store import jobs, turns, versions
from polyvox.store.database import Tx
from polyvox.store.jobs import Job
from polyvox.values import PromptVersion, Scope
from polyvox.work.cancel import Bells
from polyvox.work.worker import Handler

KIND = "evaluation"
AT_ONCE = 3
"""Runs that one process works on at the same time; live badges are such runs too."""
CALLED_OFF = "It was called off; what it had found is kept."


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
    return EvaluationView(run, suite.results(suite.read_plan(run.plan), known), tuple(known))


def keep_results(tx: Tx, evaluation_id: str) -> Results:
    """Write down what a run has found out, as it is now."""
    results = seen(tx, evaluation_id).results
    text = msgspec.json.encode(results).decode()
    evaluations.keep_results(tx, evaluation_id, text)
    return results


class Evaluations:
    """The verbs of evaluations, and the work behind them."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._ring = resources.bell.ring
        self._bells = Bells()

    @property
    def handlers(self) -> dict[str, Handler]:
        """Jobs that the worker runs here, by kind."""
        return {KIND: self._do}

    async def begin(self, scope: Scope, wish: EvaluationRequest) -> Evaluation:
        """Want a run; a worker does it."""
        made = await self._resources.database.write(
            lambda tx: begin(tx, self._resources, wish), scope
        )
        self._ring()
        return made

    async def get(self, scope: Scope, evaluation_id: str) -> EvaluationView:
        """A run with all that it has found out up to now."""
        return await self._resources.database.read(lambda tx: seen(tx, evaluation_id), scope)

    async def cancel(self, scope: Scope, evaluation_id: str) -> Evaluation:
        """Call a run off: from now on nothing is spent on it, what it found stays."""

        def write(tx: Tx) -> Evaluation:
            now = self._resources.clock()
            if not evaluations.end(tx, evaluation_id, "cancelled", now, CALLED_OFF):
                run = evaluations.get(tx, evaluation_id)
                raise Conflict(f"This evaluation is {run.state}.", "There is nothing to call off.")
            keep_results(tx, evaluation_id)
            return evaluations.get(tx, evaluation_id)

        ended = await self._resources.database.write(write, scope)
        self._bells.ring(evaluation_id)
        return ended

    async def bless(self, scope: Scope, evaluation_id: str, *, blessed: bool = True) -> Evaluation:
        """Make a run the one that later ones are compared with."""
        now = self._resources.clock() if blessed else None
        return await self._resources.database.write(
            lambda tx: evaluations.bless(tx, evaluation_id, now), scope
        )

    async def retry_errors(self, scope: Scope, evaluation_id: str) -> Evaluation:
        """Take an ended run up again: what could not be found out is tried once more."""

        def write(tx: Tx) -> Evaluation:
            view = seen(tx, evaluation_id)
            if not view.evaluation.ended:
                raise Conflict(
                    f"This evaluation is {view.evaluation.state}.", "Wait for its end first."
                )
            missing = any(row.errors or row.rate is None for row in view.results.assertions)
            if view.evaluation.state == "finished" and not missing:
                raise Conflict("Everything in this evaluation was found out.", "Run it anew.")
            if jobs.get(tx, f"{KIND}:{evaluation_id}").state == "running":
                raise Conflict(
                    "This evaluation is still being called off.", "Try again in a moment."
                )
            judge = judge_model(self._resources.settings, self._resources.models) or ""
            evaluations.take_up(tx, evaluation_id, judge, judge_hash())
            jobs.enqueue_again(tx, KIND, evaluation_id, self._resources.clock())
            return evaluations.get(tx, evaluation_id)

        taken = await self._resources.database.write(write, scope)
        self._ring()
        return taken

    async def overrule(
        self, scope: Scope, verdict_id: str, outcome: Literal["pass", "fail"] | None
    ) -> Verdict:
        """Note what a verdict should have been; the run's results follow."""

        def write(tx: Tx) -> Verdict:
            verdict = verdicts.overrule(tx, verdict_id, outcome, self._resources.clock())
            try:
                ended = evaluations.get(tx, verdict.evaluation_id).ended
            except NotFound:  # it is an optimisation's
                return verdict
            if ended:
                keep_results(tx, verdict.evaluation_id)
            return verdict

        return await self._resources.database.write(write, scope)

    # live badges

    def want_badges(self, tx: Tx, answer_id: str) -> None:
        """Have a new answer checked, in the commit that ends it; nothing where there is nothing to
        check. Without a judge only checks in code are made: a mark that says "error" on every card
        would say nothing."""
        wish = EvaluationRequest(answer_id=answer_id, mode="judge", origin="badge")
        try:
            if judge_model(self._resources.settings, self._resources.models) is None:
                advisor_id = turns.get_answer(tx, answer_id).advisor_id
                known = assertions.list_all(tx, AssertionFilter(advisor_id=advisor_id, active=True))
                coded = tuple(row.id for row in known if row.kind != "judge")
                if not coded:
                    return
                wish = replace(wish, assertion_ids=coded)
            begin(tx, self._resources, wish)
        except (Invalid, Conflict, NotFound):
            return

    # the work

    async def _do(self, job: Job) -> None:
        scope, run_id = job.scope, job.subject
        database, clock = self._resources.database, self._resources.clock
        try:
            run = await database.write(lambda tx: evaluations.start(tx, run_id, clock()), scope)
        except NotFound:
            return
        if run.ended:
            return

        async def wanted() -> bool:
            now = await database.read(lambda tx: evaluations.get(tx, run_id), scope)
            return not now.ended

        failure = ""
        try:
            work = find_out(self._resources, scope, run)
            whole = await self._bells.while_wanted(run_id, work, wanted)
        except CapReached as error:
            whole, failure = True, f"{error.message} {error.hint}".strip()

        def write(tx: Tx) -> None:
            results = keep_results(tx, run_id)
            if whole and failure:
                evaluations.end(tx, run_id, "failed", clock(), failure)
            elif whole and evaluations.end(tx, run_id, "finished", clock(), _told(results)):
                evaluations.progress(tx, run_id, run.total)

        await database.write(write, scope)


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


@dataclass(frozen=True, slots=True)
class RunInputs:
    """Inputs of a run, read in one transaction."""

    assertions: Mapping[tuple[str, int], Assertion]
    places: Places
    prompts: Mapping[str, PromptVersion]
    stored: Mapping[str, JudgedText]
    """Stored answers by id."""
    known: Mapping[tuple[str, str], Mapping[int, Outcome]]
    """Outcomes of the repeats, by assertion and place."""


async def find_out(resources: Resources, scope: Scope, run: Evaluation) -> None:
    """Find out whatever is not known yet. `CapReached` ends it."""
    units = suite.read_plan(run.plan)
    loaded = await resources.database.read(lambda tx: _load(tx, resources, run, units), scope)
    bench = replay.road_bench(
        resources,
        scope,
        run.id,
        loaded.places,
        run.judge or None,
        note=lambda tx, used: evaluations.spend(tx, run.id, used),
        confirm=run.confirm,
        model=run.model or None,
    )
    await together(_Run(resources, scope, run, bench, loaded).unit, units)


@dataclass(slots=True)
class _Run:
    resources: Resources
    scope: Scope
    run: Evaluation
    bench: RoadBench
    loaded: RunInputs
    done: int = 0

    async def unit(self, unit: Unit) -> None:
        """Ask about one subject, repeat after repeat until it is decided."""
        chosen = [self.loaded.assertions.get(pair) for pair in unit.assertions]
        assertions = [assertion for assertion in chosen if assertion is not None]
        if unit.nowhere:
            await self._errors(JudgedText("", None, "", "", ""), assertions, 0, unit.nowhere)
            await self._progress(len(unit.assertions))
            return
        name = self._name(unit)
        outcomes = {row.id: dict(self.loaded.known.get((row.id, name), {})) for row in assertions}
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
            about = self.loaded.stored.get(unit.answer)
            if about is None or about.text is None:
                gone = JudgedText("", unit.answer, "", "", "")
                return await self._errors(gone, assertions, repeat, "The answer is gone.")
            return await self.bench.judge_text(about, about.text, assertions, repeat)
        prompt = self._prompt(unit, name)
        about = JudgedText(name, None, prompt.hash, name, "")
        try:
            about = replace(about, sample=self.bench.key(prompt, name, repeat))
            sample = await self.bench.sample(prompt, name, repeat)
        except (ModelError, Invalid) as error:
            reason = f"The advisor could not be asked: {error.message} {error.hint}".strip()
            return await self._errors(about, assertions, repeat, reason)
        return await self.bench.judge(sample, assertions, repeat)

    async def _errors(
        self, about: JudgedText, assertions: Sequence[Assertion], repeat: int, reason: str
    ) -> list[Judged]:
        judged = [
            Judged(assertion.id, assertion.number, reason, "error") for assertion in assertions
        ]
        await self.bench.keep(about, judged, repeat)
        return judged

    def _name(self, unit: Unit) -> str:
        """The subject as its verdicts name it."""
        if not unit.asked:
            return unit.subject
        known = self.loaded.places.of
        names = [
            name for assertion_id, _ in unit.assertions for name in known.get(assertion_id, ())
        ]
        return names[0] if names else unit.asked

    def _prompt(self, unit: Unit, name: str) -> Prompt:
        if unit.prompt in self.loaded.prompts:
            return Prompt(self.loaded.prompts[unit.prompt].text)
        context = self.loaded.places.contexts.get(name)
        return Prompt(context.versioned if context else "")

    async def _progress(self, more: int) -> None:
        self.done += more
        done = min(self.done, self.run.total)
        await self.resources.database.write(
            lambda tx: evaluations.progress(tx, self.run.id, done), self.scope
        )


def _load(tx: Tx, resources: Resources, run: Evaluation, units: Sequence[Unit]) -> RunInputs:
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
    return RunInputs(
        assertions,
        replace(places, advisors=advisors),
        prompts,
        _answers(tx, units, assertions),
        known,
    )


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
