"""Perspectives for a question: what a model is asked to propose, and reading what comes back.

The reply is read with patience: a fence around it, words before it, an end that was cut off, a list
where JSON was wanted. Whether what it proposes can be used is for the caller to check.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import msgspec

from polyvox.context.words import fill
from polyvox.models.base import ChatMessage, ModelFacts, Request, SystemPart
from polyvox.replies import objects
from polyvox.values import Advisor, Params

COMPACT_COUNT = 3
"""Suggestions asked of a small model at most: its answers are short."""
MOST_KNOWN = 60
KNOWN_CHARS = 160
"""Advisors of the council that are named in the request, and characters of each description."""
LONGEST_REPLY = 100_000
SHOWN_AGAIN = 4000
"""Characters of a useless reply that the model is shown when it is asked again."""

_THOUGHT = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)
_ITEM = re.compile(
    r"^\s*(?:[-*•#]+|\d{1,2}[.)])\s*(?P<name>[^:–—\n]{2,90}?)\s*(?::|–|—|\s-\s)\s*(?P<text>\S.*)$"
)
_KEYS = {
    "name": ("name", "title", "advisor"),
    "description": ("description", "identity", "prompt", "perspective"),
    "why": ("why", "reason", "rationale"),
}
"""The keys under which models write the parts, the wanted name first."""


@dataclass(frozen=True, slots=True)
class AdvisorSuggestion:
    """An advisor that does not exist yet."""

    name: str
    description: str
    why: str = ""


@cache
def _text(name: str) -> str:
    path = resources.files("polyvox.context") / "prompts" / "suggest" / f"{name}.md"
    return path.read_text(encoding="utf-8").strip()


def ask(question: str, count: int, known: Sequence[Advisor], facts: ModelFacts) -> Request:
    """The request for `count` perspectives beside the advisors that are there."""
    compact = facts.prompts == "compact"
    count = min(count, COMPACT_COUNT) if compact else count
    values = {"count": str(count), "known": _known(known, compact)}
    system = re.sub(r"\n{3,}", "\n\n", fill(_text(facts.prompts), values))
    return Request(
        (SystemPart(system),),
        (ChatMessage("user", question),),
        Params(max_tokens=facts.max_tokens),
        schema=_schema(count) if compact else None,
    )


def ask_again(first: Request, reply: str, count: int) -> Request:
    """The request of the second try: with the errors of the first, or (a small model has no room)
    the same again."""
    if first.schema is not None or not reply.strip():
        return first
    again = fill(_text("again"), {"count": str(count)})
    rejected = ChatMessage("assistant", reply[:SHOWN_AGAIN])
    return Request(
        first.system, (*first.messages, rejected, ChatMessage("user", again)), first.params
    )


def _known(advisors: Sequence[Advisor], compact: bool) -> str:
    if not advisors:
        return ""
    names = [" ".join(advisor.name.split()) for advisor in advisors[:MOST_KNOWN]]
    if compact:
        return f"Others than {', '.join(names[:8])}."
    texts = (" ".join((advisor.prompt or advisor.description).split()) for advisor in advisors)
    rows = [
        f"- {name}: {text[:KNOWN_CHARS].rstrip()}{'…' if len(text) > KNOWN_CHARS else ''}"
        for name, text in zip(names, texts, strict=False)
    ]
    rows += [f"- {advisor.name}" for advisor in advisors[MOST_KNOWN : MOST_KNOWN * 4]]
    return fill(_text("known"), {"advisors": "\n".join(rows)})


def _schema(count: int) -> str:
    """The JSON schema that a small model is held to: without it, it writes no JSON at all, and
    names people instead of points of view."""
    sentence = "[A-Za-z ,']{30,120}[.]"
    entry = {
        "type": "object",
        "properties": {
            "name": {"type": "string", "pattern": "^The [A-Z][a-z]{3,14}$"},
            "why": {"type": "string", "pattern": f"^[A-Z]{sentence}$"},
            "description": {"type": "string", "pattern": f"^You {sentence} You {sentence}$"},
        },
        "required": ["name", "why", "description"],
        "additionalProperties": False,
    }
    some = {"type": "array", "items": entry, "minItems": count, "maxItems": count}
    whole = {
        "type": "object",
        "properties": {"suggestions": some},
        "required": ["suggestions"],
        "additionalProperties": False,
    }
    return msgspec.json.encode(whole).decode()


# -- reading ---------------------------------------------------------------------------------------


def read(reply: str) -> list[AdvisorSuggestion]:
    """The suggestions of a reply, in its order and its words; perhaps none."""
    text = _THOUGHT.sub("", reply[:LONGEST_REPLY])
    return [
        AdvisorSuggestion(*(_part(data, what) for what in ("name", "description", "why")))
        for data in _proposed(text) or _listed(text)
    ]


def _proposed(text: str) -> list[dict[str, Any]]:
    return [suggestion for value in objects(text) for suggestion in _inside(value)]


def _inside(value: object, depth: int = 4) -> Iterator[dict[str, Any]]:
    """Suggestions in a decoded value, as deep as anyone would wrap them."""
    if isinstance(value, dict) and _part(value, "name") and _part(value, "description"):
        yield value
    elif isinstance(value, dict | list) and depth:
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _inside(inner, depth - 1)


def _listed(text: str) -> list[dict[str, Any]]:
    """A list in plain text: a mark, a name, a colon or a dash, a description."""
    items: list[dict[str, Any]] = []
    for line in text.splitlines():
        if (item := _ITEM.match(line)) is not None:
            items.append({"name": item["name"], "description": item["text"]})
        elif items and line.strip():
            items[-1]["description"] += f"\n{line.strip()}"
    return items if len(items) > 1 else []  # one such line alone is an excuse


def _part(data: dict[str, Any], what: str) -> str:
    for key in _KEYS[what]:
        if isinstance(value := data.get(key), str) and value.strip():
            return value.strip()
    return ""
