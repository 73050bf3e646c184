"""A request as bytes on the wire: pure, and the same input gives the same bytes.

Providers differ in habits, not in kind, so a dialect is data: which wire it speaks, what it calls
the answer's maximum, and how thinking is asked for. A receipt stores a dialect's name, the model's
name and the request, and rebuilds the body with `encode`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any, Literal

import msgspec

from polyvox.models.base import ChatMessage, Encoded, Request, SystemPart
from polyvox.values import Params

# -- each provider's way of being asked to think, or not to ----------------------------------------
# A budget is in tokens; 0 asks for no thinking, None says nothing about it. Thinking counts
# against the answer's maximum everywhere, so that maximum gets as much more room. Where a model
# thinks unless told otherwise, None asks for the least: else thinking would eat the answer's
# maximum.

ALWAYS_ROOM = 2048
"""Room for a model that cannot be kept from thinking, at its least effort."""
CLAUDE_LEAST = 1024
"""The smallest budget that Anthropic takes."""
NEWEST = (99, 0)


@dataclass(frozen=True, slots=True)
class Thinking:
    """The fields to send about thinking, and the room it needs."""

    fields: dict[str, Any] = field(default_factory=dict)
    room: int = 0
    """Tokens to add to the answer's maximum."""
    sampling: bool = True
    """True if temperature and top_p may be sent along."""


def effort(budget: int) -> str:
    """The greatest effort whose usual budget (1k, 8k, 24k tokens) is within this one."""
    return "high" if budget >= 24_576 else "medium" if budget >= 8192 else "low"


def no_thinking(model: str, budget: int | None) -> Thinking:
    """For providers without any such field."""
    del model, budget
    return Thinking()


def plain_thinking(model: str, budget: int | None) -> Thinking:
    """The budget as it is, for the scripted model."""
    del model
    return Thinking({"reasoning": budget} if budget is not None else {})


def openai_thinking(model: str, budget: int | None) -> Thinking:
    """`reasoning_effort`, for models that reason; those take no temperature."""
    version = _gpt_version(model)
    if version is None:
        return Thinking()
    if budget:
        return Thinking({"reasoning_effort": effort(budget)}, budget, sampling=False)
    if "pro" in model.split("-"):  # only knows high
        return Thinking(room=ALWAYS_ROOM, sampling=False)
    least = "none" if version >= (5, 1) else "minimal" if version >= (5, 0) else "low"
    room = 0 if least == "none" else ALWAYS_ROOM
    return Thinking({"reasoning_effort": least}, room, sampling=False)


def openrouter_thinking(model: str, budget: int | None) -> Thinking:
    """`reasoning`, which OpenRouter translates; some models refuse to be told "none" unasked."""
    del model
    if budget is None:
        return Thinking()
    if budget == 0:
        return Thinking({"reasoning": {"effort": "none"}})
    return Thinking({"reasoning": {"max_tokens": budget}}, budget)


def gemini_thinking(model: str, budget: int | None) -> Thinking:
    """`reasoning_effort`; what can be turned off, and how far, depends on the family."""
    if budget:
        return Thinking({"reasoning_effort": effort(budget)}, budget)
    name = model.rpartition("/")[2]
    if not (match := re.match(r"gemini-(\d+)(?:\.(\d+))?", name)):
        return Thinking()
    version = (int(match[1]), int(match[2] or 0))
    if version < (2, 5):
        return Thinking()
    if "flash" not in name:
        return Thinking({"reasoning_effort": "low"}, ALWAYS_ROOM)
    if version < (3, 0):
        return Thinking({"reasoning_effort": "none"})
    return Thinking({"reasoning_effort": "minimal"}, ALWAYS_ROOM)


def effort_where_asked(model: str, budget: int | None) -> Thinking:
    """`reasoning_effort` only when somebody set a budget (Ollama refuses it for other models)."""
    del model
    if budget is None:
        return Thinking()
    return Thinking({"reasoning_effort": effort(budget) if budget else "none"}, budget)


