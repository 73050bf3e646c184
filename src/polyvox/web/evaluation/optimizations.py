"""Routes of optimisations: estimate, begin, follow, decide."""

from __future__ import annotations

from typing import Annotated, Literal

import fastapi
from fastapi import Query
from pydantic import Field

from polyvox.evaluation.optimise.plan import MOST_ASSERTIONS, MOST_ITERATIONS, OptimisationRequest
from polyvox.evaluation.optimise.shapes import OptimizationDetail, OptimizationOut, PlannedOut
from polyvox.fields import Body, Id
from polyvox.shapes import shape
from polyvox.store.pages import Page
from polyvox.web.dependencies import App, Key, Who
from polyvox.web.errors import responses
from polyvox.web.openapi import Router

router = Router("optimizations")
Few = Annotated[int, Query(ge=1, le=200)]
MOST_USD = 10_000


class OptimizeBody(Body):
    """The advisor or phase to improve, and its limits."""

    advisor_id: Id
    """Id or slug."""
    assertion_ids: Annotated[list[Id], Field(min_length=1, max_length=MOST_ASSERTIONS)] | None = (
        None
    )
    """Null: every active one of this advisor."""
    target: Annotated[str, Field(pattern=r"^(prompt|phase:[\w-]{1,60})$")] = "prompt"
    engine: Literal["native", "gepa"] = "native"
    iterations: int | None = Field(None, ge=1, le=MOST_ITERATIONS)
    budget: float | None = Field(None, gt=0, le=MOST_USD)
    """USD; null: as the settings say."""
    holdout: float | None = Field(None, ge=0, le=0.5)
    """The part of the assertions that the rewriter never sees; null: a quarter from 8 on."""


class ForceBody(Body):
    """`force`: do it although something speaks against it (the message of the 409 says what)."""

    force: bool = False


class ResumeBody(Body):
    """The budget to go on with, in USD and all in all; null: the one it had."""

    budget: float | None = Field(None, gt=0, le=MOST_USD)


MaybeForce = Annotated[ForceBody, fastapi.Body(default_factory=ForceBody)]
MaybeResume = Annotated[ResumeBody, fastapi.Body(default_factory=ResumeBody)]
"""A body that may be left out."""


@router.post("/api/optimizations/estimate", responses=responses(404))
async def estimate_optimization(app: App, who: Who, body: OptimizeBody) -> PlannedOut:
    """Estimate a run. Nothing is begun."""
    return await app.optimisations.estimate(who, shape(OptimisationRequest, body))


@router.post("/api/optimizations", status_code=202, responses=responses(402, 404, 409))
async def optimize(app: App, who: Who, body: OptimizeBody) -> OptimizationOut:
    """Begin looking for a better prompt; it is worked on in the background."""
    begun = await app.optimisations.begin(who, shape(OptimisationRequest, body))
    return OptimizationOut.of(begun)


@router.get("/api/optimizations", responses=responses())
async def list_optimizations(
    app: App,
    who: Who,
    advisor: Annotated[Id | None, Query()] = None,
    limit: Few = 50,
    before: Annotated[Id | None, Query()] = None,
) -> Page[OptimizationOut]:
    """Runs, newest first."""
    page = await app.optimisations.list(who, advisor, limit, before)
    return Page(tuple(map(OptimizationOut.of, page.items)), page.next)


@router.get("/api/optimizations/{optimization}", responses=responses(404))
async def get_optimization(app: App, who: Who, optimization: Key) -> OptimizationDetail:
    """A run, its progress, its attempts and its findings."""
    return await app.optimisations.get(who, optimization)


@router.post("/api/optimizations/{optimization}/cancel", responses=responses(404, 409))
async def cancel_optimization(app: App, who: Who, optimization: Key) -> OptimizationOut:
    """Call a run off: its calls are closed at once, its attempts are kept."""
    return OptimizationOut.of(await app.optimisations.cancel(who, optimization))


@router.post("/api/optimizations/{optimization}/resume", responses=responses(404, 409))
async def resume_optimization(
    app: App, who: Who, optimization: Key, body: MaybeResume
) -> OptimizationOut:
    """Let a run that failed or is spent go on; nothing that it has paid for is paid again."""
    return OptimizationOut.of(await app.optimisations.resume(who, optimization, body.budget))


@router.post("/api/optimizations/{optimization}/accept", responses=responses(404, 409))
async def accept_optimization(
    app: App, who: Who, optimization: Key, body: MaybeForce
) -> OptimizationOut:
    """Make the best attempt the prompt: a new version. Refused where the prompt was changed since
    the run began, or the result was not shown to be better, unless `force` is set."""
    decided = await app.optimisations.decide(who, optimization, "accept", force=body.force)
    return OptimizationOut.of(decided)


@router.post("/api/optimizations/{optimization}/reject", responses=responses(404, 409))
async def reject_optimization(app: App, who: Who, optimization: Key) -> OptimizationOut:
    """Keep the prompt as it is; the attempts are kept too."""
    return OptimizationOut.of(await app.optimisations.decide(who, optimization, "reject"))


@router.post("/api/optimizations/{optimization}/rollback", responses=responses(404, 409))
async def rollback_optimization(
    app: App, who: Who, optimization: Key, body: MaybeForce
) -> OptimizationOut:
    """Undo an accepted result: the prompt as it was before, as a new version."""
    decided = await app.optimisations.decide(who, optimization, "rollback", force=body.force)
    return OptimizationOut.of(decided)
