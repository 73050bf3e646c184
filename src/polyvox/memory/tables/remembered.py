"""What is remembered, as values, and how messages are numbered in the index.

A number is made of the session's, the message's place in it and a count at that place, so that
neighbours are found by arithmetic. Users' messages have even places and the answers to one share
the next odd one: no advisor's places depend on what others answered.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from polyvox.memory.tables.shelves import SHARED, Shelf
from polyvox.values import Scope

Role = Literal["user", "assistant"]
OWN_TENANT = "polyvox"
"""The tenant of the person's own memory on this account."""

SUB_BITS, PLACE_BITS = 8, 20
SESSION_BITS = SUB_BITS + PLACE_BITS
SUBS = 1 << SUB_BITS


@dataclass(frozen=True, slots=True)
class Partition:
    """A memory inside a user's account. No read or write crosses from one to another."""

    tenant: str
    user: str

    @classmethod
    def own(cls, scope: Scope) -> Partition:
        """The person's own memory."""
        return cls(OWN_TENANT, scope.user)

    @property
    def key(self) -> str:
        """This partition as one text that no other has."""
        return _key(self)


@lru_cache(maxsize=1024)
def _key(partition: Partition) -> str:
    return json.dumps([partition.tenant, partition.user], ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a transcript."""

    role: Role
    text: str
    said_at: int | None = None
    advisor_id: str | None = None
    """Who answered. What an advisor said is its own; other advisors do not recall it. An answer
    without a name, like every message of the user's, is for all."""


@dataclass(frozen=True, slots=True)
class Transcript:
    """A session that was ingested."""

    session_id: str
    persona_id: str | None
    started_at: int
    ended_at: int
    messages: int
    """How many were ingested, forgotten ones included."""


@dataclass(frozen=True, slots=True)
class Episode:
    """One remembered message."""

    session_id: str
    index: int
    role: Role
    advisor_id: str | None
    text: str
    said_at: int | None
    excluded: bool = False
    pinned: bool = False

    @property
    def id(self) -> str:
        """How this episode is named from outside."""
        return f"{self.session_id}#{self.index}"


@dataclass(frozen=True, slots=True)
class Stored:
    """An episode as the index knows it."""

    doc: int
    episode: Episode
    at: int
    """When it was said; where nobody knows, when its session began."""
    cloud: bool
    terms: tuple[str, ...]

    def shelf(self, partition: Partition) -> Shelf:
        """Where its words stand."""
        said = self.episode
        return Shelf(partition.key, owner_of(said.role, said.advisor_id), said.role, self.cloud)


def owner_of(role: Role, advisor_id: str | None) -> str:
    """Whose a message is: the person's words are for all, and so is an answer of nobody's."""
    return SHARED if role == "user" else advisor_id or SHARED


@dataclass(frozen=True, slots=True)
class New:
    """A message with the words it is found by."""

    message: Message
    terms: tuple[str, ...]


def placed(
    number: int,
    known: int,
    stored: Sequence[Stored],
    fresh: Sequence[New],
    session_id: str,
    started_at: int,
    cloud: bool,
) -> list[Stored]:
    """The new messages, each with its number; the first comes after the last one stored."""
    mask = (1 << PLACE_BITS) - 1
    last = stored[-1].doc if stored else None
    # A forgotten tail leaves its places free, and nobody can tell: only their order matters.
    place, sub = (0, 0) if last is None else ((last >> SUB_BITS) & mask, last & (SUBS - 1))
    found = []
    for index, new in enumerate(fresh, known):
        odd = new.message.role == "assistant"
        if odd and place % 2 == 1 and sub < SUBS - 1:
            sub += 1
        else:
            place, sub = place + (1 if (place + 1) % 2 == odd else 2), 0
        said = new.message.said_at
        doc = number << SESSION_BITS | place << SUB_BITS | sub
        episode = Episode(
            session_id, index, new.message.role, new.message.advisor_id, new.message.text, said
        )
        found.append(Stored(doc, episode, started_at if said is None else said, cloud, new.terms))
    return found
