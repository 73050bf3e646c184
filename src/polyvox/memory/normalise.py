"""Foreign packets → our values. Never raises, whatever a service sends.

A list that is none becomes one, a row that cannot be used is dropped, a field that is missing or of
the wrong kind is None. Names are taken in either spelling (`handover_text`, `handoverText`), and an
older startbrief (`timeOfDayLabel`, `timeGapHuman`, `bridgeText`, `items`) is read as well.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, date, datetime
from typing import TypeVar, get_args

from polyvox.context.words import unstructured
from polyvox.memory.packets import (
    Brief,
    BriefEvidence,
    BriefItem,
    Daily,
    Depth,
    Entity,
    Kind,
    LoopRow,
    OpsContext,
    PartOfDay,
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
from polyvox.memory.values import Evidence, Role

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
NEWER = (
    "handover_text",
    "handover_depth",
    "time_context",
    "resume",
    "ops_context",
)
"""What an older startbrief does not have; any of them tells the shape."""
_UNITS = {"minute": 1, "hour": 60, "day": 1440, "week": 10_080, "month": 43_200}
_GAP = re.compile(r"(\d{1,6})\s*(minute|hour|day|week|month)", re.IGNORECASE)

T = TypeVar("T")
Table = Mapping[str, object]


def startbrief(data: object) -> StartBrief:
    """A startbrief of either shape. Where only the older one is told, its bridge is the handover's
    text, and a bridge too where the talk goes on. One that has no words of any kind is empty,
    whatever it says of the time."""
    found = _startbrief(_table(data))
    bridge = found.resume is not None and found.resume.bridge_text
    named = found.ops_context is not None and any(
        (*found.ops_context.top_loops_today, *found.ops_context.waiting_on)
    )
    return found if found.handover_text or bridge or found.items or named else StartBrief()


def _startbrief(table: Table) -> StartBrief:
    items = _rows(_get(table, "items"), _item)
    if all(_get(table, name) is None for name in NEWER):
        return _older(table, items)
    depth = _get(table, "handover_depth")
    return StartBrief(
        handover_text=_told(_get(table, "handover_text")),
        handover_depth=next((one for one in get_args(Depth) if one == depth), None),
        time_context=_time(_get(table, "time_context")),
        resume=_resume(_get(table, "resume")),
        items=items,
        ops_context=_ops(_get(table, "ops_context")),
        evidence=_evidence(_get(table, "evidence")),
    )


def brief(data: object) -> Brief:
    """A brief; loops and summaries as texts or as rows that have one."""
    table = _table(data)
    anchors = _table(_get(table, "context_anchors"))
    loops = _texts(_get(table, "open_loops")) or _texts(_get(table, "active_loops"))
    return Brief(
        time_gap_description=_text(_get(table, "time_gap_description"))
        or _text(_get(anchors, "time_gap_description")),
        time_of_day_label=_text(_get(table, "time_of_day_label"))
        or _text(_get(anchors, "time_of_day_label")),
        facts=_texts(_get(table, "facts")),
        open_loops=loops,
        commitments=_texts(_get(table, "commitments")),
        current_focus=_stated_text(_get(table, "current_focus")),
        narrative_summary=_texts(_get(table, "narrative_summary")),
        brief_context=_text(_get(table, "brief_context")),
    )


def loops(data: object) -> tuple[LoopRow, ...]:
    """The open loops of a list, or of a packet that has one."""
    rows = data if isinstance(data, list) else _get(_table(data), "items")
    return _rows(rows, _loop)


def user_model(data: object) -> UserModel:
    """A profile, inside its envelope or bare."""
    table = _table(data)
    inner = _get(table, "model")
    model = _table(inner) if isinstance(inner, dict) else table
    preferences = _table(_get(model, "preferences"))
    stars = _table(_get(model, "north_star"))
    scores = _get(table, "completeness_score") or _get(table, "completeness")
    version = _number(_get(table, "version"))
    return UserModel(
        north_star={one: star for one in DOMAINS if (star := _star(stars.get(one))) is not None},
        current_focus=_stated(_get(model, "current_focus")),
        work_context=_stated(_get(model, "work_context")),
        key_relationships=_rows(_get(model, "key_relationships"), _person),
        patterns=_rows(_get(model, "patterns"), _stated),
        tone=_stated(_get(preferences, "tone")),
        avoid=_texts(_get(preferences, "avoid")),
        instructions=_texts(_get(model, "instructions")),
        name=_stated_text(_get(model, "name")),
        completeness=_scores(scores),
        version=None if version is None else int(version),
        exists=_flag(_get(table, "exists")),
        stale=_flag(_get(table, "stale")),
    )


def daily(data: object) -> Daily:
    """A day's analysis. One that does not say whether it exists does, if it says anything."""
    table = _table(data)
    themes = _texts(_get(table, "themes"))
    note = _text(_get(table, "steering_note"))
    metadata = _table(_get(table, "metadata"))
    flag = _text(_get(metadata, "quality_flag")) or _text(_get(table, "quality_flag"))
    exists = _flag(_get(table, "exists"))
    return Daily(
        analysis_date=_date(_get(table, "analysis_date")),
        themes=themes,
        scores=_scores(_get(table, "scores")),
        steering_note=note,
        confidence=_confidence(_get(table, "confidence")),
        exists=bool(themes or note) if exists is None else exists,
        quality_flag=flag,
    )


