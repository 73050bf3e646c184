"""Any door's input becomes one validated message, or a clear error."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyvox.errors import Invalid
from polyvox.receive import (
    UserMessage,
    clean,
    clean_name,
    escaped,
    mended_name,
    mentioned,
    receive,
)
from polyvox.values import Advisor

ANN = Advisor("id-ann", "ann", "Ann", "")
BOB = Advisor("id-bob", "bob-2", "Bob", "")
KNOWN = (ANN, BOB)


def take(content: str, **more: object) -> UserMessage:
    return receive(content, known=KNOWN, limit=100, **more)  # type: ignore[arg-type]  # its own names


@pytest.mark.parametrize("text", ["plain", "tab\tand\nline\r\n", "Ünï 𝄞 👩‍👩‍👧", " spaces kept "])
def test_text_is_kept_as_it_is(text: str) -> None:
    message = take(text)
    assert (message.content, message.asked, message.idempotency_key) == (text, None, None)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        (" \n\t", "is empty"),
        ("\u200b\u2060\ufeff\u200d \u3164\ufe0f", "is empty"),
        ("csi \x9b31m", r"U\+009B"),
        ("nel \x85", r"U\+0085"),
        ("x" * 101, "has 101 characters; 100 is the most"),
        ("bell \x07", r"control character \(U\+0007\) at position 5"),
        ("nul \x00", r"U\+0000"),
        ("del \x7f", r"U\+007F"),
        ("lone \ud800", r"U\+D800"),
    ],
)
def test_what_cannot_be_stored_sent_and_shown_is_refused(text: str, words: str) -> None:
    with pytest.raises(Invalid, match=words) as caught:
        take(text)
    assert caught.value.param == "content"
    assert caught.value.hint


@given(st.text(max_size=100))
def test_whatever_is_taken_can_be_encoded(text: str) -> None:
    try:
        message = take(text)
    except Invalid:
        return
    assert message.content == text
    assert text.encode().decode() == text
    assert "\x00" not in text


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("Well, @ann?", ("id-ann",)),
        ("@BOB-2: and @ann", ("id-bob", "id-ann")),
        ("@ann @ann", ("id-ann",)),
        ("(@ann)", ("id-ann",)),
        ("@ann's view", ("id-ann",)),
        ("mail@ann.example and @@ann", None),
        ("Well, @annabel and @bob", None),
        ("path/@ann", None),
        ("@", None),
    ],
)
def test_mentions(text: str, asked: tuple[str, ...] | None) -> None:
    assert take(text).asked == asked
    assert mentioned(text, KNOWN) == (asked or ())


def test_named_advisors_win_over_mentions() -> None:
    assert take("@ann", advisors=["bob-2"]).asked == ("id-bob",)
    assert take("x", advisors=["@ANN", "id-bob", "ann"]).asked == ("id-ann", "id-bob")
    assert take("x", advisors=["assistant"]).asked == ("assistant",)
    with pytest.raises(Invalid, match="list of advisors is empty"):
        take("x", advisors=[])
    with pytest.raises(Invalid, match="no advisor 'zoe'") as caught:
        take("x", advisors=["zoe"])
    assert caught.value.hint == "Known advisors: ann, bob-2."
    with pytest.raises(Invalid) as caught:
        receive("x", known=(), limit=9, advisors=["zoe"])
    assert "none yet" in caught.value.hint


def test_a_key_must_be_usable() -> None:
    assert take("x", idempotency_key="k").idempotency_key == "k"
    for key in ("", " ", "x" * 201, "a\x00"):
        with pytest.raises(Invalid) as caught:
            take("x", idempotency_key=key)
        assert caught.value.param == "idempotency_key"


def test_the_body_is_the_text_and_whom_it_asks() -> None:
    bodies = {
        take(text, advisors=asked).body_hash
        for text in ("x", "y")
        for asked in (None, ["ann"], ["ann", "bob-2"])
    }
    assert len(bodies) == 6
    assert take("x", idempotency_key="a").body_hash == take("x", idempotency_key="b").body_hash


def test_nothing_may_be_empty_where_it_may() -> None:
    assert clean("", "title", 5, empty=True) == ""
    with pytest.raises(Invalid):
        clean("", "title", 5)


@pytest.mark.parametrize("name", ["Ann", "Ünï 𝄞", "👩‍👩‍👧", "עברית", "a\tb", "\ue000"])
def test_a_name_is_kept_as_it_is(name: str) -> None:
    assert clean_name(name, "name", 20) == name
    assert mended_name(name, 20) == name


@pytest.mark.parametrize(
    ("name", "words", "mended"),
    [
        ("", "is empty", "?"),
        (" \u200b", "is empty", "?"),
        ("a\nb", "more than one line", "a b"),
        ("a\u2028b", "more than one line", "a b"),
        ("a\rb", "more than one line", "a b"),
        ("a\u202eb", r"turns text around \(U\+202E\)", "ab"),
        ("\u2066a", r"U\+2066", "a"),
        ("a\x9bb", r"control character \(U\+009B\)", "ab"),
        ("x" * 21, "20 is the most", "x" * 20),
    ],
)
def test_a_name_is_one_line_that_reads_as_it_is_written(name: str, words: str, mended: str) -> None:
    with pytest.raises(Invalid, match=words) as caught:
        clean_name(name, "name", 20)
    assert caught.value.param == "name"
    assert mended_name(name, 20, "?") == mended


def test_a_title_may_be_empty_but_not_invisible() -> None:
    assert clean_name("", "title", 5, empty=True) == ""
    with pytest.raises(Invalid, match="is empty"):
        clean_name("\u200b", "title", 5, empty=True)


@given(st.text())
def test_whatever_is_mended_can_be_a_name(text: str) -> None:
    assert clean_name(mended_name(text, 20, "x"), "name", 20)


def test_json_is_given_to_a_terminal_escaped() -> None:
    assert escaped('"a\x7fb\x9b\xa0é"') == '"a\\u007fb\\u009b\xa0é"'


def test_a_message_to_nobody_asks_whom_it_is_for() -> None:
    ann = Advisor("id-ann", "ann", "Ann", "")
    with pytest.raises(Invalid, match="Whom do you mean by @anne") as caught:
        receive("@anne, what now?", known=[ann], limit=100)
    assert "Did you mean @ann?" in caught.value.hint
    assert receive("Ask @anne.", known=[ann], limit=100).asked is None
    assert receive("@anne?", known=[], limit=100).asked is None
