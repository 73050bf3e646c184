"""Forgetting by provenance: a statement alone, or a message with everything that was made from it.

Every derived row names its sources, and receipts name what they were told, so what goes is a
closure over ids; no words are compared. The preview and the forgetting walk the same closure:
nothing goes that was not shown, and everything shown is gone from the files afterwards.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, tzinfo
from itertools import takewhile
from pathlib import Path
from typing import Literal

import msgspec

from polyvox.context.words import plain
from polyvox.errors import Invalid, NotFound
from polyvox.memory import derive, facts, loops
from polyvox.memory.tables import derived, episodes, remembered
from polyvox.memory.tables import statements as rows
from polyvox.memory.tables.derived import Daily, Summary
from polyvox.memory.tables.redaction import Found, Gone, Shown, check_rest, redact, told_of
from polyvox.memory.tables.statements import Link, Statement, slot_of
from polyvox.memory.transcript import known_sources
from polyvox.memory.values import Episode, Partition
from polyvox.memory.view import view
from polyvox.store import jobs, receipts, turns
from polyvox.store.database import Database, Tx
from polyvox.store.sqlite import SqliteDatabase
from polyvox.store.table import rows_in
from polyvox.store.threads import is_on_path, path_to

Kind = Literal["fact", "loop", "profile", "message", "session"]
SCRUB = "scrub"
"""The job that scrubs the files, should whoever forgets die before that."""
_QUOTED = re.compile(r"“([^“”]+)”")


@dataclass(frozen=True, slots=True)
class Target:
    """What is to be forgotten: a statement (a fact, a loop, a line of the profile, by its id), a
    message ("session#index", or the id it has in its conversation) or a whole session."""

    kind: Kind
    id: str
    keep: frozenset[str] = frozenset()
    """Answers that stay."""


@dataclass(slots=True)
class Going:
    """Everything that goes with it."""

    sessions: list[str] = field(default_factory=list)
    """Sessions that go as a whole."""
    messages: list[Episode] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    summaries: list[Summary] = field(default_factory=list)
    """They are written anew from what is left; so are the days."""
    days: list[Daily] = field(default_factory=list)
    returns: list[Statement] = field(default_factory=list)
    """Older statements that would hold again."""
    marked: list[Found] = field(default_factory=list)
    """Rows of conversations that become a mark: messages, answers, titles, receipts …"""
    gone: Gone = field(default_factory=Gone)

    def of(self, kind: str) -> list[Statement]:
        """The statements of a kind."""
        return [one for one in self.statements if one.kind == kind]

    @property
    def index_rows(self) -> int:
        """The number of entries of the index of recall that go."""
        said = sum(not one.excluded for one in self.messages)
        return said + sum(not one.excluded for one in self.of("fact"))

    @property
    def conversations(self) -> list[str]:
        """Conversations in which a message becomes a mark."""
        marked = (one.conversation_id for one in self.marked if one.kind == "message")
        return list(dict.fromkeys(name for name in marked if name is not None))


def preview(tx: Tx, partition: Partition, target: Target, now: int) -> Going:
    """Everything that would go."""
    going = _closure(tx, partition, target, now)
    going.marked = redact(tx, going.gone, dry=True)
    return going


def forget(tx: Tx, partition: Partition, target: Target, now: int, zone: tzinfo | None) -> Going:
    """Let it go, all of it or nothing. Afterwards the files have to be scrubbed."""
    going = _closure(tx, partition, target, now)
    _let_go(tx, partition, going, now, zone, forever=target.kind in ("fact", "loop", "profile"))
    return going


def forget_conversation(tx: Tx, conversation_id: str, now: int, zone: tzinfo | None) -> Going:
    """Let go of everything that was remembered of a conversation, wherever it was told since. To be
    called while its sessions are still rows; one that was not ingested yet never will be."""
    own, where = Partition.own(tx.scope), (tx.user, conversation_id)
    going = Going()
    sessions = tx.all("SELECT id FROM sessions WHERE user_id = ? AND conversation_id = ?", where)
    for (session_id,) in sessions:
        if episodes.find_transcript(tx, own, session_id) is not None:
            going.sessions.append(session_id)
            going.messages += episodes.episodes_of(tx, own, session_id)
        else:
            episodes.remove_session(tx, own, session_id)
            jobs.delete_about(tx, session_id)
    ids = {
        table: {row[0] for row in tx.all(_IDS.format(table=table), where)}
        for table in ("turns", "answers")
    }
    _derived(tx, own, going)
    gone = Gone(
        frozenset(ids["turns"]),
        frozenset(ids["answers"]),
        _told(tx, going, conversation_id),
        leaving=conversation_id,
        now=now,
    )
    told = frozenset(gone.told)
    going.gone = replace(gone, answers=gone.answers | told)
    _let_go(tx, own, going, now, zone, forever=False)
    return going


_IDS = "SELECT id FROM {table} WHERE user_id = ? AND conversation_id = ?"


def backups(database: Database) -> list[Path]:
    """Copies of the database that were made before its tables changed: they still hold it."""
    if not isinstance(database, SqliteDatabase):
        return []
    path = database.path
    return sorted(path.parent.glob(f"{path.name}.v*.bak"))


# -- the closure -----------------------------------------------------------------------------------


def _closure(tx: Tx, partition: Partition, target: Target, now: int) -> Going:
    if target.kind in ("fact", "loop", "profile"):
        return _alone(tx, partition, _statements(tx, partition, target, now))
    going = Going()
    turn_ids, answers = set[str](), set[str]()
    if target.kind == "session":
        if episodes.find_transcript(tx, partition, target.id) is None:
            raise NotFound("Nothing is remembered of this session.", "Search for its words.")
        going.sessions.append(target.id)
        going.messages = episodes.episodes_of(tx, partition, target.id)
        if partition == Partition.own(tx.scope):
            for turn_id, answer_id in tx.all(_OF_SESSION, (tx.user, target.id)):
                turn_ids.add(turn_id)
                answers |= {answer_id} - {None}
    else:
        said, turn_ids, answers = _message(tx, partition, target.id)
        going.messages = [one for one in said if one.id not in target.keep]
    answers |= _answers_that_read(tx, turn_ids)
    own = partition == Partition.own(tx.scope)
    if own:
        going.messages += _remembered(tx, going, answers - target.keep)
    _derived(tx, partition, going)
    told = _told(tx, going) if own else {}
    gone = frozenset(answers | set(told)) - target.keep
    if own:
        going.messages += _remembered(tx, going, gone)
    going.gone = Gone(frozenset(turn_ids), gone, told, now=now)
    return going


def _answers_that_read(tx: Tx, turn_ids: Collection[str]) -> set[str]:
    """The answers to these messages, and the later ones whose thread held them."""
    found: set[str] = set()
    for turn_id in turn_ids:
        turn = turns.get_turn(tx, turn_id)
        later = tx.all(
            "SELECT t.id, a.id FROM turns t JOIN answers a ON a.user_id = t.user_id"
            " AND a.turn_id = t.id WHERE t.user_id = ? AND t.conversation_id = ? AND t.depth >= ?",
            (tx.user, turn.conversation_id, turn.depth),
        )
        read = {
            name
            for name in {row[0] for row in later}
            if is_on_path(path_to(tx, name), turn.branch_id, turn.depth)
        }
        found |= {answer_id for name, answer_id in later if name in read}
    return found


def _remembered(tx: Tx, going: Going, answers: Collection[str]) -> list[Episode]:
    """The episodes that were made from answers."""
    own, known = Partition.own(tx.scope), {one.id for one in going.messages}
    found = remembered.places(tx, own, {f"a{one}" for one in answers})
    places = [(session_id, index) for session_id, index, _ in found]
    said = episodes.at_places(tx, own, places).values()
    return [one for one in said if one.id not in known]


_OF_SESSION = (
    "SELECT t.id, a.id FROM sessions s JOIN turns t ON t.user_id = s.user_id"
    " AND t.conversation_id = s.conversation_id AND t.session_id = s.id"
    " LEFT JOIN answers a ON a.user_id = t.user_id AND a.turn_id = t.id"
    " WHERE s.user_id = ? AND s.id = ?"
)


def _statements(tx: Tx, partition: Partition, target: Target, now: int) -> list[Statement]:
    """The statement that is meant, with its repetitions in the same words."""
    if target.kind == "loop":
        ids = loops.find(tx, partition, target.id, now).ids
        return rows.by_ids(tx, partition, ids)
    one = rows.get(tx, partition, target.id)
    if (target.kind == "fact") != (one.kind == "fact"):
        raise NotFound(f"There is no {target.kind} {target.id}.", "Search for its words.")
    near = rows.about(tx, partition, [one])
    held = view(near, rows.links_about(tx, partition, {other.id for other in near}))
    same = {one.id} | {
        other.id
        for other in near
        if slot_of(other) == slot_of(one) and rows.plain(other.text) == rows.plain(one.text)
    }
    while (
        more := {name for name, each in held.items() if each.said_again and each.by in same} - same
    ):
        same |= more
    return [other for other in near if other.id in same] or [one]


def _alone(tx: Tx, partition: Partition, gone: Sequence[Statement]) -> Going:
    going = Going(statements=list(gone))
    ids = {one.id for one in gone}
    near = rows.about(tx, partition, gone)
    links = rows.links_about(tx, partition, {one.id for one in near})
    held = view(near, links)
    left = view([one for one in near if one.id not in ids], links)
    going.returns = [
        one.statement for name, one in left.items() if one.current and not held[name].current
    ]
    return going


def _message(tx: Tx, partition: Partition, name: str) -> tuple[list[Episode], set[str], set[str]]:
    """A message, remembered or not yet, with its turn or answer in its conversation."""
    session_id, mark, number = name.rpartition("#")
    own = partition == Partition.own(tx.scope)
    if mark and number.isdecimal():
        place = (session_id, int(number))
        said = list(episodes.at_places(tx, partition, [place]).values())
        if not said:
            raise NotFound(f"There is no message {name}.", "It may have been forgotten.")
        ref = _sources(tx, session_id).get(place[1], "") if own else ""
        if not ref:
            said += _answered(tx, partition, said[0])
        turn_ids, answers = {ref[1:]}, {ref[1:]}
        return said, turn_ids if ref[:1] == "u" else set(), answers if ref[:1] == "a" else set()
    if mark or not own:
        raise Invalid(f"{name!r} names no message.", "Write it as SESSION#INDEX.")
    try:
        turn = turns.turn_of_message(tx, name)
    except NotFound:
        raise Invalid(f"{name!r} names no message.", "Write it as SESSION#INDEX.") from None
    if turn.redacted:
        raise NotFound(f"There is no message {name}.", "It was forgotten.")
    known = {} if turn.session_id is None else _sources(tx, turn.session_id)
    places = [(turn.session_id or "", index) for index, ref in known.items() if ref[1:] == turn.id]
    return list(episodes.at_places(tx, partition, places).values()), {turn.id}, set()


def _answered(tx: Tx, partition: Partition, message: Episode) -> list[Episode]:
    """The answers to a message of a session that is no conversation's: those right after it."""
    if message.role != "user":
        return []
    every = episodes.episodes_of(tx, partition, message.session_id)
    later = (one for one in every if one.index > message.index)
    return list(takewhile(lambda one: one.role == "assistant", later))


