"""Windows over threads: arithmetic checked against a plain second writing of the rules."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.context.world import World, advisor

from polyvox.context.recipe import BUILT_IN, Recipe, Window, changed
from polyvox.context.window import messages_in, select
from polyvox.thread import Own, Thread, ThreadTurn

AGENT = BUILT_IN["agent"]


def unit(depth: int, answers: int = 1, session: str | None = None) -> ThreadTurn:
    own = tuple(Own(f"a{depth}.{n}", f"answer {depth}.{n}") for n in range(answers))
    return ThreadTurn(f"t{depth}", f"m{depth}", depth, f"said {depth}", None, session, own)


def thread(shape: list[int], read: int | None = None) -> Thread:
    """A thread whose turns have these numbers of own answers, `read` back so many turns."""
    units = [unit(depth + 1, answers) for depth, answers in enumerate(shape)]
    split = max(0, len(units) - read) if read is not None else 0
    return Thread(
        advisor(1),
        unit(len(units) + 1, 0),
        tuple(units[split:]),
        unread=split,
        unread_messages=messages_in(units[:split]),
        head=tuple(units[: min(split, 3)]),
    )


def flat(units: list[ThreadTurn]) -> list[str]:
    return [name for u in units for name in (u.text, *(own.text for own in u.own))]


def bookends_by_hand(shape: list[int], window: Window) -> tuple[list[str], int]:
    """The rule as it is told: first messages, last messages, moved forward to a user message and
    never through the middle of a pair."""
    units = [unit(depth + 1, answers) for depth, answers in enumerate(shape)]
    everything = [*flat(units), f"said {len(units) + 1}"]
    if len(everything) <= window.max_messages:
        return everything, 0
    starts = [at for at, text in enumerate(everything) if text.startswith("said")]
    reserved = min(window.system_messages, window.max_messages - 1)
    recent = min(window.recent_messages, window.max_messages - reserved)
    begin = min(at for at in starts if at >= len(everything) - recent)
    end = max(at for at in [*starts, 0] if at <= max(0, reserved - 1) and at <= begin)
    kept = everything[:end] + everything[begin:]
    return kept, len(everything) - len(kept)


@given(
    st.lists(st.sampled_from([0, 1, 1, 1, 2, 4]), max_size=60),
    st.integers(1, 24),
    st.integers(1, 24),
    st.integers(0, 6),
)
def test_bookends_arithmetic(shape: list[int], most: int, recent: int, system: int) -> None:
    window = Window("bookends", most, recent, system)
    selected = select(replace(AGENT, window=window), thread(shape))
    kept, missing = bookends_by_hand(shape, window)
    assert [*flat(list(selected.units)), f"said {len(shape) + 1}"] == kept
    assert selected.missing == missing
    assert len(kept) <= most
    assert sum(entry.messages for entry in selected.omitted) == missing


@given(st.lists(st.sampled_from([0, 1, 1, 1, 2]), min_size=30, max_size=80))
def test_reading_only_the_newest_end_changes_nothing(shape: list[int]) -> None:
    whole, partly = select(AGENT, thread(shape)), select(AGENT, thread(shape, read=24))
    assert whole.missing == partly.missing
    assert flat(list(whole.units)) == flat(list(partly.units))
    assert whole.omitted == partly.omitted


def test_bookends_as_told() -> None:
    selected = select(AGENT, thread([1] * 15))
    names = flat(list(selected.units))
    assert names[:2] == ["said 1", "answer 1.0"]
    assert names[2] == "said 8"
    assert len(names) + 1 == 19  # 2 + 17 with the current one; the note makes it 20
    assert selected.missing == 12
    assert selected.head == 1
    (entry,) = selected.omitted
    assert (entry.reason, entry.turns, entry.first, entry.last) == ("window", 6, 2, 7)


def test_a_short_thread_is_whole_in_every_window() -> None:
    for kind in ("graceful", "bookends", "recent"):
        recipe = changed(BUILT_IN["council"], {"window": {"kind": kind}})
        selected = select(recipe, thread([1, 0, 1]))
        assert len(selected.units) == 3
        assert selected.missing == 0
        assert not selected.slides


@given(st.lists(st.sampled_from([0, 1, 1, 2, 9]), max_size=30))
def test_recent_takes_the_last_eight_messages_and_no_half_pair(shape: list[int]) -> None:
    recipe = changed(BUILT_IN["council"], {"window": {"kind": "recent"}})
    names = flat(list(select(recipe, thread(shape)).units))
    everything = flat([unit(depth + 1, n) for depth, n in enumerate(shape)])
    last = everything[-8:]
    while last and not last[0].startswith("said"):
        last = last[1:]
    assert names == last


@pytest.mark.parametrize("kind", ["graceful", "bookends", "recent"])
def test_scope_session_carries_nothing_over(kind: str) -> None:
    past = (unit(1, session="old"), unit(2, session="old"), unit(3, session="new"))
    now = unit(4, 0, session="new")
    recipe = changed(BUILT_IN["council"], {"window": {"kind": kind}, "scope": "session"})
    selected = select(recipe, Thread(advisor(1), now, past, head=past[:1]))
    assert flat(list(selected.units)) == ["said 3", "answer 3.0"]
    assert [(e.reason, e.turns, e.messages) for e in selected.omitted] == [("session", 2, 4)]


def test_recent_keeps_to_the_session_whatever_the_scope() -> None:
    recipe = Recipe("r", window=Window("recent"))
    past = (unit(1, session="old"), unit(2, session="new"))
    selected = select(recipe, Thread(advisor(1), unit(3, 0, session="new"), past))
    assert flat(list(selected.units)) == ["said 2", "answer 2.0"]


def test_graceful_lets_all_through() -> None:
    world = World()
    for _ in range(30):
        world.round()
    world.say("now")
    assert len(select(BUILT_IN["council"], world.thread()).units) == 30


def test_an_exchange_counts_what_it_adds() -> None:
    window = Window("bookends", max_messages=6, recent_messages=5, system_messages=1)
    now = unit(6, 2)
    selected = select(replace(AGENT, window=window), replace(thread([1] * 5), current=now, round=2))
    # current, two own answers and the others' words are four of the five
    assert flat(list(selected.units)) == []
    assert selected.missing == 10
