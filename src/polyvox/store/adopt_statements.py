"""Migration 19: facts, loop sightings and profile entries become statements with links.

Sightings were one loop if six words in ten were the same; here that is decided for the last time
and kept as links. Nothing is lost: a statement that took something back becomes a link.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from polyvox.store.database import Row, Tx, Value

SAME = 0.6
"""Jaccard similarity from which on two sightings were one loop."""
TABLES = ("facts", "loop_sightings", "loop_endings", "profile_entries")
FACT = (
    "user_id, part, id, subject, attribute, text, said_at, about_from, about_to, about_precision,"
    " source, confidence, session_id, message_index, role, quote, advisor_id, cloud, pinned,"
    " excluded, retracts, corrects, line"
)
SIGHTING = (
    "user_id, part, id, topic, type, text, said_at, horizon, due, domain, importance, urgency,"
    " tags, confidence, session_id, message_index, quote, cloud, pinned"
)
ENDING = "user_id, part, id, status, topic, words, said_at, session_id, message_index, quote"
ENTRY = (
    "user_id, part, id, field, item, value, said_at, source, confidence, retracts, session_id,"
    " message_index, quote, cloud"
)
Table = dict[str, Any]


@dataclass(slots=True)
class _Loop:
    words: frozenset[str]
    sightings: list[Table] = field(default_factory=list)


def adopt(tx: Tx) -> None:
    """Move every row into the new tables and drop the old ones."""
    _facts(tx, _rows(tx, "facts", FACT))
    _loops(tx, _rows(tx, "loop_sightings", SIGHTING), _rows(tx, "loop_endings", ENDING))
    _entries(tx, _rows(tx, "profile_entries", ENTRY))
    for table in TABLES:
        tx.run(f"DROP TABLE {table}")


def _rows(tx: Tx, table: str, columns: str) -> list[Table]:
    names = columns.split(", ")
    rows = tx.all(f"SELECT {columns} FROM {table}")
    every = [dict(zip(names, _plain(row), strict=True)) for row in rows]
    return sorted(every, key=lambda row: (row["said_at"], row.get("message_index") or 0, row["id"]))


def _plain(row: Row) -> Sequence[Any]:
    return list(row)


def _facts(tx: Tx, facts: Sequence[Table]) -> None:
    for row in facts:
        if row["retracts"]:
            for old in facts:
                same = all(old[name] == row[name] for name in ("user_id", "part", "line"))
                if same and not old["retracts"] and old["said_at"] <= row["said_at"]:
                    _link(tx, row, "ended", old["id"], None)
            continue
        _statement(tx, row, "fact", row["subject"], row["attribute"], row["text"])
        if row["corrects"] is not None:
            _link(tx, {**row, "session_id": None}, "supersedes", row["corrects"], row["id"])


def _entries(tx: Tx, entries: Sequence[Table]) -> None:
    for row in entries:
        if row["retracts"]:
            for old in entries:
                same = all(old[name] == row[name] for name in ("user_id", "part", "field", "item"))
                if same and not old["retracts"] and old["said_at"] <= row["said_at"]:
                    _link(tx, row, "ended", old["id"], None)
            continue
        row |= {"role": None if row["session_id"] is None else "user"}
        text = row["value"]
        if row["field"] == "instructions":
            _statement(tx, row, "instruction", "user", "", text)
            continue
        listed = row["field"] in ("patterns", "preferences.avoid")
        subject = _folded(text) if listed else row["item"]
        _statement(tx, row, "profile", subject, row["field"], text)


def _loops(tx: Tx, sightings: Sequence[Table], endings: Sequence[Table]) -> None:
    owners = dict.fromkeys((row["user_id"], row["part"]) for row in sightings)
    for owner in owners:
        mine = [row for row in sightings if (row["user_id"], row["part"]) == owner]
        over = [row for row in endings if (row["user_id"], row["part"]) == owner]
        for loop in _grouped(mine):
            _loop(tx, loop, over)


def _grouped(sightings: Sequence[Table]) -> list[_Loop]:
    loops: list[_Loop] = []
    for row in sightings:
        words = frozenset(row["topic"].split())
        like = (one for one in loops if one.words == words or _alike(one.words, words))
        loop = next(like, None)
        if loop is None:
            loops.append(loop := _Loop(words))
        loop.sightings.append(row)
    return loops


def _alike(one: Collection[str], other: Collection[str]) -> bool:
    both = len(set(one) & set(other))
    return both >= 2 and both / (len(one) + len(other) - both) >= SAME


def _loop(tx: Tx, loop: _Loop, endings: Sequence[Table]) -> None:
    first, seen = loop.sightings[0], set[tuple[Any, ...]]()
    first["id"] = _hash(["loop", first["topic"]])
    earlier: list[Table | None] = [None, *loop.sightings]
    for prior, row in zip(earlier, loop.sightings, strict=False):
        place = (row["session_id"], row["message_index"], row["quote"])
        row |= {"role": "user", "source": "user_stated"}
        if place in seen:  # it was corrected by hand
            gone = dict.fromkeys(("session_id", "message_index", "quote", "role"))
            row |= {**gone, "source": "manual"}
        seen.add(place)
        plan = {name: row[name] for name in ("type", "horizon", "due", "domain")}
        plan |= {"importance": row["importance"], "urgency": row["urgency"]}
        plan["tags"] = [tag for tag in row["tags"].split("\t") if tag]
        _statement(tx, row, "loop", "user", "", row["text"], json.dumps(plan, ensure_ascii=False))
        if prior is not None:
            _link(tx, row, "repeats", prior["id"], row["id"])
    topics = {row["topic"] for row in loop.sightings}
    size = len(loop.words)
    for end in endings:
        both = len(loop.words & set(end["words"].split()))
        said = both >= min(2, size) and both >= SAME * size
        if end["topic"] in topics if end["topic"] is not None else said:
            before = [row for row in loop.sightings if row["said_at"] <= end["said_at"]]
            kind = "reopens" if end["status"] == "open" else end["status"]
            _link(tx, end, kind, (before or loop.sightings)[-1]["id"], None)


def _statement(
    tx: Tx, row: Table, kind: str, subject: str, attribute: str, text: str, plan: str | None = None
) -> None:
    matter = _folded(attribute) or f"#{_folded(text)}"
    if kind == "instruction":
        matter = f"#{_folded(row['quote'] or text)}"
    slot = _json([kind, row.get("advisor_id") or "", _folded(subject), matter])
    columns: dict[str, Value] = {
        "user_id": row["user_id"],
        "part": row["part"],
        "id": row["id"],
        "kind": kind,
        "slot": slot,
        "subject": subject,
        "attribute": attribute,
        "text": text,
        "said_at": row["said_at"],
        "about_from": row.get("about_from"),
        "about_to": row.get("about_to"),
        "about_precision": row.get("about_precision"),
        "source": row["source"],
        "confidence": row["confidence"],
        "session_id": row["session_id"],
        "message_index": row["message_index"],
        "role": row.get("role"),
        "quote": row["quote"],
        "advisor_id": row.get("advisor_id"),
        "cloud": row["cloud"],
        "pinned": row.get("pinned", 0),
        "excluded": row.get("excluded", 0),
        "plan": plan,
    }
    marks = ", ".join("?" * len(columns))
    tx.run(
        f"INSERT INTO statements ({', '.join(columns)}) VALUES ({marks}) ON CONFLICT DO NOTHING",
        tuple(columns.values()),
    )


def _link(tx: Tx, row: Table, kind: str, target: str, by: str | None) -> None:
    said = row["session_id"] is not None
    tx.run(
        "INSERT INTO statement_links (user_id, part, id, kind, target_id, by_id, said_at,"
        " session_id, message_index, quote) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT DO NOTHING",
        (
            row["user_id"],
            row["part"],
            _hash([kind, target, by, row["id"]]),
            kind,
            target,
            by,
            row["said_at"],
            row["session_id"],
            row["message_index"] if said else None,
            row["quote"] if said else None,
        ),
    )


def _folded(words: str) -> str:
    return " ".join(words.casefold().split())


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _hash(parts: Sequence[object]) -> str:
    return hashlib.sha256(json.dumps(parts, ensure_ascii=False).encode()).hexdigest()[:32]
