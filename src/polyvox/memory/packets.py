"""What a memory service tells: the packets of the contract as frozen values.

Ours are built from memory, foreign ones are normalised into the same shapes, so whoever reads a
packet never asks where it came from. What a packet does not say is None; a list is never None.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from polyvox.memory.values import Evidence, Status

Depth = Literal["continuation", "today", "yesterday", "multi_day"]
PartOfDay = Literal["morning", "afternoon", "evening", "night"]
Kind = Literal["loop", "tension"]
ItemKind = Literal["handover", "bridge", "steering", "instruction", "profile", "loop"]


@dataclass(frozen=True, slots=True)
class TimeContext:
    """When it is for the person, and how long they were away."""

    local_time: str | None = None
    time_of_day: PartOfDay | None = None
    gap_minutes: int | None = None
    sessions_today: int | None = None
    """Earlier ones; the session that begins is not counted."""
    first_session_today: bool | None = None


@dataclass(frozen=True, slots=True)
class Resume:
    """Whether the talk goes on where it stopped a moment ago."""

    use_bridge: bool = False
    bridge_text: str | None = None


@dataclass(frozen=True, slots=True)
class BriefItem:
    """Something open."""

    kind: Kind
    text: str
    type: str | None = None
    time_horizon: str | None = None
    due_date: str | None = None
    salience: float | None = None
    last_seen_at: str | None = None


@dataclass(frozen=True, slots=True)
class OpsContext:
    """What there is to do, and how to steer."""

    top_loops_today: tuple[str, ...] = ()
    waiting_on: tuple[str, ...] = ()
    user_model_hints: tuple[str, ...] = ()
    yesterday_themes: tuple[str, ...] = ()
    steering_note: str | None = None


@dataclass(frozen=True, slots=True)
class BriefEvidence:
    """What a brief was made of, and how good it is."""

    session_ids: tuple[str, ...] = ()
    episode_ids: tuple[str, ...] = ()
    loop_ids: tuple[str, ...] = ()
    quality: str | None = None
    """good, thin (nothing but times) or empty (nobody talked before); foreign ones say theirs."""
    fallback: str | None = None
    """Why the handover is the plain one; None where a model wrote it."""


@dataclass(frozen=True, slots=True)
class StartBrief:
    """What a session starts with."""

    handover_text: str | None = None
    handover_depth: Depth | None = None
    time_context: TimeContext | None = None
    resume: Resume | None = None
    items: tuple[BriefItem, ...] = ()
    ops_context: OpsContext | None = None
    evidence: BriefEvidence | None = None


@dataclass(frozen=True, slots=True)
class Brief:
    """The plainer packet, for when there is no startbrief."""

    time_gap_description: str | None = None
    time_of_day_label: str | None = None
    facts: tuple[str, ...] = ()
    open_loops: tuple[str, ...] = ()
    commitments: tuple[str, ...] = ()
    current_focus: str | None = None
    narrative_summary: tuple[str, ...] = ()
    brief_context: str | None = None


@dataclass(frozen=True, slots=True)
class LoopRow:
    """A loop as a service lists it."""

    text: str
    id: str | None = None
    type: str | None = None
    status: str | None = None
    salience: float | None = None
    time_horizon: str | None = None
    due_date: str | None = None
    last_seen_at: str | None = None
    domain: str | None = None
    importance: float | None = None
    urgency: float | None = None
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Stated:
    """A line of the profile, with who says so and how sure it is."""

    text: str
    source: str | None = None
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class Star:
    """Where somebody is heading in one domain of life."""

    vision: Stated | None = None
    goal: Stated | None = None
    status: str | None = None


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody in their life."""

    name: str
    about: str = ""
    source: str | None = None
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class UserModel:
    """The profile."""

    north_star: Mapping[str, Star] = field(default_factory=dict)
    current_focus: Stated | None = None
    work_context: Stated | None = None
    key_relationships: tuple[Person, ...] = ()
    patterns: tuple[Stated, ...] = ()
    tone: Stated | None = None
    avoid: tuple[str, ...] = ()
    instructions: tuple[str, ...] = ()
    name: str | None = None
    """What they want to be called."""
    completeness: Mapping[str, float] = field(default_factory=dict)
    version: int | None = None
    exists: bool | None = None
    stale: bool | None = None


@dataclass(frozen=True, slots=True)
class Daily:
    """What a day was about."""

    analysis_date: str | None = None
    themes: tuple[str, ...] = ()
    scores: Mapping[str, float] = field(default_factory=dict)
    steering_note: str | None = None
    confidence: float | None = None
    exists: bool = False
    quality_flag: str | None = None


@dataclass(frozen=True, slots=True)
class StartItem:
    """Something that a session is told at its start, as a person may look at it and veto it."""

    id: str
    kind: ItemKind
    text: str
    quote: str | None = None
    said_at: int | None = None
    session_id: str | None = None


@dataclass(frozen=True, slots=True)
class Recalled:
    """Something that a service recalls."""

    text: str
    relevance: float | None = None
    """0 to 1; None where the service does not say."""
    source: str | None = None
    evidence: tuple[Evidence, ...] = ()
    valid_from: int | None = None
    valid_to: int | None = None
    status: Status = "current"


@dataclass(frozen=True, slots=True)
class Entity:
    """Somebody or something that a reply speaks of."""

    summary: str
    type: str | None = None
    uuid: str | None = None


@dataclass(frozen=True, slots=True)
class QueryReply:
    """What a query found, best first."""

    items: tuple[Recalled, ...] = ()
    entities: tuple[Entity, ...] = ()