def _sources(tx: Tx, session_id: str) -> dict[int, str]:
    """The turns and answers that the messages of a session came from; empty where it is no
    conversation's."""
    try:
        return known_sources(tx, session_id)
    except NotFound:
        return {}


def _derived(tx: Tx, partition: Partition, going: Going) -> None:
    """Add everything that was made from the messages: statements, links, summaries, days."""
    places = {(one.session_id, one.index) for one in going.messages}
    sessions = sorted({one.session_id for one in going.messages} | set(going.sessions))
    said, links = rows.at_places(tx, partition, places)
    statements = {one.id: one for one in said}
    fresh = set(statements)
    while fresh:  # what was corrected by hand goes with what it corrects
        about = rows.links_about(tx, partition, fresh)
        by = {link.by_id for link in about if link.by_id and link.target_id in fresh}
        more = rows.by_ids(tx, partition, by - statements.keys())
        fresh = {one.id for one in more if one.session_id is None}
        statements |= {one.id: one for one in more if one.id in fresh}
    alone = _alone(tx, partition, list(statements.values()))
    going.statements, going.returns, going.links = alone.statements, alone.returns, links
    going.summaries = [
        one
        for session_id in sessions
        if (one := derived.find_summary(tx, partition, "session", session_id)) is not None
    ]
    going.days = [
        one for one in derived.list_daily(tx, partition) if set(one.sessions) & set(sessions)
    ]


