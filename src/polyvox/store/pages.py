"""Lists in pages: where one ends and the next begins is a time and an id, as one word."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from polyvox.errors import Invalid

_DIGITS = 18
"""The most digits of a time in microseconds; a longer number is no time, and no database takes
it."""


class Named(Protocol):
    """An item of a list."""

    @property
    def id(self) -> str:
        """Its own."""
        ...


T = TypeVar("T", bound=Named)


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Some of a list."""

    items: tuple[T, ...]
    next: str | None
    """Names the place from which the next page goes on; None on the last one."""


def page_of(rows: Sequence[T], limit: int, at: Callable[[T], int]) -> Page[T]:
    """A page of at most `limit` items, from a list that was read with one more; `at` is the time it
    is ordered by."""
    items = tuple(rows[:limit])
    more = len(rows) > limit and items
    return Page(items, f"{at(items[-1])}.{items[-1].id}" if more else None)


def place_in(text: str, param: str) -> tuple[int, int, str]:
    """The time (twice) and the id of a page's `next`: the three values of `(at < ? OR (at = ? AND
    id < ?))`."""
    stamp, _, last = text.partition(".")
    if not (stamp.isascii() and stamp.isdecimal()) or len(stamp) > _DIGITS:
        raise Invalid(f"{text!r} is not a place in the list.", "Use `next` of a page.", param=param)
    return int(stamp), int(stamp), last
