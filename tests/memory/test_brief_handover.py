"""A foreign brief in the handover's place: whole texts, its sheet too, and one cap for it all."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from polyvox.memory.packets import Brief
from polyvox.memory.session_start import CHARS, WORDS, as_handover

TOLD = Brief(
    time_gap_description="8 hours since last spoke",
    time_of_day_label="MORNING",
    facts=("They have a dog called Rex.", "They live in Porto."),
    open_loops=("finish the roof",),
    current_focus="the move",
    narrative_summary=("A walk " + "by the sea " * 10 + "to the end",),
    brief_context="They were anxious about the interview.",
)


def test_texts_are_told_whole_and_the_sheet_beside_them() -> None:
    text = as_handover(TOLD)
    assert f"Before: “{TOLD.narrative_summary[0]}”." in text
    assert "“They were anxious about the interview.”" in text
    assert "In focus: “the move”." in text
    assert len(text.split()) <= WORDS


def test_what_the_sheet_repeats_is_told_once() -> None:
    lines = (
        "time of day: morning",
        "gap: 8 hours since last spoke",
        "focus: “the move”",
        "fact: “They have a dog called R…”",
        "open: finish the roof; the move.",
        "They live in Porto",
        "  ",
        "Rosa starts school in autumn.",
    )
    text = as_handover(replace(TOLD, brief_context="\n".join(lines)))
    assert text == as_handover(replace(TOLD, brief_context=lines[-1]))
    assert "Rosa" in text


def test_a_line_that_says_more_than_what_was_told_is_told() -> None:
    told = replace(TOLD, brief_context="the move frightens them in the morning")
    assert "“the move frightens them in the morning”" in as_handover(told)


def test_long_texts_leave_room_for_the_others() -> None:
    endless = "and so on " * 200
    text = as_handover(replace(TOLD, current_focus=endless, brief_context=f"canary {endless}"))
    assert len(text.split()) <= WORDS
    assert "canary" in text
    assert "finish the roof" in text
    assert text.count("…") == 2
    alone = as_handover(Brief(brief_context=endless))
    assert WORDS - 5 < len(alone.split()) <= WORDS


def test_our_own_sheet_says_nothing_twice() -> None:
    ours = Brief(
        "3 days since the last talk",
        "evening",
        facts=("They have a dog.",),
        brief_context="time of day: evening\ngap: 3 days since the last talk\nfact: “They have a"
        " dog.”",
    )
    assert as_handover(ours) == as_handover(replace(ours, brief_context=None))


@given(
    st.lists(st.text(max_size=400), max_size=8),
    st.text(max_size=2000),
    st.none() | st.text(max_size=300),
)
def test_whatever_it_says_it_is_quoted_and_capped(
    facts: list[str], sheet: str, focus: str | None
) -> None:
    text = as_handover(Brief(facts=tuple(facts), brief_context=sheet, current_focus=focus))
    assert len(text.split()) <= WORDS
    assert len(text) <= CHARS + 1
    assert text.count("“") == text.count("”")
    assert "\n" not in text
