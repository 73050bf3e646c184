"""One advisor's view of a conversation: the input of the pure compiler.

Everything here was already filtered by the store to this advisor's branch and to answers that
speak; the compiler decides what of it fits and in which words it is sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from polyvox.values import Advisor


@dataclass(frozen=True, slots=True)
class Own:
    """An earlier answer of this advisor."""

    answer_id: str
    text: str


@dataclass(frozen=True, slots=True)
class Other:
    """Another advisor's words, labelled by the name it had."""

    answer_id: str
    advisor_id: str
    slug: str
    name: str
    text: str
    depth: int = 0
    """Of the turn in which they were said."""


@dataclass(frozen=True, slots=True)
class Peer:
    """An advisor as the others' requests name it."""

    slug: str = ""
    name: str = ""
    label: str = ""
    """Its name, numbered where another advisor has the same."""

    def called(self, name: str) -> str:
        """The label for words it spoke under a name; one it no longer has stays as it was."""
        return self.label if name == self.name else name


def distinct(names: Mapping[str, str]) -> dict[str, str]:
    """Each advisor's name by its id; one that several have is numbered in the order of their
    ids, which is that of their making."""
    shared: dict[str, list[str]] = {}
    for advisor_id in sorted(names):
        shared.setdefault(" ".join(names[advisor_id].split()).casefold(), []).append(advisor_id)
    return {
        advisor_id: f"{names[advisor_id]} ({number})" if len(ids) > 1 else names[advisor_id]
        for ids in shared.values()
        for number, advisor_id in enumerate(ids, 1)
    }


@dataclass(frozen=True, slots=True)
class ThreadTurn:
    """One turn as this advisor may know it: the user's message and its own answers to it."""

    turn_id: str
    message_id: str
    depth: int
    text: str
    said_at: int | None
    session_id: str | None = None
    own: tuple[Own, ...] = ()
    others: tuple[Other, ...] = ()
    """The other advisors' last words in that turn (filled only as far as visibility needs)."""


@dataclass(frozen=True, slots=True)
class ThreadSummary:
    """A stored summary of a stretch of this thread, named by what stands around it. Who stores it
    drops it when anything inside the stretch changes; it is used only for exactly this stretch."""

    text: str
    after_id: str
    """The last turn before the stretch; empty: the stretch begins the conversation."""
    before_id: str
    """The first turn behind the stretch."""
    messages: int
    """Number of messages (the person's and this advisor's) in the stretch."""
    covers: tuple[str, ...] = ()
    """Their ids, in order: "u" and a turn's id, "a" and an answer's."""


@dataclass(frozen=True, slots=True)
class Thread:
    """One advisor's thread up to the current message."""

    advisor: Advisor
    current: ThreadTurn
    """The message to answer (its `own` is what this advisor already said to it: exchange only)."""
    past: tuple[ThreadTurn, ...] = ()
    """Earlier turns, oldest first, contiguous up to the newest; read from the newest end."""
    unread: int = 0
    """Turns before `past[0]` that were not even read, because `past` already passes any limit."""
    unread_messages: int = 0
    """Messages (the person's and this advisor's) in the turns before `past[0]`, those of `head`
    included: what the note of a bookends window counts."""
    head: tuple[ThreadTurn, ...] = ()
    """The first turns of the conversation (bookends only), where they are not in `past`."""
    answers: int = 0
    """Answers of this advisor in its thread, exchange rounds not counted."""
    last: tuple[Other, ...] = ()
    """Each other advisor's last words, in the newest completed turn in which it spoke."""
    words: tuple[Other, ...] = ()
    """Exchange only: what the others said in the round before."""
    round: int = 0
    """The exchange round that is being written; 0: the answer itself."""
    company: bool = False
    """True if others are answering the same message."""
    early: bool = False
    """Exchange only: nobody has taken a position yet."""
    cut: int | None = None
    """Depth of the first turn that was kept last time, once anything was cut."""
    ratio: float = 1.0
    """Provider-reported tokens over estimated ones, learned for this model."""
    memory: tuple[tuple[str, str], ...] = field(default=())
    """Per-turn memory blocks (name, text), dropped before the reference block when over."""
    zone: str = "UTC"
    """The person's time zone by name: that of the stamps."""
    summary: ThreadSummary | None = None
    """A stored summary that may stand for what a bookends window leaves out."""
