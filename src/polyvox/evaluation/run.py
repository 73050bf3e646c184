"""Evaluations: a run over assertions as durable work, from the wish to what it found.

    plan (what is asked of what is written down) → every subject: answer, judge, again until it is
    decided → what was found

Each answer and each verdict is kept before the next is asked for, so a run that is taken up again
pays at most for what was in flight. Calling it off closes what is in flight at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import msgspec

from polyvox.errors import CapReached, Conflict, Invalid, NotFound
from polyvox.evaluation import suite
from polyvox.evaluation.judge import judge_model
from polyvox.evaluation.judge_prompt import judge_hash
from polyvox.evaluation.plan import Wish, plan
from polyvox.evaluation.suite import Results
from polyvox.evaluation.tables import assertions, evaluations, verdicts
from polyvox.evaluation.tables.assertions import Wanted
from polyvox.evaluation.tables.evaluations import Evaluation
from polyvox.evaluation.trying import find_out
from polyvox.evaluation.values import Verdict
from polyvox.resources import Resources
from polyvox.store import jobs, turns
from polyvox.store.database import Tx
from polyvox.store.jobs import Job
from polyvox.values import Scope
from polyvox.work.cancel import Bells
from polyvox.work.worker import Handler

KIND = "evaluation"
AT_ONCE = 3
"""Runs that one process works on at the same time; live badges are such runs too."""
CALLED_OFF = "It was called off; what it had found is kept."


@dataclass(frozen=True, slots=True)
class Seen:
    """A run as it is now."""

    evaluation: Evaluation
    results: Results
    verdicts: tuple[Verdict, ...]


def begin(tx: Tx, resources: Resources, wish: Wish) -> Evaluation:
    """Want a run, in the commit that makes it necessary."""
    made = plan(tx, resources, wish)
    evaluations.add(tx, made)
    jobs.enqueue(tx, KIND, made.id, made.created_at)
    return made


def seen(tx: Tx, evaluation_id: str) -> Seen:
    """A run with all that it has found out up to now."""
    one = evaluations.get(tx, evaluation_id)
    found = verdicts.of_evaluation(tx, evaluation_id)
    return Seen(one, suite.results(suite.read_plan(one.plan), found), tuple(found))


def keep_results(tx: Tx, evaluation_id: str) -> Results:
    """Write down what a run has found out, as it is now."""
    found = seen(tx, evaluation_id).results
    text = msgspec.json.encode(found).decode()
    evaluations.keep_results(tx, evaluation_id, text)
    return found


class Evaluations:
    """The verbs of evaluations, and the work behind them."""

    def __init__(self, resources: Resources, ring: Callable[[], None]) -> None:
        self._resources = resources
        self._ring = ring
        self._bells = Bells()

    @property
    def handlers(self) -> dict[str, Handler]:
        """What the worker does for us."""
        return {KIND: self._do}

    async def begin(self, scope: Scope, wish: Wish) -> Evaluation:
        """Want a run; a worker does it."""
        made = await self._resources.database.write(
            lambda tx: begin(tx, self._resources, wish), scope
        )
        self._ring()
        return made

    async def get(self, scope: Scope, evaluation_id: str) -> Seen:
        """A run with all that it has found out up to now."""
        return await self._resources.database.read(lambda tx: seen(tx, evaluation_id), scope)

    async def cancel(self, scope: Scope, evaluation_id: str) -> Evaluation:
        """Call a run off: from now on nothing is spent on it, what it found stays."""

        def write(tx: Tx) -> Evaluation:
            now = self._resources.clock()
            if not evaluations.end(tx, evaluation_id, "cancelled", now, CALLED_OFF):
                one = evaluations.get(tx, evaluation_id)
                raise Conflict(f"This evaluation is {one.state}.", "There is nothing to call off.")
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
            found = seen(tx, evaluation_id)
            if not found.evaluation.ended:
                raise Conflict(
                    f"This evaluation is {found.evaluation.state}.", "Wait for its end first."
                )
            missing = any(row.errors or row.rate is None for row in found.results.assertions)
            if found.evaluation.state == "finished" and not missing:
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
            one = verdicts.overrule(tx, verdict_id, outcome, self._resources.clock())
            try:
                ended = evaluations.get(tx, one.evaluation_id).ended
            except NotFound:  # it is an optimisation's
                return one
            if ended:
                keep_results(tx, one.evaluation_id)
            return one

        return await self._resources.database.write(write, scope)

    # live badges

    def want_badges(self, tx: Tx, answer_id: str) -> None:
        """Have a new answer checked, in the commit that ends it; nothing where there is nothing to
        check. Without a judge only checks in code are made: a mark that says "error" on every card
        would say nothing."""
        wish = Wish(answer_id=answer_id, mode="judge", origin="badge")
        try:
            if judge_model(self._resources.settings, self._resources.models) is None:
                advisor_id = turns.get_answer(tx, answer_id).advisor_id
                known = assertions.list_all(tx, Wanted(advisor_id=advisor_id, active=True))
                coded = tuple(one.id for one in known if one.kind != "judge")
                if not coded:
                    return
                wish = replace(wish, assertion_ids=coded)
            begin(tx, self._resources, wish)
        except (Invalid, Conflict, NotFound):
            return

    def ring(self) -> None:
        """Something was wanted."""
        self._ring()

    # the work

    async def _do(self, job: Job) -> None:
        scope, run_id = job.scope, job.subject
        database, clock = self._resources.database, self._resources.clock
        try:
            one = await database.write(lambda tx: evaluations.start(tx, run_id, clock()), scope)
        except NotFound:
            return
        if one.ended:
            return

        async def wanted() -> bool:
            now = await database.read(lambda tx: evaluations.get(tx, run_id), scope)
            return not now.ended

        failure = ""
        try:
            work = find_out(self._resources, scope, one)
            whole = await self._bells.while_wanted(run_id, work, wanted)
        except CapReached as error:
            whole, failure = True, f"{error.message} {error.hint}".strip()

        def write(tx: Tx) -> None:
            found = keep_results(tx, run_id)
            if whole and failure:
                evaluations.end(tx, run_id, "failed", clock(), failure)
            elif whole and evaluations.end(tx, run_id, "finished", clock(), _told(found)):
                evaluations.progress(tx, run_id, one.total)

        await database.write(write, scope)


def _told(found: Results) -> str:
    """How a run ended, in words."""
    words = f"{found.passed} of {found.total} assertions passed"
    if found.failed:
        words += f", {found.failed} failed"
    if found.errors:
        words += f", {found.errors} could not be found out"
    if found.flaky:
        words += f"; {found.flaky} {'is' if found.flaky == 1 else 'are'} flaky"
    return f"{words}."
