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
from polyvox.memory.tables.redaction import Found, Gone, excerpt, place
from polyvox.store import advisors
from polyvox.store.database import Row, Tx, Value
from polyvox.store.pages import Page, page_of, place_in
from polyvox.store.search import fold
from polyvox.store.table import Table, rows_in
from polyvox.values import ASSISTANT_ID, REDACTED, SYNTHESIS_ID

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
OURS = {ASSISTANT_ID: "Assistant", SYNTHESIS_ID: "Synthesis"}
"""Names of those who answer and are no advisors."""


@dataclass(frozen=True, slots=True)
class Wording:
    """The words and the kind of an assertion, stored or not."""

    text: str
    kind: Kind = "judge"
    args: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of a check in code: `min`, `max`, `text`, `pattern`, `language` …"""


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
    tags: tuple[str, ...] = ()
    active: bool = True
    source: AssertionSource | None = None
    user_input: str | None = None
    """Made by hand: what to ask. None as well: it holds in every stored context of its advisor."""
    created_at: int = 0
    updated_at: int = 0
    phase: str | None = None
    """The phase under which its advisor answers; None: the one of each context."""
    contexts: tuple[str, ...] = ()
    """Hashes of contexts of other conversations that it is tried in besides its own."""

    @property
    def wording(self) -> Wording:
        """What it says now."""
        return Wording(self.text, self.kind, self.args)


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
    phase: str | None


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


_TABLE = Table("assertions", Assertion, flat="source")
_VERSIONS = Table("assertion_versions", AssertionVersion)
_ROW = (
    "a.id, a.advisor_id, a.advisor_name, a.number, v.text, v.kind, v.args, a.tags, a.active,"
    " a.user_input, a.created_at, a.updated_at, a.phase, a.contexts, a.source_answer,"
    " a.source_conversation, a.source_turn, a.source_input, a.source_text, a.context_hash"
)
"""The fields of an assertion in the order of its table, those of its source last."""
_SPOKEN = "source_input source_text user_input words"
"""Columns that hold words of a conversation."""


_SELECT = (
    f"SELECT {_ROW} FROM assertions a JOIN assertion_versions v"
    " ON v.user_id = a.user_id AND v.assertion_id = a.id AND v.number = a.number"
    " WHERE a.user_id = ?"
)


def _select(tx: Tx, rest: str, *params: Value) -> list[Assertion]:
    """Assertions that `rest` selects, removed ones too."""
    return [_TABLE.value(row) for row in tx.all(f"{_SELECT} {rest}", (tx.user, *params))]


def find(tx: Tx, assertion_id: str) -> Assertion | None:
    """One assertion as it is now, unless it was removed."""
    return next(iter(_select(tx, "AND a.id = ? AND a.removed_at IS NULL", assertion_id)), None)


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
    rows = map(_TABLE.value, rows_in(tx, f"{_SELECT} AND a.removed_at IS NULL AND a.id", ids))
    by_id = {row.id: row for row in rows}
    return [by_id.get(assertion_id) or get(tx, assertion_id) for assertion_id in ids]


def versions(tx: Tx, assertion_id: str) -> list[AssertionVersion]:
    """Every version of an assertion (also of a removed one), newest first."""
    return _VERSIONS.all(tx, "AND assertion_id = ? ORDER BY number DESC", assertion_id)


def version_of(tx: Tx, assertion_id: str, number: int) -> Assertion | None:
    """An assertion as it was in this version; None where it was removed."""
    now = find(tx, assertion_id)
    if now is None or now.number == number:
        return now
    old = _VERSIONS.one(tx, "AND assertion_id = ? AND number = ?", assertion_id, number)
    if old is None:
        return None
    return replace(now, number=number, text=old.text, kind=old.kind, args=old.args)


def list_page(
    tx: Tx, wanted: AssertionFilter, limit: int = 100, after: str | None = None
) -> Page[Assertion]:
    """Assertions in the order they were made; `after` is a page's `next`."""
    where, params = _where(wanted)
    if after is not None:
        where += " AND (a.created_at > ? OR (a.created_at = ? AND a.id > ?))"
        params += place_in(after, "after")
    rows = _select(tx, f"{where} ORDER BY a.created_at, a.id LIMIT ?", *params, limit + 1)
    return page_of(rows, limit, lambda assertion: assertion.created_at)


def list_all(tx: Tx, wanted: AssertionFilter) -> list[Assertion]:
    """Every assertion that is wanted, in the order they were made."""
    where, params = _where(wanted)
    return _select(tx, f"{where} ORDER BY a.created_at, a.id", *params)


def _where(wanted: AssertionFilter) -> tuple[str, list[Value]]:
    where, params = "AND a.removed_at IS NULL", list[Value]()
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


