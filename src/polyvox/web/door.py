"""The OpenAI-compatible door: `/v1/models` and `/v1/chat/completions`, streamed or whole.

The hot path: one read from the provider is one chunk to the client, made of two constant pieces
around the encoded text, and one `send`. Nothing is held back.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Sequence
from typing import Annotated, Any, Literal

import msgspec
from fastapi import APIRouter, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.types import Receive, Send
from starlette.types import Scope as AsgiScope

from polyvox.app import Polyvox
from polyvox.errors import BadInput, ModelError, PolyvoxError
from polyvox.ids import new_id
from polyvox.models.base import ChatMessage
from polyvox.session import guest
from polyvox.session.guest import Visit, Voice
from polyvox.values import Params, Scope, Usage
from polyvox.web.context import App, Who
from polyvox.web.failures import body as error_body
from polyvox.web.failures import responses
from polyvox.web.streaming import HEAD

router = APIRouter(tags=["openai"])
DONE = b"data: [DONE]\n\n"


class Part(BaseModel):
    """A piece of a message's content; only text is taken."""

    model_config = ConfigDict(extra="allow")
    type: str
    text: str | None = None


class ChatMessageBody(BaseModel):
    """One message of the caller's history."""

    model_config = ConfigDict(extra="allow")
    role: Literal["system", "developer", "user", "assistant"]
    content: str | list[Part] | None = None


class StreamOptions(BaseModel):
    """What the stream should contain."""

    model_config = ConfigDict(extra="allow")
    include_usage: bool | None = None


class ChatBody(BaseModel):
    """A chat completion request. Fields that do not matter here are passed over."""

    model_config = ConfigDict(extra="allow")
    model: Annotated[str, Field(min_length=1, max_length=300)]
    messages: Annotated[list[ChatMessageBody], Field(min_length=1, max_length=10_000)]
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    max_tokens: Annotated[int, Field(ge=1, le=10_000_000)] | None = None
    max_completion_tokens: Annotated[int, Field(ge=1, le=10_000_000)] | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    n: Annotated[int, Field(ge=1, le=128)] | None = None
    tools: list[dict[str, Any]] | None = None

    def visit(self) -> Visit:
        """As the road knows it; what it cannot carry is refused rather than dropped."""
        if self.n is not None and self.n > 1:
            raise BadInput("n must be 1 here.", "Ask again for another answer.", param="n")
        if self.tools:
            raise BadInput("Tools are not carried through this door.", param="tools")
        system: list[str] = []
        messages: list[ChatMessage] = []
        for message in self.messages:
            text = _text(message.content)
            if message.role == "user" or message.role == "assistant":
                messages.append(ChatMessage(message.role, text))
            elif text:
                system.append(text)
        params = Params(
            max_tokens=self.max_completion_tokens or self.max_tokens,
            temperature=self.temperature,
            top_p=self.top_p,
        )
        return Visit(self.model, tuple(system), tuple(messages), params)


def _text(content: str | Sequence[Part] | None) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    for part in content:
        if part.type != "text" or part.text is None:
            raise BadInput(
                f"Only text can be sent through this door, not {part.type!r}.", param="messages"
            )
    return "\n".join(part.text or "" for part in content)


class ModelCard(BaseModel):
    """One model that can be named."""

    id: str
    object: Literal["model"] = "model"
    created: int
    owned_by: str


class ModelList(BaseModel):
    """Every model that can be named."""

    object: Literal["list"] = "list"
    data: list[ModelCard]


