"""The nouns of memory: frozen, without I/O. Times are UTC microseconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from polyvox.memory.tables.claims import Claim
from polyvox.memory.tables.episodes import Episode, Message, Partition, Role, Transcript

__all__ = [
    "Claim",
    "Episode",
    "Evidence",
    "Item",
    "Message",
    "Partition",
    "Role",
    "Status",
    "Transcript",
]

Status = Literal["current", "superseded"]


@dataclass(frozen=True, slots=True)
class Evidence:
    """Where something was said."""

    session_id: str
    index: int
    """Of the message among those of its session that were ingested, from 0."""
    role: Role
    quote: str
    """Its very words: a part of the message, or all of it."""
    said_at: int | None


@dataclass(frozen=True, slots=True)
class Item:
    """Something recalled, with how sure we are that it is what was asked for, and its source."""

    id: str
    text: str
    relevance: float
    """0 to 1, calibrated on whether a question belongs to this memory; 0.6 is worth telling."""
    source: str
    """"episode", or the kind of the claim ("fact")."""
    evidence: tuple[Evidence, ...] = ()
    valid_from: int | None = None
    valid_to: int | None = None
    status: Status = "current"
