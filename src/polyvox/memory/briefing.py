"""A startbrief whose handover is written by the model that memory works with, where one is named.

Only a model that somebody chose for memory is asked, within the budget of a session's start and the
caps on cost; whatever hinders it, the plain handover is there. `known` must have been read for a
cloud model: which machine a model runs on is not asked here.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace

from polyvox.caps import check_caps
from polyvox.errors import CapReached, ModelError, StoreError
from polyvox.memory.handover import Handover
from polyvox.memory.packets import StartBrief
from polyvox.memory.startbrief import Known, startbrief
from polyvox.models.base import Model
from polyvox.resources import Resources
from polyvox.store import usage
from polyvox.store.database import Tx
from polyvox.values import Scope

log = logging.getLogger("polyvox.session")

SHARE = 0.8
"""Of a session start's budget, what the writing may take."""
PURPOSE = "memory"
"""Under this name its usage is summed."""


@dataclass(frozen=True, slots=True)
class BriefWriter:
    """Writes the handovers of sessions."""

    resources: Resources

    @property
    def writes(self) -> bool:
        """Only a model that somebody chose for memory is asked."""
        return bool(self.resources.settings.models.memory)

    @property
    def cloud(self) -> bool:
        """Whether what it is told leaves this machine."""
        resources = self.resources
        return not resources.models.stays_here(resources.settings.models.memory)

    async def brief(self, scope: Scope, known: Known) -> StartBrief:
        """The brief, with time left to tell it plainly where the model takes too long."""
        budget = self.resources.settings.memory.budget * SHARE
        return await written_brief(self.resources, scope, known, budget)


async def written_brief(
    resources: Resources, scope: Scope, known: Known, seconds: float | None = None
) -> StartBrief:
    """The brief; why its handover is the plain one stands in its evidence."""
    model, reason = await _model(resources, scope)
    budget = resources.settings.memory.budget if seconds is None else seconds
    made, handover = await startbrief(known, model, budget)
    await _record(resources, scope, handover)
    if reason and made.evidence is not None:
        return replace(made, evidence=replace(made.evidence, fallback=reason))
    return made


async def _model(resources: Resources, scope: Scope) -> tuple[Model | None, str]:
    """Who writes, or why nobody does."""
    name = resources.settings.models.memory
    if not name:
        return None, ""
    now, limits = resources.clock(), resources.settings.limits
    try:
        await resources.database.read(lambda tx: check_caps(tx, limits, "", None, now), scope)
        return resources.models.chain(name, ()), ""
    except CapReached:
        return None, "cap_reached"
    except ModelError as error:
        return None, error.category


async def _record(resources: Resources, scope: Scope, handover: Handover) -> None:
    if not handover.spent:
        return
    now = resources.clock()

    def write(tx: Tx) -> None:
        for model, used in handover.spent:
            usage.record(tx, usage=used, model=model, advisor_id=PURPOSE, at=now, purpose=PURPOSE)

    try:
        await resources.database.write(write, scope)
    except StoreError as error:  # the brief is there; it shall not be lost for its bill
        log.warning("usage not recorded: %s", error.message)
