from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.memory.house import HERE, THERE, ask, talk, tell
from tests.memory.updates import REPLIES, UPDATES
from tests.session.remembered import FILLER

from polyvox.memory.rank import Question, Scale, Score, Text, asked_for
from polyvox.memory.tables.remembered import SUB_BITS
from polyvox.memory.values import Partition
from polyvox.memory.words import terms_of, words_of
from polyvox.store.database import Database

INJECTED = 0.6
KNOWN = {"anna": 9, "bicycl": 3, "red": 5}


def relevance(words: str, said: str, part: float = 1.0) -> float:
    """Of a text that scores so much of what the best one does, and says the same."""
    terms = terms_of(words)
    text = Text.of(2 << SUB_BITS, 0, " ".join(words_of(said)), False, asked_for(terms))
    question = Question(terms, (), 500, 12.0, KNOWN)
    return Scale(question, [Score(text, 4.0)]).relevance(Score(text, 4.0 * part))


@given(st.floats(min_value=0, max_value=1), st.floats(min_value=0, max_value=1))
def test_it_grows_with_the_score(one: float, other: float) -> None:
    low, high = sorted((one, other))
    words = "the red bicycle"

    assert 0 <= relevance(words, words, low) <= relevance(words, words, high) <= 1


def test_what_was_never_said_makes_it_unlikely() -> None:
    whole = relevance("a red bicycle", "my red bicycle")

    assert whole > INJECTED
    assert relevance("a red bicycle with golden spokes and brakes", "my red bicycle") < INJECTED


def test_a_name_nobody_heard_makes_it_unlikely() -> None:
    anna, otto = "the bicycle of Anna", "the bicycle of Otto"

    assert relevance(anna, "her bicycle") > relevance(otto, "her bicycle")
    assert relevance(otto.lower(), "her bicycle") > relevance(otto, "her bicycle")


def test_nothing_asked() -> None:
    assert relevance("what is it", "what is it") < 0.1


async def test_questions_to_the_right_and_to_the_wrong_memory(database: Database) -> None:
    """Every other update is remembered here, the rest there."""
    for n, update in enumerate(UPDATES):
        said = talk(update.older, REPLIES[n % 4], update.newer, REPLIES[(n + 1) % 4])
        await tell(database, f"s{n}", said, partition=THERE if n % 2 else HERE)

    right = wrong = 0
    for n, update in enumerate(UPDATES):
        for partition in (HERE, THERE):
            found = await ask(database, update.question, partition=partition)
            injected = bool(found) and found[0].relevance >= INJECTED
            if partition == (THERE if n % 2 else HERE):
                right += injected
            else:
                wrong += injected

    assert right >= 0.8 * len(UPDATES)
    assert wrong <= 0.1 * len(UPDATES)


EARLY = [
    (
        "My daughter Lena starts school in September.",
        "When does Lena start school?",
        "Lena's shoes",
    ),
    ("My dog is called Rex.", "What is my dog called?", "What is my cat called?"),
    ("I am allergic to peanuts.", "What am I allergic to?", "Which medicine do I take?"),
    ("My sister Ilse lives in Bergen.", "Where does my sister Ilse live?", "Where does Otto work?"),
    ("My boss is Hanna, and she wants the report.", "Who is my boss?", "Who is my landlord?"),
    ("We bought a house near the lake.", "Where did we buy the house?", "What did the car cost?"),
]
"""Something said, a question that it answers, and one that it does not."""


@pytest.mark.parametrize("more", [0, 1, 4, 12])
async def test_the_first_things_that_were_said_are_found(database: Database, more: int) -> None:
    """A memory that is days old knows no word as a common one."""
    for number, (said, asked, other) in enumerate(EARLY):
        place = Partition("early", f"{number} {more}")
        await tell(database, "s", talk(said, REPLIES[0], *FILLER[:more]), partition=place)
        best = (await ask(database, asked, partition=place))[0]
        assert (best.text, best.relevance >= INJECTED) == (said, True), best
        assert all(one.relevance < INJECTED for one in await ask(database, other, partition=place))
