"""A second opinion on assertions before anything is spent on them: one question to the judge's
model. It warns, it never refuses; without a model there is none, and the note says so.

Four rules: nobody can say when a vague one holds; one half of a compound one can hold without the
other; judges are worse at telling that something is absent; no prompt can satisfy two that
contradict each other, or one that the phase of its advisor speaks against. Where a check in code
says the same, it is offered.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import msgspec

from polyvox.errors import Invalid, ModelError
from polyvox.evaluation.checks import described, understood, written
from polyvox.evaluation.judge import ask_judge
from polyvox.evaluation.judge_prompt import object_schema, prompt, quoted
from polyvox.evaluation.tables.assertions import Kind, Wording
from polyvox.models.base import ChatMessage, Request, SystemPart
from polyvox.receive import printable
from polyvox.replies import objects
from polyvox.resources import Resources
from polyvox.values import Params, Scope

Rule = Literal["vague", "compound", "negated", "contradictory"]
CHECKS: tuple[Kind, ...] = (
    "words", "sentences", "questions", "contains", "lacks", "ends_with_question", "language", "json"
)  # fmt: skip
LONGEST_MESSAGE = 500
LONGEST_PART = 300
NO_MODEL = (
    "No model is there to look at the wording: the embedded one is far too small. Set models.judge,"
    " or a key for a provider."
)
_OPTIONAL_NUMBER = {"type": ["integer", "null"]}
_OPTIONAL_TEXT = {"type": ["string", "null"]}


@dataclass(frozen=True, slots=True)
class LintFinding:
    """A warning, and where there is one, what to write instead."""

    rule: Rule
    message: str
    split: tuple[str, ...] = ()
    """The same as several assertions."""


@dataclass(frozen=True, slots=True)
class LintedWording:
    """One assertion with the warnings about it, and the check in code that says the same."""

    text: str
    findings: tuple[LintFinding, ...] = ()
    check: Wording | None = None


@dataclass(frozen=True, slots=True)
class LintReport:
    """The second opinion on several assertions, in their order."""

    items: tuple[LintedWording, ...]
    note: str = ""
    """The reason why nobody looked, where nobody did."""


async def lint(
    resources: Resources,
    scope: Scope,
    wordings: Sequence[Wording],
    known: Sequence[Wording],
    phase: str = "",
) -> LintReport:
    """Ask the judge's model about these assertions, beside the known ones of their advisor and the
    text of the phase that they are meant for."""
    silent = tuple(LintedWording(wording.text, (), _written(wording)) for wording in wordings)
    if all(wording.kind != "judge" or _written(wording) for wording in wordings):
        return LintReport(silent)
    try:
        reply = await ask_judge(resources, scope, request(wordings, known, phase))
    except ModelError as error:
        return LintReport(silent, f"The wording was not looked at: {error.message}")
    if reply is None:
        return LintReport(silent, NO_MODEL)
    items = read(reply.text, wordings)
    if items is None:
        return LintReport(silent, f"{reply.model} said nothing that can be used; try again.")
    return LintReport(items)


def request(wordings: Sequence[Wording], known: Sequence[Wording], phase: str = "") -> Request:
    """Put the question, the words of others as data."""
    rows = [{"id": str(number), "text": row.text} for number, row in enumerate(wordings, 1)]
    data = {"assertions": rows, "known": [row.text for row in known], "phase": phase or None}
    return Request(
        (SystemPart(prompt("lint")),),
        (ChatMessage("user", quoted(data)),),
        Params(temperature=0),
        schema=SCHEMA,
    )


def read(reply: str, wordings: Sequence[Wording]) -> tuple[LintedWording, ...] | None:
    """Read what of a reply can be used; None where nothing can."""
    rows: dict[str, dict[str, Any]] = {}
    for value in objects(reply):
        items = value.get("items")
        for row in items if isinstance(items, list) else ():
            if isinstance(row, dict):
                rows.setdefault(str(row.get("id")), row)
    if not rows:
        return None
    return tuple(
        _linted(wording, rows.get(str(number), {})) for number, wording in enumerate(wordings, 1)
    )


def _linted(wording: Wording, row: dict[str, Any]) -> LintedWording:
    if wording.kind != "judge":
        return LintedWording(wording.text)
    given = row.get("findings")
    findings = map(_finding, given if isinstance(given, list) else ())
    found = tuple(finding for finding in findings if finding is not None)
    check = _written(wording) or _check(row.get("check"))
    return LintedWording(wording.text, found, check)


def _written(wording: Wording) -> Wording | None:
    """The check in code that a judge's wording stands for word for word."""
    return written(wording.text) if wording.kind == "judge" else None


def _finding(given: object) -> LintFinding | None:
    try:
        finding = msgspec.convert(given, LintFinding)
    except msgspec.ValidationError:
        return None
    message = _line(finding.message)[:LONGEST_MESSAGE]
    parts = tuple(part for part in map(_line, finding.split) if 0 < len(part) <= LONGEST_PART)
    several = finding.rule == "compound" and len(parts) > 1
    return LintFinding(finding.rule, message, parts if several else ()) if message else None


def _check(given: object) -> Wording | None:
    if not isinstance(given, dict) or given.get("kind") not in CHECKS:
        return None
    kind: Kind = given["kind"]
    args = {key: value for key, value in given.items() if key != "kind" and value is not None}
    try:
        whole = understood(kind, args)
    except Invalid:
        return None
    return Wording(described(kind, whole), kind, whole)


def _line(given: str) -> str:
    return " ".join(printable(given).split())


SCHEMA = json.dumps(
    object_schema(
        items={
            "type": "array",
            "items": object_schema(
                id={"type": "string"},
                findings={
                    "type": "array",
                    "items": object_schema(
                        rule={"type": "string", "enum": list(get_args(Rule))},
                        message={"type": "string"},
                        split={"type": "array", "items": {"type": "string"}},
                    ),
                },
                check={
                    "anyOf": [
                        object_schema(
                            kind={"type": "string", "enum": list(CHECKS)},
                            min=_OPTIONAL_NUMBER,
                            max=_OPTIONAL_NUMBER,
                            text=_OPTIONAL_TEXT,
                            language=_OPTIONAL_TEXT,
                        ),
                        {"type": "null"},
                    ]
                },
            ),
        }
    )
)
