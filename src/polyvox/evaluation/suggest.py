"""Assertions that an answer suggests: some by rule, for nothing; some that a model proposes.

What a rule can tell of an answer (its length, its language, how it ends) is offered as a check in
code, and holds of that answer by construction. A model's proposals are read with patience, and kept
only if they say one thing plainly and are not there yet; one that a check can say becomes a check.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from polyvox.context.promptset import fill
from polyvox.evaluation import count as counting
from polyvox.evaluation import language as languages
from polyvox.evaluation.checks import check, described, understood
from polyvox.evaluation.judge_prompt import prompt, quoted
from polyvox.evaluation.lint import lint
from polyvox.evaluation.phrasing import coded
from polyvox.evaluation.values import Kind
from polyvox.evaluation.wordings import Wording
from polyvox.models.base import ChatMessage, Request, SystemPart
from polyvox.receive import printable
from polyvox.replies import objects
from polyvox.values import Params

COUNT = 6
FEWEST_WORDS = 2
LONGEST = 300
MOST_KNOWN = 40
_THOUGHT = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL)
_LISTED = re.compile(r"^\s*(?:[-*•]|\d{1,2}[.)])\s+(\S.*)$")


@dataclass(frozen=True, slots=True)
class Proposed:
    """An assertion that could be made of an answer."""

    text: str
    kind: Kind = "judge"
    args: Mapping[str, Any] = field(default_factory=dict)
    by: str = "rule"
    """`rule`, or the model that proposed it."""


def by_rule(answer: str) -> list[Proposed]:
    """What can be said of an answer without asking anybody."""
    found: list[tuple[Kind, dict[str, Any]]] = []
    words = counting.words(answer)
    if words:
        found.append(("words", {"max": _rounded(words)}))
    if counting.ends_with_question(answer):
        found.append(("ends_with_question", {}))
    elif words and counting.questions(answer) == 0:
        found.append(("questions", {"max": 0}))
    if (code := languages.detected(answer)) is not None:
        found.append(("language", {"language": code}))
    if check("json", {}, answer).outcome == "pass" and answer.strip()[:1] in ("{", "["):
        found.append(("json", {}))
    made = [(kind, understood(kind, args)) for kind, args in found]
    return [Proposed(described(kind, args), kind, args) for kind, args in made]


def _rounded(words: int) -> int:
    """A limit that leaves the answer some air: the next ten, fifty or hundred above."""
    step = 10 if words <= 100 else 50 if words <= 500 else 100
    return (words * 11 // 10 // step + 1) * step


def ask(question: str, answer: str, known: Sequence[str], count: int = COUNT) -> Request:
    """What a model is asked, the words of others as data."""
    told = ", ".join(quoted(one) for one in known[:MOST_KNOWN])
    data = f'{{"question": {quoted(question)}, "answer": {quoted(answer)}, "known": [{told}]}}'
    return Request(
        (SystemPart(fill(prompt("suggest"), {"count": str(count)})),),
        (ChatMessage("user", data),),
        Params(temperature=0.4),
    )


def read(reply: str, model: str, known: Iterable[Wording], count: int = COUNT) -> list[Proposed]:
    """What of a reply can be offered, in its order."""
    seen = {_plain(one.text) for one in known}
    found: list[Proposed] = []
    for text in _texts(_THOUGHT.sub("", reply)):
        said = _mended(text)
        if said is None or _plain(said) in seen:
            continue
        seen.add(_plain(said))
        rules = {one.rule for one in lint(Wording(said))}
        if rules & {"vague", "compound", "contradictory"}:
            continue
        check_ = coded(said)
        if check_ is not None:
            found.append(Proposed(said, check_.kind, check_.args, model))
        else:
            found.append(Proposed(said, by=model))
    return found[:count]


def _texts(reply: str) -> Iterator[str]:
    """Proposals, however they are wrapped; a plain list where no JSON is."""
    some = False
    for value in objects(reply):
        for text in _inside(value):
            some = True
            yield text
    if not some:
        for line in reply.splitlines():
            if (item := _LISTED.match(line)) is not None:
                yield item[1]


def _inside(value: object, depth: int = 4) -> Iterator[str]:
    if isinstance(value, dict):
        for key in ("text", "assertion"):
            if isinstance(said := value.get(key), str):
                yield said
                return
        for key, inner in value.items():
            if key in ("assertions", "suggestions") and isinstance(inner, list):
                yield from (one for one in inner if isinstance(one, str))
            if depth:
                yield from _inside(inner, depth - 1)
    elif isinstance(value, list) and depth:
        for inner in value:
            if not isinstance(inner, str):
                yield from _inside(inner, depth - 1)


def _mended(text: str) -> str | None:
    said = " ".join(printable(text).encode("utf-8", "replace").decode().split())
    said = said.strip("*_` ").rstrip(".")
    if len(said.split()) < FEWEST_WORDS or len(said) > LONGEST:
        return None
    return said


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))
