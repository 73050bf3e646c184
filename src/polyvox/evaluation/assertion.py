"""Assertions: making them from an answer or by hand, changing and finding them.

An assertion that is drawn from an answer takes with it what the advisor had been sent, so that it
goes on working when the conversation or the advisor is gone. Invariant: what is refused is refused
before anything of it is written; several are made together or not at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from polyvox.context.recipe import exchange_phase
from polyvox.context.words import prompt_set
from polyvox.errors import Conflict, Invalid, NotFound
from polyvox.evaluation.checks import described, understood, written
from polyvox.evaluation.contexts import Context, captured
from polyvox.evaluation.replay import FRESH_RECIPE
from polyvox.evaluation.tables import assertions, contexts, past_runs
from polyvox.evaluation.tables.assertions import (
    Assertion,
    AssertionDetails,
    AssertionFilter,
    AssertionSource,
    AssertionVersion,
    Kind,
)
from polyvox.evaluation.tables.assertions import Wording as Wording
from polyvox.evaluation.tables.past_runs import PastRun
from polyvox.ids import new_id
from polyvox.receive import clean
from polyvox.recipes import find_recipe, known_recipe, recipe_names, usable_recipe
from polyvox.resources import Resources
from polyvox.session.council import plain_assistant
from polyvox.session.inspect import inspect
from polyvox.settings import Settings
from polyvox.shapes import shape
from polyvox.store import advisors, receipts, turns, versions
from polyvox.store.database import Tx
from polyvox.values import (
    ASSISTANT_ID,
    ENDED,
    SYNTHESIS_ID,
    Advisor,
    Answer,
    PromptVersion,
    Scope,
)

SHORT = 140
"""Characters of a source's texts in a list."""
LONGEST = 2000
"""Characters of an assertion."""
MOST = 100
"""Made at once."""
MOST_TAGS = 20
LONGEST_TAG = 40
Action = Literal["activate", "deactivate", "remove", "tag", "untag"]
_MARK = re.compile(r"^\s*(?:[-*•]\s+|\d{1,3}[.)]\s+|\[[ x]\]\s+)+")


async def from_answer(
    resources: Resources,
    scope: Scope,
    answer_id: str,
    given: Sequence[Wording],
    tagged: Sequence[str] = (),
    phase: str | None = None,
) -> list[Assertion]:
    """Assertions about an answer, with what its advisor had been sent, for the phase that is named
    or else the answer's own. One that was drawn from it before, word for word, is given as it
    is."""
    wordings, named, now = checked(given), tags(tagged), resources.clock()

    def write(tx: Tx) -> list[Assertion]:
        answer = turns.get_answer(tx, answer_id)
        if answer.state not in ENDED:
            raise Conflict("The answer is still being written.", "Wait until it has ended.")
        context = context_of(tx, resources.settings, answer)
        name = ""
        if context is not None:
            name = contexts.put(tx, context.data, now, redacted=context.redacted)
        asked = turns.get_turn(tx, answer.turn_id).content
        source = AssertionSource(
            answer.id, answer.conversation_id, answer.turn_id, asked, answer.text, name
        )
        known = assertions.list_all(tx, AssertionFilter(answer_id=answer.id))
        meant = _phase(tx, resources, phase) or (context.phase if context else "") or None
        like = Assertion("", answer.advisor_id, answer.advisor_name, 1, "", source=source)
        like = replace(like, tags=named, phase=meant, created_at=now, updated_at=now)
        return _made(tx, _meant(known, phase), wordings, like)

    return await resources.database.write(write, scope)


async def by_hand(
    resources: Resources,
    scope: Scope,
    advisor: str,
    given: Sequence[Wording],
    tagged: Sequence[str] = (),
    user_input: str | None = None,
    phase: str | None = None,
) -> list[Assertion]:
    """Assertions about an advisor, with a question of their own, or for every stored context; for
    the phase that is named, or else the open one."""
    wordings, named, now = checked(given), tags(tagged), resources.clock()
    if user_input is not None:
        clean(user_input, "user_input", resources.settings.limits.message_chars)

    def write(tx: Tx) -> list[Assertion]:
        who = advisors.get(tx, advisor)
        known = [
            row
            for row in assertions.list_all(tx, AssertionFilter(advisor_id=who.id))
            if row.source is None and row.user_input == user_input
        ]
        meant = _phase(tx, resources, phase) or open_phase(tx, resources) or None
        like = Assertion("", who.id, who.name, 1, "", user_input=user_input)
        like = replace(like, tags=named, phase=meant, created_at=now, updated_at=now)
        return _made(tx, _meant(known, phase), wordings, like)

    return await resources.database.write(write, scope)


