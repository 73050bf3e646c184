"""The question to a judge, and the reading of its reply. Pure: no model, no store.

What others wrote reaches the judge as JSON strings, which nothing inside them can end. Assertions
go by ids made from the very texts that are judged, so no text can know them beforehand. A verdict
counts only if it was asked for, exactly once, with a reason before it that does not say the
opposite; everything else is left unanswered, and what stays unanswered is an `error`, never a pass.

A reason is asked to end with its conclusion, which code reads. One that ends otherwise is read by
the judge's model, in a second question that shows reasons without their verdicts.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from typing import Any, Literal

from polyvox.context.budget import estimate
from polyvox.evaluation.tables.assertions import Assertion
from polyvox.ids import content_hash
from polyvox.models.base import ChatMessage, Request, SystemPart
from polyvox.models.wire import paired
from polyvox.replies import objects
from polyvox.values import Params

PassFail = Literal["pass", "fail"]
VERDICT_TOKENS = 160
"""Room in the reply for one verdict and its reason."""
FRAME_TOKENS = 64
LONGEST_REASON = 2_000
LONGEST_REPLY = 400_000
SHOWN_AGAIN = 4_000
FEWEST_LETTERS = 6
"""A shorter reason points at nothing."""
THOUGHT = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
CONCLUSION = re.compile(
    r"\b(?:so|and) the assertion (holds|does not hold|fails)\W*$", re.IGNORECASE
)
"""The end that the instructions ask of every reason, nearly to the letter: whatever else a reason
says, a model reads."""
OPPOSITE = "a reason says the opposite of its verdict"
_ESCAPED = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


@cache
def prompt(name: str) -> str:
    """A text of ours."""
    place = resources.files("polyvox.evaluation") / "prompts" / f"{name}.md"
    return place.read_text(encoding="utf-8").strip()


@cache
def judge_hash() -> str:
    """Names exactly these instructions and this way of reading: another hash, another judge."""
    texts = (prompt("judge"), prompt("again"), prompt("support"), schema(("id",)), "3")
    return content_hash("\n".join(texts))


@dataclass(frozen=True, slots=True)
class Subject:
    """The text that is judged, and what it answers."""

    question: str
    answer: str

    def salt(self, repeat: int) -> str:
        """Names these texts in this repeat."""
        named = f"{len(self.question)}\n{self.question}\n{self.answer}\n{repeat}"
        return content_hash(paired(named))


@dataclass(frozen=True, slots=True)
class KeyedAssertion:
    """An assertion under the id that it has for one question to the judge."""

    key: str
    assertion: Assertion


@dataclass(frozen=True, slots=True)
class JudgeReading:
    """The part of a reply that counts, by the judge's ids."""

    verdicts: Mapping[str, tuple[str, PassFail]] = field(default_factory=dict)
    """Reason and verdict."""
    wrong: Mapping[str, str] = field(default_factory=dict)
    """The trouble with every id that was asked for and has no verdict."""

    @property
    def open_ended(self) -> list[str]:
        """Ids of verdicts whose reasons do not end with the conclusion that code can read."""
        return [key for key, (reason, _) in self.verdicts.items() if not CONCLUSION.search(reason)]

    def without(self, wrong: Mapping[str, str]) -> JudgeReading:
        """The same, with these verdicts found wrong."""
        kept = {key: row for key, row in self.verdicts.items() if key not in wrong}
        return JudgeReading(kept, {**self.wrong, **wrong})


def asked(subject: Subject, assertions: Sequence[Assertion], repeat: int) -> list[KeyedAssertion]:
    """The assertions in the order of this repeat: another one each time, the same for the same."""
    salt = subject.salt(repeat)
    ordered = [KeyedAssertion(_key(salt, assertion), assertion) for assertion in assertions]
    random.Random(salt).shuffle(ordered)  # noqa: S311 - an order, no secret
    return ordered


def _key(salt: str, assertion: Assertion) -> str:
    named = f"{salt}\n{assertion.id}\n{assertion.number}"
    return "a" + hashlib.sha256(named.encode()).hexdigest()[:10]


def quoted(value: object) -> str:
    """A value as JSON that reads the same and whose strings nothing in them can end; whatever is
    invisible, breaks lines or looks like a tag is written as its number."""
    written = paired(json.dumps(value, ensure_ascii=False))
    return "".join(_escaped(char) for char in written)


