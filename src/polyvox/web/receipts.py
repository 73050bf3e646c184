"""Routes of receipts: what an advisor was sent, span by span, and the very bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec
from fastapi import Response

from polyvox.context.describe import Description, describe
from polyvox.errors import NotFound
from polyvox.web.dependencies import App, Key, Who
from polyvox.web.openapi import Router, file

router = Router("receipts")


@dataclass(frozen=True, slots=True)
class ReceiptOut:
    """The request of an advisor, with its reasons."""

    answer_id: str
    description: Description
    request: dict[str, Any] | None
    """The very request, as the provider received it; null when none was sent."""
    wire_hash: str | None
    verified: bool
    """Whether the rebuilt bytes have the hash of those that were sent."""
    exact: bool
    """False when a text in it was forgotten since."""


@router.get("/api/answers/{answer}/receipt")
async def get_receipt(app: App, who: Who, answer: Key) -> ReceiptOut:
    """The exact request behind an answer, span by span."""
    seen = await app.receipt(who, answer)
    sent = seen.receipt.sent
    return ReceiptOut(
        answer_id=answer,
        description=describe(seen.receipt),
        request=None if seen.body is None else msgspec.json.decode(seen.body),
        wire_hash=None if sent is None else sent.wire_hash,
        verified=seen.verified,
        exact=seen.receipt.exact,
    )


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