def open_phase(tx: Tx, resources: Resources) -> str:
    """The phase that assertions made by hand are meant for: the one of the council without an
    end."""
    return exchange_phase(find_recipe(tx, resources.settings, FRESH_RECIPE), 0).name


def phase_of(tx: Tx, resources: Resources, phase: str | None, answer_id: str | None) -> str:
    """The text of the phase that assertions are meant for: of the one that is named, else of the
    answer's own, else of the open one."""
    own = None
    if answer_id is not None:
        own = context_of(tx, resources.settings, turns.get_answer(tx, answer_id))
    recipe = usable_recipe(tx, resources.settings, own.recipe[0] if own else FRESH_RECIPE)
    name = _phase(tx, resources, phase) or (own.phase if own else open_phase(tx, resources))
    named = next((entry for entry in recipe.phases if entry.name == name), None)
    return (named.text or prompt_set("full").text(name)) if named else ""


def _phase(tx: Tx, resources: Resources, name: str | None) -> str | None:
    """A phase that is named, if some recipe has it."""
    settings = resources.settings
    used = [find_recipe(tx, settings, recipe_name) for recipe_name in recipe_names(tx, settings)]
    known = list(dict.fromkeys(phase.name for recipe in used for phase in recipe.phases))
    if name is not None and name not in known:
        raise Invalid(
            f"No recipe has a phase {name[:60]!r}.",
            f"Known are {', '.join(known)}." if known else "Leave it out.",
            param="phase",
        )
    return name


def _meant(known: Iterable[Assertion], phase: str | None) -> list[Assertion]:
    """Those for a phase, where one is named."""
    return [row for row in known if phase is None or row.phase == phase]


def _made(
    tx: Tx, known: Iterable[Assertion], wordings: Iterable[Wording], like: Assertion
) -> list[Assertion]:
    """An assertion like this one for each wording; one that is known already as it is."""
    made = []
    for wording in wordings:
        same = next((row for row in known if row.wording == wording), None)
        new = replace(like, id=new_id(), text=wording.text, kind=wording.kind, args=wording.args)
        made.append(same or assertions.add(tx, new))
    return made


async def change(
    resources: Resources, scope: Scope, assertion_id: str, details: AssertionDetails
) -> Assertion:
    """Change what is named; saying something else makes a new version."""
    now = resources.clock()

    def write(tx: Tx) -> Assertion:
        old = assertions.get(tx, assertion_id)
        new: AssertionDetails = {**details}
        if {"text", "kind", "args"} & details.keys():
            kind = details.get("kind", old.kind)
            args = details.get("args", old.args if kind == old.kind else {})
            text = old.text
            if old.kind != "judge" and text == described(old.kind, old.args):
                text = ""  # its words were those of the check; they follow it
            said = wording(details.get("text", text), kind, dict(args))
            if not {"kind", "args"} & details.keys():
                said = written(said.text) or said
            new |= {"text": said.text, "kind": said.kind, "args": said.args}
        if "tags" in details:
            new["tags"] = tags(details["tags"])
        if "phase" in details:
            _phase(tx, resources, details["phase"])
        if "user_input" in details:
            if old.source is not None:
                raise Invalid(
                    "It was drawn from an answer, so it has that answer's question.",
                    "Make a new one by hand.",
                    param="user_input",
                )
            if (asked := details["user_input"]) is not None:
                clean(asked, "user_input", resources.settings.limits.message_chars)
        return assertions.change(tx, assertion_id, now, new)

    return await resources.database.write(write, scope)


