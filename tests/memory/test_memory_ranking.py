from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from tests.memory.house import DAY, HERE, START

from polyvox.memory.index import BESIDE, STRETCH_BITS, Sight, ranges, worth_reading
from polyvox.memory.rank import (
    ASSISTANT,
    DAMPING,
    SATURATION,
    Question,
    Score,
    Text,
    asked_for,
    newest_first,
    rank,
)
from polyvox.memory.tables.remembered import SESSION_BITS, SUB_BITS
from polyvox.memory.tables.shelves import SHARED, Shelf, Stock
from polyvox.memory.times import Span
from polyvox.memory.transcript import MOST_MESSAGES
from polyvox.memory.words import Term, terms_of, words_of


def text(words: str, place: int, session: int = 1, at: int = START, pinned: bool = False) -> Text:
    return Text(session << SESSION_BITS | place << SUB_BITS, at, " ".join(words_of(words)), pinned)


def question(words: str, texts: list[Text], *spans: Span) -> Question:
    known: dict[str, int] = {}
    for one in texts:
        for word in set(one.terms.split()):
            known[word] = known.get(word, 0) + 1
    terms = terms_of(words)
    length = sum(one.length for one in texts) / len(texts)
    asked = {term.word: known[term.word] for term in terms if term.word in known}
    return Question(terms, spans, len(texts), length, asked)


def ranked(asked: Question, texts: list[Text]) -> list[Score]:
    words = asked_for(asked.terms)
    return rank(asked, [Text.of(one.doc, one.at, one.terms, one.pinned, words) for one in texts])


SHELF = Shelf(HERE.key, SHARED, "user", True)


def seeds(
    postings: Sequence[tuple[float, list[int]]], most: int, hidden: frozenset[int] = frozenset()
) -> tuple[list[int], list[int]]:
    """The best stretches and claims, for words of these weights that stand there."""
    words = [(f"w{n}", 1 << 30) for n, _ in enumerate(postings)]
    asked = Question((), (), 1000, 1.0, {})
    asked.__dict__["weights"] = {f"w{n}": weight for n, (weight, _) in enumerate(postings)}
    there = {f"w{n}": {SHELF: docs} for n, (_, docs) in enumerate(postings)}
    sight = Sight((Stock(SHELF, 1000, 1000),), hidden, most, {})
    return worth_reading(sight, asked, words, there)


def order(words: str, texts: list[Text], *spans: Span) -> list[int]:
    """The places of what was found, best first."""
    found = ranked(question(words, texts, *spans), texts)
    return [(score.text.doc & (1 << SESSION_BITS) - 1) >> SUB_BITS for score in found]


FILL = [text(f"weather number{n} today", 2 * n, session=9) for n in range(20)]


def test_a_rare_word_counts_more() -> None:
    texts = [text("the weather", 0), text("the zebra", 100), *FILL]

    assert order("weather zebra", texts)[0] == 100


def test_more_of_the_question_is_better() -> None:
    texts = [text("red bicycle", 0), text("red bicycle with a basket", 100), *FILL]

    assert order("bicycle basket", texts) == [100, 0]


def test_a_long_text_counts_less_for_the_same_word() -> None:
    texts = [text("basket " + "other words in here " * 20, 0), text("basket", 100), *FILL]

    assert order("basket", texts)[:2] == [100, 0]


def test_what_is_said_beside_it_counts_less_the_further_it_is() -> None:
    texts = [text("zebra", 10), *(text("so it goes", n) for n in (2, 6, 8, 9, 11, 12)), *FILL]

    found = order("zebra", texts)

    assert found[0] == 10
    assert set(found[1:3]) == {8, 12}, "the person's own come before the answers between"
    assert set(found[3:5]) == {9, 11}
    assert found[5:] == [6]
    assert 2 not in found, "eight places away is out of reach"


def test_neighbours_do_not_reach_into_other_sessions() -> None:
    last_of_the_longest = text("so it goes", 2 * MOST_MESSAGES, session=0)

    assert order("zebra", [text("zebra", 0, session=1), last_of_the_longest, *FILL]) == [0]


