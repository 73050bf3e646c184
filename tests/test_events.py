"""What can happen, as the bytes that are stored and sent: there and back again."""

from __future__ import annotations

from typing import get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyvox.events import (
    AnswerCompleted,
    AnswerFailed,
    AnswerInterrupted,
    AnswerStarted,
    AnswerStopped,
    ConversationChanged,
    Event,
    TextDelta,
    ThinkingDelta,
    TurnCompleted,
    TurnStarted,
    payload,
    restored,
    usage_data,
)
from polyvox.values import Usage

pytestmark = pytest.mark.contract

WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
COUNT = st.integers(0, 2**40)
KIND = st.sampled_from(["advisor", "exchange", "synthesis"])
USAGE = st.builds(
    Usage, COUNT, COUNT, COUNT, COUNT, st.none() | st.integers(0, 10**15), st.booleans()
)
EVENTS: st.SearchStrategy[Event] = st.one_of(
    st.builds(TurnStarted, WORDS, WORDS),
    st.builds(AnswerStarted, WORDS, WORDS, WORDS, WORDS, KIND, COUNT, st.none() | WORDS),
    st.builds(AnswerCompleted, WORDS, USAGE, WORDS),
    st.builds(AnswerFailed, WORDS, WORDS, WORDS, WORDS),
    st.builds(AnswerStopped, WORDS, st.none() | USAGE),
    st.builds(AnswerInterrupted, WORDS),
    st.builds(TurnCompleted, WORDS),
    st.builds(
        ConversationChanged, st.sampled_from(["details", "head", "answer", "message"]), WORDS
    ),
)


@given(EVENTS)
def test_an_event_comes_back_as_it_was(event: Event) -> None:
    assert restored(event.kind, payload(event).decode(), None, 0) == event


@given(WORDS, st.integers(0, 10**6))
def test_a_delta_is_stored_as_bare_text(text: str, at: int) -> None:
    for kind in (TextDelta, ThinkingDelta):
        assert restored(kind.kind, text, "a", at) == kind("a", text, at)
        assert msgspec.json.decode(payload(kind("a", text, at))) == {
            "answer_id": "a",
            "text": text,
            "at": at,
        }


def test_every_kind_has_a_name_of_its_own() -> None:
    kinds = {one.kind for one in get_args(Event)}
    assert kinds == {
        "turn.started",
        "answer.started",
        "answer.delta",
        "answer.thinking",
        "answer.completed",
        "answer.failed",
        "answer.stopped",
        "answer.interrupted",
        "turn.completed",
        "conversation.changed",
        "exchange.notice",
    }


@pytest.mark.parametrize(
    ("event", "names"),
    [
        (AnswerFailed("a", "c", "m", "h"), {"answer_id", "category", "message", "hint"}),
        (AnswerCompleted("a", Usage(1, 2), "lab:x"), {"answer_id", "usage", "model"}),
        (TurnCompleted("t"), {"turn_id"}),
        (AnswerStopped("a"), {"answer_id", "usage"}),
        (ConversationChanged("head", "t"), {"what", "id"}),
    ],
)
def test_listeners_get_these_names(event: Event, names: set[str]) -> None:
    assert set(msgspec.json.decode(payload(event))) == names


def test_an_unknown_price_is_null_and_never_nothing() -> None:
    assert usage_data(None) is None
    unknown, free = usage_data(Usage(1, 2)), usage_data(Usage(1, 2, cost=0))
    assert unknown is not None
    assert free is not None
    assert (unknown["cost"], free["cost"]) == (None, 0)
    priced = usage_data(Usage(1, 2, cost=1_500_000_000))
    assert priced is not None
    assert priced["cost"] == 1.5


STORED: list[tuple[Event, str]] = [
    (TurnStarted("t", "m"), '{"turn_id":"t","message_id":"m"}'),
    (
        AnswerStarted("t", "a", "x", "Ä", "exchange", 2, "old"),
        (
            '{"turn_id":"t","answer_id":"a","advisor_id":"x","name":"Ä","kind":"exchange","round":2,'
            '"replaces":"old"}'
        ),
    ),
    (
        AnswerCompleted("a", Usage(1, 2, 3, 4, 1_500_000_000, True), "lab:x"),
        (
            '{"answer_id":"a","usage":{"input_tokens":1,"output_tokens":2,"reasoning_tokens":3,'
            '"cached_tokens":4,"cost":1.5,"estimated":true},"model":"lab:x"}'
        ),
    ),
    (
        AnswerFailed("a", "timeout", "No.", "Wait."),
        '{"answer_id":"a","category":"timeout","message":"No.","hint":"Wait."}',
    ),
    (AnswerStopped("a"), '{"answer_id":"a","usage":null}'),
    (AnswerInterrupted("a"), '{"answer_id":"a"}'),
    (TurnCompleted("t"), '{"turn_id":"t"}'),
    (ConversationChanged("head", "t"), '{"what":"head","id":"t"}'),
]


@pytest.mark.parametrize(("event", "data"), STORED, ids=[e.kind for e, _ in STORED])
def test_stored_bytes_are_frozen(event: Event, data: str) -> None:
    assert payload(event).decode() == data
    assert restored(event.kind, data, None, 0) == event
