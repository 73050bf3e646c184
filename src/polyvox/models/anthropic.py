"""Anthropic's Messages API, and servers that speak it."""

from __future__ import annotations

from typing import Any

import msgspec

from polyvox.errors import ContextTooLong
from polyvox.models.http import HttpModel
from polyvox.models.parse import Parser, loose
from polyvox.values import Usage


class _AnthropicUsage(msgspec.Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None


class _Message(msgspec.Struct):
    usage: _AnthropicUsage | None = None


class _AnthropicDelta(msgspec.Struct):
    text: str | None = None
    thinking: str | None = None
    stop_reason: str | None = None


class _Event(msgspec.Struct):
    type: str
    delta: _AnthropicDelta | None = None
    content_block: _AnthropicDelta | None = None
    message: _Message | None = None
    usage: _AnthropicUsage | None = None
    error: msgspec.Raw = msgspec.Raw()


_decode = msgspec.json.Decoder(_Event).decode
_FINISH = {"end_turn": "stop", "stop_sequence": "stop", "max_tokens": "length"}


class AnthropicParser(Parser):
    """Events of the Messages API."""

    def __init__(self, *given: Any) -> None:  # noqa: ANN401 - as the base class has them
        super().__init__(*given)
        self._counted = _AnthropicUsage()

    def _event(self, payload: bytes) -> None:
        try:
            event = _decode(payload)
        except (msgspec.DecodeError, UnicodeDecodeError):
            # what is unusual (a lone surrogate) is made usual and read again
            event = _decode(msgspec.json.encode(loose(payload)))
        if event.type == "content_block_delta" or event.type == "content_block_start":
            part = event.delta or event.content_block
            if part is not None:
                if part.text:
                    self._text.append(part.text)
                if part.thinking:
                    self._thinking.append(part.thinking)
        elif event.type == "message_start":
            self._count(event.message.usage if event.message else None)
        elif event.type == "message_delta":
            self._count(event.usage)
            if event.delta is not None and event.delta.stop_reason is not None:
                self._finished(event.delta.stop_reason)
        elif event.type == "message_stop":
            self.finish = self.finish or "stop"
            self._complete()
        elif event.type == "error":
            self._fail(loose(bytes(event.error) or b"{}"))

    def _finished(self, reason: str) -> None:
        if reason == "refusal":
            self._refused("refusal")
        elif reason == "model_context_window_exceeded" and not self._said():
            self.error = ContextTooLong(
                f"The request fills the whole window of {self._who}.", "Lower limits.context."
            )
        else:
            length = reason == "model_context_window_exceeded"
            self.finish = "length" if length else _FINISH.get(reason, reason)

    def _said(self) -> bool:
        return self._spoke or bool(self._text)

    def _count(self, usage: _AnthropicUsage | None) -> None:
        """Counts come in two events; later ones replace earlier ones where they are given."""
        if usage is None:
            return
        known = self._counted
        for name in usage.__struct_fields__:
            if (value := getattr(usage, name)) is not None:
                setattr(known, name, value)
        if known.input_tokens is None:
            return
        read, written = known.cache_read_input_tokens or 0, known.cache_creation_input_tokens or 0
        self.cache_write = written
        self.usage = Usage(
            known.input_tokens + read + written, known.output_tokens or 0, cached_tokens=read
        )

    def _whole(self, answer: Any) -> None:  # noqa: ANN401 - decoded JSON
        for block in answer["content"]:
            if block.get("type") == "text":
                self._text.append(str(block.get("text") or ""))
            elif block.get("type") == "thinking":
                self._thinking.append(str(block.get("thinking") or ""))
        if isinstance(answer.get("usage"), dict):
            self._count(msgspec.convert(answer["usage"], _AnthropicUsage, strict=False))
        self._finished(str(answer.get("stop_reason") or "end_turn"))


class AnthropicModel(HttpModel):
    """A model behind an Anthropic-compatible endpoint."""

    path = "/messages"
    parser = AnthropicParser

    def _authorize(self, key: str) -> dict[str, str]:
        return {"anthropic-version": "2023-06-01", **({"x-api-key": key} if key else {})}
