"""Events as bytes: one frame each, and numbers that are safe to come back with."""

from __future__ import annotations

import msgspec

from polyvox.events import AnswerInterrupted, Numbered, TextDelta, TurnCompleted
from polyvox.store.events import EventRange
from polyvox.stream import hub


def test_a_frame_is_an_id_a_kind_and_one_line_of_data() -> None:
    frame = hub.frame(7, TextDelta("a", "two\nlines \u2028 ✓", 3))
    head, kind, data, *end = frame.decode().split("\n")
    assert (head, kind, end) == ("id: 7", "event: answer.delta", ["", ""])
    assert msgspec.json.decode(data.removeprefix("data: ")) == {
        "answer_id": "a",
        "text": "two\nlines \u2028 ✓",
        "at": 3,
    }


def test_a_batch_is_its_frames() -> None:
    batch = [Numbered(1, AnswerInterrupted("a")), Numbered(2, TurnCompleted("t"))]
    assert hub.frames(batch) == hub.frame(1, batch[0].event) + hub.frame(2, batch[1].event)
    assert hub.frames([]) == b""
    assert hub.COMMENT.startswith(b":")


def test_a_condensed_stretch_keeps_the_last_safe_number_until_all_of_it_is_there() -> None:
    """Two answers that were written at the same time: the first one's text alone is not safe."""
    stretches = [
        EventRange(4, 4, TurnCompleted("before")),
        EventRange(5, 50, TextDelta("a", "…", 0)),
        EventRange(6, 60, TextDelta("b", "…", 0)),
        EventRange(61, 61, AnswerInterrupted("a")),
        EventRange(62, 62, TurnCompleted("t")),
    ]
    assert [item.number for item in hub.safe(stretches)] == [4, 5, 60, 61, 62]
    assert [item.event for item in hub.safe(stretches)] == [s.event for s in stretches]
    assert hub.replay(stretches) == hub.frames(hub.safe(stretches))
    assert hub.safe([]) == []
