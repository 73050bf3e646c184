"""The transcript of a session of a conversation: what was said and what was answered.

Only messages and answers: whatever was put before a model beside them (briefs, recalled memories,
overlays) is in no turn, so it is never remembered as if somebody had said it. A synthesis speaks
for several advisors and belongs to none; it is left out.

A message is known by where it came from. It keeps the index that it got when it was ingested, so
whatever is excluded, edited or answered again between two ingests, nothing moves: what is new comes
behind what is there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from polyvox.errors import Conflict, Invalid, TooLarge
from polyvox.memory.consent import keep_local
from polyvox.memory.tables import episodes, remembered
from polyvox.memory.tables.episodes import New
from polyvox.memory.values import Episode, Message, Partition, Transcript
from polyvox.memory.words import words_of
from polyvox.store import conversations, sessions
from polyvox.store.database import Tx
from polyvox.store.sessions import Session
from polyvox.store.table import rows_in
from polyvox.store.threads import is_on_path, path_to
from polyvox.store.turns import TURNS, answers_of_all
from polyvox.values import Answer, Turn

# -- ingest: a session's transcript becomes episodes, whole and searchable at once -----------------
# Exactly once by session id: the same transcript again changes nothing, a longer one adds what is
# new, a shorter one that comes late changes nothing. All of it happens in the caller's
# transaction, so whoever is killed in the middle leaves nothing behind and can do it again.

Ingested = Literal["ingested", "duplicate", "empty"]

LONGEST_ID = 200
MOST_MESSAGES = 100_000
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


def ingest(
    tx: Tx,
    partition: Partition,
    session_id: str,
    persona_id: str | None,
    started_at: int,
    ended_at: int,
    messages: Sequence[Message],
    *,
    cloud: bool = True,
) -> Ingested:
    """Remember a session. "empty": there was nothing in it. "duplicate": nothing in it was new, or
    it was forgotten. A message that was ingested before with other words is a Conflict, and then
    nothing of this call is stored. With `cloud` off, what is new is never sent to a cloud model."""
    check(partition, session_id, messages)
    if not any(message.text.strip() for message in messages):
        return "empty"
    if episodes.forgotten(tx, partition, session_id):
        return "duplicate"
    transcript = Transcript(
        session_id, persona_id, min(started_at, ended_at), max(started_at, ended_at), len(messages)
    )
    added = episodes.add(tx, partition, transcript, news(messages), cloud)
    return "ingested" if added else "duplicate"


def news(messages: Sequence[Message]) -> list[New]:
    """Messages with the words they are found by."""
    return [
        New(
            message if message.role == "assistant" else replace(message, advisor_id=None),
            tuple(words_of(message.text)),
        )
        for message in messages
    ]


def check(partition: Partition, session_id: str, messages: Sequence[Message]) -> None:
    """Refuse what cannot be remembered."""
    names = {"sessionId": session_id, "tenantId": partition.tenant, "userId": partition.user}
    for param, name in names.items():
        if not name.strip() or len(name) > LONGEST_ID or not _storable(name):
            raise Invalid(
                f"{name[:40]!r} cannot be used as {param}.",
                f"Give a name of 1 to {LONGEST_ID} characters.",
                param=param,
            )
    if len(messages) > MOST_MESSAGES:
        raise TooLarge(
            f"A session of {len(messages):,} messages is too long to be remembered as one.",
            f"Send at most {MOST_MESSAGES:,} messages under one session id.",
        )
    for index, message in enumerate(messages):
        if message.role not in ("user", "assistant"):
            raise Invalid(
                f"Message {index} has the role {str(message.role)[:40]!r}.",
                'Only "user" and "assistant" messages are remembered; leave out what was added'
                " for the model.",
                param="messages",
            )
        if not _storable(message.text):
            raise Invalid(
                f"Message {index} holds a character that cannot be stored.",
                "Leave out NUL and half surrogates.",
                param="messages",
            )


def _storable(text: str) -> bool:
    return _UNSTORABLE.search(text) is None


ELSEWHERE = "elsewhere"
"""What was sent to a service elsewhere is noted under this name and the service's address."""


@dataclass(frozen=True, slots=True)
class Told:
    """A session with its transcript."""

    session: Session
    persona_id: str | None
    """Who answered, where it was one alone."""
    messages: tuple[Message, ...]
    refs: tuple[str, ...]
    """Where each comes from: "u" and a turn's id, "a" and an answer's."""


class Unfinished(Conflict):
    """The session has ended, but its last message is still being answered."""


def transcript_of(tx: Tx, session_id: str) -> Told:
    """Everything said in a session, in order; what was excluded is left out, and so is what stands
    on a branch that the conversation did not take: it was edited away."""
    session = sessions.get(tx, session_id)
    talk = conversations.find(tx, session.conversation_id)
    way = path_to(tx, None if talk is None else talk.head_id)
    told: list[tuple[str, Message]] = []
    for turn, answers in _turns(tx, session):
        if turn.state != "completed":
            raise Unfinished(
                "A message of this session is still being answered.",
                "It is remembered when the answer has ended.",
            )
        if turn.excluded or (way and not is_on_path(way, turn.branch_id, turn.depth)):
            continue
        told.append(_asked(turn))
        told += [
            _answered(one)
            for one in answers
            if one.speaks and one.kind != "synthesis" and one.text.strip()
        ]
    who = {one.advisor_id for _, one in told if one.role == "assistant"}
    return Told(
        session,
        who.pop() if len(who) == 1 else None,
        tuple(message for _, message in told),
        tuple(ref for ref, _ in told),
    )


