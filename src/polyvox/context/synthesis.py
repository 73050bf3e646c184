"""Synthesis: one call that lays a turn's answers side by side, and reading what comes back.

Every claim carries the advisors who make it, as data. What the model attributes is checked against
the turn's advisors: an unknown name is dropped and reported, never guessed. Prose instead of JSON
is kept as it is, and the synthesis then says that nothing in it is attributed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from polyvox.context.budget import TooLong, allowance_for, sane_ratio
from polyvox.context.draft import Block, Compiled, Draft, Line, request_of, size_of
from polyvox.context.promptset import prompt_set
from polyvox.context.thread import Other, Said
from polyvox.context.words import Made, label
from polyvox.ids import content_hash
from polyvox.models.base import ModelFacts
from polyvox.settings import Limits
from polyvox.values import SYNTHESIS_ID, Params

TRIES = 40
"""Opening braces that are tried as the beginning of the JSON object."""


@dataclass(frozen=True, slots=True)
class Attributable:
    """An advisor of the turn under the label it has in the synthesis: unique, unlike names."""

    label: str
    advisor_id: str
    slug: str = ""


@dataclass(frozen=True, slots=True)
class Point:
    """A claim, and the ids of the advisors who make it."""

    text: str
    advisors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A question on which advisors pull apart, and what each side holds."""

    text: str
    sides: tuple[Point, ...] = ()


@dataclass(frozen=True, slots=True)
class Synthesis:
    """What a synthesis says, structured where the model kept to the structure."""

    points: tuple[Point, ...] = ()
    disagreements: tuple[Disagreement, ...] = ()
    prose: str = ""
    """The model's own text where it gave no structure."""
    unknown: tuple[str, ...] = ()
    """Attributions that name nobody of this turn; dropped."""

    @property
    def attributed(self) -> bool:
        """Whether claims come with the advisors who make them."""
        return not self.prose


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
    question: Said,
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
        schema=schema(tuple(names.values())),
    )
    return Compiled(request_of(draft), draft)


def schema(labels: Sequence[str]) -> str:
    """The JSON schema of a synthesis by advisors with these labels."""

    def thing(**properties: object) -> dict[str, object]:
        return {
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        }

    def some(item: dict[str, object]) -> dict[str, object]:
        return {"type": "array", "items": item}

    text: dict[str, object] = {"type": "string"}
    advisors = some({"type": "string", "enum": list(labels)})
    whole = thing(
        points=some(thing(text=text, advisors=advisors)),
        disagreements=some(thing(text=text, sides=some(thing(advisors=advisors, text=text)))),
    )
    return json.dumps(whole, ensure_ascii=False, separators=(",", ":"))


def read_synthesis(text: str, advisors: Sequence[Attributable]) -> Synthesis:
    """What the model wrote, with its attributions checked. Fences and prose around the JSON are
    passed over; without usable JSON the text is kept as prose."""
    found = _find(text)
    if found is None:
        return Synthesis(prose=text.strip())
    who = _Who(advisors)
    points = tuple(
        Point(said, who.are(_of(row, "advisors")))
        for row in _rows(found.get("points"))
        if (said := _said(row))
    )
    disagreements = tuple(
        Disagreement(
            said,
            tuple(
                Point(held, who.are(_of(side, "advisors")))
                for side in _rows(_of(row, "sides"))
                if (held := _said(side))
            ),
        )
        for row in _rows(found.get("disagreements"))
        if (said := _said(row))
    )
    if not points and not disagreements:
        return Synthesis(prose=text.strip())
    return Synthesis(points, disagreements, unknown=tuple(dict.fromkeys(who.unknown)))


def as_markdown(synthesis: Synthesis, advisors: Sequence[Attributable]) -> str:
    """The synthesis as text to read."""
    names = {advisor.advisor_id: advisor.label for advisor in advisors}

    def by(ids: Sequence[str]) -> str:
        return ", ".join(names.get(one, one) for one in ids)

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


class _Who:
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

    def are(self, given: object) -> tuple[str, ...]:
        """The advisors' ids, each once."""
        names = [given] if isinstance(given, str) else given if isinstance(given, list) else []
        found: dict[str, None] = {}
        for name in names:
            if (advisor := self._ids.get(_plain(str(name)))) is not None:
                found[advisor] = None
            else:
                self.unknown.append(str(name))
        return tuple(found)


def _plain(name: str) -> str:
    return " ".join(name.split()).removeprefix("@").rstrip(":").casefold()


def _find(text: str) -> dict[str, Any] | None:
    """The first JSON object in the text that looks like a synthesis, or what there is of one."""
    decoder, at = json.JSONDecoder(), -1
    for _ in range(TRIES):
        at = text.find("{", at + 1)
        if at < 0:
            break
        try:
            value, _ = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict) and ("points" in value or "disagreements" in value):
            return value
    rows = {key: _whole_rows(text, key) for key in ("points", "disagreements")}
    return rows if any(rows.values()) else None


def _whole_rows(text: str, key: str) -> list[object]:
    """The whole rows of a list in JSON that was cut off at the answer's maximum."""
    begin = re.search(rf'"{key}"\s*:\s*\[', text)
    rows: list[object] = []
    at = begin.end() if begin else len(text)
    decoder = json.JSONDecoder()
    while row := re.compile(r"[\s,]*(?=\{)").match(text, at):
        try:
            value, at = decoder.raw_decode(text, row.end())
        except (ValueError, RecursionError):
            break
        rows.append(value)
    return rows


def _rows(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _of(row: object, key: str) -> object:
    return row.get(key) if isinstance(row, dict) else None


def _said(row: object) -> str:
    text = row if isinstance(row, str) else _of(row, "text")
    return " ".join(text.split()) if isinstance(text, str) else ""
