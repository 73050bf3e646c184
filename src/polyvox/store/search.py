"""Full-text search over messages, answers and titles: FTS5 on SQLite, tsvector on PostgreSQL.

One contract for both: all words of a query must occur (in any form of them: both stem), words in
quotes as a phrase. A query is folded to bare words before a database sees it, so that nothing a
person types can be a syntax error. A search never leaves its scope.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from polyvox.store.database import Database, Row, Tx
from polyvox.values import Scope

# -- folding: text as a search compares it. Lower case, no accents, words parted by spaces ---------
# Both databases get folded text and folded queries, so that they agree on what a word is. Scripts
# that do not part their words get every character as a word of its own, and a query in them
# becomes a phrase.

_UNPARTED = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Myanmar
    (0x1780, 0x17FF),  # Khmer
    (0x2E80, 0x2FDF),  # radicals
    (0x3005, 0x3007),
    (0x3040, 0x30FF),  # kana
    (0x31F0, 0x31FF),
    (0x3400, 0x4DBF),  # Han
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0xFF66, 0xFF9D),
    (0x20000, 0x3FFFF),
)


class _Folding(dict[int, str]):
    """Characters and their folded forms, worked out when a character is first seen."""

    def __missing__(self, code: int) -> str:
        self[code] = folded = _fold_one(chr(code))
        return folded


def _fold_one(letter: str) -> str:
    code = ord(letter)
    if 0x0300 <= code <= 0x036F:  # an accent on its own
        return ""
    if unicodedata.category(letter) == "Cf":  # nothing to be seen: it parts no word
        return ""
    if not unicodedata.category(letter).startswith(("L", "N", "M")):
        return " "
    if any(first <= code <= last for first, last in _UNPARTED):
        return f" {letter} "
    if unicodedata.category(letter) in ("Lo", "Mn", "Mc"):
        # Decomposing these (Hangul, Devanagari) would take words apart.
        return letter
    plain = unicodedata.normalize("NFKD", letter.casefold())
    kept = "".join(part for part in plain if not 0x0300 <= ord(part) <= 0x036F)
    return "".join(part if part.isalnum() else " " for part in kept)


_folding = _Folding()


def fold(text: str) -> str:
    """The words of a text, parted by spaces."""
    return text.translate(_folding)


def places(text: str) -> list[int]:
    """For each character of `fold(text)`, which character of `text` it came from."""
    return [index for index, letter in enumerate(text) for _ in _folding[ord(letter)]]


Kind = Literal["message", "answer", "title"]

INDEXED_CHARS = 200_000
"""Characters of a text that are indexed: a tsvector holds one megabyte."""
MOST_PHRASES = 32
LONGEST_WORD = 255
SNIPPET = 160
LEAD = 40

_PART = re.compile(r'"([^"]*)"|([^\s"]+)')
_MARK = re.compile(r"<([^<>]*)>")
_WORD = re.compile(r"\S+")
_FOUND = (
    "SELECT p.kind, p.id, p.conversation_id, COALESCE(t.content, a.text, c.title),"
    " COALESCE(t.created_at, a.created_at, c.created_at), COALESCE(t.id, a.turn_id),"
    " a.advisor_id, a.advisor_name, c.title, best.doc FROM best JOIN passages p"
)
_JOINS = (
    " JOIN conversations c ON c.user_id = p.user_id AND c.id = p.conversation_id"
    " LEFT JOIN turns t ON p.kind = 'message' AND t.user_id = p.user_id AND t.id = p.id"
    " LEFT JOIN answers a ON p.kind = 'answer' AND a.user_id = p.user_id AND a.id = p.id"
    " WHERE p.kind = 'title' OR t.id IS NOT NULL OR a.id IS NOT NULL"
    " ORDER BY best.score, p.id DESC"
)


@dataclass(frozen=True, slots=True)
class Hit:
    """One place where a query was found."""

    conversation_id: str
    title: str
    """The conversation's title."""
    kind: Kind
    id: str
    """Id of the turn whose message it is, of the answer, or (a title) of the conversation."""
    turn_id: str | None
    advisor_id: str | None
    advisor_name: str | None
    snippet: str
    marks: tuple[tuple[int, int], ...]
    """Places of the words in the snippet: (start, end) each."""
    at: int