def query(data: object) -> QueryReply:
    """What a query found. A service that tells facts alone tells items without a relevance."""
    table = _table(data)
    items = _rows(_get(table, "fact_items"), _recalled)
    told = {one.text for one in items}
    facts = _texts(_get(table, "facts"))
    more = tuple(Recalled(text) for text in facts if text not in told)
    return QueryReply((*items, *more), _rows(_get(table, "entities"), _entity))


def ingested(data: object) -> str | None:
    """How a service took a session in: ingested, duplicate or empty."""
    status = _get(_table(data), "status")
    return status if status in ("ingested", "duplicate", "empty") else None


def _older(table: Table, items: tuple[BriefItem, ...]) -> StartBrief:
    bridge = _told(_get(table, "bridge_text"))
    part = _part(_get(table, "time_of_day_label"))
    human = _text(_get(table, "time_gap_human")) or _text(_get(table, "time_gap_description"))
    gap = gap_in(human or "")
    context = None
    if part is not None or gap is not None:
        context = TimeContext(time_of_day=part, gap_minutes=gap)
    depth = None if gap is None else depth_of(gap)
    resume = None
    if bridge is not None:
        resume = Resume(depth == "continuation", bridge)
    return StartBrief(
        handover_text=bridge if depth != "continuation" else None,
        handover_depth=depth,
        time_context=context,
        resume=resume,
        items=items,
        evidence=_evidence(_get(table, "evidence")),
    )


def gap_in(words: str) -> int | None:
    """The minutes of a gap in words ("8 hours since last spoke"); None where it says none."""
    found = _GAP.search(words)
    return None if found is None else int(found[1]) * _UNITS[found[2].lower()]


def _time(data: object) -> TimeContext | None:
    if not isinstance(data, dict):
        return None
    gap, count = _number(_get(data, "gap_minutes")), _number(_get(data, "sessions_today"))
    return TimeContext(
        local_time=_text(_get(data, "local_time")),
        time_of_day=_part(_get(data, "time_of_day")),
        gap_minutes=None if gap is None or gap < 0 else int(gap),
        sessions_today=None if count is None or count < 0 else int(count),
        first_session_today=_flag(_get(data, "first_session_today")),
    )


def _resume(data: object) -> Resume | None:
    if not isinstance(data, dict):
        return None
    text = _told(_get(data, "bridge_text"))
    return Resume(_get(data, "use_bridge") is True and text is not None, text)


