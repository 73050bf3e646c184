"""What answers were told from memory, as their receipts name it.

Each text is read once and kept while forgetting goes on: what is deleted meanwhile is still known,
so a preview and the forgetting see the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from polyvox.store.database import Row, Tx
from polyvox.store.search import fold

MANY = 400
"""Ids that one statement lists."""


class _Made(msgspec.Struct):
    template: str = ""
    whole: bool = False


class Shown(msgspec.Struct):
    """What of a receipt can hold remembered words."""

    memory: list[tuple[str, str]] = []
    note: _Made | None = None
    omitted: list[tuple[str, int, int, int, int]] = []

    def hashes(self) -> list[str]:
        """The names of the texts."""
        return [name for _, name in self.memory] + self.noted()

    def noted(self) -> list[str]:
        """The name of the summary that stood for a stretch."""
        return [self.note.template] if self.note is not None and self.note.whole else []


def shown(data: str) -> Shown:
    """What a stored receipt says of memory."""
    return msgspec.json.decode(data, type=Shown)


class Told:
    """The texts that receipts name, and who was told which word."""

    def __init__(self, tx: Tx) -> None:
        self._tx, self._scope = tx, tx.scope
        self._texts: dict[str, str | None] = {}
        self._first: dict[str, Mapping[str, int]] = {}

    def texts(self, names: Iterable[str]) -> dict[str, str]:
        """Those of these texts that are stored, by hash."""
        wanted = list(dict.fromkeys(names))
        new = [name for name in wanted if name not in self._texts]
        self._texts |= dict.fromkeys(new)
        sql = "SELECT hash, text FROM spans WHERE user_id = ? AND hash"
        self._texts.update(dict(listed(self._tx, sql, new)))
        return {name: text for name in wanted if (text := self._texts[name]) is not None}

    def knew(self, conversation_id: str, depth: int, words: Sequence[str]) -> bool:
        """Whether these words may have been told in a conversation up to there; what was told and
        is gone may have held any."""
        first = self._first.get(conversation_id)
        if first is None:
            first = self._first[conversation_id] = self._words(conversation_id)
        if first.get("", depth + 1) <= depth:
            return True
        return all(first.get(word, depth + 1) <= depth for word in words)

    def _words(self, conversation_id: str) -> Mapping[str, int]:
        """At which depth each word was told first; the empty one stands for what is gone."""
        rows = self._tx.all(
            "SELECT a.depth, r.data FROM receipts r JOIN answers a ON a.user_id = r.user_id"
            " AND a.id = r.answer_id WHERE r.user_id = ? AND r.conversation_id = ?"
            " ORDER BY a.depth",
            (self._scope.user, conversation_id),
        )
        read = [(depth, shown(data).hashes()) for depth, data in rows]
        texts = self.texts(name for _, names in read for name in names)
        first: dict[str, int] = {}
        seen: set[str] = set()
        for depth, names in read:
            for name in names:
                if name not in seen:
                    seen.add(name)
                    for word in fold(texts[name]).split() if name in texts else ("",):
                        first.setdefault(word, depth)
        return first


def listed(tx: Tx, sql: str, ids: Iterable[str]) -> list[Row]:
    """The rows of a statement that ends in the column these ids are of."""
    wanted = sorted(set(ids))
    rows: list[Row] = []
    for start in range(0, len(wanted), MANY):
        some = wanted[start : start + MANY]
        rows += tx.all(f"{sql} IN ({', '.join('?' * len(some))})", (tx.user, *some))
    return rows
