"""Each provider's way of being asked to think, or not to.

A budget is in tokens; 0 asks for no thinking, None says nothing about it. Thinking counts against
the answer's maximum everywhere, so that maximum gets as much more room. Where a model thinks unless
told otherwise, None asks for the least it can do: else thinking would eat the answer's maximum.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

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


def unasked(model: str, budget: int | None) -> Thinking:
    """For providers without any such field."""
    del model, budget
    return Thinking()


def plain(model: str, budget: int | None) -> Thinking:
    """The budget as it is, for the scripted model."""
    del model
    return Thinking({"reasoning": budget} if budget is not None else {})


def openai(model: str, budget: int | None) -> Thinking:
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


def openrouter(model: str, budget: int | None) -> Thinking:
    """`reasoning`, which OpenRouter translates; some models refuse to be told "none" unasked."""
    del model
    if budget is None:
        return Thinking()
    if budget == 0:
        return Thinking({"reasoning": {"effort": "none"}})
    return Thinking({"reasoning": {"max_tokens": budget}}, budget)


def gemini(model: str, budget: int | None) -> Thinking:
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


def template(model: str, budget: int | None) -> Thinking:
    """llama.cpp and vLLM hand this to the chat template; other servers ignore what they don't know.
    Sent only when somebody set a budget."""
    del model
    if budget is None:
        return Thinking()
    return Thinking({"chat_template_kwargs": {"enable_thinking": budget > 0}}, budget)


def anthropic(model: str, budget: int | None) -> Thinking:
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
