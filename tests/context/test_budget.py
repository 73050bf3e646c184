"""The budget: limits with their units, the order of giving up, the remembered cut."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.context.world import limits

from polyvox.context.budget import (
    Allowance,
    ContextLimit,
    Fit,
    Load,
    TooLong,
    allowance_for,
    estimate,
    fit,
    sane_ratio,
)
from polyvox.errors import ContextTooLong, Invalid
from polyvox.models.base import ModelFacts
from polyvox.values import Params


def kept(result: Fit | int) -> Fit:
    assert isinstance(result, Fit)
    return result


def test_estimate_rounds_up_per_message() -> None:
    assert [estimate(n) for n in (0, 1, 4, 5)] == [0, 1, 1, 2]


@pytest.mark.parametrize("text", ["150000 chars", "150000chars", " 150_000  chars "])
def test_limits_are_read_with_their_unit(text: str) -> None:
    assert ContextLimit.parse(text) == ContextLimit(150_000, "chars")


@pytest.mark.parametrize("text", ["", "150000", "0 tokens", "-5 chars", "ten tokens", "5 bytes"])
def test_a_limit_without_sense_is_refused(text: str) -> None:
    with pytest.raises(Invalid, match="is not a limit") as caught:
        ContextLimit.parse(text)
    assert "tokens" in caught.value.hint


def test_the_unit_decides_whether_the_ratio_counts() -> None:
    assert Allowance.of(ContextLimit(150_000, "chars"), None, 0, 2.0).tokens == 37_500
    assert Allowance.of(ContextLimit(10_000, "tokens"), None, 0, 2.0).tokens == 5_000


def test_the_models_window_less_the_answer_binds() -> None:
    facts, params = ModelFacts("m:n", 8_192), Params(max_tokens=1_024, reasoning=1_000)
    room = allowance_for(limits(), facts, params, ratio=1.0)
    assert (room.tokens, room.by_window) == (8_192 - 2_024, True)
    assert allowance_for(limits(), facts, params, ratio=2.0).tokens == (8_192 - 2_024) // 2
    assert not allowance_for(limits("4000 chars"), facts, params).by_window
    assert allowance_for(limits(), facts, Params(), context="80 chars").tokens == 20
    assert allowance_for(limits(), ModelFacts("m:n", 100), Params(max_tokens=500)).tokens == 0
    assert allowance_for(limits(), ModelFacts("m:n", 9_000, max_tokens=512), Params()).answer == 512


def test_everything_stays_while_it_fits() -> None:
    result = kept(fit(Load(10, 5, [20, 20, 20], reference=10), 85, 0.85))
    assert result == Fit(0, memory=True, reference=10, note=True)


def test_once_over_it_goes_to_the_low_water_mark() -> None:
    result = kept(fit(Load(10, 0, [10] * 10), 100, 0.85))
    assert result.start == 3


def test_the_order_of_giving_up() -> None:
    """One load, ever less room: oldest pairs, memory, the block's share, newest pair."""
    load = Load(fixed=10, memory=20, units=[5, 5, 30], reference=40)
    steps: list[tuple[int, bool, bool] | None] = []
    for room in range(110, 8, -1):
        result = fit(load, room, 1.0)
        state = None
        if isinstance(result, Fit):
            state = (result.start, result.memory, result.reference == 40)
        if not steps or steps[-1] != state:
            steps.append(state)
    assert steps == [
        (0, True, True),
        (1, True, True),
        (2, True, True),
        (0, False, True),
        (1, False, True),
        (2, False, True),
        (2, False, False),
        (3, False, False),
        None,
    ]


def test_a_long_reference_block_is_held_to_its_share() -> None:
    load = Load(fixed=400, memory=0, units=[100] * 8, reference=3_500, share=0.35)
    result = kept(fit(load, 2_000, 1.0))
    assert (result.start, result.reference) == (0, 560)
    result = kept(fit(load, 1_200, 1.0))
    assert (result.start, result.reference) == (3, 280)


def test_history_comes_back_when_the_others_were_brief_again() -> None:
    long = Load(fixed=100, memory=0, units=[50] * 20, reference=900, share=0.35)
    cut = kept(fit(long, 1_000, 0.85)).start
    brief = Load(fixed=100, memory=0, units=[50] * 20, reference=20, share=0.35)
    assert kept(fit(brief, 1_000, 0.85, cut)).start < cut
    assert kept(fit(brief, 1_000, 0.85, cut)).start == kept(fit(brief, 1_000, 0.85)).start


def test_without_a_reference_block_the_newest_pair_goes_before_memory() -> None:
    load = Load(fixed=10, memory=20, units=[5, 30])
    assert kept(fit(load, 60, 1.0)) == Fit(1, True, 0, True)
    assert kept(fit(load, 59, 1.0)) == Fit(2, True, 0, True)
    assert kept(fit(load, 29, 1.0)) == Fit(2, False, 0, True)


