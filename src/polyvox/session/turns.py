"""What a person can ask of the road: send, stop, retry, regenerate, edit, exclude, and the rest.

Each verb checks, stores, and hands the work to the conductor; none of them waits for a model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from polyvox.advisors import plain_assistant
from polyvox.context.budget import TooLong
from polyvox.context.compile import compile_request
from polyvox.context.recipe import Recipe
from polyvox.context.thread import Said, Thread
from polyvox.errors import Conflict, Invalid, NotFound, StoreError
from polyvox.events import Event
from polyvox.ids import new_id
from polyvox.models.prices import cost_of
from polyvox.receive import UserMessage, receive
from polyvox.session import council, lifecycle, synthesis
from polyvox.session.conductor import Conductor
from polyvox.session.road import Job, Road
from polyvox.session.spending import Estimate, check_caps
from polyvox.session.turn import (
    model_for,
    params_for,
    prepare,
    take_turn,
)
from polyvox.store import conversations, threads, turns
from polyvox.store.database import Tx
from polyvox.store.turns import Begun, NewTurn
from polyvox.values import (
    ASSISTANT_ID,
    ENDED,
    SYNTHESIS_ID,
    Advisor,
    Answer,
    Conversation,
    Scope,
    Turn,
    Usage,
)


@dataclass(frozen=True, slots=True)
class _Plan:
    """A message that was checked, with everything needed to begin its turn."""

    conversation: Conversation
    message: UserMessage
    recipe: Recipe
    asked: tuple[Advisor, ...]


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
    ) -> Begun:
        """Store a message and have it answered. Returns as soon as it is stored."""
        if self.conductor.closing:
            raise StoreError("Polyvox is shutting down.", "Send it again in a moment.")
        road = self._road
        plan = await road.database.read(
            lambda tx: self._plan(tx, scope, conversation_id, content, advisors, idempotency_key)
        )
        made: list[Begun] = []

        def act(tx: Tx) -> list[Event]:
            made.clear()
            made.append(self._begin(tx, scope, plan, edits))
            return made[0].opening

        await road.journal.do(scope, conversation_id, act, now=True)
        begun = made[0]
        if not begun.existing:
            self._run(scope, begun.turn, begun.answers, plan.asked, plan.recipe)
        return begun

    def _plan(
        self,
        tx: Tx,
        scope: Scope,
        conversation_id: str,
        content: str,
        advisors: Sequence[str] | None,
        key: str | None,
    ) -> _Plan:
        road, limits = self._road, self._road.settings.limits
        conversation = conversations.get(tx, scope, conversation_id)
        known = council.everyone(tx, scope)
        message = receive(
            content, known=known, limit=limits.message_chars, advisors=advisors, idempotency_key=key
        )
        recipe = council.find_recipe(tx, scope, road.settings, conversation.recipe)
        asked = council.council_of(conversation, known, message.asked)
        if key is None or not turns.find_repeat(
            tx, scope, conversation_id, key, message.body_hash
        ):
            check_caps(tx, scope, limits, conversation_id, None, road.clock())
            self._refuse_too_long(recipe, asked, content)
        return _Plan(conversation, message, recipe, asked)

    def _refuse_too_long(self, recipe: Recipe, asked: Sequence[Advisor], content: str) -> None:
        """A message that fits none of its advisors is refused before anything is stored."""
        said = Said("", "", 1, content, self._road.clock())
        refusal: TooLong | None = None
        for advisor in asked:
            facts = self._road.models.facts(model_for(self._road, recipe, advisor))
            params = params_for(self._road, recipe, advisor, facts)
            try:
                compile_request(
                    recipe, Thread(advisor, said), self._road.settings.limits, facts, params
                )
            except TooLong as error:
                refusal = error
            else:
                return
        if refusal is not None:
            raise Invalid(refusal.message, refusal.hint, param="content")

    def _begin(self, tx: Tx, scope: Scope, plan: _Plan, edits: str | None) -> Begun:
        road, message = self._road, plan.message
        now = road.clock()
        idle = None if plan.recipe.name == "agent" else road.settings.sessions.idle_minutes
        new = NewTurn(
            content=message.content,
            asked=plan.asked,
            said_at=now,
            idempotency_key=message.idempotency_key,
            body_hash=message.body_hash,
            edits=edits,
        )
        return turns.begin(
            tx,
            scope,
            plan.conversation.id,
            new,
            lambda: lifecycle.session_for(tx, scope, plan.conversation.id, now, idle),
            road.runner_id,
            road.settings.limits.queue,
            now,
        )

    def _run(
        self,
        scope: Scope,
        turn: Turn,
        answers: Sequence[Answer],
        asked: Sequence[Advisor],
        recipe: Recipe,
    ) -> None:
        """Have the answers of a new turn written, after those of the turns before it."""
        road = self._road
        jobs = _jobs(scope, turn, answers, asked, recipe)

        async def work() -> None:
            if turn.state == "queued":
                await road.database.write(lambda tx: turns.set_running(tx, scope, turn.id))
            await take_turn(road, jobs)
            if recipe.synthesis == "always" and await self._many_spoke(scope, turn.id):
                await synthesis.write(road, self.conductor, scope, turn, recipe, None)

        self.conductor.in_turn(turn.conversation_id, jobs, work)

    async def _many_spoke(self, scope: Scope, turn_id: str) -> bool:
        words = await self._road.database.read(
            lambda tx: threads.words_of(tx, scope, turn_id, 0)
        )
        return len(words) > 1

    # -- again -----------------------------------------------------------------------------------

    async def again(self, scope: Scope, answer_id: str, *, retry: bool) -> Answer:
        """Retry an answer that did not complete, or regenerate one that did. The new answer takes
        the old one's place; the old one is kept as a version."""
        road = self._road
        made: list[tuple[Turn, Answer, Advisor, Recipe]] = []

        def act(tx: Tx) -> list[Event]:
            made.clear()
            old = turns.get_answer(tx, scope, answer_id)
            _check_again(old, retry)
            turn = turns.get_turn(tx, scope, old.turn_id)
            conversation = conversations.get(tx, scope, old.conversation_id)
            recipe = council.find_recipe(tx, scope, road.settings, conversation.recipe)
            advisor = self._advisor(tx, scope, old)
            now = road.clock()
            check_caps(tx, scope, road.settings.limits, conversation.id, turn.id, now)
            answers, started = turns.add(
                tx, scope, turn, [(advisor, old)], old.kind, old.round, road.runner_id, now
            )
            made.append((turn, answers[0], advisor, recipe))
            return started

        conversation_id = (await self.answer(scope, answer_id)).conversation_id
        await road.journal.do(scope, conversation_id, act, now=True)
        turn, new, advisor, recipe = made[0]
        if new.kind == "synthesis":
            await synthesis.write(road, self.conductor, scope, turn, recipe, new, wait=False)
            return new
        jobs = _jobs(scope, turn, [new], [advisor], recipe)
        self.conductor.beside(jobs, lambda: take_turn(road, jobs, new.round))
        return new

    def _advisor(self, tx: Tx, scope: Scope, answer: Answer) -> Advisor:
        if answer.kind == "synthesis":
            return Advisor(SYNTHESIS_ID, SYNTHESIS_ID, "Synthesis", "")
        if answer.advisor_id == ASSISTANT_ID:
            return plain_assistant()
        for advisor in council.everyone(tx, scope):
            if advisor.id == answer.advisor_id:
                return advisor
        raise NotFound(
            f"The advisor {answer.advisor_name!r} was removed.", "Ask another advisor instead."
        )

    # -- stopping --------------------------------------------------------------------------------

    async def stop_answer(self, scope: Scope, answer_id: str) -> Answer:
        """Stop one answer now; its partial text is kept. One that has ended stays as it is."""
        found = await self.answer(scope, answer_id)
        await self.conductor.stop(scope, [found.id])
        return await self.answer(scope, answer_id)

    async def stop_turn(self, scope: Scope, turn_id: str) -> list[Answer]:
        """Stop every answer of a turn."""
        answers = await self._answers(scope, turn_id)
        await self.conductor.stop(scope, [a.id for a in answers if a.state not in ENDED])
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
        """One answer as it is stored."""
        return await self._road.database.read(lambda tx: turns.get_answer(tx, scope, answer_id))

    async def _answers(self, scope: Scope, turn_id: str) -> list[Answer]:
        def read(tx: Tx) -> list[Answer]:
            turns.get_turn(tx, scope, turn_id)
            return turns.answers_of(tx, scope, turn_id)

        return await self._road.database.read(read)

    async def exclude_answer(self, scope: Scope, answer_id: str, excluded: bool) -> Answer:
        """Keep an answer out of every later request, or let it in again."""

        def write(tx: Tx) -> Answer:
            turns.get_answer(tx, scope, answer_id)
            turns.set_excluded(tx, scope, "answers", answer_id, excluded)
            return turns.get_answer(tx, scope, answer_id)

        return await self._road.database.write(write)

    async def exclude_message(self, scope: Scope, message_id: str, excluded: bool) -> Turn:
        """Keep a message, and with it the answers to it, out of every later request; or undo it."""

        def write(tx: Tx) -> Turn:
            turn = turns.turn_of_message(tx, scope, message_id)
            turns.set_excluded(tx, scope, "turns", turn.id, excluded)
            return turns.get_turn(tx, scope, turn.id)

        return await self._road.database.write(write)

    async def edit_message(self, scope: Scope, message_id: str, content: str) -> Begun:
        """Say something else instead: a branch with a new turn. The old one stays where it was."""
        turn = await self._road.database.read(
            lambda tx: turns.turn_of_message(tx, scope, message_id)
        )
        known = {ASSISTANT_ID, *(a.id for a in await self._everyone(scope))}
        asked = [one for one in turn.asked if one in known and one != ASSISTANT_ID]
        return await self.send(
            scope, turn.conversation_id, content, advisors=asked or None, edits=turn.id
        )

    async def _everyone(self, scope: Scope) -> list[Advisor]:
        return await self._road.database.read(lambda tx: council.everyone(tx, scope))

    # -- on request ------------------------------------------------------------------------------

    async def synthesize(self, scope: Scope, turn_id: str) -> Answer:
        """A synthesis of a turn's answers, written like an answer; again makes a new version."""
        road = self._road
        turn, recipe = await road.database.read(lambda tx: self._turn(tx, scope, turn_id))
        if not await self._spoken(scope, turn_id):
            raise Conflict(
                "There is no answer to bring together yet.", "Wait for an answer, or retry one."
            )
        return await synthesis.write(road, self.conductor, scope, turn, recipe, None, wait=False)

    async def _spoken(self, scope: Scope, turn_id: str) -> list[str]:
        words = await self._road.database.read(lambda tx: threads.words_of(tx, scope, turn_id))
        return list(dict.fromkeys(word[1] for word in words))

    def _turn(self, tx: Tx, scope: Scope, turn_id: str) -> tuple[Turn, Recipe]:
        turn = turns.get_turn(tx, scope, turn_id)
        if turn.state != "completed":
            raise Conflict(
                "This turn is still being answered.", "Wait until its answers have ended."
            )
        conversation = conversations.get(tx, scope, turn.conversation_id)
        return turn, council.find_recipe(tx, scope, self._road.settings, conversation.recipe)

    async def exchange(self, scope: Scope, turn_id: str, rounds: int) -> tuple[Turn, list[Answer]]:
        """Let the advisors of a turn respond to each other for some rounds. Answers the first
        round's pending answers."""
        road = self._road
        most = road.settings.limits.exchange_rounds
        if not 1 <= rounds <= most:
            raise Invalid(
                f"An exchange has 1 to {most} rounds.",
                "limits.exchange_rounds sets the most.",
                param="rounds",
            )
        turn, recipe = await road.database.read(lambda tx: self._turn(tx, scope, turn_id))
        jobs = await self._round(scope, turn, recipe, now=True)
        tracked = list(jobs)

        async def work() -> None:
            current = jobs
            for left in range(rounds - 1, -1, -1):
                await take_turn(road, current, await self._round_of(scope, current))
                if not left or any(job.halt for job in current) or self.conductor.closing:
                    return
                current = await self._round(scope, turn, recipe, now=False)
                if not current:
                    return
                tracked.extend(current)
                self.conductor.remember(current)

        self.conductor.in_turn(turn.conversation_id, tracked, work)
        answers = [await self.answer(scope, job.answer_id) for job in jobs]
        return turn, answers

    async def _round_of(self, scope: Scope, jobs: Sequence[Job]) -> int:
        return (await self.answer(scope, jobs[0].answer_id)).round

    async def _round(self, scope: Scope, turn: Turn, recipe: Recipe, *, now: bool) -> list[Job]:
        """Pending answers for the next round: everyone who spoke in the round before. A first
        round needs two; a later one that finds fewer, or a spent cap, ends the exchange."""
        road = self._road
        made: list[list[Job]] = []

        def act(tx: Tx) -> list[Event]:
            made.clear()
            at = road.clock()
            words = threads.words_of(tx, scope, turn.id)
            last = max((word[4] for word in words), default=0)
            spoke = {word[1] for word in words if word[4] == last}
            everyone = [plain_assistant(), *council.everyone(tx, scope)]
            who = [advisor for advisor in everyone if advisor.id in spoke]
            if len(who) < 2:
                raise Conflict(
                    "An exchange needs at least two answers.", "Ask several advisors, or retry."
                )
            check_caps(tx, scope, road.settings.limits, turn.conversation_id, turn.id, at)
            order = {one: place for place, one in enumerate(turn.asked)}
            who.sort(key=lambda advisor: order.get(advisor.id, len(order)))
            answers, started = turns.add(
                tx, scope, turn, [(a, None) for a in who], "exchange", last + 1, road.runner_id, at
            )
            made.append(_jobs(scope, turn, answers, who, recipe))
            return started

        try:
            await road.journal.do(scope, turn.conversation_id, act, now=now)
        except Conflict:
            if now:
                raise
            return []
        return made[0]

    async def estimate(
        self,
        scope: Scope,
        conversation_id: str,
        content: str,
        advisors: Sequence[str] | None = None,
    ) -> list[Estimate]:
        """What a message would take, for each advisor it would go to. Nothing is stored."""
        road = self._road

        def read(tx: Tx) -> list[Estimate]:
            conversation = conversations.get(tx, scope, conversation_id)
            known = council.everyone(tx, scope)
            message = receive(
                content,
                known=known,
                limit=road.settings.limits.message_chars,
                advisors=advisors,
            )
            recipe = council.find_recipe(tx, scope, road.settings, conversation.recipe)
            asked = council.council_of(conversation, known, message.asked)
            turn = _next_turn(tx, scope, conversation, content, road.clock())
            jobs = [Job(scope, turn, new_id(), advisor, recipe) for advisor in asked]
            slugs = {advisor.id: advisor.slug for advisor in known}
            found = []
            for job, call in zip(jobs, prepare(tx, road, jobs, slugs), strict=True):
                if call.compiled is None:
                    raise Invalid(
                        str(call.refusal), call.refusal.hint if call.refusal else "", param="content"
                    )
                tokens = call.compiled.draft.input_tokens
                most = call.compiled.request.params.max_tokens or 0
                cost = cost_of(call.model, Usage(tokens, most))
                found.append(
                    Estimate(job.advisor.id, job.advisor.name, call.model, tokens, most, cost)
                )
            return found

        return await road.database.read(read)


