"""Routes of receipts: what an advisor was sent, span by span, and the very bytes."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from fastapi import APIRouter, Response
from pydantic import BaseModel

from polyvox.context.describe import describe
from polyvox.errors import NotFound
from polyvox.values import Attempt, Params
from polyvox.web.dependencies import App, Key, Who
from polyvox.web.errors import responses

router = APIRouter(tags=["receipts"])


class SpanOut(BaseModel):
    """One piece of a request: what it is, whence, how large, in or out, and why."""

    kind: str
    role: Literal["system", "user", "assistant"]
    sources: list[str]
    text: str
    chars: int
    tokens: int
    included: bool
    reason: str


class ShareOut(BaseModel):
    """One kind of span: how many pieces, how large, and its part of the budget (0 to 1)."""

    kind: str
    name: str
    pieces: int
    chars: int
    tokens: int
    share: float


class SeatOut(BaseModel):
    """One advisor of the council as it was."""

    id: str
    name: str
    version_id: str
    model: str


class SentOut(BaseModel):
    """The request on the wire in the end, and every call that was made for it."""

    dialect: str
    model: str
    """The model's name on the wire."""
    model_id: str
    """provider:name."""
    wire_hash: str
    """SHA-256 of the body's bytes."""
    wire_bytes: int
    params: Params | None = None
    """Where they differ from those that were compiled (a fallback with its own maximum)."""
    attempts: list[Attempt] = []


class DescriptionOut(BaseModel):
    """A receipt in words and numbers."""

    answer_id: str
    advisor_id: str
    turn_id: str
    recipe: str
    prompts: str
    phase: str
    k: int
    n: int | None
    tokens: int
    """Of the whole request, corrected by the learned ratio."""
    budget: int
    """Tokens that would have fitted, in the same measure."""
    limit: str
    system_tokens: int
    ratio: float
    messages: int
    messages_omitted: int
    cut: int | None
    shares: list[ShareOut]
    spans: list[SpanOut]
    left_out: list[str]
    council: list[SeatOut]
    sent: SentOut | None
    exact: bool
    missing: list[str]


class ReceiptOut(BaseModel):
    """The request of an advisor, with its reasons."""

    answer_id: str
    description: DescriptionOut
    request: dict[str, Any] | None
    """The very request, as the provider received it; null when none was sent."""
    wire_hash: str | None
    verified: bool
    """Whether the rebuilt bytes have the hash of those that were sent."""
    exact: bool
    """False when a text in it was forgotten since."""


@router.get("/api/answers/{answer}/receipt", responses=responses(404))
async def get_receipt(app: App, who: Who, answer: Key) -> ReceiptOut:
    """The exact request behind an answer, span by span."""
    seen = await app.receipt(who, answer)
    sent = seen.receipt.sent
    return ReceiptOut(
        answer_id=answer,
        description=DescriptionOut.model_validate(msgspec.to_builtins(describe(seen.receipt))),
        request=None if seen.body is None else msgspec.json.decode(seen.body),
        wire_hash=None if sent is None else sent.wire_hash,
        verified=seen.verified,
        exact=seen.receipt.exact,
    )


@router.get(
    "/api/answers/{answer}/request",
    response_class=Response,
    responses={
        **responses(404),
        200: {
            "description": "The bytes of the request body, as the provider received them.",
            "content": {"application/json": {"schema": {"type": "object"}}},
        },
    },
)
async def get_request(app: App, who: Who, answer: Key) -> Response:
    """The very bytes that were sent for an answer, to copy."""
    seen = await app.receipt(who, answer)
    if seen.body is None:
        raise NotFound("Nothing was sent for this answer.", "It ended before its model was asked.")
    return Response(seen.body, media_type="application/json")
