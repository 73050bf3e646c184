"""What a person can ask of the road: send, stop, retry, regenerate, edit, exclude, and the rest.

Each verb checks, stores, and hands the work to the conductor; none of them waits for a model.
"""

from __future__ import annotations

from collections.abc import Sequence

from polyvox.advisors import plain_assistant
from polyvox.context.draft import Compiled
from polyvox.context.receipt import pack
from polyvox.context.recipe import Recipe
from polyvox.errors import Conflict, Invalid, NotFound, StoreError
from polyvox.events import Event
from polyvox.receive import body_hash, mentioned
from polyvox.session import changes, council, exchange, sending, starting, synthesis
from polyvox.session.answer import Call
from polyvox.session.conductor import Conductor
from polyvox.session.inspect import inspect
from polyvox.session.road import Road, jobs_for
from polyvox.session.sending import Plan
from polyvox.session.spending import Estimate, check_caps
from polyvox.session.turn import make_calls, take_turn
from polyvox.store import conversations, threads, turns
from polyvox.store.database import Tx
from polyvox.store.turns import Begun
from polyvox.values import (
    ASSISTANT_ID,
    ENDED,
    SYNTHESIS_ID,
    Advisor,
    Answer,
    Scope,
    Turn,
)


class Turns:
    """The verbs of the council turn."""

    def __init__(self, road: Road) -> None:
        self._road = road
        self.conductor = Conductor(road)

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
    ) -> Begun:
        """Store a message and have it answered. Returns as soon as it is stored. `model` asks
        everyone with that model, this once; `veto` is what its session shall not be told."""
        if self.conductor.closing:
            raise StoreError("Polyvox is shutting down.", "Send it again in a moment.")
        road = self._road
        if idempotency_key is not None:
            given, key = body_hash(content, advisors), idempotency_key
            repeat = await road.database.read(
                lambda tx: turns.find_repeat(tx, conversation_id, key, given), scope
            )
            if repeat is not None:
                return Begun(*repeat, existing=True)

        def check(tx: Tx) -> Plan:
            return sending.plan(
                tx, road, conversation_id, content, advisors, idempotency_key, model, edits
            )

        plan = await road.database.read(check, scope)
        if await council.keep_persona(road, scope, plan.asked):
            plan = await road.database.read(check, scope)
        return await self.conductor.see_through(self._send(scope, plan, edits, veto))

    async def _send(
        self, scope: Scope, plan: Plan, edits: str | None, veto: Sequence[str]
    ) -> Begun:
        def act(tx: Tx) -> tuple[Begun, list[Event]]:
            begun = sending.begin(tx, self._road, plan, edits, veto)
            return begun, begun.opening

        begun, _ = await self._road.journal.do(scope, plan.conversation.id, act, now=True)
        if not begun.existing:
            self._run(scope, begun, plan.asked, plan.recipe)
        return begun

    def _run(self, scope: Scope, begun: Begun, asked: Sequence[Advisor], recipe: Recipe) -> None:
        """Have the answers of a new turn written, after those of the turns before it."""
        road, turn = self._road, begun.turn
        jobs = jobs_for(scope, turn, begun.answers, asked, recipe)

        async def work() -> None:
            if begun.begins:
                await starting.catch_up(road, scope, recipe, begun.follows)
            await take_turn(road, jobs)
            if recipe.synthesis != "always" or any(job.halt for job in jobs):
                return
            if await self._many_spoke(scope, turn.id):
                await synthesis.write(road, self.conductor, scope, turn, recipe, None)

        self.conductor.in_turn(turn.conversation_id, jobs, work)

    async def _many_spoke(self, scope: Scope, turn_id: str) -> bool:
        words = await self._road.database.read(
            lambda tx: threads.quotable_answers(tx, turn_id, 0), scope
        )
        return len(words) > 1

    # -- again -----------------------------------------------------------------------------------

    async def again(self, scope: Scope, answer_id: str, *, retry: bool) -> Answer:
        """Retry an answer that did not complete, or regenerate one that did. The new answer takes
        the old one's place; the old one is kept as a version."""
        return await self.conductor.see_through(self._again(scope, answer_id, retry=retry))

    async def replay(self, scope: Scope, answer_id: str) -> Answer:
        """Send the very request of an answer again, rebuilt from its receipt, whatever prompts,
        history or exclusions have become since. The new answer is a further version."""
        seen = await self._road.database.read(lambda tx: inspect(tx, answer_id), scope)
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
        return await self.conductor.see_through(
            self._again(scope, answer_id, retry=False, call=call)
        )

    async def _again(
        self, scope: Scope, answer_id: str, *, retry: bool, call: Call | None = None
    ) -> Answer:
        road = self._road

        def act(tx: Tx) -> tuple[tuple[Turn, Answer, Advisor, Recipe], list[Event]]:
            old = turns.get_answer(tx, answer_id)
            _check_again(old, retry)
            turn = turns.get_turn(tx, old.turn_id)
            changes.check_there(turn)
            conversation = conversations.get(tx, old.conversation_id)
            recipe = council.find_recipe(tx, road.settings, conversation.recipe)
            advisor = self._advisor(tx, old)
            now = road.clock()
            check_caps(tx, road.settings.limits, conversation.id, turn.id, now)
            answers, started = turns.add(
                tx, turn, [(advisor, old)], old.kind, old.round, road.runner_id, now
            )
            return (turn, answers[0], advisor, recipe), started

        conversation_id = (await self.answer(scope, answer_id)).conversation_id
        made, _ = await road.journal.do(scope, conversation_id, act, now=True)
        turn, new, advisor, recipe = made
        if new.kind == "synthesis":
            await synthesis.write(road, self.conductor, scope, turn, recipe, new, wait=False)
            return new
        jobs = jobs_for(scope, turn, [new], [advisor], recipe)

        async def work() -> None:
            if call is None:
                await take_turn(road, jobs, new.round)
            else:
                await make_calls(road, jobs, [call])

        self.conductor.beside(jobs, work, heard=True)
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
        found = await self.answer(scope, answer_id)
        if found.state not in ENDED:
            await self.conductor.stop(scope, [found.id])
        return await self.answer(scope, answer_id)

    async def stop_turn(self, scope: Scope, turn_id: str) -> list[Answer]:
        """Stop every answer of a turn, and the rounds of an exchange that are still to come."""
        answers = await self._answers(scope, turn_id)
        await self.conductor.stop(scope, [a.id for a in answers])
        return await self._answers(scope, turn_id)

    async def stop_conversation(self, scope: Scope, conversation_id: str) -> None:
        """Stop whatever runs in a conversation."""
        running = [
            job.answer_id
            for job in self.conductor.jobs.values()
            if job.turn.conversation_id == conversation_id
        ]
        await self.conductor.stop(scope, running)

    # -- what is said of it ----------------------------------------------------------------------

    async def answer(self, scope: Scope, answer_id: str) -> Answer:
        """One answer as it is stored, with its text so far while it is being written."""
        return await self._road.database.read(lambda tx: turns.live_answer(tx, answer_id), scope)

    async def _answers(self, scope: Scope, turn_id: str) -> list[Answer]:
        def read(tx: Tx) -> list[Answer]:
            turns.get_turn(tx, turn_id)
            return turns.answers_of(tx, turn_id)

        return await self._road.database.read(read, scope)

    async def exclude_answer(self, scope: Scope, answer_id: str, excluded: bool) -> Answer:
        """Keep an answer out of every later request, or let it in again."""
        return await changes.exclude_answer(self._road, scope, answer_id, excluded)

    async def exclude_message(self, scope: Scope, message_id: str, excluded: bool) -> Turn:
        """Keep a message, and with it the answers to it, out of every later request; or undo it."""
        return await changes.exclude_message(self._road, scope, message_id, excluded)

    async def edit_message(self, scope: Scope, message_id: str, content: str) -> Begun:
        """Say something else instead: a branch with a new turn. The old one stays where it was."""
        turn = await self._road.database.read(
            lambda tx: turns.turn_of_message(tx, message_id), scope
        )
        known = await self._road.database.read(lambda tx: council.everyone(tx), scope)
        ids = {ASSISTANT_ID, *(advisor.id for advisor in known)}
        asked = None
        if not mentioned(content, known):  # else they say themselves whom they ask now
            asked = [one for one in turn.asked if one in ids] or None
        return await self.send(scope, turn.conversation_id, content, advisors=asked, edits=turn.id)

    # -- on request ------------------------------------------------------------------------------

    async def synthesize(self, scope: Scope, turn_id: str) -> Answer:
        """A synthesis of a turn's answers, written like an answer; again makes a new version."""
        road = self._road

        def read(tx: Tx) -> tuple[Turn, Recipe]:
            turn, recipe = self._turn(tx, turn_id)
            if not threads.quotable_answers(tx, turn_id):
                raise Conflict(
                    "There is no answer to bring together yet.", "Wait for an answer, or retry one."
                )
            check_caps(tx, road.settings.limits, turn.conversation_id, turn_id, road.clock())
            return turn, recipe

        turn, recipe = await road.database.read(read, scope)
        return await self.conductor.see_through(
            synthesis.write(road, self.conductor, scope, turn, recipe, None, wait=False)
        )

    def _turn(self, tx: Tx, turn_id: str) -> tuple[Turn, Recipe]:
        turn = turns.get_turn(tx, turn_id)
        if turn.state != "completed":
            raise Conflict(
                "This turn is still being answered.", "Wait until its answers have ended."
            )
        changes.check_there(turn)
        conversation = conversations.get(tx, turn.conversation_id)
        return turn, council.find_recipe(tx, self._road.settings, conversation.recipe)

    async def exchange(
        self, scope: Scope, turn_id: str, rounds: int, model: str | None = None
    ) -> tuple[Turn, list[Answer]]:
        """Let the advisors of a turn respond to each other for some rounds. Answers the first
        round's pending answers. `model` asks everyone with that model, this once."""
        road = self._road
        most = road.settings.limits.exchange_rounds
        if not 1 <= rounds <= most:
            raise Invalid(
                f"An exchange has 1 to {most} rounds.",
                "limits.exchange_rounds sets the most.",
                param="rounds",
            )
        turn, recipe = await road.database.read(lambda tx: self._turn(tx, turn_id), scope)
        answers = await self.conductor.see_through(
            exchange.hold(road, self.conductor, scope, turn, recipe, rounds, model)
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
        """What a message would take, for each advisor it would go to; without a conversation, as
        the first of a new one. Nothing is stored."""
        return await sending.estimate(
            self._road, scope, conversation_id, content, advisors, recipe_name
        )


def _check_again(old: Answer, retry: bool) -> None:
    if old.state not in ENDED:
        raise Conflict("This answer is still being written.", "Stop it first, or wait.")
    if not old.current:
        raise Conflict("A newer version has replaced this answer.", "Use the newest version.")
    if retry and old.state == "completed":
        raise Conflict("This answer is complete.", "Use regenerate to have it written again.")
