"""Suites of assertions as files: YAML with everything their tests need, contexts included.

Reading says what a file holds; nothing is stored here. A file may be as little as a list of
sentences. A context is named by the hash of what is in it; one that was changed by hand gets the
name it deserves, and the report says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from polyvox.errors import Invalid
from polyvox.evaluation.assertion import tags, wording
from polyvox.evaluation.contexts import Context
from polyvox.evaluation.tables.assertions import Assertion, AssertionSource, AssertionVersion
from polyvox.evaluation.tables.past_runs import PastRun
from polyvox.receive import clean

FORMAT = "polyvox-assertions"
VERSION = 1
LARGEST = 32_000_000
"""Bytes of a file."""
MOST = 5000
"""Assertions in one file."""
LONGEST = 2_000_000
"""Characters of a source's text."""
KEYS = ("id", "text", "kind", "args", "tags", "active", "user_input", "version", "earlier",
        "created_at", "updated_at", "source")  # fmt: skip
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICRO = timedelta(microseconds=1)


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
    description: str = ""
    """The advisor as the file tells of it, in case there is none like it."""
    makes: bool = False
    """True if the advisor may be made where it is missing."""


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


def write(suites: Iterable[Suite], contexts: Mapping[str, Context]) -> str:
    """The file."""
    data: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "suites": [
            {
                "advisor": {"slug": suite.slug, "name": suite.name, "id": suite.advisor_id},
                "assertions": [_told(entry) for entry in suite.entries],
            }
            for suite in suites
        ],
    }
    if contexts:
        data["contexts"] = {
            name: msgspec.to_builtins(context) for name, context in sorted(contexts.items())
        }
    return _yaml(data)


def _told(entry: AssertionEntry) -> dict[str, Any]:
    assertion = entry.assertion
    row: dict[str, Any] = {"id": assertion.id, "text": assertion.text}
    if assertion.kind != "judge":
        row |= {"kind": assertion.kind, "args": dict(assertion.args)}
    if assertion.tags:
        row["tags"] = list(assertion.tags)
    if not assertion.active:
        row["active"] = False
    if assertion.user_input is not None:
        row["user_input"] = assertion.user_input
    row["created_at"] = iso(assertion.created_at)
    row["updated_at"] = iso(assertion.updated_at)
    if assertion.number > 1:
        row["version"] = assertion.number
    if entry.earlier:
        row["earlier"] = [
            {
                "version": old.number,
                "text": old.text,
                **({"kind": old.kind, "args": dict(old.args)} if old.kind != "judge" else {}),
                "created_at": iso(old.created_at),
            }
            for old in entry.earlier
        ]
    if (source := assertion.source) is not None:
        row["source"] = {
            "question": source.user_input,
            "answer": source.answer,
            "answer_id": source.answer_id,
            "conversation_id": source.conversation_id,
            "turn_id": source.turn_id,
            **({"context": source.context_hash} if source.context_hash else {}),
        }
    return row


def _yaml(data: object) -> str:
    import yaml

    class Readable(yaml.SafeDumper):
        """Texts of several lines as blocks, and nothing by reference."""

        def ignore_aliases(self, data: object) -> bool:
            del data
            return True

    def text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
        # A block would make a plain line break of these: they are written as escapes.
        special = any(sign in value for sign in "\x85\u2028\u2029\r\ufeff")
        style = '"' if special else "|" if "\n" in value else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)

    Readable.add_representer(str, text)
    return yaml.dump(data, Dumper=Readable, allow_unicode=True, sort_keys=False, width=100)


def iso(at: int) -> str:
    """A time as text that says it exactly."""
    return (_EPOCH + timedelta(microseconds=at)).isoformat().replace("+00:00", "Z")


# -- reading ---------------------------------------------------------------------------------------


def parse(data: object, what: str) -> ParsedAssertions:
    """The suites in what a file holds."""
    parsed = ParsedAssertions()
    if isinstance(data, Mapping) and data.get("version", VERSION) != VERSION:
        raise Invalid(
            f"{what} has version {data['version']!r}; this program reads {VERSION}.",
            "Upgrade Polyvox, or export it again.",
        )
    rows = _suites(data, what)
    if isinstance(data, Mapping):
        _contexts(data.get("contexts"), parsed)
    count = 0
    for row in rows:
        listed = row.get("assertions")
        if not isinstance(listed, list):
            raise Invalid(f"In {what} a suite has no list of assertions.", "Add `assertions:`.")
        count += len(listed)
        if count > MOST:
            raise Invalid(f"{what} holds more than {MOST:,} assertions.", "Split it.")
        advisor = row.get("advisor")
        named = advisor if isinstance(advisor, Mapping) else {"slug": advisor}
        entries = [
            entry
            for number, row in enumerate(listed, 1)
            if (entry := _entry(row, number, parsed)) is not None
        ]
        advisor_id, slug, name = (_line(named.get(key)) for key in ("id", "slug", "name"))
        parsed.suites.append(Suite(advisor_id, slug, name, tuple(entries)))
    return parsed


def _suites(data: object, what: str) -> list[Mapping[str, Any]]:
    if isinstance(data, list):
        return [{"assertions": data}]
    if isinstance(data, Mapping):
        suites = data.get("suites")
        if isinstance(suites, list) and all(isinstance(suite, Mapping) for suite in suites):
            return suites
        if isinstance(data.get("assertions"), list):
            return [data]
    raise Invalid(
        f"{what} holds no assertions.",
        "It needs a list of them, or `suites` as `polyvox assertions export` writes them.",
    )


