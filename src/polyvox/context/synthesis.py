"""Synthesis: one call that brings a turn's answers together, and reading what comes back.

A model that takes a schema replies with data that names advisors by their ids; what is shown while
it streams is that data as text, item by item. Any other model writes lists that read well as they
are, each claim with the names of those who make it in square brackets; from their form alone,
whatever language the headings are in, claims and names are read as data. Attributions are checked
against the turn's advisors: an unknown name is dropped and reported, never guessed. A text without
such lists is kept as prose, and the synthesis then says that it is not attributed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic_core import from_json

from polyvox.context.budget import TooLong, allowance_for, estimate, sane_ratio
from polyvox.context.draft import Block, Compiled, Draft, Line, request_of, size_of
from polyvox.context.window import stretch
from polyvox.context.words import Made, fill, label, prompt_set
from polyvox.ids import content_hash
from polyvox.models.base import ModelFacts
from polyvox.replies import objects
from polyvox.settings import Limits
from polyvox.thread import Other, ThreadTurn
from polyvox.values import SYNTHESIS_ID, Params

EARLIER_CHARS = 12_000
"""Characters of the person's earlier messages that are sent along."""
PARTS = ("points", "disagreements", "next")
"""The keys of a structured reply, in their order."""

_ITEM = re.compile(r"(\s*)(?:[-*•]|\d{1,3}[.)])\s+(\S.*)")
_HEADING = re.compile(r"\s*(?:#{1,6}\s|\*\*[^*]+\*\*:?\s*$|.*[:：]\s*$)")
_NAMES_FIRST = re.compile(r"\**\[(?P<names>[^\[\]]{1,400})\]\**(?P<text>.*)")
_NAMES_LAST = re.compile(r"(?P<text>.*)\[(?P<names>[^\[\]]{1,400})\][\s.*]*$")
_BETWEEN = re.compile(r"[,;/&、，；]")
_FENCE = re.compile(r"\s*(?:`{1,3}\w*\s*)?")


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
    hinges_on: str = ""
    """The fact, value or forecast that would decide it."""


@dataclass(frozen=True, slots=True)
class Synthesis:
    """A synthesis as data where the model kept to the structure, else as prose."""

    points: tuple[AttributedPoint, ...] = ()
    disagreements: tuple[Disagreement, ...] = ()
    prose: str = ""
    """The model's own text where it gave no structure."""
    unknown: tuple[str, ...] = ()
    """Attributions that name nobody of this turn; dropped."""
    next: tuple[AttributedPoint, ...] = ()
    """Steps to do or to find out next."""


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
    *,
    earlier: Sequence[ThreadTurn] = (),
    structured: bool = False,
) -> Compiled:
    """The request for a synthesis of one turn, with the newest of the person's `earlier` messages
    that fit. `structured` asks for data that follows a schema. Raises `TooLong` when the answers do
    not fit: leaving some out would falsify it."""
    prompts = prompt_set(facts.prompts)
    spoken = [answer for answer in answers if answer.text.strip()]
    who = attributable(spoken)
    ids = advisor_keys(who) if structured else {}
    names = {
        advisor.advisor_id: f"{advisor.label} ({ids[advisor.advisor_id]})" if ids else advisor.label
        for advisor in who
    }
    form = prompts.text("synthesis_data" if structured else "synthesis_list")
    blocks = (Block("protocol", fill(prompts.text("synthesis"), {"form": form})),)
    ratio = sane_ratio(ratio)
    room = allowance_for(limits, facts, params, ratio)

    def asked(kept: Sequence[ThreadTurn]) -> tuple[Line, ...]:
        before = (("earlier", f"{prompts.text('earlier')}\n\n" if kept else ""),)
        entries = tuple((answer.answer_id, names[answer.advisor_id]) for answer in spoken)
        made = Made(prompts.text("answers"), (("", entries),), before, question.turn_id)
        text = made.render({answer.answer_id: answer.text for answer in spoken}, question.text)
        messages = (Line("user", "user", f"u{turn.turn_id}", turn.text) for turn in kept)
        return (*messages, Line("synthesis", "user", "", text, made))

    size = size_of(blocks, (), asked(()))
    if size > room.tokens:
        raise TooLong(size, room, ratio, "The answers of this turn", "Exclude an answer")
    dropped = _dropped(earlier, room.tokens - size - estimate(len(prompts.text("earlier")) + 2))
    lines = asked(earlier[dropped:])
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
        history=len(lines) - 1,
        unsent=(),
        omitted=stretch("limit", earlier[:dropped]),
        stamps="none",
        cut=None,
        ratio=ratio,
        allowance=room,
        size=size_of(blocks, (), lines),
        params=params,
        settled=0,
        schema=schema_for(tuple(ids.values())) if structured else None,
    )
    return Compiled(request_of(draft), draft)


