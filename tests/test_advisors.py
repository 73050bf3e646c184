"""The starter council: six distinct advisors, worth reading, visible on any paper."""

from __future__ import annotations

import itertools
import re

from polyvox.session.council import plain_assistant, starter_council
from polyvox.values import ASSISTANT_ID

WHITE, NEAR_BLACK = "#ffffff", "#14161a"


def luminance(color: str) -> float:
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, two: str) -> float:
    dark, light = sorted((luminance(one), luminance(two)))
    return (light + 0.05) / (dark + 0.05)


def sentences(text: str) -> list[str]:
    return [part.strip().lower() for part in re.split(r"[.?!:;]\s+|[.?!]$", text) if part.strip()]


def test_six_in_their_order() -> None:
    council = starter_council(now=5)
    assert [who.position for who in council] == list(range(6))
    for field in ("id", "slug", "name", "color", "description"):
        assert len({getattr(who, field) for who in council}) == 6, field
    assert len({who.name[0] for who in council}) == 6  # monograms
    assert all(who.active and who.created_at == 5 for who in council)
    assert all(re.fullmatch(r"[a-z]+", who.slug) for who in council)


def test_ids_can_be_given() -> None:
    numbers = itertools.count()
    ids = [who.id for who in starter_council(make_id=lambda: f"id{next(numbers)}")]
    assert ids == [f"id{n}" for n in range(6)]


def test_descriptions_say_what_they_must() -> None:
    for who in starter_council():
        assert 80 <= len(who.description.split()) <= 150, who.slug
        for part in ("You notice", "You press", "blind spot"):
            # The listener's noticing is what it listens for.
            found = part in who.description or (who.slug, part) == ("listener", "You notice")
            assert found, (who.slug, part)
        assert "\n" not in who.description


def test_no_shared_sentences() -> None:
    seen: dict[str, str] = {}
    for who in starter_council():
        for sentence in sentences(who.description):
            assert sentence not in seen, (sentence, who.slug, seen.get(sentence))
            seen[sentence] = who.slug
    # Nor half sentences: no five words in a row are anybody else's.
    runs: dict[tuple[str, ...], str] = {}
    for who in starter_council():
        words = re.findall(r"[\w’']+", who.description.lower())
        for at in range(len(words) - 4):
            run = tuple(words[at : at + 5])
            assert runs.setdefault(run, who.slug) == who.slug, run


def test_colours_are_seen_on_white_and_on_near_black() -> None:
    colors = [who.color for who in starter_council()]
    for color in colors:
        assert re.fullmatch(r"#[0-9a-f]{6}", color)
        assert contrast(color, WHITE) >= 4.5  # AA for text
        assert contrast(color, NEAR_BLACK) >= 3.0  # AA for rules, monograms and carets
    for one, two in itertools.combinations(colors, 2):
        parts = [(int(one[at : at + 2], 16) - int(two[at : at + 2], 16)) ** 2 for at in (1, 3, 5)]
        assert sum(parts) ** 0.5 >= 50, (one, two)


def test_the_plain_assistant_is_an_advisor_like_any_other() -> None:
    assistant = plain_assistant(now=3)
    assert assistant.id == ASSISTANT_ID
    assert assistant.prompt is None
    assert assistant.created_at == 3
