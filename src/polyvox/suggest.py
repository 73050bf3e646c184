"""Suggesting perspectives: a model proposes advisors who would disagree usefully on a question.

Nothing is stored but what it used. What comes back has a name of its own that nobody here has yet,
and a description that an advisor can be made of; a reply without any gets one further try.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from polyvox.context import suggest
from polyvox.context.suggest import AdvisorSuggestion
from polyvox.errors import ProtocolError, Refused
from polyvox.models.base import AttemptLog, ModelFacts, Request
from polyvox.receive import clean, mended_name, printable, visible
from polyvox.resources import Resources
from polyvox.session import council
from polyvox.store import usage
from polyvox.store.database import Tx
from polyvox.store.usage import check_caps
from polyvox.values import Advisor, Scope, Usage

PURPOSE = "suggest"
"""Under this name its usage is summed, among the advisors too."""
LONGEST_NAME = 60
LONGEST_DESCRIPTION = 4000
LONGEST_REASON = 600
FEWEST_WORDS = 5
"""Of a description: less says nothing that an advisor could be."""
_MARKUP = re.compile(r"[*_`\"“”„«»]+")


@dataclass(frozen=True, slots=True)
class Suggested:
    """The suggestions and the model that made them."""

    suggestions: tuple[AdvisorSuggestion, ...]
    model: str
    note: str
    """What to know of that model."""


@dataclass(slots=True)
class _Asking:
    """The calls made for one question, and what they used."""

    resources: Resources
    name: str
    model: str = ""
    spent: list[tuple[str, Usage]] = field(default_factory=list)

    async def ask(self, request: Request) -> str:
        """The whole reply."""
        tried = AttemptLog()
        reply = await self.resources.models.chain(self.name).stream(request, tried)
        try:
            text = "".join([piece.text async for piece in reply])
        finally:
            await reply.aclose()
            self.model = reply.model
            self.spent.append((reply.model, reply.usage))
        return text


async def suggest_advisors(
    resources: Resources, scope: Scope, question: str, count: int, model: str | None = None
) -> Suggested:
    """Up to `count` perspectives on a question that no advisor here has yet; at least one."""
    clean(question, "question", resources.settings.limits.message_chars)
    name = model or resources.models.default
    resources.models.check_name(name)

    def read(tx: Tx) -> list[Advisor]:
        check_caps(tx, resources.settings.limits, "", None, resources.clock())
        return sorted(council.everyone(tx), key=lambda advisor: not advisor.active)

    known = await resources.database.read(read, scope)
    asking = _Asking(resources, name)
    try:
        suggestions = await _ask_twice(asking, question, count, known)
    finally:
        spent = [(PURPOSE, *call) for call in asking.spent]
        await usage.note(resources.database, scope, resources.clock(), PURPOSE, spent)
    return Suggested(tuple(suggestions), asking.model, resources.models.facts(asking.model).note)


async def _ask_twice(
    asking: _Asking, question: str, count: int, known: Sequence[Advisor]
) -> list[AdvisorSuggestion]:
    facts = asking.resources.models.facts(asking.name)
    request = suggest.ask(question, count, known, facts)
    reply = ""
    try:
        reply = await asking.ask(request)
    except Refused:
        if request.schema is None:
            raise
        request = replace(request, schema=None)  # perhaps that is what this server does not take
    suggestions = usable(suggest.read(reply), known, count)
    if not suggestions:
        again = suggest.ask_again(request, reply, count)
        suggestions = usable(suggest.read(await asking.ask(again)), known, count)
    if not suggestions:
        raise _unusable(asking.name, facts)
    return suggestions


def _unusable(name: str, facts: ModelFacts) -> ProtocolError:
    if facts.prompts == "compact":
        return ProtocolError(
            f"{name} is too small a model to propose advisors.",
            facts.note or "Choose a more capable model for this.",
        )
    return ProtocolError(
        f"{name} was asked twice, and both replies hold nothing that an advisor could be made of.",
        "Try again, or choose a more capable model for this.",
    )


def usable(
    proposed: Sequence[AdvisorSuggestion], known: Sequence[Advisor], count: int
) -> list[AdvisorSuggestion]:
    """The suggestions that can become an advisor: whole, clean, and not there already."""
    taken = {_plain(word) for advisor in known for word in (advisor.name, advisor.slug)}
    accepted: list[AdvisorSuggestion] = []
    for given in proposed:
        suggestion = _mended(given)
        if suggestion is not None and _plain(suggestion.name) not in taken:
            taken.add(_plain(suggestion.name))
            accepted.append(suggestion)
    return accepted[:count]


def _mended(given: AdvisorSuggestion) -> AdvisorSuggestion | None:
    line = _MARKUP.sub(" ", mended_name(given.name, len(given.name)))
    name = " ".join(line.split()).strip(" .:-")
    description = _shown(given.description)
    if not visible(name) or not visible(description):
        return None
    if len(description.split()) < FEWEST_WORDS and len(description) < FEWEST_WORDS * 6:
        return None  # the length counts too: some languages part their words by no space
    return AdvisorSuggestion(
        _cut(name, LONGEST_NAME),
        _cut(description, LONGEST_DESCRIPTION),
        _cut(" ".join(_shown(given.why).split()), LONGEST_REASON),
    )


def _shown(text: str) -> str:
    """Text that can be stored, sent and shown."""
    return printable(text).encode("utf-8", "replace").decode().strip()


def _cut(text: str, most: int) -> str:
    """The text, or as many whole words of it as fit."""
    if len(text) <= most:
        return text
    return text[: most + 1].rpartition(" ")[0].rstrip() or text[:most]


def _plain(name: str) -> str:
    """A name as it is compared: “The Skeptic” is the Skeptic."""
    return re.sub(r"[\W_]+", " ", name.casefold()).strip().removeprefix("the ")
