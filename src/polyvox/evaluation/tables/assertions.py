"""Assertions as rows: what is said of an advisor's answers, in versions, and where it came from.

Invariants: an id is never given twice; a version is written once, so a verdict that names one can
always be read; a removed assertion keeps its versions and loses every word of the conversation that
it was drawn from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypedDict

import msgspec

from polyvox.errors import Conflict, NotFound
from polyvox.evaluation.tables import contexts, past_runs
from polyvox.memory.tables.redaction import Found, Needles, excerpt, place
from polyvox.store.database import Row, Tx, Value
from polyvox.store.fold import fold
from polyvox.store.pages import Page, page_of, place_in
from polyvox.values import REDACTED

Kind = Literal[
    "judge",
    "words",
    "sentences",
    "contains",
    "lacks",
    "matches",
    "questions",
    "ends_with_question",
    "language",
    "json",
]
SOME = 400
"""So many ids are asked for by one statement."""
_ROW = (
    "a.id, a.advisor_id, a.advisor_name, a.number, v.text, v.kind, v.args, a.tags, a.active,"
    " a.source_answer, a.source_conversation, a.source_turn, a.source_input, a.source_text,"
    " a.context_hash, a.user_input, a.created_at, a.updated_at"
)
_JOINED = (
    f"SELECT {_ROW} FROM assertions a JOIN assertion_versions v"
    " ON v.user_id = a.user_id AND v.assertion_id = a.id AND v.number = a.number"
    " WHERE a.user_id = ?"
)


@dataclass(frozen=True, slots=True)
class AssertionSource:
    """The answer that an assertion was drawn from, as it was then."""

    answer_id: str
    conversation_id: str
    turn_id: str
    user_input: str
    answer: str
    context_hash: str
    """Names the stored context: what the advisor had been sent for that answer. Empty: nothing is
    known of it, so the answer can be judged and not be had again."""


@dataclass(frozen=True, slots=True)
class Assertion:
    """A rule for an advisor's answers: in words for a judge, or a check in code."""

    id: str
    advisor_id: str
    advisor_name: str
    number: int
    """Number of this version, from 1."""
    text: str
    kind: Kind = "judge"
    args: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of a check in code: `min`, `max`, `text`, `pattern`, `language` …"""
    tags: tuple[str, ...] = ()
    active: bool = True
    source: AssertionSource | None = None
    user_input: str | None = None
    """Made by hand: what to ask. None as well: it holds in every stored context of its advisor."""
    created_at: int = 0
    updated_at: int = 0


@dataclass(frozen=True, slots=True)
class AssertionVersion:
    """An assertion's words at a time."""

    assertion_id: str
    number: int
    text: str
    kind: Kind
    args: Mapping[str, Any]
    created_at: int


class AssertionDetails(TypedDict, total=False):
    """Fields to change; one left out stays. Another text, kind or args is a new version."""

    text: str
    kind: Kind
    args: Mapping[str, Any]
    tags: tuple[str, ...]
    active: bool
    user_input: str | None


@dataclass(frozen=True, slots=True)
class AssertionFilter:
    """A filter of assertions; everything given must hold."""

    advisor_id: str | None = None
    query: str = ""
    """Words (or their beginnings) of the text, the tags or the source's question."""
    tag: str | None = None
    kind: Kind | None = None
    active: bool | None = None
    answer_id: str | None = None


def find(tx: Tx, assertion_id: str) -> Assertion | None:
    """One assertion as it is now, unless it was removed."""
    row = tx.one(f"{_JOINED} AND a.id = ? AND a.removed_at IS NULL", (tx.user, assertion_id))
    return None if row is None else _assertion(row)


def get(tx: Tx, assertion_id: str) -> Assertion:
    """One assertion as it is now, or NotFound."""
    assertion = find(tx, assertion_id)
    if assertion is None:
        raise NotFound(
            f"There is no assertion {assertion_id}.",
            "The list of an advisor's assertions has the ids of all there are.",
        )
    return assertion


def get_many(tx: Tx, ids: Sequence[str]) -> list[Assertion]:
    """The named assertions, in that order; NotFound if one is not there."""
    by_id: dict[str, Assertion] = {}
    for start in range(0, len(ids), SOME):
        some = ids[start : start + SOME]
        rows = tx.all(
            f"{_JOINED} AND a.removed_at IS NULL AND a.id IN ({', '.join('?' * len(some))})",
            (tx.user, *some),
        )
        by_id |= {row[0]: _assertion(row) for row in rows}
    return [
        by_id[assertion_id] if assertion_id in by_id else get(tx, assertion_id)
        for assertion_id in ids
    ]


