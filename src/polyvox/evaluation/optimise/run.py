"""Optimisations: looking for a better prompt as durable work, and what becomes of the result.

    begin (what is tried where is written down) → baseline → attempts → confirmation → verdict
    → accept (a new prompt version), reject, or later rollback

Every answer, verdict and rewritten prompt is kept before the next is asked for, and the loop
decides by them alone. So a run that is taken up again begins anew, finds what it had paid for, and
pays at most for what was in flight. Calling it off closes what is in flight at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import msgspec

from polyvox.errors import Conflict, ModelError, NotFound, StoreError
from polyvox.evaluation.budget import RunBudget
from polyvox.evaluation.judge import judge_model
from polyvox.evaluation.optimise import adopt
from polyvox.evaluation.optimise import plan as plans
from polyvox.evaluation.optimise.adopt import Verb
from polyvox.evaluation.optimise.estimate import estimate, price_warnings
from polyvox.evaluation.optimise.plan import OptimisationRequest, Planned
from polyvox.evaluation.optimise.result import known, summarise
from polyvox.evaluation.optimise.rewrite import RoadRewriter, texts_of
from polyvox.evaluation.optimise.search import optimise
from polyvox.evaluation.optimise.shapes import OptimizationDetail, PlannedOut
from polyvox.evaluation.optimise.values import Outage, PromptAttempt, Stage, contexts_of
from polyvox.evaluation.replay import road_bench
from polyvox.evaluation.tables import optimisations as rows
from polyvox.evaluation.tables.optimisations import Optimisation, StoredAttempt
from polyvox.events import NANO
from polyvox.resources import Resources
from polyvox.store import advisors as advisor_rows
from polyvox.store import jobs
from polyvox.store.database import Tx
from polyvox.store.jobs import Job
from polyvox.store.pages import Page
from polyvox.store.usage import check_caps
from polyvox.values import Scope
from polyvox.work.cancel import Bells
from polyvox.work.worker import Handler

KIND = "optimisation"
PURPOSE = "optimisation"
AT_ONCE = 2
"""Runs that one process works on at the same time."""


class Optimisations:
    """The verbs of optimisations, and the work behind them."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._ring = resources.bell.ring
        self._bells = Bells()

    @property
    def handlers(self) -> dict[str, Handler]:
        """Jobs that the worker runs here, by kind."""
        return {KIND: self._do}

    async def estimate(self, scope: Scope, wish: OptimisationRequest) -> PlannedOut:
        """Say what a run would do, and the most it would take. Nothing is begun."""
        return PlannedOut.of(await self._planned(scope, wish, seed=0))

    async def _planned(self, scope: Scope, wish: OptimisationRequest, seed: int) -> Planned:
        planned = await self._resources.database.read(
            lambda tx: plans.prepare(tx, self._resources, wish, seed), scope
        )
        expected = await asyncio.to_thread(estimate, self._resources.models, planned)
        run = planned.run
        warnings = (*run.warnings, *price_warnings(expected, run.budget, wish))
        return replace(planned, run=replace(run, estimate=expected, warnings=warnings))

    async def begin(self, scope: Scope, wish: OptimisationRequest) -> Optimisation:
        """Want a run; somebody's worker does it."""
        now = self._resources.clock()
        run = (await self._planned(scope, wish, seed=now % 1_000_003)).run

        def write(tx: Tx) -> None:
            _check_free(tx, run)
            check_caps(tx, self._resources.settings.limits, "", None, now)
            rows.add(tx, run)
            jobs.enqueue(tx, KIND, run.id, now)

        await self._resources.database.write(write, scope)
        self._ring()
        return run

    async def get(self, scope: Scope, optimisation_id: str) -> OptimizationDetail:
        """A run with its attempts and what it has found."""
        return await self._resources.database.read(
            lambda tx: OptimizationDetail.read(tx, optimisation_id), scope
        )

    async def list(
        self, scope: Scope, advisor: str | None = None, limit: int = 50, before: str | None = None
    ) -> Page[Optimisation]:
        """Runs, newest first."""

        def read(tx: Tx) -> Page[Optimisation]:
            row = None if advisor is None else advisor_rows.find(tx, advisor)
            advisor_id = advisor if row is None else row.id
            return rows.list_page(tx, advisor_id=advisor_id, limit=limit, before=before)

        return await self._resources.database.read(read, scope)

    async def cancel(self, scope: Scope, optimisation_id: str) -> Optimisation:
        """Call a run off: from now on nothing is spent on it; its attempts stay."""

        def write(tx: Tx) -> Optimisation:
            message = "It was called off; its attempts are kept."
            now = self._resources.clock()
            if not rows.end(tx, optimisation_id, "cancelled", now, message):
                run = rows.get(tx, optimisation_id)
                raise Conflict(f"This optimisation is {run.state}.", "There is nothing to cancel.")
            return rows.get(tx, optimisation_id)

        ended = await self._resources.database.write(write, scope)
        self._bells.ring(optimisation_id)
        return ended

    async def resume(
        self, scope: Scope, optimisation_id: str, budget: float | None = None
    ) -> Optimisation:
        """Let a run that failed, or ran out of money, go on behind what it has paid for."""

        def write(tx: Tx) -> Optimisation:
            run = rows.get(tx, optimisation_id)
            if run.state not in ("failed", "spent"):
                raise Conflict(
                    f"This optimisation is {run.state}.",
                    "Only one that failed or is spent goes on.",
                )
            _check_free(tx, run)
            judge = judge_model(self._resources.settings, self._resources.models) or ""
            most = run.budget if budget is None else round(budget * NANO)
            rows.take_up(tx, optimisation_id, judge, most)
            jobs.enqueue_again(tx, KIND, optimisation_id, self._resources.clock())
            return rows.get(tx, optimisation_id)

        taken = await self._resources.database.write(write, scope)
        self._ring()
        return taken

    async def decide(
        self, scope: Scope, optimisation_id: str, verb: Verb, *, force: bool = False
    ) -> Optimisation:
        """Accept the best attempt as a new prompt version, reject it, or roll an accepted one
        back."""
        return await self._resources.database.write(
            lambda tx: adopt.decide(tx, self._resources, optimisation_id, verb, force=force), scope
        )

    # the work

    async def _do(self, job: Job) -> None:
        scope, run_id = job.scope, job.subject
        database, clock = self._resources.database, self._resources.clock
        try:
            run = await database.write(lambda tx: rows.start(tx, run_id, clock()), scope)
        except NotFound:
            return
        if run.ended:
            return

        async def wanted() -> bool:
            return not (await database.read(lambda tx: rows.get(tx, run_id), scope)).ended

        failure = ""
        try:
            await self._bells.while_wanted(run_id, self._run(scope, run), wanted)
        except (Outage, ModelError) as error:
            failure = f"{error.message} {error.hint}".strip()
        except StoreError:
            raise  # it waits and is taken up again, as all work is
        except Exception:
            failure = "Polyvox itself failed; the log says where. Resume the run to try again."
            raise
        finally:
            if failure:
                await database.write(
                    lambda tx: rows.end(tx, run_id, "failed", clock(), failure), scope
                )

    async def _run(self, scope: Scope, run: Optimisation) -> None:
        """Look for a better prompt, and keep what was found."""
        resources = self._resources
        plan, places = await resources.database.read(
            lambda tx: plans.loaded(tx, resources, run), scope
        )
        if not plan.targets:
            raise Outage("Every assertion of this run was removed.", "Begin another one.")
        budget = RunBudget(run.budget, run.spent, run.estimate.confirmation or 0)
        # A fail is not asked about again here: the repeats are there for that.
        bench = road_bench(
            resources,
            scope,
            run.id,
            places,
            run.judge or None,
            purpose=PURPOSE,
            note=lambda tx, used: rows.spend(tx, run.id, used),
            budget=budget,
        )
        used = contexts_of((*plan.targets, *plan.guards))
        texts = texts_of([context for name, context in places.contexts.items() if name in used])
        rewriter = RoadRewriter(resources, scope, run.id, bench.calls, run.optimizer, texts)
        progress = Progress(resources, scope, run.id, budget)
        result = await optimise(plan, bench, rewriter, progress.stage)

        def write(tx: Tx) -> None:
            rows.drop_attempts(tx, run.id, after=len(result.attempts) - 1)
            rows.end(
                tx,
                run.id,
                "spent" if result.ending == "spent" else "finished",
                resources.clock(),
                result.message,
                verdict=result.ruling,
                results=summarise(plan, result),
                final_text=result.best.prompt.text if result.best.number else None,
            )

        await resources.database.write(write, scope)


