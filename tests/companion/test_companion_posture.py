"""Posture changes when it is sure, asked for, or suggested twice; and rests after three hours."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.companion.readings import reading

from polyvox.companion.blocks import snippet
from polyvox.companion.gate import Gated, Reading
from polyvox.companion.posture import HOUR, Stance, last_question, settle, stance_after


def doubtful(posture: str = "REFLECTION") -> Reading:
    return reading(posture=posture, posture_confidence=0.5)


def test_a_doubtful_suggestion_is_held_and_the_second_one_taken() -> None:
    stance, why = settle(Stance(at=1), doubtful(), 2)
    assert (stance.posture, why) == ("COMPANION", "held")
    stance, why = settle(stance, doubtful(), 3)
    assert (stance.posture, why) == ("REFLECTION", "suggested twice")


def test_two_suggestions_that_differ_are_not_one_twice() -> None:
    stance, _ = settle(Stance(at=1), doubtful("REFLECTION"), 2)
    stance, why = settle(stance, doubtful("IDEATION"), 3)
    assert (stance.posture, why) == ("COMPANION", "held")
    stance, why = settle(stance, doubtful("REFLECTION"), 4)
    assert (stance.posture, why) == ("COMPANION", "held")


def test_it_changes_at_once_when_sure_or_asked_for() -> None:
    sure = reading(posture="MOMENTUM", posture_confidence=0.75)
    assert settle(Stance(at=1), sure, 2)[0].posture == "MOMENTUM"
    asked = reading(posture="MOMENTUM", posture_confidence=0.1, explicit_shift=True)
    stance, why = settle(Stance(at=1), asked, 2)
    assert (stance.posture, why) == ("MOMENTUM", "asked for")


def test_pressure_and_confidence_are_of_the_same_reading() -> None:
    rest, sure = Stance(at=1), Stance("RECOVERY", "MED", 0.9, "RECOVERY", 1)
    pressed = reading(posture="IDEATION", posture_confidence=0.72, pressure="HIGH")
    stance, why = settle(rest, pressed, 2)
    assert (why, stance.posture, stance.pressure, stance.confidence) == (
        *("held", "COMPANION", "HIGH", 0.72),
    )
    assert snippet(reading(), stance, ["the roof"], (), (), supplemental=False).text
    vague = reading(posture="IDEATION", posture_confidence=0.3, pressure="HIGH")
    stance, why = settle(sure, vague, 2)
    assert (why, stance.posture, stance.pressure, stance.confidence) == (
        *("held", "RECOVERY", "HIGH", 0.3),
    )
    assert not snippet(reading(), stance, ["the roof"], (), (), supplemental=False).text


def test_it_rests_after_three_hours_without_a_word() -> None:
    stance = Stance("MOMENTUM", "HIGH", 0.9, "MOMENTUM", at=HOUR)
    assert settle(stance, doubtful("MOMENTUM"), 4 * HOUR)[0].posture == "MOMENTUM"
    later, why = settle(stance, doubtful("MOMENTUM"), 4 * HOUR + 1)
    assert (later.posture, why) == ("COMPANION", "held")


def gated(risk: str = "", **more: Any) -> Gated:
    """A reading of a risk; without one its field could not be read."""
    unread = () if risk else ("risk",)
    return Gated(reading(**({"risk": risk} if risk else {}), **more), "lab:gate", unread=unread)


FAILED, NOBODY = Gated(model="lab:gate", degrade="timeout"), Gated()


@pytest.mark.parametrize(
    ("after", "risks"),
    [
        ([gated("LOW"), gated("LOW"), gated("LOW")], ["CRISIS", "LOW", "LOW"]),
        ([gated("LOW"), gated("MED")], ["CRISIS", "MED"]),
        ([gated("LOW"), gated("HIGH"), gated("LOW"), gated("LOW")], [*["CRISIS"] * 3, "LOW"]),
        ([gated("LOW"), gated("CRISIS"), gated("LOW"), gated("LOW")], [*["CRISIS"] * 3, "LOW"]),
        ([FAILED] * 4, ["CRISIS"] * 4),
        ([gated("LOW"), FAILED, gated("LOW")], ["CRISIS", "CRISIS", "LOW"]),
        ([gated(), gated(), gated()], ["CRISIS"] * 3),
        ([NOBODY, NOBODY], ["CRISIS"] * 2),
    ],
)
def test_a_crisis_ends_with_two_calm_readings_in_a_row(
    after: list[Gated], risks: list[str]
) -> None:
    stance, why = stance_after(Stance(at=1), gated("CRISIS", posture="PRACTICAL"), 2)
    assert (stance.posture, stance.risk, why) == ("RECOVERY", "CRISIS", "crisis")
    seen = []
    for at, one in enumerate(after, start=3):
        stance, why = stance_after(stance, one, at)
        seen.append(stance.risk)
        assert (stance.posture == "RECOVERY" and why == "crisis") or stance.risk != "CRISIS"
    assert seen == risks


def test_hours_end_no_crisis_but_a_hard_moment() -> None:
    crisis, _ = stance_after(Stance(at=1), gated("CRISIS"), 2)
    assert stance_after(crisis, FAILED, 9 * HOUR)[0].risk == "CRISIS"
    assert stance_after(crisis, gated("LOW"), 9 * HOUR)[0].risk == "CRISIS"
    assert stance_after(crisis, NOBODY, 9 * HOUR)[0].risk == "LOW", "nobody reads any more"
    hard, why = stance_after(Stance(at=1), gated("HIGH"), 2)
    assert (hard.posture, hard.risk, why) == ("RECOVERY", "HIGH", "hard moment")
    assert stance_after(hard, FAILED, 3)[0].risk == "HIGH"
    assert stance_after(hard, FAILED, 9 * HOUR)[0].risk == "LOW"
    assert stance_after(hard, NOBODY, 3)[0] == Stance(at=3)


def test_a_posture_that_could_not_be_read_is_held() -> None:
    unread = Gated(reading(posture_confidence=0.9), "lab:gate", unread=("posture",))
    stance, why = stance_after(Stance("IDEATION", at=1), unread, 2)
    assert (stance.posture, why) == ("IDEATION", "unchanged")


@given(st.lists(st.sampled_from(["REFLECTION", "IDEATION", "COMPANION"]), max_size=12))
def test_without_certainty_no_single_suggestion_moves_it(suggested: list[str]) -> None:
    stance, before = Stance(at=1), "COMPANION"
    for at, posture in enumerate(suggested, start=2):
        after, _ = settle(stance, doubtful(posture), at)
        if after.posture != stance.posture:
            assert posture == before
        stance, before = after, posture


def test_the_last_question() -> None:
    assert last_question("Well. Did you call? Good. And did you sleep?") == "And did you sleep?"
    assert last_question("Well done.") == last_question(None) == ""
    assert last_question("Good. Did you call Dr. Smith?") == "Did you call Dr. Smith?"
    assert last_question("好。你睡了吗？") == "你睡了吗？"
    assert last_question("See https://a.b/?x=1. Fine.") == ""
    assert last_question("Did you see https://a.b/?x=1 today?") == (
        "Did you see https://a.b/?x=1 today?"
    )
