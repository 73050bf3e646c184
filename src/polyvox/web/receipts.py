"""Routes of receipts: what an advisor was sent, span by span, and the very bytes."""

from __future__ import annotations

from fastapi import Response

from polyvox.errors import NotFound
from polyvox.session.inspect import ReceiptOut
from polyvox.web.dependencies import App, Key, Who
from polyvox.web.openapi import Router, file

router = Router("receipts")


@router.get("/api/answers/{answer}/receipt")
async def get_receipt(app: App, who: Who, answer: Key) -> ReceiptOut:
    """The exact request behind an answer, span by span."""
    return ReceiptOut.of(await app.receipt(who, answer))


@router.get(
    "/api/answers/{answer}/request",
    response_class=Response,
    responses=file(
        "The bytes of the request body, as the provider received them.",
        "application/json",
        schema="object",
    ),
)
async def get_request(app: App, who: Who, answer: Key) -> Response:
    """The very bytes that were sent for an answer, to copy."""
    seen = await app.receipt(who, answer)
    if seen.body is None:
        raise NotFound("Nothing was sent for this answer.", "It ended before its model was asked.")
    return Response(seen.body, media_type="application/json")
