"""Suggested assertions: some that an answer itself shows, some that a model proposes. None is made.

A rule looks at the answer's length, its language and how it ends, and offers checks in code that
hold of that answer by construction. A model's proposals are read with patience, and kept only if
they are short and not there yet. The rules always have something to offer, so a model that is
missing, too small or away takes away its own share and says so; only a cap on spending is an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from polyvox.context.words import fill
from polyvox.errors import Conflict, ModelError
from polyvox.evaluation import count, language
from polyvox.evaluation.checks import check, described, understood, written
from polyvox.evaluation.judge import ask_judge, judge_model
from polyvox.evaluation.judge_prompt import THOUGHT, prompt, quoted
from polyvox.evaluation.tables import assertions
from polyvox.evaluation.tables.assertions import AssertionFilter, Kind, Wording
from polyvox.models.base import ChatMessage, Request, SystemPart
from polyvox.receive import printable
from polyvox.replies import objects
from polyvox.resources import Resources
from polyvox.store import turns
from polyvox.store.database import Tx
from polyvox.values import ENDED, Answer, Params, Scope

COUNT = 6
FEWEST_WORDS = 2
LONGEST = 300
MOST_KNOWN = 40
TOO_SMALL = (
    "These were found by rules. The embedded model is far too small to propose more: set"
    " models.judge, or a key for a provider."
)
_LISTED = re.compile(r"^\s*(?:[-*•]|\d{1,2}[.)])\s+(\S.*)$")


@dataclass(frozen=True, slots=True)
class Suggestion(Wording):
    """An assertion that could be made of an answer."""

    by: str = "rule"
    """`rule`, or the model that proposed it."""


@dataclass(frozen=True, slots=True)
class Suggestions:
    """All suggestions for an answer."""

    suggestions: tuple[Suggestion, ...]
    model: str
    """The model that proposed; empty: only the rules did."""
    note: str
    """The reason why no model did, where none did."""


async def suggest(
    resources: Resources,
    scope: Scope,
    answer_id: str,
    most: int = COUNT,
    model: str | None = None,
) -> Suggestions:
    """Suggest assertions that hold of an answer and that its advisor does not have yet."""
    if model:
        resources.models.check_name(model)

    def load(tx: Tx) -> tuple[Answer, str, list[Wording]]:
        answer = turns.get_answer(tx, answer_id)
        if answer.state not in ENDED:
            raise Conflict("The answer is still being written.", "Wait until it has ended.")
        if not answer.text.strip():
            raise Conflict("The answer says nothing.", "Take one that says something.")
        question = turns.get_turn(tx, answer.turn_id).content
        known = assertions.list_all(tx, AssertionFilter(advisor_id=answer.advisor_id))
        return answer, question, [row.wording for row in known]

    answer, question, known = await resources.database.read(load, scope)
    taken = {wording.kind for wording in known}
    by_rules = [rule for rule in by_rule(answer.text) if rule.kind not in taken]
    request = ask(question, answer.text, [wording.text for wording in known], most)
    try:
        reply = await ask_judge(resources, scope, request, model)
    except ModelError as error:
        name = model or judge_model(resources)
        note = f"Found by rules alone: {name} gave nothing. {error.message}"
        return Suggestions(tuple(by_rules), "", note)
    if reply is None:
        return Suggestions(tuple(by_rules), "", TOO_SMALL)
    proposed = read(reply.text, reply.model, known, most)
    note = "" if proposed else f"{reply.model} proposed nothing that can be used; try again."
    return Suggestions((*proposed, *by_rules), reply.model, note)


def by_rule(answer: str) -> list[Suggestion]:
    """Suggest what can be told of an answer without asking anybody."""
    checks: list[tuple[Kind, dict[str, Any]]] = []
    words = count.words(answer)
    if words:
        checks.append(("words", {"max": _rounded(words)}))
    if count.ends_with_question(answer):
        checks.append(("ends_with_question", {}))
    elif words and count.questions(answer) == 0:
        checks.append(("questions", {"max": 0}))
    if (code := language.detected(answer)) is not None:
        checks.append(("language", {"language": code}))
    if check("json", {}, answer).outcome == "pass" and answer.strip()[:1] in ("{", "["):
        checks.append(("json", {}))
    whole = [(kind, understood(kind, args)) for kind, args in checks]
    return [Suggestion(described(kind, args), kind, args) for kind, args in whole]


def _rounded(words: int) -> int:
    """A limit that leaves the answer some air: the next ten, fifty or hundred above."""
    step = 10 if words <= 100 else 50 if words <= 500 else 100
    return (words * 11 // 10 // step + 1) * step


def ask(question: str, answer: str, known: Sequence[str], most: int = COUNT) -> Request:
    """Put the question to a model, the words of others as data."""
    data = {"question": question, "answer": answer, "known": known[:MOST_KNOWN]}
    return Request(
        (SystemPart(fill(prompt("suggest"), {"count": str(most)})),),
        (ChatMessage("user", quoted(data)),),
        Params(temperature=0.4),
    )


def read(reply: str, model: str, known: Iterable[Wording], most: int = COUNT) -> list[Suggestion]:
    """Read what of a reply can be offered, in its order."""
    seen = {_plain(wording.text) for wording in known}
    suggestions: list[Suggestion] = []
    for given in _texts(THOUGHT.sub("", reply)):
        text = _mended(given)
        if text is not None and _plain(text) not in seen:
            seen.add(_plain(text))
            proposal = written(text) or Wording(text)
            suggestions.append(Suggestion(proposal.text, proposal.kind, proposal.args, model))
    return suggestions[:most]


def _texts(reply: str) -> list[str]:
    """Proposals, however they are wrapped; a plain list where no JSON is."""
    texts = []
    for value in objects(reply):
        listed = value.get("assertions")
        for row in listed if isinstance(listed, list) else [value]:
            text = row.get("text") or row.get("assertion") if isinstance(row, dict) else row
            texts += [text] if isinstance(text, str) else []
    items = map(_LISTED.match, reply.splitlines())
    return texts or [item[1] for item in items if item is not None]


def _mended(text: str) -> str | None:
    line = " ".join(printable(text).encode("utf-8", "replace").decode().split())
    line = line.strip("*_` ").rstrip(".")
    return line if len(line.split()) >= FEWEST_WORDS and len(line) <= LONGEST else None


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))
