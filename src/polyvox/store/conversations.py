"""Conversations as rows: beginning, finding, changing and really deleting them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypedDict, Unpack

import msgspec

from polyvox.ids import new_id
from polyvox.store import councils, search
from polyvox.store.database import Tx
from polyvox.store.pages import Page, page_of, place_in
from polyvox.store.scrub import scrub
from polyvox.store.table import Table, Verbs, known, reading, writing
from polyvox.values import Conversation, Recall, Scope

CONVERSATIONS = Table("conversations", Conversation)
OWNED = (
    "events",
    "receipts",
    "spans",
    "answers",
    "turns",
    "sessions",
    "branches",
    "companion_sessions",
    "companion_marks",
    "companion_turns",
    "companion_traces",
    "running_summaries",
)
"""Tables whose rows belong to one conversation and go with it."""
DEFAULT_RECIPE = "council"


class ConversationDetails(TypedDict, total=False):
    """The fields of a conversation to set; those left out stay as they are."""

    title: str
    recipe: str
    advisors: Sequence[str] | None
    """Ids or slugs; None: every active advisor."""
    council: str | None
    """A council's id or slug: its advisors and its recipe, unless these are given too."""
    recall: Recall
    """Recall in its turns."""
    phases: int | None
    """Answers that limited phases last at most; None: as the recipe says."""


def find(tx: Tx, conversation_id: str) -> Conversation | None:
    """One conversation, or None."""
    return CONVERSATIONS.one(tx, "AND id = ?", conversation_id)


def get(tx: Tx, conversation_id: str) -> Conversation:
    """One conversation, or NotFound."""
    hint = "The list of conversations has the ids of all there are."
    return known(find(tx, conversation_id), f"There is no conversation {conversation_id}.", hint)


def recall_of(tx: Tx, conversation_id: str) -> Recall:
    """The recall setting of a conversation; "inherit" for one that has no id yet."""
    return get(tx, conversation_id).recall if conversation_id else "inherit"


def list_page(tx: Tx, *, limit: int = 50, after: str | None = None) -> Page[Conversation]:
    """Conversations by their newest message, newest first; `after` is a page's `next`."""
    where = "" if after is None else "AND (updated_at < ? OR (updated_at = ? AND id < ?))"
    conversations = CONVERSATIONS.all(
        tx,
        f"{where} ORDER BY updated_at DESC, id DESC LIMIT ?",
        *(() if after is None else place_in(after, "after")),
        limit + 1,
    )
    return page_of(conversations, limit, lambda conversation: conversation.updated_at)


def titles(tx: Tx) -> dict[str, str]:
    """Every conversation's title by its id."""
    return dict(tx.all("SELECT id, title FROM conversations WHERE user_id = ?", (tx.user,)))


def latest(
    tx: Tx, *, recipe: str | None = None, advisor_id: str | None = None
) -> Conversation | None:
    """The conversation with the newest message; of one recipe, or with one advisor alone, if
    given."""
    where, params = "", []
    if recipe is not None:
        where += "AND recipe = ? "
        params.append(recipe)
    if advisor_id is not None:
        where += "AND advisors = ? "
        params.append(msgspec.json.encode((advisor_id,)).decode())
    order = "ORDER BY updated_at DESC, id DESC LIMIT 1"
    return CONVERSATIONS.one(tx, f"{where}{order}", *params)


def sole_advisors(tx: Tx, recipe: str) -> list[str]:
    """Advisors who are alone in some conversation of a recipe, the one spoken to last first."""
    rows = tx.all(
        "SELECT advisors, MAX(updated_at) FROM conversations WHERE user_id = ? AND recipe = ?"
        " AND advisors IS NOT NULL GROUP BY advisors ORDER BY 2 DESC",
        (tx.user, recipe),
    )
    lists: list[list[str]] = [msgspec.json.decode(row[0]) for row in rows]
    return [ids[0] for ids in lists if len(ids) == 1]


def speakers(tx: Tx, recipe: str) -> set[str]:
    """Ids of the advisors who have answered in some conversation of a recipe."""
    rows = tx.all(
        "SELECT DISTINCT a.advisor_id FROM conversations c JOIN answers a ON a.user_id = c.user_id"
        " AND a.conversation_id = c.id WHERE c.user_id = ? AND c.recipe = ?",
        (tx.user, recipe),
    )
    return {row[0] for row in rows}


def create(tx: Tx, now: int, **details: Unpack[ConversationDetails]) -> Conversation:
    """A new, empty conversation."""
    empty = Conversation(new_id(), "", DEFAULT_RECIPE, None, None, None, 0, now, now)
    conversation = _with(tx, empty, details)
    CONVERSATIONS.insert(tx, conversation)
    _index(tx, conversation)
    return conversation


def update(tx: Tx, conversation_id: str, details: ConversationDetails) -> Conversation:
    """Change what `details` names. Its place in the list, by its newest message, stays."""
    old = get(tx, conversation_id)
    new = _with(tx, old, details)
    # Only these columns: the head and the last number may be moving at this moment.
    CONVERSATIONS.update(tx, new, "title recipe advisors council_id recall phases")
    if new.title != old.title:
        _index(tx, new)
    return new


def delete(tx: Tx, conversation_id: str) -> None:
    """Delete a conversation with everything in it. What it cost stays in the sums of its day,
    advisors and models, without a trace of where it was spent."""
    get(tx, conversation_id)
    where = (tx.user, conversation_id)
    search.remove_conversation(tx, conversation_id)
    tx.run(
        "UPDATE usage SET conversation_id = NULL, answer_id = NULL"
        " WHERE user_id = ? AND conversation_id = ?",
        where,
    )
    for table in OWNED:
        tx.run(f"DELETE FROM {table} WHERE user_id = ? AND conversation_id = ?", where)
    tx.run("DELETE FROM conversations WHERE user_id = ? AND id = ?", where)


class Conversations(Verbs):
    """The verbs, each in a transaction of its own."""

    create = writing(create)
    get = reading(get)
    list = reading(list_page)
    latest = reading(latest)

    async def delete(self, scope: Scope, conversation_id: str) -> bool:
        """Delete a conversation with everything in it; answers whether it is gone from the files
        too."""
        await self._database.write(lambda tx: delete(tx, conversation_id), scope)
        return await scrub(self._database)


def _with(tx: Tx, old: Conversation, details: ConversationDetails) -> Conversation:
    new = old
    if "council" in details:
        new = replace(new, council_id=None)
        if (named := details["council"]) is not None:
            council = councils.get(tx, named)
            new = replace(
                new,
                council_id=council.id,
                advisors=council.advisors,
                recipe=council.recipe,
                phases=council.phases,
            )
    if "advisors" in details:
        chosen = details["advisors"]
        new = replace(new, advisors=None if chosen is None else _members(tx, chosen, old.advisors))
    return replace(
        new,
        title=details.get("title", new.title),
        recipe=details.get("recipe", new.recipe),
        recall=details.get("recall", new.recall),
        phases=details.get("phases", new.phases),
    )


def _members(tx: Tx, chosen: Sequence[str], before: Sequence[str] | None) -> tuple[str, ...]:
    """Ids of the chosen advisors; a present member may have been removed from the list since."""
    members: dict[str, None] = {}
    for name in chosen:
        ids = (name,) if before and name in before else councils.members(tx, (name,))
        members |= dict.fromkeys(ids)
    return tuple(members)


def _index(tx: Tx, conversation: Conversation) -> None:
    if conversation.title:
        search.index(tx, conversation.id, "title", conversation.id, conversation.title)
    else:
        search.remove(tx, "title", conversation.id)
