"""Routes of advisors and councils."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from polyvox.web.context import App, Who
from polyvox.web.failures import responses
from polyvox.web.fields import Key
from polyvox.web.schemas import (
    AdvisorCreate,
    AdvisorOut,
    AdvisorPatch,
    CouncilCreate,
    CouncilOut,
    CouncilPatch,
    ParamsBody,
    Reorder,
    Rollback,
    VersionOut,
)

router = APIRouter(tags=["advisors"])


def _details(body: AdvisorCreate | AdvisorPatch) -> dict[str, Any]:
    """What the body says; a null means "none" where a field can be empty, else nothing."""
    said = body.model_dump(exclude_unset=True, exclude={"params"})
    keep = {"prompt", "model", "voice"}
    details = {key: value for key, value in said.items() if value is not None or key in keep}
    if "params" in body.model_fields_set:
        details["params"] = (body.params or ParamsBody()).value()
    return details


@router.get("/api/advisors", responses=responses())
async def list_advisors(app: App, who: Who, active: bool = False) -> list[AdvisorOut]:
    """Every advisor in its order."""
    return [AdvisorOut.of(one) for one in await app.advisors.list(who, active=active)]


@router.post("/api/advisors", status_code=201, responses=responses(409))
async def create_advisor(app: App, who: Who, body: AdvisorCreate) -> AdvisorOut:
    """A new advisor."""
    app.check_model(body.model)
    return AdvisorOut.of(await app.advisors.create(who, **_details(body)))


@router.post("/api/advisors/order", responses=responses(404))
async def reorder_advisors(app: App, who: Who, body: Reorder) -> list[AdvisorOut]:
    """Put the named advisors first, in this order."""
    return [AdvisorOut.of(one) for one in await app.advisors.reorder(who, body.advisors)]


@router.get("/api/advisors/{advisor}", responses=responses(404))
async def get_advisor(app: App, who: Who, advisor: Key) -> AdvisorOut:
    """One advisor, by id or slug."""
    return AdvisorOut.of(await app.advisors.get(who, advisor))


@router.patch("/api/advisors/{advisor}", responses=responses(404, 409))
async def update_advisor(app: App, who: Who, advisor: Key, body: AdvisorPatch) -> AdvisorOut:
    """Change an advisor. Another prompt (or description) makes a new version."""
    app.check_model(body.model)
    return AdvisorOut.of(await app.advisors.update(who, advisor, **_details(body)))


@router.delete("/api/advisors/{advisor}", status_code=204, responses=responses(404))
async def remove_advisor(app: App, who: Who, advisor: Key) -> None:
    """Take an advisor off the list; its answers stay."""
    await app.advisors.remove(who, advisor)


@router.get("/api/advisors/{advisor}/versions", responses=responses(404))
async def list_versions(app: App, who: Who, advisor: Key) -> list[VersionOut]:
    """Every text its identity has had, newest first."""
    return [VersionOut.of(one) for one in await app.advisors.versions(who, advisor)]


@router.post("/api/advisors/{advisor}/rollback", responses=responses(404))
async def rollback_advisor(app: App, who: Who, advisor: Key, body: Rollback) -> AdvisorOut:
    """Give it an earlier identity again, as a new version."""
    return AdvisorOut.of(await app.advisors.rollback(who, advisor, body.version))


@router.get("/api/councils", responses=responses())
async def list_councils(app: App, who: Who) -> list[CouncilOut]:
    """Every council."""
    return [CouncilOut.of(one) for one in await app.councils.list(who)]


@router.post("/api/councils", status_code=201, responses=responses(404, 409))
async def create_council(app: App, who: Who, body: CouncilCreate) -> CouncilOut:
    """A new council."""
    details = body.model_dump(exclude_none=True)
    return CouncilOut.of(await app.councils.create(who, **details))


@router.get("/api/councils/{council}", responses=responses(404))
async def get_council(app: App, who: Who, council: Key) -> CouncilOut:
    """One council, by id or slug."""
    return CouncilOut.of(await app.councils.get(who, council))


@router.patch("/api/councils/{council}", responses=responses(404, 409))
async def update_council(app: App, who: Who, council: Key, body: CouncilPatch) -> CouncilOut:
    """Change a council."""
    details = body.model_dump(exclude_none=True)
    return CouncilOut.of(await app.councils.update(who, council, **details))


@router.delete("/api/councils/{council}", status_code=204, responses=responses(404))
async def remove_council(app: App, who: Who, council: Key) -> None:
    """Delete a council; its advisors stay."""
    await app.councils.remove(who, council)
