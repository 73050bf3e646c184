"""Windows: which turns of a thread are considered at all, before the budget has its say.

The unit is a turn: a user message with this advisor's answers to it, never split, so that a thread
cannot start with an answer. Every window gives units oldest first and says what it left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from polyvox.context.recipe import Recipe, Window
from polyvox.thread import Thread, ThreadTurn

NOTE_ABOVE = 10
"""A bookends window says how many messages it left out when they are more than this."""

Why = Literal["limit", "window", "session"]


@dataclass(frozen=True, slots=True)
class Omitted:
    """A stretch of turns that was left out: one entry, however long."""

    reason: Why
    turns: int
    messages: int
    first: int
    """Depth of its first turn."""
    last: int


@dataclass(frozen=True, slots=True)
class Selected:
    """The units that a window lets through."""

    units: Sequence[ThreadTurn]
    head: int = 0
    """Number of units before the gap (bookends); the rest follow it."""
    missing: int = 0
    """Messages that the window left out."""
    noted: bool = False
    """True if a note tells of the gap."""
    slides: bool = False
    """True if the part behind the head moves on with every turn from here."""
    omitted: tuple[Omitted, ...] = ()


def select(recipe: Recipe, thread: Thread) -> Selected:
    """The turns that this recipe's window lets through, oldest first."""
    window = recipe.window
    if window.kind == "recent":
        return _recent(window, *_session(thread))
    if recipe.scope == "session":
        past, omitted = _session(thread)
        if window.kind == "bookends":
            return _bookends(window, thread, past, (), 0, omitted)
        return Selected(past, omitted=omitted)
    if window.kind == "bookends":
        return _bookends(window, thread, thread.past, thread.head, thread.unread_messages, ())
    return Selected(thread.past)


def messages_in(units: Sequence[ThreadTurn]) -> int:
    """Count the messages of these turns in the thread."""
    return len(units) + sum(len(unit.own) for unit in units)


def stretch(reason: Why, units: Sequence[ThreadTurn]) -> tuple[Omitted, ...]:
    """These turns as one entry of what was left out."""
    if not units:
        return ()
    return (Omitted(reason, len(units), messages_in(units), units[0].depth, units[-1].depth),)


def _session(thread: Thread) -> tuple[Sequence[ThreadTurn], tuple[Omitted, ...]]:
    """The newest turns that belong to the current message's session."""
    at = len(thread.past)
    while at and thread.past[at - 1].session_id == thread.current.session_id:
        at -= 1
    return thread.past[at:], stretch("session", thread.past[:at])


def _newest(units: Sequence[ThreadTurn], messages: int) -> int:
    """Index of the first of the newest units that together have at most `messages` messages."""
    at, room = len(units), messages
    while at and 1 + len(units[at - 1].own) <= room:
        at -= 1
        room -= 1 + len(units[at].own)
    return at


def _recent(window: Window, past: Sequence[ThreadTurn], omitted: tuple[Omitted, ...]) -> Selected:
    at = _newest(past, window.last_messages)
    out = stretch("window", past[:at])
    return Selected(past[at:], missing=messages_in(past[:at]), slides=at > 0, omitted=omitted + out)


def _bookends(
    window: Window,
    thread: Thread,
    past: Sequence[ThreadTurn],
    first: Sequence[ThreadTurn],
    unread: int,
    omitted: tuple[Omitted, ...],
) -> Selected:
    # The current message counts; in an exchange so do the answers to it and the others' words.
    now = 1 if thread.round == 0 else 2 + len(thread.current.own)
    total = unread + messages_in(past) + now
    if total <= window.max_messages and not thread.unread:
        return Selected(past, noted=True, omitted=omitted)
    reserved = min(window.system_messages, window.max_messages - 1)
    recent = min(window.recent_messages, window.max_messages - reserved)
    at = _newest(past, max(0, recent - now))
    openers = first if thread.unread else past[:at]
    ends, room = 0, max(0, reserved - 1)
    while ends < len(openers) and 1 + len(openers[ends].own) <= room:
        room -= 1 + len(openers[ends].own)
        ends += 1
    head, tail = openers[:ends], past[at:]
    missing = total - messages_in(head) - messages_in(tail) - now
    if missing > 0:
        low = head[-1].depth + 1 if head else 1
        high = (tail[0].depth if tail else thread.current.depth) - 1
        turns = thread.unread + len(past) - len(head) - len(tail)
        omitted = (*omitted, Omitted("window", turns, missing, low, high))
    return Selected(
        (*head, *tail),
        head=len(head),
        missing=missing,
        noted=window.system_messages > 0,
        slides=missing > 0,
        omitted=omitted,
    )
