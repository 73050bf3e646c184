"""From what a person said to statements: a model notes them, code verifies what it can know.

A quote must occur in the person's own words, a number in the message, the number of a known
statement in the request; a row that fails is dropped and counted. Pure: no store, no model.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, timedelta, tzinfo
from typing import Literal, cast, get_args

from polyvox.ids import content_hash
from polyvox.memory.asking import Table, number_of, rows_of, text_of
from polyvox.memory.loops import URGENCY, horizon_of
from polyvox.memory.profile import DOMAINS
from polyvox.memory.tables.statements import (
    Horizon,
    Kind,
    Link,
    LinkKind,
    LoopType,
    Plan,
    Precision,
    Statement,
    plain,
)
from polyvox.memory.times import date_of, midnight
from polyvox.memory.values import Episode

BATCH_CHARS = 16_000
BATCH_MESSAGES = 60
MOST_ROWS = 60
"""Of each kind, from one batch: a model that notes more is only copying."""
MOST_TAGS = 8
ASKED_CHARS = 500
"""The end of each answer that stood before a message, as context."""
LISTS = ("facts", "loops", "profile", "instructions", "closed")
PLACES = ("north_star", "current_focus", "work_context", "key_relationships", "patterns",
          "preferences.tone", "preferences.avoid", "name")  # fmt: skip
_FOLDED = str.maketrans("’‘‚‛“”„‟«»–—\u00a0", '\'\'\'\'""""""-- ')
_DATE = re.compile(r"(\d{4})(?:-(\d\d))?(?:-(\d\d))?")
_DIGITS = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Said:
    """A message of the person's, with when it was said and whether a cloud model may read it."""

    episode: Episode
    at: int
    cloud: bool
    answers: tuple[str, ...] = ()
    """The answers that stood right before it: what it may reply to."""


@dataclass(slots=True)
class Extracted:
    """The statements and links found in some messages."""

    statements: list[Statement] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    hard: set[int] = field(default_factory=set)
    """Messages that speak of danger or grief: nothing else is taken from them."""
    dropped: int = 0
    """Rows of a model that could not be verified."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Messages that are worked through at once; `first` to `last` are indexes of the session's
    messages, those in between that nobody needs to read included."""

    first: int
    last: int
    said: tuple[Said, ...]


def next_batch(said: Sequence[Said], first: int, upto: int) -> Batch | None:
    """The next batch of a session of `upto` messages; None: all of it was worked through."""
    if first >= upto:
        return None
    some: list[Said] = []
    chars = 0
    for one in (each for each in said if each.episode.index >= first):
        size = min(len(one.episode.text), BATCH_CHARS)
        if some and (chars + size > BATCH_CHARS or len(some) == BATCH_MESSAGES):
            return Batch(first, one.episode.index - 1, tuple(some))
        some.append(one)
        chars += size
    return Batch(first, upto - 1, tuple(some))


def as_data(said: Sequence[Said], zone: tzinfo | None = UTC) -> str:
    """The person's messages as a model is shown them, one line of JSON each, so that none can pose
    as more."""
    return "\n".join(_line(one, zone) for one in said)


def as_request(said: Sequence[Said], known: Sequence[Statement], zone: tzinfo | None = UTC) -> str:
    """The known statements, numbered, and the messages, each after the answers before it."""
    lines = [
        _json(
            {
                "known": number,
                "kind": one.kind,
                "about": " ".join(filter(None, (one.subject, one.attribute))),
                "text": one.text,
                "said": date_of(one.said_at, zone).isoformat(),
            }
        )
        for number, one in enumerate(known, 1)
    ]
    for one in said:
        lines += [_json({"assistant": answer[-ASKED_CHARS:]}) for answer in one.answers]
        lines.append(_line(one, zone))
    return "\n".join(lines)


def _line(one: Said, zone: tzinfo | None) -> str:
    day, text = date_of(one.at, zone).isoformat(), one.episode.text[:BATCH_CHARS]
    return _json({"n": one.episode.index, "said": day, "text": text})


