"""The readable form of a conversation, before it is Markdown or HTML: for every turn of the current
branch the message and every advisor's answer, how it ended, and what it cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec

from polyvox.context.synthesis import Synthesis, as_markdown, attributable
from polyvox.interop.conversation import Whole
from polyvox.receive import printable
from polyvox.thread import Other
from polyvox.values import Answer, Turn, Usage

NANO = 1_000_000_000


@dataclass(frozen=True, slots=True)
class TranscriptAnswer:
    """One answer as it is read."""

    name: str
    remark: str
    """Its model, what it cost, and how it ended where it did not end well."""
    text: str
    failure: str


@dataclass(frozen=True, slots=True)
class TranscriptTurn:
    """A turn: a message and what was answered, in groups (the answers, each round, a synthesis)."""

    number: int
    at: str
    content: str
    remark: str
    groups: tuple[tuple[str, tuple[TranscriptAnswer, ...]], ...]


@dataclass(frozen=True, slots=True)
class Transcript:
    """A conversation to read."""

    title: str
    facts: tuple[tuple[str, str], ...]
    turns: tuple[TranscriptTurn, ...]


def tell(whole: Whole) -> Transcript:
    """The current branch, with everyone's answers."""
    conversation, path = whole.conversation, whole.path()
    shown = [answer for turn in path for answer in _current(whole, turn)]
    models = {answer.advisor_id: answer.model for answer in shown if answer.model}
    names = {answer.advisor_id: answer.advisor_name for answer in shown}
    council = ", ".join(
        f"{name} ({models[advisor_id]})" if models.get(advisor_id) else name
        for advisor_id, name in names.items()
        if any(a.advisor_id == advisor_id and a.kind != "synthesis" for a in shown)
    )
    every = [answer for some in whole.answers.values() for answer in some]
    more = len(whole.turns) - len(path)
    facts = [
        ("Conversation", conversation.id),
        ("Begun", when(conversation.created_at)),
        ("Recipe", conversation.recipe),
        ("Council", council or "nobody has answered yet"),
        ("Cost", cost_of([answer.usage for answer in every if answer.usage is not None])),
    ]
    if more:
        facts.append(("Also", f"{more} turns on other branches, which only JSON Lines holds"))
    turns = tuple(_asked(whole, number, turn) for number, turn in enumerate(path, 1))
    return Transcript(
        printable(conversation.title) or "Conversation",
        tuple((key, printable(value)) for key, value in facts),
        turns,
    )


def when(stamp: int | None) -> str:
    """A time, in UTC."""
    if stamp is None:
        return "at an unknown time"
    return datetime.fromtimestamp(stamp / 1_000_000, UTC).strftime("%Y-%m-%d %H:%M UTC")


def cost_of(spent: Sequence[Usage]) -> str:
    """Tokens and dollars of some calls; an unknown price is called unknown."""
    if not spent:
        return "nothing"
    tokens = sum(usage.input_tokens for usage in spent), sum(usage.output_tokens for usage in spent)
    priced = [usage.cost for usage in spent if usage.cost is not None]
    dollars = f"${sum(priced) / NANO:.6f}".rstrip("0").rstrip(".") if priced else "price unknown"
    unknown = len(spent) - len(priced)
    more = f" and {unknown} of unknown price" if priced and unknown else ""
    about = "about " if any(usage.estimated for usage in spent) else ""
    return f"{about}{tokens[0]:,} tokens in, {tokens[1]:,} out, {dollars}{more}"


def _current(whole: Whole, turn: Turn) -> list[Answer]:
    return [answer for answer in whole.answers[turn.id] if answer.current]


def _asked(whole: Whole, number: int, turn: Turn) -> TranscriptTurn:
    groups: dict[str, list[TranscriptAnswer]] = {}
    for answer in _current(whole, turn):
        title = f"Round {answer.round}" if answer.kind == "exchange" else ""
        title = "Synthesis" if answer.kind == "synthesis" else title
        groups.setdefault(title, []).append(_spoken(answer, whole.answers[turn.id]))
    return TranscriptTurn(
        number,
        when(turn.said_at),
        printable(turn.content),
        "forgotten" if turn.redacted else "excluded from later requests" if turn.excluded else "",
        tuple((title, tuple(spoken)) for title, spoken in groups.items()),
    )


def _spoken(answer: Answer, turn: Sequence[Answer]) -> TranscriptAnswer:
    remarks = [answer.model, cost_of([answer.usage]) if answer.usage is not None else ""]
    remarks += ["" if answer.state == "completed" else answer.state]
    remarks += ["excluded from later requests" if answer.excluded else ""]
    remarks += ["partly forgotten" if answer.redacted else ""]
    if answer.version > 1:
        remarks.append(f"version {answer.version}")
    failure = answer.failure
    reason = "" if failure is None else f"{failure.message} {failure.hint}".strip()
    return TranscriptAnswer(
        printable(answer.advisor_name),
        printable(" · ".join(remark for remark in remarks if remark)),
        printable(readable(answer, turn)),
        printable(reason),
    )


def readable(answer: Answer, turn: Sequence[Answer]) -> str:
    """An answer's text; of a synthesis its points, with the names of the turn's advisors."""
    if answer.points is None:
        return answer.text
    others = [
        Other(other.id, other.advisor_id, "", other.advisor_name, other.text)
        for other in turn
        if other.kind != "synthesis"
    ]
    read = msgspec.json.decode(answer.points, type=Synthesis)
    return as_markdown(read, attributable(others))
