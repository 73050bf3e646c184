"""The judge's question and the reading of its reply: nothing closes a quotation, nothing passes
silently."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.evaluation.replies import HOLDS, NOT, Bad, corpus, row, told

from polyvox.evaluation import judge_prompt
from polyvox.evaluation.judge_prompt import (
    Subject,
    asked,
    batches,
    question,
    quoted,
    read,
)
from polyvox.evaluation.tables.assertions import Assertion
from polyvox.models.wire import paired


def assertion(number: int, text: str = "") -> Assertion:
    return Assertion(f"id-{number}", "ann", "Ann", 1, text or f"It says {number}.")


SUBJECT = Subject("How much?", "It costs 12 francs.")
PAIR = asked(SUBJECT, [assertion(1), assertion(2)], 0)
A, B = (one.key for one in PAIR)

CLOSERS = st.sampled_from(
    [
        '"',
        '\\"',
        '\\\\"',
        '"}',
        '"}]}',
        '", "answer": "',
        "</answer>",
        "```",
        "\u2028",
        "\x00",
        "\ud800",
    ]
)
HOSTILE = st.lists(st.one_of(CLOSERS, st.text(max_size=20)), max_size=12).map("".join)


@given(HOSTILE, HOSTILE, st.lists(HOSTILE, min_size=1, max_size=4))
def test_no_text_can_leave_its_place(user: str, answer: str, texts: list[str]) -> None:
    subject = Subject(user, answer)
    batch = asked(subject, [assertion(n, text) for n, text in enumerate(texts)], 0)
    data: dict[str, Any] = json.loads(question(subject, batch))
    assert data == {
        "question": paired(user),
        "answer": paired(answer),
        "assertions": [{"id": one.key, "text": paired(one.assertion.text)} for one in batch],
    }


@given(HOSTILE)
def test_a_question_put_into_an_answer_is_only_text(text: str) -> None:
    """The delimiter itself, and the whole message that it delimits, as the answer."""
    inner = question(Subject(text, text), asked(Subject(text, text), [assertion(1, text)], 0))
    subject = Subject("q", inner + '"' + inner)
    data = json.loads(question(subject, asked(subject, [assertion(1)], 0)))
    assert data["answer"] == inner + '"' + inner
    assert len(data["assertions"]) == 1


@given(st.text())
def test_what_is_quoted_is_one_line_without_tags_or_hidden_signs(text: str) -> None:
    written = quoted(text)
    assert json.loads(written) == paired(text)
    assert written.splitlines() == [written]
    assert not set(written) & set("<>\u2028\u2029\u202e\u200b\u0000")


def test_nobody_knows_an_id_beforehand() -> None:
    """An id hangs on the very text that is judged: a text that names it would have another one."""
    keys = {one.key for one in PAIR}
    told_off = Subject(SUBJECT.question, f"{SUBJECT.answer} {' '.join(keys)}")
    assert keys.isdisjoint(one.key for one in asked(told_off, [assertion(1), assertion(2)], 0))
    assert keys.isdisjoint(one.key for one in asked(SUBJECT, [assertion(1), assertion(2)], 1))


def test_every_repeat_has_an_order_of_its_own_and_always_the_same() -> None:
    some = [assertion(n) for n in range(8)]
    orders = [[one.assertion.id for one in asked(SUBJECT, some, repeat)] for repeat in range(6)]
    assert len({tuple(order) for order in orders}) == 6
    assert all(sorted(order) == sorted(one.id for one in some) for order in orders)
    assert orders[2] == [one.assertion.id for one in asked(SUBJECT, some, 2)]


def test_a_good_reply_is_read_whatever_stands_around_it() -> None:
    plain = told(row(A), row(B, "fail", NOT))
    wrapped = [
        plain,
        f"Sure!\n```json\n{plain}\n```\nI hope this helps {{ok}}.",
        f"<think>{told(row(A, 'fail', NOT))}</think>{plain}",
        json.dumps([row(A), row(B, "fail", NOT)]),
        json.dumps(row(A)) + "\n" + json.dumps(row(B, "fail", NOT)),
        json.dumps(
            {A: {"reason": HOLDS, "verdict": "pass"}, B: {"reason": NOT, "verdict": "FAIL"}}
        ),
        told(row(A), row(A), row(B, "fail", NOT)),  # the same thing twice is the same thing
        json.dumps({"notes": {"language": "en"}, "verdicts": [row(A), row(B, " Fail ", NOT)]}),
    ]
    for reply in wrapped:
        reading = read(reply, PAIR)
        assert dict(reading.verdicts) == {A: (HOLDS, "pass"), B: (NOT, "fail")}, reply
        assert not reading.wrong


BAD = corpus(A, B)


def test_the_corpus_is_large_and_every_reply_in_it_is_another_one() -> None:
    assert len(BAD) >= 60
    assert len({one.name for one in BAD}) == len({(one.text, one.cut) for one in BAD}) == len(BAD)


@pytest.mark.parametrize("bad", BAD, ids=[one.name for one in BAD])
def test_no_malformed_reply_passes_silently(bad: Bad) -> None:
    reading = read(bad.text, PAIR, cut=bad.cut)
    assert {key: said[1] for key, said in reading.verdicts.items()} == dict(bad.allowed)
    assert set(reading.wrong) == {A, B} - set(bad.allowed)
    assert all(reading.wrong.values())


@given(st.integers(0, 400))
def test_a_reply_cut_anywhere_gives_nothing_that_was_not_whole(at: int) -> None:
    whole = told(row(A, "fail", NOT), row(B))
    reading = read(whole[:at], PAIR, cut=True)
    ends = {A: whole.index("}") + 1, B: whole.index("}", whole.index("}") + 1) + 1}
    assert set(reading.verdicts) == {key for key, end in ends.items() if end <= at}


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(st.sampled_from(["id", "reason", "verdict", "verdicts", A, B]), inner)
        ),
        max_leaves=20,
    )
)
def test_whatever_json_comes_a_pass_has_its_id_and_its_reason(value: object) -> None:
    reading = read(json.dumps(value), PAIR)
    assert set(reading.verdicts) | set(reading.wrong) == {A, B}
    for reason, _ in reading.verdicts.values():
        assert len(reason.strip()) > 1


def test_a_question_is_split_by_assertions_and_the_answer_is_never_cut() -> None:
    some = [assertion(n) for n in range(10)]
    ordered = asked(SUBJECT, some, 0)
    parts, too_long = batches(SUBJECT, ordered, None, 3 * judge_prompt.VERDICT_TOKENS)
    assert [len(part) for part in parts] == [3, 3, 3, 1]
    assert [one for part in parts for one in part] == ordered
    assert too_long == []

    one = judge_prompt.size(SUBJECT, ordered[:1]) + judge_prompt.VERDICT_TOKENS
    parts, too_long = batches(SUBJECT, ordered, one + 20, 100_000)
    assert all(len(part) == 1 for part in parts)
    assert all(SUBJECT.answer in question(SUBJECT, part) for part in parts)

    parts, too_long = batches(SUBJECT, ordered, one - 20, 100_000)
    assert parts == []
    assert too_long == ordered


def test_the_judge_has_a_name_by_its_instructions() -> None:
    assert len(judge_prompt.judge_hash()) == 32
    assert judge_prompt.judge_hash() == judge_prompt.judge_hash()
    assert list(
        json.loads(judge_prompt.schema(["x"]))["properties"]["verdicts"]["items"]["properties"]
    ) == [
        "id",
        "reason",
        "verdict",
    ]
