"""Routes of optimisations: see what one takes, begin it, follow it, decide on its result."""

from __future__ import annotations

from typing import Annotated

import msgspec
from fastapi import APIRouter, Query

from polyvox.evaluation.optimise.findings import Summary
from polyvox.evaluation.optimise.plan import price_warnings
from polyvox.evaluation.tables.optimisations import Optimisation
from polyvox.web.dependencies import App, Who
from polyvox.web.errors import responses
from polyvox.web.fields import Id, Key
from polyvox.web.optimization_shapes import (
    ForceBody,
    OptimizationDetail,
    OptimizationOut,
    OptimizationPage,
    OptimizeBody,
    PlannedOut,
    ResumeBody,
)

router = APIRouter(tags=["optimizations"])
Few = Annotated[int, Query(ge=1, le=200)]


@router.post("/api/optimizations/estimate", responses=responses(404))
async def estimate_optimization(app: App, who: Who, body: OptimizeBody) -> PlannedOut:
    """What a run would do and take. Nothing is begun."""
    wish = body.wish()
    prepared, found = await app.optimisations.estimate(who, wish)
    warnings = price_warnings(wish, prepared, found.cost, found.confirmation)
    return PlannedOut.of(prepared, found, warnings)


@router.post("/api/optimizations", status_code=202, responses=responses(402, 404, 409))
async def optimize(app: App, who: Who, body: OptimizeBody) -> OptimizationOut:
    """Begin looking for a better prompt; it is worked on in the background."""
    return told(await app.optimisations.begin(who, body.wish()))


@router.get("/api/optimizations", responses=responses())
async def list_optimizations(
    app: App,
    who: Who,
    advisor: Annotated[Id | None, Query()] = None,
    limit: Few = 50,
    before: Annotated[Id | None, Query()] = None,
) -> OptimizationPage:
    """Runs, newest first."""
    page = await app.optimisations.list(who, advisor, limit, before)
    return OptimizationPage(items=[told(one) for one in page.items], next=page.next)


@router.get("/api/optimizations/{optimization}", responses=responses(404))
async def get_optimization(app: App, who: Who, optimization: Key) -> OptimizationDetail:
    """A run, how far it is, its attempts, and what it found."""
    return OptimizationDetail.told(await app.optimisations.get(who, optimization))


@router.post("/api/optimizations/{optimization}/cancel", responses=responses(404, 409))
async def cancel_optimization(app: App, who: Who, optimization: Key) -> OptimizationOut:
    """Call a run off: its calls are closed at once, its attempts are kept."""
    return told(await app.optimisations.cancel(who, optimization))


@router.post("/api/optimizations/{optimization}/resume", responses=responses(404, 409))
async def resume_optimization(
    app: App, who: Who, optimization: Key, body: ResumeBody
) -> OptimizationOut:
    """Let a run that failed or is spent go on; nothing that it has paid for is paid again."""
    return told(await app.optimisations.resume(who, optimization, body.budget))


@router.post("/api/optimizations/{optimization}/accept", responses=responses(404, 409))
async def accept_optimization(
    app: App, who: Who, optimization: Key, body: ForceBody
) -> OptimizationOut:
    """Make the best attempt the prompt: a new version. Refused where the prompt was changed since
    the run began, or the result was not shown to be better, unless `force` is set."""
    return told(await app.optimisations.accept(who, optimization, force=body.force))


@router.post("/api/optimizations/{optimization}/reject", responses=responses(404, 409))
async def reject_optimization(app: App, who: Who, optimization: Key) -> OptimizationOut:
    """Keep the prompt as it is; the attempts are kept too."""
    return told(await app.optimisations.reject(who, optimization))


@router.post("/api/optimizations/{optimization}/rollback", responses=responses(404, 409))
async def rollback_optimization(
    app: App, who: Who, optimization: Key, body: ForceBody
) -> OptimizationOut:
    """Undo an accepted result: the prompt as it was before, as a new version."""
    return told(await app.optimisations.rollback(who, optimization, force=body.force))


def told(one: Optimisation) -> OptimizationOut:
    """A run as it is listed."""
    found = msgspec.json.decode(one.results, type=Summary) if one.results else None
    return OptimizationOut.of(one, found)