def ingest_session(
    tx: Tx, session_id: str, leaves: Callable[[str], bool] = lambda _: True
) -> Ingested:
    """Remember a session of a conversation: what of it is not yet. "empty", "duplicate" and
    "ingested" as for any other. `leaves` tells of a model whether what it is told leaves this
    machine: a session that was held with none such is kept from online models."""
    told = transcript_of(tx, session_id)
    own, session = Partition.own(tx.scope), told.session
    check(own, session_id, told.messages)
    if not any(message.text.strip() for message in told.messages):
        return "empty"
    if episodes.forgotten(tx, own, session_id):
        return "duplicate"
    kept = known_sources(tx, session_id)
    remembered.keep(tx, own, session_id, kept)
    known = set(kept.values())
    fresh = [
        (ref, message)
        for ref, message in zip(told.refs, told.messages, strict=True)
        if ref not in known
    ]
    ended = session.last_user_at if session.ended_at is None else session.ended_at
    transcript = Transcript(
        session.id,
        told.persona_id,
        min(session.started_at, ended),
        max(session.started_at, ended),
        len(told.messages),
    )
    left = any(leaves(model) for model in _models(tx, session_id))
    first = episodes.append(
        tx, own, transcript, news([message for _, message in fresh]), cloud=True
    )
    if not left:
        keep_local(tx, session_id)
    refs = {first + at: ref for at, (ref, _) in enumerate(fresh)}
    remembered.keep(tx, own, session_id, refs)
    return "ingested" if fresh else "duplicate"


def transcript_for(tx: Tx, session_id: str, service: str) -> Told:
    """A session as it is sent to a memory service elsewhere, which knows a message by its index:
    what was sent before stands where it stood, excluded since or not, and what is new behind it.
    The order is kept, so that sending it again is the same."""
    told, there = transcript_of(tx, session_id), Partition(ELSEWHERE, service)
    every = dict(zip(told.refs, told.messages, strict=True))
    kept = remembered.of_session(tx, there, session_id)
    order = [kept[index] for index in sorted(kept)]
    fresh = [ref for ref in told.refs if ref not in set(order)]
    remembered.keep(tx, there, session_id, dict(enumerate(fresh, len(order))))
    if not set(order) <= set(every):
        for turn, answers in _turns(tx, told.session):
            for ref, message in (_asked(turn), *map(_answered, answers)):
                every.setdefault(ref, message)
    refs = tuple(ref for ref in (*order, *fresh) if ref in every)
    return replace(told, messages=tuple(every[ref] for ref in refs), refs=refs)


def known_sources(tx: Tx, session_id: str) -> dict[int, str]:
    """Where the ingested messages of a session came from, by index. What was ingested before this
    was kept is recognised by its words, once."""
    own = Partition.own(tx.scope)
    kept = remembered.of_session(tx, own, session_id)
    unknown = [one for one in episodes.episodes_of(tx, own, session_id) if one.index not in kept]
    if unknown:
        taken = set(kept.values())
        every = [
            pair
            for turn, answers in _turns(tx, sessions.get(tx, session_id))
            for pair in (_asked(turn), *map(_answered, answers))
            if pair[0] not in taken
        ]
        kept |= _recognised(unknown, every)
    return kept


def _recognised(unknown: Sequence[Episode], every: Sequence[tuple[str, Message]]) -> dict[int, str]:
    """The first message with the same words for each episode, each used once."""
    left = list(every)
    found: dict[int, str] = {}
    for one in unknown:
        for at, (ref, message) in enumerate(left):
            same = (message.role, message.text, message.advisor_id)
            if same == (one.role, one.text, one.advisor_id):
                found[one.index] = ref
                del left[at]
                break
    return found


def _models(tx: Tx, session_id: str) -> set[str]:
    """The models that answered in a session."""
    sql = "SELECT id FROM turns WHERE user_id = ? AND session_id = ?"
    ids = [row[0] for row in tx.all(sql, (tx.user, session_id))]
    answers = rows_in(tx, "SELECT model FROM answers WHERE user_id = ? AND turn_id", ids)
    return {row[0] for row in answers if row[0]}


def _turns(tx: Tx, session: Session) -> list[tuple[Turn, list[Answer]]]:
    found = TURNS.all(tx, "AND session_id = ? ORDER BY created_at, id", session.id)
    answers = answers_of_all(tx, [turn.id for turn in found])
    return [(turn, answers[turn.id]) for turn in found]


def _asked(turn: Turn) -> tuple[str, Message]:
    return f"u{turn.id}", Message("user", turn.content, turn.said_at)


def _answered(one: Answer) -> tuple[str, Message]:
    return f"a{one.id}", Message("assistant", one.text, one.ended_at, one.advisor_id)