def context_hashes(tx: Tx, advisor_id: str) -> list[str]:
    """Every stored context of an advisor, oldest assertion first: where an assertion holds that has
    neither a source nor a question of its own."""
    rows = _rows(
        tx, "context_hash, contexts", "AND advisor_id = ? ORDER BY created_at, id", advisor_id
    )
    own = [row[0] for row in rows if row[0]]
    added = [name for row in rows for name in msgspec.json.decode(row[1])]
    return list(dict.fromkeys((*own, *added)))


def add_contexts(tx: Tx, assertion: Assertion, names: Sequence[str], now: int) -> Assertion:
    """Have an assertion tried in these stored contexts too."""
    every = tuple(dict.fromkeys((*assertion.contexts, *names)))
    return _replace(tx, assertion, replace(assertion, contexts=every, updated_at=now))


def newest_answers(tx: Tx, advisor_id: str) -> list[tuple[str, str]]:
    """Id and conversation of an advisor's whole answers, the newest first."""
    sql = (
        "SELECT id, conversation_id FROM answers WHERE user_id = ? AND advisor_id = ?"
        " AND kind = 'advisor' AND state = 'completed' AND current = 1 AND text <> ''"
        " ORDER BY id DESC LIMIT 500"
    )
    return [(row[0], row[1]) for row in tx.all(sql, (tx.user, advisor_id))]


def is_asked(tx: Tx, question: str) -> bool:
    """True if some assertion has this question of its own."""
    sql = "SELECT 1 FROM assertions WHERE user_id = ? AND user_input = ?"
    return tx.one(sql, (tx.user, question)) is not None


def is_known(tx: Tx, assertion_id: str) -> bool:
    """True if this id was ever given."""
    return bool(versions(tx, assertion_id))


def tags_of(tx: Tx, advisor_id: str) -> list[str]:
    """Every tag that an advisor's assertions have."""
    rows = _rows(tx, "DISTINCT tags", "AND advisor_id = ?", advisor_id)
    return sorted({tag for row in rows for tag in msgspec.json.decode(row[0])})


def asserted(tx: Tx, conversation_id: str) -> list[str]:
    """The answers of a conversation that assertions were drawn from."""
    rest = "AND source_conversation = ? ORDER BY source_answer"
    return [row[0] for row in _rows(tx, "DISTINCT source_answer", rest, conversation_id)]


def _rows(tx: Tx, columns: str, rest: str, *params: Value) -> list[Row]:
    """Columns of the assertions that are there."""
    sql = f"SELECT {columns} FROM assertions WHERE user_id = ? AND removed_at IS NULL {rest}"
    return tx.all(sql, (tx.user, *params))


def owner(tx: Tx, key: str) -> tuple[str, str]:
    """Id and name of who is meant: an advisor by id or slug, also a removed one by its id as long
    as it has assertions; the plain assistant, and syntheses."""
    if (advisor := advisors.find(tx, key)) is not None:
        return advisor.id, advisor.name
    name = OURS.get(key) or dict(owners(tx)).get(key)
    return key, name or advisors.get(tx, key).name


def owners(tx: Tx) -> list[tuple[str, str]]:
    """Id and name of everybody who has assertions, by their first one."""
    columns = "advisor_id, MAX(advisor_name), MIN(created_at)"
    return [(row[0], row[1]) for row in _rows(tx, columns, "GROUP BY advisor_id ORDER BY 3, 1")]


def add(tx: Tx, assertion: Assertion) -> Assertion:
    """A new assertion in its first version. An id that was ever given is a Conflict."""
    row = {"user_id": tx.user, **_row(assertion)}
    added = tx.run(
        f"INSERT INTO assertions ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})"
        " ON CONFLICT DO NOTHING",
        tuple(row.values()),
    )
    if not added:
        raise Conflict(
            f"There was an assertion {assertion.id} before.", "Ids are never used again."
        )
    first = assertion.number == 1
    _add_version(tx, assertion, assertion.created_at if first else assertion.updated_at)
    return assertion


def add_version(tx: Tx, version: AssertionVersion) -> None:
    """An earlier version that a file tells of; one that is there stays as it is."""
    _VERSIONS.try_insert(tx, version)


def _add_version(tx: Tx, new: Assertion, now: int) -> None:
    add_version(tx, AssertionVersion(new.id, new.number, new.text, new.kind, new.args, now))