def _item(row: object) -> BriefItem | None:
    table = _table(row)
    text = _text(_get(table, "text"))
    kinds: tuple[Kind, ...] = get_args(Kind)
    kind = next((one for one in kinds if one == _get(table, "kind")), None)
    if text is None or kind is None or _is_over(_text(_get(table, "status"))):
        return None
    return BriefItem(
        kind=kind,
        text=text,
        type=_text(_get(table, "type")),
        time_horizon=_text(_get(table, "time_horizon")),
        due_date=_date(_get(table, "due_date")),
        salience=_number(_get(table, "salience")),
        last_seen_at=_date(_get(table, "last_seen_at")),
    )


def _ops(data: object) -> OpsContext | None:
    if not isinstance(data, dict):
        return None
    return OpsContext(
        top_loops_today=_texts(_get(data, "top_loops_today")),
        waiting_on=_texts(_get(data, "waiting_on")),
        user_model_hints=_texts(_get(data, "user_model_hints")),
        yesterday_themes=_texts(_get(data, "yesterday_themes")),
        steering_note=_text(_get(data, "steering_note")),
    )


def _evidence(data: object) -> BriefEvidence | None:
    if not isinstance(data, dict):
        return None
    return BriefEvidence(
        session_ids=_texts(_get(data, "session_ids")),
        episode_ids=_texts(_get(data, "episode_ids")),
        loop_ids=_texts(_get(data, "loop_ids")),
        quality=_text(_get(data, "quality")),
        fallback=_text(_get(data, "fallback")),
    )


def _loop(row: object) -> LoopRow | None:
    table = _table(row)
    text, status = _text(_get(table, "text")), _text(_get(table, "status"))
    if text is None or _is_over(status):
        return None
    return LoopRow(
        text=text,
        id=_text(_get(table, "id")),
        type=_text(_get(table, "type")),
        status=status,
        salience=_number(_get(table, "salience")),
        time_horizon=_text(_get(table, "time_horizon")),
        due_date=_date(_get(table, "due_date")),
        last_seen_at=_date(_get(table, "last_seen_at")),
        domain=_text(_get(table, "domain")),
        importance=_number(_get(table, "importance")),
        urgency=_number(_get(table, "urgency")),
        tags=_texts(_get(table, "tags")),
    )


def _is_over(status: str | None) -> bool:
    return status is not None and status.lower() in OVER


def _recalled(row: object) -> Recalled | None:
    table = _table(row)
    text = _text(row) or _text(_get(table, "text"))
    if text is None:
        return None
    relevance = _number(_get(table, "relevance"))
    return Recalled(
        text=text,
        relevance=None if relevance is None else min(1.0, max(0.0, relevance)),
        source=_text(_get(table, "source")),
        evidence=_rows(_get(table, "evidence"), _quoted),
        valid_from=_micros(_get(table, "valid_from")),
        valid_to=_micros(_get(table, "valid_to")),
        status="superseded" if _get(table, "status") == "superseded" else "current",
    )


def _quoted(row: object) -> Evidence | None:
    table = _table(row)
    session, words = _text(_get(table, "session_id")), _text(_get(table, "quote"))
    index = _number(_get(table, "message_index"))
    roles: tuple[Role, ...] = get_args(Role)
    role = next((one for one in roles if one == _get(table, "role")), None)
    if session is None or words is None or index is None or index < 0 or role is None:
        return None
    return Evidence(session, int(index), role, words, _micros(_get(table, "timestamp")))


def _entity(row: object) -> Entity | None:
    table = _table(row)
    summary = _text(_get(table, "summary"))
    if summary is None:
        return None
    return Entity(summary, _text(_get(table, "type")), _text(_get(table, "uuid")))


def _star(data: object) -> Star | None:
    table = _table(data)
    bare = None if table else _stated(data)
    vision, goal = _stated(_get(table, "vision")), _stated(_get(table, "goal"))
    goal = goal or bare or (_stated(table) if vision is None else None)
    if vision is None and goal is None:
        return None
    return Star(vision, goal, _text(_get(table, "status")))


