"""The companion's door: one message in, one reply out, and the trace of how it came about.

The turn runs on the road like any other: it is stored, and goes on though the caller leaves.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from fastapi import Header, Query, Request
from pydantic import BaseModel, ConfigDict, Field

from polyvox.app import Polyvox
from polyvox.companion.personas import RECIPE, Persona, find_or_make, meet, personas
from polyvox.errors import MODEL_ERRORS, BadInput, Conflict, Invalid, ModelError, Unavailable
from polyvox.fields import Id, RecipeName
from polyvox.memory import trace_words
from polyvox.receive import clean, visible
from polyvox.session.inspect import trace_of
from polyvox.shapes import ConversationOut
from polyvox.values import Advisor, Answer, Conversation, Failure, Scope
from polyvox.web.dependencies import App, Key, Who
from polyvox.web.errors import responses
from polyvox.web.forms import KINDS, Form, read
from polyvox.web.openapi import Router

router = Router("companion")

LONGEST_ID = 200
MOST_VETOES, LONGEST_ITEM = 200, 500
FIELDS: dict[str, Any] = {
    "type": "object",
    "required": ["personaId"],
    "properties": {
        "personaId": {"type": "string", "description": "An advisor's id or slug, or a persona."},
        "text": {"type": "string", "description": "What is said."},
        "language": {"type": "string", "description": "The language of what is said, for speech."},
        "conversationId": {
            "type": "string",
            "description": "Which conversation; default: the one with this persona.",
        },
        "veto": {
            "type": "string",
            "description": "What the session shall not be told: ids that GET /api/memory/start"
            " gives, separated by commas or lines.",
        },
    },
}
BODY = {
    "requestBody": {
        "required": True,
        "content": {kind: {"schema": FIELDS} for kind in KINDS},
    }
}


class TimingOut(BaseModel):
    """Durations of the steps, in ms."""

    stt_ms: float
    llm_ms: float
    tts_ms: float
    total_ms: float


class BlockOut(BaseModel):
    """A block of the system prompt, as it was sent."""

    name: str
    text: str


class DebugOut(BaseModel):
    """The parts that the debug headers ask for."""

    context: list[BlockOut] | None = None
    prompt: dict[str, Any] | None = None


class ChatOut(BaseModel):
    """The message as it was understood, and the reply."""

    model_config = ConfigDict(populate_by_name=True)

    transcript: str
    response: str
    audio_url: str | None = Field(alias="audioUrl")
    timing: TimingOut
    request_id: str = Field(alias="requestId")
    """The turn's id: its trace is at /api/turns/ID/trace."""
    debug: DebugOut | None = None


class RuntimeOut(BaseModel):
    """The use of the session's start brief in this turn."""

    model_config = ConfigDict(populate_by_name=True)

    session_id: str | None
    user_turns_seen: int | None = Field(alias="userTurnsSeen")
    handover_injected: bool
    bridge_injected: bool
    ops_injected: bool
    ops_source: str | None
    startbrief_fetch: str
    """none, fetched, cached, brief (the plainer packet), empty, failed or invalidated."""
    reinjection_used: bool


class DecisionOut(BaseModel):
    """A decision in words."""

    topic: str
    text: str
    why: str
    """Empty where the decision speaks for itself."""


class TraceWordsOut(BaseModel):
    """A trace in words that a person understands."""

    decisions: list[DecisionOut]
    missing: list[str]
    """The degrades."""
    steps: dict[str, str]
    """Names of the timings."""

    @classmethod
    def of(cls, trace: Mapping[str, Any]) -> TraceWordsOut:
        """From a trace."""
        return cls(
            decisions=[DecisionOut(**each._asdict()) for each in trace_words.decisions(trace)],
            missing=[trace_words.missing(degrade) for degrade in trace["degrades"]],
            steps=trace_words.steps(trace["timings"]),
        )