@router.get("/v1/models", responses=responses())
async def list_models(app: App, who: Who) -> ModelList:
    """Advisors, councils, and the configured models."""
    cards = [
        ModelCard(id=f"advisor:{one.slug}", created=one.created_at // 1_000_000, owned_by="polyvox")
        for one in await app.advisors.list(who)
    ]
    cards += [
        ModelCard(id=f"council:{one.slug}", created=one.created_at // 1_000_000, owned_by="polyvox")
        for one in await app.councils.list(who)
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
    responses={
        **responses(402, 404, 502, 503, 504),
        200: {
            "description": "A chat completion, or its chunks as server-sent events.",
            "content": {"application/json": {}, "text/event-stream": {"schema": {"type": "string"}}},
        },
    },
    response_class=Response,
)
async def chat_completions(app: App, who: Who, body: ChatBody) -> Response:
    """Ask an advisor (`advisor:slug`), a council (`council:slug`) or a model (`provider:name`)."""
    voices, label = await guest.plan(app.road, who, body.visit())
    frame = _Frame(body.model)
    if not body.stream:
        return await _whole(app, who, voices, label, frame)
    # The first words decide between a stream and a proper error status.
    source = _texts(app, voices, label)
    first = await anext(source, None)
    wants = body.stream_options is not None and bool(body.stream_options.include_usage)
    return ChunkStream(app, who, voices, source, first, frame, wants)


def _texts(app: Polyvox, voices: Sequence[Voice], label: bool) -> AsyncGenerator[str, None]:
    return guest.labelled(app.road, voices) if label else guest.single(app.road, voices[0])


async def _whole(
    app: Polyvox, who: Scope, voices: Sequence[Voice], label: bool, frame: _Frame
) -> Response:
    try:
        text = "".join([part async for part in _texts(app, voices, label)])
    finally:
        await guest.record(app.road, who, voices)
    return JSONResponse(frame.completion(text, _sum(voices)))


def _sum(voices: Sequence[Voice]) -> dict[str, int]:
    used = [voice.usage or Usage(0, 0) for voice in voices]
    prompt = sum(one.input_tokens for one in used)
    answer = sum(one.output_tokens for one in used)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": answer,
        "total_tokens": prompt + answer,
    }


class _Frame:
    """The constant parts of a completion's chunks."""

    def __init__(self, model: str) -> None:
        self._id = f"chatcmpl-{new_id()}"
        self._created = int(time.time())
        self._model = model
        head = msgspec.json.encode(self._head())[:-1]
        self.before = b"data: " + head + b',"choices":[{"index":0,"delta":{"content":'
        self.after = b'},"finish_reason":null}]}\n\n'

    def _head(self, kind: str = "chat.completion.chunk") -> dict[str, Any]:
        return {"id": self._id, "object": kind, "created": self._created, "model": self._model}

    def role(self) -> bytes:
        """The opening chunk."""
        delta = {"role": "assistant", "content": ""}
        return self._chunk([{"index": 0, "delta": delta, "finish_reason": None}])

    def end(self, usage: dict[str, int] | None) -> bytes:
        """The closing chunks."""
        closing = self._chunk([{"index": 0, "delta": {}, "finish_reason": "stop"}])
        if usage is not None:
            closing += self._chunk([], usage)
        return closing + DONE

    def _chunk(self, choices: list[Any], usage: dict[str, int] | None = None) -> bytes:
        data = {**self._head(), "choices": choices}
        if usage is not None:
            data["usage"] = usage
        return b"data: " + msgspec.json.encode(data) + b"\n\n"

    def completion(self, text: str, usage: dict[str, int]) -> dict[str, Any]:
        """A whole completion."""
        message = {"role": "assistant", "content": text}
        choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
        return {**self._head("chat.completion"), "choices": [choice], "usage": usage}


class ChunkStream(Response):
    """Chunks as they come. When the client goes away, the calls are closed at once."""

    media_type = "text/event-stream"

    def __init__(
        self,
        app: Polyvox,
        who: Scope,
        voices: Sequence[Voice],
        source: AsyncGenerator[str, None],
        first: str | None,
        frame: _Frame,
        wants_usage: bool,
    ) -> None:
        self.status_code = 200
        self.background = None
        self._app = app
        self._who = who
        self._voices = voices
        self._source = source
        self._first = first
        self._frame = frame
        self._wants_usage = wants_usage

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        """Send everything, whatever it is, to whoever still listens."""
        me = asyncio.current_task()
        watcher = asyncio.create_task(_until_gone(receive, me))
        try:
            await self._stream(send)
        except asyncio.CancelledError:
            if not watcher.done() or watcher.cancelled():
                raise
            if me is not None:
                me.uncancel()
        finally:
            watcher.cancel()
            await self._source.aclose()
            await guest.record(self._app.road, self._who, self._voices)

    async def _stream(self, send: Send) -> None:
        frame, encode = self._frame, msgspec.json.encode
        before, after = frame.before, frame.after
        await send(HEAD)
        opening = frame.role()
        if self._first:
            opening += before + encode(self._first) + after
        await send({"type": "http.response.body", "body": opening, "more_body": True})
        try:
            async for text in self._source:
                await send(
                    {
                        "type": "http.response.body",
                        "body": before + encode(text) + after,
                        "more_body": True,
                    }
                )
            closing = frame.end(_sum(self._voices) if self._wants_usage else None)
        except PolyvoxError as error:
            code = error.category if isinstance(error, ModelError) else error.code
            shape = error_body(code, error.message, error.hint, error.status, error.param)
            closing = b"data: " + msgspec.json.encode(shape) + b"\n\n"
        await send({"type": "http.response.body", "body": closing, "more_body": False})


async def _until_gone(receive: Receive, reader: asyncio.Task[Any] | None) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    if reader is not None:
        reader.cancel()
