"""Migration 19: facts, loop sightings and profile entries become statements with links.

Sightings were one loop if six words in ten were the same; here that is decided for the last time
and kept as links. Nothing is lost: a statement that took something back becomes a link.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
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
    for line in _lines(facts, "line"):
        _placed(tx, line)
        stated = _retracted(tx, line)
        for row in stated:
            about = row["subject"], row["attribute"]
            row["slot"] = _statement(tx, row, "fact", *about, row["text"])
            if row["corrects"] is not None:
                _link(tx, {**row, "session_id": None}, "supersedes", row["corrects"], row["id"])
        _superseding(tx, stated)


def _entries(tx: Tx, entries: Sequence[Table]) -> None:
    for line in _lines(entries, "field", "item"):
        stated = _retracted(tx, line)
        for row in stated:
            row |= {"role": None if row["session_id"] is None else "user"}
            kind, subject, place = "profile", row["item"], row["field"]
            if place == "instructions":
                kind, subject, place = "instruction", "user", ""
            elif place in ("patterns", "preferences.avoid"):
                subject = _folded(row["value"])
            row["slot"] = _statement(tx, row, kind, subject, place, row["value"])
        _superseding(tx, stated)


def _lines(rows: Sequence[Table], *names: str) -> list[list[Table]]:
    """Rows about the same matter, the oldest first."""
    found: dict[tuple[Any, ...], list[Table]] = {}
    for row in rows:
        found.setdefault(tuple(row[name] for name in ("user_id", "part", *names)), []).append(row)
    return list(found.values())


def _placed(tx: Tx, line: list[Table]) -> None:
    """Put what one message says several times in the order of its words: the last holds. From now
    on that is told by the time alone, so they are told a microsecond apart."""
    for _, some in groupby(line, lambda row: (row["said_at"], row["session_id"])):
        same = [row for row in some if row["session_id"] is not None and row["quote"]]
        if len({row["message_index"] for row in same}) == len(same):
            continue
        for row in same:
            text = _message(tx, row)
            row["place"] = (row["message_index"], text.find(row["quote"]) + len(row["quote"]))
        for after, row in enumerate(sorted(same, key=lambda row: row["place"])):
            row["said_at"] += after
    line.sort(key=lambda row: (row["said_at"], row["message_index"] or 0, row["id"]))


def _message(tx: Tx, row: Table) -> str:
    """The message that a row was taken from; empty: it was forgotten."""
    found = tx.one(
        "SELECT e.text FROM episodes e JOIN transcripts t ON t.user_id = e.user_id"
        " AND t.part = e.part AND t.number = e.doc >> 28 WHERE e.user_id = ? AND e.part = ?"
        " AND t.session_id = ? AND e.message_index = ?",
        (row["user_id"], row["part"], row["session_id"], row["message_index"]),
    )
    return "" if found is None else str(found[0])


def _retracted(tx: Tx, line: Sequence[Table]) -> list[Table]:
    """The statements of a line; what takes them back becomes links."""
    stated: list[Table] = []
    for row in line:
        if not row["retracts"]:
            stated.append(row)
            continue
        for old in stated:
            if row["source"] != "inferred" or old["source"] == "inferred":
                _link(tx, row, "ended", old["id"], None)
    return stated


def _superseding(tx: Tx, line: Sequence[Table]) -> None:
    """Keep that one stood in place of another, where that is no longer told by their words."""
    for old, new in pairwise(line):
        if old["slot"] != new["slot"]:
            _link(tx, new, "supersedes", old["id"], new["id"])


def _loops(tx: Tx, sightings: Sequence[Table], endings: Sequence[Table]) -> None:
    over: dict[tuple[str, str], list[Table]] = {}
    for row in endings:
        over.setdefault((row["user_id"], row["part"]), []).append(row)
    for mine in _lines(sightings):
        for loop in _grouped(mine):
            _loop(tx, loop, over.get((mine[0]["user_id"], mine[0]["part"]), ()))


def _grouped(sightings: Sequence[Table]) -> list[_Loop]:
    loops: list[_Loop] = []
    having: dict[str, list[int]] = {}
    for row in sightings:
        words = frozenset(row["topic"].split())
        near = sorted({number for word in words for number in having.get(word, ())})
        like = (loops[number] for number in near if _alike(loops[number].words, words))
        loop = next(like, None)
        if loop is None:
            for word in words:
                having.setdefault(word, []).append(len(loops))
            loops.append(loop := _Loop(words))
        loop.sightings.append(row)
    return loops


def _alike(one: Collection[str], other: Collection[str]) -> bool:
    both = len(set(one) & set(other))
    return one == other or (both >= 2 and both / (len(one) + len(other) - both) >= SAME)


def _loop(tx: Tx, loop: _Loop, endings: Sequence[Table]) -> None:
    first, seen = loop.sightings[0], set[tuple[Any, ...]]()
    first["id"] = _hash(["loop", first["topic"]])
    for number, row in enumerate(loop.sightings):
        place = (row["session_id"], row["message_index"], row["quote"])
        row |= {"role": "user", "source": "user_stated", "heard": (row["said_at"], place[1])}
        if place in seen:  # it was corrected by hand
            gone = dict.fromkeys(("session_id", "message_index", "quote", "role"))
            row |= {**gone, "source": "manual"}
        seen.add(place)
        plan = {name: row[name] for name in ("type", "horizon", "due", "domain")}
        plan |= {"importance": row["importance"], "urgency": row["urgency"]}
        plan["tags"] = [tag for tag in row["tags"].split("\t") if tag]
        _statement(tx, row, "loop", "user", "", row["text"], json.dumps(plan, ensure_ascii=False))
        # To the first and the last one: it stays one loop when words between them are forgotten.
        for prior in {one["id"] for one in loop.sightings[:number][:: max(1, number - 1)]}:
            _link(tx, row, "repeats", prior, row["id"])
    topics = {row["topic"] for row in loop.sightings}
    size = len(loop.words)
    for end in endings:
        both = len(loop.words & set(end["words"].split()))
        if end["topic"] is not None:
            before = [row for row in loop.sightings if row["said_at"] <= end["said_at"]]
            meant = end["topic"] in topics
        else:
            at = (end["said_at"], end["message_index"] or 0)
            before = [row for row in loop.sightings if row["heard"] < at]
            meant = both >= min(2, size) and both >= SAME * size
        if meant and before:
            kind = "reopens" if end["status"] == "open" else end["status"]
            _link(tx, end, kind, before[-1]["id"], None)


def _statement(
    tx: Tx, row: Table, kind: str, subject: str, attribute: str, text: str, plan: str | None = None
) -> str:
    """Store a statement; return its slot."""
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
    return slot


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
