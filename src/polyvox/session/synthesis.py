"""A synthesis of a turn: one more answer, by nobody of the council, that reaches no one's thread.

It is stored, streamed, stopped and retried like any answer; its attributions are read from what
was written and checked against the advisors of the turn.
"""

from __future__ import annotations

import msgspec

from polyvox.context.budget import TooLong
from polyvox.context.receipt import Seat, pack
from polyvox.context.recipe import Recipe
from polyvox.context.synthesis import attributable, compile_synthesis, read_synthesis
from polyvox.errors import Conflict
from polyvox.events import Event
from polyvox.resources import Resources
from polyvox.session.answer import AnswerJob, AnswerWriter, Call, seal
from polyvox.session.queue import TurnQueue
from polyvox.store import advisors, threads, turns, usage
from polyvox.store.database import Tx
from polyvox.thread import Other, Peer, ThreadTurn
from polyvox.values import SYNTHESIS_ID, Advisor, Answer, Params, Scope, Turn

AUTHOR = Advisor(SYNTHESIS_ID, SYNTHESIS_ID, "Synthesis", "")


async def write(
    resources: Resources,
    answers: AnswerWriter,
    queue: TurnQueue,
    scope: Scope,
    turn: Turn,
    recipe: Recipe,
    pending: Answer | None,
    *,
    wait: bool = True,
) -> Answer:
    """Have a synthesis written; `pending` is its stored place, where it has one already."""
    made = pending or await _place(resources, scope, turn, asked_for=not wait)
    job = AnswerJob(scope, turn, made.id, AUTHOR, recipe)

    async def work() -> None:
        call = await resources.database.read(lambda tx: _call(tx, resources, turn), scope)

        def act(tx: Tx) -> tuple[None, list[Event]]:
            seal(tx, job, call)
            return None, []

        resources.journal.soon(scope, turn.conversation_id, act)
        job.start(answers.write(job, call))
        await job.ended.wait()

    queue.beside([job], work, heard=False)
    if wait:
        await job.ended.wait()
    return made


async def _place(resources: Resources, scope: Scope, turn: Turn, *, asked_for: bool) -> Answer:
    """A pending synthesis, in place of the one before it."""

    def act(tx: Tx) -> tuple[Answer, list[Event]]:
        now = resources.clock()
        if asked_for and turns.get_turn(tx, turn.id).state != "completed":
            raise Conflict(
                "This turn is still being answered.", "Wait until its answers have ended."
            )
        olds = [a for a in turns.answers_of(tx, turn.id) if a.kind == "synthesis"]
        old = olds[-1] if olds else None
        answers, started = turns.add(
            tx, turn, [(AUTHOR, old)], "synthesis", 0, resources.runner_id, now
        )
        return answers[0], started

    return (await resources.journal.do(scope, turn.conversation_id, act, now=True)).value


def _call(tx: Tx, resources: Resources, turn: Turn) -> Call:
    """The request: the message and every answer to it, labelled."""
    name = resources.settings.models.synthesis or resources.models.default
    facts = resources.models.facts(name)
    limits = resources.settings.limits
    params = Params(max_tokens=facts.max_tokens or limits.max_tokens)
    peers = advisors.peers(tx)
    words = [
        Other(answer_id, advisor_id, "", peers.get(advisor_id, Peer()).called(label), text)
        for answer_id, advisor_id, label, text, _ in threads.quotable_answers(tx, turn.id)
    ]
    question = ThreadTurn(turn.id, turn.message_id, turn.depth, turn.content, turn.said_at)
    who = attributable(words)
    try:
        ratio = usage.token_ratio(tx, name)
        compiled = compile_synthesis(question, words, limits, facts, params, ratio)
    except TooLong as refusal:
        return Call(name, None, refusal=refusal)
    council = [Seat(other.advisor_id, other.label, "", "") for other in who]
    return Call(
        name,
        compiled,
        pack(compiled.draft, None, council),
        points=lambda text: msgspec.json.encode(read_synthesis(text, who)).decode(),
    )
