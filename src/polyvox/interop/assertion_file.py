"""Suites of assertions as files: YAML with everything their tests need, contexts included.

The rows below are the file, for writing and for reading. A file may be as little as a list of
sentences. A context is named by the hash of what is in it; one that was changed by hand gets the
name it deserves, and the report says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, TypeVar

import msgspec

from polyvox.errors import Invalid
from polyvox.evaluation.assertion import tags, wording
from polyvox.evaluation.checks import written
from polyvox.evaluation.contexts import Context, read
from polyvox.evaluation.tables import assertions, contexts
from polyvox.evaluation.tables.assertions import (
    Assertion,
    AssertionFilter,
    AssertionSource,
    AssertionVersion,
    Kind,
)
from polyvox.evaluation.tables.past_runs import PastRun
from polyvox.interop import files
from polyvox.receive import clean
from polyvox.settings.complaint import misfit
from polyvox.store import advisors
from polyvox.store.database import Tx

FORMAT = "polyvox-assertions"
VERSION = 1
MOST = 5000
"""Assertions in one file."""
LONGEST = 2_000_000
"""Characters of a source's text."""
T = TypeVar("T")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICRO = timedelta(microseconds=1)

Number = Annotated[int, msgspec.Meta(ge=1, lt=1_000_000)]
Text = Annotated[str, msgspec.Meta(max_length=LONGEST)]


class VersionRow(msgspec.Struct, omit_defaults=True, rename={"number": "version"}):
    """An earlier version in a file."""

    number: Number
    text: str = ""
    kind: Kind = "judge"
    args: dict[str, Any] | None = None
    created_at: Any = None


class SourceRow(
    msgspec.Struct,
    omit_defaults=True,
    rename={"user_input": "question", "context_hash": "context"},
):
    """The source of an assertion in a file."""

    user_input: Text = ""
    answer: Text = ""
    answer_id: str | int = ""
    conversation_id: str | int = ""
    turn_id: str | int = ""
    context_hash: str = ""


class AssertionRow(msgspec.Struct, omit_defaults=True, rename={"number": "version"}):
    """An assertion in a file."""

    id: str | int = ""
    text: str = ""
    kind: Kind = "judge"
    args: dict[str, Any] | None = None
    tags: list[str] = []
    active: bool = True
    user_input: str | None = None
    created_at: Any = None
    updated_at: Any = None
    number: Number | None = None
    earlier: list[VersionRow] = []
    source: SourceRow | None = None
    phase: str | None = None
    contexts: list[str] = []


@dataclass(frozen=True, slots=True)
class AssertionEntry:
    """An assertion of a file."""

    assertion: Assertion
    """Its id is empty where the file gives none; so is its advisor's."""
    earlier: tuple[AssertionVersion, ...] = ()


@dataclass(frozen=True, slots=True)
class Suite:
    """The assertions of one advisor."""

    advisor_id: str
    slug: str
    name: str
    entries: tuple[AssertionEntry, ...]
    description: str | None = None
    """The advisor as the file tells of it, to make one where there is none like it; None: the
    file makes no advisors."""


@dataclass(slots=True)
class ParsedAssertions:
    """The contents of a file."""

    suites: list[Suite] = field(default_factory=list)
    contexts: dict[str, Context] = field(default_factory=dict)
    """By the name that the file's entries use."""
    runs: list[PastRun] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


# -- writing ---------------------------------------------------------------------------------------


def export(tx: Tx, owners: Sequence[tuple[str, str]]) -> str:
    """The assertions of these advisors (id, name) as a file, with the contexts they need. A context
    that lost something cannot be replayed elsewhere either: it stays here."""
    kept: dict[str, Context] = {}
    suites = []
    for advisor_id, name in owners:
        known = advisors.even_removed(tx, advisor_id)
        entries = []
        for assertion in assertions.list_all(tx, AssertionFilter(advisor_id=advisor_id)):
            earlier = assertions.versions(tx, assertion.id)[1:]
            entries.append(AssertionEntry(assertion, tuple(reversed(earlier))))
            own = assertion.source.context_hash if assertion.source else ""
            for used in (own, *assertion.contexts):
                if used not in kept and (stored := contexts.find(tx, used)) and not stored.redacted:
                    kept[used] = read(stored.data)
        suites.append(Suite(advisor_id, known.slug if known else "", name, tuple(entries)))
    return write(suites, kept)