@dataclass(slots=True, eq=False)
class Progress:
    """Follows a run and writes down where it stands, before it goes on."""

    resources: Resources
    scope: Scope
    run_id: str
    budget: RunBudget
    _counted: int = field(init=False)

    def __post_init__(self) -> None:
        self._counted = self.budget.spent

    async def stage(
        self, stage: Stage, attempts: Sequence[PromptAttempt], best: PromptAttempt
    ) -> None:
        """Write down the stage, the newest attempt and the best one (a `Watch`)."""
        if stage == "confirmation":
            self.budget.kept_back = 0
        base, last = attempts[0].scores, attempts[-1]
        keys = known(base, list(base.tallies))
        cost = self.budget.spent - self._counted
        self._counted = self.budget.spent

        def write(tx: Tx) -> None:
            if last.number:
                rate = last.scores.mean(keys, base) if last.scores.whole else None
                rows.put_attempt(tx, self.run_id, self._stored(tx, last, rate, cost))
            rows.progress(
                tx,
                self.run_id,
                stage=stage,
                iteration=len(attempts) - 1,
                best=best.number,
                best_rate=best.scores.mean(keys, base) if keys else None,
                base_rate=base.mean(keys) if keys else None,
            )

        await self.resources.database.write(write, self.scope)

    def _stored(
        self, tx: Tx, attempt: PromptAttempt, rate: float | None, cost: int
    ) -> StoredAttempt:
        known = rows.find_attempt(tx, self.run_id, attempt.number)
        made = known or StoredAttempt(attempt.number, created_at=self.resources.clock())
        refused = attempt.state == "refused"
        tallies = attempt.scores.tallies.items()
        return replace(
            made,
            parent=attempt.parent,
            text=None if refused else attempt.prompt.text,
            state=attempt.state,
            note=attempt.note,
            rate=None if refused else rate,
            scores={key: msgspec.structs.astuple(tally) for key, tally in tallies},
            spent=made.spent + cost,  # what was paid before a kill stays counted
        )


def _check_free(tx: Tx, run: Optimisation) -> None:
    """Two runs for one prompt would undo each other."""
    other = rows.under_way(tx, run.advisor_id, run.target, run.recipe)
    if other is not None:
        raise Conflict(
            f"An optimisation of the same text is under way: {other.id}.",
            "Wait for its end, or cancel it.",
        )