class TraceOut(BaseModel):
    """Decisions for an answer with their reasons, the calls of its model, and timings."""

    model_config = ConfigDict(populate_by_name=True)

    turn_id: str
    conversation_id: str
    answer_id: str
    advisor_id: str
    state: str
    startbrief_used: bool
    startbrief_fallback: bool
    startbrief_items_count: int
    bridge_chars: int = Field(alias="bridgeText_chars")
    startbrief_runtime: RuntimeOut
    system_blocks: list[str]
    """In the order in which they were sent."""
    gate: str
    """The model that read the message, or none."""
    gate_degrade: str | None
    reading: dict[str, Any] | None
    posture: dict[str, Any] | None
    overlay: str | None
    overlay_reason: str
    handover_reason: str
    ops_reason: str
    user_context: list[str]
    recall: dict[str, Any] | None
    degrades: list[str]
    model: str
    attempts: list[dict[str, Any]]
    timings: dict[str, float | None]
    words: TraceWordsOut


Flag = Annotated[str | None, Header(description="1 adds it, where the server's debug is on.")]


@router.post(
    "/api/chat",
    responses=responses(402, 404, 409, 429, 502, 504),
    response_model_exclude_unset=True,
    openapi_extra=BODY,
)
async def chat(
    app: App,
    who: Who,
    request: Request,
    x_debug_context: Flag = None,
    x_debug_prompt: Flag = None,
) -> ChatOut:
    """Say something to a companion and wait for its reply. The fields come as a form, with files or
    without, or as JSON."""
    began = time.perf_counter()
    form = read(request.headers.get("content-type", ""), await request.body())
    persona_id, text = _fields(form, app.settings.limits.message_chars)
    persona, conversation = await _find(app, who, persona_id, form.texts.get("conversationId"))
    veto = _veto(form.texts.get("veto", ""))
    try:
        begun = await app.turns.send(who, conversation.id, text, advisors=[persona.id], veto=veto)
    except Invalid as error:
        raise _named(error) from None
    answer = await _ended(app, who, begun.answers[0].id)
    timings = (await _trace(app, who, begun.turn.id, answer.id))["timings"]
    timing = TimingOut(
        stt_ms=0,
        llm_ms=timings["llm_ms"] or 0,
        tts_ms=0,
        total_ms=round((time.perf_counter() - began) * 1000, 1),
    )
    out = ChatOut(
        transcript=text,
        response=answer.text,
        audio_url=None,
        timing=timing,
        request_id=begun.turn.id,
    )
    if app.settings.debug != "off" and "1" in (x_debug_context, x_debug_prompt):
        out.debug = await _debug(app, who, answer.id, x_debug_context, x_debug_prompt)
    return out


@router.get("/api/turns/{turn}/trace")
async def get_trace(
    app: App, who: Who, turn: Key, answer: Annotated[Id | None, Query()] = None
) -> TraceOut:
    """The trace of a turn: of its answer as it is now, or of the one named."""
    trace = await _trace(app, who, turn, answer)
    return TraceOut.model_validate({**trace, "words": TraceWordsOut.of(trace)})


async def _trace(app: Polyvox, who: Scope, turn: str, answer: str | None) -> dict[str, Any]:
    return await app.database.read(lambda tx: trace_of(tx, turn, answer), who)


def _fields(form: Form, most: int) -> tuple[str, str]:
    """The persona and what is said to it, in at most so many characters."""
    if "audioBlob" in form.files or "audioBlob" in form.texts:
        raise BadInput(
            "Speech cannot be heard here yet.", "Send what is said as text.", param="audioBlob"
        )
    persona, text = form.texts.get("personaId", "").strip(), form.texts.get("text")
    if not persona:
        raise BadInput("personaId is missing.", "Say whom you talk to.", param="personaId")
    for name in ("personaId", "conversationId", "language"):
        given = form.texts.get(name, "").strip()
        if len(given) > LONGEST_ID or not given.isprintable():
            raise BadInput(f"{name} is not an id.", "Give an id or a slug.", param=name)
    if text is None:
        raise BadInput("text is missing.", "Send what is said.", param="text")
    if not visible(text):
        raise BadInput("text is empty.", "Say something.", param="text")
    try:
        return persona, clean(text, "text", most)
    except Invalid as error:
        raise _named(error) from None


