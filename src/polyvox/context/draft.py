"""A draft: everything that goes into one request, piece by piece, and what does not, and why.

The compiler makes a draft, a receipt is a draft that was stored and rebuilt; both become a request
and a list of spans by the same functions here, so what is shown is what was sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec

from polyvox.context.budget import Allowance, estimate
from polyvox.context.recipe import traits_of
from polyvox.context.window import Omitted, Why
from polyvox.context.words import Cut, Made
from polyvox.models.base import ChatMessage, Request, SystemPart
from polyvox.values import Params

Role = Literal["user", "assistant"]
JOIN = "\n\n"
"""The text between the blocks of the system text."""


class Block(msgspec.Struct, frozen=True):
    """A named piece of the system text."""

    kind: str
    text: str


class Line(msgspec.Struct, frozen=True):
    """One message: its kind, its role, where it comes from, and its text as sent."""

    kind: str
    """user, own, note, reference, current, exchange, synthesis."""
    role: Role
    ref: str
    """"u" and a turn id, "a" and an answer id; empty for a text that was made."""
    text: str
    made: Made | None = None

    @property
    def sources(self) -> tuple[str, ...]:
        """Every message and answer whose words are in this text."""
        if self.made is None:
            return (self.ref,)
        asked = (f"u{self.made.question}",) if self.made.question else ()
        answers = tuple(f"a{answer}" for _, entries in self.made.groups for answer, _ in entries)
        return self.made.sources + asked + answers


class Unsent(msgspec.Struct, frozen=True):
    """A text that was left out whole: the reference block, which is not even put together, or a
    block of memory where others were sent."""

    kind: str
    sources: tuple[str, ...]
    chars: int


@dataclass(frozen=True, slots=True)
class Draft:
    """One request before any wire format, with the reasons for its shape."""

    advisor_id: str
    turn_id: str
    recipe: str
    recipe_hash: str
    prompts: str
    prompts_hash: str
    phase: str
    k: int
    n: int | None
    blocks: tuple[Block, ...]
    memory: tuple[Block, ...]
    memory_sent: bool
    lines: tuple[Line, ...]
    """Every message in its order."""
    history: int
    """Number of leading lines that are history, a note among them included."""
    unsent: tuple[Unsent, ...]
    omitted: tuple[Omitted, ...]
    stamps: Literal["all", "history", "none"]
    cut: int | None
    """Depth of the first turn that was kept, once anything was cut: an input of the next turn."""
    ratio: float
    allowance: Allowance
    size: int
    """Estimated tokens of the whole request, before the ratio."""
    params: Params
    settled: int
    schema: str | None = None
    zone: str = "UTC"
    """The time zone of the stamps."""
    base: str = ""
    """The built-in recipe that its own was copied from; empty: it is built in itself."""

    @property
    def persona(self) -> bool:
        """True if one companion answers."""
        return traits_of(self.base or self.recipe).persona

    @property
    def system_tokens(self) -> int:
        """Tokens of the system texts, corrected by the ratio."""
        return round(system_size(self.blocks, self.memory if self.memory_sent else ()) * self.ratio)

    @property
    def input_tokens(self) -> int:
        """Tokens of the whole request, corrected by the ratio."""
        return round(self.size * self.ratio)

    @property
    def cuts(self) -> tuple[Cut, ...]:
        """The others' answers that were shortened."""
        return tuple(
            cut for line in self.lines[self.history :] if line.made for cut in line.made.cuts
        )

    @property
    def messages_omitted(self) -> int:
        """Messages of the thread that were left out."""
        return sum(entry.messages for entry in self.omitted)


@dataclass(frozen=True, slots=True)
class Compiled:
    """A request, and the draft that tells what it is made of."""

    request: Request
    draft: Draft


@dataclass(frozen=True, slots=True)
class Span:
    """One piece of a request as a person may inspect it: its kind, source and size, whether it was
    sent, and why. A stretch of turns that was left out is one span without text."""

    kind: str
    role: Literal["system", "user", "assistant"]
    sources: tuple[str, ...]
    text: str
    chars: int
    tokens: int
    included: bool
    reason: str


def system_text(blocks: tuple[Block, ...]) -> str:
    """The stable system text."""
    return JOIN.join(block.text for block in blocks)


def system_size(blocks: tuple[Block, ...], memory: tuple[Block, ...]) -> int:
    """Estimated tokens of the system texts: the blocks are one message, each memory block one."""
    chars = sum(len(block.text) for block in blocks) + len(JOIN) * max(0, len(blocks) - 1)
    return estimate(chars) + sum(estimate(len(block.text)) for block in memory)


