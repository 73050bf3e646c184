"""The veto where a foreign service tells: by words, wherever they stand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from polyvox.memory import session_start as briefs
from polyvox.memory.packets import (
    Brief,
    Daily,
    LoopRow,
    OpsContext,
    Resume,
    StartBrief,
    UserModel,
)
from polyvox.memory.remote import SessionStart
from polyvox.memory.veto import Veto, foreign_items, foreign_without, instructions

BANK = "call the bank about the mortgage"
START = SessionStart(
    startbrief=StartBrief(
        handover_text="It is Tuesday.",
        resume=Resume(True, "You were about to Call the bank\nabout the mortgage."),
        ops_context=OpsContext(
            top_loops_today=(BANK, "paint"), user_model_hints=(BANK,), steering_note=f"Ask: {BANK}"
        ),
    ),
    daily=Daily("2026-11-16", (BANK, "boats"), steering_note=f"They will {BANK}.", exists=True),
    loops=(LoopRow(BANK), LoopRow("paint the hull")),
)
PLAINER = Brief(
    time_gap_description="two days",
    facts=("They are divorcing", "Owns a boat"),
    open_loops=("call the lawyer",),
    commitments=("paint the hull",),
    current_focus="the divorce",
    narrative_summary=("They sailed",),
    brief_context="fact: They are divorcing\nopen: call the lawyer",
)


def named(start: SessionStart, text: str) -> str:
    (found,) = [one.id for one in foreign_items(start) if one.text == text]
    return found


def test_a_bridge_that_says_what_was_vetoed_is_not_told() -> None:
    left = foreign_without(START, Veto(frozenset([named(START, BANK)])))
    brief = left.startbrief
    assert brief is not None
    assert brief.resume == Resume()
    assert brief.handover_text == "It is Tuesday.", "it says nothing of it"
    assert brief.ops_context == OpsContext(top_loops_today=("paint",))
    assert left.daily == Daily("2026-11-16", ("boats",), exists=True)
    assert [one.text for one in left.loops] == ["paint the hull"]
    other = foreign_without(START, Veto(frozenset([named(START, "paint the hull")]))).startbrief
    assert other is not None
    assert START.startbrief is not None
    assert other.resume == START.startbrief.resume


def test_a_brief_is_shown_whole_and_by_what_it_says() -> None:
    items = foreign_items(SessionStart(brief=PLAINER))
    assert [(one.kind, one.text) for one in items] == [
        ("handover", briefs.as_handover(PLAINER)),
        ("profile", "the divorce"),
        ("profile", "They are divorcing"),
        ("profile", "Owns a boat"),
        ("profile", "They sailed"),
        ("loop", "paint the hull"),
        ("loop", "call the lawyer"),
    ]
    told = replace(START, brief=PLAINER)
    assert foreign_items(told) == foreign_items(START), "beside a startbrief it is not told"
    twice = SessionStart(brief=PLAINER, loops=(LoopRow("Call the  lawyer"),))
    assert len(foreign_items(twice)) == len(items), "the same words are one item"


def test_the_handover_that_a_brief_fills_can_be_vetoed() -> None:
    left = foreign_without(SessionStart(brief=PLAINER), Veto(frozenset(["handover"])))
    assert left.brief == Brief()
    assert left.items == foreign_items(SessionStart(brief=PLAINER)), (
        "shown, so it can be taken back"
    )


@pytest.mark.parametrize(
    "text",
    ["They are divorcing", "call the lawyer", "paint the hull", "the divorce", "They sailed"],
)
def test_one_thing_of_a_brief_can_be_vetoed(text: str) -> None:
    start = SessionStart(brief=PLAINER)
    left = foreign_without(start, Veto(frozenset([named(start, text)])))
    assert left.brief is not None
    said = briefs.as_handover(left.brief)
    assert f"“{text}”" in briefs.as_handover(PLAINER)
    assert f"“{text}”" not in said
    assert "Owns a boat" in said
    (shown,) = [one.text for one in left.items if one.id == "handover"]
    assert shown == said
    assert text in {one.text for one in left.items}


def test_the_sheet_of_a_brief_brings_nothing_back() -> None:
    start = SessionStart(brief=Brief(facts=("They are divorcing",), brief_context="fact: divorce"))
    left = foreign_without(start, Veto(frozenset([named(start, "They are divorcing")])))
    assert left.brief == Brief()
    assert "handover" not in {one.id for one in left.items}, "nothing is left of it"
    bare = SessionStart(brief=Brief(brief_context="Owns a boat"), loops=START.loops)
    assert foreign_without(bare, Veto(frozenset([named(bare, BANK)]))).brief == bare.brief
    about = replace(bare, brief=Brief(brief_context=f"open: {BANK}"))
    assert foreign_without(about, Veto(frozenset([named(about, BANK)]))).brief == Brief()


def test_instructions_are_told_as_our_own_are() -> None:
    who = UserModel(name="Sam", avoid=("emojis", "emojis"), instructions=("Be brief", "Be kind"))
    assert instructions(who) == ("Call me Sam", "Avoid: emojis", "Be brief", "Be kind")
    assert instructions(UserModel()) == ()
    start = SessionStart(user_model=who)
    for text in instructions(who):
        left = foreign_without(start, Veto(frozenset([named(start, text)]))).user_model
        assert left is not None
        assert instructions(left) == tuple(one for one in instructions(who) if one != text)
