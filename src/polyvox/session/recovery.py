"""After a crash: whatever a dead process left open is closed as interrupted, with all it had said.

Only answers of runners that are gone are touched, so a terminal and a server share a database.
"""

from __future__ import annotations

from polyvox.ids import Clock
from polyvox.store import endings, events
from polyvox.store.database import Database, Tx
from polyvox.store.endings import Ending
from polyvox.store.runners import Runner


async def recover(database: Database, runner: Runner, clock: Clock) -> int:
    """Close what nobody is writing any more; answers how many answers that were."""
    left = await database.read(endings.open_answers)
    gone = await runner.dead({who for *_, who in left if who is not None})
    orphans = [entry for entry in left if entry[3] is None or entry[3] in gone]

    def close(tx: Tx) -> int:
        closed = 0
        for scope, conversation_id, answer_id, _ in orphans:
            own, now = tx.of(scope), clock()
            ended, happened = endings.end(own, Ending(answer_id, "interrupted"), now)
            events.append(own, conversation_id, happened, now)
            closed += ended is not None
        return closed

    return await database.write(close) if orphans else 0
