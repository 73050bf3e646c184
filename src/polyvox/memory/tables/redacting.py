"""Forgotten words in conversations: messages, answers, titles, receipts, and what is kept of them.

A forgotten message stays where it was, as the mark, and is excluded: neither it nor the answers to
it are sent any more. An answer that repeats it keeps the rest of its words. A text that a receipt
names by its hash cannot be another one, so it goes as a whole; the receipt then shows the mark and
is not exact. Outside the conversations in which it was said, only what was made after the first
forgotten message came here is looked at (or the first that was forgotten before it: see `_heard`).
Invariant: the log of a conversation tells of every
message and answer of it that was changed here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import msgspec

from polyvox.errors import Conflict
from polyvox.events import ConversationChanged
from polyvox.memory.tables import companions
from polyvox.memory.tables.redaction import Found, Needles, excerpt, marked, moved, place
from polyvox.memory.tables.told import Shown, Told, listed, shown
from polyvox.store import events, search, summaries, turns
from polyvox.store.database import Row, Tx
from polyvox.values import REDACTED

_ANSWER = "id, text, thinking, points, failure, attempts, marks, excluded"


def check_rest(tx: Tx, needles: Needles) -> None:
    """Refuse while an answer is being written that was told the words, or may have been: it would
    bring them back when it ends. From here on nothing is stored that was made of what memory or a
    context told (see `companions.drops_held`)."""
    companions.drop_packets(tx)
    rows = tx.all(
        "SELECT a.conversation_id, r.data FROM answers a LEFT JOIN receipts r"
        " ON r.user_id = a.user_id AND r.answer_id = a.id"
        " WHERE a.user_id = ? AND a.state IN ('pending', 'streaming')",
        (tx.user,),
    )
    if not rows:
        return
    touched, told = _depths(tx, needles), _told(tx, needles)
    for conversation_id, data in rows:
        if conversation_id == needles.leaving:
            continue
        telling = data is None or any(
            needles.tells(text) for text in told.texts(shown(data).hashes()).values()
        )
        if conversation_id in touched or telling:
            raise Conflict(
                "An answer that may have been told this is being written right now.",
                "Stop it, or wait until it has ended, and forget it then.",
            )


@place("message", tables=("turns",))
def _messages(tx: Tx, needles: Needles, dry: bool) -> list[Found]:
    found = []
    for turn_id, conversation_id, message_id, content in listed(
        tx,
        "SELECT id, conversation_id, message_id, content FROM turns"
        " WHERE user_id = ? AND redacted = 0 AND id",
        needles.turns,
    ):
        if conversation_id == needles.leaving:
            continue
        found.append(Found("message", message_id, excerpt(content), conversation_id))
        if dry:
            continue
        # Without its hash the same idempotency key meets another body: refused, and not said twice.
        tx.run(
            "UPDATE turns SET content = ?, body_hash = '', excluded = 1, redacted = 1"
            " WHERE user_id = ? AND id = ?",
            (REDACTED, tx.user, turn_id),
        )
        search.remove(tx, "message", turn_id)
        summaries.drop_covering(tx, conversation_id, {f"u{turn_id}"}, needles.now)
        told = ConversationChanged("message", message_id)
        events.append(tx, conversation_id, [told], needles.now)
    return found


@place("answer", tables=("answers", "events", "passages"))
def _answers(tx: Tx, needles: Needles, dry: bool) -> list[Found]:
    return [
        found
        for conversation_id, since in sorted(_heard(tx, needles).items())
        for row in tx.all(
            f"SELECT {_ANSWER} FROM answers"
            " WHERE user_id = ? AND conversation_id = ? AND created_at >= ? ORDER BY id",
            (tx.user, conversation_id, since),
        )
        if (found := _answer(tx, needles, conversation_id, row, dry)) is not None
    ]


def _answer(tx: Tx, needles: Needles, conversation_id: str, row: Row, dry: bool) -> Found | None:
    answer_id, text, thinking, points, failure, attempts, marks, excluded = row
    whole = answer_id in needles.answers
    said, thought = (
        ([(0, len(one))] if one not in ("", REDACTED) else []) if whole else needles.spans(one)
        for one in (text, thinking)
    )
    before = [points, failure, attempts]
    after = [None if one is None else (needles.redacted_json(one) or one) for one in before]
    if whole:
        after[0] = None
    if not said and not thought and before == after:
        return None
    if not dry:
        new = marked(text, said)
        tx.run(
            "UPDATE answers SET text = ?, thinking = ?, points = ?, failure = ?, attempts = ?,"
            " marks = ?, excluded = ?, redacted = 1 WHERE user_id = ? AND id = ?",
            (
                new,
                marked(thinking, thought),
                *after,
                None if marks is None else _moved_marks(bytes(marks), said, thought),
                1 if whole else excluded,
                tx.user,
                answer_id,
            ),
        )
        if whole:
            search.remove(tx, "answer", answer_id)
        elif said:
            search.index(tx, conversation_id, "answer", answer_id, new)
        _log(tx, answer_id, needles)
        summaries.drop_covering(tx, conversation_id, {f"a{answer_id}"}, needles.now)
        told = ConversationChanged("answer", answer_id)
        events.append(tx, conversation_id, [told], needles.now)
    return Found("answer", answer_id, excerpt(text or thinking), conversation_id)


@place("title", tables=("conversations",))
def _titles(tx: Tx, needles: Needles, dry: bool) -> list[Found]:
    found = []
    heard, said = _heard(tx, needles), _depths(tx, needles)
    sql = "SELECT id, title FROM conversations WHERE user_id = ? AND title <> '' AND id"
    for conversation_id, title in listed(tx, sql, frozenset(heard)):
        new = needles.redacted(title)
        if conversation_id in said and _is_named_by(tx, conversation_id, title, needles):
            new = ""
        if new is None:
            continue
        found.append(Found("title", conversation_id, title, conversation_id))
        if dry:
            continue
        if not any(map(str.isalnum, new.replace(REDACTED, ""))):
            new = ""  # the next message names it
        tx.run(
            "UPDATE conversations SET title = ? WHERE user_id = ? AND id = ?",
            (new, tx.user, conversation_id),
        )
        if new:
            search.index(tx, conversation_id, "title", conversation_id, new)
        else:
            search.remove(tx, "title", conversation_id)
        told = ConversationChanged("details", conversation_id)
        events.append(tx, conversation_id, [told], needles.now)
    return found


def _is_named_by(tx: Tx, conversation_id: str, title: str, needles: Needles) -> bool:
    """Whether a conversation has its title from a forgotten message, and from no other."""
    if title not in {turns.short_title(text) for text in needles.texts}:
        return False
    rows = tx.all(
        "SELECT id, content FROM turns WHERE user_id = ? AND conversation_id = ? AND redacted = 0",
        (tx.user, conversation_id),
    )
    return not any(
        name not in needles.turns and turns.short_title(content) == title for name, content in rows
    )


@place("receipt", tables=("receipts", "spans"))
def _receipts(tx: Tx, needles: Needles, dry: bool) -> list[Found]:
    found = []
    for one in _telling(tx, needles):
        text = next(iter(one.texts.values()), "")
        found.append(Found("receipt", one.answer_id, excerpt(text), one.conversation_id))
        if dry:
            continue
        tx.many(
            "DELETE FROM spans WHERE user_id = ? AND hash = ?",
            [(tx.user, name) for name in sorted(one.texts)],
        )
        if one.clean is not None:
            tx.run(
                "UPDATE receipts SET data = ? WHERE user_id = ? AND answer_id = ?",
                (one.clean, tx.user, one.answer_id),
            )
    return found


@place(
    "trace",
    tables=(
        "companion_sessions",
        "companion_traces",
        "companion_states",
        "companion_turns",
        "companion_marks",
        "companion_drops",
    ),
)
def _traces(tx: Tx, needles: Needles, dry: bool) -> list[Found]:
    """What was decided. What a session was told at its start is a cache, which is gone already (see
    `check_rest`); the standing of a persona holds no words."""
    found = []
    for turn_id, answer_id, conversation_id, data in tx.all(
        "SELECT turn_id, answer_id, conversation_id, data FROM companion_traces"
        " WHERE user_id = ? AND made_at >= ? ORDER BY turn_id, answer_id",
        (tx.user, needles.since),
    ):
        if (clean := needles.redacted_json(data)) is None:
            continue
        found.append(Found("trace", turn_id, "", conversation_id))
        if not dry:
            tx.run(
                "UPDATE companion_traces SET data = ?"
                " WHERE user_id = ? AND turn_id = ? AND answer_id = ?",
                (clean, tx.user, turn_id, answer_id),
            )
    return found


@place("job", tables=("jobs",))
def _jobs(tx: Tx, needles: Needles, dry: bool) -> list[Found]:
    """Jobs hold ids; but why one failed may be told in a provider's own words. What was said in
    another partition is looked for in the jobs of that one alone."""
    found = []
    rows = tx.all(
        "SELECT id, subject, failure FROM jobs WHERE user_id = ? AND failure IS NOT NULL"
        " ORDER BY id",
        (tx.user,),
    )
    for job_id, failure in ((one, text) for one, about, text in rows if _is_of(about, needles)):
        if (clean := needles.redacted(failure)) is not None:
            found.append(Found("job", job_id, excerpt(failure)))
            if not dry:
                tx.run(
                    "UPDATE jobs SET failure = ? WHERE user_id = ? AND id = ?",
                    (clean, tx.user, job_id),
                )
    return found


def _is_of(subject: str, needles: Needles) -> bool:
    """Whether a job may be about what was forgotten: it is in the same partition. The person's own
    has other jobs too."""
    return needles.part is None or subject.startswith(f"{needles.part[:-1]}, ")


@place("summary", tables=("running_summaries",))
def _summaries(tx: Tx, needles: Needles, dry: bool) -> list[Found]:
    """Running summaries go when a message in them does (see `_messages`); one whose words tell of
    it all the same goes here."""
    found = []
    for one in summaries.list_all(tx):
        if needles.tells(one.text):
            found.append(Found("summary", one.conversation_id, "", one.conversation_id))
            if not dry:
                summaries.drop(tx, one, needles.now)
    return found


@dataclass(frozen=True, slots=True)
class _Telling:
    """A receipt that tells of it: the texts that do, by hash, and its data without the words."""

    answer_id: str
    conversation_id: str
    at: int
    texts: dict[str, str]
    clean: str | None


def _telling(tx: Tx, needles: Needles) -> list[_Telling]:
    """What was sent since then that tells of it, as memory or in a summary."""
    if "telling" in needles.memo:
        return cast("list[_Telling]", needles.memo["telling"])
    rows = tx.all(
        "SELECT r.answer_id, r.conversation_id, a.created_at, r.data FROM receipts r"
        " JOIN answers a ON a.user_id = r.user_id AND a.id = r.answer_id"
        # What was imported has no runner, and the times that its file says.
        " WHERE r.user_id = ? AND (a.created_at >= ? OR a.runner_id IS NULL) ORDER BY r.answer_id",
        (tx.user, needles.since),
    )
    depths = _depths(tx, needles)
    read = [shown(row[3]) for row in rows]
    texts = _told(tx, needles).texts(name for one in read for name in one.hashes())
    tells = {name for name, text in texts.items() if needles.tells(text)}
    found = []
    for (answer_id, conversation_id, at, data), one in zip(rows, read, strict=True):
        if conversation_id == needles.leaving:
            continue
        names = tells.intersection(one.hashes())
        names |= _noted(one, depths.get(conversation_id, ()), texts)
        clean = _without_words(data, needles)
        if names or clean is not None:
            told = {name: texts[name] for name in sorted(names)}
            found.append(_Telling(answer_id, conversation_id, at, told, clean))
    needles.memo["telling"] = found
    return found


def _heard(tx: Tx, needles: Needles) -> dict[str, int]:
    """Where an answer may repeat it, and from when on: anywhere in the conversations in which it
    was said, in those that were told of it since then, and behind what was forgotten before: it
    may have said the same, and left what repeats it because this still said it."""
    found = dict(needles.earlier)
    for one in _telling(tx, needles):
        found[one.conversation_id] = min(one.at, found.get(one.conversation_id, one.at))
    found |= dict.fromkeys(_depths(tx, needles), 0)
    found.pop(needles.leaving or "", None)
    return found


def forgotten_before(tx: Tx) -> dict[str, tuple[int, int]]:
    """The conversations in which a message is forgotten already: at which depth the first is, and
    when it came, 0 where only a file says that."""
    found: dict[str, tuple[int, int]] = {}
    for conversation_id, depth, at in tx.all(
        "SELECT conversation_id, depth, CASE WHEN runner_id IS NULL OR EXISTS (SELECT 1"
        " FROM answers a WHERE a.user_id = turns.user_id AND a.turn_id = turns.id"
        " AND a.runner_id IS NULL) THEN 0 ELSE created_at END"
        " FROM turns WHERE user_id = ? AND redacted = 1",
        (tx.user,),
    ):
        old = found.get(conversation_id, (depth, at))
        found[conversation_id] = (min(depth, old[0]), min(at, old[1]))
    return found


def _depths(tx: Tx, needles: Needles) -> dict[str, list[int]]:
    """At which depths of which conversations something is forgotten."""
    found: dict[str, list[int]] = {}
    for table, ids in (("turns", needles.turns), ("answers", needles.answers)):
        sql = f"SELECT conversation_id, depth FROM {table} WHERE user_id = ? AND id"
        for conversation_id, depth in listed(tx, sql, ids):
            found.setdefault(conversation_id, []).append(depth)
    return found


def _noted(one: Shown, depths: Sequence[int], texts: Mapping[str, str]) -> set[str]:
    """A summary that stood for a stretch in which something is forgotten."""
    inside = any(first <= depth <= last for _, _, _, first, last in one.omitted for depth in depths)
    return set(one.noted()).intersection(texts) if inside else set()


def _told(tx: Tx, needles: Needles) -> Told:
    found: Told = needles.memo.setdefault("told", Told(tx))
    return found


def _without_words(data: str, needles: Needles) -> str | None:
    """A receipt's data, if a provider's own words about a failed call repeat something."""
    stored = msgspec.json.decode(data)
    hit = False
    for attempt in (stored.get("sent") or {}).get("attempts", ()):
        if (clean := needles.redacted(attempt.get("message") or "")) is not None:
            attempt["message"], hit = clean, True
    return msgspec.json.encode(stored).decode() if hit else None


def _log(tx: Tx, answer_id: str, needles: Needles) -> None:
    """How an answer failed is told in the log too."""
    for number, conversation_id, data in tx.all(
        "SELECT number, conversation_id, data FROM events WHERE user_id = ? AND answer_id = ?"
        " AND kind = 'answer.failed'",
        (tx.user, answer_id),
    ):
        if (clean := needles.redacted_json(data)) is not None:
            tx.run(
                "UPDATE events SET data = ?"
                " WHERE user_id = ? AND conversation_id = ? AND number = ?",
                (clean, tx.user, conversation_id, number),
            )


def _moved_marks(
    marks: bytes, said: Sequence[tuple[int, int]], thought: Sequence[tuple[int, int]]
) -> bytes:
    """How an answer came, as offsets in what is left of it."""
    text, thinking = msgspec.msgpack.decode(marks)
    return msgspec.msgpack.encode(
        (
            [(number, moved(end, said)) for number, end in text],
            [(number, moved(end, thought)) for number, end in thinking],
        )
    )