def test_an_answer_beside_its_question_beats_a_stray_word() -> None:
    texts = [
        text("Where did you buy the red bicycle?", 0),
        text("At the flea market, for twenty.", 1),
        text("The bicycle again.", 200),
        *FILL,
    ]

    assert order("Where was the red bicycle bought?", texts)[:2] == [0, 1]


def test_who_speaks() -> None:
    texts = [text("Anna: the zebra of Bert", 0), text("Bert: the zebra of Anna", 100), *FILL]

    assert order("What did Bert say of the zebra?", texts)[0] == 100
    assert order("What did Anna say of the zebra?", texts)[0] == 0


def test_the_time_that_is_asked_for() -> None:
    texts = [text("zebra", 0, at=START), text("zebra", 100, at=START + 90 * DAY), *FILL]

    assert order("zebra", texts) == [100, 0], "else the newest"
    assert order("zebra", texts, Span(START - DAY, START)) == [0, 100], "told soon after"
    assert order("zebra", texts, Span(START - 60 * DAY, START - 50 * DAY)) == [100, 0]


def test_what_is_pinned_gets_a_nudge() -> None:
    texts = [text("zebra", 0, pinned=True), text("zebra", 100, at=START + DAY), *FILL]

    assert order("zebra", texts) == [0, 100]


def test_a_word_in_every_text_says_nothing_about_neighbours() -> None:
    texts = [text(f"Anna number{n}", 2 * n, session=n) for n in range(30)]
    texts.append(text("so it goes", 1, session=3))

    assert 1 not in order("Anna", texts)


def test_nothing_asked_nothing_found() -> None:
    assert order("what is it", FILL) == []
    assert order("zebra", FILL) == []


def risen(*scores: tuple[float, int, str], pinned: int | None = None) -> list[str]:
    """(value, day, words) each, best first; the words after the newer have risen."""
    asked = Question((Term("a"), Term("b"), Term("c")), (), 10, 1.0, {"a": 1, "b": 1, "c": 1})
    given = [
        Score(Text.of(n, day, " ".join(words), n == pinned, asked_for(asked.terms)), value)
        for n, (value, day, words) in enumerate(scores)
    ]
    return [
        score.text.terms.replace("   ", "_").replace(" ", "").replace("_", " ")
        for score in newest_first(asked, given)
    ]


def test_the_newer_statement_of_the_same_thing_stands_above() -> None:
    assert risen((9, 1, "ab old"), (8, 2, "ab new")) == ["ab new", "ab old"]
    assert risen((9, 2, "ab new"), (8, 1, "ab old")) == ["ab new", "ab old"]
    assert risen((9, 1, "ab old"), (8, 2, "c new")) == ["ab old", "c new"]
    assert risen((9, 1, "ab old"), (4, 2, "ab new")) == ["ab old", "ab new"], "hardly an answer"
    assert risen((9, 1, "abc old"), (8, 2, "a new")) == ["abc old", "a new"], "another thing"
    assert risen((9, 1, "ab old"), (8, 2, "ab new"), pinned=0) == ["ab old", "ab new"]
    assert risen((9, 1, "a x"), (8, 2, "a y"), (7, 3, "a z")) == ["a z", "a y", "a x"]


def test_nothing_rises_out_of_its_ten() -> None:
    rows = [(9.0, 20 - n, f"a {n}") for n in range(10)]

    assert risen(*rows, (8.9, 99, "a l"))[10] == "a l"


def test_values_fall_with_the_order() -> None:
    texts = [text(f"zebra number{n}", 20 * n, at=START + (n * 7 % 5) * DAY) for n in range(9)]
    asked = question("zebra number3", [*texts, *FILL])

    values = [score.value for score in newest_first(asked, ranked(asked, [*texts, *FILL]))]

    assert values == sorted(values, reverse=True)


@given(
    st.lists(
        st.lists(st.integers(min_value=0, max_value=1 << 30), min_size=1, max_size=30),
        min_size=1,
        max_size=4,
    )
)
def test_whatever_matches_is_read_when_there_is_room(postings: list[list[int]]) -> None:
    stretches, claims = seeds([(1.0, docs) for docs in postings], 10_000)
    near = {one: [0] for stretch in stretches for one in (stretch - 1, stretch, stretch + 1)}
    spans = [(low, high) for low, high, _ in ranges(near, {})]

    assert claims == []
    assert spans == sorted(spans)
    assert all(a[1] < b[0] for a, b in pairwise(spans)), "none overlap"
    reach = 4 << SUB_BITS
    for docs in postings:
        for doc in docs:
            assert any(low <= doc - reach and doc + reach <= high for low, high in spans)