def versions(tx: Tx, assertion_id: str) -> list[AssertionVersion]:
    """Every version of an assertion (also of a removed one), newest first."""
    rows = tx.all(
        "SELECT assertion_id, number, text, kind, args, created_at FROM assertion_versions"
        " WHERE user_id = ? AND assertion_id = ? ORDER BY number DESC",
        (tx.user, assertion_id),
    )
    return [
        AssertionVersion(name, number, text, kind, msgspec.json.decode(args), at)
        for name, number, text, kind, args, at in rows
    ]


def list_page(
    tx: Tx, wanted: AssertionFilter, limit: int = 100, after: str | None = None
) -> Page[Assertion]:
    """Assertions in the order they were made; `after` is a page's `next`."""
    where, params = _where(wanted)
    if after is not None:
        where += " AND (a.created_at > ? OR (a.created_at = ? AND a.id > ?))"
        params += place_in(after, "after")
    rows = tx.all(
        f"{_JOINED} AND a.removed_at IS NULL{where} ORDER BY a.created_at, a.id LIMIT ?",
        (tx.user, *params, limit + 1),
    )
    return page_of([_assertion(row) for row in rows], limit, lambda assertion: assertion.created_at)


def list_all(tx: Tx, wanted: AssertionFilter) -> list[Assertion]:
    """Every assertion that is wanted, in the order they were made."""
    where, params = _where(wanted)
    rows = tx.all(
        f"{_JOINED} AND a.removed_at IS NULL{where} ORDER BY a.created_at, a.id",
        (tx.user, *params),
    )
    return [_assertion(row) for row in rows]


def context_hashes(tx: Tx, advisor_id: str) -> list[str]:
    """Every stored context of an advisor, oldest assertion first: where an assertion holds that has
    neither a source nor a question of its own."""
    rows = tx.all(
        "SELECT context_hash, MIN(created_at) FROM assertions WHERE user_id = ? AND advisor_id = ?"
        " AND removed_at IS NULL AND context_hash <> '' GROUP BY context_hash ORDER BY 2, 1",
        (tx.user, advisor_id),
    )
    return [row[0] for row in rows]


def is_asked(tx: Tx, question: str) -> bool:
    """True if some assertion has this question of its own."""
    sql = "SELECT 1 FROM assertions WHERE user_id = ? AND user_input = ?"
    return tx.one(sql, (tx.user, question)) is not None


def tags_of(tx: Tx, advisor_id: str) -> list[str]:
    """Every tag that an advisor's assertions have."""
    rows = tx.all(
        "SELECT DISTINCT tags FROM assertions WHERE user_id = ? AND advisor_id = ?"
        " AND removed_at IS NULL",
        (tx.user, advisor_id),
    )
    return sorted({tag for row in rows for tag in msgspec.json.decode(row[0])})


def asserted(tx: Tx, conversation_id: str) -> list[str]:
    """The answers of a conversation that assertions were drawn from."""
    rows = tx.all(
        "SELECT DISTINCT source_answer FROM assertions WHERE user_id = ?"
        " AND source_conversation = ? AND removed_at IS NULL ORDER BY source_answer",
        (tx.user, conversation_id),
    )
    return [row[0] for row in rows]


def name_of(tx: Tx, advisor_id: str) -> str | None:
    """The advisor's name in its newest assertion: it may be gone from everywhere else."""
    row = tx.one(
        "SELECT advisor_name FROM assertions WHERE user_id = ? AND advisor_id = ?"
        " AND removed_at IS NULL ORDER BY created_at DESC, id DESC LIMIT 1",
        (tx.user, advisor_id),
    )
    return None if row is None else str(row[0])


def owners(tx: Tx) -> list[tuple[str, str]]:
    """Id and name of everybody who has assertions, by their first one."""
    rows = tx.all(
        "SELECT advisor_id, MAX(advisor_name), MIN(created_at) FROM assertions WHERE user_id = ?"
        " AND removed_at IS NULL GROUP BY advisor_id ORDER BY 3, 1",
        (tx.user,),
    )
    return [(row[0], row[1]) for row in rows]


