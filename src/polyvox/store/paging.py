"""Where a page of a list ends and the next begins: a time and an id, as one word."""

from __future__ import annotations

from polyvox.errors import Invalid

_DIGITS = 18
"""Of a time in microseconds: more is no time, and no number that a database takes."""


def place_in(text: str, param: str) -> tuple[int, int, str]:
    """The time, once more, and the id that a page's `next` names: as the three values that
    `(at < ? OR (at = ? AND id < ?))` needs."""
    stamp, _, last = text.partition(".")
    if not (stamp.isascii() and stamp.isdecimal()) or len(stamp) > _DIGITS:
        raise Invalid(f"{text!r} is not a place in the list.", "Use `next` of a page.", param=param)
    return int(stamp), int(stamp), last


def next_place(at: int, last: str) -> str:
    """A page's `next`, after its last row."""
    return f"{at}.{last}"
