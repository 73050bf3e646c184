"""A request as bytes on the wire: pure, and the same input gives the same bytes.

Providers differ in habits, not in kind, so a dialect is data: which wire it speaks, what it calls
the answer's maximum, and how thinking is asked for. A receipt stores a dialect's name, the model's
name and the request, and rebuilds the body with `encode`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Literal

import msgspec

from polyvox.models import thinking
from polyvox.models.base import ChatMessage, Encoded, Request, SystemPart
from polyvox.models.thinking import Thinking

CACHE_CHARS = 4096
"""A cache mark on less has no effect: providers want about 1,024 tokens."""
ANTHROPIC_MAX_TOKENS = 2048
"""Anthropic demands a maximum; this is sent when nobody set one."""

Body = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Dialect:
    """The habits of one provider's wire."""

    wire: Literal["openai", "anthropic", "scripted"] = "openai"
    max_tokens: str = "max_tokens"
    thinking: Callable[[str, int | None], Thinking] = thinking.unasked
    """Model name and wanted budget → the fields to send, and what they entail."""
    alternate: bool = False
    """One system text, then user and assistant in turn: chat templates of many GGUF files demand
    it, and refuse the whole request otherwise."""


DIALECTS: dict[str, Dialect] = {
    "openai": Dialect(max_tokens="max_completion_tokens", thinking=thinking.openai),
    "openrouter": Dialect(thinking=thinking.openrouter),
    "gemini": Dialect(thinking=thinking.gemini),
    "ollama": Dialect(thinking=thinking.effort_where_asked),
    "llama": Dialect(thinking=thinking.template, alternate=True),
    "compatible": Dialect(thinking=thinking.template),
    "anthropic": Dialect(wire="anthropic", thinking=thinking.anthropic),
    "scripted": Dialect(wire="scripted", thinking=thinking.plain),
}


def encode(dialect: str, model: str, request: Request) -> Encoded:
    """The bytes that `model` is sent for `request` in this dialect."""
    rules = DIALECTS[dialect]
    build = _anthropic if rules.wire == "anthropic" else _openai
    try:
        body = msgspec.json.encode(build(rules, model, request))
    except UnicodeEncodeError:  # a lone surrogate somewhere: no JSON can carry it
        body = msgspec.json.encode(build(rules, model, _without_surrogates(request)))
    return Encoded(dialect, model, body)


def estimated_tokens(request: Request) -> int:
    """About how many tokens a request is: characters / 4, rounded up per text."""
    texts = [part.text for part in request.system] + [m.text for m in request.messages]
    return sum(math.ceil(len(text) / 4) for text in texts)


_SURROGATE = re.compile("[\ud800-\udfff]")


def paired(text: str) -> str:
    """`text` with U+FFFD for every lone surrogate: neither JSON nor UTF-8 can carry one."""
    return _SURROGATE.sub("\ufffd", text)


def _openai(rules: Dialect, model: str, request: Request) -> Body:
    params = request.params
    thinks = rules.thinking(model, params.reasoning)
    messages = _in_turn(request) if rules.alternate else _one_by_one(request)
    body: Body = {"model": model, "messages": messages, "stream": True}
    if rules.wire == "openai":
        body["stream_options"] = {"include_usage": True}
    if params.max_tokens is not None:
        body[rules.max_tokens] = params.max_tokens + thinks.room
    if thinks.sampling:
        body |= _sampling(params.temperature, params.top_p)
    body |= thinks.fields
    if request.schema is not None:
        schema = {"name": "answer", "strict": True, "schema": msgspec.Raw(request.schema.encode())}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    return body


def _one_by_one(request: Request) -> list[Body]:
    system: list[Body] = [{"role": "system", "content": part.text} for part in request.system]
    return [*system, *({"role": m.role, "content": m.text} for m in request.messages)]


def _in_turn(request: Request) -> list[Body]:
    system = "\n\n".join(part.text for part in request.system)
    head: list[Body] = [{"role": "system", "content": system}] if system else []
    runs = groupby(request.messages, key=lambda message: message.role)
    return [*head, *(_merged(list(run), None) for _, run in runs)]


def _anthropic(rules: Dialect, model: str, request: Request) -> Body:
    params = request.params
    thinks = rules.thinking(model, params.reasoning)
    most = ANTHROPIC_MAX_TOKENS if params.max_tokens is None else params.max_tokens
    body: Body = {"model": model, "max_tokens": most + thinks.room}
    if request.system:
        body["system"] = _system(request.system)
    body["messages"] = _alternating(request)
    body["stream"] = True
    if thinks.sampling:
        # Newer models take one of the two, not both.
        top_p = params.top_p if params.temperature is None else None
        body |= _sampling(params.temperature, top_p)
    body |= thinks.fields
    version = thinking.claude_version(model)
    if request.schema is not None and version is not None and version >= (4, 5):
        shape = {"type": "json_schema", "schema": msgspec.Raw(request.schema.encode())}
        body["output_config"] = {**body.get("output_config", {}), "format": shape}
    return body


def _sampling(temperature: float | None, top_p: float | None) -> Body:
    given = {"temperature": temperature, "top_p": top_p}
    return {name: value for name, value in given.items() if value is not None}


def _system(parts: tuple[SystemPart, ...]) -> str | list[Body]:
    """Plain while it is short and one; else blocks, with the mark behind what does not change."""
    stable = sum(len(part.text) for part in parts if part.stable)
    marked = stable >= CACHE_CHARS or not all(part.stable for part in parts)
    if len(parts) == 1 and not marked:
        return parts[0].text
    last = max((n for n, part in enumerate(parts) if part.stable), default=-1) if marked else -1
    return [_block(part.text, mark=n == last) for n, part in enumerate(parts)]


def _alternating(request: Request) -> list[Body]:
    """Messages that take turns, with a cache mark behind the last settled one where it pays."""
    settled = request.messages[: request.settled]
    before = sum(len(part.text) for part in request.system) + sum(len(m.text) for m in settled)
    # A system part that changes every turn comes before the messages: no mark on them can hit.
    pays = before >= CACHE_CHARS and all(part.stable for part in request.system)
    mark = len(settled) - 1 if pays else -1
    merged: list[Body] = []
    run: list[ChatMessage] = []
    cut: int | None = None
    for number, message in enumerate(request.messages):
        if run and run[-1].role != message.role:
            merged.append(_merged(run, cut))
            run, cut = [], None
        run.append(message)
        if number == mark:
            cut = len(run)
    return [*merged, _merged(run, cut)] if run else merged


def _merged(run: list[ChatMessage], cut: int | None) -> Body:
    if cut is None:
        return {"role": run[0].role, "content": "\n\n".join(m.text for m in run)}
    head, tail = "\n\n".join(m.text for m in run[:cut]), "\n\n".join(m.text for m in run[cut:])
    blocks = [_block(head, mark=True), *([_block(tail)] if tail else [])]
    return {"role": run[0].role, "content": blocks}


def _block(text: str, *, mark: bool = False) -> Body:
    block: Body = {"type": "text", "text": text}
    return {**block, "cache_control": {"type": "ephemeral"}} if mark else block


def _without_surrogates(request: Request) -> Request:
    return replace(
        request,
        system=tuple(replace(part, text=paired(part.text)) for part in request.system),
        messages=tuple(replace(m, text=paired(m.text)) for m in request.messages),
        schema=paired(request.schema) if request.schema is not None else None,
    )
