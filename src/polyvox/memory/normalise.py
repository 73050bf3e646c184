"""Foreign packets → our values. Never raises, whatever a service sends.

Each value of `packets` says by its types what can be used: a list that is none becomes one, a row
without what it must have is dropped, a field that is missing or of the wrong kind keeps its
default. Names are taken in either spelling (`handover_text`, `handoverText`), and an older
startbrief (`timeOfDayLabel`, `timeGapHuman`, `bridgeText`, `items`) is read as well.
"""

from __future__ import annotations

import math
import re
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass, replace
from datetime import UTC, date, datetime
from functools import cache, partial
from typing import Any, Literal, TypeVar, cast, get_args, get_origin

from polyvox.context.words import unstructured
from polyvox.memory.packets import (
    Brief,
    BriefItem,
    Daily,
    Entity,
    LoopRow,
    Person,
    QueryReply,
    Recalled,
    Resume,
    Star,
    StartBrief,
    Stated,
    TimeContext,
    UserModel,
)
from polyvox.memory.times import depth_of
from polyvox.memory.values import Evidence

LONGEST = 4000
"""Characters of one text; the rest is left out."""
MOST = 200
"""Rows of one list."""
DOMAINS = ("relationships", "work", "health", "spirituality", "general")
CONFIDENCE = {"high": 0.9, "medium": 0.6, "med": 0.6, "low": 0.3}
"""What a service means that says it in a word."""
_OVER = """done dropped closed complete completed finished resolved stale cancelled canceled
abandoned archived expired"""
OVER = frozenset(_OVER.split())
"""Of a loop: that nothing is open any more. An unknown word is no reason to forget it."""
NEWER = ("handover_text", "handover_depth", "time_context", "resume", "ops_context")
"""What an older startbrief does not have; any of them tells the shape."""
_UNITS = {"minute": 1, "hour": 60, "day": 1440, "week": 10_080, "month": 43_200}
_GAP = re.compile(r"(\d{1,6})\s*(minute|hour|day|week|month)", re.IGNORECASE)

T = TypeVar("T")
Table = Mapping[str, Any]


def startbrief(data: object) -> StartBrief:
    """A startbrief of either shape. Where only the older one is told, its bridge is the handover's
    text, and a bridge too where the talk goes on. One that has no words of any kind is empty,
    whatever it says of the time."""
    table = _table(data)
    found = _read(StartBrief, table)
    if all(_get(table, name) is None for name in NEWER):
        found = _older(table, found)
    if (resume := found.resume) is not None:
        found = replace(found, resume=replace(resume, use_bridge=_bridges(resume)))
    ops = found.ops_context
    named = ops is not None and (ops.top_loops_today or ops.waiting_on)
    bridge = found.resume is not None and found.resume.bridge_text
    return found if found.handover_text or bridge or found.items or named else StartBrief()


def _bridges(resume: Resume) -> bool:
    return resume.use_bridge and resume.bridge_text is not None


def _older(table: Table, found: StartBrief) -> StartBrief:
    bridge = _told(_get(table, "bridge_text"))
    part = _read(TimeContext, {"time_of_day": _get(table, "time_of_day_label")}).time_of_day
    gap = gap_in(_first(table, "time_gap_human", "time_gap_description") or "")
    depth = None if gap is None else depth_of(gap)
    timed = part is not None or gap is not None
    return replace(
        found,
        handover_text=bridge if depth != "continuation" else None,
        handover_depth=depth,
        time_context=TimeContext(time_of_day=part, gap_minutes=gap) if timed else None,
        resume=None if bridge is None else Resume(depth == "continuation", bridge),
    )


def gap_in(words: str) -> int | None:
    """The minutes of a gap in words ("8 hours since last spoke"); None where it says none."""
    found = _GAP.search(words)
    return None if found is None else int(found[1]) * _UNITS[found[2].lower()]


def brief(data: object) -> Brief:
    """A brief; loops and summaries as texts or as rows that have one."""
    table = _table(data)
    anchors = _table(_get(table, "context_anchors"))
    found = _read(Brief, anchors | {name: one for name, one in table.items() if one})
    loops = found.open_loops or _texts(_get(table, "active_loops"))
    return replace(
        found, open_loops=loops, current_focus=_stated_text(_get(table, "current_focus"))
    )


