"""A long past in a moment: turns taken by the road's own steps in one transaction each, only the
provider and the waiting left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tests.session.room import ME, Room
from tests.store.begin import begin_turn

from polyvox.events import TextDelta
from polyvox.memory.tell import Told, TurnView
from polyvox.recipes import recipe_for
from polyvox.session import council
from polyvox.session.answer import jobs_for, seal
from polyvox.session.council import seat
from polyvox.session.turn import compile_calls
from polyvox.store import conversations, endings, events, turns
from polyvox.store.database import Tx
from polyvox.store.endings import Ending
from polyvox.store.sessions import placed
from polyvox.store.turns import NewTurn
from polyvox.values import Advisor, Usage


async def live(
    room: Room,
    conversation: str,
    count: int,
    said: Callable[[int], str] = lambda number: f"message {number}",
    answered: Callable[[int, Advisor], str] = lambda number, who: f"{who.name} says {number}",
) -> list[str]:
    """So many turns; the ids of their answers, oldest first."""
    made: list[str] = []
    for number in range(1, count + 1):
        made += await room.polyvox.database.write(
            lambda tx, number=number: _turn(  # type: ignore[misc]  # a default binds the number
                tx, room, conversation, said(number), lambda who: answered(number, who)
            ),
            ME,
        )
    return made


def _turn(
    tx: Tx, room: Room, conversation: str, said: str, answered: Callable[[Advisor], str]
) -> list[str]:
    resources = room.polyvox.resources
    now = resources.clock()
    talk = conversations.get(tx, conversation)
    known = council.everyone(tx)
    recipe = recipe_for(tx, resources.settings, talk)
    asked: Sequence[Advisor] = council.council_of(talk, known, None, recipe)
    begun = begin_turn(
        tx,
        conversation,
        NewTurn(said, tuple(asked), now),
        placed(tx, conversation, now, None).session_id,
        resources.runner_id,
        8,
        now,
    )
    events.append(tx, conversation, begun.opening, now)
    jobs = jobs_for(ME, begun.turn, begun.answers, asked, recipe)
    view = TurnView(ME, begun.turn, recipe, tuple(seat(tx, resources, jobs)))
    calls = compile_calls(resources.settings, view, Told())
    for job, call in zip(jobs, calls, strict=True):
        assert call.compiled is not None
        call.tried.encoded = resources.models.chain(call.model).encode(call.compiled.request)
        call.tried.model = call.model
        delta = TextDelta(job.answer_id, answered(job.advisor), 0)
        (item,) = events.append(tx, conversation, [delta], now)
        turns.set_streaming(tx, job.answer_id, item.number, now)
        ending = Ending(job.answer_id, "completed", usage=Usage(1, 1), model=call.model)
        _, happened = endings.end(tx, ending, now)
        events.append(tx, conversation, happened, now)
        seal(tx, job, call)
    return [answer.id for answer in begun.answers]
