"""Numbers, codes and words in other groups than they were said in."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from polyvox.memory.tables.comparing import Regrouped, parts_of
from polyvox.memory.tables.redaction import Needles
from polyvox.values import REDACTED

USUAL = "my the is it so a on of to call me i was in and password account"
ORDINARY = frozenset(USUAL.split())


def redacted(forgotten: str, text: str, *said: str) -> str | None:
    return Needles(
        (forgotten,), ordinary=ORDINARY, said=lambda run: " ".join(run) in said
    ).redacted(text)


@pytest.mark.parametrize(
    ("forgotten", "text", "left"),
    [
        ("DE89 3704 0044 0532 0130 00", "It is DE89370400440532013000.", f"It is {REDACTED}."),
        ("DE89370400440532013000", "It is DE89 3704 0044 0532 0130 00.", f"It is {REDACTED}."),
        ("DE89370400440532013000", "It is de89-3704-0044-0532-0130-00.", f"It is {REDACTED}."),
        ("Call me on +49 151 2345 6789.", "So 015123456789.", f"So {REDACTED}."),
        ("Call me on 0151 2345 6789.", "So +4915123456789.", f"So +{REDACTED}."),
        ("Call me on 015123456789.", "So 0151 2345 6789, or 0151/23456789.",
         f"So {REDACTED}, or {REDACTED}."),
        ("The card is 4929123456781234.", "Card 4929-1234-5678-1234.",
         f"Card {REDACTED}."),
        ("My PIN is 47 11.", "So 4711 it is.", f"So {REDACTED} it is."),
        ("My password is hunter-zwei-xq.", "So hunterzweixq it is.", f"So {REDACTED} it is."),
        ("My password is hunterzweixq9.", "So hunter zweixq9.", f"So {REDACTED}."),
        ("My password is qzxhunter.", "It is q-z-x-h-u-n-t-e-r.", f"It is {REDACTED}."),
        ("My password is Quillabamba.", "So **Quilla**bamba.", f"So **{REDACTED}."),
    ],
)  # fmt: skip
def test_it_is_recognised_in_other_groups(forgotten: str, text: str, left: str) -> None:
    assert redacted(forgotten, text, "card") == left


@pytest.mark.parametrize(
    ("forgotten", "text"),
    [
        ("We go together.", "I want to get her a book."),
        ("We have 12 and 34 of them.", "In 1234 it was so."),
        ("It was 47. 11 more came.", "So 4711 it is."),
        ("It was on 2024-05-06.", "There are 100506 of them, and 2024050 too."),
        ("A well-known thing.", "It is a well done thing, known well."),
    ],
)
def test_what_only_looks_like_it_stays(forgotten: str, text: str) -> None:
    said = ("a well", "well", "known", "thing", "more", "came", "have", "them", "go", "we go")
    assert redacted(forgotten, text, *said) is None


def test_what_is_said_elsewhere_stays_in_any_groups() -> None:
    assert redacted("Take hunter-zwei-xq.", "hunterzweixq", "hunter", "hunterzweixq") is None
    assert redacted("Take hunter-zwei-xq.", "hunterzweixq", "hunter", "hunter zwei xq") is None
    assert redacted("Call 015123456789.", "0151 2345 6789", "0151 2345 6789") is None


def test_what_is_in_our_own_texts_stays_in_any_groups() -> None:
    found = Needles(
        ("It is in UTF-8, take-it-all.",), ordinary={"utf8", "take", "it", "all", "in", "is"}
    )
    assert found.redacted("So utf8, takeitall.") is None


def test_it_costs_what_the_text_is_long() -> None:
    asked: list[Sequence[str]] = []

    def said(run: Sequence[str]) -> bool:
        asked.append(run)
        return True

    digits = "1 " * 5_000
    found = Needles((digits, "1" * 5_000, "ab-" * 5_000), said=said)
    for text in (digits, "1" * 20_000, "a-b-" * 10_000, "ab" * 10_000):
        assert found.redacted(text) is None
    assert len(asked) < 500
    (part,) = [part for _, part in parts_of("x " * 1_000)]
    assert list(Regrouped([part]).found(part)) == []
