"""The OpenAI-compatible door: `/v1/models` and `/v1/chat/completions`, streamed or whole.

The hot path: one read from the provider is one chunk to the client, made of two constant pieces
around the encoded text, and one `send`. Nothing is held back. When the client goes away, before the
first word or in the middle, the calls made for it are closed at once, and what they used is noted.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from typing import Any

import msgspec
from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import ValidationError
from starlette.routing import Route
from starlette.types import Receive, Send
from starlette.types import Scope as AsgiScope

from polyvox.app import Polyvox
from polyvox.errors import Invalid, NotFound, PolyvoxError
from polyvox.interop import guest
from polyvox.interop.guest import Voice
from polyvox.values import Scope, Usage
from polyvox.web.dependencies import App, Who, local_user
from polyvox.web.errors import body_of, failed, responses
from polyvox.web.openai_format import ChatBody, ChunkFrame, Completion, ModelCard, ModelList
from polyvox.web.openapi import CHUNKS, Router
from polyvox.web.stream import HEAD, disconnected

router = Router("openai")
SAY_JSON = "Send the header Content-Type: application/json."


@router.get("/v1/models")
async def list_named_models(app: App, who: Who) -> ModelList:
    """List every name that stands for a model: advisors, councils, configured models."""
    cards = [
        ModelCard(id=f"advisor:{row.slug}", created=row.created_at // 1_000_000, owned_by="polyvox")
        for row in await app.advisors.list(who)
    ]
    cards += [
        ModelCard(id=f"council:{row.slug}", created=row.created_at // 1_000_000, owned_by="polyvox")
        for row in await app.councils.list(who)
    ]
    cards += [
        ModelCard(id=name, created=0, owned_by=name.partition(":")[0])
        for provider in app.models.listing()
        if provider.key != "missing"
        for name in provider.models
    ]
    return ModelList(data=cards)


@router.post(
    "/v1/chat/completions",
    response_model=Completion,
    responses=responses(402, 404, 429, 502, 504) | CHUNKS,
)
async def complete_chat(app: App, who: Who, body: ChatBody) -> Response:
    """Ask an advisor (`advisor:slug`), a council (`council:slug`) or a model (`provider:name`)."""
    visit = body.visit()
    try:
        voices, label = await guest.plan(app.resources, who, visit)
    except (Invalid, NotFound) as error:
        if isinstance(error, NotFound) or error.param == "model":
            raise NotFound(error.message, error.hint, param="model") from None
        raise
    return Spoken(app, who, voices, label, body)


class _Lane:
    """The same without the framework's hands: finding the route and filling its parameters took
    0.6 ms of the 1.1 ms that a short answer costs. The route above describes it."""

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        data = await request.body()
        if not _is_json(request.headers.get("content-type", "")):
            raise Invalid("The body does not say that it is JSON.", SAY_JSON, param="Content-Type")
        try:
            body = ChatBody.model_validate_json(data)
        except ValidationError as error:
            details = [{**detail, "loc": ("body", *detail["loc"])} for detail in error.errors()]
            raise RequestValidationError(details, body=_loaded(data)) from None
        response = await complete_chat(request.app.state.polyvox, await local_user(), body)
        await response(scope, receive, send)


def _is_json(kind: str) -> bool:
    """A page elsewhere can send any other kind without asking first."""
    bare = kind.partition(";")[0].strip().lower()
    return bare == "application/json" or (
        bare.startswith("application/") and bare.endswith("+json")
    )


def _loaded(data: bytes) -> object:
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None


lane = Route("/v1/chat/completions", _Lane(), methods=["POST"], include_in_schema=False)
"""To stand before all other routes."""


class Spoken(Response):
    """The reply of the voices, whole or streamed."""

    media_type = None

    def __init__(
        self, app: Polyvox, who: Scope, voices: Sequence[Voice], label: bool, body: ChatBody
    ) -> None:
        self.status_code = 200
        self.background = None
        self._app = app
        self._who = who
        self._voices = voices
        self._body = body
        self._noting: asyncio.Task[None] | None = None
        self._source: AsyncGenerator[str, None] = (
            guest.labelled(app.resources, voices)
            if label
            else guest.single(app.resources, voices[0])
        )

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        """Send everything, whatever it is, to whoever still listens."""
        me = asyncio.current_task()
        watcher = asyncio.create_task(_until_gone(receive, me))
        try:
            if self._body.stream:
                await self._stream(send)
            else:
                text = "".join([part async for part in self._source])
                await self._note()
                data = ChunkFrame(self._body.model).completion(text, self._finish(), self._used())
                await JSONResponse(data)(scope, receive, send)
        except PolyvoxError as error:  # before the first word: a proper error status
            await failed(error)(scope, receive, send)
        except asyncio.CancelledError:
            if not watcher.done() or watcher.cancelled() or me is None:
                raise
            me.uncancel()  # it was the client who left; there is nobody to tell
        finally:
            watcher.cancel()
            await self._source.aclose()
            await self._note()

    async def _stream(self, send: Send) -> None:
        frame, encode, source = ChunkFrame(self._body.model), msgspec.json.encode, self._source
        before, after = frame.before, frame.after
        first = await anext(source, None)  # decides between a stream and an error status
        await send(HEAD)
        opening = frame.role()
        if first:
            opening += before + encode(first) + after
        await send({"type": "http.response.body", "body": opening, "more_body": True})
        try:
            async for text in source:
                await send(
                    {
                        "type": "http.response.body",
                        "body": before + encode(text) + after,
                        "more_body": True,
                    }
                )
            await self._note()
            used = self._used() if self._body.wants_usage else None
            closing = frame.end(self._finish(), used)
        except PolyvoxError as error:
            closing = b"data: " + encode(body_of(error)) + b"\n\n"
        await send({"type": "http.response.body", "body": closing, "more_body": False})

    async def _note(self) -> None:
        """Store, once, what was used: before the end is told, so that whoever asks again at once
        meets a cap that counts it."""
        if self._noting is None:
            noting = guest.record(self._app.resources, self._who, self._voices)
            self._noting = asyncio.create_task(noting)
        await asyncio.shield(self._noting)

    def _finish(self) -> str:
        return "length" if any(voice.finish == "length" for voice in self._voices) else "stop"

    def _used(self) -> dict[str, int]:
        usages = [voice.usage or Usage(0, 0) for voice in self._voices]
        prompt = sum(usage.input_tokens for usage in usages)
        answer = sum(usage.output_tokens for usage in usages)
        return {
            "prompt_tokens": prompt,
            "completion_tokens": answer,
            "total_tokens": prompt + answer,
        }


async def _until_gone(receive: Receive, reader: asyncio.Task[Any] | None) -> None:
    await disconnected(receive)
    if reader is not None:
        reader.cancel()
