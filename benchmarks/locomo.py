"""LoCoMo conversations (arXiv 2402.17753) as memories to be asked: read from a file, never kept.

A question counts with the turns that hold its answer (its evidence); what is measured is which part
of them is among the first found.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polyvox.memory.values import Message

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
ADVERSARIAL = 5
MINUTE = 60_000_000
_EVIDENCE = re.compile(r"D:?(\d+):(\d+)")
_SESSION = re.compile(r"session_(\d+)")


@dataclass(frozen=True)
class Asked:
    """A question and the turns that answer it, as (session, index)."""

    question: str
    evidence: frozenset[tuple[str, int]]
    category: int


@dataclass(frozen=True)
class Talk:
    """A long conversation of two people."""

    name: str
    sessions: dict[str, list[Message]]
    questions: tuple[Asked, ...]
    ended_at: int

    @property
    def turns(self) -> Iterator[tuple[str, int, str]]:
        """Every turn: its session, its index in it, and its text."""
        for session, messages in self.sessions.items():
            for index, message in enumerate(messages):
                yield session, index, message.text


def load(path: Path) -> list[Talk]:
    """The conversations of a file."""
    return [_talk(one) for one in json.loads(path.read_text("utf-8"))]


def _talk(data: dict[str, Any]) -> Talk:
    said = data["conversation"]
    sessions, places, end = {}, {}, 0
    for number in sorted(int(found[1]) for key in said if (found := _SESSION.fullmatch(key))):
        at = _time(said[f"session_{number}_date_time"])
        turns = said[f"session_{number}"]
        name = f"session {number}"
        sessions[name] = [
            Message(
                "user" if turn["speaker"] == said["speaker_a"] else "assistant",
                _text(turn),
                at + index * MINUTE,
            )
            for index, turn in enumerate(turns)
        ]
        for index, turn in enumerate(turns):
            session, place = map(int, _EVIDENCE.findall(turn["dia_id"])[0])
            places[session, place] = (name, index)
        end = max(end, at + len(turns) * MINUTE)
    return Talk(data["sample_id"], sessions, tuple(_questions(data["qa"], places)), end)


def _questions(
    rows: list[dict[str, Any]], places: dict[tuple[int, int], tuple[str, int]]
) -> Iterator[Asked]:
    for row in rows:
        named = [_EVIDENCE.findall(text) for text in row.get("evidence", [])]
        found = {places.get((int(a), int(b))) for some in named for a, b in some} - {None}
        evidence = frozenset(place for place in found if place is not None)
        if evidence:
            yield Asked(row["question"], evidence, row["category"])


def _text(turn: dict[str, Any]) -> str:
    caption = turn.get("blip_caption")
    return f"{turn['speaker']}: {turn['text']}" + (f" [image: {caption}]" if caption else "")


def _time(text: str) -> int:
    time = dt.datetime.strptime(text.upper(), "%I:%M %p ON %d %B, %Y").replace(tzinfo=dt.UTC)
    return int(time.timestamp()) * 1_000_000
