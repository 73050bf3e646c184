"""Standing instructions without a model: how a person wants to be answered from now on.

Only sentences that say outright how every answer should be, said to whoever answers. They go to the
profile, which is always loaded: searching for them would find them too rarely.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Place = Literal["instructions", "name", "preferences.avoid"]

_SENTENCE = re.compile(r"[^.!?\n]+[.!?]?")
_FENCED = re.compile(r"^\s*(```|~~~).*?(?:^\s*\1|\Z)", re.MULTILINE | re.DOTALL)
_LEAD = (
    r"^(?:(?:ok|okay|so|and|also|oh|hey|hi|thanks|btw|by\s+the\s+way|please|could\s+you)[,\s]+)*"
)
_DO = (
    "answer|reply|respond|write|speak|talk|use|give|keep|be|start|begin|end|finish|ask|tell|include"
    "|add|mention|explain|address|call|show|assume|format|quote|translate|say|make|summari[sz]e"
    "|remind|avoid|stick|offer|suggest|apologi[sz]e|repeat|challenge|praise"
)
_ALWAYS = (
    r"(?:from\s+now\s+on|in\s+(?:the\s+)?future|going\s+forward|every\s+time|whenever\s+you\s+\w+)"
)
_STYLE = (
    "emojis?|bullet\\s+points?|bullets|lists?|jargon|exclamation\\s+marks?|small\\s+talk|headings?"
    "|flattery|filler|disclaimers?|swear\\s+words?|acronyms|buzzwords|metaphors|markdown|tables?"
)
_ANSWERS = r"(?:your\s+|the\s+)?(?:answers?|replies|responses|messages)"
_RULES = tuple(
    re.compile(_LEAD + rule, re.IGNORECASE)
    for rule in (
        rf"(?:always|never)\s+(?:{_DO})\b.+",
        rf"{_ALWAYS},?\s+(?:please\s+)?(?:always\s+|never\s+|don['’]?t\s+|do\s+not\s+)?(?:{_DO})\b.+",
        rf"(?:don['’]?t|do\s+not)\s+ever\s+(?:{_DO})\b.+",
        rf"(?:don['’]?t|do\s+not|stop|no\s+need\s+to)\s+(?:{_DO})\w*\b.+\b(?:again|any\s?more|ever)\b.*",
        rf"(?:don['’]?t|do\s+not|stop)\s+(?:use|using|add|adding)\s+(?:any\s+|so\s+many\s+)?(?:{_STYLE})\b.*",
        rf"no\s+(?:more\s+)?(?:{_STYLE})(?:,?\s+please)?[.!]?$",
        rf"keep\s+{_ANSWERS}\s+\w+.*",
        rf"i(?:['’]?d)?\s+prefer\s+(?:\w+\s+){{0,3}}{_ANSWERS}\b.*",
        r"i(?:['’]?d)?\s+prefer\s+(?:it\s+if|that|when)\s+you\b.+",
        r"(?:answer|reply|respond)\s+(?:briefly|in\s+\w+)\s+(?:from\s+now\s+on|always|please)\b.*",
    )
)
_NAME = re.compile(
    _LEAD
    + r"(?:(?:you\s+can\s+|just\s+)?call\s+me|my\s+name\s+is|i\s+go\s+by)\s+"
    + r"[\"“']?(?P<name>(?-i:[A-ZÀ-Þ])[\w'’-]*(?:\s+(?-i:[A-ZÀ-Þ])[\w'’-]*){0,2})",
    re.IGNORECASE,
)
_AVOID = re.compile(
    r"\b(?:never\s+(?:use|mention|say)|(?:don['’]?t|do\s+not)\s+(?:ever\s+)?(?:use|mention|say)"
    r"|stop\s+(?:using|mentioning|saying)|no\s+more|avoid)\s+(?:any\s+|the\s+word\s+)?"
    r"(?P<what>[^,.!?]+?)(?:\s+(?:again|any\s?more|ever|with\s+me|please))*\s*[.!]?$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Wish:
    """How a person wants to be answered."""

    place: Place
    text: str
    quote: str


def wishes_in(message: str) -> Iterator[Wish]:
    """The standing instructions of a message. What is pasted between fences is not theirs."""
    for found in _SENTENCE.finditer(_FENCED.sub("\n", message)):
        sentence = found[0].strip()
        if sentence.endswith("?") or len(sentence) > 300:
            continue
        if (named := _NAME.match(sentence)) is not None:
            yield Wish("name", named["name"], sentence)
            continue
        if any(rule.match(sentence) for rule in _RULES):
            yield Wish("instructions", sentence.rstrip(" .!"), sentence)
            if (avoid := _AVOID.search(sentence)) is not None:
                yield Wish("preferences.avoid", avoid["what"].strip(), sentence)