def _named(error: Invalid) -> BadInput:
    """An error about a message, with the name that its field has here."""
    if error.param not in ("text", "content"):
        return error
    return BadInput(error.message, error.hint, param="text")


def _veto(text: str) -> list[str]:
    """The ids of what shall not be told."""
    ids = [item.strip() for line in text.splitlines() for item in line.split(",")]
    vetoes = [item for item in ids if item]
    if len(vetoes) > MOST_VETOES or any(len(item) > LONGEST_ITEM for item in vetoes):
        raise BadInput(
            "veto names too much.", f"Give at most {MOST_VETOES} ids of items.", param="veto"
        )
    return vetoes


async def _find(
    app: Polyvox, who: Scope, persona_id: str, conversation_id: str | None
) -> tuple[Advisor, Conversation]:
    if not conversation_id or not conversation_id.strip():
        return await meet(app.database, app.clock, who, persona_id)
    conversation = await app.conversations.get(who, conversation_id.strip())
    if not (await app.traits(who, conversation.recipe)).persona:
        raise BadInput(
            f"That conversation has the recipe {conversation.recipe}, not {RECIPE}.",
            "Leave conversationId out, or name a conversation with a companion.",
            param="conversationId",
        )
    now = app.clock()
    persona = await app.database.write(lambda tx: find_or_make(tx, persona_id, now), who)
    return persona, conversation


async def _ended(app: Polyvox, who: Scope, answer_id: str) -> Answer:
    """The answer once it has ended; a failure as the error that it is."""
    job = app.turns.queue.jobs.get(answer_id)
    if job is not None:
        await job.ended.wait()
    answer = await app.turns.answer(who, answer_id)
    if answer.state == "completed" or (answer.state == "stopped" and visible(answer.text)):
        return answer
    if answer.state == "failed":
        raise _error(answer.failure)
    if answer.state == "interrupted":
        kept = "what it had said is kept" if visible(answer.text) else "nothing of it had come"
        raise Unavailable(
            f"Polyvox was shut down while the reply was being written; {kept}, and so is the"
            " message.",
            f"Once it runs again: POST /api/answers/{answer.id}/retry.",
        )
    raise Conflict("The reply was stopped before any words came.", "Say it again.")


def _error(failure: Failure | None) -> ModelError:
    if failure is None:
        return Unavailable("The reply failed.", "Say it again.")
    return MODEL_ERRORS.get(failure.category, Unavailable)(failure.message, failure.hint)


async def _debug(
    app: Polyvox, who: Scope, answer_id: str, context: str | None, prompt: str | None
) -> DebugOut:
    seen = await app.receipt(who, answer_id)
    out = DebugOut()
    if context == "1":
        draft = seen.receipt.draft
        sent = (*draft.blocks, *(draft.memory if draft.memory_sent else ()))
        names = {"identity": "persona"}  # as the trace has it
        out.context = [BlockOut(name=names.get(b.kind, b.kind), text=b.text) for b in sent]
    if prompt == "1" and seen.body is not None:
        out.prompt = msgspec.json.decode(seen.body)
    return out


@router.get("/api/personas")
async def list_personas(app: App, who: Who) -> list[Persona]:
    """List the personas that come with the program, then the advisors that you talk to alone."""
    return await app.database.read(personas, who)


@router.post("/api/personas/{persona}/conversation")
async def meet_persona(
    app: App, who: Who, persona: Key, recipe: RecipeName = RECIPE
) -> ConversationOut:
    """The conversation with a persona alone: the one spoken in last, or a new one. `recipe` is the
    companion's, or a copy of it."""
    await app.check_recipe(who, recipe)
    if not (await app.traits(who, recipe)).persona:
        raise Invalid(
            f"The recipe {recipe} is not a companion's.",
            f"Name {RECIPE}, or a copy of it.",
            param="recipe",
        )
    _, conversation = await meet(app.database, app.clock, who, persona, recipe)
    return ConversationOut.of(conversation)