def change(tx: Tx, assertion_id: str, now: int, details: AssertionDetails) -> Assertion:
    """Change what `details` names. Saying something else makes a new version."""
    # Touching the row first locks it: two changes at once make two versions, one after the other.
    tx.run(
        "UPDATE assertions SET updated_at = ? WHERE user_id = ? AND id = ? AND removed_at IS NULL",
        (now, tx.user, assertion_id),
    )
    old = get(tx, assertion_id)
    return _replace(tx, old, replace(old, **details, updated_at=now))


def _replace(tx: Tx, old: Assertion, new: Assertion) -> Assertion:
    """Store what has changed of an assertion."""
    if new.wording != old.wording:
        new = replace(new, number=old.number + 1)
        _add_version(tx, new, new.updated_at)
    _update(
        tx, new, f"advisor_name number tags active phase contexts context_hash updated_at {_SPOKEN}"
    )
    return new


def remove(tx: Tx, assertion_id: str, now: int) -> None:
    """Take an assertion off the list, with everything of the conversation it was drawn from."""
    old = get(tx, assertion_id)
    tx.run(
        "UPDATE assertions SET removed_at = ?, updated_at = ?, source_input = '', source_text = '',"
        " context_hash = '', contexts = '[]', user_input = NULL, words = ''"
        " WHERE user_id = ? AND id = ?",
        (now, now, tx.user, assertion_id),
    )
    for name in old.contexts:
        contexts.drop_unused(tx, name)
    if old.source is None:
        return
    contexts.drop_unused(tx, old.source.context_hash)
    if not list_all(tx, AssertionFilter(answer_id=old.source.answer_id)):
        past_runs.drop(tx, old.source.answer_id)


def restore(tx: Tx, assertion: Assertion, now: int) -> bool:
    """Bring a removed assertion back as it is given; answers whether that id was this one's: of
    the same advisor, from the same answer."""
    back = tx.run(
        "UPDATE assertions SET removed_at = NULL WHERE user_id = ? AND id = ? AND advisor_id = ?"
        " AND COALESCE(source_answer, '') = ? AND removed_at IS NOT NULL",
        (
            tx.user,
            assertion.id,
            assertion.advisor_id,
            assertion.source.answer_id if assertion.source else "",
        ),
    )
    if not back:
        return False
    old = get(tx, assertion.id)
    _replace(tx, old, replace(assertion, number=old.number, updated_at=now))
    return True


@place("assertion", tables=("assertions", "assertion_versions"))
def _forgotten(tx: Tx, gone: Gone, dry: bool) -> list[Found]:
    """Forgetting reaches the message and the answer that an assertion was drawn from. One whose
    conversation is only deleted keeps them: it works on."""
    found: list[Found] = []
    for old in _select(tx, "AND a.source_turn <> ''"):
        source = old.source
        if source is None or source.conversation_id == gone.leaving:
            continue
        asked = REDACTED if source.turn_id in gone.turns else source.user_input
        answer = REDACTED if source.answer_id in gone.answers else source.answer
        if (asked, answer) == (source.user_input, source.answer):
            continue
        found.append(Found("assertion", old.id, excerpt(old.text)))
        if not dry:
            source = replace(source, user_input=asked, answer=answer)
            _update(tx, replace(old, source=source), _SPOKEN)
    return found


def _update(tx: Tx, assertion: Assertion, columns: str) -> None:
    """Store these columns (names parted by spaces) of an assertion."""
    row = _row(assertion)
    names = columns.split()
    tx.run(
        f"UPDATE assertions SET {', '.join(f'{name} = ?' for name in names)}"
        " WHERE user_id = ? AND id = ?",
        (*(row[name] for name in names), tx.user, assertion.id),
    )


def _row(assertion: Assertion) -> dict[str, Value]:
    """The columns of an assertion; its wording stands among the versions."""
    source = assertion.source
    return {
        "id": assertion.id,
        "advisor_id": assertion.advisor_id,
        "advisor_name": assertion.advisor_name,
        "number": assertion.number,
        "tags": _json(assertion.tags),
        "active": int(assertion.active),
        "source_answer": source.answer_id if source else None,
        "source_conversation": source.conversation_id if source else "",
        "source_turn": source.turn_id if source else "",
        "source_input": source.user_input if source else "",
        "source_text": source.answer if source else "",
        "context_hash": source.context_hash if source else "",
        "user_input": assertion.user_input,
        "phase": assertion.phase,
        "contexts": _json(assertion.contexts),
        "words": _words(assertion),
        "created_at": assertion.created_at,
        "updated_at": assertion.updated_at,
    }


def _words(assertion: Assertion) -> str:
    """The text that a search looks through: folded words, each with a space before it."""
    asked = assertion.source.user_input if assertion.source else (assertion.user_input or "")
    text = " ".join((assertion.text, *assertion.tags, asked[:2000]))
    return " " + " ".join(fold(text).split())


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
