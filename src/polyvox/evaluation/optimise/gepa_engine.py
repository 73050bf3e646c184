"""The search of the `gepa` library, behind the same interface and the same confirmation.

gepa is synchronous: it runs in a thread, and every answer, verdict and rewrite is asked for on the
event loop, by the same bench and the same rewriter as ours. Its own reflection prompt is not used;
it asks to copy facts of the examples into the prompt. It keeps no files: taken up again, it begins
anew with the same seed, and what was paid for before is found again at no cost.

It compares a rewrite with its parent on a few cases first and scores it whole only if it is better
there. Below about six cases that gate costs more than it saves.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from polyvox.errors import Invalid, PolyvoxError
from polyvox.evaluation.bench import Prompt
from polyvox.evaluation.optimise.engine import Field
from polyvox.evaluation.optimise.values import Attempt, Case, Scores

if TYPE_CHECKING:
    from gepa.core.adapter import EvaluationBatch, ProposalFn
    from gepa.core.state import GEPAState

log = logging.getLogger("polyvox.evaluation")
T = TypeVar("T")
NAME = "prompt"
MINIBATCH = 3
FEWEST = 6
"""Cases below which gepa's gate costs more than it saves."""
ROUNDS = 3
"""Rounds per iteration at most: one whose few cases all pass proposes nothing."""


class Gepa:
    """gepa as an engine."""

    async def search(self, field: Field) -> None:
        """See `Engine`."""
        loop = asyncio.get_running_loop()
        bridge = _Bridge(field, loop)
        thread = loop.run_in_executor(None, bridge.run)
        try:
            await asyncio.shield(thread)
        except asyncio.CancelledError:
            bridge.stop()
            await asyncio.wait((thread,))
            if thread.done() and not thread.cancelled():
                thread.exception()  # whatever it was, it ended because we ended it
            raise
        if bridge.failure is not None:
            raise bridge.failure


@dataclass(slots=True)
class _Tried:
    """A prompt that gepa works with."""

    attempt: Attempt
    scores: Scores = field(default_factory=lambda: Scores({}))
    recorded: bool = False


@dataclass(slots=True)
class _Silent:
    """gepa's log goes to ours."""

    def log(self, message: str) -> None:
        """What gepa has to say: it may hold prompts, so only where every detail is wanted."""
        log.debug("gepa: %s", message)


