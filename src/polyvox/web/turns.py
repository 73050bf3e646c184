"""Routes of turns, answers and messages: stop, retry, regenerate, exclude, edit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from polyvox.errors import Invalid, NotFound
from polyvox.fields import Body, Filled, Message
from polyvox.shapes import AnswerOut, MessageOut
from polyvox.values import ASSISTANT_ID, SYNTHESIS_ID, Advisor, Answer, Turn, TurnState
from polyvox.web.dependencies import App, Key, Who
from polyvox.web.errors import responses
from polyvox.web.openapi import Router

router = Router("turns")


class Instruct(Body):
    """An instruction to append to the advisor's prompt."""

    instruction: Annotated[Filled, Field(min_length=1, max_length=10_000)]


class MessagePatch(Body):
    """Another content makes a branch; `excluded` keeps the message out of later requests."""

    content: Message | None = None
    excluded: bool | None = None


class ExchangeBody(Body):
    """Rounds in which the advisors respond to each other."""

    rounds: int = Field(1, ge=1, le=20)


@dataclass(frozen=True, slots=True)
class AnswerRef:
    """The place of an answer to come."""

    answer_id: str
    advisor_id: str


@dataclass(frozen=True, slots=True)
class TurnStartedOut:
    """The message is stored; its answers are on their way."""

    turn_id: str
    message_id: str
    session_id: str | None
    """The session that the message belongs to."""
    state: TurnState
    answers: list[AnswerRef]

    @classmethod
    def of(
        cls, turn: Turn, answers: Iterable[Answer], state: TurnState | None = None
    ) -> TurnStartedOut:
        """From the values; `state` where the turn's own is older than its answers."""
        references = [AnswerRef(answer.id, answer.advisor_id) for answer in answers]
        return cls(turn.id, turn.message_id, turn.session_id, state or turn.state, references)


@dataclass(frozen=True, slots=True)
class MessagePatched:
    """The message as it is now, or the turn of the new branch."""

    message: MessageOut
    turn: TurnStartedOut | None


@dataclass(frozen=True, slots=True)
class TurnOut:
    """A turn and its answers."""

    turn_id: str
    answers: list[AnswerOut]


@router.get("/api/answers/{answer}")
async def get_answer(app: App, who: Who, answer: Key) -> AnswerOut:
    """One answer."""
    return AnswerOut.of(await app.turns.answer(who, answer))


@router.post("/api/answers/{answer}/stop")
async def stop_answer(app: App, who: Who, answer: Key) -> AnswerOut:
    """Stop it now; the partial text is kept. One that has ended stays as it is."""
    return AnswerOut.of(await app.turns.stop_answer(who, answer))


@router.post("/api/answers/{answer}/retry", status_code=202, responses=responses(402, 409))
async def retry_answer(app: App, who: Who, answer: Key) -> AnswerOut:
    """Have an answer that failed, stopped or was interrupted written again."""
    return AnswerOut.of(await app.turns.again(who, answer, retry=True))


@router.post("/api/answers/{answer}/regenerate", status_code=202, responses=responses(402, 409))
async def regenerate_answer(app: App, who: Who, answer: Key) -> AnswerOut:
    """Have an answer written anew; the old one is kept as a version."""
    return AnswerOut.of(await app.turns.again(who, answer, retry=False))


@router.post("/api/answers/{answer}/replay", status_code=202, responses=responses(402, 409))
async def replay_answer(app: App, who: Who, answer: Key) -> AnswerOut:
    """Send exactly the request of this answer again; the old answer is kept as a version."""
    return AnswerOut.of(await app.turns.replay(who, answer))


@router.post("/api/answers/{answer}/exclude")
async def exclude_answer(app: App, who: Who, answer: Key) -> AnswerOut:
    """Keep it out of every later request."""
    return AnswerOut.of(await app.turns.exclude_answer(who, answer, excluded=True))


@router.post("/api/answers/{answer}/include")
async def include_answer(app: App, who: Who, answer: Key) -> AnswerOut:
    """Let it into later requests again."""
    return AnswerOut.of(await app.turns.exclude_answer(who, answer, excluded=False))


@router.post("/api/answers/{answer}/instruct", responses=responses(409))
async def instruct_advisor(app: App, who: Who, answer: Key, body: Instruct) -> Advisor:
    """Add an instruction to the prompt of the advisor who gave this answer, as a new version."""
    advisor_id = (await app.turns.answer(who, answer)).advisor_id
    if advisor_id in (ASSISTANT_ID, SYNTHESIS_ID):
        raise NotFound("This answer is not an advisor's.", "Instruct an advisor's answer.")
    return await app.advisors.instruct(who, advisor_id, body.instruction)


@router.post("/api/turns/{turn}/stop")
async def stop_turn(app: App, who: Who, turn: Key) -> TurnOut:
    """Stop every answer of a turn."""
    answers = await app.turns.stop_turn(who, turn)
    return TurnOut(turn, [AnswerOut.of(answer) for answer in answers])


@router.post("/api/turns/{turn}/synthesize", status_code=202, responses=responses(402, 409))
async def synthesize_turn(app: App, who: Who, turn: Key) -> AnswerOut:
    """Have the turn's answers brought together; streamed like an answer."""
    return AnswerOut.of(await app.turns.synthesize(who, turn))


@router.post("/api/turns/{turn}/exchange", status_code=202, responses=responses(402, 409))
async def exchange_turn(
    app: App, who: Who, turn: Key, body: ExchangeBody | None = None
) -> TurnStartedOut:
    """Let the advisors respond to each other for some rounds."""
    rounds = body.rounds if body is not None else 1
    return TurnStartedOut.of(*await app.turns.exchange(who, turn, rounds), state="running")


@router.patch("/api/messages/{message}", responses=responses(402, 409))
async def patch_message(app: App, who: Who, message: Key, body: MessagePatch) -> MessagePatched:
    """Edit a message (makes a branch; nothing is destroyed) or exclude it from later requests."""
    if body.content is None and body.excluded is None:
        raise Invalid("Nothing to change.", "Give content or excluded.", param="content")
    started = None
    if body.content is not None:
        begun = await app.turns.edit_message(who, message, body.content)
        started = TurnStartedOut.of(begun.turn, begun.answers)
    if body.excluded is not None:
        await app.turns.exclude_message(who, message, body.excluded)
    return MessagePatched(MessageOut.of(*await app.turn_of_message(who, message)), started)
