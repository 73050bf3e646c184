"""One error shape for the whole API, with the right status; nothing leaves as a traceback."""

from __future__ import annotations

import logging
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from polyvox.errors import ModelError, PolyvoxError, RateLimited

log = logging.getLogger("polyvox.web")


class ErrorDetail(BaseModel):
    """What happened, and what to do."""

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


def body(code: str, message: str, hint: str, status: int, param: str | None) -> dict[str, Any]:
    """The error shape."""
    detail = {"code": code, "message": message, "hint": hint, "type": kind_of(status)}
    return {"error": {**detail, "param": param}}


def failed(error: PolyvoxError) -> JSONResponse:
    """Any error of ours as a response."""
    headers = {}
    if isinstance(error, ModelError) and isinstance(error, RateLimited) and error.retry_after:
        headers["Retry-After"] = str(max(1, round(error.retry_after)))
    if error.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return JSONResponse(
        body(error.code, error.message, error.hint, error.status, error.param),
        error.status,
        headers=headers,
    )


def install(app: FastAPI) -> None:
    """Make every failure of `app` come out in the one shape."""

    @app.exception_handler(PolyvoxError)
    async def _ours(_: Request, error: PolyvoxError) -> Response:
        return failed(error)

    @app.exception_handler(RequestValidationError)
    async def _invalid(_: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        place = [str(part) for part in first["loc"] if part not in ("body", "query", "path")]
        if first["type"] == "json_invalid":
            return _plain("bad_input", "The body is not valid JSON.", "Send JSON.", 400)
        param = ".".join(place) or None
        what = f"{param}: " if param else ""
        return _plain("invalid", f"{what}{first['msg']}.", "Correct that value.", 422, param)

    @app.exception_handler(HTTPException)
    async def _http(_: Request, error: HTTPException) -> Response:
        codes = {404: "not_found", 405: "method_not_allowed"}
        hints = {404: "GET /openapi.json lists every path.", 405: "See /openapi.json."}
        status = error.status_code
        answer = _plain(
            codes.get(status, "bad_input"),
            f"{error.detail}.",
            hints.get(status, ""),
            status,
        )
        answer.headers.update(error.headers or {})
        return answer

    @app.exception_handler(Exception)
    async def _bug(request: Request, error: Exception) -> Response:
        log.exception("%s %s", request.method, request.url.path, exc_info=error)
        return _plain("internal", "Polyvox itself failed.", "The server's log tells more.", 500)


def _plain(
    code: str, message: str, hint: str, status: int, param: str | None = None
) -> JSONResponse:
    return JSONResponse(body(code, message, hint, status, param), status)