def test_the_newest_pair_is_not_given_up_for_the_low_water_mark() -> None:
    result = kept(fit(Load(10, 0, [50, 80]), 100, 0.5))
    assert result.start == 1


def test_a_remembered_cut_is_kept_while_it_fits() -> None:
    load = Load(10, 0, [10] * 10)
    assert kept(fit(load, 1000, 0.85, start=9)).start == 0  # far too much room: widened
    assert kept(fit(load, 90, 0.85, start=4)).start == 4
    assert kept(fit(load, 71, 0.85, start=4)).start == 4
    assert kept(fit(load, 69, 0.85, start=4)).start == 6


def test_a_wavering_ratio_does_not_move_the_cut_back_and_forth() -> None:
    start, moves, sizes = 0, 0, [10] * 40
    for turn in range(200):
        sizes.append(10)
        room = Allowance.of(ContextLimit(400, "tokens"), None, 0, 1.0 + 0.05 * (turn % 2)).tokens
        result = kept(fit(Load(10, 0, sizes), room, 0.85, start))
        assert result.start >= start
        moves += result.start != start
        start = result.start
    assert moves <= 200 // 4


def test_what_can_never_be_dropped_is_reported_with_its_size() -> None:
    assert fit(Load(fixed=50, memory=5, units=[5], reference=8), 49, 0.85) == 50


def test_the_message_says_how_much_is_over() -> None:
    error = TooLong(150, Allowance.of(ContextLimit(400, "chars"), None, 0, 1.0), 1.0)
    assert isinstance(error, ContextTooLong)
    assert (error.size, error.over, error.over_chars) == (150, 50, 200)
    assert "150 tokens; 100 fit" in error.message
    assert "200 characters" in error.message
    assert "limits.context (now '400 chars')" in error.hint
    assert error.failure.category == "context_too_long"
    assert error.status == 422
    window = TooLong(150, Allowance.of(ContextLimit(4_000, "chars"), 300, 200, 2.0), 2.0)
    assert "300 tokens; 100 fit" in window.message
    assert "larger window" in window.hint


LOADS = st.builds(
    Load,
    fixed=st.integers(0, 60),
    memory=st.integers(0, 30),
    units=st.lists(st.integers(1, 40), max_size=30),
    reference=st.integers(0, 200),
    share=st.floats(0.0, 1.0),
)


def sizes(load: Load, result: Fit) -> int:
    """The size of what stays, the block at the room it was given."""
    memory = load.memory if result.memory else 0
    return load.fixed + sum(load.units[result.start :]) + memory + result.reference


@given(LOADS, st.integers(1, 400), st.floats(0.2, 1.0), st.integers(0, 30))
def test_never_over_and_never_less_than_needed(
    load: Load, room: int, low: float, start: int
) -> None:
    count = len(load.units)
    result = fit(load, room, low, min(start, max(0, count - 1)))
    if not isinstance(result, Fit):
        assert load.fixed > room
        return
    assert sizes(load, result) <= room
    assert result.reference <= min(load.reference, load.share * (room - load.fixed))
    if load.memory and not result.memory:
        assert result.start >= count - 1
    if result.start == count and count:
        assert load.fixed + load.units[-1] > room or not load.reference


@given(LOADS, st.integers(1, 400), st.floats(0.2, 1.0))
def test_no_unit_that_fits_is_left_out(load: Load, room: int, low: float) -> None:
    result = fit(load, room, low)
    if isinstance(result, Fit) and result.start:
        older = load.units[result.start - 1]
        # Shares are fractions of a token; a block that gets less than one is charged all the same.
        assert sizes(load, result) + older > int(room * low) - 1


@given(LOADS, st.integers(1, 400), st.floats(0.2, 1.0), st.integers(0, 29))
def test_a_remembered_cut_wastes_at_most_a_tenth(
    load: Load, room: int, low: float, start: int
) -> None:
    result = fit(load, room, low, min(start, max(0, len(load.units) - 1)))
    if isinstance(result, Fit) and result.start:
        target = int(room * low) - load.fixed
        older = load.units[result.start - 1]
        used = sizes(load, result) - load.fixed
        assert used + older > target - 1 or used > target * 0.9 - 1


@given(LOADS, st.integers(1, 400), st.integers(0, 200), st.floats(0.8, 1.0), st.integers(0, 29))
def test_a_larger_limit_never_keeps_fewer_units(
    load: Load, room: int, more: int, low: float, start: int
) -> None:
    load = replace(load, memory=0, share=min(load.share, low))
    start = min(start, max(0, len(load.units) - 1))
    small, large = fit(load, room, low, start), fit(load, room + more, low, start)
    if isinstance(small, Fit):
        assert kept(large).start <= small.start


def test_ratios_that_make_no_sense_are_not_used() -> None:
    assert [sane_ratio(r) for r in (0, -1, float("nan"), float("inf"), 1000, 0.001, 1.5)] == [
        1.0,
        1.0,
        1.0,
        1.0,
        10.0,
        0.1,
        1.5,
    ]