def write(suites: Iterable[Suite], kept: Mapping[str, Context]) -> str:
    """The file."""
    data: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "suites": [
            {
                "advisor": {"slug": suite.slug, "name": suite.name, "id": suite.advisor_id},
                "assertions": [msgspec.to_builtins(_row(entry, kept)) for entry in suite.entries],
            }
            for suite in suites
        ],
    }
    if kept:
        data["contexts"] = {name: msgspec.to_builtins(kept[name]) for name in sorted(kept)}
    return files.to_yaml(data, _style, width=100)


def _row(entry: AssertionEntry, kept: Mapping[str, Context]) -> AssertionRow:
    assertion, source = entry.assertion, None
    if assertion.source is not None:
        source = SourceRow(**asdict(assertion.source))
        source.context_hash = source.context_hash if source.context_hash in kept else ""
    return AssertionRow(
        **_said(assertion),
        id=assertion.id,
        tags=list(assertion.tags),
        active=assertion.active,
        user_input=assertion.user_input,
        updated_at=iso(assertion.updated_at),
        number=assertion.number if assertion.number > 1 else None,
        earlier=[VersionRow(number=old.number, **_said(old)) for old in entry.earlier],
        source=source,
        phase=assertion.phase,
        contexts=[name for name in assertion.contexts if name in kept],
    )


def _said(worded: Assertion | AssertionVersion) -> dict[str, Any]:
    args = None if worded.kind == "judge" else dict(worded.args)
    at = iso(worded.created_at)
    return {"text": worded.text, "kind": worded.kind, "args": args, "created_at": at}


def _style(text: str) -> str | None:
    """Texts of several lines as blocks."""
    # A block would make a plain line break of these: they are written as escapes.
    special = any(sign in text for sign in "\x85\u2028\u2029\r\ufeff")
    return '"' if special else "|" if "\n" in text else None


def iso(at: int) -> str:
    """A time as text that says it exactly."""
    return (_EPOCH + timedelta(microseconds=at)).isoformat().replace("+00:00", "Z")


# -- reading ---------------------------------------------------------------------------------------


def parse(data: object, what: str) -> ParsedAssertions:
    """The suites in what a file holds."""
    parsed = ParsedAssertions()
    whole = data if isinstance(data, Mapping) else {"assertions": data}
    if whole.get("version", VERSION) != VERSION:
        raise Invalid(
            f"{what} has version {whole['version']!r}; this program reads {VERSION}.",
            "Upgrade Polyvox, or export it again.",
        )
    suites = whole.get("suites", [whole])
    if not isinstance(suites, list) or not all(
        isinstance(suite, Mapping) and isinstance(suite.get("assertions"), list) for suite in suites
    ):
        raise Invalid(
            f"{what} holds no assertions.",
            "It needs a list of them, or `suites` as `polyvox assertions export` writes them.",
        )
    _contexts(whole.get("contexts") or {}, parsed)
    read_suites(suites, parsed, what)
    return parsed


def read_suites(
    suites: Iterable[Mapping[str, Any]],
    parsed: ParsedAssertions,
    what: str,
    *,
    described: bool = False,
) -> ParsedAssertions:
    """Add suites, as they stand in a file; a row that cannot be taken is told with its reason.
    `described`: each has a description of its advisor, who is made where there is none like it."""
    count = 0
    for suite in suites:
        listed, advisor = suite["assertions"], suite.get("advisor")
        count += len(listed)
        if count > MOST:
            raise Invalid(f"{what} holds more than {MOST:,} assertions.", "Split it.")
        named = advisor if isinstance(advisor, Mapping) else {"slug": advisor}
        entries = [_entry(row, number, parsed) for number, row in enumerate(listed, 1)]
        taken = tuple(entry for entry in entries if entry is not None)
        words = suite["description"] if described else None
        advisor_id, slug, name = (_line(named.get(key)) for key in ("id", "slug", "name"))
        parsed.suites.append(Suite(advisor_id, slug, name, taken, words))
    return parsed


def _contexts(data: object, parsed: ParsedAssertions) -> None:
    if not isinstance(data, Mapping):
        raise Invalid("`contexts` must be a table.", "Export the file again.")
    for name, content in data.items():
        try:
            context = _converted(content, Context)
        except Invalid as error:
            parsed.notes.append(f"the context {name} cannot be used: {error.message}")
            continue
        if context.hash != name:
            parsed.notes.append(f"the context {name} was changed since it was written")
        parsed.contexts[str(name)] = context


