"""Facts as they are stored, found, corrected and told, on both databases."""

from __future__ import annotations

import random
from itertools import islice
from typing import Any

import pytest
from tests.memory.house import Counted

from polyvox.errors import NotFound
from polyvox.memory import facts
from polyvox.memory.recall import Reader, recall
from polyvox.memory.statements import id_of
from polyvox.memory.tables import facts as rows
from polyvox.memory.tables.facts import Fact
from polyvox.memory.times import date_of
from polyvox.memory.values import Item, Partition
from polyvox.store.database import Database, Tx
from polyvox.values import Scope

ME, PART = Scope("anna"), Partition("polyvox", "anna")
DAY = 86_400_000_000
MAY_10_2024 = 1_715_299_200_000_000
SOURCES = {"fact": facts.tell}


def fact(
    text: str, at: int, attribute: str = "home", owner: str | None = None, **more: object
) -> Fact:
    given: dict[str, object] = {
        "session_id": f"s{at}",
        "index": 0,
        "role": "user",
        "quote": text,
        "advisor_id": owner,
        **more,
    }
    return Fact(
        id_of("test", at, text, owner),
        facts.line_of("I", attribute, text, owner),
        "I",
        attribute,
        text,
        at,
        **given,  # type: ignore[arg-type]  # spelt by tests
    )


LISBON, PORTO, FARO = (
    fact("I live in Lisbon", 10 * DAY),
    fact("I live in Porto", 20 * DAY),
    fact("I live in Faro", 30 * DAY),
)


async def put(database: Database, *given: Fact) -> None:
    await database.write(lambda tx: facts.remember(tx, PART, given), ME)


async def ask(database: Database, question: str, **more: object) -> list[Item]:
    def read(tx: Tx) -> list[Item]:
        return recall(tx, PART, question, reference_time=99 * DAY, sources=SOURCES, **more)  # type: ignore[arg-type]  # spelt by tests

    return await database.read(read, ME)


async def test_the_newest_is_told_and_the_past_on_request(database: Database) -> None:
    await put(database, PORTO, LISBON)
    assert [item.text for item in await ask(database, "where do I live?")] == ["I live in Porto"]
    (then,) = await ask(database, "where do I live?", as_of=15 * DAY)
    assert (then.text, then.status, then.valid_to) == ("I live in Lisbon", "current", None)
    both = await ask(database, "where do I live?", include_history=True)
    assert [(item.text, item.status) for item in both] == [
        ("I live in Porto", "current"),
        ("I live in Lisbon", "superseded"),
    ]
    assert both[1].valid_to == 20 * DAY
    (where,) = both[0].evidence
    assert (where.session_id, where.index, where.role, where.quote, where.said_at) == (
        f"s{20 * DAY}", 0, "user", "I live in Porto", 20 * DAY,
    )  # fmt: skip


async def test_any_order_and_any_repetition_give_the_same_view(database: Database) -> None:
    def view(tx: Tx, part: Partition) -> tuple[list[object], list[Item]]:
        every = facts.known(tx, part, include_history=True)
        items = recall(
            tx, part, "live home", reference_time=99 * DAY, sources=SOURCES,
            include_history=True, limit=100)  # fmt: skip
        return [(one.fact, one.valid_from, one.valid_to) for one in every], items

    chance = random.Random(4)
    given = [LISBON, PORTO, FARO, fact("Maybe Evora", 40 * DAY, source="inferred")]
    views = []
    for number in range(5):
        part = Partition("p", str(number))
        order = [*given, *given]
        chance.shuffle(order)
        for one in order:
            await database.write(
                lambda tx, one=one, part=part: facts.remember(tx, part, [one]),  # type: ignore[misc]  # mypy infers no lambda with a default
                ME,
            )
        views.append(await database.read(lambda tx, part=part: view(tx, part), ME))  # type: ignore[misc]  # as above
    assert all(each == views[0] for each in views)
    assert len(views[0][0]) == 4