def _contexts(data: object, parsed: ParsedAssertions) -> None:
    if data is None:
        return
    if not isinstance(data, Mapping):
        raise Invalid("`contexts` must be a table.", "Export the file again.")
    for name, content in data.items():
        try:
            sound(content)
            context = msgspec.convert(content, Context)
        except (msgspec.ValidationError, Invalid, RecursionError) as error:
            reason = error.message if isinstance(error, Invalid) else str(error)
            parsed.notes.append(f"the context {name} cannot be used: {reason}")
            continue
        if context.hash != name:
            parsed.notes.append(f"the context {name} was changed since it was written")
        parsed.contexts[str(name)] = context


def _entry(data: object, number: int, parsed: ParsedAssertions) -> AssertionEntry | None:
    row: Mapping[str, Any]
    row = data if isinstance(data, Mapping) else {"text": data}
    name = _line(row.get("text"))[:60] or f"number {number}"
    try:
        sound(row)
        made = _assertion(row, parsed)
    except Invalid as error:
        parsed.refused.append(f"{name}: {error.message}")
        return None
    parsed.notes += [
        f"{name}: nothing here is called {key!r}; left out"
        for key in map(str, row)
        if key not in KEYS
    ]
    return made


def _assertion(row: Mapping[str, Any], parsed: ParsedAssertions) -> AssertionEntry:
    wording = _wording(row)
    source = _source(row.get("source"), parsed)
    asked = row.get("user_input")
    if asked is not None and (source is not None or not isinstance(asked, str)):
        raise Invalid("`user_input` must be text, and not beside a source.")
    listed = row.get("tags") or []
    if not isinstance(listed, list) or not all(isinstance(tag, str) for tag in listed):
        raise Invalid("`tags` must be a list of words.")
    active = row.get("active", True)
    if not isinstance(active, bool):
        raise Invalid("`active` must be true or false.")
    earlier = _earlier(row.get("earlier"))
    number = row.get("version", len(earlier) + 1)
    if not isinstance(number, int) or isinstance(number, bool) or not 1 <= number < 1_000_000:
        raise Invalid("`version` must be a number from 1.")
    if any(old.number >= number for old in earlier):
        raise Invalid("An earlier version has a number that is not earlier.")
    made = Assertion(
        _id(row.get("id")),
        "",
        "",
        number,
        wording.text,
        wording.kind,
        wording.args,
        tags(listed),
        active,
        source,
        None if asked is None else clean(asked, "user_input", LONGEST),
        created_at := (time_of(row.get("created_at")) or 0),
        time_of(row.get("updated_at")) or created_at,
    )
    return AssertionEntry(made, tuple(replace(old, assertion_id=made.id) for old in earlier))


def _wording(row: Mapping[str, Any]) -> Any:  # noqa: ANN401 - a Wording
    kind, text = row.get("kind", "judge"), row.get("text", "")
    if not isinstance(text, str):
        raise Invalid("`text` must be text.")
    if kind not in _KINDS:
        raise Invalid(f"There is no kind {kind!r}; known are {', '.join(_KINDS)}.")
    return wording(text, kind, row.get("args"))


_KINDS = (
    "judge", "words", "sentences", "contains", "lacks", "matches", "questions",
    "ends_with_question", "language", "json",
)  # fmt: skip


def _earlier(data: object) -> list[AssertionVersion]:
    if data is None:
        return []
    if not isinstance(data, list) or len(data) > 1000:
        raise Invalid("`earlier` must be a list of versions.")
    earlier = []
    for row in data:
        number = row.get("version") if isinstance(row, Mapping) else None
        if not isinstance(number, int) or isinstance(number, bool) or number < 1:
            raise Invalid("An earlier version has no number.")
        wording = _wording(row)
        at = time_of(row.get("created_at")) or 0
        earlier.append(AssertionVersion("", number, wording.text, wording.kind, wording.args, at))
    return earlier


def _source(data: object, parsed: ParsedAssertions) -> AssertionSource | None:
    if data is None:
        return None
    if not isinstance(data, Mapping):
        raise Invalid("`source` must be a table.")
    name = data.get("context") or ""
    if name and name not in parsed.contexts:
        parsed.notes.append(
            f"the context {name} is not in the file: that answer cannot be replayed"
        )
        name = ""
    texts = [data.get(key) or "" for key in ("question", "answer")]
    if any(not isinstance(text, str) or len(text) > LONGEST for text in texts):
        raise Invalid("The texts of a source must be texts.")
    return AssertionSource(
        _id(data.get("answer_id")),
        _id(data.get("conversation_id")),
        _id(data.get("turn_id")),
        texts[0],
        texts[1],
        str(name),
    )


def sound(value: object, depth: int = 60) -> None:
    """Refuse what a database could not hold."""
    if depth == 0:
        raise Invalid("It is nested too deeply.")
    if isinstance(value, str):
        if "\x00" in value or any("\ud800" <= sign <= "\udfff" for sign in value):
            raise Invalid("A text holds a character that is none.")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        if not -(2**62) < value < 2**62:  # not a number fails too
            raise Invalid("A number is out of range.")
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            sound(key, depth - 1)
            sound(inner, depth - 1)
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


def _id(value: object) -> str:
    text = "" if value is None else str(value)
    if len(text) > 200 or not text.isprintable():
        raise Invalid("An id is too long, or not one.")
    return text


def _line(value: object) -> str:
    return " ".join(value.split())[:200] if isinstance(value, str) else ""
