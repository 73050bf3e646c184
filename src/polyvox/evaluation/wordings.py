"""What an assertion says, checked by one set of rules for every door and every file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from polyvox.errors import Invalid
from polyvox.evaluation.checks import described, understood
from polyvox.evaluation.values import Kind
from polyvox.receive import clean

LONGEST = 2000
"""Characters of an assertion."""
MOST = 100
"""Made at once."""
MOST_TAGS = 20
LONGEST_TAG = 40
_MARK = re.compile(r"^\s*(?:[-*•]\s+|\d{1,3}[.)]\s+|\[[ x]\]\s+)+")


@dataclass(frozen=True, slots=True)
class Wording:
    """What an assertion says, whether it is stored yet or not."""

    text: str
    kind: Kind = "judge"
    args: Mapping[str, Any] = field(default_factory=dict)


def lines(text: str) -> list[str]:
    """One assertion per line, without the marks of a list."""
    found = (_MARK.sub("", line).strip() for line in text.splitlines())
    return [line for line in found if line]


def checked(wordings: Iterable[Wording], most: int = MOST) -> list[Wording]:
    """The wordings, if all of them can be stored; each is there once, checks have words."""
    found: dict[tuple[str, str, str], Wording] = {}
    for given in wordings:
        one = wording(given.text, given.kind, given.args)
        found.setdefault((one.text, one.kind, repr(one.args)), one)
    if not found:
        raise Invalid("There is no assertion in it.", "Write at least one.", param="texts")
    if len(found) > most:
        raise Invalid(f"{len(found):,} assertions are too many; {most} at once.", param="texts")
    return list(found.values())


def wording(text: str, kind: Kind, args: object) -> Wording:
    """What an assertion says, if it can be said; a check without words gets some."""
    if args is not None and not isinstance(args, dict):
        raise Invalid("The arguments must be a table.", "Name each of them.", param="args")
    given = understood(kind, args)
    said = " ".join(text.split())
    if not said and kind != "judge":
        said = described(kind, given)
    return Wording(clean(said, "text", LONGEST), kind, given)


def tags(given: Iterable[str]) -> tuple[str, ...]:
    """Tags as they are compared: in small letters, without # and spaces."""
    found: dict[str, None] = {}
    for tag in given:
        plain = "-".join(tag.strip().lstrip("#").casefold().split())
        clean(plain, "tags", LONGEST_TAG)
        if not re.fullmatch(r"[\w.:/-]+", plain):
            raise Invalid(
                f"The tag {tag[:60]!r} has signs that a tag cannot have.",
                "Use letters, digits, hyphens.",
                param="tags",
            )
        found[plain] = None
    if len(found) > MOST_TAGS:
        raise Invalid(f"{MOST_TAGS} tags are the most.", "Use fewer.", param="tags")
    return tuple(found)
