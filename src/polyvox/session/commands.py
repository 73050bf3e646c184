"""The commands of a person: send, stop, retry, regenerate, edit, exclude, and the rest.

Each checks, stores, and hands the work to the queue; none of them waits for a model.
"""

from __future__ import annotations

from collections.abc import Sequence

from polyvox.context.draft import Compiled
from polyvox.context.receipt import pack
from polyvox.context.recipe import Recipe
from polyvox.errors import Conflict, Invalid, NotFound, StoreError
from polyvox.events import Event
from polyvox.memory.tell import Telling
from polyvox.receive import body_hash, mentioned
from polyvox.recipes import recipe_for
from polyvox.resources import Resources
from polyvox.session import changes, council, exchange, preview, synthesis
from polyvox.session.answer import AnswerWriter, Call, OnComplete, jobs_for
from polyvox.session.begin import Plan, plan
from polyvox.session.council import plain_assistant
from polyvox.session.inspect import inspect
from polyvox.session.preview import Estimate
from polyvox.session.queue import TurnQueue
from polyvox.session.turn import TurnRunner
from polyvox.store import conversations, threads, turns
from polyvox.store.database import Tx
from polyvox.store.turns import Begun
from polyvox.store.usage import check_caps
from polyvox.values import ASSISTANT_ID, ENDED, SYNTHESIS_ID, Advisor, Answer, Scope, Turn


