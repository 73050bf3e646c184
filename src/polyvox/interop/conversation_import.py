"""Storing a conversation from a file: with the ids it had, all of it or nothing.

Its advisors are matched by id, else by exact name; those that are missing are added, inactive. So
the answers of an advisor who is here are part of its thread here, and count for its phases.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

import msgspec

from polyvox.context.recipe import BUILT_IN
from polyvox.context.synthesis import Disagreement, Point, Synthesis
from polyvox.errors import Invalid
from polyvox.interop import advisor_data
from polyvox.interop.conversation import Whole
from polyvox.interop.report import Report, Undo
from polyvox.receive import printable
from polyvox.store import advisors as advisor_rows
from polyvox.store import conversations as conversation_rows
from polyvox.store import councils, receipts, search, versions
from polyvox.store import turns as turn_rows
from polyvox.store.database import Database, Tx
from polyvox.values import ASSISTANT_ID, SYNTHESIS_ID, Advisor, Answer, Scope


async def store(
    database: Database, scope: Scope, now: int, whole: Whole, *, dry: bool = False
) -> Report:
    """Store a conversation that `jsonl.parse` has checked; `dry` tells what would happen."""
    made: list[Report] = []

    def work(tx: Tx) -> None:
        made[:] = [Report()]
        _store(tx, now, whole, made[0])
        if dry:
            raise Undo

    with suppress(Undo):
        await database.write(work, scope)
    return made[0]


def _store(tx: Tx, now: int, whole: Whole, report: Report) -> None:
    conversation = whole.conversation
    title = conversation.title or conversation.id
    if conversation_rows.find(tx, conversation.id) is not None:
        report.present.append(f"“{title}”, with the id {conversation.id}")
        return
    _refuse_taken(tx, whole)
    recipe = conversation.recipe
    if recipe not in BUILT_IN:
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


def _rows(tx: Tx, whole: Whole, who: Mapping[str, str], texts: Mapping[str, str]) -> None:
    conversation_id = whole.conversation.id
    tx.many(
        "INSERT INTO branches (user_id, id, conversation_id, parent_id, fork_depth, created_at)"
        " VALUES (?, ?, ?, ?, ?, ?)",
        [
            (
                tx.user,
                branch.id,
                conversation_id,
                branch.parent_id,
                branch.fork_depth,
                branch.created_at,
            )
            for branch in whole.branches
        ],
    )
    tx.many(
        "INSERT INTO sessions (user_id, id, conversation_id, started_at, last_user_at, ended_at)"
        " VALUES (?, ?, ?, ?, ?, ?)",
        [
            (
                tx.user,
                session.id,
                conversation_id,
                session.started_at,
                session.last_user_at,
                session.ended_at,
            )
            for session in whole.sessions
        ],
    )
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
    """The conversation is new, so none of its parts may be here already."""
    answers = [answer.id for some in whole.answers.values() for answer in some]
    wanted: tuple[tuple[str, str, list[str]], ...] = (
        ("turns", "id", [turn.id for turn in whole.turns]),
        ("turns", "message_id", [turn.message_id for turn in whole.turns]),
        ("branches", "id", [branch.id for branch in whole.branches]),
        ("sessions", "id", [session.id for session in whole.sessions]),
        ("answers", "id", answers),
    )
    for table, column, ids in wanted:
        for start in range(0, len(ids), 400):
            some = ids[start : start + 400]
            taken = tx.one(
                f"SELECT 1 FROM {table} WHERE user_id = ?"  # noqa: S608 - our own names
                f" AND {column} IN ({', '.join('?' * len(some))}) LIMIT 1",
                (tx.user, *some),
            )
            if taken is not None:
                raise Invalid(
                    "Parts of this conversation are here already, in another one.",
                    "Delete that one first, if this is the one to keep.",
                )


def _match(tx: Tx, now: int, whole: Whole, report: Report) -> dict[str, str]:
    """Match the advisors of the file with those here: ids by ids."""
    known = {row[0] for row in tx.all("SELECT id FROM advisors WHERE user_id = ?", (tx.user,))}
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
    data = advisor_data.as_data(advisor)
    data.setdefault("description", "Spoke in a conversation that was imported.")
    del data["slug"]  # here it may be somebody else's
    data |= {key: printable(data[key]) for key in ("description", "prompt", "voice") if key in data}
    details = advisor_data.checked({**data, "active": False})
    return advisor_rows.create(tx, now, "imported", details)


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
        points = _renamed(points, who)
    return replace(
        answer,
        advisor_id=who.get(answer.advisor_id, answer.advisor_id),
        prompt_version_id=texts.get(answer.prompt_version_id or "", answer.prompt_version_id),
        points=points,
    )


def _renamed(points: str, who: Mapping[str, str]) -> str:
    """A synthesis whose points name the advisors by their ids here."""
    read = msgspec.json.decode(points, type=Synthesis)

    def named(point: Point) -> Point:
        return replace(
            point, advisors=tuple(who.get(advisor_id, advisor_id) for advisor_id in point.advisors)
        )

    renamed = replace(
        read,
        points=tuple(named(point) for point in read.points),
        disagreements=tuple(
            Disagreement(question.text, tuple(named(side) for side in question.sides))
            for question in read.disagreements
        ),
    )
    return msgspec.json.encode(renamed).decode()
