"""Assertions: making them from an answer or by hand, changing and finding them.

An assertion that is drawn from an answer takes with it what the advisor had been sent, so that it
goes on working when the conversation or the advisor is gone. Invariant: what is refused is refused
before anything of it is written; several are made together or not at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from polyvox.advisors import plain_assistant
from polyvox.context.recipe import BUILT_IN
from polyvox.errors import Conflict, Invalid, NotFound
from polyvox.evaluation.checks import described, understood
from polyvox.evaluation.contexts import Context, captured
from polyvox.evaluation.tables import assertions, contexts, past_runs
from polyvox.evaluation.tables.assertions import (
    Assertion,
    AssertionDetails,
    AssertionFilter,
    AssertionSource,
    AssertionVersion,
    Kind,
)
from polyvox.evaluation.tables.past_runs import PastRun
from polyvox.ids import new_id
from polyvox.receive import clean
from polyvox.resources import Resources
from polyvox.session.council import find_recipe
from polyvox.session.inspect import inspect
from polyvox.settings import Settings
from polyvox.store import advisors, receipts, turns, versions
from polyvox.store.database import Tx
from polyvox.store.pages import Page
from polyvox.values import ASSISTANT_ID, ENDED, SYNTHESIS_ID, Advisor, Answer, Scope

LISTED = 5000
"""Named in one bulk change."""
OURS = {ASSISTANT_ID: "Assistant", SYNTHESIS_ID: "Synthesis"}
Action = Literal["activate", "deactivate", "remove", "tag", "untag"]


async def from_answer(
    resources: Resources,
    scope: Scope,
    answer_id: str,
    given: Sequence[Wording],
    tagged: Sequence[str] = (),
) -> list[Assertion]:
    """Assertions about an answer, with what its advisor had been sent. One that was drawn from it
    before, word for word, is given as it is."""
    wordings, named = checked(given), tags(tagged)

    def read(tx: Tx) -> tuple[Answer, str, Context | None]:
        answer = turns.get_answer(tx, answer_id)
        if answer.state not in ENDED:
            raise Conflict("The answer is still being written.", "Wait until it has ended.")
        context = context_of(tx, resources.settings, answer)
        asked = turns.get_turn(tx, answer.turn_id).content
        return answer, asked, context

    answer, asked, context = await resources.database.read(read, scope)
    now = resources.clock()

    def write(tx: Tx) -> list[Assertion]:
        name = ""
        if context is not None:
            name = contexts.put(tx, context.data, now, redacted=context.redacted)
        source = AssertionSource(
            answer.id, answer.conversation_id, answer.turn_id, asked, answer.text, name
        )
        known = assertions.list_all(tx, AssertionFilter(answer_id=answer.id))
        like = Assertion(
            "",
            answer.advisor_id,
            answer.advisor_name,
            1,
            "",
            tags=named,
            source=source,
            created_at=now,
            updated_at=now,
        )
        return _made(tx, known, wordings, like)

    return await resources.database.write(write, scope)


def _made(
    tx: Tx, known: Sequence[Assertion], wordings: Iterable[Wording], like: Assertion
) -> list[Assertion]:
    """An assertion like this one for each wording; one that is known already as it is."""

    def new(wording: Wording) -> Assertion:
        return replace(like, id=new_id(), text=wording.text, kind=wording.kind, args=wording.args)

    return [_same(known, wording) or assertions.add(tx, new(wording)) for wording in wordings]


def _same(known: Iterable[Assertion], wording: Wording) -> Assertion | None:
    for other in known:
        if (other.text, other.kind, dict(other.args)) == (
            wording.text,
            wording.kind,
            dict(wording.args),
        ):
            return other
    return None


async def by_hand(
    resources: Resources,
    scope: Scope,
    advisor: str,
    given: Sequence[Wording],
    tagged: Sequence[str] = (),
    user_input: str | None = None,
) -> list[Assertion]:
    """Assertions about an advisor, with a question of their own, or for every stored context."""
    wordings, named = checked(given), tags(tagged)
    if user_input is not None:
        clean(user_input, "user_input", resources.settings.limits.message_chars)
    now = resources.clock()

    def write(tx: Tx) -> list[Assertion]:
        who = advisors.get(tx, advisor)
        known = [
            row
            for row in assertions.list_all(tx, AssertionFilter(advisor_id=who.id))
            if row.source is None and row.user_input == user_input
        ]
        like = Assertion(
            "",
            who.id,
            who.name,
            1,
            "",
            tags=named,
            user_input=user_input,
            created_at=now,
            updated_at=now,
        )
        return _made(tx, known, wordings, like)

    return await resources.database.write(write, scope)


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
            same = kind == old.kind
            args = details.get("args", dict(old.args) if same else {})
            text = details.get("text", old.text)
            if "text" not in details and old.kind != "judge" and old.text == _told(old):
                text = ""  # its words were those of the check; they follow it
            new_wording = wording(text, kind, args)
            new |= {"text": new_wording.text, "kind": new_wording.kind, "args": new_wording.args}
        if "tags" in details:
            new["tags"] = tags(details["tags"])
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


def _told(assertion: Assertion) -> str:
    return described(assertion.kind, assertion.args)


async def bulk(
    resources: Resources, scope: Scope, ids: Sequence[str], action: Action, tag: str | None = None
) -> list[str]:
    """The same for many, all or none; answers the ids."""
    named = tags([tag]) if tag is not None else ()
    if action in ("tag", "untag") and not named:
        raise Invalid("The tag is missing.", "Name it.", param="tag")
    if len(ids) > LISTED:
        raise Invalid(f"{LISTED:,} at once are the most.", "Do it in parts.", param="ids")
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


async def remove(resources: Resources, scope: Scope, assertion_id: str) -> None:
    """Take an assertion off the list; verdicts keep what it said."""
    now = resources.clock()
    await resources.database.write(lambda tx: assertions.remove(tx, assertion_id, now), scope)


@dataclass(frozen=True, slots=True)
class Listed:
    """A page of an advisor's assertions."""

    advisor_id: str
    advisor_name: str
    page: Page[Assertion]
    tags: tuple[str, ...]
    """All that the advisor's assertions have."""


