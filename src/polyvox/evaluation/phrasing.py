"""Assertions in plain English that a check in code can say: offered in place of a judge, never put
there unasked. Only a sentence that is nothing but such a statement is taken for one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from polyvox.evaluation.checks import described, understood
from polyvox.evaluation.language import NAMES
from polyvox.evaluation.values import Kind

_SUBJECT = re.compile(
    r"^(?:the\s+|this\s+|its\s+|your\s+|every\s+|each\s+|an?\s+)?"
    r"(?:response|answer|reply|advisor|text|output|message|it)s?\s+",
    re.IGNORECASE,
)
_MODAL = re.compile(
    r"^(?:(?:should|must|shall|will|can|may|needs?\s+to|has\s+to|have\s+to|ought\s+to)\s+)?"
    r"(?:always\s+|only\s+)?",
    re.IGNORECASE,
)
_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
    " sixteen seventeen eighteen nineteen twenty"
)
NUMBERS = {word: number for number, word in enumerate(_SMALL.split())}
NUMBERS |= {"thirty": 30, "forty": 40, "fifty": 50, "hundred": 100}
_N = r"(\d{1,6}|" + "|".join(NUMBERS) + r"|an?|a\s+single)"
_UNIT = r"(?:\s+|-)(words?|sentences?|questions?)(?:\s+(?:long|in\s+length|in\s+total|overall))?"
_BE = (
    r"(?:(?:is|be|are|stays?|keeps?|remains?|has|have|contains?|uses?|asks?|is\s+written\s+in"
    r"|consists?\s+of|takes?)\s+)?"
)
_AT_MOST = (
    r"(?:at\s+most|no\s+more\s+than|not\s+more\s+than|up\s+to|no\s+longer\s+than"
    r"|not\s+longer\s+than|a\s+maximum\s+of|max(?:imum)?|within|not\s+exceed(?:ing)?)"
)
_AT_LEAST = (
    r"(?:at\s+least|no\s+fewer\s+than|no\s+less\s+than|not\s+less\s+than|a\s+minimum\s+of"
    r"|min(?:imum)?)"
)
_COUNTS: tuple[tuple[str, str], ...] = (
    (rf"{_BE}between\s+{_N}\s+and\s+{_N}{_UNIT}", "range"),
    (rf"{_BE}(?:from\s+)?{_N}\s*(?:to|-|–|—)\s*{_N}{_UNIT}", "range"),
    (rf"{_BE}{_AT_MOST}\s+{_N}{_UNIT}", "max"),
    (rf"{_BE}(?:fewer|less|shorter)\s+than\s+{_N}{_UNIT}", "below"),
    (rf"{_BE}(?:under|below)\s+{_N}{_UNIT}", "below"),
    (rf"{_BE}{_AT_LEAST}\s+{_N}{_UNIT}", "min"),
    (rf"{_BE}(?:more|longer)\s+than\s+{_N}{_UNIT}", "above"),
    (rf"{_BE}over\s+{_N}{_UNIT}", "above"),
    (rf"{_BE}{_N}{_UNIT}\s+or\s+(?:fewer|less|shorter)", "max"),
    (rf"{_BE}{_N}{_UNIT}\s+or\s+(?:more|longer)", "min"),
    (rf"{_BE}(?:exactly|precisely|only|just)\s+{_N}{_UNIT}", "exactly"),
)
_QUOTED = r"[\"“”'‘’«»`]([^\"“”‘’«»`]{1,200})[\"“”'’«»`]"
_SAYS = r"(?:contains?|mentions?|includes?|uses?|says?|has|have)"
_WORDED = r"(?:\s+the\s+(?:exact\s+)?(?:words?|phrases?|terms?|text|sentence))"
_ENDS = (
    r"(?:ends?|closes?|finish(?:es)?|concludes?)\s+(?:with|in|on|by\s+asking)\s+(?:a|one)\s+"
    r"(?:single\s+)?question|(?:the\s+)?last\s+sentence\s+is\s+a\s+question"
)
_SPEAKS = (
    r"(?:is|be|(?:is\s+|be\s+)?written|answers?|repl(?:y|ies)|responds?|speaks?|writes?)\s+"
    r"(?:only\s+|entirely\s+)?in\s+([A-Z][a-z]+)"
)
_LACKS = (
    rf"(?:(?:does|do|must|should)\s+not\s+{_SAYS}|(?:doesn['’]t|don['’]t)\s+{_SAYS}"
    rf"|never\s+{_SAYS}|not\s+{_SAYS}|avoids?|lacks?|omits?|leaves?\s+out){_WORDED}?\s+{_QUOTED}"
)
_PATTERNS: dict[Kind, str] = {
    "ends_with_question": _ENDS,
    "language": _SPEAKS,
    "json": r"(?:is|be|consists?\s+of|returns?)\s+(?:only\s+)?valid\s+JSON",
    "contains": rf"{_SAYS}{_WORDED}?\s+{_QUOTED}",
    "lacks": _LACKS,
}
_RULES = {kind: re.compile(pattern, re.IGNORECASE) for kind, pattern in _PATTERNS.items()}
_NO_QUESTION = re.compile(
    r"(?:asks?\s+no\s+questions?|(?:does|do|should|must)?\s*not\s+ask\s+(?:any\s+|a\s+)?questions?"
    r"|(?:doesn['’]t|never)\s+asks?\s+(?:any\s+|a\s+)?questions?|contains?\s+no\s+questions?)",
    re.IGNORECASE,
)
_ASKS = re.compile(r"asks?\s+(?:a|one)\s+question", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Coded:
    """A check that says the same as some words."""

    kind: Kind
    args: dict[str, Any]
    text: str
    """The check in words."""


def coded(text: str) -> Coded | None:
    """The check that this text is, if it is one."""
    said = predicate(text)
    found = _count(said) or _rule(said)
    if found is None:
        return None
    kind, args = found
    whole = understood(kind, args)
    return Coded(kind, whole, described(kind, whole))


def predicate(text: str) -> str:
    """What is said of the answer, without “The response should”."""
    said = " ".join(text.split()).strip(" .!")
    return _MODAL.sub("", _SUBJECT.sub("", said), count=1)


def _count(said: str) -> tuple[Kind, dict[str, Any]] | None:
    if _NO_QUESTION.fullmatch(said):
        return "questions", {"max": 0}
    if _ASKS.fullmatch(said):
        return "questions", {"min": 1}
    for pattern, how in _COUNTS:
        match = re.fullmatch(pattern, said, re.IGNORECASE)
        if match is None:
            continue
        *numbers, unit = match.groups()
        low, high = _number(numbers[0]), _number(numbers[-1])
        args = {
            "range": {"min": low, "max": high},
            "max": {"max": low},
            "below": {"max": max(0, low - 1)},
            "min": {"min": low},
            "above": {"min": low + 1},
            "exactly": {"min": low, "max": low},
        }[how]
        if args.get("min", 0) > args.get("max", low + high + 1):
            return None
        kinds: dict[str, Kind] = {"w": "words", "s": "sentences", "q": "questions"}
        return kinds[unit[0].lower()], args
    return None


def _number(word: str) -> int:
    if word.isdecimal():
        return int(word)
    return NUMBERS.get(word.lower(), 1)


def _rule(said: str) -> tuple[Kind, dict[str, Any]] | None:
    for kind, pattern in _RULES.items():
        match = pattern.fullmatch(said)
        if match is None:
            continue
        if kind == "language":
            code = next((one for one, name in NAMES.items() if name == match[1].title()), None)
            return (kind, {"language": code}) if code else None
        if kind in ("contains", "lacks"):
            return kind, {"text": match[1].strip(), "whole_words": True}
        return kind, {}
    return None
