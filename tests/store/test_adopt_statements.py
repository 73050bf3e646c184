"""A database of version 18 shows after its migration what it showed before, on both databases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from polyvox.ids import content_hash
from polyvox.memory import facts, loops, profile
from polyvox.memory.forget import Target, forget
from polyvox.memory.tables import statements
from polyvox.memory.tables.remembered import SESSION_BITS
from polyvox.memory.values import Partition
from polyvox.store.database import Database, Tx
from polyvox.store.migrate import shipped
from polyvox.store.open import open_database
from polyvox.values import Scope

ME, YOU = Scope("anna"), Scope("bert")
OWN = Partition.own(ME)
HOUR = 3_600_000_000
NOW = 400 * HOUR
SAID = "I live in Rome, no: in Kyiv."


def insert(tx: Tx, table: str, **values: Any) -> None:
    row = {"user_id": tx.user, "part": Partition.own(tx.scope).key, **values}
    marks = ", ".join("?" * len(row))
    tx.run(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", tuple(row.values()))


def fact(tx: Tx, name: str, about: str, text: str, at: int, **more: Any) -> None:
    row = dict.fromkeys(("about_from", "about_to", "about_precision", "advisor_id", "corrects"))
    row |= {"subject": "user", "source": "user_stated", "confidence": 0.9, "cloud": 1}
    row |= {"session_id": "s", "message_index": 0, "role": "user", "quote": text}
    row |= dict.fromkeys(("pinned", "excluded", "retracts"), 0)
    given = {"line": f'["", "user", "{about or "#" + text}"]', "attribute": about, **more}
    insert(tx, "facts", id=name, text=text, said_at=at * HOUR, **{**row, **given})


def seen(tx: Tx, name: str, text: str, at: int, **more: Any) -> None:
    row: dict[str, Any] = {
        "topic": " ".join(sorted(set(text.lower().split()))),
        "type": "commitment",
    }
    row |= {"horizon": "ongoing", "due": None, "domain": "work", "importance": 4, "urgency": 2}
    row |= {"tags": "home\tmoney", "confidence": 0.8, "session_id": f"s{at}", "message_index": 0}
    row |= {"quote": text, "cloud": 1, "pinned": 0}
    insert(tx, "loop_sightings", id=name, text=text, said_at=at * HOUR, **{**row, **more})


def over(tx: Tx, status: str, words: str, at: int, *, by_hand: bool = True) -> None:
    words = " ".join(sorted(words.lower().split()))
    place = (None, None, None) if by_hand else (f"s{at}", 2, words)
    insert(
        tx, "loop_endings", id=f"{status} {words} {at}", status=status, said_at=at * HOUR,
        topic=words if by_hand else None, words="" if by_hand else words,
        session_id=place[0], message_index=place[1], quote=place[2],
    )  # fmt: skip


def entry(tx: Tx, name: str, field: str, value: str, at: int, **more: Any) -> None:
    row = {"item": "", "source": "user_stated", "confidence": 0.9, "retracts": 0, "cloud": 1}
    row |= {"session_id": "s", "message_index": 0, "quote": value}
    row |= {"id": name, "field": field, "value": value, "said_at": at * HOUR, **more}
    if row["source"] == "manual":
        row |= dict.fromkeys(("session_id", "message_index", "quote"))
    insert(tx, "profile_entries", **row)


def message(tx: Tx) -> None:
    """One that says two things of the same matter."""
    insert(tx, "transcripts", number=7, session_id="s", started_at=0, ended_at=9, messages=1)
    more = {"words": ""} if tx.dialect == "postgresql" else {}
    insert(
        tx, "episodes", doc=7 << SESSION_BITS, message_index=3, role="user", cloud=1, text=SAID,
        at=1, excluded=0, pinned=0, terms="", **more,
    )  # fmt: skip


def fill(tx: Tx) -> None:
    manual = {"source": "manual", "session_id": None, "message_index": None, "quote": None}
    fact(tx, "f1", "home city", "Lives in Lisbon.", 10, about_from=1, about_to=2)
    fact(tx, "f2", "home city", "Lives in Porto.", 20, pinned=1)
    fact(tx, "f3", "home city", "Lives in Faro.", 30, source="inferred")
    fact(tx, "f4", "", "Has a cat.", 10)
    line = '["", "user", "#Has a cat."]'
    fact(tx, "f5", "", "Has two cats.", 20, corrects="f4", line=line, **manual, role=None)
    fact(tx, "f6", "job", "Is a baker.", 10)
    fact(tx, "f7", "job", "", 30, retracts=1)
    fact(tx, "f8", "allergy", "Nuts.", 10, excluded=1, cloud=0, advisor_id="ann")
    fact(tx, "g2", "now in", "In Rome.", 5, message_index=3, quote="I live in Rome")
    fact(tx, "g1", "now in", "In Kyiv.", 5, message_index=3, quote="in Kyiv")
    message(tx)

    for number, at in enumerate((10, 20, 30)):
        seen(tx, f"bank {number}", "Call the bank about money" + " soon" * number, at)
    seen(tx, "gas", "Pay the gas bill", 10)
    over(tx, "done", "Pay the gas bill", 50)
    seen(tx, "lamp", "Buy a new lamp", 10)
    over(tx, "dropped", "new lamp buy", 50, by_hand=False)
    seen(tx, "roof", "Mend that old roof", 10, pinned=1, due="1970-01-09", horizon="this_week")
    seen(tx, "fence 1", "Paint our garden fence", 10)
    over(tx, "done", "fence garden our paint", 20, by_hand=False)
    seen(tx, "fence 2", "Paint our garden fence", 30)
    seen(tx, "tax", "Do taxes", 10)
    words = {"session_id": "s10", "quote": "Do taxes", "confidence": 1.0}
    seen(tx, "tax by hand", "Write to my accountant", 40, **words, topic="do taxes")
    seen(tx, "boat", "Sell her boat", 10, horizon="today")
    over(tx, "done", "boat her sell", 20)
    over(tx, "open", "boat her sell", 390)

    entry(tx, "p1", "current_focus", "the thesis", 10)
    entry(tx, "p2", "current_focus", "the move", 20, source="manual")
    entry(tx, "p3", "current_focus", "a holiday", 30, source="inferred")
    entry(tx, "p4", "key_relationships", "her sister", 10, item="Rosa", cloud=0)
    entry(tx, "p5", "patterns", "Puts off calls.", 10, item="call off put")
    entry(tx, "p6", "patterns", "Walks late.", 10, item="late walk")
    entry(tx, "p7", "patterns", "", 20, item="late walk", source="manual", retracts=1)
    entry(tx, "p8", "patterns", "walks late", 30, item="late walk", source="inferred")
    entry(tx, "i1", "instructions", "Answer briefly", 10, item="answer briefli")
    again = {"item": "answer briefli", "quote": "answer BRIEFLY!"}
    entry(tx, "i2", "instructions", "answer BRIEFLY", 20, **again)
    entry(tx, "n1", "name", "Jo", 10, source="manual")
    insert(tx, "profiles", version=9, updated_at=5)


def shown(tx: Tx) -> dict[str, Any]:
    every = facts.known(tx, OWN, include_history=True)
    listed = loops.listed(tx, OWN, NOW, statuses=loops.ALL)
    found = profile.read(tx, OWN)
    return {
        "facts": {
            one.statement.id: (one.over, None if one.valid_to is None else one.valid_to // HOUR)
            for one in every
        },
        "loops": {
            one.id: (one.text, one.status, [each.quote for each in one.evidence]) for one in listed
        },
        "profile": {
            place: [(line.id, line.text, line.source, line.cloud) for line in lines]
            for place, lines in found.lines.items()
        },
    }


BANK = content_hash('["loop", "about bank call money the"]')
LOOPS = {
    "about bank call money the": (
        "Call the bank about money soon soon",
        "open",
        ["Call the bank about money", "Call the bank about money soon",
         "Call the bank about money soon soon"],
    ),
    "bill gas pay the": ("Pay the gas bill", "done", ["Pay the gas bill"]),
    "a buy lamp new": ("Buy a new lamp", "dropped", ["Buy a new lamp"]),
    "mend old roof that": ("Mend that old roof", "open", ["Mend that old roof"]),
    "fence garden our paint": ("Paint our garden fence", "open", ["Paint our garden fence"] * 2),
    "do taxes": ("Write to my accountant", "open", ["Do taxes"]),
    "boat her sell": ("Sell her boat", "open", ["Sell her boat"]),
}  # fmt: skip


@pytest.fixture
async def database(empty_url: str, tmp_path: Path) -> Any:
    old = await open_database(empty_url, tmp_path, migrations=shipped()[:18])
    await old.write(fill, ME)
    await old.write(lambda tx: fact(tx, "f1", "home city", "Lives in Oslo.", 10), YOU)
    await old.close()
    database = await open_database(empty_url, tmp_path)
    yield database
    await database.close()


async def test_every_kind_is_shown_as_it_was(database: Database) -> None:
    found = await database.read(shown, ME)
    assert found["facts"] == {
        "f1": ("superseded", 20),
        "f2": (None, None),
        "f3": ("superseded", 30),
        "f4": ("superseded", 20),
        "f5": (None, None),
        "f6": ("ended", 30),
        "f8": (None, None),
        "g2": ("superseded", 5),
        "g1": (None, None),
    }
    by_id = {content_hash(f'["loop", "{topic}"]'): one for topic, one in LOOPS.items()}
    assert found["loops"] == by_id
    assert found["profile"] == {
        "current_focus": [("p2", "the move", "manual", True)],
        "key_relationships": [("p4", "her sister", "user_stated", False)],
        "patterns": [("p5", "Puts off calls.", "user_stated", True)],
        "instructions": [("i2", "answer BRIEFLY", "user_stated", True)],
        "name": [("n1", "Jo", "manual", True)],
    }

    def more(tx: Tx) -> None:
        known = {one.statement.id: one.statement for one in facts.known(tx, OWN)}
        assert (known["f2"].pinned, known["f8"].excluded) == (True, True)
        assert (known["f8"].advisor_id, known["f8"].cloud) == ("ann", False)
        old, _ = facts.find(tx, OWN, "f1")
        assert (old.statement.about_from, old.statement.about_to) == (1, 2)
        assert old.evidence[0].quote == "Lives in Lisbon."
        (roof,) = [one for one in loops.listed(tx, OWN, NOW) if one.pinned]
        assert (roof.due, roof.horizon, roof.tags) == ("1970-01-09", "this_week", ("home", "money"))
        (boat,) = [one for one in loops.listed(tx, OWN, NOW) if "boat" in one.text]
        assert boat.horizon == "today", "it was taken up again just now, so it is not stale"
        assert profile.read(tx, OWN).version == 9

    await database.read(more, ME)
    (yours,) = await database.read(lambda tx: facts.known(tx, Partition.own(YOU)), YOU)
    assert yours.statement.text == "Lives in Oslo."


async def test_what_goes_gives_back_what_stood_before(database: Database) -> None:
    def work(tx: Tx) -> None:
        forget(tx, OWN, Target("fact", "f5"), NOW, None)
        assert facts.find(tx, OWN, "f4")[0].current
        profile.take_back(tx, OWN, "p2", NOW)
        assert profile.read(tx, OWN).one("current_focus") is None, "nor is it inferred again"
        again = loops.end(tx, OWN, content_hash('["loop", "bill gas pay the"]'), "open", NOW)
        assert again.status == "open"

    await database.write(work, ME)


async def test_a_loop_stays_one_when_words_between_go(database: Database) -> None:
    def work(tx: Tx) -> None:
        facts.remove(tx, OWN, statements.by_ids(tx, OWN, ["bank 1"]), now=NOW)
        one = loops.find(tx, OWN, BANK, NOW)
        assert (one.id, len(one.evidence)) == (BANK, 2)

    await database.write(work, ME)
