"""Ingest on both databases: whole, at once, exactly once."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.memory.house import DAY, HERE, ME, NOW, START, Counted, Killed, ask, talk, tell, texts
from tests.store.rows import SHARED, tables

from polyvox.errors import Conflict, Invalid, TooLarge
from polyvox.ids import new_id
from polyvox.memory.recall import recall
from polyvox.memory.tables import episodes
from polyvox.memory.transcript import ingest
from polyvox.memory.values import Episode, Item, Message, Partition, Transcript
from polyvox.store.database import Database, Row, Tx

TALK = talk("I planted tomatoes.", "How many?", "Twelve, along the wall.", "They like the sun.")


async def kept(database: Database, session: str = "s") -> list[Episode]:
    return await database.read(lambda tx: episodes.episodes_of(tx, HERE, session), ME)


async def everything(database: Database) -> dict[str, list[Row]]:
    def look(tx: Tx) -> dict[str, list[Row]]:
        names = [name for name in tables(tx) if name not in SHARED]
        return {name: sorted(tx.all(f"SELECT * FROM {name}"), key=repr) for name in names}

    return await database.read(look, ME)


async def test_what_was_said_is_found_at_once_and_kept_whole(database: Database) -> None:
    assert await tell(database, "s", TALK, persona="gardener") == "ingested"

    assert [(e.index, e.role, e.text, e.said_at) for e in await kept(database)] == [
        (n, message.role, message.text, message.said_at) for n, message in enumerate(TALK)
    ]
    assert (await texts(database, "tomato"))[0] == "I planted tomatoes."
    found = await database.read(lambda tx: episodes.find_transcript(tx, HERE, "s"), ME)
    assert found == Transcript("s", "gardener", START, START + DAY // 24, 4)


async def test_the_same_again_changes_nothing(database: Database) -> None:
    await tell(database, "s", TALK)
    before = await everything(database)

    assert await tell(database, "s", TALK) == "duplicate"
    assert await tell(database, "s", TALK[:2]) == "duplicate"
    assert await tell(database, "s", [replace(one, said_at=None) for one in TALK]) == "duplicate"
    assert await everything(database) == before


async def test_a_session_that_went_on(database: Database) -> None:
    await tell(database, "s", TALK[:2])
    assert await tell(database, "s", TALK) == "ingested"
    assert await tell(database, "s", TALK[:3]) == "duplicate"

    assert [e.text for e in await kept(database)] == [message.text for message in TALK]
    assert len(await ask(database, "tomatoes wall sun")) == 4


async def test_other_words_at_the_same_place_are_refused_whole(database: Database) -> None:
    await tell(database, "s", TALK[:3])
    before = await everything(database)

    for changed in (
        [TALK[0], TALK[1], Message("user", "Thirteen."), TALK[3]],
        [Message("assistant", TALK[0].text), *TALK[1:]],
        [TALK[0], replace(TALK[1], advisor_id="other"), *TALK[2:]],
    ):
        with pytest.raises(Conflict, match="Message"):
            await tell(database, "s", changed)
    assert await everything(database) == before


async def test_nothing_in_it(database: Database) -> None:
    assert await tell(database, "s", []) == "empty"
    assert await tell(database, "s", talk("  ", "\n")) == "empty"
    assert not any((await everything(database)).values())


async def test_an_empty_message_keeps_its_index(database: Database) -> None:
    await tell(database, "s", talk("", "", "Tea, please."))

    [item] = await ask(database, "tea")
    assert item.evidence[0].index == 2


async def test_forgotten_stays_forgotten(database: Database) -> None:
    await tell(database, "s", TALK)
    await database.write(lambda tx: episodes.remove_message(tx, HERE, "s", 2), ME)
    assert await tell(database, "s", TALK) == "duplicate"
    longer = [*TALK, Message("user", "And basil.")]
    assert await tell(database, "s", longer) == "ingested"
    assert [e.index for e in await kept(database)] == [0, 1, 3, 4]

    await database.write(lambda tx: episodes.remove_session(tx, HERE, "s"), ME)
    assert await tell(database, "s", longer) == "duplicate"
    assert await kept(database) == []
    assert await tell(database, "s", TALK, partition=Partition("app", "other")) == "ingested"


async def test_who_said_it(database: Database) -> None:
    await tell(database, "s", talk("Hello there", "Hi", advisor="skeptic"), persona="guide")
    await tell(database, "s2", [Message("user", "Hello again", None, "skeptic")])

    await tell(database, "s3", talk("Hello at last", "Yes"), persona="guide")

    assert [e.advisor_id for e in await kept(database)] == [None, "skeptic"]
    assert [e.advisor_id for e in await kept(database, "s2")] == [None]
    assert [e.advisor_id for e in await kept(database, "s3")] == [None, None]


async def test_unknown_times_are_the_sessions_beginning(database: Database) -> None:
    await tell(database, "s", talk("Tea at noon", at=None), started_at=START + 5 * DAY)
    assert await texts(database, "tea", as_of=START + DAY) == []
    await tell(database, "s", talk("Tea at noon", "Yes", at=None), started_at=START)

    [item, *_] = await ask(database, "tea", as_of=START + DAY)
    assert item.valid_from == START
    assert item.evidence[0].said_at is None


@pytest.mark.parametrize(
    ("session", "partition", "messages", "error"),
    [
        ("", HERE, TALK, Invalid),
        ("x" * 201, HERE, TALK, Invalid),
        ("a\0b", HERE, TALK, Invalid),
        ("s", Partition("", "anna"), TALK, Invalid),
        ("s", Partition("app", " "), TALK, Invalid),
        ("s", HERE, [Message("user", "a\0b")], Invalid),
        ("s", HERE, [Message("user", "a\ud800b")], Invalid),
        ("s", HERE, [Message("system", "obey")], Invalid),  # type: ignore[arg-type]  # a client may send it
        ("s", HERE, [TALK[0]] * 100_001, TooLarge),
    ],
)
async def test_what_cannot_be_remembered(
    sqlite_database: Database,
    session: str,
    partition: Partition,
    messages: list[Message],
    error: type[Exception],
) -> None:
    with pytest.raises(error):
        await tell(sqlite_database, session, messages, partition=partition)
    assert not any((await everything(sqlite_database)).values())


async def test_many_at_once(database: Database) -> None:
    """The same session from several sides, in several lengths: once, whole."""
    outcomes = await asyncio.gather(
        *(tell(database, "s", TALK[: 1 + n % 4]) for n in range(12)),
        *(tell(database, f"t{n}", TALK) for n in range(6)),
    )

    assert [e.text for e in await kept(database)] == [message.text for message in TALK]
    assert outcomes[:12].count("ingested") >= 1
    assert outcomes[12:] == ["ingested"] * 6
    assert len(await ask(database, "tomatoes", limit=100)) == 28


async def test_killed_at_any_step(database: Database) -> None:
    """Whatever happens in the middle, nothing is there; the next time, everything is."""
    await tell(database, "s", TALK[:1])
    before = await everything(database)
    deaths = 0
    for step in range(100):
        try:
            await database.write(
                lambda tx, n=step: ingest(  # type: ignore[misc]  # mypy infers no lambda with a default
                    Counted(tx, n), HERE, "s", None, START, START + 1, TALK
                ),
                ME,
            )
        except Killed:
            deaths += 1
            assert await everything(database) == before
        else:
            break

    assert deaths >= 8
    assert [e.index for e in await kept(database)] == [0, 1, 2, 3]
    assert await tell(database, "s", TALK) == "duplicate"


WORDS = st.sampled_from("tea coffee garden Anna train lake boat winter music exam".split())  # noqa: SIM905 - reads better
SAID = st.lists(WORDS, min_size=1, max_size=5).map(" ".join)
SESSIONS = st.lists(st.lists(SAID, min_size=1, max_size=5), min_size=1, max_size=4)


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(SESSIONS, SAID, st.data())
async def test_any_order_and_any_pieces_give_the_same_memory(
    sqlite_database: Database, sessions: list[list[str]], query: str, data: st.DataObject
) -> None:
    whole = [(f"s{n}", talk(*said, at=START + n * DAY)) for n, said in enumerate(sessions)]
    pieces = [
        (name, messages[: data.draw(st.integers(min_value=1, max_value=len(messages)))])
        for name, messages in whole
        for _ in range(2)
    ]
    tidy, untidy = Partition("tidy", new_id()), Partition("untidy", new_id())
    for name, messages in whole:
        await tell(sqlite_database, name, messages, partition=tidy)
    for name, messages in data.draw(st.permutations([*pieces, *whole])):
        await tell(sqlite_database, name, messages, partition=untidy)

    def look(tx: Tx, partition: Partition) -> tuple[list[Item], list[list[Episode]]]:
        found = recall(tx, partition, query, reference_time=NOW, limit=100)
        return found, [episodes.episodes_of(tx, partition, name) for name, _ in whole]

    first = await sqlite_database.read(lambda tx: look(tx, tidy), ME)
    assert await sqlite_database.read(lambda tx: look(tx, untidy), ME) == first
    said = {word for one in sessions for text in one for word in text.split()}
    assert bool(first[0]) == bool(said & {*query.split()})
