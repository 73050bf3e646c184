"""Runs as durable work: wanted in one commit, done by a worker, called off from anywhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic

from polyvox.errors import Conflict, NotFound
from polyvox.evaluation.tables.runs import R, RunTable
from polyvox.resources import Resources
from polyvox.store.database import Tx
from polyvox.store.jobs import Job
from polyvox.store.table import Verbs
from polyvox.values import Scope
from polyvox.work.cancel import Bells
from polyvox.work.worker import Handler


class Runs(Verbs, Generic[R]):
    """The verbs that runs of every kind have, and the work behind them."""

    table: RunTable[R]
    kept: str
    """What stays of a run that was called off, in words."""
    over = "There is nothing to cancel."
    """The hint for whoever cancels a run that has ended."""

    def __init__(self, resources: Resources) -> None:
        super().__init__(resources.database, resources.clock)
        self._resources = resources
        self._bells = Bells()

    @property
    def handlers(self) -> dict[str, Handler]:
        """Jobs that the worker runs here, by kind."""
        return {self.table.noun: self._do}

    async def cancel(self, scope: Scope, run_id: str) -> R:
        """Call a run off: from now on nothing is spent on it, what it found stays."""

        def write(tx: Tx) -> R:
            message = f"It was called off; {self.kept}."
            if not self.table.end(tx, run_id, "cancelled", self._clock(), message):
                state = self.table.get(tx, run_id).state
                raise Conflict(f"This {self.table.noun} is {state}.", self.over)
            self._settle(tx, run_id)
            return self.table.get(tx, run_id)

        ended = await self._database.write(write, scope)
        self._bells.ring(run_id)
        return ended

    async def _want(self, scope: Scope, write: Callable[[Tx], R]) -> R:
        """Store the wish for work, and wake a worker."""
        run = await self._database.write(write, scope)
        self._resources.bell.ring()
        return run

    async def _do(self, job: Job) -> None:
        scope, run_id = job.scope, job.subject
        database = self._database
        try:
            run = await database.write(
                lambda tx: self.table.start(tx, run_id, self._clock()), scope
            )
        except NotFound:
            return
        if run.ended:
            return

        async def wanted() -> bool:
            return not (await database.read(lambda tx: self.table.get(tx, run_id), scope)).ended

        if not await self._bells.while_wanted(run_id, self._work(scope, run), wanted):
            await database.write(lambda tx: self._settle(tx, run_id), scope)

    async def _work(self, scope: Scope, run: R) -> None:
        """Bring a run to its end."""
        raise NotImplementedError

    def _settle(self, tx: Tx, run_id: str) -> None:
        """Sum up a run that was called off."""
