"""Routes of health: for people and for machines."""

from __future__ import annotations

import resource
import sys

from fastapi import Request, Response
from pydantic import BaseModel

from polyvox import __version__
from polyvox.web import static
from polyvox.web.dependencies import App
from polyvox.web.openapi import Router, file

router = Router("health")

PAGE = file("The page, or where to go.", "text/plain", "text/html")
METRICS = file("Plain-text metrics.", "text/plain")
WELCOME = """Polyvox is running.

In a browser:      this address
In a terminal:     polyvox ask "…"   polyvox chat
The HTTP API:      /openapi.json lists everything; POST /api/conversations begins
OpenAI clients:    use /v1 as the base URL, with models such as advisor:builder or council:…
"""


@router.get("/", response_class=Response, responses=PAGE)
@router.head("/", include_in_schema=False)
async def welcome(request: Request) -> Response:
    """The page, for those who accept text/html; for others a few lines on where to go."""
    if static.accepts(request.headers.get("accept", ""), "text/html"):
        return await static.send_index(request)
    headers = {"Vary": "Accept", "X-Content-Type-Options": "nosniff"}
    return Response(WELCOME, media_type="text/plain; charset=utf-8", headers=headers)


class Health(BaseModel):
    """The state of the server."""

    status: str
    """`ok`, or `degraded` when the database did not take the last commit."""
    version: str
    database: str
    default_model: str
    note: str
    """A note on the default model (the embedded one is tiny)."""
    answers: int
    """Answers under way."""
    listeners: int
    trouble: str


@router.get("/healthz")
@router.head("/healthz", include_in_schema=False)
async def get_health(app: App) -> Health:
    """Ready, and how it is."""
    trouble = app.journal.trouble
    return Health(
        status="degraded" if trouble else "ok",
        version=__version__,
        database=app.database.dialect,
        default_model=app.models.default,
        note=app.models.facts(app.models.default).note,
        answers=len(app.turns.queue.jobs),
        listeners=len(app.hub),
        trouble=trouble,
    )


@router.get("/metrics", response_class=Response, responses=METRICS)
async def get_metrics(app: App) -> Response:
    """Counters and gauges in the Prometheus text format."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    rows = {
        "polyvox_answers_running": len(app.turns.queue.jobs),
        "polyvox_listeners": len(app.hub),
        "polyvox_commits_total": app.database.commits,
        "polyvox_resident_bytes_peak": peak if sys.platform == "darwin" else peak * 1024,
        "polyvox_store_ok": int(not app.journal.trouble),
    }
    text = "".join(
        f"# TYPE {name} {'counter' if name.endswith('_total') else 'gauge'}\n{name} {value}\n"
        for name, value in rows.items()
    )
    return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")
