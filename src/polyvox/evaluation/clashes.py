"""Whether two assertions can hold of one answer. It says so only where it is sure that they cannot.

Checks are compared by what they allow; words by opposites (formal, informal) and by one saying what
the other denies. What holds only under a condition (“when asked in German …”) clashes with nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from polyvox.evaluation.phrasing import predicate
from polyvox.evaluation.values import Kind

Form = tuple[str, Kind, Mapping[str, Any]]
"""An assertion's text, and the check that it is (kind `judge`: none)."""

_AXES: tuple[tuple[str, ...], ...] = (
    (
        "short|brief|concise|terse|succinct|laconic",
        "long|lengthy|detailed|exhaustive|comprehensive|thorough|verbose|in-depth",
    ),
    ("formal|formally", "informal|informally|casual|casually|colloquial|slangy"),
    (
        "serious|solemn|grave|earnest",
        "humorous|funny|playful|witty|joking|comic|light-hearted|lighthearted",
    ),
    ("direct|blunt|plain-spoken|straightforward", "indirect|oblique|gnomic|cryptic|enigmatic"),
    ("optimistic|hopeful", "pessimistic|hopeless|bleak"),
    ("confident|certain|decisive", "tentative|hesitant|hedged|uncertain"),
    ("polite|courteous", "rude|impolite|insulting"),
    ("literal|literally", "metaphorical|metaphorically|figurative"),
    ("concrete", "abstract"),
    ("non-technical|nontechnical", "technical"),
    ("first person|first-person", "second person|second-person", "third person|third-person"),
    ("present tense", "past tense", "future tense"),
)
_NEGATED = re.compile(
    r"\b(?:not|never|no|without|avoids?|lacks?|isn't|doesn't|don't|shouldn't|mustn't|aren't|nor"
    r"|neither|refrains? from)\s+(?:\w+\s+){0,2}$"
)
_CONDITION = re.compile(r"\b(?:if|when|whenever|unless|until|in case|for questions|while)\b")
_NO = re.compile(
    r"\b(?:does not|do not|should not|must not|is not|are not|doesn't|don't|shouldn't|mustn't"
    r"|isn't|aren't|never|avoids?|refrains? from|not|no|without)\b"
)
_FILLERS = (
    "a an the any all its it is be are should must does do response answer reply to at of and"
    " explicitly ever"
)
_FILLER = frozenset(_FILLERS.split())


def clash(one: Form, other: Form) -> str | None:
    """Why the two cannot both hold; None where they can, or nobody knows."""
    text, kind, args = one
    other_text, other_kind, other_args = other
    if _CONDITION.search(text.lower()) or _CONDITION.search(other_text.lower()):
        return None
    if kind != "judge" and other_kind != "judge":
        return _checks(kind, args, other_kind, other_args)
    if kind != "judge" or other_kind != "judge":
        return None
    left, right = _plain(text), _plain(other_text)
    if (pair := opposed(left, right)) is not None:
        return f"one wants “{pair[0]}”, the other “{pair[1]}”"
    if _core(left) and _core(left) == _core(right) and _denies(left) != _denies(right):
        return "one says what the other denies"
    return None


def opposed(left: str, right: str) -> tuple[str, str] | None:
    """Two opposite words, one out of each text; a denied word counts for its opposite."""
    for axis in _AXES:
        here, there = _poles(left, axis), _poles(right, axis)
        for pole, word in here.items():
            for other, counterpart in there.items():
                if pole != other and word != counterpart:
                    return word, counterpart
    return None


def _poles(text: str, axis: tuple[str, ...]) -> dict[int, str]:
    found: dict[int, str] = {}
    for pole, words in enumerate(axis):
        for match in re.finditer(rf"(?<![\w-])(?:{words})(?![\w-])", text):
            denied = _NEGATED.search(text[: match.start()]) is not None
            if not denied:
                found.setdefault(pole, match[0])
            elif len(axis) == 2:
                found.setdefault(1 - pole, f"not {match[0]}")
    return found


def _checks(
    kind: Kind, args: Mapping[str, Any], other: Kind, other_args: Mapping[str, Any]
) -> str | None:
    ranges = _range(kind, args), _range(other, other_args)
    if ranges[0] is not None and ranges[1] is not None and ranges[0][0] == ranges[1][0]:
        what, low, high = ranges[0]
        _, other_low, other_high = ranges[1]
        if max(low, other_low) > min(high, other_high):
            return f"no number of {what} suits both"
    if kind == other == "language" and args["language"] != other_args["language"]:
        return "an answer is in one language"
    if {kind, other} == {"contains", "lacks"}:
        wanted, unwanted = (args, other_args) if kind == "contains" else (other_args, args)
        if str(unwanted["text"]).casefold() in str(wanted["text"]).casefold():
            return f"“{wanted['text']}” is wanted and unwanted"
    return None


def _range(kind: Kind, args: Mapping[str, Any]) -> tuple[str, float, float] | None:
    if kind == "ends_with_question":
        return "questions", 1, float("inf")
    if kind in ("words", "sentences", "questions"):
        return kind, args.get("min", 0), args.get("max", float("inf"))
    return None


def _plain(text: str) -> str:
    return " ".join(text.lower().replace("’", "'").split()).strip(" .!")


def _denies(text: str) -> bool:
    return len(_NO.findall(text)) % 2 == 1


def _core(text: str) -> frozenset[str]:
    """The words that carry it, with verbs in their plain form."""
    words = re.findall(r"[a-z'-]+", _NO.sub(" ", predicate(text)))
    return frozenset(
        word.removesuffix("s") if len(word) > 3 else word for word in words if word not in _FILLER
    )