class Turns:
    """The commands on turns and answers."""

    def __init__(self, resources: Resources, memory: Telling, on_complete: OnComplete) -> None:
        self._resources = resources
        self._writer = AnswerWriter(resources, on_complete)
        self.queue = TurnQueue(resources)
        self._runner = TurnRunner(resources, memory, self._writer, self.queue)

    # -- sending -------------------------------------------------------------------------------

    async def send(
        self,
        scope: Scope,
        conversation_id: str,
        content: str,
        *,
        advisors: Sequence[str] | None = None,
        idempotency_key: str | None = None,
        edits: str | None = None,
        model: str | None = None,
        veto: Sequence[str] = (),
        answer_now: bool = False,
    ) -> Begun:
        """Store a message and have it answered. Returns as soon as it is stored. `model` asks
        everyone with that model, this once; `veto` is what its session shall not be told;
        `answer_now` ends the phases in which advisors only ask."""
        if self.queue.closing:
            raise StoreError("Polyvox is shutting down.", "Send it again in a moment.")
        resources = self._resources
        if idempotency_key is not None:
            given = body_hash(content, advisors, answer_now=answer_now)
            key = idempotency_key
            repeat = await resources.database.read(
                lambda tx: turns.find_repeat(tx, conversation_id, key, given), scope
            )
            if repeat is not None:
                return Begun(*repeat, existing=True)

        def check(tx: Tx) -> Plan:
            return plan(
                tx,
                resources,
                conversation_id,
                content,
                advisors,
                idempotency_key,
                model,
                edits,
                veto,
                answer_now,
            )

        checked = await resources.database.read(check, scope)
        if await council.keep_persona(resources, scope, checked.asked):
            checked = await resources.database.read(check, scope)
        return await self.queue.see_through(self._runner.begin(scope, checked))

    # -- again -----------------------------------------------------------------------------------

    async def again(self, scope: Scope, answer_id: str, *, retry: bool) -> Answer:
        """Retry an answer that did not complete, or regenerate one that did. The new answer takes
        the old one's place; the old one is kept as a version."""
        return await self.queue.see_through(self._again(scope, answer_id, retry=retry))

    async def replay(self, scope: Scope, answer_id: str) -> Answer:
        """Send the very request of an answer again, rebuilt from its receipt, whatever prompts,
        history or exclusions have become since. The new answer is a further version."""
        seen = await self._resources.database.read(lambda tx: inspect(tx, answer_id), scope)
        receipt = seen.receipt
        if receipt.sent is None or not receipt.exact or seen.answer.kind == "synthesis":
            raise Conflict(
                "The request of this answer cannot be sent again as it was.",
                "Regenerate the answer instead.",
            )
        call = Call(
            receipt.sent.model_id,
            Compiled(receipt.request, receipt.draft),
            pack(receipt.draft, None, receipt.council),
        )
        return await self.queue.see_through(self._again(scope, answer_id, retry=False, call=call))

    async def _again(
        self, scope: Scope, answer_id: str, *, retry: bool, call: Call | None = None
    ) -> Answer:
        resources = self._resources

        def act(tx: Tx) -> tuple[tuple[Turn, Answer, Advisor, Recipe], list[Event]]:
            old = turns.get_answer(tx, answer_id)
            _check_again(old, retry)
            turn = turns.get_turn(tx, old.turn_id)
            changes.check_there(turn)
            conversation = conversations.get(tx, old.conversation_id)
            recipe = recipe_for(tx, resources.settings, conversation)
            advisor = self._advisor(tx, old)
            now = resources.clock()
            check_caps(tx, resources.settings.limits, conversation.id, turn.id, now)
            answers, started = turns.add(
                tx, turn, [(advisor, old)], old.kind, old.round, resources.runner_id, now
            )
            return (turn, answers[0], advisor, recipe), started

        conversation_id = (await self.answer(scope, answer_id)).conversation_id
        made, _ = await resources.journal.do(scope, conversation_id, act, now=True)
        turn, new, advisor, recipe = made
        if new.kind == "synthesis":
            await synthesis.write(
                resources, self._writer, self.queue, scope, turn, recipe, new, wait=False
            )
            return new
        jobs = jobs_for(scope, turn, [new], [advisor], recipe)

        async def work() -> None:
            if call is None:
                await self._runner.take(jobs, new.round)
            else:
                await self._runner.ask(jobs, [call])

        self.queue.beside(jobs, work, heard=True)
        return new

    def _advisor(self, tx: Tx, answer: Answer) -> Advisor:
        if answer.kind == "synthesis":
            return Advisor(SYNTHESIS_ID, SYNTHESIS_ID, "Synthesis", "")
        if answer.advisor_id == ASSISTANT_ID:
            return plain_assistant()
        for advisor in council.everyone(tx):
            if advisor.id == answer.advisor_id:
                return advisor
        raise NotFound(
            f"The advisor {answer.advisor_name!r} was removed.", "Ask another advisor instead."
        )

    # -- stopping --------------------------------------------------------------------------------

    async def stop_answer(self, scope: Scope, answer_id: str) -> Answer:
        """Stop one answer now; its partial text is kept. One that has ended stays as it is."""
        answer = await self.answer(scope, answer_id)
        if answer.state not in ENDED:
            await self.queue.stop(scope, [answer.id])
        return await self.answer(scope, answer_id)

    async def stop_turn(self, scope: Scope, turn_id: str) -> list[Answer]:
        """Stop every answer of a turn, and the rounds of an exchange that are still to come."""
        answers = await self._answers(scope, turn_id)
        await self.queue.stop(scope, [a.id for a in answers])
        return await self._answers(scope, turn_id)

    async def stop_conversation(self, scope: Scope, conversation_id: str) -> None:
        """Stop whatever runs in a conversation."""
        running = [
            job.answer_id
            for job in self.queue.jobs.values()
            if job.turn.conversation_id == conversation_id
        ]
        await self.queue.stop(scope, running)

    # -- looking and changing --------------------------------------------------------------------

    async def answer(self, scope: Scope, answer_id: str) -> Answer:
        """One answer as it is stored, with its text so far while it is being written."""
        return await self._resources.database.read(
            lambda tx: turns.live_answer(tx, answer_id), scope
        )

    async def _answers(self, scope: Scope, turn_id: str) -> list[Answer]:
        def read(tx: Tx) -> list[Answer]:
            turns.get_turn(tx, turn_id)
            return turns.answers_of(tx, turn_id)

        return await self._resources.database.read(read, scope)

    async def exclude_answer(self, scope: Scope, answer_id: str, excluded: bool) -> Answer:
        """Keep an answer out of every later request, or let it in again."""
        return await changes.exclude_answer(self._resources, scope, answer_id, excluded)

    async def exclude_message(self, scope: Scope, message_id: str, excluded: bool) -> Turn:
        """Keep a message, and with it the answers to it, out of every later request; or undo it."""
        return await changes.exclude_message(self._resources, scope, message_id, excluded)

    async def edit_message(self, scope: Scope, message_id: str, content: str) -> Begun:
        """Say something else instead: a branch with a new turn. The old one stays where it was."""
        turn = await self._resources.database.read(
            lambda tx: turns.turn_of_message(tx, message_id), scope
        )
        known = await self._resources.database.read(lambda tx: council.everyone(tx), scope)
        ids = {ASSISTANT_ID, *(advisor.id for advisor in known)}
        asked = None
        if not mentioned(content, known):  # else they say themselves whom they ask now
            asked = [advisor_id for advisor_id in turn.asked if advisor_id in ids] or None
        return await self.send(scope, turn.conversation_id, content, advisors=asked, edits=turn.id)

    # -- on request ------------------------------------------------------------------------------

    async def synthesize(self, scope: Scope, turn_id: str) -> Answer:
        """A synthesis of a turn's answers, written like an answer; again makes a new version."""
        resources = self._resources

        def read(tx: Tx) -> tuple[Turn, Recipe]:
            turn, recipe = self._turn(tx, turn_id)
            if not threads.quotable_answers(tx, turn_id):
                raise Conflict(
                    "There is no answer to bring together yet.", "Wait for an answer, or retry one."
                )
            check_caps(
                tx, resources.settings.limits, turn.conversation_id, turn_id, resources.clock()
            )
            return turn, recipe

        turn, recipe = await resources.database.read(read, scope)
        return await self.queue.see_through(
            synthesis.write(
                resources, self._writer, self.queue, scope, turn, recipe, None, wait=False
            )
        )

    def _turn(self, tx: Tx, turn_id: str) -> tuple[Turn, Recipe]:
        turn = turns.get_turn(tx, turn_id)
        if turn.state != "completed":
            raise Conflict(
                "This turn is still being answered.", "Wait until its answers have ended."
            )
        changes.check_there(turn)
        conversation = conversations.get(tx, turn.conversation_id)
        return turn, recipe_for(tx, self._resources.settings, conversation)

    async def exchange(
        self, scope: Scope, turn_id: str, rounds: int, model: str | None = None
    ) -> tuple[Turn, list[Answer]]:
        """Let the advisors of a turn respond to each other for some rounds. Returns the first
        round's pending answers. `model` asks everyone with that model, this once."""
        resources = self._resources
        most = resources.settings.limits.exchange_rounds
        if not 1 <= rounds <= most:
            raise Invalid(
                f"An exchange has 1 to {most} rounds.",
                "limits.exchange_rounds sets the most.",
                param="rounds",
            )
        turn, recipe = await resources.database.read(lambda tx: self._turn(tx, turn_id), scope)
        answers = await self.queue.see_through(
            exchange.hold(resources, self._runner, self.queue, scope, turn, recipe, rounds, model)
        )
        return turn, list(answers)

    async def estimate(
        self,
        scope: Scope,
        conversation_id: str | None,
        content: str,
        advisors: Sequence[str] | None = None,
        recipe_name: str = "council",
    ) -> list[Estimate]:
        """Estimate a message for each advisor it would go to; without a conversation, as the first
        of a new one. Nothing is stored."""
        return await preview.estimate(
            self._resources, self._runner, scope, conversation_id, content, advisors, recipe_name
        )


def _check_again(old: Answer, retry: bool) -> None:
    if old.state not in ENDED:
        raise Conflict("This answer is still being written.", "Stop it first, or wait.")
    if not old.current:
        raise Conflict("A newer version has replaced this answer.", "Use the newest version.")
    if retry and old.state == "completed":
        raise Conflict("This answer is complete.", "Use regenerate to have it written again.")
