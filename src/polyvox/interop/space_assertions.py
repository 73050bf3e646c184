"""Assertions of SPACE Terminal, both of its shapes, as the rows of our own file.

Its first shape is a record per response: the response, its conversation, its assertions, and every
evaluation and optimisation made of it. Its second is a record per assertion, with an index per
advisor. Both are found in a dump of the browser's storage (whose values are JSON inside strings),
in a list of records, or alone. Ids are kept, runs are kept word for word, and what cannot be mapped
is told. Keys that hold secrets are dropped unread.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from polyvox.context.words import fill, label, prompt_set
from polyvox.errors import Invalid
from polyvox.evaluation.contexts import Context, SentMessage, SystemBlock
from polyvox.evaluation.tables.past_runs import PastRun, RunKind
from polyvox.ids import content_hash
from polyvox.interop.assertion_file import (
    LONGEST,
    ParsedAssertions,
    iso,
    read_suites,
    sound,
    time_of,
)
from polyvox.interop.files import mended
from polyvox.replies import objects
from polyvox.values import SYNTHESIS_ID

ORIGIN = "SPACE Terminal"
MOST_MESSAGES = 5000
_SECRET = re.compile(r"^space_.*_key$")
_RESPONSE = re.compile(r"^(?:space_)?assertions_(?:(?P<talk>.*?)_)??(?P<id>resp-.+|[^_]+)$")
_ASSERTION = re.compile(r"^(?:space_)?assertion_(?P<id>.+)$")
_INDEX = re.compile(r"^(?:space_)?advisor_assertions_(?P<id>.+)$")
_VOICE = re.compile(r"\[ADVISOR:([^\]\n]*)\]", re.IGNORECASE)
_KNOWN = {
    "id", "text", "advisorId", "advisorName", "assertions", "responseId", "responseContent",
    "conversationId", "conversationContext", "evaluations", "optimizations", "createdAt",
    "isActive", "active", "sourceResponseId", "sourceContext", "sourceConversationId",
    "sourceUserInput", "sourceAdvisorResponse", "sourceSystemPrompt",
}  # fmt: skip
_SPOKEN = ("user", "parallel_advisor_response", "assistant", "advisor_json", "advisor_response")
Record = Mapping[str, Any]
Voice = tuple[str | None, str]
"""Who says something, by folded name, and what; None: one voice that nobody names."""
NOBODY = "\0"
"""Stands for whoever says something that belongs to no single advisor."""


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


def parse(data: object, what: str) -> ParsedAssertions:
    """Read all of it into our form."""
    reading = _Reading()
    for key, value in reading.records(data):
        try:
            sound(value)
            reading.record(key, value)
        except Invalid as error:
            reading.parsed.refused.append(f"{key or 'a record'}: {error.message}")
    return reading.done(what)


def _unpacked(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return None


class _Reading:
    """Gathers records as suites of our file."""

    def __init__(self) -> None:
        self.parsed = ParsedAssertions()
        self._suites: dict[tuple[str, str], dict[str, Any]] = {}
        """By the advisor's id and name."""
        self._listed: set[str] = set()
        self._mended = 0

    def records(self, data: object) -> Iterator[tuple[str, Record]]:
        """The records of a file, each with its key in the storage."""
        if isinstance(data, list):
            yield from (("", entry) for entry in data)
            return
        if not isinstance(data, Mapping):
            raise Invalid("It holds no assertions of SPACE Terminal.", "Export them again.")
        if _record(data):
            yield "", data
            return
        skipped = 0
        for key in map(str, data):
            if _SECRET.match(key):
                self.parsed.notes.append(f"{key} holds a secret: not read")
            elif not (_RESPONSE.match(key) or _ASSERTION.match(key) or _INDEX.match(key)):
                skipped += 1
            elif isinstance(value := _unpacked(data[key]), Mapping):
                yield key, value
            elif _INDEX.match(key) and isinstance(value, list):
                self._listed |= {str(entry) for entry in value if isinstance(entry, str | int)}
            else:
                self.parsed.refused.append(f"{key}: it does not hold a record")
        if skipped:
            self.parsed.notes.append(f"{skipped} other entries of the storage are not assertions")

    def record(self, key: str, data: Record) -> None:
        """Read one record of either shape."""
        if isinstance(data.get("assertions"), list):
            answer_id = self._response(key, data)
        elif "text" in data:
            answer_id = self._alone(key, data)
        else:
            raise Invalid("it has neither assertions nor a text")
        self._runs(answer_id, "evaluation", data.get("evaluations"), "timestamp")
        self._runs(answer_id, "optimisation", data.get("optimizations"), "startedAt")
        left = {str(name): value for name, value in data.items() if name not in _KNOWN}
        if left:
            names = ", ".join(sorted(left))
            self.parsed.notes.append(f"{answer_id}: {names} mean nothing here; kept beside it")
            self.parsed.runs.append(PastRun(answer_id, "record", _hash(left), None, left))

    def done(self, what: str) -> ParsedAssertions:
        """Close the reading: the file's contents, with notes on what is missing."""
        parsed = read_suites(self._suites.values(), self.parsed, what, described=True)
        taken = {entry.assertion.id for suite in parsed.suites for entry in suite.entries}
        if missing := sorted(self._listed - taken):
            parsed.notes.append(
                f"{len(missing)} assertions are listed and not there: {', '.join(missing[:5])}"
            )
        if self._mended:
            parsed.notes.append(
                f"{self._mended} garbled stretches of text were put right (UTF-8 read as Mac Roman)"
            )
        return parsed

    # -- the two shapes ----------------------------------------------------------------------------

    def _response(self, key: str, data: Record) -> str:
        named = _RESPONSE.match(key)
        response = self._id(data.get("responseId")) or (named["id"][:200] if named else "")
        if not response:
            response = f"resp-{_hash(data)}"
            self.parsed.notes.append(f"a record has no response id; it is called {response}")
        held = data.get("conversationContext")
        context = held if isinstance(held, Mapping) else {}
        suite = self._suite(data, _listed(context.get("advisors")))
        talk = self._id(data.get("conversationId")) or (named["talk"] or "" if named else "")
        source = {
            "answer": self._text(data.get("responseContent")),
            "answer_id": response,
            "conversation_id": talk,
        }
        system = self._text(context.get("systemPrompt"))
        self._context(suite, source, _listed(context.get("messages")), system)
        for number, row in enumerate(_listed(data.get("assertions")), 1):
            given = row if isinstance(row, Mapping) else {"text": row}
            at = given.get("createdAt") or context.get("timestamp")
            self._add(suite, f"{response}-{number}", {**given, "createdAt": at}, source)
        return response

    def _alone(self, key: str, data: Record) -> str:
        match = _ASSERTION.match(key)
        named = self._id(data.get("id")) or (match["id"] if match else "")
        suite = self._suite(data, ())
        source = {
            "question": self._text(data.get("sourceUserInput")),
            "answer": self._text(data.get("sourceAdvisorResponse")),
            "answer_id": self._id(data.get("sourceResponseId")),
            "conversation_id": self._id(data.get("sourceConversationId")),
        }
        system = self._text(data.get("sourceSystemPrompt"))
        self._context(suite, source, _listed(data.get("sourceContext")), system)
        known = source["answer_id"] or source["answer"] or source["question"]
        source["answer_id"] = source["answer_id"] or f"of-{named}"[:200]
        self._add(suite, named, data, source if known else None)
        return source["answer_id"] if known else named

    # -- parts -------------------------------------------------------------------------------------

    def _suite(self, data: Record, told: Sequence[Any]) -> dict[str, Any]:
        """The suite of who answered; `told` are advisors as the record describes them."""
        name = " ".join(self._text(data.get("advisorName")).split())[:120]
        advisor_id = self._id(data.get("advisorId"))
        if SYNTHESIS_ID in (name.casefold(), advisor_id.casefold()):
            advisor_id, name = SYNTHESIS_ID, "Synthesis"
        if not name and not advisor_id:
            raise Invalid("it does not say whose answer it is about")
        advisor = {"id": advisor_id, "name": name}
        suite = self._suites.setdefault(
            (advisor_id, name), {"advisor": advisor, "description": "", "assertions": []}
        )
        for entry in told:
            if isinstance(entry, Mapping) and self._text(entry.get("name")).strip() == name:
                words = self._text(entry.get("description"))[:20_000]
                suite["description"] = words or suite["description"]
        return suite

    def _add(
        self, suite: dict[str, Any], otherwise: str, row: Record, source: dict[str, str] | None
    ) -> None:
        """Add an assertion; `otherwise` is its id where it has none."""
        at = time_of(row.get("createdAt"))
        suite["assertions"].append(
            {
                "id": self._id(row.get("id")) or otherwise[:200],
                "text": self._text(row.get("text")),
                "active": row.get("isActive", row.get("active")) is not False,
                "created_at": iso(at) if at else None,
                "source": source,
            }
        )

    def _context(
        self, suite: dict[str, Any], source: dict[str, str], messages: Sequence[Any], system: str
    ) -> None:
        """Complete a source with the person's question and the name of its context; there is none
        where too little is known to ask again."""
        asked, answer = source.get("question", ""), source["answer"]
        who, description = suite["advisor"]["name"], suite["description"]
        rows = [row for row in messages[-MOST_MESSAGES:] if isinstance(row, Mapping)]
        spoken = [(_kind(row), self._voices(row)) for row in rows if _kind(row) in _SPOKEN]
        given = [
            at
            for at, (kind, voices) in enumerate(spoken)
            if answer and kind != "user" and any(answer in said for _, said in voices)
        ]
        if given:
            del spoken[given[-1] :]  # neither the answer nor what came after it
        lines = [line for row in spoken if (line := _own_line(*row, who)) is not None]
        while lines and lines[-1].role == "assistant":
            lines.pop()
        if asked and (not lines or lines[-1].text != asked):
            lines.append(SentMessage("user", "user", asked))
        if not lines:
            return
        last = SentMessage("current", "user", lines[-1].text)
        name = label(who or "Advisor")
        values = {"name": name, "identity": description, "short": description}
        template = ""
        if not system:
            template = prompt_set("full").text("identity")
            system = fill(template, values).strip()
        elif description and system.count(description) == 1:
            template = system.replace(description, "{identity}")
            template = template if fill(template, values).strip() == system.strip() else ""
        context = Context(
            advisor_id="",
            name=name,
            identity=description,
            brief=description,
            versioned=description,
            field="description",
            asked=last.text,
            blocks=(SystemBlock("identity", system.strip(), template),),
            messages=(*lines[:-1], last),
            origin=ORIGIN,
        )
        self.parsed.contexts[context.hash] = context
        source |= {"question": last.text, "context": context.hash}

    def _voices(self, row: Record) -> list[Voice]:
        """Split a message by its voices. Of several that cannot be told apart it is nobody's."""
        text = self._text(row.get("content"))
        if _kind(row) == "user":
            return [(None, text)]
        named = row.get("name") or row.get("advisorName")
        responses = row.get("advisorResponses")
        councils = (value for value in objects(text) if isinstance(value.get("advisors"), list))
        listed = [responses] if responses else [row.get("parsedAdvisors"), *councils]
        voices = [voice for value in listed for voice in self._listed_voices(value)]
        if voices or responses:
            return voices
        before, *marked = _VOICE.split(text)
        if marked:
            pairs = zip(marked[::2], marked[1::2], strict=True)
            return [(NOBODY, before), *((_folded(who), said.strip()) for who, said in pairs)]
        council = _kind(row) == "advisor_json" or '"advisors"' in text
        if council and text.lstrip().startswith(("{", "```")):
            return [(NOBODY, text)]
        return [(_folded(self._text(named)) if named else None, text)]

    def _listed_voices(self, value: object) -> list[Voice]:
        """The voices of a record or a list of advisors, and its synthesis."""
        voices: list[Voice] = []
        if isinstance(value, Mapping) and isinstance(value.get("advisors"), list):
            voices = [(SYNTHESIS_ID, self._text(value.get("synthesis")))]
            value = value["advisors"]
        entries = value.values() if isinstance(value, Mapping) else _listed(value)
        for entry in entries:
            if isinstance(entry, Mapping) and entry.get("name"):
                said = entry.get("response") or entry.get("content")
                voices.append((_folded(self._text(entry["name"])), self._text(said)))
        return voices

    def _runs(self, answer_id: str, kind: RunKind, data: object, when: str) -> None:
        for number, row in enumerate(_listed(data), 1):
            if not isinstance(row, Mapping):
                self.parsed.refused.append(f"a run of {answer_id}: it is not a record")
                continue
            named = self._id(row.get("id")) or f"{kind}-{number}"
            at = time_of(row.get(when))
            self.parsed.runs.append(PastRun(answer_id, kind, named, at, dict(row)))

    def _id(self, value: object) -> str:
        return self._text(value)[:200]

    def _text(self, value: object) -> str:
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if not isinstance(value, str):
            return ""
        text, count = mended(value[:LONGEST])
        self._mended += count
        return text


def _kind(row: Record) -> object:
    return row.get("type") or row.get("role")


def _own_line(kind: object, voices: Sequence[Voice], name: str) -> SentMessage | None:
    """A message as this advisor's thread has it: of several voices only its own."""
    own = [said for who, said in voices if who in (None, _folded(name))]
    text = "\n\n".join(said for said in own if said.strip())
    if not text:
        return None
    user = kind == "user"
    return SentMessage("user" if user else "own", "user" if user else "assistant", text)


def _folded(name: str) -> str:
    return " ".join(name.split()).casefold()


def _hash(data: Record) -> str:
    return content_hash(json.dumps(data, sort_keys=True, default=str))[:16]


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