class _Bridge:
    """Between gepa's thread and the loop; gepa's adapter at the same time."""

    propose_new_texts: ProposalFn | None = None

    def __init__(self, field: Field, loop: asyncio.AbstractEventLoop) -> None:
        self.failure: PolyvoxError | None = None
        self._field = field
        self._loop = loop
        self._stopped = False
        self._task: asyncio.Task[Any] | None = None
        self._made = 0
        start = field.attempts[0]
        self._tried = {start.tried.text: _Tried(start, field.baseline, recorded=True)}

    def stop(self) -> None:
        """End what is under way, and begin nothing more. Called on the loop."""
        self._stopped = True
        if self._task is not None:
            self._task.cancel()

    def run(self) -> None:
        """Let gepa search. Runs in a thread."""
        try:
            from gepa.api import optimize
        except ImportError:
            self.failure = Invalid(
                "The package gepa is not installed.",
                "Install it (pip install gepa), or use the engine native.",
                param="engine",
            )
            return
        plan = self._field.plan
        start = self._field.attempts[0]
        try:
            optimize(
                seed_candidate={NAME: start.tried.text},
                trainset=list(plan.shown),
                valset=list(plan.targets),
                adapter=self,
                custom_candidate_proposer=self._propose,
                reflection_minibatch_size=min(MINIBATCH, len(plan.shown)),
                stop_callbacks=self,
                logger=_Silent(),
                seed=plan.seed,
                track_best_outputs=False,
                raise_on_exception=True,
            )
            self._flush()
        except (CancelledError, PolyvoxError):
            if not self._stopped and self.failure is None:
                raise

    def __call__(self, gepa_state: GEPAState[str, int]) -> bool:
        """Whether gepa is to stop."""
        plan = self._field.plan
        best = self._field.best.scores
        return (
            self._stopped
            or self.failure is not None
            or self._made >= plan.iterations
            or gepa_state.i + 1 >= ROUNDS * plan.iterations
            or (best is not None and best.perfect(plan.keys))
        )

    def _await(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of something that is done on the loop."""
        if self.failure is not None:
            work.close()
            raise CancelledError
        result: Future[T] = Future()
        self._loop.call_soon_threadsafe(self._begin, work, result)
        try:
            return result.result()
        except PolyvoxError as error:
            self.failure = error
            raise

    def _begin(self, work: Coroutine[Any, Any, T], result: Future[T]) -> None:
        """Do it on the loop; the thread hears of it only when it is over and done with."""
        if self._stopped:
            work.close()
            result.cancel()
            return
        task = self._task = self._loop.create_task(work)
        task.add_done_callback(partial(_pass_on, result))

    # what gepa asks for

    def evaluate(
        self, batch: list[Case], candidate: dict[str, str], capture_traces: bool = False
    ) -> EvaluationBatch[str, str]:
        """The pass rates of these cases."""
        from gepa.core.adapter import EvaluationBatch

        tried = self._tried[candidate[NAME]]
        cases = list({case.key: case for case in batch}.values())
        if any(case.key not in tried.scores.tallies for case in cases):
            self._score(tried, cases)
        held = tried.attempt.state == "guarded"
        baseline = self._field.baseline
        rates = [
            0.0 if held else tried.scores.rate(case.key, baseline.rate(case.key)) for case in batch
        ]
        keys = [case.key for case in batch]
        return EvaluationBatch(keys, rates, keys if capture_traces else None)

    def _score(self, tried: _Tried, cases: Sequence[Case]) -> None:
        open_ = [case for case in cases if case.key not in tried.scores.tallies]
        more = self._await(self._field.score(tried.attempt.tried, open_))
        known = tried.scores
        tried.scores = Scores({**known.tallies, **more.tallies}, (*known.seen, *more.seen))
        if set(self._field.plan.keys) <= set(tried.scores.tallies):
            self._await(self._whole(tried))

    async def _whole(self, tried: _Tried) -> None:
        """Every case is scored: it may lead, unless a guard holds it back."""
        made = replace(tried.attempt, state="scored", scores=tried.scores)
        leads = self._field.mean(made) > self._field.mean(self._field.best)
        broken = await self._field.breaks(made.tried) if leads else ""
        tried.attempt = replace(made, state="guarded", note=broken) if broken else made
        tried.recorded = True
        await self._field.record(tried.attempt)

    def make_reflective_dataset(
        self,
        candidate: dict[str, str],
        eval_batch: EvaluationBatch[str, str],
        components_to_update: list[str],
    ) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        """Which cases the rewriter is to look at; what was seen of them is ours to tell."""
        del candidate, components_to_update
        return {NAME: [{"case": key} for key in eval_batch.outputs]}

    def _propose(
        self,
        candidate: dict[str, str],
        reflective_dataset: Mapping[str, Sequence[Mapping[str, Any]]],
        components_to_update: list[str],
    ) -> dict[str, str]:
        """A rewritten prompt; nothing where none could be taken."""
        del components_to_update
        self._flush()
        self._made += 1
        parent = self._tried[candidate[NAME]]
        keys = [row["case"] for row in reflective_dataset[NAME]]
        scores = Scores(
            {key: parent.scores.tallies[key] for key in keys},
            tuple(one for one in parent.scores.seen if one.case in keys),
        )
        proposal = self._await(self._field.propose(self._made, parent.attempt, scores))
        if proposal.text is None:
            note = proposal.note
            refused = Attempt(self._made, parent.attempt.number, None, "refused", None, note)
            self._await(self._field.record(refused))
            return {}
        prompt = Prompt(proposal.text, self._field.plan.prompt.target)
        made = Attempt(self._made, parent.attempt.number, prompt, "hopeless")
        self._tried[proposal.text] = _Tried(made)
        return {NAME: proposal.text}

    def _flush(self) -> None:
        """Keep the attempts that did not get past gepa's gate."""
        for tried in list(self._tried.values()):
            if not tried.recorded:
                tried.recorded = True
                kept = replace(tried.attempt, scores=replace(tried.scores, whole=False))
                self._await(self._field.record(kept))


def _pass_on(result: Future[T], task: asyncio.Task[T]) -> None:
    """What became of the work on the loop, told to the thread."""
    if task.cancelled():
        result.cancel()
    elif (error := task.exception()) is not None:
        result.set_exception(error)
    else:
        result.set_result(task.result())
