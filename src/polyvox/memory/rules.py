"""Loops without a model: what a person said they would do, by plain rules about English sentences.

Honest and simple: only the person's own words, only sentences that say it outright. A hedge, a
question, a condition, something past or somebody else's promise is no loop. What is missed here is
still in the transcript and found by recall.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal

from polyvox.memory.tables.loops import Horizon, LoopType
from polyvox.memory.times import month_end, next_date

_SENTENCE = re.compile(r"[^.!?\n]+[.!?]?")
_I = r"(?:i['’]?ll|i\s+will|i['’]?m\s+going\s+to|i\s+am\s+going\s+to|i['’]?m\s+gonna)"
_AM = r"(?:i['’]?m|i\s+am)"
_ADVERB = r"(?:\s+(?:definitely|really|just|finally|also|then|now))?"
_WHEN = (
    r"(?:(?:today|tonight|tomorrow|first|next|next\s+\w+|this\s+\w+|later|(?:on|from|by)\s+\w+)"
    r"(?:\s+(?:morning|afternoon|evening|night|on))?,?\s+)"
)
_START = rf"(?:^{_WHEN}?|[,;:–—-]\s*|\b(?:and|but|so|then|ok|okay|anyway|because)\s+{_WHEN}?)"
_SOON = (
    r"\b(?:today|tonight|tomorrow|by\s+\w+|before\s+\w+|this\s+(?:morning|afternoon|evening|week"
    r"|weekend)|(?:on|next)\s+(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday|week))\b"
)
_HOLLOW = (
    "accept|admit|agree|assume|be|bed|believe|bet|confess|feel|get about|get back|get there"
    "|get used|give you|guess|have to|hear|hope|imagine|know|laugh|let you know|like|live|lose"
    "|love|manage|miss|need|never|not|not be|probably|regret|remember|say|see|sit|sleep|stand"
    "|stay|stop you|survive|take that|think|try to be|understand|wait|want|wish|wonder"
)
_NOT_PERFECT = r"(?!\s+have\s+(?!(?:the|an?|my|our|his|her|their|this|that|it|to)\b))"
"""Not as in "must have lost", which says what was."""
_WHAT = rf"(?P<what>(?!(?:{_HOLLOW})\b)\w.+)"
_PATTERNS: tuple[tuple[LoopType, str, str], ...] = (
    # (what it is, words of which a sentence must hold one to be looked at more closely, the rule)
    ("commitment", "ll will going gonna", rf"(?P<lead>{_I}{_ADVERB})\s+{_WHAT}"),
    (
        "commitment",
        "promised swore agreed committed",
        (
            r"(?P<lead>i\s+(?:promised|swore|agreed|committed)(?:\s+\w+)?\s+(?:to|(?:that\s+)?i['’]?d))"
            r"\s+(?P<what>\w.+)"
        ),
    ),
    (
        "commitment",
        "need must have got remind",
        (
            rf"(?P<lead>i\s+(?:(?:really|still|also|just)\s+)?(?:need\s+to|must{_NOT_PERFECT})"
            r"|i\s+(?:really|still|also)\s+have\s+to"
            rf"|i['’]?ve\s+(?:still\s+)?got\s+to|i\s+gotta|remind\s+me\s+to)\s+{_WHAT}"
        ),
    ),
    # "I have to" is as often a complaint: it counts where it says which thing, or by when.
    (
        "commitment",
        "have",
        (
            rf"(?P<lead>i\s+have\s+to)\s+(?=\S+\s+(?:\w+\s+)?(?:the|a|an|my|our|his|her|their)\b"
            rf"|.*{_SOON}){_WHAT}"
        ),
    ),
    (
        "decision",
        "decided made",
        (
            r"(?P<lead>i(?:['’]?ve|\s+have)?\s+(?:finally\s+)?decided\s+(?:to|that\s+i['’]?ll)"
            r"|i['’]?ve\s+made\s+up\s+my\s+mind\s+to)\s+(?P<what>(?!not\b)\w.+)"
        ),
    ),
    (
        "friction",
        "putting avoiding procrastinating stuck bring",
        (
            r"(?P<lead>(?:i\s+(?:keep|kept)|i\s+am|i\s+was|i['’]?m|i\s+have\s+been|i['’]?ve\s+been)"
            r"\s+(?:putting\s+off|avoiding|procrastinating\s+on)|i['’]?m\s+stuck\s+(?:on|with)"
            r"|i\s+can['’]?t\s+bring\s+myself\s+to)\s+(?P<what>\w.+)"
        ),
    ),
    (
        "habit",
        "want plan mean intend",
        (
            r"(?P<lead>i\s+(?:want|plan|mean|intend)\s+to\s+(?:start|begin|stop|quit))\s+"
            r"(?P<what>\w+ing\b.*)"
        ),
    ),
    (
        "commitment",
        "plan mean intend",
        (
            rf"(?P<lead>i\s+(?:plan|intend|mean)\s+to|{_AM}\s+planning\s+to|my\s+plan\s+is\s+to)"
            r"\s+(?P<what>\w.+)"
        ),
    ),
    (
        "thread",
        "waiting",
        (
            r"(?P<lead>(?:i['’]?m|i\s+am|we['’]?re|we\s+are)\s+(?:still\s+)?waiting"
            r"\s+(?:for|on|to\s+hear)|still\s+waiting\s+(?:for|on|to\s+hear))\s+(?P<what>\w.+)"
        ),
    ),
)
_RULES = tuple(
    (kind, tuple(words.split()), re.compile(_START + rule, re.IGNORECASE))
    for kind, words, rule in _PATTERNS
)
_NOT = re.compile(
    r"\b(?:if|unless|whether|maybe|perhaps|might|would|could|supposed|used\s+to|suppose|pretend"
    r"|said|says|told|asked|wondering|no\s+longer\s+need)\b",
    re.IGNORECASE,
)
_DONE = re.compile(
    r"(?:^|[,;:–—-]\s*|\b(?:and|but|so|then|ok|okay|anyway|yes|yesterday|today)\s+)"
    r"(?:(?:i|we)(?:['’]?ve|\s+have)?\s+(?:(?:just|finally|already|actually)\s+)*"
    r"(?P<verb>\w+(?:ed|t)|did|made|sent|wrote|bought|paid|got|took|went|saw|spoke|told|gave|ran"
    r"|read|found|sold|chose|began|held|built|brought|taught|finished\s+\w+ing|done)"
    r"|done\s+with|finished(?:\s+with)?)\b(?P<what>.+)",
    re.IGNORECASE,
)
_DROPPED = re.compile(
    r"(?:^|[,;:–—-]\s*|\b(?:and|but|so|then|ok|okay|anyway)\s+)"
    r"(?:i['’]?(?:ve|\s+have)?\s*decided\s+(?:against|not\s+to)|i['’]?m\s+not\s+going\s+to"
    r"|i\s+won['’]?t|i\s+no\s+longer\s+(?:need|have|want)\s+to|forget\s+about|scrap"
    r"|i\s+don['’]?t\s+(?:need|have)\s+to)\s+(?P<what>\w.*)",
    re.IGNORECASE,
)
_YET = re.compile(r"\b(?:yet|almost|nearly|half|tried|started|want|wanted|forgot)\b", re.IGNORECASE)
_IRREGULAR = {
    "bought": "buy", "brought": "bring", "built": "build", "began": "begin", "chose": "choose",
    "did": "do", "done": "do", "found": "find", "gave": "give", "got": "get", "held": "hold",
    "made": "make", "paid": "pay", "ran": "run", "saw": "see", "sent": "send", "sold": "sell",
    "spoke": "speak", "taught": "teach", "told": "tell", "took": "take", "went": "go",
    "wrote": "write",
}  # fmt: skip
_TRAIL = re.compile(r"[\s,;:.!–—-]+$")
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_DAY = re.compile(rf"\b(?:(next)\s+)?({'|'.join(_DAYS)})\b", re.IGNORECASE)
_IN = re.compile(
    r"\bin\s+(?:(a|one|two|three|four|five|six|\d{1,2})\s+)(day|week)s?\b", re.IGNORECASE
)
_ORDINAL = re.compile(
    r"\b(?:on|by|for|until|before)\s+the\s+(\d{1,2})(?:st|nd|rd|th)\b"
    r"(?=\s*(?:$|[^\w\s-])|\s+(?:and|at|because|but|for|from|if|in|so|to|when|with)\b)"
)
_END = re.compile(r"\bend\s+of\s+(?:(?:the|this)\s+)?(week|month)\b")
_WEEK = re.compile(r"\b(?:this|next|end\s+of(?:\s+the)?)\s+week\b", re.IGNORECASE)
_NUMBERS = {"a": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
_TIMES = re.compile(
    r"\b(?:(?:on|by|before|until|from|for|over|next|this|the|in)\s+)*"
    rf"(?:today|tonight|tomorrow|weekend|week|month|{'|'.join(_DAYS)})"
    r"(?:\s+(?:morning|afternoon|evening|night))?\b"
    r"|\bthis\s+(?:morning|afternoon|evening)\b|\bin\s+\w+\s+(?:day|week|month)s?\b",
    re.IGNORECASE,
)
_HABITUAL = re.compile(
    r"\b(?:every|each)\s+(?:(?:single|other|second|third|few|two|three)\s+)?"
    rf"(?:day|morning|afternoon|evening|night|week|weekend|month|year|time|{'|'.join(_DAYS)})s?\b"
    r"|\b(?:daily|weekly)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Found:
    """A loop in a message: what, of which kind, in whose words, until when."""

    type: LoopType
    text: str
    quote: str
    horizon: Horizon
    due: date | None


def loops_in(message: str, said_on: date) -> Iterator[Found]:
    """The loops a message opens; relative days count from the day it was said."""
    for found in _SENTENCE.finditer(message):
        sentence = found[0].strip()
        if sentence.endswith("?") or len(sentence) > 400:
            continue
        loop = _loop(sentence, said_on)
        if loop is not None:
            yield loop


def _loop(sentence: str, said_on: date) -> Found | None:
    lower = sentence.lower()
    for kind, words, rule in _RULES:
        # Nearly all of them find nothing, and take some 30 µs for it.
        match = rule.search(sentence) if any(word in lower for word in words) else None
        if match is None:
            continue
        if _NOT.search(sentence[: match.end("lead")]):
            return None
        what = _TRAIL.sub("", match["what"]).strip()
        if len(what) < 4 or len(what.split()) < 2:
            return None
        type_: LoopType = "habit" if kind == "commitment" and _HABITUAL.search(what) else kind
        rest = sentence[match.start() :]
        due = None if type_ == "habit" else due_in(rest, said_on)
        horizon = horizon_of(due, said_on, rest)
        return Found(type_, what[0].upper() + what[1:], sentence, horizon, due)
    return None


@dataclass(frozen=True, slots=True)
class Over:
    """A message says of something that it is done, or will not be."""

    status: Literal["done", "dropped"]
    text: str
    """What, with its verb as one would plan it."""
    quote: str


def endings_in(message: str) -> Iterator[Over]:
    """What a message says is done or dropped; most of it was never a loop."""
    for found in _SENTENCE.finditer(message):
        sentence = found[0].strip()
        if sentence.endswith("?") or len(sentence) > 400:
            continue
        dropped = _DROPPED.search(sentence)
        if dropped is not None and not _NOT.search(sentence[: dropped.start("what")]):
            yield Over("dropped", _TRAIL.sub("", dropped["what"]), sentence)
            continue
        done = _DONE.search(sentence)
        if done is None or _NOT.search(sentence) or _YET.search(sentence):
            continue
        verb = (done["verb"] or "").lower()
        what = f"{_IRREGULAR.get(verb, verb)} {done['what'].strip()}".strip()
        yield Over("done", _TRAIL.sub("", what), sentence)


def without_times(text: str) -> str:
    """A text without the days it names: what is to be done, whenever."""
    return _TIMES.sub(" ", text)


def due_in(text: str, said_on: date) -> date | None:
    """The day by which something is to be done, seen from the day it was said."""
    lower = text.lower()
    if (day := day_in(lower, said_on)) is not None:
        return day
    if (found := _END.search(lower)) is not None:
        return month_end(said_on) if found[1] == "month" else _sunday(said_on)
    if (found := _ORDINAL.search(lower)) is not None:
        return _next_ordinal(int(found[1]), said_on)
    return None


def day_in(text: str, said_on: date) -> date | None:
    """The day ahead that a text names, whatever is to be on it."""
    lower = text.lower()
    if re.search(r"\b(?:today|tonight|this\s+(?:morning|afternoon|evening))\b", lower):
        return said_on
    if re.search(r"\bday\s+after\s+tomorrow\b", lower):
        return said_on + timedelta(days=2)
    if re.search(r"\btomorrow\b", lower):
        return said_on + timedelta(days=1)
    if (found := _IN.search(lower)) is not None:
        count = _NUMBERS.get(found[1]) or int(found[1])
        return said_on + timedelta(days=count * (7 if found[2] == "week" else 1))
    if (day := next_date(lower, said_on)) is not None:
        return day
    if (found := _DAY.search(lower)) is not None:
        ahead = (_DAYS.index(found[2]) - said_on.weekday()) % 7 or 7
        return said_on + timedelta(days=ahead)
    if re.search(r"\b(?:this|the)\s+weekend\b", lower):
        return said_on + timedelta(days=(5 - said_on.weekday()) % 7)
    if re.search(r"\b(?:this\s+week|end\s+of\s+the\s+week)\b", lower):
        return _sunday(said_on)
    if re.search(r"\bnext\s+week\b", lower):
        return said_on + timedelta(days=7 - said_on.weekday())
    return None


def _sunday(day: date) -> date:
    """The end of its week."""
    return day + timedelta(days=6 - day.weekday())


def _next_ordinal(number: int, today: date) -> date | None:
    """The next day with this number; none, where no month has so many."""
    if not 1 <= number <= 31:
        return None
    days = (today + timedelta(days=ahead) for ahead in range(62))
    return next(day for day in days if day.day == number)


def horizon_of(due: date | None, said_on: date, words: str = "") -> Horizon:
    """How near a day is. "This week" and "next week" mean a week, on its last day too."""
    if due is None:
        return "ongoing"
    days = (due - said_on).days
    if days <= 1 and not _WEEK.search(words):
        return "today"
    return "this_week" if days <= 7 else "ongoing"


# -- standing instructions without a model: how a person wants to be answered from now on ----------
# Only sentences that say outright how every answer should be, said to whoever answers. They go to
# the profile, which is always loaded: searching for them would find them too rarely.

Place = Literal["instructions", "name", "preferences.avoid"]

_WISH_SENTENCE = re.compile(r"[^.!?\n]+[.!?]?")
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
_WISHES = tuple(
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
    for found in _WISH_SENTENCE.finditer(_FENCED.sub("\n", message)):
        sentence = found[0].strip()
        if sentence.endswith("?") or len(sentence) > 300:
            continue
        if (named := _NAME.match(sentence)) is not None:
            yield Wish("name", named["name"], sentence)
            continue
        if any(rule.match(sentence) for rule in _WISHES):
            yield Wish("instructions", sentence.rstrip(" .!"), sentence)
            if (avoid := _AVOID.search(sentence)) is not None:
                yield Wish("preferences.avoid", avoid["what"].strip(), sentence)
