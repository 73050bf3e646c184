"""Rules about sentences: what they find, measured, and what they leave alone."""

from __future__ import annotations

import sys
from datetime import date

import pytest
from tests.memory.commitments import sessions

from polyvox.memory.rules import endings_in, horizon_of, loops_in, wishes_in, without_times

FRIDAY = date(2024, 5, 10)


@pytest.mark.parametrize("part", ["known", "held out"])
def test_commitments_become_loops(part: str, capsys: pytest.CaptureFixture[str]) -> None:
    right = wrong = met = wanted = 0
    for session in sessions(part):  # type: ignore[arg-type]  # one of the two
        for said in session:
            found = [one.quote for one in loops_in(said.text, FRIDAY)]
            labelled = [*said.commitments, *said.others]
            good = [q for q in found if any(q in label or label in q for label in labelled)]
            right, wrong = right + len(good), wrong + len(found) - len(good)
            wanted += len(said.commitments)
            met += sum(any(q in label or label in q for q in found) for label in said.commitments)
    precision, recall = right / (right + wrong), met / wanted
    with capsys.disabled():
        sys.stdout.write(
            f"\nloops by rules, {part}: precision {precision:.2f}, recall {recall:.2f} of {wanted}\n"  # noqa: E501 - a line to read
        )
    assert wanted >= 18
    assert precision >= 0.8
    assert recall >= 0.5


@pytest.mark.parametrize(
    ("said", "due", "horizon"),
    [
        ("I'll call the vet today", "2024-05-10", "today"),
        ("I'll call the vet tomorrow", "2024-05-11", "today"),
        ("I'll call the vet on Monday", "2024-05-13", "this_week"),
        ("I'll call the vet in two weeks", "2024-05-24", "ongoing"),
        ("Tonight I'll call the vet about Rex", "2024-05-10", "today"),
        ("I'll call the vet some time", None, "ongoing"),
        ("I'll call the vet the day after tomorrow", "2024-05-12", "this_week"),
        ("I'll call the vet by 30 November", "2024-11-30", "ongoing"),
        ("I'll call the vet by November 30th, at last", "2024-11-30", "ongoing"),
        ("I'll call the vet on 3 May", "2025-05-03", "ongoing"),
        ("I'll call the vet on 29 February", "2028-02-29", "ongoing"),
        ("I'll call the vet by 2024-05-14", "2024-05-14", "this_week"),
        ("I'll call the vet on Friday 24 May", "2024-05-24", "ongoing"),
        ("I'll call the vet on the 20th", "2024-05-20", "ongoing"),
        ("I'll call the vet by the 9th, not later", "2024-06-09", "ongoing"),
        ("I'll call the vet on the 20th floor", None, "ongoing"),
        ("I'll call the vet by the 45th", None, "ongoing"),
        ("I'll call the vet by the end of the month", "2024-05-31", "ongoing"),
        ("I'll call the vet by the end of this week", "2024-05-12", "this_week"),
        ("I'll call every vet by Monday", "2024-05-13", "this_week"),
    ],
)
def test_due_days_count_from_when_it_was_said(said: str, due: str | None, horizon: str) -> None:
    (found,) = loops_in(said, FRIDAY)
    assert (found.due and found.due.isoformat(), found.horizon) == (due, horizon)
    assert horizon_of(found.due, FRIDAY, said) == horizon


@pytest.mark.parametrize("day", [date(2024, 5, 11), date(2024, 5, 12)])
@pytest.mark.parametrize("said", ["this week", "by the end of the week", "next week"])
def test_a_week_is_a_week_on_its_last_days_too(day: date, said: str) -> None:
    (found,) = loops_in(f"I'll call the vet {said}.", day)
    assert found.horizon == "this_week"
    assert found.due is not None
    assert 0 <= (found.due - day).days <= 2


@pytest.mark.parametrize("often", ["every day", "every Sunday", "every other week", "each morning"])
def test_what_one_wants_to_do_every_day_is_a_habit_and_never_due(often: str) -> None:
    (found,) = loops_in(f"I'll walk to work {often}.", FRIDAY)
    assert (found.type, found.horizon, found.due) == ("habit", "ongoing", None)


@pytest.mark.parametrize(
    "said",
    ["I must have lost my keys.", "I must have already sent the form.", "I must have slept."],
)
def test_what_must_have_been_is_no_commitment(said: str) -> None:
    assert list(loops_in(said, FRIDAY)) == []
    (kept,) = loops_in("I must have the report ready by Monday.", FRIDAY)
    assert kept.text == "Have the report ready by Monday"


@pytest.mark.parametrize(
    ("said", "status", "text"),
    [
        ("I finally sent the ethics form!", "done", "send the ethics form"),
        ("I've cancelled the gym membership.", "done", "cancelled the gym membership"),
        ("Finished the pricing page.", "done", "the pricing page"),
        ("I won't sell the old bike after all.", "dropped", "sell the old bike after all"),
    ],
)
def test_what_is_over_is_noticed(said: str, status: str, text: str) -> None:
    assert [(one.status, one.text) for one in endings_in(said)] == [(status, text)]


@pytest.mark.parametrize(
    "said",
    [
        "I haven't called the dentist.",
        "I almost finished the pricing page.",
        "Have I paid the rent?",
        "She said I paid too much.",
        "If I sent it today it would arrive on Monday.",
    ],
)
def test_what_is_not_over_is_left_open(said: str) -> None:
    assert list(endings_in(said)) == []


def test_times_are_no_part_of_what_is_to_be_done() -> None:
    assert without_times("Book a table on Friday evening").strip() == "Book a table"
    assert without_times("Call the dentist this morning").strip() == "Call the dentist"


@pytest.mark.parametrize(
    ("said", "place", "text"),
    [
        ("Please always answer briefly.", "instructions", "Please always answer briefly"),
        ("Always reply in German!", "instructions", "Always reply in German"),
        ("From now on, give me one question at a time.", "instructions", None),
        ("Never use the word journey.", "preferences.avoid", "journey"),
        ("Stop using emojis.", "preferences.avoid", "emojis"),
        ("Keep your answers under three sentences.", "instructions", None),
        ("I prefer short answers.", "instructions", None),
        ("Please don't call me buddy again.", "instructions", None),
        ("Call me Sam, by the way.", "name", "Sam"),
        ("Hi! My name is Ana Lúcia.", "name", "Ana Lúcia"),
    ],
)
def test_standing_instructions_are_heard(said: str, place: str, text: str | None) -> None:
    found = list(wishes_in(said))
    mine = [one for one in found if one.place == place]
    assert len(mine) == 1, found
    assert mine[0].quote in said
    if text is not None:
        assert mine[0].text == text


@pytest.mark.parametrize(
    "said",
    [
        "It's always the same with my boss.",
        "Never mind.",
        "Call me later, will you?",
        "She can call me when she is ready.",
        "My boss never answers my mails.",
        "Give me three ideas.",
        "Don't answer yet.",
        "He told me: always answer the phone.",
        "I always keep my answers short.",
        "Should you always be so brief?",
        "My name is hard to spell.",
        "Look at this mail:\n```\nNever mention this mail again.\n```\nOdd, is it not?",
        "~~~ text\nAlways answer in capitals.",
    ],
)
def test_what_is_meant_once_or_for_others_is_no_instruction(said: str) -> None:
    assert list(wishes_in(said)) == []