async def test_a_late_older_statement_retires_nothing(database: Database) -> None:
    await put(database, FARO)
    await put(database, LISBON)
    assert [item.text for item in await ask(database, "where do I live?")] == ["I live in Faro"]


async def test_what_is_an_advisors_own_is_told_to_it_alone(database: Database) -> None:
    private = fact("I live in a castle", 50 * DAY, owner="a")
    await put(database, PORTO, private)
    shared = await ask(database, "where do I live?", reader=Reader())
    assert [item.text for item in shared] == ["I live in Porto"], "not superseded by it, either"
    own = await ask(database, "where do I live?", reader=Reader("a"))
    assert {item.text for item in own} == {"I live in Porto", "I live in a castle"}


async def test_what_must_not_go_to_a_cloud_model_does_not(database: Database) -> None:
    await put(database, fact("I live in Porto", 20 * DAY, cloud=False))
    assert await ask(database, "where do I live?", reader=Reader(everything=True, cloud=True)) == []
    assert len(await ask(database, "where do I live?")) == 1


async def test_a_correction_stands_in_its_place(database: Database) -> None:
    await put(database, PORTO)
    made = await database.write(
        lambda tx: facts.correct(tx, PART, PORTO.id, "I live in Braga", 5 * DAY), ME
    )
    assert made.fact.source == "manual"
    assert made.evidence == ()
    assert made.fact.said_at > PORTO.said_at, (
        "it holds against what it corrects, whatever the clock"
    )
    assert [item.text for item in await ask(database, "where do I live?")] == ["I live in Braga"]
    one, others = await database.read(lambda tx: facts.find(tx, PART, PORTO.id), ME)
    assert (one.status, one.valid_to) == ("superseded", made.fact.said_at)
    assert [each.fact.id for each in others] == [made.fact.id]
    await put(database, FARO)
    assert [item.text for item in await ask(database, "where do I live?")] == ["I live in Faro"]


async def test_a_fact_without_an_attribute_is_corrected_too(database: Database) -> None:
    heron = fact("I saw a heron", DAY, attribute="")
    await put(database, heron)
    await database.write(lambda tx: facts.correct(tx, PART, heron.id, "I saw a stork", 2 * DAY), ME)
    found = await database.read(lambda tx: facts.known(tx, PART), ME)
    assert [one.fact.text for one in found] == ["I saw a stork"]


async def test_excluded_facts_are_shown_but_not_recalled(database: Database) -> None:
    await put(database, LISBON, PORTO)
    await database.write(lambda tx: facts.mark(tx, PART, PORTO.id, excluded=True), ME)
    assert await ask(database, "where do I live?") == [], "nor does what it superseded come back"
    found = await database.read(lambda tx: facts.known(tx, PART), ME)
    assert [(one.fact.text, one.fact.excluded) for one in found] == [("I live in Porto", True)]
    await database.write(lambda tx: facts.mark(tx, PART, PORTO.id, excluded=False), ME)
    assert len(await ask(database, "where do I live?")) == 1


async def test_what_is_corrected_stays_excluded(database: Database) -> None:
    await put(database, LISBON)

    def change(tx: Tx) -> None:
        facts.mark(tx, PART, LISBON.id, excluded=True, pinned=True)
        fixed = facts.correct(tx, PART, LISBON.id, "I live in Evora", 20 * DAY)
        assert (fixed.fact.excluded, fixed.fact.pinned) == (True, True)

    await database.write(change, ME)
    assert await ask(database, "where do I live?") == []


