from __future__ import annotations

import json
from pathlib import Path

import pytest
from benchmarks.locomo import load

from benchmarks import recall


def conversation(name: str, person: str, topic: str) -> dict[str, object]:
    """A conversation in the shape of LoCoMo's files."""

    def turn(place: str, speaker: str, text: str, **more: str) -> dict[str, str]:
        return {"dia_id": place, "speaker": speaker, "text": text, **more}

    return {
        "sample_id": name,
        "conversation": {
            "speaker_a": person,
            "speaker_b": "Lou",
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [
                turn("D1:1", person, "Hello Lou!"),
                turn("D1:2", "Lou", "What is new?"),
                turn("D1:3", person, f"I bought a {topic}.", blip_caption=f"a green {topic}"),
            ],
            "session_2_date_time": "12:05 am on 1 June, 2023",
            "session_2": [
                turn("D2:1", "Lou", "The weather is nice."),
                turn("D2:2", person, "Yes."),
            ],
        },
        "qa": [
            {"question": f"What did {person} buy?", "evidence": ["D1:3", "D9:9"], "category": 4},
            {"question": f"Which {topic} is green?", "evidence": ["D:1:3; D2:2"], "category": 1},
            {"question": f"Did Lou buy a {topic}?", "evidence": ["D1:3"], "category": 5},
            {"question": "No evidence?", "evidence": ["D7:1"], "category": 3},
        ],
    }


@pytest.fixture
def locomo(tmp_path: Path) -> Path:
    path = tmp_path / "talks.json"
    talks = [conversation("one", "Anna", "kite"), conversation("two", "Otto", "drum")]
    path.write_text(json.dumps(talks), "utf-8")
    return path


def test_a_file_of_conversations(locomo: Path) -> None:
    one, two = load(locomo)

    assert (one.name, two.name) == ("one", "two")
    assert [len(messages) for messages in one.sessions.values()] == [3, 2]
    told = one.sessions["session 1"][2]
    assert told.text == "Anna: I bought a kite. [image: a green kite]"
    assert told.role == "user"
    assert one.sessions["session 1"][1].role == "assistant"
    assert told.said_at == 1_683_554_280_000_000
    assert [sorted(asked.evidence) for asked in one.questions] == [
        [("session 1", 2)],
        [("session 1", 2), ("session 2", 1)],
        [("session 1", 2)],
    ]
    assert [asked.category for asked in one.questions] == [4, 1, 5]


async def test_what_is_found(tmp_path: Path, locomo: Path) -> None:
    rows = {row.what: row for row in await recall.found(tmp_path / "bench", locomo)}

    most = rows["LoCoMo, 2 conversations, 4 questions: evidence found among the first 10"]
    assert most.bar == "≥ 74 %"
    assert most.met is True
    assert any("plain FTS5" in what for what in rows)
    assert rows["LoCoMo: points above plain FTS5 among the first 10"].figure.count("between") == 1
    assert "  adversarial, among the first 10" in rows
    assert rows["LoCoMo: questions to another memory that bring nothing"].met is True


async def test_without_a_file_it_says_what_it_needs(tmp_path: Path) -> None:
    [row] = await recall.found(tmp_path, None)

    assert "--locomo" in row.figure
    assert row.met is None


async def test_how_fast(tmp_path: Path) -> None:
    turns, query = await recall.speed(tmp_path / "bench", "", "SQLite", 200, questions=5)

    assert "turns indexed a second" in turns.what
    assert "query among 200 episodes" in query.what
    assert "ms" in query.figure


async def test_pairs_of_statements_are_counted(tmp_path: Path) -> None:
    (row,) = await recall.updated(tmp_path)

    assert row.met
    assert "40 pairs" in row.figure
