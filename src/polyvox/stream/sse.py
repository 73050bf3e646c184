"""Events as the bytes of a server-sent event stream. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from polyvox.events import Event, Numbered, payload
from polyvox.store.events import EventRange

COMMENT = b": still here\n\n"
"""Sent when nothing happens, so that neither side takes the silence for a lost connection."""


def frame(number: int, event: Event) -> bytes:
    """One event. `id` is the number to come back with after a lost connection."""
    return b"id: %d\nevent: %b\ndata: %b\n\n" % (number, event.kind.encode(), payload(event))


def frames(batch: Iterable[Numbered]) -> bytes:
    """Events under the numbers they have; those of a live batch have their own."""
    return b"".join(frame(item.number, item.event) for item in batch)


def safe(stretches: Sequence[EventRange]) -> list[Numbered]:
    """Stored events, each under the highest number that is safe to come back with.

    A condensed delta stands for a range of numbers, and the ranges of parallel answers overlap. So
    an event's id is its own number only if nothing that follows reaches back before it; otherwise
    it is the number just before the earliest of what is still to come. Coming back with any id then
    gives everything that was not received, perhaps a piece again, never a gap; `at` tells.
    """
    found: list[Numbered] = []
    reach: int | None = None
    for item in reversed(stretches):
        number = item.last if reach is None else min(item.last, reach - 1)
        found.append(Numbered(number, item.event))
        reach = item.first if reach is None else min(reach, item.first)
    found.reverse()
    return found


def replay(stretches: Sequence[EventRange]) -> bytes:
    """Stored events as bytes, each under a number that is safe to come back with."""
    return frames(safe(stretches))
