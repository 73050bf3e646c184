"""Statements: noted with quotes, linked to what is known, the same view in any order."""

from __future__ import annotations

import itertools
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.memory.desk import DAY, EMPTY, ME, PART, Desk, open_desk

from polyvox.memory.forget import Target
from polyvox.memory.tables.statements import Link, Statement
from polyvox.memory.view import Held, view
from polyvox.store.database import Database


@pytest.fixture
async def desk(database: Database, tmp_path: Path) -> AsyncIterator[Desk]:
    async with open_desk(database, tmp_path) as desk:
        desk.always({**EMPTY, "summary": "They talked."})
        yield desk


def fact(quote: str, text: str, **more: Any) -> dict[str, Any]:
    return {**EMPTY, "facts": [{"n": 0, "quote": quote, "text": text, "subject": "user", **more}]}


def loop(quote: str, text: str, **more: Any) -> dict[str, Any]:
    return {**EMPTY, "loops": [{"n": 0, "quote": quote, "text": text, **more}]}


async def tell(desk: Desk, session: str, text: str, note: dict[str, Any], at: int = 0) -> None:
    """A session of one message, and what the model notes of it."""
    desk.reply(note)
    await desk.ingest(session, text, at=at)
    await desk.work()


def known_in(desk: Desk) -> dict[str, int]:
    """The numbers of the known statements in the last request for notes, by text."""
    requests = [one.json() for one in desk.provider.requests("notes")]
    asked = [one for one in requests if "notebook" in str(one["messages"][0])][-1]
    lines = [json.loads(line) for line in asked["messages"][-1]["content"].splitlines()]
    return {line["text"]: line["known"] for line in lines if "known" in line}


async def current(desk: Desk) -> list[str]:
    return sorted(one.statement.text for one in await desk.memory.facts(ME, PART))


async def test_a_new_value_takes_the_place_of_the_old(desk: Desk) -> None:
    await tell(
        desk,
        "a",
        "I work at Brightwell.",
        fact("I work at Brightwell", "Works at Brightwell.", attribute="employer"),
    )
    replaced = fact("I started at Feedzai", "Works at Feedzai.", attribute="job", replaces=[1])
    await tell(desk, "b", "I started at Feedzai.", replaced, at=DAY)
    assert known_in(desk) == {"Works at Brightwell.": 1}
    assert await current(desk) == ["Works at Feedzai."]
    (old,) = [
        one for one in await desk.memory.facts(ME, PART, include_history=True) if not one.current
    ]
    assert old.over == "superseded"
    undone = await desk.memory.change_fact(ME, PART, old.statement.id, current=True)
    assert undone.current
    assert await current(desk) == ["Works at Brightwell.", "Works at Feedzai."]


async def test_a_late_older_statement_does_not_retire_a_newer_one(desk: Desk) -> None:
    await tell(
        desk,
        "b",
        "I started at Feedzai.",
        fact("I started at Feedzai", "Works at Feedzai.", attribute="job"),
        at=DAY,
    )
    late = fact("I work at Brightwell", "Works at Brightwell.", attribute="employer", replaces=[1])
    await tell(desk, "a", "I work at Brightwell.", late)
    assert await current(desk) == ["Works at Feedzai."]


async def test_only_the_loop_that_is_named_is_closed(desk: Desk) -> None:
    await tell(
        desk, "a", "I'll pay the gas bill.", loop("I'll pay the gas bill", "Pay the gas bill")
    )
    await tell(desk, "b", "I paid the water bill.", EMPTY, at=DAY)
    (gas,) = await desk.memory.loops(ME, PART)
    number = known_in(desk)["Pay the gas bill"]
    done = {
        **EMPTY,
        "closed": [{"n": 0, "quote": "The gas bill is paid", "known": number, "status": "done"}],
    }
    await tell(desk, "c", "The gas bill is paid.", done, at=2 * DAY)
    assert await desk.memory.loops(ME, PART) == []
    (over,) = await desk.memory.loops(ME, PART, statuses=("done",))
    assert over.id == gas.id
    again = await desk.memory.change_loop(ME, PART, gas.id, status="open")
    assert (again.status, [one.id for one in await desk.memory.loops(ME, PART)]) == (
        "open",
        [gas.id],
    )


@pytest.mark.parametrize(
    ("said", "note"),
    [
        ("I moved to Porto.", fact("I live in Lisbon", "Lives in Lisbon.")),
        ("I moved to Porto.", fact("I moved to Porto", "Moved to Porto in 1987.")),
        (
            "I moved to Porto.",
            {
                **EMPTY,
                "closed": [{"n": 0, "quote": "I moved to Porto", "known": 7, "status": "done"}],
            },
        ),
        ("My dog is Jonas.", fact("My dog is Jo", "Has a dog, Jo.")),
        (
            "Call me Jo.",
            {
                **EMPTY,
                "profile": [
                    {"n": 0, "quote": "Call me Jo", "field": "name", "text": "Jonas Reuter"}
                ],
            },
        ),
    ],
    ids=["no such quote", "no such number", "no such line", "half a word", "no such name"],
)
async def test_what_cannot_be_verified_is_dropped(
    desk: Desk, said: str, note: dict[str, Any]
) -> None:
    await tell(desk, "a", said, note)
    assert await current(desk) == []
    assert (await desk.memory.profile(ME, PART)).lines == {}
    assert [job.failure for job in await desk.jobs() if job.failure] == [], "dropped, not failed"