def add(tx: Tx, assertion: Assertion) -> Assertion:
    """A new assertion in its first version. An id that was ever given is a Conflict."""
    source = assertion.source or AssertionSource("", "", "", "", "", "")
    row: dict[str, Value] = {
        "user_id": tx.user,
        "id": assertion.id,
        "advisor_id": assertion.advisor_id,
        "advisor_name": assertion.advisor_name,
        "number": assertion.number,
        "tags": _json(assertion.tags),
        "active": int(assertion.active),
        "source_answer": source.answer_id if assertion.source else None,
        "source_conversation": source.conversation_id,
        "source_turn": source.turn_id,
        "source_input": source.user_input,
        "source_text": source.answer,
        "context_hash": source.context_hash,
        "user_input": assertion.user_input,
        "words": _words(assertion),
        "created_at": assertion.created_at,
        "updated_at": assertion.updated_at,
    }
    touched = tx.run(
        f"INSERT INTO assertions ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})"
        " ON CONFLICT DO NOTHING",
        tuple(row.values()),
    )
    if not touched:
        raise Conflict(
            f"There was an assertion {assertion.id} before.", "Ids are never used again."
        )
    _add_version(
        tx, assertion, assertion.created_at if assertion.number == 1 else assertion.updated_at
    )
    return assertion


def add_version(tx: Tx, version: AssertionVersion) -> None:
    """An earlier version that a file tells of; one that is there stays as it is."""
    tx.run(
        "INSERT INTO assertion_versions (user_id, assertion_id, number, text, kind, args,"
        " created_at) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (
            tx.user,
            version.assertion_id,
            version.number,
            version.text,
            version.kind,
            _json(version.args),
            version.created_at,
        ),
    )


def change(tx: Tx, assertion_id: str, now: int, details: AssertionDetails) -> Assertion:
    """Change what `details` names. Saying something else makes a new version."""
    # Touching the row first locks it: two changes at once make two versions, one after the other.
    tx.run(
        "UPDATE assertions SET updated_at = ? WHERE user_id = ? AND id = ? AND removed_at IS NULL",
        (now, tx.user, assertion_id),
    )
    old = get(tx, assertion_id)
    new = replace(old, **details, updated_at=now)
    if (new.text, new.kind, dict(new.args)) != (old.text, old.kind, dict(old.args)):
        new = replace(new, number=old.number + 1)
        _add_version(tx, new, now)
    tx.run(
        "UPDATE assertions SET number = ?, tags = ?, active = ?, user_input = ?, words = ?"
        " WHERE user_id = ? AND id = ?",
        (
            new.number,
            _json(new.tags),
            int(new.active),
            new.user_input,
            _words(new),
            tx.user,
            assertion_id,
        ),
    )
    return new


def remove(tx: Tx, assertion_id: str, now: int) -> None:
    """Take an assertion off the list, with everything of the conversation it was drawn from."""
    old = get(tx, assertion_id)
    tx.run(
        "UPDATE assertions SET removed_at = ?, updated_at = ?, source_input = '', source_text = '',"
        " context_hash = '', user_input = NULL, words = '' WHERE user_id = ? AND id = ?",
        (now, now, tx.user, assertion_id),
    )
    if old.source is None:
        return
    contexts.drop_unused(tx, old.source.context_hash)
    left = tx.one(
        "SELECT 1 FROM assertions WHERE user_id = ? AND source_answer = ? AND removed_at IS NULL",
        (tx.user, old.source.answer_id),
    )
    if left is None:
        past_runs.drop(tx, old.source.answer_id)


def restore(tx: Tx, assertion: Assertion, now: int) -> bool:
    """Bring a removed assertion back as it is given; answers whether that id was this one's: of
    the same advisor, from the same answer."""
    source = assertion.source or AssertionSource("", "", "", "", "", "")
    row = tx.one(
        "SELECT number FROM assertions WHERE user_id = ? AND id = ? AND advisor_id = ?"
        " AND COALESCE(source_answer, '') = ? AND removed_at IS NOT NULL",
        (tx.user, assertion.id, assertion.advisor_id, source.answer_id),
    )
    if row is None:
        return False
    tx.run(
        "UPDATE assertions SET removed_at = NULL, advisor_name = ?, source_input = ?,"
        " source_text = ?, context_hash = ?, user_input = ? WHERE user_id = ? AND id = ?",
        (
            assertion.advisor_name,
            source.user_input,
            source.answer,
            source.context_hash,
            assertion.user_input,
            tx.user,
            assertion.id,
        ),
    )
    details: AssertionDetails = {
        "text": assertion.text,
        "kind": assertion.kind,
        "args": assertion.args,
    }
    change(tx, assertion.id, now, {**details, "tags": assertion.tags, "active": assertion.active})
    return True