async def add_contexts(
    resources: Resources, scope: Scope, advisor: str, ids: Sequence[str] | None, count: int
) -> int:
    """Have assertions (None: the active ones) tried in contexts of other conversations with their
    advisor too, the newest first, one of each; answers how many there were."""
    now = resources.clock()

    def write(tx: Tx) -> int:
        who = advisors.get(tx, advisor)
        chosen = assertions.list_all(
            tx, AssertionFilter(advisor_id=who.id, active=ids is None or None)
        )
        if ids is not None:
            chosen = [row for row in chosen if row.id in ids]
        chosen = [row for row in chosen if row.user_input is None]  # others have their own question
        known = {name for row in chosen for name in row.contexts}
        names: list[str] = []
        used = {row.source.conversation_id for row in chosen if row.source is not None}
        for answer_id, conversation_id in assertions.newest_answers(tx, who.id) if chosen else ():
            if conversation_id in used or len(names) == count:
                continue
            context = context_of(tx, resources.settings, turns.get_answer(tx, answer_id))
            if context is None or context.redacted or not context.takes_prompt:
                continue
            used.add(conversation_id)
            if context.hash not in known:
                names.append(contexts.put(tx, context.data, now))
        if not names:
            raise Invalid(
                f"No other conversation with {who.name} can be added.",
                f"Ask {who.name} something in a new conversation first.",
            )
        for row in chosen:
            assertions.add_contexts(tx, row, names, now)
        return len(names)

    return await resources.database.write(write, scope)


async def bulk(
    resources: Resources, scope: Scope, ids: Sequence[str], action: Action, tag: str | None = None
) -> list[str]:
    """The same for many, all or none; answers the ids."""
    named = tags([tag]) if tag is not None else ()
    if action in ("tag", "untag") and not named:
        raise Invalid("The tag is missing.", "Name it.", param="tag")
    now = resources.clock()

    def write(tx: Tx) -> list[str]:
        rows = assertions.get_many(tx, list(dict.fromkeys(ids)))
        for row in rows:
            if action == "remove":
                assertions.remove(tx, row.id, now)
                continue
            details: AssertionDetails
            if action in ("activate", "deactivate"):
                details = {"active": action == "activate"}
            elif action == "tag":
                details = {"tags": tags([*row.tags, *named])}
            else:
                details = {"tags": tuple(old for old in row.tags if old not in named)}
            assertions.change(tx, row.id, now, details)
        return [row.id for row in rows]

    return await resources.database.write(write, scope)


@dataclass(frozen=True, slots=True)
class AssertionOut:
    """An assertion as it is now."""

    id: str
    advisor_id: str
    advisor_name: str
    version: int
    text: str
    kind: Kind
    args: Mapping[str, Any]
    tags: tuple[str, ...]
    active: bool
    source: AssertionSource | None
    """In a list with the first words of its texts."""
    user_input: str | None
    created_at: int
    updated_at: int
    phase: str | None
    """The phase under which its advisor answers when it is replayed; null: each context's own."""

    @classmethod
    def of(cls, assertion: Assertion, *, whole: bool = False) -> AssertionOut:
        """From the value; `whole`: with the source's texts as they are."""
        source = assertion.source
        if source is not None and not whole:
            source = replace(
                source, user_input=_short(source.user_input), answer=_short(source.answer)
            )
        return shape(cls, assertion, version=assertion.number, source=source)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SHORT else f"{line[: SHORT - 1].rstrip()}…"


@dataclass(frozen=True, slots=True)
class History:
    """An assertion with all of its past."""

    assertion: AssertionOut
    versions: list[AssertionVersion]
    """Newest first."""
    runs: list[PastRun]
    """Runs that another program had made, word for word."""


def history(tx: Tx, assertion_id: str) -> History:
    """An assertion with its versions, and the runs that came with it from elsewhere."""
    assertion = assertions.get(tx, assertion_id)
    runs = past_runs.of_answer(tx, assertion.source.answer_id) if assertion.source else []
    return History(
        AssertionOut.of(assertion, whole=True),
        assertions.versions(tx, assertion_id),
        [run for run in runs if _about(run, assertion)],
    )


