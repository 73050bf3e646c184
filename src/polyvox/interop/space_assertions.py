"""Assertions of SPACE Terminal, both of its shapes, in our own.

Its first shape is a record per response: the response, its conversation, its assertions, and every
evaluation and optimisation made of it. Its second is a record per assertion, with an index per
advisor. Both are found in a dump of the browser's storage (whose values are JSON inside strings),
in a list of records, or alone. Ids are kept, runs are kept word for word, and what cannot be mapped
is told. Keys that hold secrets are dropped unread.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from polyvox.context.promptset import fill, prompt_set
from polyvox.context.words import label
from polyvox.errors import Invalid
from polyvox.evaluation.assertion import wording
from polyvox.evaluation.contexts import Context, SentMessage, SystemBlock
from polyvox.evaluation.tables.assertions import Assertion, AssertionSource
from polyvox.evaluation.tables.past_runs import PastRun, RunKind
from polyvox.ids import content_hash
from polyvox.interop.assertion_file import (
    LONGEST,
    AssertionEntry,
    ParsedAssertions,
    Suite,
    sound,
    time_of,
)
from polyvox.interop.files import mended
from polyvox.values import SYNTHESIS_ID

ORIGIN = "SPACE Terminal"
MOST_MESSAGES = 5000
_SECRET = re.compile(r"^space_.*_key$")
_RESPONSE = re.compile(r"^(?:space_)?assertions_(?P<rest>.+)$")
_ASSERTION = re.compile(r"^(?:space_)?assertion_(?P<id>.+)$")
_INDEX = re.compile(r"^(?:space_)?advisor_assertions_(?P<id>.+)$")


@dataclass(slots=True)
class _AdvisorEntries:
    """The assertions of one advisor, while they are gathered."""

    advisor_id: str
    name: str
    description: str = ""
    entries: list[AssertionEntry] = field(default_factory=list)


def is_space(data: object) -> bool:
    """True if this is an export of SPACE Terminal."""
    if isinstance(data, list):
        return bool(data) and all(isinstance(entry, Mapping) and _record(entry) for entry in data)
    if not isinstance(data, Mapping):
        return False
    return _record(data) or any(
        isinstance(key, str) and (_RESPONSE.match(key) or _ASSERTION.match(key)) for key in data
    )


def _record(data: Mapping[Any, Any]) -> bool:
    """True if this is one record, of either shape."""
    listed = data.get("assertions")
    response = isinstance(listed, list) and ("responseId" in data or "responseContent" in data)
    return response or ("advisorName" in data and "text" in data and "id" in data)


def parse(data: object) -> ParsedAssertions:
    """Read all of it into our form."""
    reading = _Collector()
    for key, value in _records(data, reading):
        try:
            sound(value)
            reading.record(key, value)
        except Invalid as error:
            reading.found.refused.append(f"{key or 'a record'}: {error.message}")
    return reading.done()


def _records(data: object, reading: _Collector) -> Iterable[tuple[str, Mapping[str, Any]]]:
    if isinstance(data, list):
        for entry in data:
            yield "", entry
        return
    if not isinstance(data, Mapping):
        raise Invalid("It holds no assertions of SPACE Terminal.", "Export them again.")
    if _record(data):
        yield "", data
        return
    skipped = 0
    for key in map(str, data):
        if _SECRET.match(key):
            reading.found.notes.append(f"{key} holds a secret: not read")
        elif not (_RESPONSE.match(key) or _ASSERTION.match(key) or _INDEX.match(key)):
            skipped += 1
        else:
            value = _unpacked(data[key])
            if isinstance(value, Mapping):
                yield key, value
            elif _INDEX.match(key) and isinstance(value, list):
                reading.listed |= {str(entry) for entry in value if isinstance(entry, str | int)}
            else:
                reading.found.refused.append(f"{key}: it does not hold a record")
    if skipped:
        reading.found.notes.append(f"{skipped} other entries of the storage are not assertions")


def _unpacked(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return None


class _Collector:
    """Gathers records."""

    def __init__(self) -> None:
        self.found = ParsedAssertions()
        self.listed: set[str] = set()
        self._who: dict[tuple[str, str], _AdvisorEntries] = {}
        self._seen: set[str] = set()
        self._mended = 0

    def record(self, key: str, data: Mapping[str, Any]) -> None:
        """One record of either shape."""
        if isinstance(data.get("assertions"), list):
            self._response(key, data)
        elif "text" in data:
            self._alone(key, data)
        else:
            raise Invalid("it has neither assertions nor a text")

    def done(self) -> ParsedAssertions:
        """Close the collection: the file's contents, with notes on what is missing."""
        missing = sorted(self.listed - self._seen)
        if missing:
            self.found.notes.append(
                f"{len(missing)} assertions are listed and not there: {', '.join(missing[:5])}"
            )
        if self._mended:
            self.found.notes.append(
                f"{self._mended} garbled stretches of text were put right (UTF-8 read as Mac Roman)"
            )
        self.found.suites = [
            Suite(
                who.advisor_id,
                "",
                who.name,
                tuple(who.entries),
                who.description,
                makes=True,
            )
            for who in self._who.values()
        ]
        return self.found

    # -- the two shapes ----------------------------------------------------------------------------

    def _response(self, key: str, data: Mapping[str, Any]) -> None:
        conversation, response = _names(key)
        response = self._text(data.get("responseId")) or response
        conversation = self._text(data.get("conversationId")) or conversation
        if not response:
            response = f"resp-{content_hash(json.dumps(data, sort_keys=True, default=str))[:16]}"
            self.found.notes.append(f"a record has no response id; it is called {response}")
        held = data.get("conversationContext")
        context = held if isinstance(held, Mapping) else {}
        answer = self._text(data.get("responseContent"))
        who = self._advisor(data, context)
        messages = _listed(context.get("messages"))
        asked, name = self._context(
            who, messages, self._text(context.get("systemPrompt")), answer, ""
        )
        source = AssertionSource(response, conversation, "", asked, answer, name)
        at = time_of(context.get("timestamp"))
        for number, row in enumerate(_listed(data.get("assertions")), 1):
            given = row if isinstance(row, Mapping) else {"text": row}
            named = self._text(given.get("id")) or f"{response}-{number}"
            created = time_of(given.get("createdAt")) or at
            self._add(who, named, given, source, created)
        self._runs(response, "evaluation", data.get("evaluations"), "timestamp")
        self._runs(response, "optimisation", data.get("optimizations"), "startedAt")
        known = {"responseId", "responseContent", "advisorName", "advisorId", "conversationContext",
                "assertions", "evaluations", "optimizations", "conversationId"}  # fmt: skip
        self._rest(response, data, known)

    def _alone(self, key: str, data: Mapping[str, Any]) -> None:
        match = _ASSERTION.match(key)
        named = self._text(data.get("id")) or (match["id"] if match else "")
        answer = self._text(data.get("sourceAdvisorResponse"))
        who = self._advisor(data, {})
        response = self._text(data.get("sourceResponseId"))
        asked, name = self._context(
            who,
            _listed(data.get("sourceContext")),
            self._text(data.get("sourceSystemPrompt")),
            answer,
            self._text(data.get("sourceUserInput")),
        )
        source = None
        if response or answer or asked:
            conversation = self._text(data.get("sourceConversationId"))
            source = AssertionSource(
                response or f"of-{named}", conversation, "", asked, answer, name
            )
        self._add(who, named, data, source, time_of(data.get("createdAt")))
        whence = source.answer_id if source else named
        self._runs(whence, "evaluation", data.get("evaluations"), "timestamp")
        self._runs(whence, "optimisation", data.get("optimizations"), "startedAt")
        known = {"id", "text", "advisorId", "advisorName", "sourceResponseId", "sourceContext",
                "sourceConversationId", "sourceUserInput", "sourceAdvisorResponse", "createdAt",
                "sourceSystemPrompt", "isActive", "active", "evaluations",
                "optimizations"}  # fmt: skip
        self._rest(whence, data, known)

    # -- parts -------------------------------------------------------------------------------------

    def _add(
        self,
        who: _AdvisorEntries,
        named: str,
        row: Mapping[str, Any],
        source: AssertionSource | None,
        at: int | None,
    ) -> None:
        text = self._text(row.get("text"))
        try:
            worded = wording(text, "judge", None)
        except Invalid as error:
            self.found.refused.append(f"{named}: {error.message}")
            return
        active = row.get("isActive", row.get("active", True))
        self._seen.add(named)
        who.entries.append(
            AssertionEntry(
                Assertion(
                    named[:200],
                    "",
                    "",
                    1,
                    worded.text,
                    active=active is not False,
                    source=source,
                    created_at=at or 0,
                    updated_at=at or 0,
                )
            )
        )

    def _advisor(self, data: Mapping[str, Any], context: Mapping[str, Any]) -> _AdvisorEntries:
        name = " ".join(self._text(data.get("advisorName")).split())[:120]
        advisor_id = self._text(data.get("advisorId"))[:200]
        if SYNTHESIS_ID in (name.casefold(), advisor_id.casefold()):
            advisor_id, name = SYNTHESIS_ID, "Synthesis"
        key = (advisor_id, name)
        who = self._who.setdefault(key, _AdvisorEntries(advisor_id, name))
        for entry in _listed(context.get("advisors")):
            if isinstance(entry, Mapping) and self._text(entry.get("name")).strip() == name:
                who.description = self._text(entry.get("description"))[:20_000] or who.description
        if not name and not advisor_id:
            raise Invalid("it does not say whose answer it is about")
        return who

    def _context(
        self, who: _AdvisorEntries, messages: Sequence[Any], system: str, answer: str, asked: str
    ) -> tuple[str, str]:
        """The person's question and the name of the context; an empty name: too little is known to
        ask again."""
        rows = [row for row in messages[-MOST_MESSAGES:] if isinstance(row, Mapping)]
        read = (self._line(row, who.name) for row in rows)
        lines = [line for line in read if line is not None]
        given = [at for at, line in enumerate(lines) if answer and answer in line.text]
        if given and lines[given[-1]].role == "assistant":
            del lines[given[-1] :]  # neither the answer nor what came after it
        while lines and lines[-1].role == "assistant":
            lines.pop()
        if asked and (not lines or lines[-1].text != asked):
            lines.append(SentMessage("user", "user", asked))
        if not lines:
            return asked, ""
        last = SentMessage("current", "user", lines[-1].text)
        name = label(who.name or "Advisor")
        values = {"name": name, "identity": who.description, "short": who.description}
        template = ""
        if not system:
            template = prompt_set("full").text("identity")
            system = fill(template, values).strip()
        elif who.description and system.count(who.description) == 1:
            template = system.replace(who.description, "{identity}")
            template = template if fill(template, values).strip() == system.strip() else ""
        context = Context(
            advisor_id="",
            name=name,
            identity=who.description,
            brief=who.description,
            versioned=who.description,
            field="description",
            asked=last.text,
            blocks=(SystemBlock("identity", system.strip(), template),),
            messages=(*lines[:-1], last),
            origin=ORIGIN,
        )
        self.found.contexts[context.hash] = context
        return last.text, context.hash

    def _line(self, row: Mapping[str, Any], name: str) -> SentMessage | None:
        kind = row.get("type") or row.get("role")
        text = self._text(row.get("content"))
        if kind == "user":
            return SentMessage("user", "user", text) if text.strip() else None
        if kind == "parallel_advisor_response":
            responses = row.get("advisorResponses")
            for entry in responses.values() if isinstance(responses, Mapping) else ():
                if isinstance(entry, Mapping) and self._text(entry.get("name")) == name:
                    own = self._text(entry.get("content"))
                    return SentMessage("own", "assistant", own) if own.strip() else None
            return None
        if kind in ("assistant", "advisor_json", "advisor_response"):
            return SentMessage("own", "assistant", text) if text.strip() else None
        return None  # what the program said to itself

    def _runs(self, answer_id: str, kind: RunKind, data: object, when: str) -> None:
        for number, row in enumerate(_listed(data), 1):
            if not isinstance(row, Mapping):
                self.found.refused.append(f"a run of {answer_id}: it is not a record")
                continue
            named = self._text(row.get("id")) or f"{kind}-{number}"
            at = time_of(row.get(when))
            self.found.runs.append(PastRun(answer_id[:200], kind, named[:200], at, dict(row)))

    def _rest(self, answer_id: str, data: Mapping[str, Any], known: set[str]) -> None:
        """Keep fields that mean nothing here beside the run."""
        left = {str(key): value for key, value in data.items() if key not in known}
        if left:
            names = ", ".join(sorted(left))
            self.found.notes.append(f"{answer_id}: {names} mean nothing here; kept beside it")
            named = content_hash(json.dumps(left, sort_keys=True, default=str))[:16]
            self.found.runs.append(PastRun(answer_id[:200], "record", named, None, left))

    def _text(self, value: object) -> str:
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if not isinstance(value, str):
            return ""
        text, count = mended(value[:LONGEST])
        self._mended += count
        return text


def _names(key: str) -> tuple[str, str]:
    """Conversation and response out of a key of the first shape."""
    match = _RESPONSE.match(key)
    if match is None:
        return "", ""
    rest = match["rest"]
    if rest.startswith("resp-"):
        return "", rest
    conversation, separator, response = rest.partition("_resp-")
    if separator:
        return conversation, f"resp-{response}"
    conversation, _, response = rest.rpartition("_")
    return conversation, response


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
