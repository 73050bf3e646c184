"""Recognising forgotten words in other texts; and every table has somebody who looks for them."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.store.rows import tables

import polyvox.app  # noqa: F401 - every room that registers a place is loaded with it
from polyvox.memory.tables.redaction import PLACES, TABLES, Needles, excerpt, marked, moved
from polyvox.memory.words import stem
from polyvox.store.database import Database
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


@pytest.mark.parametrize(
    ("forgotten", "text", "left"),
    [
        ("我的密码是熊猫。", "熊猫这个密码不安全。", f"{REDACTED}这个{REDACTED}不安全。"),
        ("我的密码是熊猫。", "你是我的朋友，这个猫是我的。", None),
        ("我今天很好。", "今天天气不错。", None),
        ("パスワードはパンダです。", "パンダですか。", f"{REDACTED}か。"),
        ("わたしは学生です。", "そうですか。", None),
        ("รหัสผ่านคือแพนด้า", "แพนด้าน่ารัก", f"{REDACTED}น่ารัก"),
        ("รหัสผ่านคือแพนด้า", "สวัสดีครับ", None),
        ("내 친구 민수", "민수 이야기를 해 주세요.", f"{REDACTED} 이야기를 해 주세요."),
        ("我的密码藏在湖边的旧船屋里面", "你说密码藏在湖边的旧船屋里面吗", f"你说{REDACTED}吗"),
    ],
)
def test_a_script_without_spaces_is_compared_by_its_characters(
    forgotten: str, text: str, left: str | None
) -> None:
    assert needles(forgotten).redacted(text) == left


def test_what_is_said_elsewhere_without_spaces_is_no_secret() -> None:
    found = needles("我的密码是熊猫。", said=("熊 猫 很 可 爱", "密 码"))
    assert found.redacted("熊猫和密码。") is None
    ours = frozenset({"熊猫", "密码", "码熊", "熊", "猫"})
    assert needles("我的密码是熊猫。", ordinary=ours).redacted("熊猫！") is None


@pytest.mark.parametrize(
    ("forgotten", "text", "left"),
    [
        ("My bank PIN is 4821.", "Keep 4821 safe.", f"Keep {REDACTED} safe."),
        ("Room 214.", "Is it 214?", f"Is it {REDACTED}?"),
        ("Call 55 12 30.", "So 55-12-30 it is.", f"So {REDACTED} it is."),
        ("I have 12 cats.", "A dozen is 12, and 5 is few.", None),
        ("I have HIV.", "hiv can be treated.", f"{REDACTED} can be treated."),
        ("I am gay.", "You are gay, and that is fine.", f"You are {REDACTED}, and that is fine."),
        ("I love Bo so much.", "Bo, again: what of Bo?", f"{REDACTED}, again: what of {REDACTED}?"),
        ("Bo left me.", "I am sorry that Bo did so.", f"I am sorry that {REDACTED} did so."),
        ("i like bo.", "Bo is nice. Does Bo know?", f"{REDACTED} is nice. Does {REDACTED} know?"),
        ("My code is K7.", "The code K7 is noted.", f"The {REDACTED} is noted."),
        ("I have MS.", "With MS, rest well.", f"With {REDACTED}, rest well."),
        ("I love Bo so much.", "A bo is a staff; so is it.", None),
        ("Do go on, I have it.", "Go on, I have it. Let me see. Now go.", None),
        ("NO WAY AM I GOING TO DO IT", "No way! I am on it. Do so.", None),
    ],
)
def test_short_secrets_go_and_short_words_stay(forgotten: str, text: str, left: str | None) -> None:
    ordinary = frozenset({"go", "on", "it", "all", "going", "left", "love", "like", "much"})
    faint = FAINT | {"have", "am", "me", "my", "do", "no", "on"}
    found = Needles((forgotten,), faint=faint, ordinary=ordinary, said=lambda run: run == ("bank",))
    assert found.redacted(text) == left


def test_a_whole_sentence_goes_even_if_each_word_is_said_elsewhere() -> None:
    said = ("bo", "left", "him")
    found = needles("It is late. Bo left him.", said=said, ordinary=frozenset({"left", "him"}))
    assert found.redacted("You told me: Bo left him!") == f"You told me: {REDACTED}!"
    assert found.redacted("He left him. Bo is here.") is None
    assert needles("It is so. You and I.").redacted("And it is so, you and I.") is None
    again = needles("It is late. Bo left him.", said=(*said, "bo left him"))
    assert again.redacted("You told me: Bo left him!") is None


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Falkenhorsts Ziel ist klar.", f"{REDACTED} Ziel ist klar."),
        ("The falkenhorster, then.", f"The {REDACTED}, then."),
        ("Falkenhor is a part.", f"{REDACTED} is a part."),
        ("They were painted.", f"They were {REDACTED}."),
        ("The painkiller helps.", None),
        (
            "Falkenberg is a town, Falkenhorstenberg another.",
            f"Falkenberg is a town, {REDACTED} another.",
        ),
        (
            "Der Falkenhorstweg und die NeueFalkenhorstsiedlung.",
            f"Der {REDACTED} und die {REDACTED}.",
        ),
        ("getFalkenhorst() of FalkenhorstPassword", f"{REDACTED}() of {REDACTED}"),
    ],
)
def test_other_forms_of_a_word_go_too(text: str, left: str | None) -> None:
    forgotten = ("Das Projekt heisst Falkenhorst.", "We like painting")
    assert needles(*forgotten, stem=stem).redacted(text) == left


def test_a_longer_word_that_is_said_elsewhere_stays() -> None:
    found = needles("What an action!", said=("transaction",))
    assert found.redacted("The transaction needs no reaction.") == (
        f"The transaction needs no {REDACTED}."
    )
    assert needles("So what a case it is", said=("what",)).redacted("The suitcase, in any case")


def test_a_form_that_is_said_elsewhere_stays() -> None:
    found = needles("We count the boats.", said=("country",), stem=stem)
    assert found.redacted("Which country, which counts?") == f"Which country, which {REDACTED}?"


def test_the_mark_is_never_marked() -> None:
    found = needles(REDACTED, "They redacted the report.", said=("report",))
    assert found.redacted(f"{REDACTED}.") is None
    assert found.redacted(f"A {REDACTED} and a redacted one") == (
        f"A {REDACTED} and a {REDACTED} one"
    )
    assert needles(f"{REDACTED} x").redacted("redacted") is None


def test_long_and_monotonous_texts_cost_what_they_are_long() -> None:
    asked: list[tuple[str, ...]] = []

    def said(run: Sequence[str]) -> bool:
        asked.append(tuple(run))
        return True

    passage = " ".join(f"word{number % 700} and" for number in range(3_000))
    texts = ("ha " * 10_000, passage)
    found = Needles(texts, faint=FAINT, said=said)
    for text in (*texts, passage[5:] + passage):
        assert found.redacted(text) is None
    assert len(asked) < 5_000


def test_stored_json_keeps_its_names() -> None:
    data = {
        "quillabamba": "Quillabamba.",
        "why": ["no boathouse at Quillabamba", "boathouse", 7, None],
        "model": "quillabamba",
        "answerId": "quillabamba-47110",
        "model_id": "the Quillabamba",
    }
    clean = needles().redacted_json(msgspec.json.encode(data).decode())
    assert clean is not None
    assert msgspec.json.decode(clean) == {
        "quillabamba": f"{REDACTED}.",
        "why": [f"no {REDACTED}", REDACTED, 7, None],
        "model": "quillabamba",
        "answerId": "quillabamba-47110",
        "model_id": f"the {REDACTED}",
    }
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
    assert homeless == set(), (
        "register a place (see polyvox.memory.tables.redaction), or list it here"
    )
    assert {"message", "answer", "title", "receipt", "trace", "job", "summary"} <= set(PLACES)