def _about(run: PastRun, assertion: Assertion) -> bool:
    results = run.data.get("results")
    if run.kind != "evaluation" or not isinstance(results, list):
        return True
    named = [str(row.get("assertionId") or "") for row in results if isinstance(row, dict)]
    # One whose id was another's here has it with an ending.
    return not any(named) or any(
        name and (assertion.id == name or assertion.id.startswith(f"{name}-")) for name in named
    )


def lines(text: str) -> list[str]:
    """One assertion per line, without the marks of a list."""
    stripped = (_MARK.sub("", line).strip() for line in text.splitlines())
    return [line for line in stripped if line]


def checked(wordings: Iterable[Wording]) -> list[Wording]:
    """The wordings, if all of them can be stored; each is there once, checks have words."""
    distinct: list[Wording] = []
    for given in wordings:
        worded = wording(given.text, given.kind, given.args)
        if worded not in distinct:
            distinct.append(worded)
    if not distinct:
        raise Invalid("There is no assertion in it.", "Write at least one.", param="texts")
    if len(distinct) > MOST:
        raise Invalid(f"{len(distinct):,} assertions are too many; {MOST} at once.", param="texts")
    return distinct


def wording(text: str, kind: Kind, args: Mapping[str, Any] | None) -> Wording:
    """Check one wording; a check without words gets some."""
    given = understood(kind, args)
    line = " ".join(text.split())
    if not line and kind != "judge":
        line = described(kind, given)
    return Wording(clean(line, "text", LONGEST), kind, given)


def typed(texts: Iterable[str]) -> list[Wording]:
    """Texts whose kind nobody named: a check in code where they are the words of one, else for a
    judge."""
    return [written(text) or Wording(text) for text in texts]


def tags(given: Iterable[str]) -> tuple[str, ...]:
    """Tags as they are compared: in small letters, without # and spaces."""
    plain_tags: dict[str, None] = {}
    for tag in given:
        plain = "-".join(tag.strip().lstrip("#").casefold().split())
        clean(plain, "tags", LONGEST_TAG)
        if not re.fullmatch(r"[\w.:/-]+", plain):
            raise Invalid(
                f"The tag {tag[:60]!r} has signs that a tag cannot have.",
                "Use letters, digits, hyphens.",
                param="tags",
            )
        plain_tags[plain] = None
    if len(plain_tags) > MOST_TAGS:
        raise Invalid(f"{MOST_TAGS} tags are the most.", "Use fewer.", param="tags")
    return tuple(plain_tags)


def context_of(tx: Tx, settings: Settings, answer: Answer) -> Context | None:
    """The request behind an answer; None where nobody knows it, for the answer came from elsewhere
    or ended before its model could be asked."""
    if receipts.find(tx, answer.id) is None:
        return None
    receipt = inspect(tx, answer.id).receipt
    recipe = known_recipe(tx, settings, receipt.draft.recipe)
    asked = turns.get_turn(tx, answer.turn_id).content
    return captured(receipt, advisor_then(tx, answer), recipe, asked)


def advisor_then(tx: Tx, answer: Answer) -> Advisor:
    """The advisor of an answer, with the name and the prompt version of that time."""
    if answer.advisor_id == ASSISTANT_ID:
        return plain_assistant()
    if answer.advisor_id == SYNTHESIS_ID:
        return Advisor(SYNTHESIS_ID, SYNTHESIS_ID, answer.advisor_name, "")
    known = advisors.even_removed(tx, answer.advisor_id)
    now = known or Advisor(answer.advisor_id, "", answer.advisor_name, "")
    then = replace(now, name=answer.advisor_name)
    if answer.prompt_version_id is None:
        return then
    try:
        version = versions.get(tx, answer.prompt_version_id)
    except NotFound:  # an imported answer may name a version that did not come with it
        return then
    return as_of(then, version)


def as_of(advisor: Advisor, version: PromptVersion) -> Advisor:
    """The advisor with the identity of a prompt version."""
    if version.field == "prompt":
        return replace(advisor, prompt=version.text, version_id=version.id)
    return replace(advisor, prompt=None, description=version.text, version_id=version.id)
