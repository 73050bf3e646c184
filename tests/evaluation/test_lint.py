"""The lint on labelled assertions, its proposals, and the checks it offers."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.evaluation.labelled import LABELLED, UNSEEN

from polyvox.evaluation.lint import lint, offered
from polyvox.evaluation.wordings import Wording


def measured(
    rows: list[tuple[str, tuple[str, ...], frozenset[str]]],
) -> tuple[float, float, list[str]]:
    """Precision, recall, and what it got wrong."""
    right = false = missed = 0
    wrong = []
    for text, others, wanted in rows:
        found = {one.rule for one in lint(Wording(text), [Wording(other) for other in others])}
        right += len(found & wanted)
        false += len(found - wanted)
        missed += len(wanted - found)
        if found != wanted:
            wrong.append(f"{text}: {sorted(found)}, not {sorted(wanted)}")
    return right / (right + false), right / (right + missed), wrong


def test_precision_on_labelled_assertions(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(LABELLED) + len(UNSEEN) >= 60
    texts = [row[0] for row in (*LABELLED, *UNSEEN) if not row[1]]
    assert len(set(texts)) == len(texts)
    with capsys.disabled():
        for name, rows in (("labelled", LABELLED), ("unseen", UNSEEN)):
            precision, recall, wrong = measured(rows)
            sys.stdout.write(
                f"\nlint, {name}: {len(rows)} assertions,"
                f" precision {precision:.2f}, recall {recall:.2f}\n"
            )
            assert precision >= 0.8, wrong
            assert recall >= 0.6, wrong


def split_of(text: str) -> tuple[str, ...]:
    return next((one.split for one in lint(Wording(text)) if one.rule == "compound"), ())


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Uses a metaphor and ends with a question", ("Uses a metaphor", "Ends with a question")),
        (
            "The response should cite a source and mention its date",
            ("The response should cite a source", "The response should mention its date"),
        ),
        ("Is short, funny and kind", ("Is short", "Is funny", "Is kind")),
        (
            "Names one risk, suggests a remedy, and asks for consent",
            ("Names one risk", "Suggests a remedy", "Asks for consent"),
        ),
        (
            "Must acknowledge the loss but also offer a next step",
            ("Must acknowledge the loss", "Must offer a next step"),
        ),
        (
            "Explains the risk as well as suggesting an alternative",
            ("Explains the risk", "Suggests an alternative"),
        ),
        (
            "Says “be brief and use verbs” and ends with a question",
            ("Says “be brief and use verbs”", "Ends with a question"),
        ),
        ("Mentions salary. Asks about the family.", ("Mentions salary", "Asks about the family")),
        ("Compares renting and buying", ()),
    ],
)
def test_a_split_is_proposed(text: str, parts: tuple[str, ...]) -> None:
    assert split_of(text) == parts
    assert all(not split_of(part) for part in parts)


def test_checks_are_compared_by_what_they_allow() -> None:
    most = Wording("Short", "words", {"max": 50})
    rules = [one.rule for one in lint(Wording("Long", "words", {"min": 80}), [most])]
    assert rules == ["contradictory"]
    assert lint(Wording("Some", "words", {"min": 20}), [most]) == []
    assert [one.rule for one in lint(Wording("Has at least 80 words"), [most])] == ["contradictory"]
    lacks = Wording("x", "lacks", {"text": "Sea"})
    assert lint(Wording("y", "contains", {"text": "the sea"}), [lacks])
    german = Wording("x", "language", {"language": "de"})
    assert lint(Wording("y", "language", {"language": "en"}), [german])


def test_a_warning_names_the_other_one() -> None:
    (found,) = lint(Wording("Is terse"), [Wording("Uses a metaphor"), Wording("Is detailed")])
    assert "“Is detailed”" in found.message
    assert "terse" in found.message


def test_a_check_in_code_is_not_linted_for_its_words() -> None:
    assert lint(Wording("Is not good and not bad", "lacks", {"text": "x"})) == []


@pytest.mark.parametrize(
    ("text", "kind", "args"),
    [
        ("The response should be at most 120 words.", "words", {"max": 120}),
        ("Stays under 100 words", "words", {"max": 99}),
        ("Uses no more than three sentences", "sentences", {"max": 3}),
        ("Should be 2-3 sentences long", "sentences", {"min": 2, "max": 3}),
        ("Is between 80 and 120 words long", "words", {"min": 80, "max": 120}),
        ("Has more than 80 words", "words", {"min": 81}),
        ("100 words or fewer", "words", {"max": 100}),
        ("Asks exactly one question", "questions", {"min": 1, "max": 1}),
        ("Asks a question", "questions", {"min": 1}),
        ("Does not ask any questions", "questions", {"max": 0}),
        ("Must end with a question", "ends_with_question", {}),
        ("The answer is written in German", "language", {"language": "de"}),
        ("Is valid JSON", "json", {}),
        ("Mentions the phrase “opportunity cost”", "contains", {"text": "opportunity cost"}),
        ('Never says "as an AI"', "lacks", {"text": "as an AI"}),
    ],
)
def test_words_that_are_a_check_are_offered_as_one(
    text: str, kind: str, args: dict[str, object]
) -> None:
    found = offered(Wording(text))
    assert found is not None
    assert found.kind == kind
    assert args.items() <= found.args.items()


@pytest.mark.parametrize(
    "text",
    [
        "Is short",
        "Mentions three sentences from the letter",
        "Is under 100 words and funny",
        "Contains a question that the user avoids",
        "Is between nine and five words",
        "Answers in Klingon",
        "Mentions the sea",
    ],
)
def test_other_words_are_left_to_a_judge(text: str) -> None:
    assert offered(Wording(text)) is None


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=400))
def test_any_text_can_be_linted(text: str) -> None:
    for one in lint(Wording(text), [Wording(text)]):
        assert one.message
        assert len(one.split) != 1