def _told(tx: Tx, going: Going, leaving: str | None = None) -> dict[str, frozenset[str]]:
    """The answers whose request held any of it, with the blocks of memory that did: as was kept
    when they were told, and where a block quotes it."""
    sources = {one.id for one in going.messages} | {one.id for one in going.statements}
    sources |= {f"day:{one.day}" for one in going.days}
    found = told_of(tx, sources)
    texts = [one.text for one in going.messages] + [one.text for one in going.statements]
    texts += [one.quote for one in going.statements if one.quote]
    whole = [text for text in map(plain, texts) if text]
    blocks = tx.all(
        "SELECT r.answer_id, r.data FROM receipts r WHERE r.user_id = ? AND r.data LIKE ?",
        (tx.user, '%"memory":[[%'),
    )
    for answer_id, data in blocks if whole else ():
        shown = msgspec.json.decode(data, type=Shown)
        named = {name: block for block, name in shown.memory}
        for name, text in receipts.spans(tx, named).items():
            quotes = [plain(quote) for quote in _QUOTED.findall(text)]
            if any(one in plain(text) for one in whole) or any(
                quote.strip("…. ") in one for quote in quotes for one in whole if len(quote) > 8
            ):
                found[answer_id] = found.get(answer_id, frozenset()) | {named[name]}
    if leaving is not None:
        sql = "SELECT id, conversation_id FROM answers WHERE user_id = ? AND id"
        there = {row[0] for row in rows_in(tx, sql, found) if row[1] == leaving}
        found = {name: blocks for name, blocks in found.items() if name not in there}
    return found


