"""Bridge, handover, reinjection: who may speak at which turn."""

from __future__ import annotations

import pytest
from tests.companion.readings import reading

from polyvox.companion.blocks import Brief, Said, carry, low_signal

ASKED = reading(action="memory_query", explicit=True, direct_request=True, confidence=0.75)
FULL = Brief("You left off at the letter.", "today", 30, "You had just said goodnight.", True)
LONG = "I have been thinking about the letter again."


def said(brief: Brief, turn: int, first: str = LONG, done: bool = False) -> Said:
    return carry(brief, turn, first, reading(), done)


def test_the_first_turn_has_both_and_neither_suppresses_the_other() -> None:
    assert said(FULL, 1).bridge == "You had just said goodnight."
    assert said(FULL, 1).handover == "You left off at the letter."
    assert said(Brief("Handover.", use_bridge=True, bridge=" "), 1).handover == "Handover."
    assert said(Brief("", bridge="Bridge.", use_bridge=True), 1).bridge == "Bridge."
    assert said(Brief("Handover.", bridge="Bridge.", use_bridge=False), 1).bridge == ""


@pytest.mark.parametrize(
    ("depth", "gap", "first", "there"),
    [
        ("today", 119, LONG, False),
        ("today", 120, LONG, True),
        ("yesterday", 5, LONG, True),
        ("multi_day", None, LONG, True),
        ("continuation", 5, "hi there you", True),
        ("continuation", None, LONG, False),
    ],
)
def test_the_second_turn(depth: str, gap: int | None, first: str, there: bool) -> None:
    found = said(Brief("Handover.", depth, gap, "Bridge.", True), 2, first)
    assert (found.handover == "Handover.") is there
    assert found.bridge == ""


def test_later_turns_have_it_once_when_it_is_asked_for() -> None:
    assert said(FULL, 3).handover == ""
    again = carry(FULL, 3, LONG, ASKED, False)
    assert (again.handover, again.reinjected) == (FULL.handover, True)
    assert carry(FULL, 4, LONG, ASKED, True).handover == ""


@pytest.mark.parametrize(
    "changes",
    [
        {"confidence": 0.74},
        {"explicit": False},
        {"direct_request": False},
        {"topic_shift": True},
        {"action": "none"},
    ],
)
def test_it_comes_back_on_nothing_less(changes: dict[str, object]) -> None:
    fields = {"action": "memory_query", "explicit": True, "direct_request": True, "confidence": 1.0}
    assert carry(FULL, 5, LONG, reading(**(fields | changes)), False).handover == ""


@pytest.mark.parametrize(
    ("text", "low"),
    [
        ("hi", True),
        ("Good morning, how are you doing?", True),
        ("ok then fine", True),
        ("", True),
        ("history of the highway", False),
        ("Hey there, what’s up?", True),
        ("Hey, how's it going?", True),
        ("你好", True),
        ("今天我在公司和老板吵架了心情很差", False),
        ("hello, my mother fell yesterday", False),
    ],
)
def test_low_signal_goes_by_whole_words(text: str, low: bool) -> None:
    assert low_signal(text) is low
