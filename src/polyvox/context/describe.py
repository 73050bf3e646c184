"""A draft or a receipt in words and numbers, for the terminal and the page: what was sent, how
much of the budget it took, and what was left out and why."""

from __future__ import annotations

from dataclasses import dataclass

from polyvox.context.draft import Draft, Span, describe_cuts, describe_omitted, spans_of
from polyvox.context.rebuild import Receipt
from polyvox.context.receipt import Seat, Sent

NAMES: dict[str, str] = {
    "identity": "identity",
    "shared": "shared context",
    "protocol": "protocol",
    "rules": "response rules",
    "danger": "when somebody is in danger",
    "clock": "time zone",
    "memory": "memory",
    "user": "the person's messages",
    "own": "its own answers",
    "note": "note on what is not shown",
    "reference": "what the others said",
    "current": "the current message",
    "exchange": "the others' words to respond to",
    "synthesis": "the message and its answers",
}


BLOCKS: dict[str, str] = {
    "standing_instructions": "standing instructions",
    "posture": "how to meet them",
    "safety": "they may be in danger, or having a hard time",
    "overlay": "what to bring up now",
    "bridge": "their last words, a moment ago",
    "handover": "where the last talk left off",
    "daily_steering": "how yesterday went",
    "ops": "threads to anchor on",
    "user_context": "lines of their profile",
    "supplemental_context": "what was looked up",
}
"""The blocks of memory, in words."""


@dataclass(frozen=True, slots=True)
class Share:
    """One kind of span: how many pieces, how large, and its part of the budget (0 to 1)."""

    kind: str
    name: str
    pieces: int
    chars: int
    tokens: int
    share: float


@dataclass(frozen=True, slots=True)
class Description:
    """A receipt described for people."""

    answer_id: str
    advisor_id: str
    turn_id: str
    recipe: str
    prompts: str
    phase: str
    k: int
    n: int | None
    tokens: int
    """Tokens of the whole request, corrected by the learned ratio."""
    budget: int
    """Tokens that would have fitted, in the same measure."""
    limit: str
    system_tokens: int
    ratio: float
    messages: int
    messages_omitted: int
    cut: int | None
    shares: tuple[Share, ...]
    """The bar: kinds of span in the order they are sent."""
    spans: tuple[Span, ...]
    left_out: tuple[str, ...]
    council: tuple[Seat, ...]
    sent: Sent | None
    exact: bool
    missing: tuple[str, ...]


def describe(receipt: Receipt | Draft) -> Description:
    """A receipt (or a draft that was not sent yet) as values to show."""
    draft = receipt if isinstance(receipt, Draft) else receipt.draft
    stored = None if isinstance(receipt, Draft) else receipt
    spans = spans_of(draft)
    room = draft.allowance
    budget = round(room.tokens * draft.ratio)
    return Description(
        answer_id=stored.answer_id if stored else "",
        advisor_id=draft.advisor_id,
        turn_id=draft.turn_id,
        recipe=draft.recipe,
        prompts=draft.prompts,
        phase=draft.phase,
        k=draft.k,
        n=draft.n,
        tokens=draft.input_tokens,
        budget=budget,
        limit=_limit(draft),
        system_tokens=draft.system_tokens,
        ratio=draft.ratio,
        messages=len(draft.lines),
        messages_omitted=draft.messages_omitted,
        cut=draft.cut,
        shares=_shares(spans, budget),
        spans=tuple(spans),
        left_out=_left_out(draft, spans),
        council=stored.council if stored else (),
        sent=stored.sent if stored else None,
        exact=stored.exact if stored else True,
        missing=stored.missing if stored else (),
    )


def memory_lines(description: Description) -> list[str]:
    """The blocks of memory in the order they are sent, in words."""
    lines = []
    for span in description.spans:
        if span.kind == "memory":
            name = span.sources[0] if span.sources else span.kind
            left = "" if span.included else f"; {span.reason}"
            what = BLOCKS.get(name, span.reason)
            lines.append(f"{name}: {what}, {span.tokens:,} tokens{left}")
    return lines


def _shares(spans: list[Span], budget: int) -> tuple[Share, ...]:
    grouped: dict[str, list[Span]] = {}
    for span in spans:
        if span.included:
            grouped.setdefault(span.kind, []).append(span)
    return tuple(
        Share(
            kind,
            NAMES.get(kind, kind),
            len(group),
            sum(span.chars for span in group),
            tokens := sum(span.tokens for span in group),
            tokens / budget if budget else 0.0,
        )
        for kind, group in grouped.items()
    )


def _left_out(draft: Draft, spans: list[Span]) -> tuple[str, ...]:
    lines = [describe_omitted(entry) for entry in draft.omitted]
    lines += [
        f"{NAMES.get(span.kind, span.kind)} ({span.tokens:,} tokens): {span.reason}"
        for span in spans
        if not span.included and span.kind != "omitted"
    ]
    for line in draft.lines[draft.history :]:
        if line.made is not None:
            name = NAMES.get(line.kind, line.kind)
            lines += [f"{name}, shortened: {cut}" for cut in describe_cuts(line.made)]
    return tuple(lines)


def _limit(draft: Draft) -> str:
    room = draft.allowance
    if room.by_window:
        return f"the model's window of {room.window:,} tokens less {room.answer:,} for the answer"
    return f"limit {room.limit}"