def test_the_best_stretches_come_first() -> None:
    stretch = 1 << STRETCH_BITS
    rare, both = [5 * stretch], [5 * stretch, 90 * stretch, -7, -8]

    assert seeds([(3.0, rare), (1.0, both)], 1) == ([5], [-7])


@given(
    st.lists(
        st.tuples(
            st.sampled_from([0.25, 0.5, 1.0, 3.0, 6.1]),
            st.lists(st.integers(min_value=-6, max_value=40), max_size=25, unique=True),
        ),
        min_size=1,
        max_size=5,
    ),
    st.integers(min_value=1, max_value=9),
)
def test_the_best_stretches_are_read(told: list[tuple[float, list[int]]], most: int) -> None:
    size = 1 << STRETCH_BITS
    at: dict[int, float] = {}
    for weight, docs in told:
        for doc in docs:
            at[doc] = at.get(doc, 0.0) + weight
    here = {place: amount for place, amount in at.items() if place >= 0}
    value = {
        place: round(here[place] + BESIDE * (here.get(place - 1, 0) + here.get(place + 1, 0)), 9)
        for place in here
    }
    best = sorted(here, key=lambda place: (-value[place], -place))[:most]
    notes = sorted((doc for doc in at if doc < 0), key=lambda d: (-round(at[d], 9), -d))[:most]

    found = seeds(
        [(w, [doc * size if doc >= 0 else doc for doc in docs]) for w, docs in told], most
    )

    assert found == (best, notes)


def test_a_hidden_session_is_not_where_it_is_worth_reading() -> None:
    there = [(1.0, [1 << SESSION_BITS, 2 << SESSION_BITS, -4])]

    assert seeds(there, 5, frozenset({2})) == ([1 << SESSION_BITS >> STRETCH_BITS], [-4])


def test_what_stands_near_counts_less_the_further_away_it_is() -> None:
    """By the definition: a word one place away counts half, two places away three tenths, and so
    on; one that somebody said at the same place counts half."""
    words = "cello practice"
    texts = [
        text("cello practice", 10), text("nothing here", 11), text("nothing there", 12),
        text("nothing more", 13), text("nothing else", 14), text("nothing at all", 15),
        text("hello nobody", 8), *FILL,
    ]  # fmt: skip
    texts.append(texts[0]._replace(doc=texts[0].doc + 1, terms="silent answer"))
    asked = question(words, texts)
    found = {score.text.doc: score for score in ranked(asked, texts)}
    (first,) = [score for score in found.values() if score.text.counts]
    size = 1 - DAMPING + DAMPING * first.text.length / asked.length
    own = dict.fromkeys(first.text.counts, (SATURATION + 1) / (1 + SATURATION * size))
    weights = asked.weights

    def worth(part: float) -> float:
        near = {word: part * amount for word, amount in own.items()}
        return sum(weights[word] * x / (x + 1) for word, x in near.items())

    base = texts[0].doc
    places = {0: 1.0, 1: 0.5, 2: 0.3, 3: 0.15, 4: 0.1, -2: 0.3}
    expected = {
        base + step * (1 << SUB_BITS): worth(part) * (ASSISTANT if step % 2 else 1.0)
        for step, part in places.items()
    }
    expected[base + 1] = worth(0.5)
    assert {doc: round(value, 6) for doc, value in expected.items()} == {
        doc: round(score.value, 6) for doc, score in found.items()
    }


@given(
    st.lists(st.sampled_from(["a", "aa", "b", "ba", "@a"]), max_size=12),
    st.lists(st.sampled_from(["a", "aa", "b", "c"]), unique=True),
)
def test_words_are_counted_whole(terms: list[str], asked: list[str]) -> None:
    made = Text.of(1, START, " ".join(terms), False, asked_for(map(Term, asked)))

    assert made.counts == {word: terms.count(word) for word in asked if word in terms}
    assert made.length == len(terms)