def _json(value: Mapping[str, object]) -> str:
    return json.dumps(value, ensure_ascii=False)


def verified(
    data: Table, said: Sequence[Said], known: Sequence[Statement], zone: tzinfo | None = UTC
) -> Extracted:
    """A model's notes, as far as code can verify them."""
    found = Extracted()
    hard = data.get("hard")
    here = {one.episode.index for one in said}
    if isinstance(hard, list):
        found.hard = {index for index in hard if isinstance(index, int) and index in here}
    numbered = dict(enumerate(known, 1))
    kinds: tuple[Kind, ...] = ("fact", "loop", "profile", "instruction")
    for name, kind in zip(LISTS, kinds, strict=False):
        for row in rows_of(data, name)[:MOST_ROWS]:
            shown = _shown(row, said)
            one = None if shown is None else _statement(kind, row, *shown, zone)
            if one is None or one.message_index in found.hard:
                found.dropped += 1
                continue
            found.statements.append(one)
            found.links += _replacing(row, one, numbered)
    for row in rows_of(data, "closed")[:MOST_ROWS]:
        shown, target = _shown(row, said), numbered.get(_int(row.get("known")))
        status = text_of(row, "status")
        if shown is None or target is None or status not in ("done", "dropped", "ended"):
            found.dropped += 1
        elif shown[0].episode.index not in found.hard:
            found.links.append(_link(cast("LinkKind", status), target.id, None, *shown))
    return found


def span_of(text: str, quote: str) -> tuple[int, int] | None:
    """Where the very words of a text stand that a quote means: it may differ in spaces, case and
    the shape of its marks, in nothing else. None: they do not occur as whole words, or say nothing.
    """
    wanted = quote.translate(_FOLDED).strip(" \t\n\"'.…")
    if sum(letter.isalnum() for letter in wanted) < 2:
        return None
    pattern = r"\s+".join(re.escape(word) for word in wanted.split())
    for match in re.finditer(pattern, text.translate(_FOLDED), re.IGNORECASE):
        start, end = match.span()
        if not (_inside(text[max(0, start - 1) : start + 1]) or _inside(text[end - 1 : end + 1])):
            return start, end
    return None


def _inside(pair: str) -> bool:
    """True if two letters stand inside one word. Scripts without capitals may set no spaces."""
    return len(pair) == 2 and all(letter.upper() != letter.lower() for letter in pair)


def _shown(row: Table, said: Sequence[Said]) -> tuple[Said, str] | None:
    """The message that a row quotes, the one it names if it does, and its words."""
    quote = row.get("quote")
    if not isinstance(quote, str):
        return None
    for one in sorted(said, key=lambda one: one.episode.index != row.get("n")):
        span = span_of(one.episode.text, quote)
        if span is not None:
            return one, one.episode.text[slice(*span)]
    return None


def _statement(
    kind: Kind, row: Table, one: Said, quote: str, zone: tzinfo | None
) -> Statement | None:
    text = text_of(row, "text", 300 if kind == "loop" else 600)
    subject, attribute = text_of(row, "subject", 120), text_of(row, "attribute", 80)
    plan, span, precision = None, None, None
    if kind == "instruction":
        text, subject, attribute = quote[:300], "user", ""  # it is told as their own words
    elif kind == "profile":
        subject, attribute = text_of(row, "item", 80), text_of(row, "field")
        if attribute not in PLACES or (attribute == "key_relationships" and not subject):
            return None
        if attribute == "name" and plain(text) not in plain(quote):
            return None
        if attribute == "north_star":
            subject = plain(subject) if plain(subject) in DOMAINS else "general"
        elif attribute in ("patterns", "preferences.avoid"):
            subject = plain(text)
        elif attribute != "key_relationships":
            subject = ""
    elif kind == "loop":
        plan, subject = _plan(row, one, zone), "user"
        attribute = f"#{plain(text)}"
    else:
        span, precision = _about(text_of(row, "about", 40), zone)
        subject = subject or "user"
    dates = text_of(row, "due") + text_of(row, "about") + date_of(one.at, zone).isoformat()
    if not text or not _numbers_known(text, one.episode.text + " " + dates):
        return None
    place = one.episode.session_id, one.episode.index
    made = content_hash(_json({"id": [kind, *place, subject, attribute, plain(text)]}))
    start, _ = span_of(one.episode.text, quote) or (0, 0)
    return Statement(
        f"{start:05}-{made}",  # what a message says last comes last
        kind,
        subject,
        "" if kind == "loop" else attribute,
        text,
        one.at,
        about_from=None if span is None else span[0],
        about_to=None if span is None else span[1],
        about_precision=precision,
        source="inferred" if row.get("stated") is False else "user_stated",
        confidence=round(number_of(row, "confidence", 0, 1, 0.8), 3),
        session_id=one.episode.session_id,
        message_index=one.episode.index,
        role="user",
        quote=quote,
        cloud=one.cloud,
        plan=plan,
    )