def _escaped(char: str) -> str:
    if char not in "<>" and (char.isascii() or unicodedata.category(char) not in _ESCAPED):
        return char
    return (
        json.dumps(char, ensure_ascii=True)[1:-1] if not char.isascii() else f"\\u{ord(char):04x}"
    )


def question(subject: Subject, batch: Sequence[KeyedAssertion]) -> str:
    """The one message that the judge gets."""
    rows = [{"id": keyed.key, "text": keyed.assertion.text} for keyed in batch]
    return quoted({"question": subject.question, "answer": subject.answer, "assertions": rows})


def schema(keys: Sequence[str]) -> str:
    """The JSON schema of a reply, for providers that can be held to it."""
    row = object_schema(
        id={"type": "string", "enum": list(keys)},
        reason={"type": "string"},
        verdict={"type": "string", "enum": ["pass", "fail"]},
    )
    return json.dumps(object_schema(verdicts={"type": "array", "items": row}))


def support_request(
    reading: JudgeReading, batch: Sequence[KeyedAssertion], max_tokens: int | None
) -> Request:
    """Ask what the open-ended reasons mean. Neither the verdicts nor the answer are shown."""
    keys = reading.open_ended
    notes = [
        {
            "id": keyed.key,
            "assertion": keyed.assertion.text,
            "reason": reading.verdicts[keyed.key][0],
        }
        for keyed in batch
        if keyed.key in keys
    ]
    row = object_schema(
        id={"type": "string", "enum": keys},
        meaning={"type": "string", "enum": ["pass", "fail", "unclear"]},
    )
    return Request(
        (SystemPart(prompt("support")),),
        (ChatMessage("user", quoted({"notes": notes})),),
        Params(max_tokens=max_tokens, temperature=0),
        schema=json.dumps(object_schema(meanings={"type": "array", "items": row})),
    )


def supported(reading: JudgeReading, reply: str) -> JudgeReading:
    """The reading without verdicts whose reasons mean the opposite, by the reply to that question.
    A reason that it says nothing usable of supports no verdict."""
    meanings: dict[str, set[object]] = {key: set() for key in reading.open_ended}
    for value in objects(THOUGHT.sub(" ", reply[:LONGEST_REPLY]), _pairs):
        rows = value.get("meanings", [value])
        for row in rows if isinstance(rows, list) else []:
            if isinstance(row, dict) and isinstance(row.get("meaning"), str):
                meanings.get(str(row.get("id")), set()).add(row["meaning"])
    wrong = {}
    for key, read_as in meanings.items():
        if not read_as or not read_as <= {"pass", "fail", "unclear"}:
            wrong[key] = "nobody could tell whether a reason supports its verdict"
        elif read_as - {"unclear", reading.verdicts[key][1]}:
            wrong[key] = OPPOSITE
    return reading.without(wrong)


