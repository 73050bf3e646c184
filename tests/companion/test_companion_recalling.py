"""What is looked for, and how it is told."""

from __future__ import annotations

import asyncio
from datetime import UTC, date, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.companion.lounge import Told
from tests.companion.readings import reading
from tests.companion.situations import ASKED, found, recalled

from polyvox.companion.gate import Gated
from polyvox.companion.recalling import Found, Librarian, compile_query, sheet, words_for
from polyvox.context.words import quoted
from polyvox.memory.packets import Entity, QueryReply, Recalled
from polyvox.memory.recall import Exclude, Reader
from polyvox.memory.remote import Got
from polyvox.memory.values import Evidence
from polyvox.values import Scope

NOW = round(datetime(2026, 11, 17, tzinfo=UTC).timestamp() * 1_000_000)


@pytest.mark.parametrize(
    ("message", "query"),
    [
        ("Do you remember where Rosalind keeps her bees?", "Rosalind remember bees"),
        ("What did we say about the roof last week?", "roof last week"),
        ("the dentist, and then Anna Weber called", "Anna Weber dentist called"),
        ("What did you tell me, Harbor?", ""),
        ("What do you know about me?", ""),
        ("Who am I?", ""),
        ("Où habite ma sœur ?", "habite sœur"),
        ("Wo wohnt meine Schwester Jana?", "Schwester Jana wohnt"),
        ("我姐姐住在哪里", "我姐姐住在哪里"),
        ("", ""),
        ("What was it yesterday?", "yesterday"),
        ("Didn't you say I'd go?", ""),
        ("Didn’t you say I’d go?", ""),
        ("You’re right, that’s what I’ve said", ""),
        ("Does He still like it?", ""),
        ("and HE said no to Them", ""),
        ("What did IT say about the laptop?", "laptop"),
        ("What about 42?", "42"),
        ("What about 9/11?", "9/11"),
        ("My dog’s vet", "dog vet"),
    ],
)
def test_names_come_first_then_topics_then_times(message: str, query: str) -> None:
    assert compile_query(message, NOW, "Harbor") == query


def test_a_sheet_has_three_facts_at_most_each_with_date_and_source() -> None:
    facts = [Found(f"fact {n}", date(2024, 5, n + 1), "they said") for n in range(5)]
    told = sheet("roof", facts, ["the roof: old"])
    assert told.startswith("[SUPPLEMENTAL_CONTEXT]\nLooked up: “roof”.")
    assert told.count("they said") == 3
    assert "- 3 May 2024, they said: “fact 2”" in told
    assert told.endswith("- about: “the roof: old”")
    assert sheet("roof", [], []) == ""
    assert "undated" in sheet("roof", [Found("x", None, "noted")], [])


@given(st.text())
def test_what_is_told_stays_on_its_line_and_in_its_marks(words: str) -> None:
    told = sheet(words, [Found(words, None, "they said", date(2024, 1, 2))], [words])
    assert len(told.splitlines()) == 4
    assert told.count("“") == told.count("”") == 3
    assert "[" not in told.removeprefix("[SUPPLEMENTAL_CONTEXT]")
    assert quoted(words).count("“") == 1


@pytest.mark.parametrize(
    "said",
    [
        "What would Ann’s sister say?",
        "What would Anna say?",
        "Ask the walnut orchard.",
        "Is Marie's orchard sold?",
    ],
)
def test_who_is_named_is_not_looked_for(said: str) -> None:
    people = ["Ann Marie", "Bob", ""]

    assert words_for(said, NOW, people) == [compile_query(said, NOW, one) for one in people]


MESSAGE = "Do you remember where Rosalind keeps her bees?"
ROSALIND = "My aunt Rosalind keeps bees in Porto."
GATED = Gated(reading(**ASKED), "lab:gate")


def librarian(memory: Told | None = None, **more: Any) -> Librarian:
    exclude = more.pop("exclude", Exclude())
    return Librarian(memory or Told(), Scope(), Reader(), exclude, NOW, UTC, "Harbor", 5, **more)


