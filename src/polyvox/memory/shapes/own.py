"""The bodies of the person's own memory routes: facts, marks, forgetting."""

from __future__ import annotations

import re
from collections import Counter
from datetime import date
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field

from polyvox.fields import Body, Filled
from polyvox.memory.forget import Kind
from polyvox.memory.service import Forgetting
from polyvox.memory.shapes.contract import Camel, EvidenceOut, Flag, iso
from polyvox.memory.tables.derived import Summary
from polyvox.memory.values import Episode
from polyvox.memory.view import Held
from polyvox.shapes import shape

EARLIEST, LATEST = 1971, 9000
_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)


def _written(value: object) -> object:
    """A day is written as one; a bare number would be taken for a time since 1970."""
    if isinstance(value, date):
        return value
    if not isinstance(value, str) or not _DAY.fullmatch(value):
        raise ValueError("must be a day such as 2024-05-31")
    if not EARLIEST <= int(value[:4]) < LATEST:
        raise ValueError(f"must be a day from {EARLIEST} on, before {LATEST}")
    return value


Day = Annotated[date, BeforeValidator(_written)]
"""A day that every time zone can tell."""


class FactOut(Camel):
    """A fact, and when it held."""

    id: str
    subject: str
    attribute: str
    text: str
    source: Literal["user_stated", "manual", "inferred"]
    confidence: float
    said_at: str | None
    about_from: str | None
    about_to: str | None
    about_precision: Literal["day", "week", "month", "year"] | None
    valid_from: str | None
    valid_to: str | None
    status: Literal["current", "superseded"]
    pinned: bool
    excluded: bool
    advisor_id: str | None
    never_to_cloud: bool
    over: Literal["superseded", "done", "dropped", "ended"] | None
    """How it ended; null: it is current."""
    evidence: list[EvidenceOut]

    @classmethod
    def of(cls, one: Held) -> FactOut:
        """From the value."""
        fact = one.statement
        return shape(
            cls,
            fact,
            said_at=iso(fact.said_at),
            about_from=iso(fact.about_from),
            about_to=iso(fact.about_to),
            valid_from=iso(fact.said_at),
            valid_to=iso(one.valid_to),
            status=one.status,
            over=one.over,
            never_to_cloud=not fact.cloud,
            evidence=[EvidenceOut.of(each) for each in one.evidence],
        )


class FactWhole(FactOut):
    """A fact with everything else that was ever said of the same."""

    history: list[FactOut]


class FactPatch(Body):
    """Correct a fact, pin it, exclude it from recall; `current` undoes that it was superseded or
    ended. What is left out stays."""

    current: Literal[True] | None = None
    text: Annotated[Filled, Field(min_length=1, max_length=2_000)] | None = None
    pinned: Flag | None = None
    excluded: Flag | None = None


class FactBody(Body):
    """Something to remember, told outright."""

    text: Annotated[Filled, Field(min_length=1, max_length=2_000)]


class MarkBody(Body):
    """Pin something, exclude it from recall; what is left out stays."""

    pinned: Flag | None = None
    excluded: Flag | None = None


class EpisodeOut(Camel):
    """A remembered message."""

    session_id: str
    message_index: int
    role: Literal["user", "assistant"]
    text: str
    timestamp: str | None
    pinned: bool
    excluded: bool

    @classmethod
    def of(cls, episode: Episode, **more: Any) -> Self:  # noqa: ANN401 - fields of a subclass
        """From the value."""
        at = iso(episode.said_at)
        return shape(cls, episode, message_index=episode.index, timestamp=at, **more)


class LoopPatch(Body):
    """How a loop ended, or that it is open again; how it is put rightly; whether it is pinned. What
    is left out stays; a due date of null takes it away."""

    status: Literal["done", "dropped", "open"] | None = None
    pinned: Flag | None = None
    text: Annotated[Filled, Field(min_length=1, max_length=300)] | None = None
    due_date: Day | None = Field(None, alias="dueDate")


class ForgetBody(Body):
    """What is to be forgotten."""

    kind: Kind
    id: Annotated[Filled, Field(min_length=1, max_length=300)]
    keep: Annotated[list[Filled], Field(max_length=1_000)] = Field(default_factory=list)
    """Answers that stay, by id."""


class ForgetOut(Camel):
    """What goes, or went, with it, and where it still is."""

    sessions: list[str]
    messages: list[dict[str, str]]
    facts: list[dict[str, str]]
    loops: list[dict[str, str]]
    profile: list[dict[str, str]]
    summaries: list[str]
    days: list[str]
    index_rows: int
    returns: list[dict[str, str]]
    """Older statements that hold again."""
    conversations: list[str]
    """Conversations in which a message becomes a mark."""
    answers: list[dict[str, str]]
    """The answers to it, and those that were told of it from memory: they become marks."""
    titles: list[dict[str, str]]
    """Conversations that were named by it."""
    receipts: int
    """Receipts that were told of it: they keep a mark, and are exact no longer."""
    elsewhere: dict[str, int]
    """Whatever else was made from it, by kind."""
    backups: list[str]
    """Copies of the database that still hold it."""
    scrubbed: bool | None
    """Whether the files hold nothing of it any more; false: somebody reads an older state, and it
    is done when they have ended. Null: nothing was forgotten yet."""

    @classmethod
    def of(cls, one: Forgetting) -> ForgetOut:
        """From the value."""
        going = one.going
        return cls(
            sessions=going.sessions,
            messages=[_told(each.id, each.text) for each in going.messages],
            facts=[_told(each.id, each.text) for each in going.of("fact")],
            loops=[_told(each.id, each.text) for each in going.of("loop")],
            profile=[
                _told(each.id, each.text)
                for each in (*going.of("profile"), *going.of("instruction"))
            ],
            summaries=[each.subject for each in going.summaries],
            days=[each.day for each in going.days],
            index_rows=going.index_rows,
            returns=[_told(each.id, each.text) for each in going.returns],
            conversations=going.conversations,
            answers=[_told(each.id, each.text) for each in going.marked if each.kind == "answer"],
            titles=[_told(each.id, each.text) for each in going.marked if each.kind == "title"],
            receipts=sum(each.kind == "receipt" for each in going.marked),
            elsewhere=dict(Counter(each.kind for each in going.marked if each.kind not in SHOWN)),
            backups=list(one.backups),
            scrubbed=one.scrubbed,
        )


SHOWN = ("message", "answer", "title", "receipt")
"""What a preview lists by itself."""


def _told(name: str, text: str) -> dict[str, str]:
    return {"id": name, "text": text}


class SummaryOut(Camel):
    """A session in few words."""

    session_id: str
    text: str
    covers: list[str]
    model: str
    told_at: str | None

    @classmethod
    def of(cls, one: Summary) -> SummaryOut:
        """From the value."""
        return shape(cls, one, session_id=one.subject, told_at=iso(one.told_at))
