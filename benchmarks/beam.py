"""BEAM chats (github mohammadtavakoli78/BEAM) as memories to be asked: read from a file by path.

Each chat has questions about something that was said twice, with the places of the older and the
newer statement; questions with their sources; and questions that nothing in it answers.
"""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polyvox.memory.values import Message

Place = tuple[str, int]


@dataclass(frozen=True)
class Update:
    """A question whose answer changed, with where the older and the newer answer stand."""

    question: str
    older: frozenset[Place]
    newer: frozenset[Place]


@dataclass(frozen=True)
class Chat:
    """A long chat of one person with an assistant."""

    name: str
    sessions: dict[str, list[Message]]
    updates: tuple[Update, ...]
    sourced: tuple[str, ...]
    """Questions that the chat answers."""
    unanswered: tuple[str, ...]
    """Questions that it does not answer."""
    ended_at: int


def load(path: Path) -> list[Chat]:
    """The chats of a file."""
    return [_chat(chat) for chat in json.loads(path.read_text("utf-8"))]


def _chat(data: dict[str, Any]) -> Chat:
    sessions: dict[str, list[Message]] = {}
    places: dict[int, Place] = {}
    end = 0
    for session in data["sessions"]:
        messages = sessions.setdefault(session["id"], [])
        for row in session["messages"]:
            said_at = int(dt.datetime.fromisoformat(row["timestamp"]).timestamp()) * 1_000_000
            places[row["id"]] = (session["id"], len(messages))
            messages.append(Message(row["role"], row["text"], said_at))
            end = max(end, said_at)

    def at(ids: list[int]) -> frozenset[Place]:
        return frozenset(places[number] for number in ids if number in places)

    updates = (
        Update(row["question"], at(row["old"]), at(row["new"])) for row in data["knowledge_update"]
    )
    return Chat(
        data["id"],
        sessions,
        tuple(update for update in updates if update.older and update.newer),
        tuple(row["question"] for row in data["information_extraction"]),
        tuple(row["question"] for row in data["abstention"]),
        end,
    )
