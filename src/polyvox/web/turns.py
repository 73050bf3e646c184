"""Routes of turns, answers, messages: stop, retry, regenerate, exclude, edit, inspect."""

from __future__ import annotations

from fastapi import APIRouter

from polyvox.errors import Invalid, NotFound
from polyvox.values import ASSISTANT_ID, SYNTHESIS_ID
from polyvox.web.context import App, Who
from polyvox.web.failures import responses
from polyvox.web.fields import Key
from polyvox.web.schemas import (
    AdvisorOut,
    AnswerOut,
    AnswerRef,
    ExchangeBody,
    Instruct,
    MessageOut,
    MessagePatch,
    MessagePatched,
    TurnOut,
    TurnStartedOut,
)

router = APIRouter(tags=["turns"])


@router.get("/api/answers/{answer}", responses=responses(404))
async def get_answer(app: App, who: Who, answer: Key) -> AnswerOut:
    """One answer."""
    return AnswerOut.of(await app.turns.answer(who, answer))


@router.post("/api/answers/{answer}/stop", responses=responses(404))
async def stop_answer(app: App, who: Who, answer: Key) -> AnswerOut:
    """Stop it now; the partial text is kept. One that has ended stays as it is."""
    return AnswerOut.of(await app.turns.stop_answer(who, answer))


@router.post("/api/answers/{answer}/retry", status_code=202, responses=responses(402, 404, 409))
async def retry_answer(app: App, who: Who, answer: Key) -> AnswerOut:
    """Have an answer that failed, stopped or was interrupted written again."""
    return AnswerOut.of(await app.turns.again(who, answer, retry=True))


@router.post(
    "/api/answers/{answer}/regenerate", status_code=202, responses=responses(402, 404, 409)
)
async def regenerate_answer(app: App, who: Who, answer: Key) -> AnswerOut:
    """Have an answer written anew; the old one is kept as a version."""
    return AnswerOut.of(await app.turns.again(who, answer, retry=False))


@router.post("/api/answers/{answer}/replay", status_code=202, responses=responses(402, 404, 409))
async def replay_answer(app: App, who: Who, answer: Key) -> AnswerOut:
    """Send exactly the request of this answer again; the old answer is kept as a version."""
    return AnswerOut.of(await app.turns.replay(who, answer))


@router.post("/api/answers/{answer}/exclude", responses=responses(404))
async def exclude_answer(app: App, who: Who, answer: Key) -> AnswerOut:
    """Keep it out of every later request."""
    return AnswerOut.of(await app.turns.exclude_answer(who, answer, excluded=True))


@router.post("/api/answers/{answer}/include", responses=responses(404))
async def include_answer(app: App, who: Who, answer: Key) -> AnswerOut:
    """Let it into later requests again."""
    return AnswerOut.of(await app.turns.exclude_answer(who, answer, excluded=False))


@router.post("/api/answers/{answer}/instruct", responses=responses(404, 409))
async def instruct_advisor(app: App, who: Who, answer: Key, body: Instruct) -> AdvisorOut:
    """Add an instruction to the prompt of the advisor who gave this answer, as a new version."""
    found = await app.turns.answer(who, answer)
    if found.advisor_id in (ASSISTANT_ID, SYNTHESIS_ID):
        raise NotFound("This answer is not an advisor's.", "Instruct an advisor's answer.")
    return AdvisorOut.of(await app.advisors.instruct(who, found.advisor_id, body.instruction))


@router.post("/api/turns/{turn}/stop", responses=responses(404))
async def stop_turn(app: App, who: Who, turn: Key) -> TurnOut:
    """Stop every answer of a turn."""
    answers = await app.turns.stop_turn(who, turn)
    return TurnOut(turn_id=turn, answers=[AnswerOut.of(one) for one in answers])


@router.post("/api/turns/{turn}/synthesize", status_code=202, responses=responses(402, 404, 409))
async def synthesize_turn(app: App, who: Who, turn: Key) -> AnswerOut:
    """Have the turn's answers brought together; streamed like an answer."""
    return AnswerOut.of(await app.turns.synthesize(who, turn))


@router.post("/api/turns/{turn}/exchange", status_code=202, responses=responses(402, 404, 409))
async def exchange_turn(
    app: App, who: Who, turn: Key, body: ExchangeBody | None = None
) -> TurnStartedOut:
    """Let the advisors respond to each other for some rounds."""
    rounds = body.rounds if body is not None else 1
    found, answers = await app.turns.exchange(who, turn, rounds)
    return TurnStartedOut(
        turn_id=found.id,
        message_id=found.message_id,
        session_id=found.session_id,
        state="running",
        answers=[AnswerRef(answer_id=a.id, advisor_id=a.advisor_id) for a in answers],
    )


@router.patch("/api/messages/{message}", responses=responses(402, 404, 409))
async def patch_message(app: App, who: Who, message: Key, body: MessagePatch) -> MessagePatched:
    """Edit a message (makes a branch; nothing is destroyed) or exclude it from later requests."""
    if body.content is None and body.excluded is None:
        raise Invalid("Nothing to change.", "Give content or excluded.", param="content")
    started = None
    if body.content is not None:
        begun = await app.turns.edit_message(who, message, body.content)
        started = TurnStartedOut(
            turn_id=begun.turn.id,
            message_id=begun.turn.message_id,
            session_id=begun.turn.session_id,
            state=begun.turn.state,
            answers=[AnswerRef(answer_id=a.id, advisor_id=a.advisor_id) for a in begun.answers],
        )
    if body.excluded is not None:
        await app.turns.exclude_message(who, message, body.excluded)
    turn, answers = await app.turn_of_message(who, message)
    return MessagePatched(message=MessageOut.of(turn, answers), turn=started)