def _dropped(earlier: Sequence[ThreadTurn], tokens: int) -> int:
    """Count the oldest messages that have to go so that the rest fits."""
    chars, start = 0, len(earlier)
    while start:
        text = earlier[start - 1].text
        chars, tokens = chars + len(text), tokens - estimate(len(text))
        if chars > EARLIER_CHARS or tokens < 0:
            break
        start -= 1
    return start


def advisor_keys(advisors: Sequence[Attributable]) -> dict[str, str]:
    """The id by which a reply names each advisor: its slug where that is nobody else's."""
    slugs = [advisor.slug for advisor in advisors]
    return {
        advisor.advisor_id: advisor.slug
        if advisor.slug and slugs.count(advisor.slug) == 1
        else advisor.advisor_id
        for advisor in advisors
    }


def schema_for(ids: Sequence[str]) -> str:
    """The JSON schema of a structured reply that can name only these advisors."""
    text = {"type": "string"}
    claim = _object(text=text, advisors=_list({"type": "string", "enum": list(ids)}))
    question = _object(text=text, sides=_list(claim), hinges_on=text)
    whole = _object(points=_list(claim), disagreements=_list(question), next=_list(claim))
    return json.dumps(whole)


def _object(**properties: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _list(items: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


class SynthesisReader:
    """Reads a synthesis while it is being written: a text passes as it is, data becomes text."""

    def __init__(self, advisors: Sequence[Attributable]) -> None:
        self._advisors = advisors
        self._raw = ""
        self._shown = ""

    def feed(self, piece: str) -> str:
        """Take a piece of the reply; return the text that can be shown by now. Of data every item
        is shown once the next one begins."""
        self._raw += piece
        if not _FENCE.sub("", self._raw, count=1):
            return ""
        if not _is_data(self._raw):
            return self._show(self._raw)
        data = _partial(self._raw) if "}" in piece else {}
        parts = [part for part in data if part in PARTS]
        if not data or parts != list(PARTS[: len(parts)]):
            return ""
        text = as_markdown(_from_data(data, self._advisors), self._advisors)
        return self._show(text[: text.rfind("\n- ") + 1])

    def end(self) -> str:
        """Return the text that was still held back."""
        readable = _is_data(self._raw) and _partial(self._raw)
        text = as_markdown(self.read(), self._advisors) if readable else ""
        return self._show(text or self._raw)

    def read(self) -> Synthesis:
        """The synthesis as far as it came."""
        return read_synthesis(self._raw, self._advisors)

    def _show(self, text: str) -> str:
        if not text.startswith(self._shown):
            return ""
        new = text[len(self._shown) :]
        self._shown = text
        return new


def _is_data(reply: str) -> bool:
    return _FENCE.sub("", reply, count=1).startswith("{")


def _partial(reply: str) -> dict[str, Any]:
    """A structured reply as far as it came; empty where it cannot be read."""
    whole = next(objects(reply), {})
    if whole.keys() & set(PARTS):
        return whole
    try:
        data = from_json(reply[reply.find("{") :], allow_partial="trailing-strings")
    except ValueError:
        return {}
    return data if isinstance(data, dict) else {}


def _from_data(data: Mapping[str, Any], advisors: Sequence[Attributable]) -> Synthesis:
    who = _AdvisorNames(advisors)

    def claims(rows: object) -> tuple[AttributedPoint, ...]:
        return tuple(
            AttributedPoint(text, who.are([str(name) for name in row.get("advisors") or ()]))
            for row in _rows(rows)
            if (text := str(row.get("text") or "").strip())
        )

    questions = tuple(
        Disagreement(
            str(row.get("text") or "").strip(),
            claims(row.get("sides")),
            str(row.get("hinges_on") or "").strip(),
        )
        for row in _rows(data.get("disagreements"))
        if row.get("text")
    )
    points, steps = claims(data.get("points")), claims(data.get("next"))
    return Synthesis(points, questions, unknown=tuple(dict.fromkeys(who.unknown)), next=steps)


def _rows(value: object) -> list[dict[str, Any]]:
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def read_synthesis(text: str, advisors: Sequence[Attributable]) -> Synthesis:
    """Parse the model's reply and check its attributions; without any, keep it as prose.

    Headings part the lists, whatever they say. An item with sides below it is a question on which
    advisors disagree; of the other lists the first holds points, and the later ones next steps.
    """
    if _is_data(text) and (data := _partial(text)):
        return _from_data(data, advisors)
    who = _AdvisorNames(advisors)
    points: list[AttributedPoint] = []
    questions: list[Disagreement] = []
    steps: list[AttributedPoint] = []
    for number, items in enumerate(_lists(text, who)):
        nested = any(item.below for item in items)
        for item in items:
            if item.below:
                questions.append(_question(item))
            elif number == 0:
                points.append(item.claim)
            elif nested:
                questions.append(Disagreement(item.claim.text))
            else:
                steps.append(item.claim)
    sides = [side for question in questions for side in question.sides]
    if not any(claim.advisors for claim in (*points, *sides, *steps)):
        return Synthesis(prose=text.strip())
    unknown = tuple(dict.fromkeys(who.unknown))
    return Synthesis(tuple(points), tuple(questions), unknown=unknown, next=tuple(steps))


@dataclass(slots=True)
class _Item:
    """An item of a list, and those that stand below it."""

    claim: AttributedPoint
    below: list[AttributedPoint] = field(default_factory=list)
    """Items that are indented, or that are sides and follow a question."""


def _lists(text: str, who: _AdvisorNames) -> list[list[_Item]]:
    """The lists of a text; a heading ends one."""
    lists: list[list[_Item]] = [[]]
    for line in text.splitlines():
        match = _ITEM.match(line)
        if match is None:
            if lists[-1] and _HEADING.match(line):
                lists.append([])
            continue
        claim, items = _claim(match[2], who), lists[-1]
        side = len(lists) > 1 and bool(claim.advisors) and bool(_NAMES_FIRST.match(match[2]))
        if items and (match[1] or side):
            items[-1].below.append(claim)
        else:
            items.append(_Item(claim))
    return [items for items in lists if items]


def _question(item: _Item) -> Disagreement:
    sides = tuple(claim for claim in item.below if claim.advisors)
    return Disagreement(
        item.claim.text,
        sides,
        " ".join(claim.text for claim in item.below if not claim.advisors),
    )


def _claim(item: str, who: _AdvisorNames) -> AttributedPoint:
    """An item without the names in brackets before or behind it."""
    match = _NAMES_FIRST.match(item) or _NAMES_LAST.match(item)
    if match is None:
        return AttributedPoint(item.strip())
    names = match["names"]
    split = [names] if who.knows(names) else _BETWEEN.split(names)
    return AttributedPoint(match["text"].strip(" :–"), who.are(split))


def as_markdown(synthesis: Synthesis, advisors: Sequence[Attributable]) -> str:
    """The synthesis as text to read."""
    names = {advisor.advisor_id: advisor.label for advisor in advisors}

    def by(ids: Sequence[str]) -> str:
        return ", ".join(names.get(advisor_id, advisor_id) for advisor_id in ids)

    if synthesis.prose:
        return f"{synthesis.prose}\n\n*(This text does not say which advisor each point is from.)*"

    def item(point: AttributedPoint) -> str:
        return f"- {point.text}" + (f" *({by(point.advisors)})*" if point.advisors else "")

    parts = [item(point) for point in synthesis.points]
    if synthesis.disagreements:
        parts += [*([""] if parts else []), "**Where they disagree**", ""]
        for question in synthesis.disagreements:
            parts.append(f"- {question.text}")
            parts += [
                f"  - **{by(side.advisors)}:** {side.text}" if side.advisors else f"  - {side.text}"
                for side in question.sides
            ]
            parts += [f"  - *It hinges on:* {question.hinges_on}"] if question.hinges_on else []
    if synthesis.next:
        parts += [*([""] if parts else []), "**Next steps**", ""]
        parts += [item(step) for step in synthesis.next]
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
                continue
            inside, rest = self._inside(_plain(name))
            ids |= dict.fromkeys(inside)
            if len(rest.split()) > (1 if inside else 0):  # one word joins names: and, und, et
                self.unknown.append(name.strip())
        return tuple(ids)

    def _inside(self, names: str) -> tuple[list[str], str]:
        """The advisors that a text names, in its order, and the text without their names."""
        places: list[tuple[int, str]] = []
        for known in sorted(self._ids, key=len, reverse=True):
            while match := re.search(rf"(?<!\w){re.escape(known)}(?!\w)", names):
                places.append((match.start(), self._ids[known]))
                names = names[: match.start()] + " " * len(known) + names[match.end() :]
        return [advisor for _, advisor in sorted(places)], names


def _plain(name: str) -> str:
    return " ".join(name.split()).removeprefix("@").rstrip(":").casefold()
