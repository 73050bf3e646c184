"""Synthesis: one call that lays a turn's answers side by side, and reading what comes back.

The model writes lists that read well while they stream, each claim with the names of those who make
it in square brackets; from the finished text, claims and names are read as data. What it attributes
is checked against the turn's advisors: an unknown name is dropped and reported, never guessed. A
text without such lists is kept as prose, and the synthesis then says that it is not attributed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from polyvox.context.budget import TooLong, allowance_for, sane_ratio
from polyvox.context.draft import Block, Compiled, Draft, Line, request_of, size_of
from polyvox.context.words import Made, label, prompt_set
from polyvox.ids import content_hash
from polyvox.models.base import ModelFacts
from polyvox.settings import Limits
from polyvox.thread import Other, ThreadTurn
from polyvox.values import SYNTHESIS_ID, Params

_ITEM = re.compile(r"\s*(?:[-*•]|\d{1,3}[.)])\s+(\S.*)")
_APART = re.compile(r"disagree|pull apart", re.IGNORECASE)
_NAMES_FIRST = re.compile(r"\**\[(?P<names>[^\[\]]{1,400})\]\**(?P<text>.*)")
_NAMES_LAST = re.compile(r"(?P<text>.*)\[(?P<names>[^\[\]]{1,400})\][\s.*]*$")
_AND = re.compile(r"[,;/&]|\band\b")


@dataclass(frozen=True, slots=True)
class Attributable:
    """An advisor of the turn under the label it has in the synthesis: unique, unlike names."""

    label: str
    advisor_id: str
    slug: str = ""


@dataclass(frozen=True, slots=True)
class AttributedPoint:
    """A claim, and the ids of the advisors who make it."""

    text: str
    advisors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A question on which advisors pull apart, and what each side holds."""

    text: str
    sides: tuple[AttributedPoint, ...] = ()


@dataclass(frozen=True, slots=True)
class Synthesis:
    """A synthesis as data where the model kept to the structure, else as prose."""

    points: tuple[AttributedPoint, ...] = ()
    disagreements: tuple[Disagreement, ...] = ()
    prose: str = ""
    """The model's own text where it gave no structure."""
    unknown: tuple[str, ...] = ()
    """Attributions that name nobody of this turn; dropped."""


def attributable(answers: Sequence[Other]) -> tuple[Attributable, ...]:
    """The advisors behind these answers, each under a label of its own, in their order."""
    labels: dict[str, Attributable] = {}
    taken: set[str] = set()
    for answer in answers:
        if answer.advisor_id in labels:
            continue
        name, number = label(answer.name), 1
        unique = name
        while unique.casefold() in taken:
            number += 1
            unique = f"{name} ({number})"
        taken.add(unique.casefold())
        labels[answer.advisor_id] = Attributable(unique, answer.advisor_id, answer.slug)
    return tuple(labels.values())


def compile_synthesis(
    question: ThreadTurn,
    answers: Sequence[Other],
    limits: Limits,
    facts: ModelFacts,
    params: Params,
    ratio: float = 1.0,
) -> Compiled:
    """The request for a synthesis of one turn. Raises `TooLong` when the answers do not fit:
    leaving some out would falsify it."""
    prompts = prompt_set(facts.prompts)
    spoken = [answer for answer in answers if answer.text.strip()]
    names = {advisor.advisor_id: advisor.label for advisor in attributable(spoken)}
    entries = tuple((answer.answer_id, names[answer.advisor_id]) for answer in spoken)
    made = Made(prompts.text("answers"), (("", entries),), question=question.turn_id)
    text = made.render({answer.answer_id: answer.text for answer in spoken}, question.text)
    blocks = (Block("protocol", prompts.text("synthesis")),)
    lines = (Line("synthesis", "user", "", text, made),)
    ratio = sane_ratio(ratio)
    room = allowance_for(limits, facts, params, ratio)
    size = size_of(blocks, (), lines)
    if size > room.tokens:
        raise TooLong(size, room, ratio, "The answers of this turn", "Exclude an answer")
    draft = Draft(
        advisor_id=SYNTHESIS_ID,
        turn_id=question.turn_id,
        recipe="synthesis",
        recipe_hash=content_hash(prompts.text("synthesis")),
        prompts=prompts.name,
        prompts_hash=prompts.hash,
        phase="synthesis",
        k=1,
        n=None,
        blocks=blocks,
        memory=(),
        memory_sent=False,
        lines=lines,
        history=0,
        unsent=(),
        omitted=(),
        stamps="none",
        cut=None,
        ratio=ratio,
        allowance=room,
        size=size,
        params=params,
        settled=0,
    )
    return Compiled(request_of(draft), draft)


