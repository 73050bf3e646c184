"""An exchange: rounds in which the advisors of a turn respond to what the others said before.

Each round is stored as pending answers before anyone is asked; caps, a stop and the end of the
program hold between rounds. A round in which nobody spoke is had again, not skipped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from polyvox.context.recipe import Recipe
from polyvox.errors import CapReached, Conflict
from polyvox.events import Event, ExchangeNotice
from polyvox.resources import Resources
from polyvox.session import council
from polyvox.session.answer import AnswerJob, jobs_for
from polyvox.session.council import plain_assistant
from polyvox.session.queue import TurnQueue
from polyvox.session.turn import TurnRunner
from polyvox.store import threads, turns
from polyvox.store.database import Tx
from polyvox.store.usage import check_caps
from polyvox.values import Advisor, Answer, Scope, Turn

EARLY = (
    "Nobody has taken a position yet, so they ask further instead of arguing.",
    "Answer their questions first.",
)


@dataclass(frozen=True, slots=True)
class _Round:
    """One round's answers, about to be written."""

    number: int
    answers: tuple[Answer, ...]
    jobs: list[AnswerJob]


async def hold(
    resources: Resources,
    runner: TurnRunner,
    queue: TurnQueue,
    scope: Scope,
    turn: Turn,
    recipe: Recipe,
    rounds: int,
    model: str | None,
) -> tuple[Answer, ...]:
    """Have an exchange of so many rounds; returns the first round's pending answers."""
    first = await _store(resources, scope, turn, recipe, model)
    jobs = list(first.jobs)

    async def work() -> None:
        current: _Round | None = first
        for left in reversed(range(rounds)):
            if current is None:
                return
            await runner.take(current.jobs, current.number)
            if not left or _stopped(current) or queue.closing:
                return
            before, current = current, await _next(resources, scope, turn, recipe, model, current)
            if current is not None:
                jobs.extend(current.jobs)
                queue.remember(current.jobs)
                if _stopped(before):  # while the next round was being stored
                    for job in current.jobs:
                        job.end_early("stopped")

    queue.in_turn(turn.conversation_id, jobs, work)
    return first.answers


def _stopped(round_: _Round) -> bool:
    return any(job.halt for job in round_.jobs)


async def _next(
    resources: Resources, scope: Scope, turn: Turn, recipe: Recipe, model: str | None, last: _Round
) -> _Round | None:
    """A further round; None where fewer than two spoke in the last one, or a cap is reached, which
    the listeners are told."""
    try:
        return await _store(resources, scope, turn, recipe, model, last)
    except (Conflict, CapReached) as error:
        rounds = f"{last.number} {'round' if last.number == 1 else 'rounds'}"
        message = f"The exchange ended after {rounds}. {error.message}"
        notice = ExchangeNotice(turn.id, "cut", message, error.hint)
        await resources.journal.do(
            scope, turn.conversation_id, lambda _: (None, [notice]), now=True
        )
        return None


async def _store(
    resources: Resources,
    scope: Scope,
    turn: Turn,
    recipe: Recipe,
    model: str | None,
    last: _Round | None = None,
) -> _Round:
    """The round after `last`, or the first one to be had, as pending answers."""

    def act(tx: Tx) -> tuple[_Round, list[Event]]:
        now = resources.clock()
        if last is None and turns.get_turn(tx, turn.id).state != "completed":
            raise Conflict("This turn is being answered already.", "Wait until it is complete.")
        number, who = _who(tx, turn)
        if last is not None and number <= last.number:
            raise Conflict("Nobody spoke in the last round.", "Retry its answers.")
        check_caps(tx, resources.settings.limits, turn.conversation_id, turn.id, now)
        silent = {
            answer.advisor_id: answer
            for answer in turns.answers_of(tx, turn.id)
            if answer.current and answer.kind == "exchange" and answer.round == number
        }
        asked = [(advisor, silent.get(advisor.id)) for advisor in who]
        answers, started = turns.add(tx, turn, asked, "exchange", number, resources.runner_id, now)
        jobs = jobs_for(scope, turn, answers, council.with_model(who, model), recipe)
        early = last is None and council.nobody_took_a_position(tx, turn, recipe)
        notices: list[Event] = [ExchangeNotice(turn.id, "early", *EARLY)] if early else []
        return _Round(number, answers, jobs), [*started, *notices]

    return (await resources.journal.do(scope, turn.conversation_id, act, now=last is None)).value


def _who(tx: Tx, turn: Turn) -> tuple[int, Sequence[Advisor]]:
    """The next round's number, and everyone who spoke in the last one, in the turn's order."""
    words = threads.quotable_answers(tx, turn.id)
    last = max((word[4] for word in words), default=0)
    spoke = {word[1] for word in words if word[4] == last}
    everyone = [plain_assistant(), *council.everyone(tx)]
    who = [advisor for advisor in everyone if advisor.id in spoke]
    if len(who) < 2:
        raise Conflict("An exchange needs at least two answers.", "Ask several advisors, or retry.")
    order = {advisor_id: place for place, advisor_id in enumerate(turn.asked)}
    return last + 1, sorted(who, key=lambda advisor: order.get(advisor.id, len(order)))
