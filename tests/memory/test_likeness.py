"""Which sightings are one loop, and whose end is meant: as defined, however many there are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyvox.memory import likeness
from polyvox.memory.likeness import SAME, Endings, Group, groups
from polyvox.memory.tables.loops import Ended, Sighting

WORDS = st.lists(st.sampled_from("abcdefg"), min_size=1, max_size=5, unique=True)


def sighting(number: int, words: list[str]) -> Sighting:
    return Sighting(
        f"s{number}",
        " ".join(sorted(words)),
        "commitment",
        "",
        number,
        "today",
        None,
        "general",
        1,
        1,
        (),
        1.0,
        f"session {number}",
        0,
        "",
    )


def by_definition(sightings: list[Sighting]) -> list[list[str]]:
    """Each compared with each."""
    found: list[tuple[set[str], list[str]]] = []
    for one in sightings:
        words = set(one.topic.split())
        for first, ids in found:
            both = len(words & first)
            if words == first or (both >= 2 and both / len(words | first) >= SAME):
                ids.append(one.id)
                break
        else:
            found.append((words, [one.id]))
    return [ids for _, ids in found]


@given(st.lists(WORDS, max_size=25))
def test_each_belongs_to_the_first_that_it_is_like(topics: list[list[str]]) -> None:
    sightings = [sighting(number, words) for number, words in enumerate(topics)]

    found = groups(sightings[::-1])

    assert [[one.id for one in group.sightings] for group in found] == by_definition(sightings)


@given(WORDS, st.lists(st.tuples(st.booleans(), WORDS), max_size=25))
def test_an_end_means_whom_it_names_or_whose_words_it_has(
    words: list[str], told: list[tuple[bool, list[str]]]
) -> None:
    endings = [
        Ended(f"e{n}", "done", " ".join(sorted(said)) if named else None, tuple(said), n)
        for n, (named, said) in enumerate(told)
    ]
    group = Group(frozenset(words), [sighting(0, words)])
    expected = set()
    for one, (named, said) in zip(endings, told, strict=True):
        both = len(set(words) & set(said))
        if named:
            meant = set(words) == set(said)
        else:
            meant = both >= min(2, len(words)) and both >= SAME * len(words)
        if meant:
            expected.add(one.id)

    assert {one.id for one in Endings(endings).of(group)} == expected


def test_it_is_compared_with_what_shares_a_word_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compared: list[int] = []
    shared = likeness.Words.shared

    def counted(words: likeness.Words, some: Iterable[str]) -> Counter[int]:
        found = shared(words, some)
        compared.append(len(found))
        return found

    monkeypatch.setattr(likeness.Words, "shared", counted)
    many = [sighting(n, [f"a{n}", f"b{n // 10}"]) for n in range(1_000)]

    assert len(groups(many)) == 1_000
    assert len(compared) == 1_000
    assert max(compared) == 9
