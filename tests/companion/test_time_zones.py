"""Clock times are the person's: another zone than UTC, through POST /api/chat."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.companion.lounge import Told, open_lounge
from tests.companion.situations import BARE, LONG, MOVING

pytestmark = pytest.mark.contract


def at(day: int, hour: int) -> datetime:
    return datetime(2026, 11, day, hour, tzinfo=UTC)


@pytest.mark.parametrize(
    ("zone", "hour", "night"),
    [
        ("Pacific/Auckland", 14, True),  # three in the night
        ("Pacific/Auckland", 2, False),  # three in the afternoon
        ("America/Los_Angeles", 9, True),  # one in the night
        ("Asia/Kolkata", 18, False),  # half past eleven in the evening
        ("Asia/Kolkata", 19, True),  # half past midnight
    ],
)
async def test_the_guard_is_softer_in_the_persons_night(
    tmp_path: Path, zone: str, hour: int, night: bool
) -> None:
    async with open_lounge(tmp_path, timezone=zone) as lounge:
        lounge.remember(Told(BARE))
        persona = await lounge.house.advisor("lab:talker")
        heard = await lounge.say(persona, LONG, at=at(17, hour), gate=MOVING)
        assert ("It is late" in heard.blocks["posture"]) is night


@pytest.mark.parametrize(
    ("zone", "said", "overlays"),
    [
        # Eight and ten in the morning of one day there, two days in UTC; then the next morning.
        ("Asia/Tokyo", [(16, 23), (17, 1), (17, 23)], ["daily_focus", None, "daily_focus"]),
        # One in the night; the morning of the same day; late in the evening, the next day in UTC.
        (
            "America/Los_Angeles",
            [(17, 9), (17, 17), (18, 6)],
            [None, "daily_focus", "daily_review"],
        ),
        # A Sunday evening in UTC is their Monday morning: the compass, then the focus.
        ("Pacific/Auckland", [(15, 19), (15, 21)], ["weekly_compass", "daily_focus"]),
    ],
)
async def test_rituals_go_by_the_persons_clock_and_day(
    tmp_path: Path, zone: str, said: list[tuple[int, int]], overlays: list[str | None]
) -> None:
    async with open_lounge(tmp_path, timezone=zone) as lounge:
        lounge.remember(Told(BARE))
        persona = await lounge.house.advisor("lab:talker")
        heard = [await lounge.say(persona, LONG, at=at(*when)) for when in said]
        assert [one.trace["overlay"] for one in heard] == overlays
