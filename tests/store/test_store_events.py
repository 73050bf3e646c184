"""The log from any number on is exactly what was not seen yet, folded or not."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.store.logs import DOINGS, ME, Doing, Log, is_delta, key_of, take, write

from polyvox.errors import NotFound
from polyvox.events import (
    AnswerCompleted,
    AnswerFailed,
    AnswerInterrupted,
    AnswerStarted,
    AnswerStopped,
    Event,
    Numbered,
    TextDelta,
    ThinkingDelta,
    TurnCompleted,
    TurnStarted,
)
from polyvox.store import conversations, events
from polyvox.store.database import Database, Tx
from polyvox.store.events import EXACT_ROWS, PAGE, EventRange
from polyvox.stream.hub import safe
from polyvox.values import Scope, Usage

LONG: list[Doing] = [("say", n % 3, f"w{n} ") for n in range(120)] + [
    ("end", 0, ""),
    ("think", 1, "hm"),
    ("end", 1, ""),
    ("say", 2, "still going"),
]


def since(tx: Tx, log: Log, after: int) -> list[EventRange]:
    """All pages after a number."""
    found: list[EventRange] = []
    more = True
    while more:
        page = events.since(tx, log.conversation, after)
        found += page.stretches
        assert page.upto >= after
        after, more = page.upto, page.more
    assert after == log.last
    return found


def check_since(tx: Tx, log: Log, after: int) -> None:
    found = since(tx, log, after)
    others, rests = log.after(after)
    assert [Numbered(s.last, s.event) for s in found if not is_delta(s.event)] == others
    got: dict[str, tuple[int, str]] = {}
    for stretch in found:
        assert after < stretch.first <= stretch.last
        delta = stretch.event
        if isinstance(delta, TextDelta | ThinkingDelta):
            at, text = got.get(key_of(delta), (delta.at, ""))
            assert delta.at == at + len(text), "deltas of one answer continue each other"
            got[key_of(delta)] = (at, text + delta.text)
    assert got == rests
    assert [s.last for s in found] == sorted(s.last for s in found)
    over: set[str] = set()
    for stretch in found:
        event = stretch.event
        if isinstance(event, AnswerInterrupted):
            over.add(event.answer_id)
        if isinstance(event, TextDelta | ThinkingDelta):
            assert event.answer_id not in over, "nothing comes after the end of an answer"


@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(doings=DOINGS)
async def test_since_every_number_equals_a_plain_list(
    database: Database, doings: list[Doing]
) -> None:
    log = await database.write(lambda tx: write(tx, doings), ME)

    def look(tx: Tx) -> None:
        for after in range(log.last + 1):
            check_since(tx, log, after)

    await database.read(look, ME)


async def test_a_long_ended_answer_is_condensed_and_a_short_one_is_not(database: Database) -> None:
    log = await database.write(lambda tx: write(tx, LONG), ME)

    def look(tx: Tx) -> tuple[list[EventRange], list[EventRange]]:
        for after in range(log.last + 1):
            check_since(tx, log, after)
        return since(tx, log, 0), since(tx, log, log.last - 10)

    whole, rest = await database.read(look, ME)
    deltas = [s for s in whole if is_delta(s.event)]
    # Two ended answers, one of which also thought; forty rows of one that goes on, and one more.
    assert len(deltas) == 3 + 41
    assert max(s.last - s.first for s in deltas) > EXACT_ROWS
    assert all(s.first == s.last for s in rest)


async def test_pages_meet_without_a_gap(database: Database) -> None:
    doings: list[Doing] = [("say", n % 4, f"{n},") for n in range(PAGE + 900)]
    doings[PAGE - 40 : PAGE - 40] = [("end", 0, "")]

    def both(tx: Tx) -> None:
        log = write(tx, [*doings, ("end", 1, ""), ("end", 2, "")])
        assert log.last > PAGE
        for after in (0, 1, 500, PAGE - 50, PAGE, PAGE + 1, log.last - 1, log.last):
            check_since(tx, log, after)
        assert events.since(tx, log.conversation, 0).more

    await database.write(both, ME)


@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(doings=DOINGS, cuts=st.lists(st.integers(1, 60), min_size=1, max_size=12))
async def test_a_client_that_is_cut_off_anywhere_loses_nothing(
    database: Database, doings: list[Doing], cuts: list[int]
) -> None:
    """It takes some events, is cut off, and comes back with the last id it has, again and again."""
    log = await database.write(lambda tx: write(tx, [*LONG, *doings]), ME)

    def browse(tx: Tx) -> None:
        texts: dict[str, str] = {}
        seen: list[Event] = []
        last = 0
        for cut in (*cuts, 10_000, 10_000):
            for item in safe(events.since(tx, log.conversation, last).stretches)[:cut]:
                assert item.number >= last, "ids never go backwards"
                last, event = item.number, item.event
                if isinstance(event, TextDelta | ThinkingDelta):
                    take(texts, event)
                elif event not in seen:
                    seen.append(event)
        others, rests = log.after(0)
        assert texts == {key: text for key, (_, text) in rests.items()}
        assert [event for event in seen if isinstance(event, AnswerInterrupted)] == [
            item.event for item in others if isinstance(item.event, AnswerInterrupted)
        ]
        assert last == log.last

    await database.read(browse, ME)


ALL: list[Event] = [
    TurnStarted("t", "m"),
    AnswerStarted("t", "a", "x", 'A "b"', "exchange", 2, "old"),
    AnswerStarted("t", "a", "x", "Ä", "advisor"),
    TextDelta("a", "Ü 𝄞\n", 3),
    ThinkingDelta("a", "hm", 0),
    AnswerCompleted("a", Usage(1, 2, 3, 4, 1_234_567_890_123, True), "lab:x"),
    AnswerCompleted("a", Usage(1, 2), "lab:x"),
    AnswerFailed("a", "timeout", "No…", "Wait."),
    AnswerStopped("a", Usage(5, 0, cost=1)),
    AnswerStopped("a"),
    AnswerInterrupted("a"),
    TurnCompleted("t"),
]


async def test_every_kind_of_event_comes_back_as_it_was(database: Database) -> None:
    def both(tx: Tx) -> list[Event]:
        talk = conversations.create(tx, 0)
        numbered = events.append(tx, talk.id, ALL, 5)
        assert [item.number for item in numbered] == list(range(1, len(ALL) + 1))
        assert events.append(tx, talk.id, [], 5) == []
        return [s.event for s in events.since(tx, talk.id, 0).stretches]

    assert await database.write(both, ME) == ALL


async def test_what_does_not_exist_or_belongs_to_another(database: Database) -> None:
    log = await database.write(lambda tx: write(tx, [("say", 0, "mine")]), ME)
    you = Scope("you")
    with pytest.raises(NotFound):
        await database.read(lambda tx: events.since(tx, log.conversation, 0), you)
    with pytest.raises(NotFound):
        await database.write(lambda tx: events.append(tx, log.conversation, ALL, 0), you)
    with pytest.raises(NotFound):
        await database.read(lambda tx: events.since(tx, "nothing", 0), ME)
    beyond = await database.read(lambda tx: events.since(tx, log.conversation, 10_000), ME)
    assert (beyond.stretches, beyond.more) == ([], False)
