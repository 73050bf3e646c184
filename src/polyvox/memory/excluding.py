"""What is kept out of later requests is told by memory neither: not recalled, not summed up.

Excluding destroys nothing: what was derived from a message alone is hidden with it (facts are
excluded too, loops and lines of the profile are passed over), what was made of a whole session or
day is made again from what is left. Including it brings all of it back; a message that nothing was
derived from may have been out when its session was worked through, so it is worked through then.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from polyvox.errors import NotFound
from polyvox.memory import derive, facts
from polyvox.memory.tables import companions, derived, episodes, remembered
from polyvox.memory.tables import statements as rows
from polyvox.memory.values import Episode, Partition
from polyvox.store import jobs, sessions, turns
from polyvox.store.database import Tx
from polyvox.store.sessions import INGEST
from polyvox.store.threads import path_difference, path_to
from polyvox.values import Answer, Turn


def mark(
    tx: Tx,
    partition: Partition,
    session_id: str,
    index: int,
    now: int,
    *,
    pinned: bool | None = None,
    excluded: bool | None = None,
) -> Episode:
    """Pin a message or not; exclude it or take it back, with what is told because of it."""
    was = episodes.at_places(tx, partition, [(session_id, index)])
    marked = episodes.mark(tx, partition, session_id, index, pinned=pinned, excluded=excluded)
    if excluded is not None:
        statements, _ = rows.at_places(tx, partition, [(session_id, index)])
        for one in statements:
            if one.kind == "fact" and one.excluded != excluded:
                facts.mark(tx, partition, one.id, excluded=excluded)
        _make_anew(tx, partition, session_id, now)
        if was[session_id, index].excluded and not excluded:
            _work_through(tx, partition, marked, now)
    return marked


def follow(tx: Tx, turn: Turn, answers: Sequence[Answer], now: int) -> None:
    """A turn or an answer to it was kept out of later requests, or let in again: so it is here.
    What was not ingested because it was out is ingested then."""
    own = Partition.own(tx.scope)
    out = {f"u{turn.id}": turn.excluded}
    out |= {f"a{one.id}": turn.excluded or one.excluded for one in answers}
    places = remembered.places(tx, own, out)
    for session_id, index, ref in places:
        with suppress(NotFound):  # it was forgotten
            mark(tx, own, session_id, index, now, excluded=out[ref])
    if places:
        companions.drop_packets(tx)
    if turn.session_id is None or all(out.values()):
        return
    if sessions.get(tx, turn.session_id).ended_at is not None:
        jobs.enqueue_again(tx, INGEST, turn.session_id, now)


def follow_head(tx: Tx, conversation_id: str, before: str | None, after: str, now: int) -> None:
    """A conversation goes on from another turn (its head was one, and is another): what is not on
    the way there any more is kept out, what is on it now is let in."""
    old, new = path_to(tx, before), path_to(tx, after)
    for way, out in ((path_difference(old, new), True), (path_difference(new, old), False)):
        turned = turns.on_path(tx, conversation_id, way)
        answers = turns.answers_of_all(tx, [one.id for one in turned])
        for one in turned:
            if one.state == "completed":
                left = replace(one, excluded=out or one.excluded)
                follow(tx, left, answers[one.id], now)


def _work_through(tx: Tx, partition: Partition, one: Episode, now: int) -> None:
    """Have a message worked through, unless something is known from it."""
    known = rows.at_places(tx, partition, [(one.session_id, one.index)])
    if one.role == "user" and not any(known):
        derive.work_again(tx, partition, one.session_id, one.index, now)


def _make_anew(tx: Tx, partition: Partition, session_id: str, now: int) -> None:
    """What tells of a session as a whole."""
    if derived.find_summary(tx, partition, "session", session_id) is not None:
        derived.drop_summaries(tx, partition, "session", (session_id,))
        subject = derive.subject_of(partition, session_id)
        jobs.enqueue_again(tx, derive.SUMMARISE, subject, now)
    for day in derived.days_of(tx, partition, session_id):
        derived.drop_daily(tx, partition, (day,))
        jobs.enqueue_again(tx, derive.DAILY, derive.subject_of(partition, day), now)
