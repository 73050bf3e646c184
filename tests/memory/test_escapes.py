"""Letters that are written as escapes, and characters that nobody sees."""

from __future__ import annotations

import pytest

from polyvox.memory.tables.comparing import unescaped
from polyvox.memory.tables.redaction import Needles
from polyvox.values import REDACTED


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Noted: Quilla\u200bb\u00fcmba.", f"Noted: {REDACTED}."),
        ("Noted: Quilla\u00adb\u00fcmba.", f"Noted: {REDACTED}."),
        ('{"p":"quillab\\u00fcmba","b":1}', f'{{"p":"{REDACTED}","b":1}}'),
        ("https://x/?p=quillab%C3%BCmba&b", f"https://x/?p={REDACTED}&b"),
        ("<b>quillab&uuml;mba</b>", f"<b>{REDACTED}</b>"),
        ("<b>quillab&#xFC;m&#98;a</b>", f"<b>{REDACTED}</b>"),
        ("%E7%86%8A quillab%c3%bcmba%20%e7", f"%E7%86%8A {REDACTED}%20%e7"),
        ("Nothing: 100%, \\u00zz, &nosuch; &amp;, %FF%C3.", None),
    ],
)
def test_an_escape_hides_nothing(text: str, left: str | None) -> None:
    assert Needles(("It is Quillabümba.",)).redacted(text) == left


def test_what_is_forgotten_may_be_escaped_too() -> None:
    found = Needles(("It is quillab&uuml;mba.",))
    assert found.redacted("So QUILLABÜMBA?") == f"So {REDACTED}?"


@pytest.mark.parametrize("text", ["", "plain", "100% & more", "a&amp;b\u200bc%20d\\u0041"])
def test_each_character_knows_where_it_was(text: str) -> None:
    plain, starts = unescaped(text)
    if starts is None:
        assert plain == text
    else:
        assert len(starts) == len(plain) + 1
        assert starts == sorted(starts)
        assert (plain, starts[-1]) == ("a&bc dA", len(text))