def loops(data: object) -> tuple[LoopRow, ...]:
    """The open loops of a list, or of a packet that has one."""
    rows = data if isinstance(data, list) else _get(_table(data), "items")
    return _rows(rows, partial(_row, LoopRow))


def user_model(data: object) -> UserModel:
    """A profile, inside its envelope or bare."""
    table = _table(data)
    inner = _get(table, "model")
    model = _table(inner) if isinstance(inner, dict) else table
    preferences, stars = _table(_get(model, "preferences")), _table(_get(model, "north_star"))
    about = {name: _get(table, name) for name in ("version", "exists", "stale")}
    told = {name: _get(preferences, name) for name in ("tone", "avoid")}
    found = _read(UserModel, {**model, **about, **told, "north_star": None})
    return replace(
        found,
        north_star={one: star for one in DOMAINS if (star := _star(stars.get(one))) is not None},
        name=_stated_text(_get(model, "name")),
        completeness=_scores(_get(table, "completeness_score") or _get(table, "completeness")),
    )


def _star(data: object) -> Star | None:
    table = _table(data)
    found = _read(Star, table)
    if found.vision is None and found.goal is None:
        bare = _row(Stated, data)
        return None if bare is None else replace(found, goal=bare)
    return found


def _person(row: object) -> Person | None:
    found, table = _row(Person, row), _table(row)
    about = _first(table, "about", "text", "relationship", "who", "role") or ""
    return None if found is None else replace(found, about=about)


def daily(data: object) -> Daily:
    """A day's analysis. One that does not say whether it exists does, if it says anything."""
    table = _table(data)
    flag = _first(_table(_get(table, "metadata")), "quality_flag")
    found = _read(Daily, table)
    exists = _typed(bool, _get(table, "exists"))
    said = bool(found.themes or found.steering_note)
    return replace(
        found,
        exists=said if exists is None else exists,
        quality_flag=flag or found.quality_flag,
    )


def query(data: object) -> QueryReply:
    """What a query found. A service that tells facts alone tells items without a relevance."""
    table = _table(data)
    items = _rows(_get(table, "fact_items"), partial(_row, Recalled))
    told = {one.text for one in items}
    more = tuple(Recalled(text) for text in _texts(_get(table, "facts")) if text not in told)
    return QueryReply((*items, *more), _rows(_get(table, "entities"), partial(_row, Entity)))


def ingested(data: object) -> str | None:
    """How a service took a session in: ingested, duplicate or empty."""
    status = _get(_table(data), "status")
    return status if status in ("ingested", "duplicate", "empty") else None


# -- a value by its own types ----------------------------------------------------------------------


def _read(kind: type[T], table: Table) -> T:
    """A value of this kind, of which no field must be there."""
    return kind(**_fields(kind, table))


def _row(kind: type[T], row: object) -> T | None:
    """A value of this kind, if all that it must have is there; a bare text is its first field."""
    wanted = _shape(cast("type", kind))
    table = _table(row) or {next(iter(wanted)): row}
    found = _fields(kind, table)
    if any(must and name not in found for name, (must, _) in wanted.items()):
        return None
    status = found.get("status") or _get(table, "status")
    if kind in (BriefItem, LoopRow) and str(status).lower() in OVER:
        return None
    return kind(**found)


def _fields(kind: type, table: Table) -> dict[str, Any]:
    found = {name: read(_get(table, name)) for name, (_, read) in _shape(kind).items()}
    return {name: one for name, one in found.items() if one is not None}


Reader = Callable[[object], Any]


@cache
def _shape(kind: type) -> dict[str, tuple[bool, Reader]]:
    """Each field of a value: whether it must be there, and who reads it."""
    hints = typing.get_type_hints(kind)
    return {
        one.name: (
            one.default is MISSING and one.default_factory is MISSING,
            _NAMED.get(one.name) or partial(_typed, hints[one.name]),
        )
        for one in fields(kind)
    }