# -- letting go ------------------------------------------------------------------------------------


def _let_go(
    tx: Tx, partition: Partition, going: Going, now: int, zone: tzinfo | None, *, forever: bool
) -> None:
    check_rest(tx, going.gone)
    going.marked = redact(tx, going.gone, dry=False)
    facts.remove(tx, partition, going.statements, going.links, now=now, forever=forever)
    derived.drop_summaries(tx, partition, "session", [one.subject for one in going.summaries])
    derived.drop_daily(tx, partition, [one.day for one in going.days])
    for session_id in going.sessions:
        episodes.remove_session(tx, partition, session_id)
        derived.drop_extractions(tx, partition, session_id)
        jobs.delete_about(tx, derive.subject_of(partition, session_id))
        if partition == Partition.own(tx.scope):
            jobs.delete_about(tx, session_id)
    for one in going.messages:
        if one.session_id not in going.sessions:
            episodes.remove_message(tx, partition, one.session_id, one.index)
    for summary in going.summaries:
        if summary.subject not in going.sessions:
            subject = derive.subject_of(partition, summary.subject)
            jobs.enqueue_again(tx, derive.SUMMARISE, subject, now)
    for day in going.days:
        derive.want_day(tx, partition, date.fromisoformat(day.day), zone, now)
    jobs.clear_failures(tx, _subjects(partition, going.messages))
    jobs.enqueue_again(tx, SCRUB, SCRUB, now)


def _subjects(partition: Partition, messages: Collection[Episode]) -> list[str]:
    """The subjects of the jobs that read these messages: a failure may quote them."""
    sessions = sorted({one.session_id for one in messages})
    return [name for one in sessions for name in (one, derive.subject_of(partition, one))]