def _replacing(row: Table, one: Statement, known: Mapping[int, Statement]) -> list[Link]:
    """Links to the known statements that a row replaces or repeats, of the same kind only."""
    links = []
    wanted: tuple[tuple[str, Literal["supersedes", "repeats"]], ...] = (
        ("replaces", "supersedes"),
        ("repeats", "repeats"),
    )
    for name, kind in wanted:
        given = row.get(name)
        for number in given if isinstance(given, list) else [given]:
            target = known.get(_int(number))
            if target is not None and target.kind == one.kind and target.id != one.id:
                made = content_hash(f"{kind} {target.id} {one.id}")
                place = (one.session_id, one.message_index, one.quote)
                links.append(Link(made, kind, target.id, one.id, one.said_at, *place))
    return links


def _link(kind: LinkKind, target: str, by: str | None, one: Said, quote: str) -> Link:
    place = one.episode.session_id, one.episode.index
    made = content_hash(_json({"link": [kind, target, by, *place]}))
    return Link(made, kind, target, by, one.at, *place, quote)


def _int(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _numbers_known(text: str, source: str) -> bool:
    """True if every number of a text stands in its source."""
    there = {number.lstrip("0") for number in _DIGITS.findall(source)}
    return all(number.lstrip("0") in there for number in _DIGITS.findall(text))


def _plan(row: Table, one: Said, zone: tzinfo | None) -> Plan:
    today = date_of(one.at, zone)
    try:
        due = date.fromisoformat(text_of(row, "due"))
    except ValueError:
        due = None
    kind, given, domain = text_of(row, "type"), text_of(row, "horizon"), text_of(row, "domain")
    horizon: Horizon = horizon_of(due, today)
    if given in get_args(Horizon):
        horizon = cast("Horizon", given)
    tags = row.get("tags")
    named = (text_of({"tag": tag}, "tag", 40) for tag in tags) if isinstance(tags, list) else ()
    return Plan(
        type=cast("LoopType", kind) if kind in get_args(LoopType) else "commitment",
        horizon=horizon,
        due=None if due is None else due.isoformat(),
        domain=domain if domain in DOMAINS else "general",
        importance=round(number_of(row, "importance", 1, 5, 3)),
        urgency=round(number_of(row, "urgency", 1, 5, URGENCY[horizon])),
        tags=tuple(tag for tag in named if tag)[:MOST_TAGS],
    )


def _about(text: str, zone: tzinfo | None) -> tuple[tuple[int, int] | None, Precision | None]:
    """The time that a date such as 2024-05-31, 2024-05 or 2024 means."""
    match = _DATE.fullmatch(text)
    if match is None:
        return None, None
    year, month, day = (int(part) if part else None for part in match.groups())
    try:
        first = date(year or 0, month or 1, day or 1)
    except ValueError:
        return None, None
    precision: Precision = "year"
    after = first.replace(year=first.year + 1)
    if day is not None:
        after, precision = first + timedelta(days=1), "day"
    elif month is not None:
        after, precision = (first + timedelta(days=31)).replace(day=1), "month"
    return (midnight(first, zone), midnight(after, zone)), precision
