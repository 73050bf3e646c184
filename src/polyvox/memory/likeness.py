"""Which sightings are of the same loop, and what is said of whose end: by their words.

A loop goes by the words of its first sighting. Words are kept with where they stand, so that each
is compared with what shares one with it, and not with everything that was ever meant to be done.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

from polyvox.memory.tables.loops import Ended, Sighting

SAME = 0.6
"""Of the words of two loops, so many in common make them one; of those of a loop, so many in what
is said to be done make it the one that is done."""


@dataclass(slots=True)
class Group:
    """Every sighting of one loop, the oldest first."""

    words: frozenset[str]
    sightings: list[Sighting] = field(default_factory=list)

    @property
    def pinned(self) -> bool:
        """Whether the loop is pinned."""
        return any(one.pinned for one in self.sightings)

    @property
    def topics(self) -> frozenset[str]:
        """What it was called."""
        return frozenset(one.topic for one in self.sightings)


class Words:
    """Which words stand where, by number."""

    def __init__(self) -> None:
        self._at: dict[str, list[int]] = {}

    def put(self, words: Iterable[str], number: int) -> None:
        """These words stand at this number."""
        for word in words:
            self._at.setdefault(word, []).append(number)

    def shared(self, words: Iterable[str]) -> Counter[int]:
        """How many of these words stand at each number."""
        return Counter(chain.from_iterable(self._at.get(word, ()) for word in words))


def groups(sightings: Sequence[Sighting]) -> list[Group]:
    """The loops, in the order in which they were first spoken of; each sighting belongs to the
    first one that it is like."""
    found: list[Group] = []
    same: dict[frozenset[str], int] = {}
    where = Words()
    for one in sorted(sightings, key=lambda each: (each.said_at, each.index, each.id)):
        words = frozenset(one.topic.split())
        like = [
            number
            for number, both in where.shared(words).items()
            if both >= 2 and both / (len(words) + len(found[number].words) - both) >= SAME
        ]
        if words in same:
            like.append(same[words])
        if like:
            found[min(like)].sightings.append(one)
        else:
            same[words] = len(found)
            where.put(words, len(found))
            found.append(Group(words, [one]))
    return found


class Endings:
    """What was said, or marked by hand, of the end of loops."""

    def __init__(self, endings: Sequence[Ended]) -> None:
        self._all = endings
        self._by_topic: dict[str, list[Ended]] = {}
        self._where = Words()
        for number, one in enumerate(endings):
            if one.topic is not None:
                self._by_topic.setdefault(one.topic, []).append(one)
            else:
                self._where.put(set(one.words), number)

    def of(self, group: Group) -> Iterator[Ended]:
        """Those that mean this loop."""
        for topic in group.topics:
            yield from self._by_topic.get(topic, ())
        size = len(group.words)
        for number, both in self._where.shared(group.words).items():
            if both >= min(2, size) and both >= SAME * size:
                yield self._all[number]


def joined(sightings: Sequence[Sighting], ids: Collection[str]) -> list[str]:
    """Which of these sightings are of a loop that is pinned."""
    pinned = [group for group in groups(sightings) if group.pinned]
    return [one.id for group in pinned for one in group.sightings if one.id in ids]