async def test_nothing_is_taken_from_the_assistants_words(desk: Desk) -> None:
    await desk.ingest("a", "What do you think?")
    desk.reply(fact("I see", "Sees."))
    await desk.work()
    assert await current(desk) == []


async def test_nothing_is_taken_from_a_hard_message(desk: Desk) -> None:
    note = loop("I'm going to end it this week", "End it this week")
    await tell(desk, "a", "I'm going to end it this week.", {**note, "hard": [0]})
    assert await desk.memory.loops(ME, PART) == []
    assert (await desk.ask("end it this week"))[0].id == "a#0", "it stays findable"


async def test_without_a_model_nothing_is_guessed(database: Database, tmp_path: Path) -> None:
    async with open_desk(database, tmp_path, model="") as desk:
        await desk.ingest("a", "I'll call the bank tomorrow. Always answer briefly.")
        await desk.work()
        assert await desk.memory.loops(ME, PART) == []
        assert (await desk.memory.profile(ME, PART)).lines == {}
        assert (await desk.ask("bank"))[0].id == "a#0"
        written = await desk.memory.write_fact(ME, PART, "The bank is in Rua Augusta.")
        assert written.statement.source == "manual"
        assert (await desk.ask("Which street is the bank in?"))[
            0
        ].text == "The bank is in Rua Augusta."


async def test_a_deleted_fact_does_not_come_back(desk: Desk) -> None:
    note = fact("I live in Utrecht", "Lives in Utrecht.", attribute="home city")
    await tell(desk, "a", "I live in Utrecht.", note)
    (one,) = await desk.memory.facts(ME, PART)
    gone = await desk.memory.forget(ME, PART, Target("fact", one.statement.id))
    assert (gone.going.messages, len(gone.going.statements)) == ([], 1)
    assert {item.source for item in await desk.ask("Utrecht")} == {"episode"}
    await desk.memory.mark_message(ME, PART, "a", 0, excluded=True)
    await desk.memory.mark_message(ME, PART, "a", 0, excluded=False)
    desk.reply(note)
    await desk.work()
    assert await current(desk) == []


# -- the view is pure, and the same in any order ---------------------------------------------------

NAMES = st.sampled_from("abcdef")


@st.composite
def stores(draw: st.DrawFn) -> tuple[list[Statement], list[Link]]:
    ids = draw(st.lists(NAMES, unique=True, min_size=1))
    statements = [
        Statement(
            name,
            "fact",
            "user",
            draw(st.sampled_from(["", "city", "job"])),
            draw(st.sampled_from(["x", "y"])),
            draw(st.integers(0, 5)),
            source=draw(st.sampled_from(["user_stated", "manual", "inferred"])),
        )
        for name in ids
    ]
    kinds = st.sampled_from(["supersedes", "repeats", "done", "ended", "reopens"])
    links = []
    for number, kind in enumerate(draw(st.lists(kinds, max_size=4))):
        pair = kind in ("supersedes", "repeats")
        target = draw(st.sampled_from(ids))
        by = draw(st.sampled_from(ids)) if pair else None
        if by != target:
            links.append(Link(f"l{number}", kind, target, by, draw(st.integers(0, 6))))  # type: ignore[arg-type]
    return statements, links


def shown(held: dict[str, Held]) -> dict[str, tuple[int | None, str | None]]:
    return {name: (one.valid_to, one.over) for name, one in held.items()}


@given(stores(), st.randoms(use_true_random=False))
def test_any_order_of_arrival_gives_the_same_view(
    store: tuple[list[Statement], list[Link]], random: Any
) -> None:
    statements, links = store
    expected = shown(view(statements, links))
    random.shuffle(statements)
    random.shuffle(links)
    assert shown(view(statements, links)) == expected


@given(stores(), st.integers(0, 6))
def test_the_past_is_what_was_known_then(
    store: tuple[list[Statement], list[Link]], moment: int
) -> None:
    statements, links = store
    known = [one for one in statements if one.said_at <= moment]
    said = [one for one in links if one.said_at <= moment]
    assert shown(view(statements, links, moment)) == shown(view(known, said))


def test_every_slot_has_a_current_statement() -> None:
    for order in itertools.permutations(range(3)):
        statements = [Statement(str(at), "fact", "user", "city", f"t{at}", at) for at in order]
        (now,) = [one for one in view(statements).values() if one.current]
        assert now.statement.said_at == 2