def read_synthesis(text: str, advisors: Sequence[Attributable]) -> Synthesis:
    """Parse the model's text and check its attributions; without any, keep it as prose.

    Items up to a line about disagreement are points. After it, an item that names nobody opens a
    question, and the items below it that name somebody are its sides.
    """
    who = _AdvisorNames(advisors)
    points: list[AttributedPoint] = []
    questions: list[Disagreement] = []
    apart = False
    for line in text.splitlines():
        item = _ITEM.match(line)
        if item is None:
            apart = apart or _APART.search(line) is not None
            continue
        claim = _claim(item[1], who)
        if not apart:
            points.append(claim)
        elif claim.advisors and questions:
            questions[-1] = replace(questions[-1], sides=(*questions[-1].sides, claim))
        else:
            questions.append(Disagreement(claim.text))
    sides = [side for question in questions for side in question.sides]
    if not any(claim.advisors for claim in (*points, *sides)):
        return Synthesis(prose=text.strip())
    return Synthesis(tuple(points), tuple(questions), unknown=tuple(dict.fromkeys(who.unknown)))


def _claim(item: str, who: _AdvisorNames) -> AttributedPoint:
    """An item without the names in brackets before or behind it."""
    match = _NAMES_FIRST.match(item) or _NAMES_LAST.match(item)
    if match is None:
        return AttributedPoint(item.strip())
    names = match["names"]
    split = [names] if who.knows(names) else _AND.split(names)
    return AttributedPoint(match["text"].strip(" :–"), who.are(split))


def as_markdown(synthesis: Synthesis, advisors: Sequence[Attributable]) -> str:
    """The synthesis as text to read."""
    names = {advisor.advisor_id: advisor.label for advisor in advisors}

    def by(ids: Sequence[str]) -> str:
        return ", ".join(names.get(advisor_id, advisor_id) for advisor_id in ids)

    if synthesis.prose:
        return f"{synthesis.prose}\n\n*(This text does not say which advisor each point is from.)*"
    parts = [
        f"- {point.text}" + (f" *({by(point.advisors)})*" if point.advisors else "")
        for point in synthesis.points
    ]
    if synthesis.disagreements:
        parts += [*([""] if parts else []), "**Where they disagree**", ""]
        for question in synthesis.disagreements:
            parts.append(f"- {question.text}")
            parts += [
                f"  - **{by(side.advisors)}:** {side.text}" if side.advisors else f"  - {side.text}"
                for side in question.sides
            ]
    if synthesis.unknown:
        dropped = ", ".join(synthesis.unknown)
        parts += ["", f"*(Attributed to nobody in this turn, and dropped: {dropped}.)*"]
    return "\n".join(parts)


class _AdvisorNames:
    """Finds advisors by what a model calls them, and remembers whom it could not find."""

    def __init__(self, advisors: Sequence[Attributable]) -> None:
        self.unknown: list[str] = []
        self._ids: dict[str, str] = {}
        for advisor in advisors:
            for name in (advisor.slug, advisor.advisor_id):
                self._ids.setdefault(_plain(name), advisor.advisor_id)
        # Labels last: where one advisor's slug is another's label, the label is what was asked for.
        self._ids |= {_plain(advisor.label): advisor.advisor_id for advisor in advisors}
        self._ids.pop("", None)

    def knows(self, name: str) -> bool:
        """True if one advisor has this name."""
        return _plain(name) in self._ids

    def are(self, names: Sequence[str]) -> tuple[str, ...]:
        """The advisors' ids, each once."""
        ids: dict[str, None] = {}
        for name in names:
            if (advisor := self._ids.get(_plain(name))) is not None:
                ids[advisor] = None
            elif name.strip():
                self.unknown.append(name.strip())
        return tuple(ids)


def _plain(name: str) -> str:
    return " ".join(name.split()).removeprefix("@").rstrip(":").casefold()
