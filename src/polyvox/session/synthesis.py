"""A synthesis of a turn: one more answer, by nobody of the council, that reaches no one's thread.

It is stored, streamed, stopped and retried like any answer; its attributions are read from what
was written and checked against the advisors of the turn.
"""

from __future__ import annotations

from dataclasses import replace

from polyvox.context.budget import TooLong
from polyvox.context.receipt import Seat, pack
from polyvox.context.recipe import Recipe
from polyvox.context.synthesis import SynthesisReader, attributable, compile_synthesis
from polyvox.errors import Conflict, ModelError
from polyvox.events import Event
from polyvox.models.base import Request
from polyvox.resources import Resources
from polyvox.session.answer import AnswerJob, AnswerWriter, Call, seal
from polyvox.session.queue import TurnQueue
from polyvox.store import advisors, threads, turns, usage
from polyvox.store.database import Tx
from polyvox.thread import Other, Peer, ThreadTurn
from polyvox.values import SYNTHESIS_ID, Advisor, Answer, Params, Scope, Turn

AUTHOR = Advisor(SYNTHESIS_ID, SYNTHESIS_ID, "Synthesis", "")
EARLIER = 20
"""Turns before this one whose messages are sent along, at most."""


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
    """The request: the person's messages and every answer to the last one, labelled; with a schema
    where the model's wire carries one."""
    name = resources.settings.models.synthesis or resources.models.default
    facts = resources.models.facts(name)
    limits = resources.settings.limits
    params = Params(max_tokens=facts.max_tokens or limits.max_tokens)
    peers = advisors.peers(tx)
    words = [
        Other(answer_id, advisor_id, peer.slug, peer.called(label), text)
        for answer_id, advisor_id, label, text, _ in threads.quotable_answers(tx, turn.id)
        for peer in (peers.get(advisor_id, Peer()),)
    ]
    who, ratio, earlier = attributable(words), usage.token_ratio(tx, name), _earlier(tx, turn)
    council = [Seat(other.advisor_id, other.label, "", "") for other in who]
    made = []
    for structured in (True, False):
        try:
            compiled = compile_synthesis(
                _said(turn),
                words,
                limits,
                facts,
                params,
                ratio,
                earlier=earlier,
                structured=structured,
            )
        except TooLong as refusal:
            return Call(name, None, refusal=refusal)
        made.append((compiled, pack(compiled.draft, None, council)))
    data, plain = made
    reader = SynthesisReader(who)
    if facts.prompts == "full" and _carries_schema(resources, name, data[0].request):
        return Call(name, *data, reader=reader, plain=plain)
    return Call(name, *plain, reader=reader)


def _said(turn: Turn) -> ThreadTurn:
    return ThreadTurn(turn.id, turn.message_id, turn.depth, turn.content, turn.said_at)


def _earlier(tx: Tx, turn: Turn) -> list[ThreadTurn]:
    """The messages of the turns before this one on its branch, oldest first."""
    if turn.depth < 2:
        return []
    way = threads.path(tx, turn.branch_id, turn.depth - 1)
    before = turns.on_path(tx, turn.conversation_id, way, max(0, turn.depth - 1 - EARLIER))
    return [_said(each) for each in before if not each.excluded and not each.redacted]


def _carries_schema(resources: Resources, name: str, request: Request) -> bool:
    """True if a schema makes a difference to what this model is sent."""
    try:
        model = resources.models.get(name)
    except ModelError:  # its provider is gone: the call will say so
        return False
    return model.encode(request) != model.encode(replace(request, schema=None))