async def test_a_statement_leaves_the_others_of_its_line_where_they_are(database: Database) -> None:
    """What was made of their words (vectors cost money) is not made anew."""
    await put(database, LISBON)

    def places(tx: Tx) -> dict[str, int]:
        return dict(tx.all("SELECT id, number FROM claims"))

    before = await database.read(places, ME)
    await put(database, PORTO)
    await database.write(lambda tx: facts.mark(tx, PART, LISBON.id, pinned=True), ME)
    after = await database.read(places, ME)
    assert after[LISBON.id] == before[LISBON.id]
    assert set(after) == {LISBON.id, PORTO.id}
    kept = await database.read(
        lambda tx: tx.one("SELECT retired_at, pinned FROM claims WHERE id = ?", (LISBON.id,)), ME
    )
    assert kept == (PORTO.said_at, 1)


async def test_pinned_facts_come_first(database: Database) -> None:
    tea = fact("I like green tea", DAY, attribute="drink")
    await put(database, tea, PORTO)
    await database.write(lambda tx: facts.mark(tx, PART, tea.id, pinned=True), ME)
    found = await database.read(lambda tx: facts.known(tx, PART), ME)
    assert [one.fact.text for one in found] == ["I like green tea", "I live in Porto"]


async def test_what_is_removed_is_gone_and_what_it_superseded_holds_again(
    database: Database,
) -> None:
    await put(database, LISBON, PORTO)
    await database.write(lambda tx: facts.remove(tx, PART, [PORTO.id]), ME)
    assert [item.text for item in await ask(database, "where do I live?")] == ["I live in Lisbon"]
    with pytest.raises(NotFound):
        await database.read(lambda tx: rows.get(tx, PART, PORTO.id), ME)


async def test_no_verb_crosses_a_partition(database: Database) -> None:
    await put(database, PORTO)
    for scope, part in ((ME, Partition("polyvox", "other")), (Scope("bert"), PART)):
        assert await database.read(lambda tx, p=part: facts.known(tx, p), scope) == []  # type: ignore[misc]  # mypy infers no lambda with a default
        with pytest.raises(NotFound):
            await database.write(
                lambda tx, p=part: facts.mark(tx, p, PORTO.id, pinned=True),  # type: ignore[misc]  # as above
                scope,
            )
        await database.write(lambda tx, p=part: facts.remove(tx, p, [PORTO.id]), scope)  # type: ignore[misc]  # as above
    assert len(await ask(database, "where do I live?")) == 1


@pytest.mark.parametrize(
    ("words", "day", "precision"),
    [
        ("in May 2023 we married", "2023-05-01", "month"),
        ("we met yesterday", "2024-05-09", "day"),
        ("that was last week", "2024-04-29", "week"),
        ("back in 2019", "2019-01-01", "year"),
        ("the exam is tomorrow", "2024-05-11", "day"),
        ("I see her next week", "2024-05-13", "day"),
    ],
)
def test_relative_times_are_resolved_when_they_were_said(
    words: str, day: str, precision: str
) -> None:
    found = facts.about(words, MAY_10_2024)
    assert found is not None
    assert (date_of(found[0].start).isoformat(), found[1]) == (day, precision)


def test_most_words_name_no_time() -> None:
    assert facts.about("I like green tea", MAY_10_2024) is None


async def test_the_newest_are_told_like_all_of_them_and_only_those_are_read(
    database: Database,
) -> None:
    given = []
    for number in range(400):
        marks: dict[str, Any] = {"pinned": number % 50 == 0, "excluded": number % 7 == 0}
        name, ended = f"a{number % 300}", number % 11 == 0
        given.append(fact(f"Fact {number}.", number * 10, name, retracts=ended, **marks))
    await put(database, *given)

    def told(tx: Tx) -> None:
        for as_of in (5_000, 2_005, 95, -1):
            every = [one for one in facts.known(tx, PART, as_of=as_of) if not one.fact.excluded]
            assert list(facts.newest(tx, PART, as_of)) == every, as_of
        counted = Counted(tx)
        pinned = sum(one.fact.pinned for one in facts.newest(tx, PART, 5_000))
        assert pinned
        list(islice(facts.newest(counted, PART, 5_000), pinned + 8))
        assert counted.rows < 150

    await database.read(told, ME)
