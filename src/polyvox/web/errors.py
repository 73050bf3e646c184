"""One error shape for the whole API, with the right status; nothing leaves as a traceback."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute, Route

from polyvox.errors import ContextTooLong, ModelError, PolyvoxError, RateLimited, Refused
from polyvox.settings.complaint import complaint
from polyvox.web import static

log = logging.getLogger("polyvox.web")


class ErrorDetail(BaseModel):
    """The error and the next step."""

    code: str
    message: str
    hint: str
    type: str
    param: str | None


class ErrorBody(BaseModel):
    """Every error of the API."""

    error: ErrorDetail


MEANINGS = {
    400: "The request cannot be understood.",
    401: "A token is needed.",
    402: "A spending cap of your own is reached.",
    403: "The request comes from a foreign page or names a foreign host.",
    404: "There is no such thing.",
    409: "The thing is in a state that does not allow this.",
    413: "The request is too large.",
    422: "A value in the request is not acceptable.",
    429: "The model's provider wants fewer requests; Retry-After says when to come back.",
    502: "The model's provider answered with an error.",
    503: "The model's provider, or the database, is not available now.",
    504: "The model's provider did not answer in time.",
    507: "There is no space left for the database.",
}


def responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The error statuses of a route, for its OpenAPI page; those every route has are included."""
    every = {400, 401, 403, 413, 422, 503, 507, *statuses}
    return {s: {"model": ErrorBody, "description": MEANINGS[s]} for s in sorted(every)}


def kind_of(status: int) -> str:
    """The error's type as OpenAI clients know it."""
    if status == 401:
        return "authentication_error"
    if status == 403:
        return "permission_error"
    if status == 429:
        return "rate_limit_error"
    return "invalid_request_error" if status < 500 else "server_error"


def status_of(error: PolyvoxError) -> int:
    """The HTTP status of an error. What a provider refuses of the caller's own request (too long,
    not acceptable, a model it does not have) is the caller's to change, so it is no 5xx."""
    if isinstance(error, RateLimited):
        return 429
    if isinstance(error, Refused) and error.http_status == 404:
        return 404
    if isinstance(error, ContextTooLong | Refused):
        return 400
    return error.status


def body(code: str, message: str, hint: str, status: int, param: str | None) -> dict[str, Any]:
    """The error shape."""
    detail = {"code": code, "message": message, "hint": hint, "type": kind_of(status)}
    return {"error": {**detail, "param": param}}


def body_of(error: PolyvoxError) -> dict[str, Any]:
    """Any error of ours in the error shape."""
    return body(error.code, error.message, error.hint, status_of(error), error.param)


def failed(error: PolyvoxError) -> JSONResponse:
    """Any error of ours as a response."""
    status = status_of(error)
    headers = {}
    if isinstance(error, ModelError) and error.retry_after is not None:
        headers["Retry-After"] = str(max(1, math.ceil(error.retry_after)))
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return JSONResponse(body_of(error), status, headers=headers)


def install(app: FastAPI, routes: Sequence[BaseRoute]) -> None:
    """Make every failure of `app`, which has these routes, come out in the one shape."""

    @app.exception_handler(PolyvoxError)
    async def _ours(_: Request, error: PolyvoxError) -> Response:
        return failed(error)

    @app.exception_handler(RequestValidationError)
    async def _invalid(_: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        if first["type"] == "json_invalid":
            return _plain("bad_input", "The body is not valid JSON.", "Send JSON.", 400)
        param = _place(first, error.body)
        lead = f"{param}: " if param else ""
        return _plain("invalid", f"{lead}{complaint(first)}.", "Correct that value.", 422, param)

    @app.exception_handler(HTTPException)
    async def _http(request: Request, error: HTTPException) -> Response:
        codes = {404: "not_found", 405: "method_not_allowed"}
        hints = {404: "GET /openapi.json lists every path.", 405: "See /openapi.json."}
        status = error.status_code
        if status == 404 and static.wants_page(request):
            return await static.send_nowhere(request)
        answer = _plain(
            codes.get(status, "bad_input"), f"{error.detail}.", hints.get(status, ""), status
        )
        answer.headers.update(error.headers or {})
        if status == 405:
            answer.headers["Allow"] = ", ".join(_methods(routes, request.url.path))
        return answer

    @app.exception_handler(Exception)
    async def _bug(request: Request, error: Exception) -> Response:
        log.exception("%s %s", request.method, request.url.path, exc_info=error)
        return _plain("internal", "Polyvox itself failed.", "The server's log tells more.", 500)


def _place(error: dict[str, Any], body: object) -> str | None:
    """The dotted path of the wrong value in the request. Where a value may be of several kinds,
    the kind that was tried stands in pydantic's path too: it is no part of the body."""
    start, *parts = error["loc"]
    if start != "body":
        return ".".join(str(part) for part in parts) or None
    place: list[str] = []
    here = body
    for part in parts:
        inside = isinstance(here, dict) and part in here
        if inside or (isinstance(here, list) and isinstance(part, int) and part < len(here)):
            here = here[part]  # type: ignore[index]  # a dict or a list, as was just seen
        elif error["type"] != "missing" or part != parts[-1]:
            continue
        place.append(str(part))
    return ".".join(place) or None


def _methods(routes: Sequence[BaseRoute], path: str) -> list[str]:
    """Methods allowed at a path; of several fitting routes, at the one without parameters."""
    fitting = [r for r in routes if isinstance(r, Route) and r.path_regex.match(path)]
    exact = [route for route in fitting if route.path == path]
    return sorted({method for route in exact or fitting for method in route.methods or ()})


def _plain(
    code: str, message: str, hint: str, status: int, param: str | None = None
) -> JSONResponse:
    return JSONResponse(body(code, message, hint, status, param), status)