async def listed(
    resources: Resources,
    scope: Scope,
    advisor: str,
    wanted: AssertionFilter,
    limit: int,
    after: str | None = None,
) -> Listed:
    """An advisor's assertions, in the order they were made."""

    def read(tx: Tx) -> Listed:
        advisor_id, name = whose(tx, advisor)
        only = AssertionFilter(
            advisor_id, wanted.query, wanted.tag, wanted.kind, wanted.active, wanted.answer_id
        )
        page = assertions.list_page(tx, only, limit, after)
        return Listed(advisor_id, name, page, tuple(assertions.tags_of(tx, advisor_id)))

    return await resources.database.read(read, scope)


def whose(tx: Tx, key: str) -> tuple[str, str]:
    """Id and name of who is meant: an advisor by id or slug, also a removed one by its id as long
    as it has assertions; the plain assistant, and syntheses."""
    advisor = advisors.find(tx, key)
    if advisor is not None:
        return advisor.id, advisor.name
    if key in OURS:
        return key, OURS[key]
    gone = assertions.name_of(tx, key)
    if gone is not None:
        return key, gone
    advisor = advisors.get(tx, key)
    return advisor.id, advisor.name


@dataclass(frozen=True, slots=True)
class History:
    """An assertion with all of its past."""

    assertion: Assertion
    versions: tuple[AssertionVersion, ...]
    """Newest first."""
    runs: tuple[PastRun, ...]
    """Runs that another program had made."""


async def history(resources: Resources, scope: Scope, assertion_id: str) -> History:
    """An assertion with its versions, and the runs that came with it from elsewhere."""

    def read(tx: Tx) -> History:
        assertion = assertions.get(tx, assertion_id)
        runs = past_runs.of_answer(tx, assertion.source.answer_id) if assertion.source else []
        mine = [run for run in runs if _about(run, assertion)]
        return History(assertion, tuple(assertions.versions(tx, assertion_id)), tuple(mine))

    return await resources.database.read(read, scope)


def _about(run: PastRun, assertion: Assertion) -> bool:
    results = run.data.get("results")
    if run.kind != "evaluation" or not isinstance(results, list):
        return True
    named = [str(row.get("assertionId") or "") for row in results if isinstance(row, dict)]
    # One whose id was another's here has it with an ending.
    return not any(named) or any(
        name and (assertion.id == name or assertion.id.startswith(f"{name}-")) for name in named
    )


async def get(resources: Resources, scope: Scope, assertion_id: str) -> Assertion:
    """One assertion, or NotFound."""
    return await resources.database.read(lambda tx: assertions.get(tx, assertion_id), scope)


async def of_answer(resources: Resources, scope: Scope, answer_id: str) -> list[Assertion]:
    """List the assertions that were drawn from an answer."""

    def read(tx: Tx) -> list[Assertion]:
        turns.get_answer(tx, answer_id)
        return assertions.list_all(tx, AssertionFilter(answer_id=answer_id))

    return await resources.database.read(read, scope)


async def asserted(resources: Resources, scope: Scope, conversation_id: str) -> list[str]:
    """The answers of a conversation that assertions were drawn from."""
    return await resources.database.read(lambda tx: assertions.asserted(tx, conversation_id), scope)


LONGEST = 2000
"""Characters of an assertion."""
MOST = 100
"""Made at once."""
MOST_TAGS = 20
LONGEST_TAG = 40
_MARK = re.compile(r"^\s*(?:[-*•]\s+|\d{1,3}[.)]\s+|\[[ x]\]\s+)+")


@dataclass(frozen=True, slots=True)
class Wording:
    """The words and the kind of an assertion, stored or not."""

    text: str
    kind: Kind = "judge"
    args: Mapping[str, Any] = field(default_factory=dict)


def lines(text: str) -> list[str]:
    """One assertion per line, without the marks of a list."""
    stripped = (_MARK.sub("", line).strip() for line in text.splitlines())
    return [line for line in stripped if line]


def checked(wordings: Iterable[Wording], most: int = MOST) -> list[Wording]:
    """The wordings, if all of them can be stored; each is there once, checks have words."""
    distinct: dict[tuple[str, str, str], Wording] = {}
    for given in wordings:
        clean_wording = wording(given.text, given.kind, given.args)
        distinct.setdefault(
            (clean_wording.text, clean_wording.kind, repr(clean_wording.args)), clean_wording
        )
    if not distinct:
        raise Invalid("There is no assertion in it.", "Write at least one.", param="texts")
    if len(distinct) > most:
        raise Invalid(f"{len(distinct):,} assertions are too many; {most} at once.", param="texts")
    return list(distinct.values())


def wording(text: str, kind: Kind, args: object) -> Wording:
    """Check one wording; a check without words gets some."""
    if args is not None and not isinstance(args, dict):
        raise Invalid("The arguments must be a table.", "Name each of them.", param="args")
    given = understood(kind, args)
    line = " ".join(text.split())
    if not line and kind != "judge":
        line = described(kind, given)
    return Wording(clean(line, "text", LONGEST), kind, given)


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
    name = receipt.draft.recipe
    recipe = find_recipe(tx, settings, name) if name in BUILT_IN else None
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
    if version.field == "prompt":
        return replace(then, prompt=version.text)
    return replace(then, prompt=None, description=version.text)