def _entry(data: object, number: int, parsed: ParsedAssertions) -> AssertionEntry | None:
    row = data if isinstance(data, Mapping) else _sentence(data)
    name = _line(row.get("text"))[:60] or f"number {number}"
    given = {key: value for key, value in row.items() if value is not None}
    try:
        entry = _read(_converted(given, AssertionRow), parsed)
    except Invalid as error:
        parsed.refused.append(f"{name}: {error.message}")
        return None
    strange = [key for key in map(str, row) if key not in AssertionRow.__struct_encode_fields__]
    parsed.notes += [f"{name}: nothing here is called {key!r}; left out" for key in strange]
    return entry


def _sentence(data: object) -> dict[str, Any]:
    """A row of a list of sentences; one that says a check is that check, as it is where somebody
    types it."""
    check = written(data) if isinstance(data, str) else None
    return asdict(check) if check else {"text": data}


def _converted(data: object, kind: type[T]) -> T:
    """Data as a value of this kind; `Invalid` says why not."""
    sound(data)
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        raise Invalid(f"{misfit(error)}.") from None


def _read(row: AssertionRow, parsed: ParsedAssertions) -> AssertionEntry:
    worded = wording(row.text, row.kind, row.args)
    if row.user_input is not None and row.source is not None:
        raise Invalid("`user_input` cannot stand beside a source.")
    number = row.number or len(row.earlier) + 1
    if any(old.number >= number for old in row.earlier):
        raise Invalid("An earlier version has a number that is not earlier.")
    made = Assertion(
        _id(row.id),
        "",
        "",
        number,
        worded.text,
        worded.kind,
        worded.args,
        tags(row.tags),
        row.active,
        None if row.source is None else _source(row.source, parsed),
        None if row.user_input is None else clean(row.user_input, "user_input", LONGEST),
        created_at := (time_of(row.created_at) or 0),
        time_of(row.updated_at) or created_at,
        None if row.phase is None else clean(row.phase, "phase", 60),
        tuple(name for name in row.contexts if name in parsed.contexts),
    )
    return AssertionEntry(made, tuple(_version(made.id, old) for old in row.earlier))


def _version(assertion_id: str, row: VersionRow) -> AssertionVersion:
    old = wording(row.text, row.kind, row.args)
    at = time_of(row.created_at) or 0
    return AssertionVersion(assertion_id, row.number, old.text, old.kind, old.args, at)


def _source(row: SourceRow, parsed: ParsedAssertions) -> AssertionSource:
    name = row.context_hash
    if name and name not in parsed.contexts:
        parsed.notes.append(
            f"the context {name} is not in the file: that answer cannot be replayed"
        )
        name = ""
    ids = (_id(row.answer_id), _id(row.conversation_id), _id(row.turn_id))
    return AssertionSource(*ids, row.user_input, row.answer, name)


def sound(value: object, depth: int = 60) -> None:
    """Refuse what a database could not hold."""
    if depth == 0:
        raise Invalid("It is nested too deeply.")
    if isinstance(value, str):
        if "\x00" in value or any("\ud800" <= sign <= "\udfff" for sign in value):
            raise Invalid("A text holds a character that is none.")
    elif isinstance(value, int | float):
        if not -(2**62) < value < 2**62:  # not a number fails too
            raise Invalid("A number is out of range.")
    elif isinstance(value, Mapping):
        for pair in value.items():
            sound(pair, depth - 1)
    elif isinstance(value, Sequence):
        for inner in value:
            sound(inner, depth - 1)


def time_of(value: object) -> int | None:
    """A time in microseconds, from ISO text, milliseconds, or what YAML makes of a date."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return int(value * 1000) if 0 < value < 2**47 else None
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.strip())
        except ValueError:
            return None
    if not isinstance(value, datetime):
        return None
    at = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
    return max(0, (at - _EPOCH) // _MICRO)


def _id(value: str | int) -> str:
    text = str(value)
    if len(text) > 200 or not text.isprintable():
        raise Invalid("An id is too long, or not one.")
    return text


def _line(value: object) -> str:
    return " ".join(value.split())[:200] if isinstance(value, str) else ""
