"""Chat completions: OpenAI, OpenRouter, Gemini's compatible endpoint, Ollama, llama.cpp, vLLM."""

from __future__ import annotations

from typing import Any

import msgspec

from polyvox.errors import ModelError
from polyvox.ids import Clock, system_clock
from polyvox.models.base import AttemptLog, Request
from polyvox.models.endpoint import Bounds, Endpoint
from polyvox.models.failures import demands_alternation
from polyvox.models.http import HttpModel
from polyvox.models.parse import Parser, loose
from polyvox.models.reply import WireReply
from polyvox.models.wire import ALTERNATING, DIALECTS
from polyvox.transport import Transport
from polyvox.values import Usage


class _Detail(msgspec.Struct):
    text: str | None = None
    summary: str | None = None


class _OpenAIDelta(msgspec.Struct):
    content: str | None = None
    reasoning: str | None = None
    reasoning_content: str | None = None
    reasoning_details: list[_Detail] | None = None
    refusal: str | None = None


class _Choice(msgspec.Struct):
    delta: _OpenAIDelta | None = None
    finish_reason: str | None = None


class _InputDetails(msgspec.Struct):
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None


class _OutputDetails(msgspec.Struct):
    reasoning_tokens: int | None = None


class _OpenAIUsage(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _InputDetails | None = None
    completion_tokens_details: _OutputDetails | None = None
    cost: float | None = None


class _Chunk(msgspec.Struct):
    choices: list[_Choice] | None = None
    usage: _OpenAIUsage | None = None
    error: msgspec.Raw = msgspec.Raw()
    object: str = ""


_decode = msgspec.json.Decoder(_Chunk).decode


class OpenAIParser(Parser):
    """Events of chat completions. Only the first choice is ever asked for."""

    def _event(self, payload: bytes) -> None:
        try:
            chunk = _decode(payload)
        except (msgspec.DecodeError, UnicodeDecodeError):
            if payload.strip() == b"[DONE]":
                self.finish = self.finish or "stop"
                self._complete()
            else:
                self._unusual(payload)
            return
        for choice in chunk.choices or ():
            if (delta := choice.delta) is not None:
                if delta.content:
                    self._text.append(delta.content)
                else:
                    self._quiet(delta)
            if choice.finish_reason is not None:
                self._finished(choice.finish_reason)
        if chunk.usage is not None:
            self._count(chunk.usage)
        if (error := bytes(chunk.error)) and error != b"null":
            self._fail(loose(error))
        elif chunk.object == "error":  # how vLLM wraps one
            self._fail(loose(payload))

    def _quiet(self, delta: _OpenAIDelta) -> None:
        thought = delta.reasoning or delta.reasoning_content
        if thought:
            self._thinking.append(thought)
        elif delta.reasoning_details:
            parts = (detail.text or detail.summary or "" for detail in delta.reasoning_details)
            self._thinking.append("".join(parts))
        if delta.refusal:
            self._declined.append(delta.refusal)

    def _finished(self, reason: str) -> None:
        if reason == "content_filter":
            self._refused("content filter")
        elif reason != "error":  # an error comes with its own words, in the same chunk
            self.finish = reason

    def _count(self, usage: _OpenAIUsage) -> None:
        sent, got = usage.prompt_tokens_details, usage.completion_tokens_details
        if usage.prompt_tokens is None or usage.completion_tokens is None:
            return
        self.usage = Usage(
            usage.prompt_tokens,
            usage.completion_tokens,
            reasoning_tokens=(got.reasoning_tokens or 0) if got else 0,
            cached_tokens=(sent.cached_tokens or 0) if sent else 0,
        )
        self.cache_write = (sent.cache_write_tokens or 0) if sent else 0
        self.reported_cost = usage.cost

    def _unusual(self, payload: bytes) -> None:
        """An event that is not shaped as usual, but perhaps still an answer (or an error)."""
        chunk = loose(payload)
        if not isinstance(chunk, dict):
            raise TypeError
        if chunk.get("error"):
            self._fail(chunk)
            return
        known = chunk.get("choices") is not None or chunk.get("usage") is not None
        if not known:
            raise ValueError
        self._whole(chunk, "delta")

    def _whole(self, answer: Any, part: str = "message") -> None:  # noqa: ANN401 - decoded JSON
        for choice in (answer.get("choices") or ())[:1]:
            message = choice.get(part) or {}
            self._content(message.get("content"))
            thought = message.get("reasoning") or message.get("reasoning_content") or ""
            if not thought and part == "message":
                details = message.get("reasoning_details") or ()
                thought = "".join(str(d.get("text") or d.get("summary") or "") for d in details)
            self._thinking.append(str(thought))
            if message.get("refusal"):
                self._declined.append(str(message["refusal"]))
            if choice.get("finish_reason"):
                self._finished(str(choice["finish_reason"]))
        if part == "message":
            self.finish = self.finish or "stop"
            if "choices" not in answer:
                raise ValueError
        if isinstance(answer.get("usage"), dict):
            self._count(msgspec.convert(answer["usage"], _OpenAIUsage, strict=False))

    def _content(self, content: Any) -> None:  # noqa: ANN401 - decoded JSON
        """Text, or (Mistral) a list of parts, some of them thinking."""
        if isinstance(content, str):
            self._text.append(content)
        for part in content if isinstance(content, list) else ():
            if part.get("type") == "text":
                self._text.append(str(part.get("text") or ""))
            elif part.get("type") == "thinking":
                inner = part.get("thinking")
                inner = inner if isinstance(inner, list) else [{"text": inner}]
                self._thinking.append("".join(str(each.get("text") or "") for each in inner))


class OpenAIModel(HttpModel):
    """A model behind an OpenAI-compatible endpoint."""

    path = "/chat/completions"
    parser = OpenAIParser

    def __init__(
        self,
        name: str,
        endpoint: Endpoint,
        transport: Transport,
        bounds: Bounds | None = None,
        clock: Clock = system_clock,
        alternating: set[tuple[str, str]] | None = None,
    ) -> None:
        """`alternating` remembers the models (address and name) that demand alternating roles."""
        super().__init__(name, endpoint, transport, bounds, clock)
        self._alternating = set() if alternating is None else alternating
        self._place = (endpoint.base_url, name)

    def _dialect(self) -> str:
        dialect, habit = self._endpoint.dialect, self._endpoint.alternate
        merged = dialect + ALTERNATING
        learned = habit == "auto" and self._place in self._alternating
        return merged if merged in DIALECTS and (learned or habit == "always") else dialect

    async def stream(self, request: Request, log: AttemptLog | None = None) -> WireReply:
        """Send the request; once more with merged messages where the model's chat template turns
        out to demand alternating roles."""
        log = AttemptLog() if log is None else log
        try:
            return await super().stream(request, log)
        except ModelError as error:
            if self._endpoint.alternate != "auto" or not demands_alternation(error):
                raise
            self._alternating.add(self._place)
            if self.encode(request) == log.encoded:  # merged already, and still refused
                raise
        return await super().stream(request, log)

    def _authorize(self, key: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {key}"} if key else {}
