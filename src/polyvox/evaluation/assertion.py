"""Assertions: making them from an answer or by hand, changing and finding them.

An assertion that is drawn from an answer takes with it what the advisor had been sent, so that it
goes on working when the conversation or the advisor is gone. Invariant: what is refused is refused
before anything of it is written; several are made together or not at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from polyvox.errors import Conflict, Invalid
from polyvox.evaluation.capturing import context_of
from polyvox.evaluation.checks import described
from polyvox.evaluation.contexts import Context
from polyvox.evaluation.tables import assertions, contexts, past_runs
from polyvox.evaluation.tables.assertions import Details, Wanted
from polyvox.evaluation.tables.past_runs import PastRun
from polyvox.evaluation.values import Assertion, Source, Version
from polyvox.evaluation.wordings import Wording, checked, tags, wording
from polyvox.ids import new_id
from polyvox.receive import clean
from polyvox.resources import Resources
from polyvox.store import advisors, turns
from polyvox.store.database import Tx
from polyvox.store.pages import Page
from polyvox.values import ASSISTANT_ID, ENDED, SYNTHESIS_ID, Answer, Scope

LISTED = 5000
"""Named in one bulk change."""
OURS = {ASSISTANT_ID: "Assistant", SYNTHESIS_ID: "Synthesis"}
Action = Literal["activate", "deactivate", "remove", "tag", "untag"]


async def from_answer(
    resources: Resources,
    scope: Scope,
    answer_id: str,
    said: Sequence[Wording],
    tagged: Sequence[str] = (),
) -> list[Assertion]:
    """Assertions about an answer, with what its advisor had been sent. One that was drawn from it
    before, word for word, is given as it is."""
    wordings, named = checked(said), tags(tagged)

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
        source = Source(answer.id, answer.conversation_id, answer.turn_id, asked, answer.text, name)
        known = assertions.list_all(tx, Wanted(answer_id=answer.id))
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

    def new(one: Wording) -> Assertion:
        return replace(like, id=new_id(), text=one.text, kind=one.kind, args=one.args)

    return [_same(known, one) or assertions.add(tx, new(one)) for one in wordings]


def _same(known: Iterable[Assertion], one: Wording) -> Assertion | None:
    for other in known:
        if (other.text, other.kind, dict(other.args)) == (one.text, one.kind, dict(one.args)):
            return other
    return None


async def by_hand(
    resources: Resources,
    scope: Scope,
    advisor: str,
    said: Sequence[Wording],
    tagged: Sequence[str] = (),
    user_input: str | None = None,
) -> list[Assertion]:
    """Assertions about an advisor, with a question of their own, or for every stored context."""
    wordings, named = checked(said), tags(tagged)
    if user_input is not None:
        clean(user_input, "user_input", resources.settings.limits.message_chars)
    now = resources.clock()

    def write(tx: Tx) -> list[Assertion]:
        who = advisors.get(tx, advisor)
        known = [
            one
            for one in assertions.list_all(tx, Wanted(advisor_id=who.id))
            if one.source is None and one.user_input == user_input
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
    resources: Resources, scope: Scope, assertion_id: str, details: Details
) -> Assertion:
    """Change what is named; saying something else makes a new version."""
    now = resources.clock()

    def write(tx: Tx) -> Assertion:
        old = assertions.get(tx, assertion_id)
        new: Details = {**details}
        if {"text", "kind", "args"} & details.keys():
            kind = details.get("kind", old.kind)
            same = kind == old.kind
            args = details.get("args", dict(old.args) if same else {})
            text = details.get("text", old.text)
            if "text" not in details and old.kind != "judge" and old.text == _told(old):
                text = ""  # its words were those of the check; they follow it
            one = wording(text, kind, args)
            new |= {"text": one.text, "kind": one.kind, "args": one.args}
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


def _told(one: Assertion) -> str:
    return described(one.kind, one.args)


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
        found = assertions.get_many(tx, list(dict.fromkeys(ids)))
        for one in found:
            if action == "remove":
                assertions.remove(tx, one.id, now)
                continue
            details: Details
            if action in ("activate", "deactivate"):
                details = {"active": action == "activate"}
            elif action == "tag":
                details = {"tags": tags([*one.tags, *named])}
            else:
                details = {"tags": tuple(old for old in one.tags if old not in named)}
            assertions.change(tx, one.id, now, details)
        return [one.id for one in found]

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
    wanted: Wanted,
    limit: int,
    after: str | None = None,
) -> Listed:
    """An advisor's assertions, in the order they were made."""

    def read(tx: Tx) -> Listed:
        advisor_id, name = whose(tx, advisor)
        only = Wanted(
            advisor_id, wanted.query, wanted.tag, wanted.kind, wanted.active, wanted.answer_id
        )
        page = assertions.list_page(tx, only, limit, after)
        return Listed(advisor_id, name, page, tuple(assertions.tags_of(tx, advisor_id)))

    return await resources.database.read(read, scope)


def whose(tx: Tx, key: str) -> tuple[str, str]:
    """Id and name of who is meant: an advisor by id or slug, also a removed one by its id as long
    as it has assertions; the plain assistant, and syntheses."""
    found = advisors.find(tx, key)
    if found is not None:
        return found.id, found.name
    if key in OURS:
        return key, OURS[key]
    gone = assertions.name_of(tx, key)
    if gone is not None:
        return key, gone
    found = advisors.get(tx, key)
    return found.id, found.name


@dataclass(frozen=True, slots=True)
class History:
    """Everything that an assertion has been."""

    assertion: Assertion
    versions: tuple[Version, ...]
    """Newest first."""
    runs: tuple[PastRun, ...]
    """What another program had told of it."""


async def history(resources: Resources, scope: Scope, assertion_id: str) -> History:
    """An assertion with its versions, and the runs that came with it from elsewhere."""

    def read(tx: Tx) -> History:
        found = assertions.get(tx, assertion_id)
        runs = past_runs.of_answer(tx, found.source.answer_id) if found.source else []
        mine = [one for one in runs if _about(one, found)]
        return History(found, tuple(assertions.versions(tx, assertion_id)), tuple(mine))

    return await resources.database.read(read, scope)


def _about(run: PastRun, one: Assertion) -> bool:
    results = run.data.get("results")
    if run.kind != "evaluation" or not isinstance(results, list):
        return True
    named = [str(row.get("assertionId") or "") for row in results if isinstance(row, dict)]
    # One whose id was another's here has it with an ending.
    return not any(named) or any(
        name and (one.id == name or one.id.startswith(f"{name}-")) for name in named
    )


async def get(resources: Resources, scope: Scope, assertion_id: str) -> Assertion:
    """One assertion, or NotFound."""
    return await resources.database.read(lambda tx: assertions.get(tx, assertion_id), scope)


async def of_answer(resources: Resources, scope: Scope, answer_id: str) -> list[Assertion]:
    """What was drawn from an answer."""

    def read(tx: Tx) -> list[Assertion]:
        turns.get_answer(tx, answer_id)
        return assertions.list_all(tx, Wanted(answer_id=answer_id))

    return await resources.database.read(read, scope)


async def asserted(resources: Resources, scope: Scope, conversation_id: str) -> list[str]:
    """The answers of a conversation that assertions were drawn from."""
    return await resources.database.read(lambda tx: assertions.asserted(tx, conversation_id), scope)