def size_of(blocks: tuple[Block, ...], memory: tuple[Block, ...], lines: Sequence[Line]) -> int:
    """Estimated tokens of everything that is sent."""
    return system_size(blocks, memory) + sum([(len(line.text) + 3) >> 2 for line in lines])


def request_of(draft: Draft) -> Request:
    """The request that a draft describes."""
    stable = system_text(draft.blocks)
    system: tuple[SystemPart, ...] = (SystemPart(stable),) if stable else ()
    if draft.memory_sent:
        system += tuple(SystemPart(block.text, stable=False) for block in draft.memory)
    return Request(
        system=system,
        messages=tuple([ChatMessage(line.role, line.text) for line in draft.lines]),
        params=draft.params,
        settled=draft.settled,
        schema=draft.schema,
    )


IN: dict[str, str] = {
    "identity": "who the advisor is",
    "shared": "what this conversation is for",
    "protocol": "what to do in this phase",
    "rules": "how to write",
    "clock": "the time zone of the times in front of messages",
    "memory": "remembered for this turn",
    "user": "the person's message",
    "own": "this advisor's own answer",
    "note": "says how much is not shown",
    "reference": "what the others said, as far as this advisor may see it",
    "current": "the message to answer",
    "exchange": "what the others said in the round before, to be responded to",
    "synthesis": "the message and every answer to it, labelled",
}
OUT: dict[str, str] = {
    "memory": "left out: with only the newest turn kept it was still too much",
    "reference": "left out whole: it did not fit beside the message",
}
OMITTED: dict[Why, str] = {
    "limit": "older than what fits the limit",
    "window": "outside the window of this recipe",
    "session": "said in an earlier session",
}


def spans_of(draft: Draft) -> list[Span]:
    """Every piece in the order it is sent, what was left out among them."""
    ratio = draft.ratio

    def span(
        kind: str,
        role: Literal["system", "user", "assistant"],
        sources: tuple[str, ...],
        text: str,
        *,
        included: bool = True,
        reason: str = "",
    ) -> Span:
        tokens = round(estimate(len(text)) * ratio)
        why = reason or (IN if included else OUT).get(kind, kind)
        return Span(kind, role, sources, text, len(text), tokens, included, why)

    spans = []
    for block in draft.blocks:
        why = _protocol(draft) if block.kind == "protocol" else ""
        spans.append(span(block.kind, "system", (), block.text, reason=why))
    spans += [
        span("memory", "system", (block.kind,), block.text, included=draft.memory_sent)
        for block in draft.memory
    ]
    spans += [
        Span("omitted", "user", (), "", 0, 0, False, describe_omitted(entry))
        for entry in draft.omitted
    ]
    spans += [
        span(line.kind, line.role, line.sources, line.text, reason=_why(line))
        for line in draft.lines
    ]
    spans += [
        Span(
            left.kind,
            "system" if left.kind == "memory" else "user",
            left.sources,
            "",
            left.chars,
            round(estimate(left.chars) * ratio),
            False,
            OUT[left.kind],
        )
        for left in draft.unsent
    ]
    return spans


def _why(line: Line) -> str:
    """Why a line is sent, where its kind alone does not say it all."""
    if line.made is None:
        return ""
    if line.kind == "note" and line.made.whole:
        return "tells in short what is not shown, from the first to the last of it"
    if line.made.cuts:
        return f"{IN[line.kind]}; shortened to its share: {', '.join(describe_cuts(line.made))}"
    return ""


def describe_cuts(made: Made) -> list[str]:
    """How much of each shortened answer is shown."""
    names = {answer: name for _, entries in made.groups for answer, name in entries}
    return [
        f"{names[answer]}, {shown:,} of {whole:,} characters" for answer, shown, whole in made.cuts
    ]


def describe_omitted(entry: Omitted) -> str:
    """A stretch that was left out, in words."""
    turns = "1 turn" if entry.turns == 1 else f"{entry.turns:,} turns"
    messages = "1 message" if entry.messages == 1 else f"{entry.messages:,} messages"
    where = (
        f"turn {entry.first}"
        if entry.first == entry.last
        else (f"turns {entry.first} to {entry.last}")
    )
    return f"{turns} ({messages}, {where}): {OMITTED[entry.reason]}"


def _protocol(draft: Draft) -> str:
    of = f" of {draft.n}" if draft.n is not None else ""
    return f"what to do in this phase ({draft.phase}, turn {draft.k}{of})"