def fact(text: str, *quotes: str) -> Recalled:
    evidence = tuple(Evidence("s", n, "user", quote, NOW) for n, quote in enumerate(quotes))
    return Recalled(text, 0.9, "fact", evidence)


def test_names_alone_are_something_that_was_found() -> None:
    names = tuple(Entity(f"Rosalind {n}: their aunt") for n in range(5))
    got = librarian().sought("Rosalind", QueryReply((), names), None, explicit=True)
    assert (got.decision, got.found, got.entities) == ("found", 3, 3)
    assert got.text.count("- about: “Rosalind") == 3
    other = QueryReply((), (Entity("The bank: where they have an account"),))
    assert librarian().sought("Rosalind", other, None).decision == "nothing found"


def test_names_of_what_is_not_told_are_not_told_either() -> None:
    names = (Entity("Rosalind: named in 1 of the results"), Entity("Porto: named in 1"))
    reply = QueryReply((fact(ROSALIND),), names)
    told = librarian().sought("Rosalind bees", reply, None)
    assert (told.found, told.entities) == (1, 2)
    vetoed = librarian(vetoed=(ROSALIND,)).sought("Rosalind bees", reply, None, explicit=True)
    assert (vetoed.decision, vetoed.entities) == ("nothing found", 0)
    assert ROSALIND not in vetoed.text


@pytest.mark.parametrize(
    ("told", "one"),
    [
        (f"They said: “{ROSALIND}” – yesterday.", recalled(ROSALIND.upper())),
        ("“Rosalind’s bees” swarmed", fact("Has a swarm", "Rosalind's bees", "bees swarmed")),
    ],
)
def test_what_the_request_tells_is_not_told_again(told: str, one: Recalled) -> None:
    got = librarian(told=(told,)).sought("Rosalind", QueryReply((one,)), None, explicit=True)
    assert (got.decision, got.text) == ("told already", ""), "and nobody says it was not found"
    got = librarian(told=("Rosalind",)).sought("Rosalind", QueryReply((one,)), None)
    assert got.decision == "found"


def test_a_part_of_a_word_is_not_the_word() -> None:
    got = librarian(told=("The carpet is new.",)).sought("car", QueryReply((fact("A car"),)), None)
    assert got.decision == "found"


def test_the_question_itself_is_no_answer() -> None:
    asked = librarian(exclude=Exclude(texts=(MESSAGE,)), shown=MESSAGE)
    got = asked.sought("Rosalind", QueryReply((recalled(MESSAGE),)), None, explicit=True)
    assert got.decision == "nothing found"
    assert "Nothing was found" in got.text


async def test_when_the_time_is_up_nothing_more_is_looked_up() -> None:
    memory = Told(found=found(recalled(ROSALIND)))
    now = asyncio.get_running_loop().time()
    late = librarian(memory, until=now)
    got = await late.seek(MESSAGE, GATED)
    assert (got.decision, got.degrade) == ("unreachable", "query: timeout")
    assert await late.threads(MESSAGE) == ((), "query: timeout")
    assert not memory.lookups
    early = librarian(memory, until=now + 60)
    assert (await early.seek(MESSAGE, GATED)).decision == "found"
    assert await early.threads(MESSAGE) == ((ROSALIND,), None)


async def test_a_look_ends_with_the_time_of_its_turn() -> None:
    class Silent(Told):
        async def look_up(self, scope: Scope, wanted: Any) -> Got[QueryReply]:
            await asyncio.Event().wait()
            raise AssertionError

    until = asyncio.get_running_loop().time() + 0.05
    slow = Librarian(Silent(), Scope(), Reader(), Exclude(), NOW, UTC, "Harbor", 600, until=until)
    assert (await slow.seek(MESSAGE, GATED)).degrade == "query: timeout"
    assert (await slow.threads(MESSAGE))[1] == "query: timeout"