def is_known(tx: Tx, assertion_id: str) -> bool:
    """True if this id was ever given."""
    return (
        tx.one("SELECT 1 FROM assertions WHERE user_id = ? AND id = ?", (tx.user, assertion_id))
        is not None
    )


@place("assertion", tables=("assertions", "assertion_versions"))
def _forgotten(tx: Tx, needles: Needles, dry: bool) -> list[Found]:
    """Forgetting reaches what an assertion says and where it came from, its versions included. One
    whose conversation is only deleted keeps what it was drawn from: it works on."""
    places: list[Found] = []
    rows = tx.all(f"{_JOINED} AND a.updated_at >= ?", (tx.user, needles.since))
    for assertion in map(_assertion, rows):
        source, asked = assertion.source, assertion.user_input
        if source is not None and source.conversation_id == needles.leaving:
            continue
        if source is not None:
            gone = source.turn_id in needles.turns, source.answer_id in needles.answers
            source = replace(
                source,
                user_input=_clean(source.user_input, needles, gone[0]),
                answer=_clean(source.answer, needles, gone[1]),
            )
        tags = tuple(tag for tag in assertion.tags if needles.redacted(tag) is None)
        new = replace(
            assertion, source=source, user_input=asked and _clean(asked, needles), tags=tags
        )
        wordings = [
            (old, _clean(old.text, needles), needles.redacted_json(_json(old.args)))
            for old in versions(tx, assertion.id)
        ]
        spoken = [row for row in wordings if row[1] != row[0].text or row[2] is not None]
        if new == assertion and not spoken:
            continue
        places.append(Found("assertion", assertion.id, excerpt(assertion.text)))
        if dry:
            continue
        for old, text, args in spoken:
            tx.run(
                "UPDATE assertion_versions SET text = ?, args = ? WHERE user_id = ?"
                " AND assertion_id = ? AND number = ?",
                (text, args or _json(old.args), tx.user, assertion.id, old.number),
            )
        new = replace(new, text=_clean(assertion.text, needles))
        tx.run(
            "UPDATE assertions SET source_input = ?, source_text = ?, user_input = ?, tags = ?,"
            " words = ? WHERE user_id = ? AND id = ?",
            (
                new.source.user_input if new.source else "",
                new.source.answer if new.source else "",
                new.user_input,
                _json(tags),
                _words(new),
                tx.user,
                assertion.id,
            ),
        )
    return places


def _clean(text: str, needles: Needles, gone: bool = False) -> str:
    return REDACTED if gone and text else needles.redacted(text) or text


def _where(wanted: AssertionFilter) -> tuple[str, list[Value]]:
    where, params = "", list[Value]()
    plain: tuple[tuple[str, Value], ...] = (
        ("a.advisor_id", wanted.advisor_id),
        ("a.source_answer", wanted.answer_id),
        ("v.kind", wanted.kind),
        ("a.active", None if wanted.active is None else int(wanted.active)),
    )
    for column, value in plain:
        if value is not None:
            where += f" AND {column} = ?"
            params.append(value)
    for word in dict.fromkeys(fold(wanted.query).split()):
        where += " AND a.words LIKE ?"  # folded: there is no % and no _ in it
        params.append(f"% {word}%")
    if wanted.tag is not None:
        where += " AND a.tags LIKE ? ESCAPE '!'"
        shown = _json((wanted.tag,))[1:-1]
        for sign in "!%_":
            shown = shown.replace(sign, f"!{sign}")
        params.append(f"%{shown}%")
    return where, params


def _words(assertion: Assertion) -> str:
    """The text that a search looks through: folded words, each with a space before it."""
    asked = assertion.source.user_input if assertion.source else (assertion.user_input or "")
    text = " ".join((assertion.text, *assertion.tags, asked[:2000]))
    return " " + " ".join(fold(text).split())


def _add_version(tx: Tx, assertion: Assertion, now: int) -> None:
    add_version(
        tx,
        AssertionVersion(
            assertion.id, assertion.number, assertion.text, assertion.kind, assertion.args, now
        ),
    )


def _assertion(row: Row) -> Assertion:
    values: list[Any] = list(row[:9])
    values[6] = msgspec.json.decode(row[6])
    values[7] = tuple(msgspec.json.decode(row[7]))
    values[8] = bool(row[8])
    values += [None if row[9] is None else AssertionSource(*row[9:15]), *row[15:]]
    return Assertion(*values)


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