def _jobs(
    scope: Scope,
    turn: Turn,
    answers: Sequence[Answer],
    asked: Sequence[Advisor],
    recipe: Recipe,
) -> list[Job]:
    return [
        Job(scope, turn, answer.id, advisor, recipe)
        for answer, advisor in zip(answers, asked, strict=True)
    ]


def _check_again(old: Answer, retry: bool) -> None:
    if old.state not in ENDED:
        raise Conflict("This answer is still being written.", "Stop it first, or wait.")
    if not old.current:
        raise Conflict("A newer version has replaced this answer.", "Use the newest version.")
    if retry and old.state == "completed":
        raise Conflict("This answer is complete.", "Use regenerate to have it written again.")


def _next_turn(
    tx: Tx, scope: Scope, conversation: Conversation, content: str, now: int
) -> Turn:
    """The turn a message would become."""
    head = turns.get_turn(tx, scope, conversation.head_id) if conversation.head_id else None
    return Turn(
        id=new_id(),
        conversation_id=conversation.id,
        message_id=new_id(),
        session_id=head.session_id if head else None,
        parent_id=head.id if head else None,
        branch_id=head.branch_id if head else "",
        depth=head.depth + 1 if head else 1,
        content=content,
        said_at=now,
        asked=(),
        state="queued",
        excluded=False,
        created_at=now,
    )
