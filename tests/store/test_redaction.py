"""Recognising forgotten words in other texts; and every table has somebody who looks for them."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.store.rows import tables

import polyvox.app  # noqa: F401 - every room that registers a place is loaded with it
from polyvox.store.database import Database
from polyvox.store.redaction import PLACES, TABLES, Needles, excerpt, marked, moved
from polyvox.values import REDACTED

FAINT = frozenset({"the", "of", "i", "a", "to", "is", "it", "in", "and", "so", "you", "at", "with"})
SAID = "I keep the key of the boathouse at Quillabamba, box 47110."
MEMORY = {
    "claims", "daily_analyses", "episode_sources", "episodes", "extractions", "facts",
    "forgotten_sessions", "loop_endings", "loop_sightings", "profile_entries", "profiles",
    "shelf_words", "shelves", "summaries", "transcripts", "vector_bits", "vector_models", "vectors",
}  # fmt: skip
"""What memory forgets by itself, row by row."""
NOBODYS = {
    "advisors", "branches", "councils", "evaluations", "prompt_versions", "ratios", "recipes",
    "runners", "schema_version", "sessions", "usage", "users",
}  # fmt: skip
"""Tables that hold no words of a conversation."""


def needles(*texts: str, said: tuple[str, ...] = (), **more: object) -> Needles:
    return Needles(
        texts or (SAID,),
        faint=FAINT,
        said=lambda run: any(f" {' '.join(run)} " in f" {one} " for one in said),
        **more,  # type: ignore[arg-type]  # spelt by tests
    )


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("You said QUILLABAMBA.", f"You said {REDACTED}."),
        ("At Quíllabamba, then?", f"{REDACTED}, then?"),
        ("the key of the boathouse at Quillabamba", REDACTED),
        ("Is 47110 the number?", f"Is {REDACTED} the number?"),
        ("The key, of the... boathouse!", f"{REDACTED}!"),
        ("It is in a box.", None),
        ("A key is a key.", None),
        ("", None),
    ],
)
def test_what_repeats_it_becomes_a_mark(text: str, left: str | None) -> None:
    said = ("keep", "boathouse", "key", "box")
    assert needles(said=said).redacted(text) == left


def test_what_the_person_says_elsewhere_is_no_secret() -> None:
    said = ("quillabamba", "boathouse", "keep", "47110", "the key of the boathouse")
    found = needles(said=said)
    assert found.redacted("Quillabamba has a boathouse.") is None
    assert found.redacted("Bring the key of the boathouse.") is None
    assert found.redacted("the key of the boathouse at Quillabamba") == REDACTED


def test_our_own_words_are_no_secret() -> None:
    found = needles(
        "Answer with warmth, always.", ordinary=frozenset({"warmth", "answer", "always"})
    )
    assert found.redacted("You speak with warmth.") is None


def test_what_was_derived_counts_only_for_what_is_dropped_whole() -> None:
    found = needles(derived=("They were worried about zeppelins.",))
    assert found.redacted("Zeppelins again?") is None
    assert found.tells("Zeppelins again?")
    assert found.tells("the boathouse at Quillabamba")
    assert not found.tells("Nothing of it.")


def test_a_script_without_spaces_needs_more_than_a_few_characters() -> None:
    found = needles("我的密码藏在湖边的旧船屋里面")
    assert found.redacted("密码藏") is None
    assert found.redacted("你说密码藏在湖边的旧船屋里面吗") == f"你说{REDACTED}吗"


def test_stored_json_keeps_its_names() -> None:
    data = {"quillabamba": "quillabamba", "why": ["no boathouse at Quillabamba", 7, None]}
    clean = needles().redacted_json(msgspec.json.encode(data).decode())
    assert clean is not None
    read = msgspec.json.decode(clean)
    assert read == {"quillabamba": "quillabamba", "why": [f"no {REDACTED}", 7, None]}
    assert needles().redacted_json('{"a": "nothing of it"}') is None


WORDS = st.sampled_from(["the", "key", "boathouse", "Quillabamba", "tea", "of", "rain", "47110"])
TEXTS = st.lists(st.tuples(WORDS, st.sampled_from([" ", ", ", ".\n", " – "])), max_size=30).map(
    lambda parts: "".join(word + gap for word, gap in parts)
)


@given(TEXTS)
def test_afterwards_there_is_nothing_left_to_find(text: str) -> None:
    found = needles()
    clean = found.redacted(text)
    if clean is None:
        assert "quillabamba" not in text.lower()
    else:
        assert "quillabamba" not in clean.lower()
        assert found.redacted(clean) is None, "doing it again changes nothing"


@given(TEXTS, st.data())
def test_offsets_move_with_the_text(text: str, data: st.DataObject) -> None:
    spans = needles().spans(text)
    new = marked(text, spans)
    assert moved(0, spans) == 0 or (spans and spans[0][0] == 0)
    assert moved(len(text), spans) == len(new)
    offset = data.draw(st.integers(0, len(text)))
    later = data.draw(st.integers(offset, len(text)))
    assert moved(offset, spans) <= moved(later, spans) <= len(new)
    if not any(start < offset < end for start, end in spans):
        assert new[: moved(offset, spans)] == marked(
            text[:offset], [one for one in spans if one[1] <= offset]
        )


def test_an_excerpt_is_one_short_line() -> None:
    assert excerpt("a\n b ") == "a b"
    assert len(excerpt("word " * 100)) <= 160


async def test_every_table_says_who_forgets_in_it(sqlite_database: Database) -> None:
    found = set(await sqlite_database.read(tables))
    homeless = found - TABLES - MEMORY - NOBODYS
    assert homeless == set(), "register a place (see polyvox.store.redaction), or list it here"
    assert {"message", "answer", "title", "receipt", "trace", "job", "summary"} <= set(PLACES)
