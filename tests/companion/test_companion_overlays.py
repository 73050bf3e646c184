"""Overlays: precedence, caps, and a reason for everything."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.companion.readings import reading

from polyvox.companion.overlays import Choice, Moment, Open, Rites, choose

MONDAY = datetime(2026, 11, 16, 8, 30, tzinfo=UTC)
SUNDAY = MONDAY - timedelta(days=1)
TUESDAY = MONDAY + timedelta(days=1)
EVENING = TUESDAY.replace(hour=20)
NOON = TUESDAY.replace(hour=14)


def at(local: datetime, turn: int = 1, loop: str = "", session: str = "s") -> Moment:
    return Moment(session, turn, local, Open(loop) if loop else None)


def pick(moment: Moment, rites: Rites | None = None, **changes: Any) -> Choice:
    return choose(moment, reading(**changes), rites or Rites())


def test_rituals_fire_by_clock_and_state() -> None:
    first = pick(at(TUESDAY))
    assert (first.overlay, first.reason) == ("daily_focus", "session start")
    assert pick(at(TUESDAY), first.rites).overlay is None, "once a day"
    assert pick(at(TUESDAY + timedelta(days=1)), first.rites).overlay == "daily_focus"
    review = pick(at(EVENING), first.rites)
    assert review.overlay == "daily_review"
    assert pick(at(EVENING), review.rites).overlay is None
    assert pick(at(NOON)).overlay is None


def test_the_compass_comes_on_sunday_or_monday_morning_once_for_a_week() -> None:
    sunday = pick(at(SUNDAY))
    assert sunday.overlay == "weekly_compass", "the week goes before the day"
    assert pick(at(SUNDAY), sunday.rites).overlay == "daily_focus"
    assert pick(at(MONDAY), sunday.rites).overlay == "daily_focus", "the same week"
    assert pick(at(MONDAY)).overlay == "weekly_compass"
    assert pick(at(TUESDAY)).overlay == "daily_focus"


@pytest.mark.parametrize(("risk", "why"), [("CRISIS", "crisis"), ("HIGH", "hard moment")])
def test_no_ritual_and_no_tug_in_a_hard_moment(risk: str, why: str) -> None:
    for moment in (at(TUESDAY), at(EVENING), at(NOON, 5, "Call the bank")):
        skipped = pick(moment, risk=risk)
        assert (skipped.overlay, skipped.reason, skipped.rites) == (None, why, Rites())
    assert pick(at(NOON, 5), risk="HIGH", conflict=True).overlay == "conflict_regulation"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"urgent": True}, "urgent"),
        ({"intent": "output_task"}, "output task"),
        ({"direct_request": True}, "direct request"),
        ({"correction": True}, "friction"),
        ({"risk": "CRISIS"}, "crisis"),
    ],
)
def test_what_keeps_every_overlay_away(changes: dict[str, Any], reason: str) -> None:
    for moment in (at(TUESDAY), at(NOON, 5, "Call the bank")):
        skipped = pick(moment, **changes)
        assert (skipped.overlay, skipped.reason) == (None, reason)


@pytest.mark.parametrize("intent", ["momentum", "learning"])
def test_a_request_to_move_or_to_learn_keeps_none_away(intent: str) -> None:
    assert pick(at(TUESDAY), direct_request=True, intent=intent).overlay == "daily_focus"


def test_a_correction_weighs_on_two_more_turns_of_its_session() -> None:
    rites = pick(at(NOON, 3, "Call the bank"), correction=True).rites
    for turn in (4, 5):
        assert pick(at(NOON, turn, "Call the bank"), rites).reason == "friction"
    assert pick(at(NOON, 6, "Call the bank"), rites).overlay == "accountability_tug"
    assert pick(at(NOON, 4, "Call the bank", "another"), rites).overlay == "accountability_tug"


def test_precedence_of_those_that_need_a_talk() -> None:
    everything: dict[str, Any] = {"conflict": True, "story_worth_exploring": True}
    assert pick(at(NOON, 1, "Call"), **everything).reason == "too young"
    assert pick(at(NOON, 2, "Call"), **everything).overlay == "conflict_regulation"
    assert pick(at(NOON, 2, "Call"), story_worth_exploring=True).overlay == "curiosity_spiral"
    tug = pick(at(NOON, 2, "Call"))
    assert (tug.overlay, tug.loop) == ("accountability_tug", Open("Call"))
    assert pick(at(NOON, 2)).reason == "no open loop"


def test_a_spiral_lasts_four_turns_once_a_session() -> None:
    rites, seen = Rites(), []
    for turn in range(2, 8):
        choice = pick(at(NOON, turn), rites, story_worth_exploring=True)
        rites = choice.rites
        seen.append(choice.overlay)
    assert seen == ["curiosity_spiral"] * 4 + [None, None]
    assert pick(at(NOON, 2, session="next"), rites, story_worth_exploring=True).overlay


def test_a_spiral_that_ended_does_not_begin_again_in_its_session() -> None:
    rites, seen = Rites(), []
    for turn in range(2, 10):
        choice = pick(at(NOON, turn), rites, story_worth_exploring=turn in (3, 4, 6, 8, 9))
        rites = choice.rites
        seen.append(turn if choice.overlay else 0)
    assert seen == [0, 3, 4, 0, 0, 0, 0, 0]
    again = pick(at(NOON, 3, session="next"), rites, story_worth_exploring=True)
    assert again.overlay == "curiosity_spiral"


def test_the_tug_comes_once_a_day_and_stays_away_two_days_after_a_dismissal() -> None:
    tug = pick(at(NOON, 2, "Call"))
    assert pick(at(NOON, 3, "Call"), tug.rites).reason == "tugged today"
    waved = pick(at(NOON, 4, "Call"), tug.rites, dismissal=True).rites
    tomorrow, later = NOON + timedelta(hours=47), NOON + timedelta(hours=48)
    assert pick(at(tomorrow, 2, "Call"), waved).reason == "dismissed"
    assert pick(at(later, 2, "Call"), waved).overlay == "accountability_tug"