def index(tx: Tx, conversation_id: str, kind: Kind, row_id: str, text: str) -> None:
    """Index a text in place of the one indexed for this row before."""
    remove(tx, kind, row_id)
    words = fold(text[:INDEXED_CHARS])
    if tx.dialect == "sqlite":
        tx.run("INSERT INTO passage_words (words) VALUES (?)", (words,))
        tx.run(
            "INSERT INTO passages (user_id, kind, id, conversation_id, doc)"
            " VALUES (?, ?, ?, ?, last_insert_rowid())",
            (tx.user, kind, row_id, conversation_id),
        )
    else:
        tx.run(
            "INSERT INTO passages (user_id, kind, id, conversation_id, words) VALUES (?, ?, ?, ?,"
            " to_tsvector('polyvox_words', CAST(? AS TEXT)) || CAST(? AS TSVECTOR))",
            (tx.user, kind, row_id, conversation_id, words, _owner(tx.scope)),
        )


def remove(tx: Tx, kind: Kind, row_id: str) -> None:
    """Remove a row's text from the index."""
    _remove(tx, "user_id = ? AND kind = ? AND id = ?", (tx.user, kind, row_id))


def remove_conversation(tx: Tx, conversation_id: str) -> None:
    """Remove all texts of a conversation from the index."""
    _remove(tx, "user_id = ? AND conversation_id = ?", (tx.user, conversation_id))


async def search(database: Database, scope: Scope, query: str, limit: int = 20) -> list[Hit]:
    """Passages that match the query, best first."""
    phrases = phrases_of(query)
    if not phrases or limit < 1:
        return []
    return await database.read(lambda tx: _search(tx, phrases, limit), scope)


def messages_with(tx: Tx, words: Sequence[str], limit: int) -> list[tuple[str, str]]:
    """Messages with these words in this order, in some form of them: (turn id, text). Any `limit`
    of them."""
    return _having(tx, words, "message", "t.id, t.content", "turns t", "", (), limit)


def answers_with(
    tx: Tx, words: Sequence[str], before: int, limit: int
) -> list[tuple[str, str, int]]:
    """The same for answers from before a time: (id, conversation, depth)."""
    columns, older = "a.id, a.conversation_id, a.depth", " AND a.created_at < ?"
    return _having(tx, words, "answer", columns, "answers a", older, (before,), limit)


def _having(
    tx: Tx,
    words: Sequence[str],
    kind: Kind,
    columns: str,
    table: str,
    where: str,
    params: tuple[int, ...],
    limit: int,
) -> list[Row]:
    phrase = [word[:LONGEST_WORD] for word in words]
    name = table[-1]
    rest = f" AND p.kind = ?{where} LIMIT ?"
    joined = f" JOIN {table} ON {name}.user_id = p.user_id AND {name}.id = p.id"
    if tx.dialect == "sqlite":
        wanted = f'"{" ".join(phrase)}"'
        return tx.all(
            f"SELECT {columns} FROM passage_words JOIN passages p"
            f" ON p.user_id = ? AND p.doc = passage_words.rowid{joined}"
            f" WHERE passage_words MATCH ?{rest}",
            (tx.user, wanted, kind, *params, limit),
        )
    return tx.all(
        f"SELECT {columns} FROM passages p{joined} WHERE p.user_id = ? AND p.words @@"
        f" (CAST(? AS TSQUERY) && to_tsquery('polyvox_words', CAST(? AS TEXT))){rest}",
        (tx.user, _owner(tx.scope), " <-> ".join(phrase), kind, *params, limit),
    )


def phrases_of(query: str) -> list[list[str]]:
    """Split a typed query into phrases of bare words; most are one word long."""
    parts = [quoted or word for quoted, word in _PART.findall(query)]
    folded = [[word[:LONGEST_WORD] for word in fold(part).split()] for part in parts]
    return [words for words in folded if words][:MOST_PHRASES]