def object_schema(**properties: object) -> dict[str, Any]:
    """The JSON schema of an object with exactly these properties."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def request(subject: Subject, batch: Sequence[KeyedAssertion], max_tokens: int | None) -> Request:
    """Build the request to the judge."""
    return Request(
        (SystemPart(prompt("judge")),),
        (ChatMessage("user", question(subject, batch)),),
        Params(max_tokens=max_tokens, temperature=0),
        schema=schema([keyed.key for keyed in batch]),
    )


def repair(first: Request, reply: str, reading: JudgeReading) -> Request:
    """The same again, with the reply that cannot be used and what is wrong with it."""
    why = "; ".join(sorted(set(reading.wrong.values())))
    text = prompt("again").replace("{wrong}", why).replace("{ids}", ", ".join(reading.wrong))
    narrowed = None if first.schema is None else schema(list(reading.wrong))
    return replace(again(first, reply, text), schema=narrowed)


def again(first: Request, reply: str, text: str) -> Request:
    """The same request with the reply to it, and what is said to that."""
    shown = paired(reply[:SHOWN_AGAIN]).strip() or "…"
    more = (ChatMessage("assistant", shown), ChatMessage("user", text))
    return replace(first, messages=(*first.messages, *more))


def size(subject: Subject, batch: Sequence[KeyedAssertion]) -> int:
    """Estimated tokens of what the judge is sent."""
    return estimate(len(prompt("judge"))) + estimate(len(question(subject, batch))) + FRAME_TOKENS


def batches(
    subject: Subject, ordered: Sequence[KeyedAssertion], window: int | None, max_tokens: int | None
) -> tuple[list[list[KeyedAssertion]], list[KeyedAssertion]]:
    """The assertions in as few questions as the judge's window and its longest reply allow, and
    those for which even a question of their own is too long: the answer is never cut."""
    most = max(1, (max_tokens or 4096) // VERDICT_TOKENS)
    parts: list[list[KeyedAssertion]] = []
    too_long: list[KeyedAssertion] = []
    for keyed in ordered:
        if parts and len(parts[-1]) < most and _fits(subject, [*parts[-1], keyed], window):
            parts[-1].append(keyed)
        elif _fits(subject, [keyed], window):
            parts.append([keyed])
        else:
            too_long.append(keyed)
    return parts, too_long


def _fits(subject: Subject, batch: Sequence[KeyedAssertion], window: int | None) -> bool:
    return window is None or size(subject, batch) + len(batch) * VERDICT_TOKENS <= window


# reading


def read(reply: str, batch: Sequence[KeyedAssertion], *, cut: bool = False) -> JudgeReading:
    """Read the verdicts of a reply. `cut`: it ended because it had become too long."""
    keys = [keyed.key for keyed in batch]
    text = THOUGHT.sub(" ", reply[:LONGEST_REPLY])
    rows = list(_rows(text))
    nothing = "it was cut off before its end" if cut else "it holds no such JSON"
    if any(not isinstance(row.get("id"), str) or row["id"].strip() not in keys for row in rows):
        # Who answers what nobody asked was led somewhere else: nothing it says counts.
        return JudgeReading(wrong=dict.fromkeys(keys, "it holds verdicts that nobody asked for"))
    verdicts: dict[str, tuple[str, PassFail]] = {}
    wrong: dict[str, str] = {}
    for row in rows:
        key = row["id"].strip()
        verdict = _row_verdict(row)
        if isinstance(verdict, str):
            wrong.setdefault(key, verdict)
        elif verdicts.setdefault(key, verdict)[1] != verdict[1]:
            wrong.setdefault(key, "it holds two different verdicts for one id")
    absent = "an id is missing from it" if rows else nothing
    wrong |= {key: absent for key in keys if key not in verdicts and key not in wrong}
    kept = {key: verdict for key, verdict in verdicts.items() if key not in wrong}
    return JudgeReading(kept, {key: wrong[key] for key in keys if key in wrong})


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; one that says one thing twice is none."""
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError("a name stands there twice: nobody can tell which value is meant")
    return dict(pairs)


def _rows(text: str) -> Iterator[Mapping[str, Any]]:
    """The verdicts of a text, in their order: objects with a verdict or a reason, wherever they
    stand; one that has no id but is the value of a name has that name for its id."""
    for value in objects(text, _pairs):
        waiting: list[Any] = [value]
        while waiting:
            entry = waiting.pop()
            if isinstance(entry, list):
                waiting += reversed(entry)
            elif isinstance(entry, dict) and ("verdict" in entry or "reason" in entry):
                yield entry
            elif isinstance(entry, dict):
                waiting += [
                    {"id": name, **inner} if _nameless(inner) else inner
                    for name, inner in reversed(entry.items())
                ]


def _nameless(value: object) -> bool:
    return isinstance(value, dict) and "verdict" in value and "id" not in value


def _row_verdict(row: Mapping[str, Any]) -> tuple[str, PassFail] | str:
    """Reason and verdict of a row, or what is wrong with it."""
    reason, verdict = row.get("reason"), row.get("verdict")
    if not isinstance(verdict, str) or verdict.strip().casefold() not in ("pass", "fail"):
        return "a verdict is neither pass nor fail"
    if not isinstance(reason, str) or not _says_something(reason):
        return "a verdict has no reason"
    names = list(row)
    if names.index("reason") > names.index("verdict"):
        return "a verdict comes before its reason"
    outcome: PassFail = "pass" if verdict.strip().casefold() == "pass" else "fail"
    line = " ".join(paired(reason).replace("\0", " ").split())[:LONGEST_REASON]
    said = CONCLUSION.search(line)
    if said is not None and (said[1].casefold() == "holds") != (outcome == "pass"):
        return OPPOSITE
    return line, outcome


def _says_something(reason: str) -> bool:
    letters = sum(char.isalpha() for char in reason)
    if any(ord(char) > 0x2E7F for char in reason):  # scripts that say much in few letters
        return letters >= 2
    return letters >= FEWEST_LETTERS and len(reason.split()) > 1