def _typed(kind: Any, data: object) -> Any:  # noqa: ANN401 - whatever the type says
    """What of the data is of this type; None: nothing."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin is types.UnionType or origin is typing.Union:
        return _typed(inner[0], data)
    if origin is Literal:
        word = data.strip().lower() if isinstance(data, str) else None
        return word if word in inner else None
    if origin is tuple:
        return _texts(data) if inner[0] is str else _rows(data, _reader(inner[0]))
    if kind is str:
        return _text(data)
    if kind is bool:
        return data if isinstance(data, bool) else None
    if kind is float:
        return _number(data)
    if kind is int:
        number = _number(data)
        return None if number is None or number < 0 else int(number)
    if is_dataclass(kind):
        wraps = kind is Stated
        return _row(cast("type", kind), data) if wraps or isinstance(data, dict) else None
    return _scores(data)


def _reader(kind: Any) -> Reader:  # noqa: ANN401 - whatever the type says
    special = {Person: _person, Evidence: _evidence}
    return special.get(kind) or partial(_row, kind)


def _evidence(row: object) -> Evidence | None:
    table = _table(row)
    index, said_at = _get(table, "message_index"), _micros(_get(table, "timestamp"))
    found = {name: _get(table, name) for name in ("session_id", "role", "quote")}
    return _row(Evidence, {**found, "index": index, "said_at": said_at})


# -- of what is there, what can be used ------------------------------------------------------------


def _table(data: object) -> dict[str, Any]:
    """A mapping by its text keys; anything else is an empty one."""
    return data if isinstance(data, dict) else {}


def _get(table: Table, name: str) -> Any:  # noqa: ANN401 - whatever they sent
    """A field by its name, in either spelling."""
    if name in table:
        return table[name]
    first, *rest = name.split("_")
    return table.get(first + "".join(word.capitalize() for word in rest))


def _first(table: Table, *names: str) -> str | None:
    """The first text under one of these names."""
    return next((text for one in names if (text := _text(_get(table, one)))), None)


def _rows(data: object, read: Callable[[object], T | None]) -> tuple[T, ...]:
    """The usable rows of a list; one row alone is a list of it."""
    rows: list[object] = data if isinstance(data, list) else [data] if data else []
    found = (read(row) for row in rows[: MOST * 4])
    return tuple(one for one in found if one is not None)[:MOST]


def _texts(data: object) -> tuple[str, ...]:
    """Texts, each once: strings, or rows that have a text under one of its names."""

    def read(row: object) -> str | None:
        return _text(row) or _first(_table(row), "text", "summary", "description")

    return tuple(dict.fromkeys(_rows(data, read)))


def _text(data: object) -> str | None:
    """A text that says something, without what cannot be stored or shown."""
    if not isinstance(data, str):
        return None
    clean = "".join(
        one for one in data[:LONGEST] if one != "\0" and not "\ud800" <= one <= "\udfff"
    )
    return clean.strip() or None


def _stated_text(data: object) -> str | None:
    return _text(data) or _first(_table(data), "text")


def _told(data: object) -> str | None:
    """A text of theirs that is put before a model as it is: it must not pose as a block."""
    text = _text(data)
    return None if text is None else unstructured(text) or None


def _number(data: object) -> float | None:
    if isinstance(data, bool) or not isinstance(data, int | float):
        return None
    return float(data) if abs(data) < 2**53 and math.isfinite(data) else None


def _clamped(data: object) -> float | None:
    """A share of one; a word for it counts too."""
    if isinstance(data, str):
        return CONFIDENCE.get(data.strip().lower())
    number = _number(data)
    return None if number is None else min(1.0, max(0.0, number))


def _scores(data: object) -> dict[str, float]:
    pairs = ((_text(name), _number(value)) for name, value in list(_table(data).items())[:MOST])
    return {name: value for name, value in pairs if name is not None and value is not None}


def _date(data: object) -> str | None:
    """A date or a time, as it is written, if it is one."""
    return data.strip() if isinstance(data, str) and _micros(data) is not None else None


def _micros(data: object) -> int | None:
    """A time of ISO 8601; without a zone it is UTC."""
    if not isinstance(data, str):
        return data if isinstance(data, int) and not isinstance(data, bool) else None
    try:
        bare = data.strip()
        if len(bare) == 10:
            read = datetime.combine(date.fromisoformat(bare), datetime.min.time(), UTC)
        else:
            read = datetime.fromisoformat(bare)
            read = read.replace(tzinfo=UTC) if read.tzinfo is None else read.astimezone(UTC)
        return int(read.timestamp() * 1_000_000)
    except (ValueError, OverflowError):
        return None


_NAMED: dict[str, Reader] = {
    "handover_text": _told,
    "bridge_text": _told,
    "due_date": _date,
    "last_seen_at": _date,
    "analysis_date": _date,
    "confidence": _clamped,
    "relevance": _clamped,
    "valid_from": _micros,
    "valid_to": _micros,
    "said_at": _micros,
}
"""Fields that take more than their type says."""
