"""The bodies of the memory contract, in its own words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel

from polyvox.errors import Invalid
from polyvox.fields import Filled, Id, Text
from polyvox.memory.loops import Loop
from polyvox.memory.tables.derived import Daily
from polyvox.memory.values import Evidence, Message, Partition
from polyvox.shapes import shape

EARLIEST, LATEST = 1, 9000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DATE = re.compile(r"\d{4}-\d\d-\d\d")


def _written(value: object) -> object:
    """A time is written as a date; a bare number would be taken for seconds since 1970."""
    if not isinstance(value, str | datetime) or (isinstance(value, str) and not _DATE.match(value)):
        raise ValueError("must be a time such as 2024-05-31T09:00:00Z")
    return value


Time = Annotated[datetime, BeforeValidator(_written)]
"""A time in ISO 8601; without an offset it is UTC."""
Flag = Annotated[bool, Field(strict=True)]
Count = Annotated[int, Field(strict=True)]
Partly = Annotated[Filled, Field(min_length=1, max_length=200)]
"""Of a tenant or a user: together they name a partition."""


def micros(name: str, time: datetime) -> int:
    """A time as we keep it; without an offset it is UTC."""
    if not EARLIEST < time.year < LATEST:
        raise Invalid(f"{name}: no calendar has such a time.", "Correct it.", param=name)
    placed = time if time.tzinfo is not None else time.replace(tzinfo=UTC)
    return (placed - _EPOCH) // timedelta(microseconds=1)


def iso(at: int | None) -> str | None:
    """A time as the contract writes it."""
    if at is None:
        return None
    return (
        (_EPOCH + timedelta(microseconds=at)).isoformat(timespec="seconds").replace("+00:00", "Z")
    )


class Camel(BaseModel):
    """Names in the contract's spelling."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


class Whose(Camel):
    """Which partition of the caller's account is meant, unless the address says so."""

    tenant_id: Partly | None = None
    user_id: Partly | None = None

    def partition(self, tenant: str | None, user: str | None) -> Partition:
        """The partition, by the body or by what stands in the address; both must not differ."""
        return Partition(
            _agreed("tenantId", self.tenant_id, tenant), _agreed("userId", self.user_id, user)
        )


def _agreed(name: str, body: str | None, address: str | None) -> str:
    found = body or address
    if found is None:
        raise Invalid(f"{name} is missing.", "Say whose memory it is.", param=name)
    if address not in (None, found):
        raise Invalid(
            f"{name} is one in the address and another in the body.", "Give it once.", param=name
        )
    return found


class QueryBody(Whose):
    """What somebody wants to know."""

    query: Annotated[Text, Field(max_length=10_000)]
    limit: Count | None = Field(None, ge=1, le=100)
    """Default: 10."""
    reference_time: Time | None = None
    """When it is asked; default: now."""
    include_context: Flag | None = None
    as_of: Time | None = None
    include_history: Flag | None = None
    max_tokens: Count | None = Field(None, ge=1, le=1_000_000)
    advisor_id: Id | None = None
    """Also what this advisor said; default: only what is shared."""


class EvidenceOut(Camel):
    """Where something was said."""

    session_id: str
    message_index: int
    role: Literal["user", "assistant"]
    quote: str
    timestamp: str | None

    @classmethod
    def of(cls, one: Evidence) -> EvidenceOut:
        """From the value."""
        return shape(cls, one, message_index=one.index, timestamp=iso(one.said_at))


class FactItem(Camel):
    """Something recalled."""

    id: str
    text: str
    relevance: float
    source: str
    evidence: list[EvidenceOut]
    valid_from: str | None
    valid_to: str | None
    status: Literal["current", "superseded"]


class EntityOut(BaseModel):
    """Somebody or something that is named."""

    summary: str
    type: str
    uuid: str
    name: str


class QueryMeta(Camel):
    """About the answer."""

    query: str
    response_mode: str
    facts: int
    entities: int
    limit: int
    degraded: str = ""
    """Why it was looked for by words alone, where an embeddings model should have helped; else left
    out."""


class QueryOut(Camel):
    """What is remembered."""

    facts: list[str]
    fact_items: list[FactItem]
    entities: list[EntityOut]
    metadata: QueryMeta


class MessageBody(Camel):
    """One message of a transcript."""

    role: Literal["user", "assistant", "system", "tool"]
    """Only what people and advisors said is remembered; what was put before a model is not."""
    text: Annotated[str, Field(max_length=1_000_000)]
    timestamp: Time | None = None
    advisor_id: Id | None = None


class IngestBody(Whose):
    """A session to be remembered."""

    session_id: Partly
    persona_id: Id | None = None
    started_at: Time
    ended_at: Time
    messages: Annotated[list[MessageBody], Field(max_length=100_000)]
    never_to_cloud: Flag = False
    """What is in it is never sent to a cloud model."""

    def values(self) -> tuple[str, str | None, int, int, list[Message]]:
        """As memory takes it: which session, with whom, from when, until when, what."""
        messages = [
            Message(
                one.role,
                one.text,
                None if one.timestamp is None else micros("timestamp", one.timestamp),
                one.advisor_id,
            )
            for one in self.messages
            if one.role == "user" or one.role == "assistant"
        ]
        return (
            self.session_id,
            self.persona_id,
            micros("startedAt", self.started_at),
            micros("endedAt", self.ended_at),
            messages,
        )


class IngestOut(Camel):
    """How it was taken in."""

    status: Literal["ingested", "duplicate", "empty"]
    session_id: str


class LoopOut(Camel):
    """Something open."""

    id: str
    type: Literal["commitment", "decision", "friction", "habit", "thread"]
    text: str
    status: Literal["open", "needs_review", "stale", "done", "dropped"]
    salience: int
    time_horizon: Literal["today", "this_week", "ongoing"]
    due_date: str | None
    last_seen_at: str | None
    domain: str
    importance: int
    urgency: int
    tags: list[str]
    pinned: bool
    evidence: list[EvidenceOut]

    @classmethod
    def of(cls, one: Loop) -> LoopOut:
        """From the value."""
        return shape(
            cls,
            one,
            time_horizon=one.horizon,
            due_date=one.due,
            last_seen_at=iso(one.last_seen_at),
            evidence=[EvidenceOut.of(each) for each in one.evidence],
        )


class LoopsOut(BaseModel):
    """The loops by priority."""

    items: list[LoopOut]
    metadata: dict[str, int]


class DailyOut(Camel):
    """What a day was about."""

    analysis_date: str
    themes: list[str]
    scores: dict[str, float]
    steering_note: str | None
    confidence: float
    exists: bool
    metadata: dict[str, str]

    @classmethod
    def of(cls, day: date, one: Daily | None) -> DailyOut:
        """From the value; None: the day was not analysed."""
        if one is None:
            return cls(
                analysis_date=day.isoformat(),
                themes=[],
                scores={},
                steering_note=None,
                confidence=0.0,
                exists=False,
                metadata={"quality_flag": "insufficient_data"},
            )
        metadata = {"quality_flag": one.quality, "model": one.model}
        return shape(cls, one, analysis_date=one.day, exists=True, metadata=metadata)


def found(data: Mapping[str, object]) -> QueryOut:
    """An answer in the contract's shape."""
    return QueryOut.model_validate(data)
