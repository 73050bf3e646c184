"""Who vouches for a word: texts that show that it did not come with what is forgotten.

Another message of the person's does. So does an answer that is older than what is forgotten, unless
it may have the word from something else that was: it stands behind a forgotten message of its
conversation, or was told the word from memory. Otherwise a secret that was said twice would outlive
both messages in whatever repeats it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property
from itertools import islice

from polyvox.memory.tables import redacting
from polyvox.memory.tables.told import Told, listed
from polyvox.store import search
from polyvox.store.database import Tx
from polyvox.store.fold import fold

ENOUGH = 20
"""So many other texts with the same words are looked at, beside the forgotten ones."""
MOST = 1_000
"""So many answers, before it is known which of them may vouch."""


class Vouching:
    """What is said in conversations where nothing is forgotten."""

    def __init__(self, tx: Tx, turns: Collection[str], since: int) -> None:
        self._tx, self._scope, self._turns, self._since = tx, tx.scope, turns, since
        self.told = Told(tx)

    @cached_property
    def earlier(self) -> dict[str, tuple[int, int]]:
        """Where something was forgotten before: at which depth and when. To be read before anything
        is marked."""
        return redacting.forgotten_before(self._tx)

    def has(self, run: Sequence[str]) -> bool:
        """Whether these words stand in another message, or in an older answer that vouches."""
        said = search.messages_with(self._tx, run, ENOUGH + len(self._turns))
        others = (text for name, text in said if name not in self._turns)
        return any(has(fold(text).split(), run) for text in others) or self._answered(run)

    def _answered(self, run: Sequence[str]) -> bool:
        rows = search.answers_with(self._tx, run, self._since, MOST)
        names = (name for name, where, depth in rows if self._is_own(where, depth, run))
        sql = "SELECT text FROM answers WHERE user_id = ? AND id"
        found = listed(self._tx, sql, islice(names, ENOUGH))
        return any(has(fold(text).split(), run) for (text,) in found)

    def _is_own(self, conversation_id: str, depth: int, run: Sequence[str]) -> bool:
        """Whether an answer has these words of itself."""
        first, _ = self.earlier.get(conversation_id, (depth + 1, 0))
        return depth < first and not self.told.knew(conversation_id, depth, run)


def has(words: Sequence[str], run: Sequence[str]) -> bool:
    """Whether these words stand in this order."""
    size = len(run)
    wanted = list(run)
    return any(words[at : at + size] == wanted for at in range(len(words) - size + 1))
