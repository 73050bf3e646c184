"""The startbrief: depth, time, bridge, items, ops, from plain values."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyvox.errors import Invalid
from polyvox.memory.packets import Brief, Daily, StartBrief
from polyvox.memory.session_start import Known, OpenLoop, Said, as_handover, brief, startbrief
from polyvox.memory.times import MINUTE, Past, depth_of, moment_of, part_of_day, zone_of
from polyvox.memory.values import Partition
from polyvox.values import Scope

ME, YOU = Scope("anna"), Scope("bert")
MINE = Partition.own(ME)
LISBON = ZoneInfo("Europe/Lisbon")
HOUR, DAY = 60 * MINUTE, 24 * 60 * MINUTE


def micros(text: str, zone: ZoneInfo = LISBON) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=zone).timestamp()) * 1_000_000


NOW = micros("2026-05-13T19:30")  # a Wednesday


def talk(ago: int, name: str = "s", minutes: int = 10) -> Past:
    end = NOW - ago
    return Past(name, end - minutes * MINUTE, end)


def known(*sessions: Past, words: str = "I painted the boat shed green") -> Known:
    said = tuple(
        Said(f"{one.session_id}#0", one.session_id, words, one.ended_at) for one in sessions
    )
    return Known(NOW, LISBON, sessions, said)


async def of(given_: Known) -> StartBrief:
    return (await startbrief(given_))[0]


@pytest.mark.parametrize(
    ("minutes", "depth"),
    [
        (0, "continuation"),
        (30, "continuation"),
        (31, "today"),
        (360, "today"),
        (361, "yesterday"),
        (1440, "yesterday"),
        (1441, "multi_day"),
        (None, "multi_day"),
    ],
)
def test_the_gap_decides_the_depth(minutes: int | None, depth: str) -> None:
    assert depth_of(minutes) == depth


def test_the_day_has_four_parts() -> None:
    parts = [part_of_day(hour) for hour in (0, 4, 5, 11, 12, 17, 18, 23)]
    assert parts == ["night"] * 2 + ["morning"] * 2 + ["afternoon"] * 2 + ["evening"] * 2


def test_a_gap_is_told_in_whole_units() -> None:
    gaps = {
        30_000_000: "less than a minute",
        MINUTE: "1 minute",
        59 * MINUTE: "59 minutes",
        HOUR: "1 hour",
        23 * HOUR: "23 hours",
        25 * HOUR: "1 day",
        6 * DAY: "6 days",
        15 * DAY: "2 weeks",
        90 * DAY: "3 months",
        9000 * DAY: "more than 99 months",
    }
    for gap, words in gaps.items():
        assert moment_of(NOW, LISBON, [talk(gap)]).gap == words
    assert moment_of(NOW, LISBON, []).gap is None


def test_today_goes_by_the_calendar_where_the_person_is() -> None:
    late = micros("2026-05-13T00:20")
    before = Past("s", late - 30 * MINUTE, late - 25 * MINUTE)
    seen = moment_of(late, LISBON, [before])
    assert (seen.earlier_today, seen.gap_minutes, seen.depth) == (0, 25, "continuation")
    assert (seen.day, seen.part) == ("Wednesday", "night")
    east = moment_of(late, ZoneInfo("Asia/Tokyo"), [before])
    assert (east.earlier_today, east.part) == (1, "morning")


def test_a_day_of_23_or_25_hours_is_a_day() -> None:
    # In Lisbon clocks went forward on 29 March 2026 and go back on 25 October 2026.
    for day, hours in (("2026-03-29", 23), ("2026-10-25", 25)):
        noon = micros(f"{day}T12:00")
        end = micros(f"{day}T12:00") - hours * HOUR
        seen = moment_of(noon, LISBON, [Past("s", end, end)])
        assert (seen.gap_days, seen.earlier_today) == (1, 0)
        assert at_noon_before(end)
        assert seen.gap_minutes == hours * 60
    night = micros("2026-03-29T02:30")
    before = Past("s", night - 50 * MINUTE, night - 40 * MINUTE)
    seen = moment_of(night, LISBON, [before])
    assert (seen.local.hour, seen.gap_minutes, seen.earlier_today) == (2, 40, 1)


def at_noon_before(time: int) -> bool:
    return datetime.fromtimestamp(time / 1_000_000, UTC).astimezone(LISBON).hour == 12


def test_what_began_later_is_not_known_yet() -> None:
    ahead = Past("s", NOW + HOUR, NOW + 2 * HOUR)
    under_way = Past("t", NOW - HOUR, NOW + HOUR)
    assert moment_of(NOW, LISBON, [ahead]).gap_minutes is None
    assert moment_of(NOW, LISBON, [ahead, under_way]).gap_minutes == 0


@pytest.mark.parametrize("name", ["Mars/Olympus", "../etc", "America", "\0", "é" * 70])
def test_a_zone_that_nobody_knows_is_refused(name: str) -> None:
    with pytest.raises(Invalid):
        zone_of(name)


async def test_the_time_of_the_person() -> None:
    told = (await of(known(talk(3 * HOUR), talk(8 * HOUR, "t"), talk(2 * DAY, "u")))).time_context
    assert told is not None
    assert told.local_time == "2026-05-13T19:30:00+01:00"
    assert (told.time_of_day, told.gap_minutes) == ("evening", 180)
    assert (told.sessions_today, told.first_session_today) == (2, False)
    alone = (await of(Known(NOW, LISBON))).time_context
    assert alone is not None
    assert (alone.gap_minutes, alone.sessions_today, alone.first_session_today) == (None, 0, True)


async def test_the_bridge_is_for_the_first_half_hour_and_needs_words() -> None:
    near = (await of(known(talk(30 * MINUTE)))).resume
    assert near is not None
    assert near.use_bridge
    assert near.bridge_text == "They were here 30 minutes ago."
    for none in (known(talk(31 * MINUTE)), known(talk(MINUTE), words="\n "), Known(NOW, LISBON)):
        resume = (await of(none)).resume
        assert resume is not None
        assert (resume.use_bridge, resume.bridge_text) == (False, None)


async def test_the_bridge_never_reaches_behind_the_last_session() -> None:
    before = known(talk(20 * MINUTE, "older"))
    both = replace(before, sessions=(*before.sessions, talk(5 * MINUTE, "not ingested yet")))
    resume = (await of(both)).resume
    assert resume is not None
    assert not resume.use_bridge


async def test_a_bridge_quotes_what_the_handover_does_not() -> None:
    last = talk(5 * MINUTE)
    given_ = known(last)
    for words, handed, bridged in (
        ("Then I sold it to a baker.", "sold it to a baker", "boat shed"),
        ("ok thanks", "boat shed", ""),
    ):
        more = Said("s#2", "s", words, last.ended_at)
        told = await of(replace(given_, said=(*given_.said, more)))
        assert told.resume is not None
        assert handed in str(told.handover_text)
        assert bridged in str(told.resume.bridge_text)
        assert ("they said" in str(told.resume.bridge_text)) is bool(bridged)
        assert told.resume.use_bridge


async def test_a_conversation_goes_on_with_its_own_last_exchange() -> None:
    here, there = talk(10 * MINUTE, "here"), talk(MINUTE, "there")
    said = (
        Said("here#0", "here", "The roof leaks above the stove.", here.ended_at),
        Said("here#2", "here", "And now?", here.ended_at),
        Said("there#0", "there", "My sister sold her horse today.", there.ended_at),
    )
    given_ = Known(NOW, LISBON, (here, there), said, continues=here, reply="Put a pot below it.")
    told = await of(given_)
    assert told.handover_text == (
        "It is Wednesday evening. The last talk ended 10 minutes ago; 2 earlier talks today. Last"
        " said: “And now?” Reply ended: “Put a pot below it.”"
    )
    assert told.time_context is not None
    assert told.time_context.gap_minutes == 10
    assert told.resume is not None
    assert told.resume.bridge_text == (
        "The conversation goes on after 10 minutes. Before that they said: “The roof leaks above"
        " the stove.”"
    )
    assert told.evidence is not None
    assert told.evidence.session_ids == ("here",)
    hard = await of(replace(given_, hard=True))
    assert hard.handover_text == (
        "It is Wednesday evening. The last talk ended 10 minutes ago; 2 earlier talks today. It"
        " was a hard one. Go gently."
    )
    assert hard.resume is not None
    assert (hard.resume.use_bridge, hard.resume.bridge_text) == (False, None)


LOOPS = (
    OpenLoop("l1", "Call the harbour office", "commitment", "today", date(2026, 5, 13), 4.0, NOW),
    OpenLoop("l2", "Pay the mooring", "commitment", "today", date(2026, 5, 20)),
    OpenLoop("l3", "The surveyor's report", "thread", "ongoing", quote="Still waiting for it"),
    OpenLoop("l4", "The tax letter", "friction", "ongoing"),
    OpenLoop("l5", "Old promise", "commitment", "this_week", date(2026, 5, 1)),
)


async def test_items_and_ops_come_from_the_loops() -> None:
    told = await of(replace(known(talk(DAY)), loops=(*LOOPS, OpenLoop("l6", "More"))))
    assert [item.kind for item in told.items] == ["loop", "loop", "loop", "tension", "loop"]
    first = told.items[0]
    assert (first.text, first.type, first.time_horizon) == (
        "Call the harbour office",
        "commitment",
        "today",
    )
    assert (first.due_date, first.salience) == ("2026-05-13", 4.0)
    assert first.last_seen_at == "2026-05-13T19:30:00+01:00"
    ops = told.ops_context
    assert ops is not None
    assert ops.top_loops_today == ("Call the harbour office",), "not what was due days ago"
    assert ops.waiting_on == ("The surveyor's report",)
    assert told.evidence is not None
    assert told.evidence.loop_ids == ("l1", "l2", "l3", "l4", "l5")


async def test_yesterday_steers_only_where_it_is_sure() -> None:
    sure = Daily("2026-05-12", ("boats",), {}, "Ask less.", 0.9, True)
    ops = (await of(replace(known(talk(DAY)), yesterday=sure, hints=("Works at sea",)))).ops_context
    assert ops is not None
    assert (ops.yesterday_themes, ops.steering_note) == (("boats",), "Ask less.")
    assert ops.user_model_hints == ("Works at sea",)
    for flag in ("needs_review", "insufficient_data"):
        unsure = replace(sure, quality_flag=flag)
        ops = (await of(replace(known(talk(DAY)), yesterday=unsure))).ops_context
        assert ops is not None
        assert (ops.yesterday_themes, ops.steering_note) == ((), None)


async def test_evidence_says_what_was_used_and_how_good_it_is() -> None:
    told = (await of(known(talk(HOUR), talk(DAY, "t")))).evidence
    assert told is not None
    assert told.session_ids == ("s",)
    assert told.episode_ids == ("s#0",)
    assert (told.quality, told.fallback) == ("good", "no_model")
    qualities = [
        (await of(one)).evidence for one in (Known(NOW, LISBON), Known(NOW, LISBON, (talk(HOUR),)))
    ]
    assert [one.quality for one in qualities if one is not None] == ["empty", "thin"]


async def test_soon_after_the_last_words_are_told_and_later_what_is_open() -> None:
    soon = await of(replace(known(talk(HOUR)), loops=LOOPS))
    later = await of(replace(known(talk(3 * DAY)), loops=LOOPS))
    assert "“I painted the boat shed green”" in str(soon.handover_text)
    assert "“Call the harbour office”" in str(later.handover_text)


def test_a_brief_tells_the_same_more_plainly() -> None:
    told = brief(
        replace(known(talk(3 * HOUR)), loops=LOOPS, facts=("Owns a boat",), focus="The survey")
    )
    assert told.time_gap_description == "3 hours since the last talk"
    assert told.time_of_day_label == "evening"
    assert told.facts == ("Owns a boat",)
    assert told.open_loops == ("The surveyor's report", "The tax letter")
    assert told.commitments == ("Call the harbour office", "Pay the mooring", "Old promise")
    assert told.current_focus == "The survey"
    assert told.narrative_summary == ("They said: “I painted the boat shed green”",)
    lines = str(told.brief_context).splitlines()
    assert lines[:3] == [
        "time of day: evening",
        "gap: 3 hours since the last talk",
        "focus: “The survey”",
    ]
    assert brief(Known(NOW, LISBON)).time_gap_description is None


def test_a_brief_fills_the_place_of_the_handover() -> None:
    told = as_handover(
        Brief("3 hours", "EVENING", ("Owns a boat",), ("The tax letter",), current_focus="Survey")
    )
    assert told == (
        "Since the last talk: “3 hours”. Part of day: “evening”. In focus: “Survey”."
        " Open: “The tax letter”. Known: “Owns a boat”."
    )
    assert as_handover(Brief()) == ""
    sheet = as_handover(Brief(brief_context='Owns a boat\nSaid "stop”'))
    assert sheet == "Known: “Owns a boat”. Known: “Said 'stop'”."


TEXTS = st.lists(st.text(max_size=60), max_size=12).map(tuple)


@given(TEXTS, TEXTS, st.text(max_size=400), st.text(max_size=40))
def test_whatever_a_brief_says_stays_a_quotation(
    facts: tuple[str, ...], loops: tuple[str, ...], focus: str, gap: str
) -> None:
    told = as_handover(Brief(gap, None, facts, loops, (), focus))
    assert len(told.split()) <= 120
    assert "\n" not in told
    inside = False
    for letter in told:
        if letter in "“”":
            assert inside == (letter == "”"), told
            inside = letter == "“"
    assert not inside


async def test_nothing_older_than_the_last_talk_is_quoted() -> None:
    before = Said("a#0", "a", "I painted the boat shed green", NOW - DAY)
    greeted = known(talk(HOUR), words="hi")
    told = await of(replace(greeted, said=(before, *greeted.said)))
    assert "boat shed" not in (told.handover_text or "")
    assert (told.handover_text or "").endswith("Last said: “hi”.")
    silent = replace(known(talk(MINUTE, "not ingested yet")), said=(before,))
    assert "“" not in str((await of(silent)).handover_text)