def _search(tx: Tx, phrases: list[list[str]], limit: int) -> list[Hit]:
    """Find the best passages by their words alone, then read their texts."""
    if tx.dialect == "sqlite":
        wanted = " AND ".join(f'"{" ".join(phrase)}"' for phrase in phrases)
        rows = tx.all(
            "WITH best (doc, score) AS MATERIALIZED (SELECT mine.doc, bm25(passage_words)"
            " FROM passage_words JOIN passages mine"
            " ON mine.user_id = ? AND mine.doc = passage_words.rowid"
            " WHERE passage_words MATCH ? ORDER BY 2, 1 DESC LIMIT ?)"
            f" {_FOUND} ON p.user_id = ? AND p.doc = best.doc{_JOINS}",
            (tx.user, wanted, limit, tx.user),
        )
    else:
        wanted = " & ".join(f"({' <-> '.join(phrase)})" for phrase in phrases)
        rows = tx.all(
            "WITH best (kind, id, doc, score) AS MATERIALIZED"
            " (SELECT kind, id, 0, -ts_rank(words, wanted) FROM passages"
            " CROSS JOIN to_tsquery('polyvox_words', CAST(? AS TEXT)) AS wanted"
            " WHERE user_id = ? AND words @@ (CAST(? AS TSQUERY) && wanted)"
            " ORDER BY 4, 2 DESC LIMIT ?)"
            f" {_FOUND} ON p.user_id = ? AND p.kind = best.kind AND p.id = best.id{_JOINS}",
            (wanted, tx.user, _owner(tx.scope), limit, tx.user),
        )
    return [_hit(row, _highlighted(tx, wanted, row[3], row[9])) for row in rows]


def _highlighted(tx: Tx, wanted: str, text: str, doc: int) -> str:
    """The folded text with the words that were found in angle brackets."""
    if tx.dialect == "sqlite":
        row = tx.one(
            "SELECT highlight(passage_words, 0, '<', '>') FROM passage_words"
            " WHERE passage_words MATCH ? AND rowid = ?",
            (wanted, doc),
        )
    else:
        row = tx.one(
            "SELECT ts_headline('polyvox_words', CAST(? AS TEXT),"
            " to_tsquery('polyvox_words', CAST(? AS TEXT)),"
            " 'HighlightAll=true,StartSel=<,StopSel=>')",
            (fold(text[:INDEXED_CHARS]), wanted),
        )
    return "" if row is None else str(row[0])


def _hit(row: Row, highlighted: str) -> Hit:
    kind, row_id, conversation_id, text, at, turn_id, advisor_id, advisor_name, title = row[:9]
    snippet, marks = _snippet(text, _spans(text, highlighted))
    return Hit(
        conversation_id, title, kind, row_id, turn_id, advisor_id, advisor_name, snippet, marks, at
    )


def _spans(text: str, highlighted: str) -> list[tuple[int, int]]:
    """Places in `text` of the words that stand in angle brackets in its folded form (which has no
    brackets of its own)."""
    origin = places(text[:INDEXED_CHARS])
    if len(highlighted.replace("<", "").replace(">", "")) != len(origin):
        return []  # the text has changed since it was indexed
    merged: list[tuple[int, int]] = []
    for count, mark in enumerate(_MARK.finditer(highlighted)):
        for word in _WORD.finditer(mark[1]):
            place = mark.start() - 2 * count + word.start()
            start, end = origin[place], origin[place + len(word[0]) - 1] + 1
            if merged and merged[-1][1] == start:
                merged[-1] = (merged[-1][0], end)
            else:
                merged.append((start, end))
    return merged


def _snippet(text: str, spans: list[tuple[int, int]]) -> tuple[str, tuple[tuple[int, int], ...]]:
    """The stretch of a text that holds the most found words, and where they are in it."""
    best = max(
        range(len(spans)),
        key=lambda i: (sum(spans[i][0] <= s < spans[i][0] + SNIPPET for s, _ in spans), -i),
        default=None,
    )
    start = 0 if best is None else max(0, spans[best][0] - LEAD)
    if start:
        start = min(text.find(" ", start) + 1 or start, spans[best or 0][0])
    end = min(len(text), start + SNIPPET)
    if end < len(text):
        space = text.rfind(" ", start + SNIPPET // 2, end)
        end = space if space > 0 else end
    opening, closing = "…" if start else "", "…" if end < len(text) else ""
    shift = len(opening) - start
    inside = [(s + shift, e + shift) for s, e in spans if start <= s and e <= end]
    words = re.sub(r"\s", " ", text[start:end])
    return f"{opening}{words}{closing}", tuple(inside)


def _remove(tx: Tx, where: str, params: tuple[str, ...]) -> None:
    if tx.dialect == "sqlite":
        tx.run(
            f"DELETE FROM passage_words WHERE rowid IN (SELECT doc FROM passages WHERE {where})",
            params,
        )
    tx.run(f"DELETE FROM passages WHERE {where}", params)


def _owner(scope: Scope) -> str:
    """One word that stands for a user, so that PostgreSQL's index looks at their words only.
    (On SQLite it cost more than it saved: bm25 counts how often every word of a query occurs.)"""
    return f"u{hashlib.sha256(scope.user.encode()).hexdigest()[:24]}"
