"""Optimisations: looking for a better prompt as durable work, and what becomes of the result.

    begin (what is tried where is written down) → baseline → attempts → confirmation → verdict
    → accept (a new prompt version), reject, or later rollback

Every answer, verdict and rewritten prompt is kept before the next is asked for, and the loop
decides by them alone. So a run that is taken up again begins anew, finds what it had paid for, and
pays at most for what was in flight. Calling it off closes what is in flight at once.
"""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import Literal

import msgspec

from polyvox.caps import check_caps
from polyvox.errors import CapReached, Conflict, ModelError, NotFound, StoreError
from polyvox.evaluation.budget import RunBudget
from polyvox.evaluation.judge import judge_model
from polyvox.evaluation.optimise import adopt
from polyvox.evaluation.optimise import plan as plans
from polyvox.evaluation.optimise.estimate import RunEstimate, estimate
from polyvox.evaluation.optimise.findings import Findings, Progress, findings, summed
from polyvox.evaluation.optimise.loop import OptimisationResult, optimise
from polyvox.evaluation.optimise.plan import OptimisationRequest, Prepared
from polyvox.evaluation.optimise.rewrite import RoadRewriter, texts_of
from polyvox.evaluation.optimise.values import OptimisationPlan, Outage
from polyvox.evaluation.replay import PROMPT, road_bench
from polyvox.evaluation.tables import optimisations as rows
from polyvox.evaluation.tables.optimisations import Optimisation
from polyvox.events import NANO
from polyvox.ids import new_id
from polyvox.resources import Resources
from polyvox.store import advisors as advisor_rows
from polyvox.store import jobs
from polyvox.store.database import Tx
from polyvox.store.jobs import Job
from polyvox.store.pages import Page
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

    async def estimate(
        self, scope: Scope, wish: OptimisationRequest
    ) -> tuple[Prepared, RunEstimate]:
        """Say what a run would do, and the most it would take. Nothing is begun."""
        prepared = await self._resources.database.read(
            lambda tx: plans.prepare(tx, self._resources, wish), scope
        )
        return prepared, await asyncio.to_thread(estimate, self._resources, prepared)

    async def begin(self, scope: Scope, wish: OptimisationRequest) -> Optimisation:
        """Want a run; somebody's worker does it."""
        _, expected = await self.estimate(scope, wish)
        made = await self._resources.database.write(
            lambda tx: _begin(tx, self._resources, wish, expected), scope
        )
        self._ring()
        return made

    async def get(self, scope: Scope, optimisation_id: str) -> Findings:
        """A run with its attempts and what it has found."""
        return await self._resources.database.read(lambda tx: findings(tx, optimisation_id), scope)

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
            other = rows.under_way(tx, run.advisor_id, run.target, run.recipe)
            if other is not None:
                raise Conflict(f"Another one of the same text is under way: {other.id}.")
            judge = judge_model(self._resources.settings, self._resources.models) or ""
            most = run.budget if budget is None else round(budget * NANO)
            rows.take_up(tx, optimisation_id, judge, most)
            jobs.enqueue_again(tx, KIND, optimisation_id, self._resources.clock())
            return rows.get(tx, optimisation_id)

        taken = await self._resources.database.write(write, scope)
        self._ring()
        return taken

    async def accept(
        self, scope: Scope, optimisation_id: str, *, force: bool = False
    ) -> Optimisation:
        """Make the best attempt the prompt: a new version."""
        return await self._resources.database.write(
            lambda tx: adopt.accept(tx, self._resources, optimisation_id, force=force), scope
        )

    async def reject(self, scope: Scope, optimisation_id: str) -> Optimisation:
        """Keep the prompt as it is; the attempts are kept too."""
        return await self._resources.database.write(
            lambda tx: adopt.reject(tx, self._resources, optimisation_id), scope
        )

    async def rollback(
        self, scope: Scope, optimisation_id: str, *, force: bool = False
    ) -> Optimisation:
        """Undo an accepted result: the prompt as it was, as a new version."""
        return await self._resources.database.write(
            lambda tx: adopt.rollback(tx, self._resources, optimisation_id, force=force), scope
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

        try:
            await self._bells.while_wanted(run_id, self._run(scope, run), wanted)
        except (Outage, ModelError) as error:
            message = f"{error.message} {error.hint}".strip()
            await database.write(lambda tx: rows.end(tx, run_id, "failed", clock(), message), scope)
        except CapReached as error:
            message = f"{error.message} {error.hint}".strip()
            await database.write(lambda tx: rows.end(tx, run_id, "spent", clock(), message), scope)
        except StoreError:
            raise  # it waits and is taken up again, as all work is
        except Exception:
            message = "Polyvox itself failed; the log says where. Resume the run to try again."
            await database.write(lambda tx: rows.end(tx, run_id, "failed", clock(), message), scope)
            raise

    async def _run(self, scope: Scope, run: Optimisation) -> None:
        """Look for a better prompt, and keep what was found."""
        resources = self._resources
        plan, places = await resources.database.read(
            lambda tx: plans.loaded(tx, resources, run), scope
        )
        if not plan.targets:
            raise Outage("Every assertion of this run was removed.", "Begin another one.")
        expected = msgspec.json.decode(run.estimate)
        budget = RunBudget(run.budget, run.spent, expected.get("confirmation") or 0)
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
        used = {case.context for case in (*plan.targets, *plan.guards)}
        contexts = [context for name, context in places.contexts.items() if name in used]
        conversations = texts_of(contexts)
        rewriter = RoadRewriter(resources, scope, run.id, bench.calls, run.optimizer, conversations)
        progress = Progress(resources, scope, run.id, budget)
        questions = {name: context.asked for name, context in places.contexts.items()}
        result = await optimise(plan, bench, rewriter, progress.stage, questions)
        await self._keep(scope, run, plan, result)

    async def _keep(
        self, scope: Scope, run: Optimisation, plan: OptimisationPlan, result: OptimisationResult
    ) -> None:
        state: Literal["spent", "finished"] = "spent" if result.ending == "spent" else "finished"
        better = result.best.prompt if result.best.number else None

        def write(tx: Tx) -> None:
            rows.drop_attempts(tx, run.id, result.iterations)
            rows.end(
                tx,
                run.id,
                state,
                self._resources.clock(),
                result.message,
                verdict=result.ruling,
                results=msgspec.json.encode(summed(plan, result)).decode(),
                final_text=None if better is None else better.text,
            )

        await self._resources.database.write(write, scope)


def _begin(
    tx: Tx, resources: Resources, wish: OptimisationRequest, expected: RunEstimate
) -> Optimisation:
    now = resources.clock()
    prepared = plans.prepare(tx, resources, wish, seed=now % 1_000_003)
    plans.check_free(tx, prepared)
    check_caps(tx, resources.settings.limits, "", None, now)
    run = Optimisation(
        id=new_id(),
        advisor_id=prepared.advisor.id,
        advisor_name=prepared.advisor.name,
        target=prepared.plan.prompt.target,
        recipe=prepared.recipe,
        engine=wish.engine,
        judge=prepared.judge or "",
        optimizer=prepared.optimizer,
        plan=prepared.written,
        estimate=msgspec.json.encode(asdict(expected)).decode(),
        warnings=(
            *prepared.warnings,
            *plans.price_warnings(wish, prepared, expected.cost, expected.confirmation),
        ),
        budget=None if prepared.budget is None else round(prepared.budget * NANO),
        base_version=prepared.advisor.version_id if prepared.plan.prompt.target == PROMPT else "",
        base_text=prepared.plan.prompt.text,
        iterations=prepared.plan.iterations,
        created_at=now,
    )
    rows.add(tx, run)
    jobs.enqueue(tx, KIND, run.id, now)
    return run
