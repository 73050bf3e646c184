"""Optimisations: looking for a better prompt as durable work, and what becomes of the result.

    begin (what is tried where is written down) → baseline → attempts → confirmation → verdict
    → accept (a new prompt version), reject, or later rollback

Every answer, verdict and rewritten prompt is kept before the next is asked for, and the loop
decides by them alone. So a run that is taken up again begins anew, finds what it had paid for, and
pays at most for what was in flight. Calling it off closes what is in flight at once.

Accepting makes a new prompt version (or changes the phase's text in the recipe), in the same commit
that notes the decision. It is refused where the text was changed since the run began, and where the
result was not confirmed as better, unless the person insists.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import msgspec

from polyvox.context.recipe import as_data, changed
from polyvox.context.words import prompt_set
from polyvox.errors import Conflict, ModelError, NotFound, StoreError
from polyvox.evaluation.budget import Calls, RunBudget
from polyvox.evaluation.judge import Judge, judge_model
from polyvox.evaluation.optimise import plan as plans
from polyvox.evaluation.optimise.estimate import estimate, price_warnings
from polyvox.evaluation.optimise.plan import OptimisationRequest, Planned
from polyvox.evaluation.optimise.result import known, summarise
from polyvox.evaluation.optimise.rewrite import RoadRewriter, around_of, texts_of
from polyvox.evaluation.optimise.search import optimise
from polyvox.evaluation.optimise.shapes import OptimizationDetail, PlannedOut
from polyvox.evaluation.optimise.values import Outage, PromptAttempt, Stage, contexts_of
from polyvox.evaluation.replay import PHASE, PROMPT, RoadBench
from polyvox.evaluation.runs import Runs
from polyvox.evaluation.tables import optimisations as rows
from polyvox.evaluation.tables.optimisations import Optimisation, StoredAttempt
from polyvox.events import NANO
from polyvox.recipes import find_recipe
from polyvox.resources import Resources
from polyvox.store import advisors as advisor_rows
from polyvox.store import jobs, versions
from polyvox.store import recipes as recipe_rows
from polyvox.store.database import Tx
from polyvox.store.pages import Page
from polyvox.store.table import reading
from polyvox.store.usage import check_caps
from polyvox.values import REDACTED, Scope

KIND = rows.RUNS.noun
PURPOSE = "optimisation"
AT_ONCE = 2
"""Runs that one process works on at the same time."""


Verb = Literal["accept", "reject", "rollback"]
INSIST = "Insist with `force` to do it all the same."


def listed(
    tx: Tx, advisor: str | None = None, limit: int = 50, before: str | None = None
) -> Page[Optimisation]:
    """Runs, newest first."""
    row = None if advisor is None else advisor_rows.find(tx, advisor)
    return rows.list_page(tx, advisor if row is None else row.id, limit, before)


class Optimisations(Runs[Optimisation]):
    """The verbs of optimisations, and the work behind them."""

    table = rows.RUNS
    kept = "its attempts are kept"
    get = reading(OptimizationDetail.read)
    list = reading(listed)

    async def estimate(self, scope: Scope, wish: OptimisationRequest) -> PlannedOut:
        """Say what a run would do, and the most it would take. Nothing is begun."""
        planned = await self._planned(scope, wish, seed=0)
        return await asyncio.to_thread(PlannedOut.of, planned)

    async def _planned(self, scope: Scope, wish: OptimisationRequest, seed: int) -> Planned:
        planned = await self._database.read(
            lambda tx: plans.prepare(tx, self._resources, wish, seed), scope
        )
        expected = await asyncio.to_thread(estimate, self._resources.models, planned)
        run = planned.run
        warnings = (*run.warnings, *price_warnings(expected, run.budget, wish))
        return replace(planned, run=replace(run, estimate=expected, warnings=warnings))

    async def begin(self, scope: Scope, wish: OptimisationRequest) -> Optimisation:
        """Want a run; somebody's worker does it."""
        now = self._clock()
        run = (await self._planned(scope, wish, seed=now % 1_000_003)).run

        def write(tx: Tx) -> Optimisation:
            _check_free(tx, run)
            check_caps(tx, self._resources.settings.limits, "", None, now)
            rows.add(tx, run)
            jobs.enqueue(tx, KIND, run.id, now)
            return run

        return await self._want(scope, write)

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
            judge = judge_model(self._resources) or ""
            most = run.budget if budget is None else round(budget * NANO)
            jobs.enqueue_again(tx, KIND, optimisation_id, self._clock())
            cleared = dict.fromkeys(("verdict", "results", "final_text"))
            return self.table.take_up(tx, optimisation_id, judge=judge, budget=most, **cleared)

        return await self._want(scope, write)

    async def decide(
        self, scope: Scope, optimisation_id: str, verb: Verb, *, force: bool = False
    ) -> Optimisation:
        """Accept the best attempt as a new prompt version, reject it, or roll an accepted one
        back."""
        return await self._database.write(
            lambda tx: decided(tx, self._resources, optimisation_id, verb, force=force), scope
        )

    # the work

    async def _work(self, scope: Scope, run: Optimisation) -> None:
        failure = ""
        try:
            await self._run(scope, run)
        except (Outage, ModelError) as error:
            failure = f"{error.message} {error.hint}".strip()
        except StoreError:
            raise  # it waits and is taken up again, as all work is
        except Exception:
            failure = "Polyvox itself failed; the log says where. Resume the run to try again."
            raise
        finally:
            if failure:
                now = self._clock()
                await self._database.write(
                    lambda tx: self.table.end(tx, run.id, "failed", now, failure), scope
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
        calls = Calls(
            resources, scope, PURPOSE, lambda tx, used: rows.spend(tx, run.id, used), budget
        )
        judge = Judge(calls, run.judge or None)
        bench = RoadBench(run.id, places, judge, writer=run.optimizer)
        used = contexts_of((*plan.targets, *plan.guards))
        contexts = [context for name, context in places.contexts.items() if name in used]
        around = around_of(contexts, plan.prompt.phase)
        rewriter = RoadRewriter(run.id, calls, run.optimizer, texts_of(contexts), around)
        progress = Progress(run.id, calls, run.spent)
        result = await optimise(plan, bench, rewriter.rewrite, progress.stage)

        def write(tx: Tx) -> None:
            rows.drop_attempts(tx, run.id, after=len(result.attempts) - 1)
            self.table.end(
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

    run_id: str
    calls: Calls
    counted: int
    """Nano-dollars that are counted among the attempts' already."""

    async def stage(
        self, stage: Stage, attempts: Sequence[PromptAttempt], best: PromptAttempt
    ) -> None:
        """Write down the stage, the newest attempt and the best one (a `Watch`)."""
        budget = self.calls.budget
        if stage == "confirmation":
            budget.kept_back = 0
        base, last = attempts[0].scores, attempts[-1]
        keys = known(base, list(base.tallies))
        cost, self.counted = budget.spent - self.counted, budget.spent

        def write(tx: Tx) -> None:
            if last.number:
                rate = last.scores.mean(keys, base) if last.scores.whole else None
                rows.put_attempt(tx, self.run_id, self._stored(tx, last, rate, cost))
            rows.RUNS.change(
                tx,
                self.run_id,
                "AND state = 'running'",
                stage=stage,
                iteration=len(attempts) - 1,
                best=best.number,
                best_rate=best.scores.mean(keys, base) if keys else None,
                base_rate=base.mean(keys) if keys else None,
            )

        await self.calls.resources.database.write(write, self.calls.scope)

    def _stored(
        self, tx: Tx, attempt: PromptAttempt, rate: float | None, cost: int
    ) -> StoredAttempt:
        known = rows.find_attempt(tx, self.run_id, attempt.number)
        made = known or StoredAttempt(attempt.number, created_at=self.calls.resources.clock())
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


# -- what becomes of the result --------------------------------------------------------------------


def decided(
    tx: Tx, resources: Resources, optimisation_id: str, verb: Verb, *, force: bool
) -> Optimisation:
    """Do what was decided, and note it."""
    run = rows.get(tx, optimisation_id)
    if verb == "rollback":
        return _rollback(tx, resources, run, force)
    if not run.ended:
        hint = "Wait for its end." if verb == "accept" else "Cancel it instead."
        raise Conflict(f"This optimisation is {run.state}.", hint)
    if run.decision == "accepted":
        raise Conflict("This result was accepted already.", "Its rollback undoes that.")
    if verb == "accept":
        return _accept(tx, resources, run, force)
    return rows.decide(tx, run.id, "rejected", resources.clock())


def _accept(tx: Tx, resources: Resources, run: Optimisation, force: bool) -> Optimisation:
    """Make the best attempt the prompt."""
    if run.final_text is None:
        raise Conflict("This optimisation has no better prompt to accept.", run.message)
    if REDACTED in run.final_text:
        raise Conflict(
            "Something in this prompt was forgotten since.", "Begin another optimisation."
        )
    if run.verdict != "improved" and not force:
        ruling = f"the result is {run.verdict}" if run.verdict else "nothing was confirmed"
        raise Conflict(f"This prompt was not shown to be better: {ruling}.", INSIST)
    now = resources.clock()
    if run.target != PROMPT:
        _replace_phase(tx, resources, run, run.base_text, run.final_text, force)
        return rows.decide(tx, run.id, "accepted", now)
    advisor = advisor_rows.get(tx, run.advisor_id)
    if advisor.identity != run.base_text and not force:
        number = versions.get(tx, advisor.version_id).number
        raise Conflict(
            f"The prompt of {advisor.name} was changed since this optimisation began: it is"
            f" at version {number} now.",
            f"Optimise the prompt as it is now. {INSIST} That change is then replaced.",
        )
    reason = f"optimised ({run.verdict or 'not confirmed'})"
    made = advisor_rows.update(tx, now, run.advisor_id, reason=reason, prompt=run.final_text)
    return rows.decide(tx, run.id, "accepted", now, made.version_id)


def _rollback(tx: Tx, resources: Resources, run: Optimisation, force: bool) -> Optimisation:
    """Undo an accepted result."""
    if run.decision != "accepted" or run.final_text is None:
        raise Conflict("This result is not in force.", "Only an accepted one is rolled back.")
    now = resources.clock()
    if run.target != PROMPT:
        _replace_phase(tx, resources, run, run.final_text, run.base_text, force)
        return rows.decide(tx, run.id, "rolled back", now)
    advisor = advisor_rows.get(tx, run.advisor_id)
    if advisor.version_id != run.final_version and not force:
        raise Conflict(
            f"The prompt of {advisor.name} was changed again since.",
            f"Its history lists the versions to go back to. {INSIST}",
        )
    made = advisor_rows.rollback(tx, now, run.advisor_id, run.base_version)
    return rows.decide(tx, run.id, "rolled back", now, made.version_id)


def _replace_phase(
    tx: Tx, resources: Resources, run: Optimisation, old: str, new: str, force: bool
) -> None:
    """Put a text in the place of another one in the recipe's phase."""
    name = run.target.removeprefix(PHASE)
    recipe = find_recipe(tx, resources.settings, run.recipe)
    phases: list[dict[str, Any]] = as_data(recipe)["phases"]
    phase = next((phase for phase in phases if phase["name"] == name), None)
    if phase is None:
        raise NotFound(f"The recipe {run.recipe} has no phase {name!r} any more.")
    ours = {prompt_set(size).text(name) for size in ("full", "compact")}
    if old not in ({phase["text"]} if phase["text"] else ours) and not force:
        raise Conflict(
            f"The phase {name!r} of the recipe {run.recipe} was changed since.",
            f"Optimise it as it is now. {INSIST} That change is then replaced.",
        )
    phase["text"] = "" if new in ours else new
    changed(recipe, {"phases": phases})  # what cannot be used is refused before it is stored
    change = {**(recipe_rows.get(tx, run.recipe) or {}), "phases": phases}
    recipe_rows.put(tx, run.recipe, change, resources.clock())
