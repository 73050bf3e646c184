"""Recall on both databases: one contract."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.memory.house import (
    DAY,
    HERE,
    ME,
    NOW,
    START,
    THERE,
    YOU,
    Counted,
    ask,
    talk,
    tell,
    texts,
)
from tests.memory.updates import REPLIES, SMALL_TALK, UPDATES

from polyvox.errors import Invalid
from polyvox.ids import new_id
from polyvox.memory.index import AT_ONCE
from polyvox.memory.recall import Exclude, Reader, recall
from polyvox.memory.tables import claims, episodes
from polyvox.memory.values import Claim, Evidence, Item, Message, Partition
from polyvox.memory.words import words_of
from polyvox.store.database import Database, Tx
from polyvox.store.open import open_database
from polyvox.values import Scope


async def fill(database: Database, sessions: int = 6) -> None:
    """Talk about nothing, so that words have their usual weight."""
    for n in range(sessions):
        said = [text for pair in zip(SMALL_TALK, REPLIES * 3, strict=True) for text in pair]
        await tell(database, f"fill{n}", talk(*said, at=START - (n + 2) * DAY))


async def test_it_says_where_it_knows_it_from(database: Database) -> None:
    await fill(database)
    await tell(database, "s", talk("Hm.", "Yes?", "My sister Rosa keeps bees.", "How nice."))

    item = (await ask(database, "What does Rosa keep?"))[0]

    assert item.text == "My sister Rosa keeps bees."
    assert item.id == "s#2"
    assert item.source == "episode"
    assert item.status == "current"
    assert item.valid_from == START + 120_000_000
    assert item.valid_to is None
    assert item.relevance >= 0.6
    assert item.evidence == (
        Evidence("s", 2, "user", "My sister Rosa keeps bees.", START + 120_000_000),
    )


async def test_any_form_of_a_word_and_the_answer_beside_it(database: Database) -> None:
    await fill(database)
    await tell(database, "s", talk("Where did you buy your bicycles?", "At the flea market."))

    assert await texts(database, "buying a BICYCLE", limit=2) == [
        "Where did you buy your bicycles?",
        "At the flea market.",
    ]


async def test_a_question_about_something_else_finds_little(database: Database) -> None:
    await fill(database)
    await tell(database, "s", talk("My sister Rosa keeps bees in Lisbon."))

    assert await ask(database, "Who is it?") == []
    assert await ask(database, "quantum chromodynamics") == []
    for question in ("Which week did Otto sail the fjord?", "What did Ines cook for the people?"):
        assert all(item.relevance < 0.6 for item in await ask(database, question))


async def test_newer_statements_stand_above_older_ones(database: Database) -> None:
    """Forty statements that were superseded later, told between much else."""
    chance = random.Random(4)
    for age, day in ((0, 0), (1, 60)):
        order = chance.sample(UPDATES, len(UPDATES))
        for start in range(0, len(order), 5):
            said = []
            for update in order[start : start + 5]:
                said += [chance.choice(SMALL_TALK), chance.choice(REPLIES)]
                said += [update[1 + age], chance.choice(REPLIES)]
            at = START + (day + start) * DAY
            await tell(database, f"{age}-{start}", talk(*said, at=at))

    both = right = 0
    for update in UPDATES:
        found = await texts(database, update.question)
        if update.older in found and update.newer in found:
            both += 1
            right += found.index(update.newer) < found.index(update.older)

    assert both >= 36
    assert right >= 0.9 * both


async def test_what_is_in_sight_stays_in_sight(database: Database) -> None:
    """Relevance falls with the order, also where the newer has risen."""
    await fill(database)
    for n in range(30):
        said = f"The lake was {'cold' if n % 3 else 'cold and blue'} and the boat {n} leaked."
        await tell(database, f"s{n}", talk(said, at=START + (n * 7 % 11) * DAY))

    found = [item.relevance for item in await ask(database, "cold blue lake boat", limit=30)]

    assert found == sorted(found, reverse=True)
    assert len(found) == 30


async def test_as_of(database: Database) -> None:
    await tell(database, "a", talk("The meeting is on Monday.", at=START))
    await tell(database, "b", talk("The meeting is on Friday.", at=START + 9 * DAY))

    assert await texts(database, "meeting") == [
        "The meeting is on Friday.",
        "The meeting is on Monday.",
    ]
    assert await texts(database, "meeting", as_of=START + DAY) == ["The meeting is on Monday."]
    assert await texts(database, "meeting", as_of=START - 1) == []


async def test_as_of_the_middle_of_a_session(database: Database) -> None:
    """What was said later neither is told nor helps."""
    await fill(database)
    await tell(database, "s", talk("A zebra.", "A zebra?", "In the meadow, a zebra."))
    await tell(database, "t", talk("A zebra."), partition=THERE)
    then = START + 59_000_000

    found = await ask(database, "zebra meadow", as_of=then)

    assert [item.text for item in found] == ["A zebra."]
    assert await texts(database, "meadow", as_of=then) == []


async def test_what_is_known_already_is_left_out(database: Database) -> None:
    await tell(database, "a", talk("The red boat leaks.", at=START))
    await tell(database, "b", talk("The blue boat sank!", at=START + DAY))

    async def found(**known: Any) -> list[str]:
        return sorted(await texts(database, "boat", exclude=Exclude(**known)))

    assert await found() == ["The blue boat sank!", "The red boat leaks."]
    assert await found(sessions=frozenset({"a", "unknown"})) == ["The blue boat sank!"]
    assert await found(ids=frozenset({"b#0"})) == ["The red boat leaks."]
    assert await found(texts=("He said: the  BLUE boat sank. And so on",)) == [
        "The red boat leaks."
    ]


async def test_what_is_left_out_leaves_room_for_the_rest(database: Database) -> None:
    for n in range(20):
        await tell(database, f"s{n}", talk(f"The boat {n} leaks.", at=START + n * DAY))
    known = Exclude(ids=frozenset(f"s{n}#0" for n in range(5, 20)))

    assert len(await ask(database, "boat", limit=5, exclude=known)) == 5


async def test_limits_and_budgets(database: Database) -> None:
    for n in range(12):
        await tell(database, f"s{n}", talk(f"The boat {n} leaks." + " It does." * n))

    assert len(await ask(database, "boat", limit=3)) == 3
    for limit in (0, 101):
        with pytest.raises(Invalid):
            await ask(database, "boat", limit=limit)
    for budget in (1, 12, 40, 1000):
        found = await texts(database, "boat", limit=100, max_tokens=budget)
        assert sum(-(-len(text) // 4) for text in found) <= budget
        assert bool(found) == (budget > 5)
    assert len(await ask(database, "boat", limit=100, max_tokens=1000)) == 12


async def test_what_does_not_fit_makes_room_for_what_does(database: Database) -> None:
    await tell(database, "a", talk("The boat, the boat, the red boat leaks." + " Look." * 20))
    await tell(database, "b", talk("A boat.", at=START - DAY))

    assert (await texts(database, "red boat leaks"))[1:] == ["A boat."]
    assert await texts(database, "red boat leaks", max_tokens=5) == ["A boat."]


async def test_a_long_text_is_told_in_part(database: Database) -> None:
    filler = "There is nothing to see here, it only fills the page. " * 60
    long = f"{filler}Rosa keeps bees. {filler}"
    await tell(database, "s", talk(long))

    [item] = await ask(database, "bees of Rosa")

    assert len(item.text) < 1000
    assert item.text.startswith("… ")
    assert item.text.endswith(" …")
    assert "Rosa keeps bees." in item.evidence[0].quote
    assert item.evidence[0].quote in long


async def test_a_time_and_nothing_else(database: Database) -> None:
    await tell(database, "a", talk("I had soup.", "Good.", at=START))
    await tell(database, "b", talk("I had rice.", "Fine.", at=START + DAY))
    tomorrow = START + DAY + DAY // 24

    assert await texts(database, "What did we say yesterday?", reference_time=tomorrow) == [
        "I had soup.",
        "Good.",
    ]
    asked = await ask(database, "yesterday", reference_time=tomorrow, limit=1)
    assert [item.relevance for item in asked] == [0.6]
    assert await texts(database, "and on 3 May 2011?") == []
    assert await texts(
        database, "yesterday or last month or this year", reference_time=tomorrow
    ) == [
        "I had rice.",
        "I had soup.",
        "Fine.",
        "Good.",
    ], "each of them once"
    assert await texts(database, "yesterday", reference_time=tomorrow, as_of=START - 1) == []
    nobody = Exclude(sessions=frozenset({"a"}))
    assert await texts(database, "yesterday", reference_time=tomorrow, exclude=nobody) == []


async def test_the_time_that_is_asked_for_comes_first(database: Database) -> None:
    await fill(database)
    for n, place in enumerate(("lake", "coast", "city")):
        await tell(database, place, talk(f"We had a trip to the {place}.", at=START + 90 * n * DAY))

    assert (await texts(database, "the trip in November 2023"))[0].endswith("lake.")
    assert (await texts(database, "the trip in February 2024"))[0].endswith("coast.")
    # In that time, not soon after, nor what was said since.
    told = ("I met Olga at the market.", "I helped Olga move into her flat.", "Olga cooked for us.")
    for n, one in enumerate(told):
        await tell(database, one, talk(one, at=START + (700 + 30 * n) * DAY))
    asked = {"in October 2025": 0, "in November": 1, "in December": 2, "this month": 1}
    for when, n in asked.items():
        at = START + (732 if when == "this month" else 800) * DAY
        found = await texts(database, f"What did I do with Olga {when}?", reference_time=at)
        assert found[0] == told[n]


async def test_excluded_and_pinned(database: Database) -> None:
    for n in range(3):
        await tell(database, f"s{n}", talk(f"The boat {n} leaks.", at=START + n * DAY))

    async def mark(session: str, **flags: bool) -> None:
        await database.write(lambda tx: episodes.mark(tx, HERE, session, 0, **flags), ME)

    await mark("s0", pinned=True)
    assert (await texts(database, "boat leaks"))[0] == "The boat 0 leaks."
    await mark("s0", excluded=True)
    assert await texts(database, "boat") == ["The boat 2 leaks.", "The boat 1 leaks."]
    assert await texts(database, "on 14 November 2023") == []
    await mark("s0", excluded=False, pinned=False)
    assert (await texts(database, "boat"))[2] == "The boat 0 leaks."


async def test_each_advisor_reads_the_person_and_itself(database: Database) -> None:
    said = [
        Message("user", "Shall I buy the boat?", START),
        Message("assistant", "A boat is a hole in the water.", START + 1, "skeptic"),
        Message("assistant", "A boat is freedom.", START + 2, "dreamer"),
        Message("assistant", "A boat needs paint.", START + 3),
    ]
    await tell(database, "s", said)

    async def read(reader: Reader) -> set[str]:
        return {item.text.split()[-1] for item in await ask(database, "boat", reader=reader)}

    assert await read(Reader()) == {"boat?", "paint."}
    assert await read(Reader(advisor_id="skeptic")) == {"boat?", "paint.", "water."}
    assert await read(Reader(advisor_id="dreamer")) == {"boat?", "paint.", "freedom."}
    assert await read(Reader(everything=True)) == {"boat?", "water.", "freedom.", "paint."}
    user = frozenset({"user"})
    assert await read(Reader(everything=True, roles=user)) == {"boat?"}


async def test_what_must_not_go_to_a_cloud_model(database: Database) -> None:
    await tell(database, "a", talk("The boat is green."), cloud=False)
    await tell(database, "b", talk("The boat is sold."))

    assert len(await ask(database, "boat")) == 2
    for_cloud = Reader(everything=True, cloud=True)
    assert await texts(database, "boat", reader=for_cloud) == ["The boat is sold."]


WORDS = st.sampled_from(["tea", "garden", "train", "lake", "boat", "winter", "music"])
SAID = st.lists(WORDS, min_size=1, max_size=4).map(" ".join)
ROUND = st.tuples(SAID, SAID, st.lists(SAID, max_size=2))


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(ROUND, min_size=1, max_size=4), st.lists(SAID, min_size=4, max_size=4), SAID)
async def test_no_advisor_can_tell_what_others_said(
    sqlite_database: Database,
    rounds: list[tuple[str, str, list[str]]],
    others: list[str],
    query: str,
) -> None:
    """With any answers of others, or with none: the same items, the same scores."""
    found = []
    silence: list[list[str]] = [[] for _ in rounds]
    for noise in ([said for _, _, said in rounds], [others[:2]] * len(rounds), silence):
        messages = []
        for (question, answer, _), said in zip(rounds, noise, strict=True):
            messages.append(Message("user", question, START))
            messages += [
                Message("assistant", text, START, f"other{n}") for n, text in enumerate(said)
            ]
            messages.append(Message("assistant", answer, START, "me"))
        partition = Partition("app", new_id())
        await tell(sqlite_database, "s", messages, partition=partition)
        items = await ask(
            sqlite_database, query, partition=partition, reader=Reader(advisor_id="me"), limit=100
        )
        found.append([(item.text, item.relevance, item.evidence[0].role) for item in items])

    assert found[0] == found[1] == found[2]


@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.tuples(st.integers(0, 3), SAID), min_size=1, max_size=8), SAID)
async def test_no_memory_can_tell_what_is_in_another(
    sqlite_database: Database, said: list[tuple[int, str]], query: str
) -> None:
    names = [new_id(), new_id()]
    rooms = [(Scope(user), Partition("app", part)) for user in names for part in names]
    alone = (Scope(new_id()), Partition("app", "alone"))
    for n, (room, text) in enumerate(said):
        scope, partition = rooms[room]
        await tell(sqlite_database, f"s{n}", talk(text), scope=scope, partition=partition)
        if room == 0:
            scope, partition = alone
            await tell(sqlite_database, f"s{n}", talk(text), scope=scope, partition=partition)

    async def found(scope: Scope, partition: Partition) -> list[Item]:
        return await ask(sqlite_database, query, scope=scope, partition=partition, limit=100)

    assert await found(*rooms[0]) == await found(*alone)


async def test_partitions_and_users_do_not_meet(database: Database) -> None:
    await tell(database, "s", talk("The boat is mine."))
    await tell(database, "s", talk("The boat is theirs."), partition=THERE)
    await tell(database, "s", talk("The boat is yours."), scope=YOU)

    assert await texts(database, "boat") == ["The boat is mine."]
    assert await texts(database, "boat", partition=THERE) == ["The boat is theirs."]
    assert await texts(database, "boat", scope=YOU) == ["The boat is yours."]
    assert await texts(database, "boat", partition=THERE, scope=YOU) == []
    assert Partition("a", 'b", "c').key != Partition('a", "b', "c").key


def note(tx: Tx, partition: Partition, ids: Sequence[str], as_of: int | None) -> dict[str, Item]:
    """A source of claims: its texts are its ids."""
    return {name: Item(name, name, 0.0, "note") for name in ids if name != "gone"}


def claim(text: str, at: int = START, **more: Any) -> Claim:
    return Claim("note", text, at, tuple(words_of(text)), **more)


async def test_claims_beside_episodes(database: Database) -> None:
    await fill(database)
    await tell(database, "s", talk("We painted the boat green.", "Nice."))
    old = claim("the boat is blue", retired_at=START + 5 * DAY)
    known = [old, claim("the boat is green"), claim("boat of the skeptic", advisor_id="skeptic")]
    await database.write(
        lambda tx: claims.put(tx, HERE, [*known, replace(known[0], id="gone", kind="note")]), ME
    )

    async def found(**options: Any) -> set[str]:
        items = await ask(database, "boat", sources={"note": note}, **options)
        return {item.text for item in items if item.source == "note"}

    assert await found() == {"the boat is green", "boat of the skeptic"}
    assert await found(reader=Reader()) == {"the boat is green"}
    assert await found(include_history=True, reader=Reader()) == {
        "the boat is green",
        "the boat is blue",
    }
    assert await found(as_of=START + DAY, reader=Reader()) == {
        "the boat is green",
        "the boat is blue",
    }
    assert await found(as_of=START - DAY) == set()
    assert {item.source for item in await ask(database, "boat")} == {"episode"}
    item = next(one for one in await ask(database, "green boat", sources={"note": note}))
    assert 0.6 <= item.relevance <= 1

    await database.write(lambda tx: claims.remove(tx, HERE, "note", ["the boat is green"]), ME)
    assert await found(reader=Reader()) == set()


async def test_a_second_opinion(database: Database) -> None:
    """What another way of searching found: the better of two opinions counts."""
    await fill(database)
    await tell(database, "s", talk("We painted the boat green.", "Nice.", "Then it sank."))
    await database.write(lambda tx: claims.put(tx, HERE, [claim("a vessel was lost")]), ME)

    def numbers(tx: Tx) -> dict[str, int]:
        rows = tx.all("SELECT text, doc FROM episodes UNION ALL SELECT id, -number FROM claims")
        return dict(rows)

    doc = await database.read(numbers, ME)
    sank, lost = doc["Then it sank."], doc["a vessel was lost"]
    options: dict[str, Any] = {"sources": {"note": note}, "limit": 3}

    found = await ask(database, "boat", **options, also={sank: 0.99, lost: 0.97, 5: 1.0})
    assert [(item.text, item.relevance) for item in found[:2]] == [
        ("Then it sank.", 0.99),
        ("a vessel was lost", 0.97),
    ]
    found = await ask(database, "boat", **options, also={doc["We painted the boat green."]: 0.1})
    assert found == await ask(database, "boat", **options)
    known = Exclude(sessions=frozenset({"s"}))
    found = await ask(database, "vessel", **options, also={sank: 0.99}, exclude=known)
    assert [item.text for item in found] == ["a vessel was lost"]
    foreign = await ask(database, "boat", partition=THERE, **options, also={sank: 0.99})
    assert foreign == []


@pytest.mark.slow
async def test_both_databases_give_the_same(tmp_path: Path, postgres_url: str) -> None:
    answers = []
    for url in (f"sqlite:///{tmp_path / 'one.db'}", postgres_url):
        database = await open_database(url, tmp_path)
        await fill(database)
        for n, update in enumerate(UPDATES):
            said = talk(update.older, REPLIES[n % 4], update.newer, at=START + n * DAY)
            await tell(database, f"s{n}", said)
        await tell(database, "cjk", talk("我明天去东京看朋友。", "今から寝ます", "Ünïcödé ça"))
        questions = [update.question for update in UPDATES] + ["东京", "寝ます", "unicode ÇA"]
        answers.append([await ask(database, question, limit=20) for question in questions])
        await database.close()

    assert answers[0] == answers[1]
    assert all(answers[0])


async def test_the_work_grows_with_what_matches(database: Database) -> None:
    """Neither more of other things nor other people's memories make it read more."""
    await fill(database, 2)
    await tell(database, "s", talk("Rosa keeps bees in Lisbon.", "How nice."))

    async def work(query: str) -> tuple[int, int]:
        def look(tx: Tx) -> tuple[int, int]:
            counted = Counted(tx)
            assert recall(counted, HERE, query, reference_time=NOW)
            return counted.statements, counted.rows

        return await database.read(look, ME)

    before = await work("Rosa's bees")
    for n in range(20):
        said = [f"Something else, number {n} of {m}." for m in range(20)]
        await tell(database, f"more{n}", talk(*said))
        await tell(database, f"more{n}", talk(*["Rosa and her bees"] * 20), partition=THERE)
    assert await work("Rosa's bees") == before

    for n in range(100):
        await tell(database, f"many{n}", talk(*["So many boats float"] * 40))
    for query in ("boats", "so many boats float", "many boats, and Rosa's bees"):
        statements, rows = await work(query)
        assert statements <= 10
        assert rows < AT_ONCE + 1_000, "so many occurrences, and the places that are read"


@pytest.mark.parametrize(
    "query", ['"', "'", "a AND OR NOT", "NEAR(x y)", "*", "\\", "%", "()", "words:x", "\0", "'; --"]
)
async def test_no_question_is_a_syntax_error(database: Database, query: str) -> None:
    await tell(database, "s", talk("Rosa keeps bees."))

    assert await texts(database, f"{query} bees {query}") == ["Rosa keeps bees."]
    await ask(database, query)
