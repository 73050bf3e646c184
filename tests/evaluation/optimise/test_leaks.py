"""Nothing of the conversations gets into a prompt, and nothing harmless is kept out of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from polyvox.evaluation.optimise.leaks import leaks

SAID = (
    "My sister Brunhilde moved to Lisbon on 14.03.2019 and pays 1,250 euros. "
    "Write to her at brun@example.org or see https://example.org/flat. "
    "I am always so terribly afraid of losing my place in this family."
)
OLD = "You are a calm advisor. Ask what is missing. Answer in one sentence."
ASSERTION = "It names at least 12 steps and mentions Kant."


def found(new: str, *said: str) -> list[str]:
    return leaks(f"{OLD} {new}", (OLD, ASSERTION, "Ann"), said or (SAID,))


@pytest.mark.parametrize(
    ("new", "carried"),
    [
        ("Think of Brunhilde.", "Brunhilde"),
        ("Think of brunhilde.", "brunhilde"),
        ("As in Lisbon, be brief.", "Lisbon"),
        ("Remember 14.03.2019.", "14.03.2019"),
        ("Mention 1,250 at the end.", "1,250"),
        ("Write to brun@example.org when in doubt.", "brun@example.org"),
        ("See https://example.org/flat for more.", "https://example.org/flat"),
        (
            "Comfort those terribly afraid of losing my place in anything.",
            "terribly afraid of losing my place",
        ),
    ],
)
def test_what_is_carried_over_is_found(new: str, carried: str) -> None:
    assert any(carried in one or one in carried for one in found(new))


@pytest.mark.parametrize(
    "new",
    [
        "Use a metaphor in every answer.",
        "Name 12 steps.",
        "Mention Kant where it fits.",
        "My place is beside the person.",  # four words of theirs in a row are no quotation
        "Give at most 3 reasons.",
        "Always be so terribly kind.",
        "You, Ann, ask back.",
    ],
)
def test_what_is_general_is_let_through(new: str) -> None:
    assert found(new) == []


def test_what_stood_in_the_prompt_before_may_stay() -> None:
    old = "You are a friend of Brunhilde, since 14.03.2019."
    assert leaks(f"{old} Be kind.", (old,), (SAID,)) == []


def test_a_word_that_is_also_written_small_is_no_name() -> None:
    assert found("Ask what Will wants.", "I hope Will comes. What will come, will come.") == []
    assert found("Ask what Wilma wants.", "I hope Wilma comes.") == ["Wilma"]


def test_where_all_nouns_have_capitals_one_alone_says_nothing() -> None:
    german = (
        "Gestern hat meine Schwester Brunhilde Maier den Vertrag für das Haus in der Stadt "
        "unterschrieben, und jetzt hat sie Angst vor dem Umzug und vor der Arbeit im Garten."
    )
    assert found("Frage nach der Angst und der Arbeit.", german) == []
    assert found("Denk an Brunhilde Maier.", german) == ["Brunhilde Maier"]


def test_scripts_without_spaces_are_compared_by_their_characters() -> None:
    said = "私の妹は去年の春に遠い町へ引っ越してとても寂しいと言っています。"
    assert found("去年の春に遠い町へ引っ越しての話をする。", said)
    assert found("いつも比喩を使って短く答える。", said) == []


def test_no_more_than_a_few_are_named() -> None:
    names = [f"Name{letter}" for letter in "abcdefghij"]
    said = "I met " + " and then ".join(names) + "."
    assert len(found("Greet " + ", ".join(names) + ".", said)) == 5


@given(some.text(max_size=200), some.text(max_size=200))
def test_any_text_can_be_checked(new: str, said: str) -> None:
    assert leaks(new, (new,), (said,)) == []
    assert isinstance(leaks(new, (), (said,)), list)
