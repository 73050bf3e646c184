"""What is so now, and what was so then: statements about a subject, newer ones over older ones.

A statement is never overwritten. Which one holds is computed from all of them, by when they were
said, so that any order of arrival gives the same view and the past can be asked, too. What was only
inferred never stands against what a person said themself, before or after.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from polyvox.memory.tables.facts import Source

_RANK: dict[Source, int] = {"inferred": 0, "manual": 1, "user_stated": 2}


@dataclass(frozen=True, slots=True)
class Statement:
    """Somebody said that an attribute of a subject is so. Without an attribute it is about nothing
    but itself, and only saying the same again is about the same."""

    id: str
    subject: str
    attribute: str
    text: str
    said_at: int
    source: Source = "user_stated"
    retracts: bool = False
    """It says that nothing is known of this any more."""
    owner: str | None = None
    """The advisor whose own it is: nobody's own statements stand against anybody else's."""
    session: str = ""
    index: int = 0
    place: int = 0
    """Where it was said: in which message of which session, and where in it."""


@dataclass(frozen=True, slots=True)
class Held:
    """A statement with the time for which it held, as far as is known. One that never held, since
    something surer was known, has `valid_to` when it was said."""

    statement: Statement
    valid_from: int
    valid_to: int | None

    @property
    def current(self) -> bool:
        """Whether nothing newer was said."""
        return self.valid_to is None


Key = tuple[str, str, str]


def key_of(statement: Statement) -> Key:
    """What a statement is about: two that differ only in case or space are about the same."""
    attribute = plain(statement.attribute) or f"#{plain(statement.text)}"
    return statement.owner or "", plain(statement.subject), attribute


def history(statements: Iterable[Statement], as_of: int | None = None) -> list[Held]:
    """Every statement known at that time, with when it held; oldest first within each subject."""
    about: dict[Key, list[Statement]] = defaultdict(list)
    for one in statements:
        if as_of is None or one.said_at <= as_of:
            about[key_of(one)].append(one)
    return [held for key in sorted(about) for held in _line(sorted(about[key], key=_order))]


def _line(line: Sequence[Statement]) -> list[Held]:
    found = []
    for at, one in enumerate(line):
        sure = one.source != "inferred"
        known = not sure and any(other.source != "inferred" for other in line[:at])
        after = (
            other.said_at for other in line[at + 1 :] if other.source != "inferred" or not sure
        )
        found.append(Held(one, one.said_at, one.said_at if known else next(after, None)))
    return found


def current(statements: Iterable[Statement], as_of: int | None = None) -> list[Held]:
    """What held then (None: holds now): at most one statement for each subject and attribute."""
    return [
        held for held in history(statements, as_of) if held.current and not held.statement.retracts
    ]


def _order(one: Statement) -> tuple[int, int, str, int, int, str]:
    """By when it was said; at the same moment the surer source wins, then what comes later in its
    session, then the later id. Messages without a time share that of their session."""
    return one.said_at, _RANK[one.source], one.session, one.index, one.place, one.id


def plain(words: str) -> str:
    """Words as they are compared."""
    return " ".join(words.casefold().split())
