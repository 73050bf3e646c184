"""Slugs: names as people type them after an @. Plain lower-case letters, digits and hyphens."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import replace
from typing import TypeVar

from polyvox.errors import Conflict, Invalid
from polyvox.store.database import Tx
from polyvox.store.table import Table
from polyvox.values import Advisor, Council

T = TypeVar("T", Advisor, Council)
LONGEST = 60
SLUG = re.compile(r"^[a-z0-9]+(?:-[a-z0-9]+)*$")
RESERVED = frozenset({"assistant", "synthesis", "all", "everyone", "user"})
"""Words that mean somebody already."""
_LETTERS = str.maketrans(
    {"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ð": "d", "ł": "l", "þ": "th", "ı": "i"}
)


def slug_of(name: str, fallback: str) -> str:
    """A slug for a name; `fallback` where no letter of it can be written plainly."""
    plain = unicodedata.normalize("NFKD", name.lower().translate(_LETTERS))
    plain = "".join(letter for letter in plain if not unicodedata.combining(letter))
    words = re.sub(r"[^a-z0-9]+", "-", plain.lower().replace("'", "").replace("’", ""))
    return words[:LONGEST].strip("-") or fallback


def candidates(name: str, fallback: str) -> Iterator[str]:
    """Slugs to try for a name, the nicest first, without end."""
    base = slug_of(name, fallback)
    if base not in RESERVED:
        yield base
    number = 2
    while True:
        yield f"{base[: LONGEST - 8].rstrip('-')}-{number}"
        number += 1


def check_slug(slug: str) -> str:
    """A slug that somebody chose, if it is one."""
    if not SLUG.match(slug) or len(slug) > LONGEST or slug in RESERVED:
        raise Invalid(
            f"{slug!r} cannot be a slug.",
            f"Use lower-case letters, digits and hyphens, at most {LONGEST};"
            f" {', '.join(sorted(RESERVED))} are taken.",
            param="slug",
        )
    return slug


def insert_named(tx: Tx, table: Table[T], value: T, wanted: str | None) -> T:
    """Store a new row under the wanted slug (Conflict where that is taken), or, without one, under
    the nicest that is free."""
    if wanted is not None:
        value = replace(value, slug=check_slug(wanted))
        if not table.try_insert(tx, value):
            raise taken(value)
        return value
    slugs = candidates(value.name, type(value).__name__.lower())
    named = (replace(value, slug=slug) for slug in slugs)
    return next(each for each in named if table.try_insert(tx, each))


def taken(value: Advisor | Council) -> Conflict:
    """The error for a slug that another one has."""
    what = "an advisor" if isinstance(value, Advisor) else "a council"
    return Conflict(
        f"There is already {what} {value.slug!r}.", "Choose another slug.", param="slug"
    )