def _person(row: object) -> Person | None:
    table = _table(row)
    name = _text(row) or _text(_get(table, "name"))
    if name is None:
        return None
    about = (_text(_get(table, one)) for one in ("about", "text", "relationship", "who", "role"))
    return Person(
        name=name,
        about=next((one for one in about if one), ""),
        source=_text(_get(table, "source")),
        confidence=_confidence(_get(table, "confidence")),
    )


def _stated(data: object) -> Stated | None:
    table = _table(data)
    text = _stated_text(data)
    if text is None:
        return None
    source, confidence = _text(_get(table, "source")), _confidence(_get(table, "confidence"))
    return Stated(text, source, confidence)


def _stated_text(data: object) -> str | None:
    return _text(data) or _text(_get(_table(data), "text"))


# -- of what is there, what can be used ------------------------------------------------------------


def _table(data: object) -> Table:
    """A mapping by its text keys; anything else is an empty one."""
    return data if isinstance(data, dict) else {}


def _get(table: Table, name: str) -> object:
    """A field by its name, in either spelling."""
    if name in table:
        return table[name]
    first, *rest = name.split("_")
    return table.get(first + "".join(word.capitalize() for word in rest))


def _rows(data: object, read: Callable[[object], T | None]) -> tuple[T, ...]:
    """The usable rows of a list; one row alone is a list of it."""
    rows: list[object] = data if isinstance(data, list) else [data] if data else []
    found = (read(row) for row in rows[: MOST * 4])
    return tuple(one for one in found if one is not None)[:MOST]


def _texts(data: object) -> tuple[str, ...]:
    """Texts, each once: strings, or rows that have a text under one of its names."""
    return tuple(dict.fromkeys(_rows(data, lambda row: next(_named(row), None))))


def _named(row: object) -> Iterator[str]:
    for value in (row, *(_get(_table(row), one) for one in ("text", "summary", "description"))):
        if (text := _text(value)) is not None:
            yield text


def _text(data: object) -> str | None:
    """A text that says something, without what cannot be stored or shown."""
    if not isinstance(data, str):
        return None
    clean = "".join(
        one for one in data[:LONGEST] if one != "\0" and not "\ud800" <= one <= "\udfff"
    )
    return clean.strip() or None


def _told(data: object) -> str | None:
    """A text of theirs that is put before a model as it is: it must not pose as a block."""
    text = _text(data)
    return None if text is None else unstructured(text) or None


def _number(data: object) -> float | None:
    if isinstance(data, bool) or not isinstance(data, int | float):
        return None
    if isinstance(data, int):
        return float(data) if abs(data) < 2**53 else None
    return data if math.isfinite(data) and abs(data) < 2**53 else None


def _confidence(data: object) -> float | None:
    if isinstance(data, str):
        return CONFIDENCE.get(data.strip().lower())
    number = _number(data)
    return None if number is None else min(1.0, max(0.0, number))


def _flag(data: object) -> bool | None:
    return data if isinstance(data, bool) else None


def _scores(data: object) -> dict[str, float]:
    pairs = ((_text(name), _number(value)) for name, value in list(_table(data).items())[:MOST])
    return {name: value for name, value in pairs if name is not None and value is not None}


def _part(data: object) -> PartOfDay | None:
    word = data.strip().lower() if isinstance(data, str) else ""
    parts: tuple[PartOfDay, ...] = get_args(PartOfDay)
    return next((one for one in parts if one == word), None)


def _date(data: object) -> str | None:
    """A date or a time, as it is written, if it is one."""
    return data.strip() if isinstance(data, str) and _read_time(data) is not None else None


def _micros(data: object) -> int | None:
    read = _read_time(data) if isinstance(data, str) else None
    return None if read is None else int(read.timestamp() * 1_000_000)


def _read_time(text: str) -> datetime | None:
    """A time of ISO 8601; without a zone it is UTC."""
    try:
        bare = text.strip()
        if len(bare) == 10:
            day = date.fromisoformat(bare)
            return datetime(day.year, day.month, day.day, tzinfo=UTC)
        read = datetime.fromisoformat(bare)
        read = read.replace(tzinfo=UTC) if read.tzinfo is None else read.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return read
