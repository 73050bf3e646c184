"""A whole conversation: every turn of every branch, every version of every answer, the advisors and
their texts as they were, the receipts. All its file formats are made from it.

`store_whole` keeps the ids of the file, all of it or nothing. Advisors are matched by id, else
by exact name; those that are missing are added, inactive. So the answers of an advisor who is here
are part of its thread here, and count for its phases.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from polyvox.context.synthesis import Synthesis
from polyvox.errors import Invalid
from polyvox.interop import advisor_file
from polyvox.interop.report import Report, take
from polyvox.receive import printable
from polyvox.recipes import known_recipe
from polyvox.settings import Settings
from polyvox.store import advisors as advisor_rows
from polyvox.store import conversations as conversation_rows
from polyvox.store import councils, receipts, search, sessions, versions
from polyvox.store import turns as turn_rows
from polyvox.store.database import Database, Tx
from polyvox.store.receipts import StoredReceipt
from polyvox.store.sessions import Session
from polyvox.values import (
    ASSISTANT_ID,
    SYNTHESIS_ID,
    Advisor,
    Answer,
    Branch,
    Conversation,
    PromptVersion,
    Scope,
    Turn,
)


@dataclass(frozen=True, slots=True)
class Whole:
    """All of it, in the order in which it came to be."""

    conversation: Conversation
    advisors: tuple[Advisor, ...]
    """Everyone who is in it or was asked, as they are now; the removed ones too."""
    versions: tuple[PromptVersion, ...]
    """The texts with which the answers were given."""
    branches: tuple[Branch, ...]
    sessions: tuple[Session, ...]
    turns: tuple[Turn, ...]
    body_hashes: dict[str, str]
    answers: dict[str, tuple[Answer, ...]]
    """By turn."""
    spans: dict[str, str]
    receipts: tuple[StoredReceipt, ...]

    def path(self) -> list[Turn]:
        """The current branch, oldest first."""
        by_id = {turn.id: turn for turn in self.turns}
        path: list[Turn] = []
        at = by_id.get(self.conversation.head_id or "")
        while at is not None and len(path) <= len(by_id):
            path.append(at)
            at = by_id.get(at.parent_id or "")
        return path[::-1]


def read_whole(tx: Tx, conversation_id: str) -> Whole:
    """A conversation from the store, or NotFound."""
    conversation = conversation_rows.get(tx, conversation_id)
    rows = turn_rows.of_conversation(tx, conversation_id)
    turns = tuple(turn for turn, _ in rows)
    answers = {turn.id: _answers(tx, turn) for turn in turns}
    asked = {
        *(conversation.advisors or ()),
        *(advisor_id for turn in turns for advisor_id in turn.asked),
    }
    asked |= {answer.advisor_id for some in answers.values() for answer in some}
    used = {answer.prompt_version_id for some in answers.values() for answer in some}
    people = [advisor for advisor in advisor_rows.everyone(tx) if advisor.id in asked]
    return Whole(
        conversation,
        tuple(people),
        tuple(
            version
            for advisor in people
            for version in reversed(versions.list_all(tx, advisor.id))
            if version.id in used
        ),
        tuple(turn_rows.branches_of(tx, conversation_id)),
        tuple(sessions.of_conversation(tx, conversation_id)),
        turns,
        {turn.id: body_hash for turn, body_hash in rows},
        answers,
        receipts.spans_of(tx, conversation_id),
        tuple(receipts.of_conversation(tx, conversation_id)),
    )


def _answers(tx: Tx, turn: Turn) -> tuple[Answer, ...]:
    """Every version, those under way with what there is of them."""
    return tuple(
        turn_rows.with_text_so_far(tx, answer) if answer.state == "streaming" else answer
        for answer in turn_rows.answers_of(tx, turn.id)
    )


def as_ended(answer: Answer) -> Answer:
    """Mark an answer that was under way when the file was written as interrupted."""
    return (
        replace(answer, state="interrupted") if answer.state in ("pending", "streaming") else answer
    )


async def store_whole(
    database: Database,
    settings: Settings,
    scope: Scope,
    now: int,
    whole: Whole,
    *,
    dry: bool = False,
) -> Report:
    """Store a conversation that `jsonl.parse` has checked; `dry` tells what would happen."""
    return await take(database, scope, lambda tx: _store(tx, settings, now, whole), dry=dry)


def _store(tx: Tx, settings: Settings, now: int, whole: Whole) -> Report:
    report, conversation = Report(), whole.conversation
    title = conversation.title or conversation.id
    if conversation_rows.find(tx, conversation.id) is not None:
        report.present.append(f"“{title}”, with the id {conversation.id}")
        return report
    _refuse_taken(tx, whole)
    recipe = conversation.recipe
    if known_recipe(tx, settings, recipe) is None:
        report.notes.append(f"there is no recipe {recipe!r} here; it goes on as a council")
        recipe = "council"
    who = _match(tx, now, whole, report)
    council = conversation.council_id
    if council is not None and councils.find(tx, council) is None:
        council = None
    advisors = conversation.advisors
    if advisors is not None:
        advisors = tuple(who.get(advisor_id, advisor_id) for advisor_id in advisors)
    here = replace(
        conversation, recipe=recipe, advisors=advisors, council_id=council, last_number=0
    )
    conversation_rows.CONVERSATIONS.insert(tx, here)
    if conversation.title:
        search.index(tx, conversation.id, "title", conversation.id, conversation.title)
    _rows(tx, whole, who, _texts(tx, whole, who))
    answers = sum(len(some) for some in whole.answers.values())
    report.taken.append(f"“{title}”: {len(whole.turns):,} turns, {answers:,} answers")
    return report


def _rows(tx: Tx, whole: Whole, who: Mapping[str, str], texts: Mapping[str, str]) -> None:
    conversation_id = whole.conversation.id
    for branch in whole.branches:
        turn_rows.BRANCHES.insert(tx, branch, conversation_id=conversation_id)
    for session in whole.sessions:
        sessions.SESSIONS.insert(tx, session)
    for turn in whole.turns:
        asked = tuple(who.get(advisor_id, advisor_id) for advisor_id in turn.asked)
        turn_rows.TURNS.insert(tx, replace(turn, asked=asked), body_hash=whole.body_hashes[turn.id])
        if not turn.redacted:
            search.index(tx, conversation_id, "message", turn.id, turn.content)
        for answer in whole.answers[turn.id]:
            turn_rows.insert_answer(tx, turn, _as_here(answer, who, texts), None)
            if answer.text:
                search.index(tx, conversation_id, "answer", answer.id, answer.text)
    spans = whole.spans
    for receipt in whole.receipts:
        receipts.put(tx, receipt.answer_id, conversation_id, receipt.base_id, receipt.data, spans)
        spans = {}  # all of them are stored with the first


def _refuse_taken(tx: Tx, whole: Whole) -> None:
    """Refuse a conversation of which any part is here already, in another one."""
    answers = [answer.id for some in whole.answers.values() for answer in some]
    if (
        turn_rows.TURNS.holds(tx, "id", [turn.id for turn in whole.turns])
        or turn_rows.TURNS.holds(tx, "message_id", [turn.message_id for turn in whole.turns])
        or turn_rows.BRANCHES.holds(tx, "id", [branch.id for branch in whole.branches])
        or sessions.SESSIONS.holds(tx, "id", [session.id for session in whole.sessions])
        or turn_rows.ANSWERS.holds(tx, "id", answers)
    ):
        raise Invalid(
            "Parts of this conversation are here already, in another one.",
            "Delete that one first, if this is the one to keep.",
        )


def _match(tx: Tx, now: int, whole: Whole, report: Report) -> dict[str, str]:
    """Match the advisors of the file with those here: ids by ids."""
    known = {advisor.id for advisor in advisor_rows.everyone(tx)}
    by_name = {advisor.name: advisor for advisor in reversed(advisor_rows.list_all(tx))}
    own = {ASSISTANT_ID, SYNTHESIS_ID}
    who: dict[str, str] = {}
    for advisor in whole.advisors:
        if advisor.id in known or advisor.id in own:
            continue
        here = by_name.get(advisor.name)
        if here is None:
            here = by_name[advisor.name] = _add(tx, now, advisor)
            report.notes.append(f"the advisor {here.name} was not here; added, inactive")
        else:
            report.notes.append(f"the advisor {here.name} of the file is taken for the one here")
        who[advisor.id] = here.id
    return who


def _add(tx: Tx, now: int, advisor: Advisor) -> Advisor:
    data = advisor_file.as_data(advisor)
    data.setdefault("description", "Spoke in a conversation that was imported.")
    del data["slug"]  # here it may be somebody else's
    data |= {key: printable(data[key]) for key in ("description", "prompt", "voice") if key in data}
    details = advisor_file.checked({**data, "active": False})
    return advisor_rows.create(tx, now, reason="imported", **details)


def _texts(tx: Tx, whole: Whole, who: Mapping[str, str]) -> dict[str, str]:
    """Match the file's prompt versions with those here that have the same words: ids by ids."""
    here_of: dict[str, str] = {}
    for version in whole.versions:
        if (advisor_id := who.get(version.advisor_id)) is not None:
            for here in versions.list_all(tx, advisor_id):
                if here.hash == version.hash:
                    here_of[version.id] = here.id
    return here_of


def _as_here(answer: Answer, who: Mapping[str, str], texts: Mapping[str, str]) -> Answer:
    points = answer.points
    if points is not None and who:
        read = msgspec.to_builtins(msgspec.json.decode(points, type=Synthesis))
        points = msgspec.json.encode(_renamed(read, who)).decode()
    return replace(
        answer,
        advisor_id=who.get(answer.advisor_id, answer.advisor_id),
        prompt_version_id=texts.get(answer.prompt_version_id or "", answer.prompt_version_id),
        points=points,
    )


def _renamed(points: Any, who: Mapping[str, str]) -> Any:  # noqa: ANN401 - a part of a synthesis
    """A synthesis whose points name the advisors by their ids here."""
    if isinstance(points, list | tuple):
        return [_renamed(point, who) for point in points]
    if not isinstance(points, dict):
        return who.get(points, points)
    keys = ("points", "disagreements", "sides", "next", "advisors")
    return points | {key: _renamed(points[key], who) for key in keys if key in points}
