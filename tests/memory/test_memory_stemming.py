from __future__ import annotations

import re
import sqlite3
from pathlib import Path

import pytest

from polyvox.memory.words import IRREGULAR, stem

ROOT = Path(__file__).resolve().parents[2]


def test_it_is_porters_algorithm() -> None:
    """SQLite has it too; ours agrees on every word of our own pages and sources."""
    pages = [*(ROOT / "docs").glob("*.md"), *(ROOT / "src").rglob("*.py"), *ROOT.glob("*.md")]
    words = {
        word
        for page in pages
        for word in re.findall(r"[a-z]{3,30}", page.read_text("utf-8").lower())
        if word not in IRREGULAR
    } - {"ies", "eed", "sses"}  # endings that are no words: SQLite leaves their last letters on
    words |= {"relational", "conditional", "hopefulness", "formaliti", "adjustment", "controlling"}
    ordered = sorted(words)
    database = sqlite3.connect(":memory:")
    database.execute("CREATE VIRTUAL TABLE t USING fts5 (x, tokenize = 'porter unicode61')")
    database.execute("CREATE VIRTUAL TABLE v USING fts5vocab (t, 'instance')")
    database.executemany("INSERT INTO t (rowid, x) VALUES (?, ?)", enumerate(ordered))
    theirs = {ordered[doc]: term for term, doc in database.execute("SELECT term, doc FROM v")}
    database.close()

    assert len(ordered) > 2000
    assert {word: stem(word) for word in ordered} == theirs


@pytest.mark.parametrize(
    ("forms", "one"),
    [
        ("buy buys buying bought", "bui"),
        ("go going goes went gone", "go"),
        ("child children", "child"),
        ("run runs running ran", "run"),
        ("hike hikes hiking hiked", "hike"),
        ("party parties", "parti"),
        ("live lives living lived life", "live"),
        ("leave leaves leaving left", "leav"),
        ("die dies died dying", "die"),
        ("try tries tried trying", "try"),
        ("bus buses", "bu"),
    ],
)
def test_forms_of_a_word_become_one(forms: str, one: str) -> None:
    assert {stem(word) for word in forms.split()} == {one}


def test_other_words_stay() -> None:
    for word in ("straße", "2023", "東京", "a1b2", "ok", "l'été"):
        assert stem(word) == word