def template_thinking(model: str, budget: int | None) -> Thinking:
    """llama.cpp and vLLM hand this to the chat template; other servers ignore what they don't know.
    Sent only when somebody set a budget."""
    del model
    if budget is None:
        return Thinking()
    return Thinking({"chat_template_kwargs": {"enable_thinking": budget > 0}}, budget)


def anthropic_thinking(model: str, budget: int | None) -> Thinking:
    """Up to Claude 4.5 a budget; from 4.6 on an effort; from 5 on it can be little, but not off."""
    version = claude_version(model)
    sampling = version is None or version < (4, 7)
    if budget:
        if version is None or version < (4, 6):
            tokens = max(CLAUDE_LEAST, budget)
            wanted = {"type": "enabled", "budget_tokens": tokens}
            return Thinking({"thinking": wanted}, tokens, sampling=False)
        fields = {
            "thinking": {"type": "adaptive", "display": "summarized"},
            "output_config": {"effort": effort(budget)},
        }
        return Thinking(fields, budget, sampling=False)
    if version is not None and version >= (5, 0):
        return Thinking({"output_config": {"effort": "low"}}, ALWAYS_ROOM, sampling=False)
    return Thinking(sampling=sampling)


def claude_version(model: str) -> tuple[int, int] | None:
    """(4, 6) of claude-sonnet-4-6-…; a Claude without a number counts as the newest; None: another
    maker's model behind the same wire."""
    name = model.lower()
    if "claude" not in name:
        return None
    match = re.search(r"claude-(?:[a-z]+-)?(\d{1,2})(?:[.-](\d{1,2}))?(?!\d)", name)
    return (int(match[1]), int(match[2] or 0)) if match else NEWEST


def _gpt_version(model: str) -> tuple[int, int] | None:
    """The version of an OpenAI model that reasons; the o-series counts as (1, 0)."""
    if re.match(r"o\d", model):
        return (1, 0)
    match = re.match(r"gpt-(\d+)(?:\.(\d+))?", model)
    if not match or int(match[1]) < 5 or "chat" in model:
        return None
    return (int(match[1]), int(match[2] or 0))


# -- bodies ----------------------------------------------------------------------------------------

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
    thinking: Callable[[str, int | None], Thinking] = no_thinking
    """Model name and wanted budget → the fields to send, and what they entail."""
    alternate: bool = False
    """One system text, then user and assistant in turn: chat templates of many GGUF files demand
    it, and refuse the whole request otherwise."""


DIALECTS: dict[str, Dialect] = {
    "openai": Dialect(max_tokens="max_completion_tokens", thinking=openai_thinking),
    "openrouter": Dialect(thinking=openrouter_thinking),
    "gemini": Dialect(thinking=gemini_thinking),
    "ollama": Dialect(thinking=effort_where_asked),
    "llama": Dialect(thinking=template_thinking, alternate=True),
    "compatible": Dialect(thinking=template_thinking),
    "anthropic": Dialect(wire="anthropic", thinking=anthropic_thinking),
    "scripted": Dialect(wire="scripted", thinking=plain_thinking),
}
ALTERNATING = "+alternate"
"""Behind the name of a dialect of OpenAI's wire: the same with roles that alternate."""
DIALECTS |= {
    name + ALTERNATING: replace(rules, alternate=True)
    for name, rules in DIALECTS.items()
    if rules.wire == "openai" and not rules.alternate
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


def answer_limit(dialect: str, model: str, params: Params) -> int:
    """The longest answer that is asked for, thinking included; 0: none is set."""
    most = params.max_tokens
    if most is None and DIALECTS[dialect].wire == "anthropic":
        most = ANTHROPIC_MAX_TOKENS
    return 0 if most is None else most + DIALECTS[dialect].thinking(model, params.reasoning).room


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
    version = claude_version(model)
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
