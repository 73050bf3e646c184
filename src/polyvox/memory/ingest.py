"""Ingest: a session's transcript becomes episodes, whole and searchable at once.

Exactly once by session id: the same transcript again changes nothing, a longer one adds what is
new, a shorter one that comes late changes nothing. All of it happens in the caller's transaction,
so whoever is killed in the middle leaves nothing behind and can do it again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from polyvox.errors import Invalid, TooLarge
from polyvox.memory.tables import episodes
from polyvox.memory.tables.episodes import New
from polyvox.memory.values import Message, Partition, Transcript
from polyvox.memory.words import words_of
from polyvox.store.database import Tx

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
