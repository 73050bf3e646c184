"""The bodies of the HTTP API: what comes in is checked here, what goes out has this shape."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from pydantic import BaseModel, ConfigDict, Field

from polyvox.events import NANO, usage_data
from polyvox.values import (
    Advisor,
    Answer,
    Conversation,
    Council,
    Params,
    PromptVersion,
    Recall,
    Turn,
)
from polyvox.web.fields import (
    Color,
    Filled,
    Id,
    Message,
    ModelName,
    Name,
    Prompt,
    Slug,
    Text,
    Title,
)

RecipeName = Literal["council", "agent", "companion"]
Item = Annotated[Text, Field(min_length=1, max_length=500)]
"""Something that a session is told at its start, by its id."""
Vetoes = Annotated[list[Item], Field(max_length=200)]


class Body(BaseModel):
    """A request body; unknown keys are refused."""

    model_config = ConfigDict(extra="forbid")


class ParamsBody(Body):
    """How an advisor's model is asked."""

    max_tokens: int | None = Field(None, ge=1, le=1_000_000)
    temperature: float | None = Field(None, ge=0, le=2)
    top_p: float | None = Field(None, gt=0, le=1)
    reasoning: int | None = Field(None, ge=0, le=1_000_000)

    def value(self) -> Params:
        """As the road knows it."""
        return Params(**self.model_dump())


class AdvisorCreate(Body):
    """A new advisor."""

    name: Name
    description: Annotated[Filled, Field(min_length=1, max_length=20_000)]
    prompt: Prompt | None = None
    model: ModelName | None = None
    color: Color = ""
    voice: Name | None = None
    active: bool = True
    params: ParamsBody | None = None
    slug: Slug | None = None


class AdvisorPatch(Body):
    """Changes to an advisor; what is left out stays."""

    name: Name | None = None
    description: Annotated[Filled, Field(min_length=1, max_length=20_000)] | None = None
    prompt: Prompt | None = None
    model: ModelName | None = None
    color: Color | None = None
    voice: Name | None = None
    active: bool | None = None
    params: ParamsBody | None = None
    slug: Slug | None = None


class AdvisorOut(BaseModel):
    """An advisor."""

    id: str
    slug: str
    name: str
    description: str
    prompt: str | None
    model: str | None
    color: str
    voice: str | None
    active: bool
    params: ParamsBody
    position: int
    version_id: str
    created_at: int
    updated_at: int

    @classmethod
    def of(cls, advisor: Advisor) -> AdvisorOut:
        """From the value."""
        params = ParamsBody(
            max_tokens=advisor.params.max_tokens,
            temperature=advisor.params.temperature,
            top_p=advisor.params.top_p,
            reasoning=advisor.params.reasoning,
        )
        names = [name for name in cls.model_fields if name != "params"]
        return cls(**{name: getattr(advisor, name) for name in names}, params=params)


class VersionOut(BaseModel):
    """A text that an advisor's identity has had."""

    id: str
    advisor_id: str
    number: int
    field: str
    text: str
    hash: str
    parent_id: str | None
    reason: str
    created_at: int

    @classmethod
    def of(cls, version: PromptVersion) -> VersionOut:
        """From the value."""
        return cls(**{name: getattr(version, name) for name in cls.model_fields})


class Rollback(Body):
    """Which version to go back to, by number or id."""

    version: Annotated[int, Field(ge=1, le=2**31)] | Id


class Reorder(Body):
    """Advisors in their new order; those not named follow."""

    advisors: list[Id] = Field(max_length=1000)


class Instruct(Body):
    """An instruction to append to the advisor's prompt."""

    instruction: Annotated[Filled, Field(min_length=1, max_length=10_000)]


class CouncilCreate(Body):
    """A new council."""

    name: Name
    slug: Slug | None = None
    advisors: list[Id] = Field(default_factory=list, max_length=200)
    recipe: RecipeName = "council"


class CouncilPatch(Body):
    """Changes to a council."""

    name: Name | None = None
    slug: Slug | None = None
    advisors: list[Id] | None = Field(None, max_length=200)
    recipe: RecipeName | None = None


class CouncilOut(BaseModel):
    """A named set of advisors."""

    id: str
    slug: str
    name: str
    advisors: list[str]
    recipe: str
    created_at: int
    updated_at: int

    @classmethod
    def of(cls, council: Council) -> CouncilOut:
        """From the value."""
        data = {name: getattr(council, name) for name in cls.model_fields}
        return cls(**{**data, "advisors": list(council.advisors)})


class ConversationCreate(Body):
    """A new conversation. Without advisors or a council, every active advisor is asked."""

    title: Title = ""
    recipe: RecipeName | None = None
    advisors: list[Id] | None = Field(None, max_length=200)
    council: Id | None = None
    recall: Recall | None = None


class ConversationPatch(Body):
    """Changes to a conversation."""

    title: Title | None = None
    recipe: RecipeName | None = None
    advisors: list[Id] | None = Field(None, max_length=200)
    council: Id | None = None
    head: Id | None = None
    recall: Recall | None = None
    """Whether its turns look up what was said before; inherit: as the settings say."""


class ConversationOut(BaseModel):
    """A conversation without its messages."""

    id: str
    title: str
    recipe: str
    advisors: list[str] | None
    council: str | None
    head: str | None
    last_number: int
    created_at: int
    updated_at: int
    recall: Recall = "inherit"

    @classmethod
    def of(cls, one: Conversation) -> ConversationOut:
        """From the value."""
        return cls(
            id=one.id,
            title=one.title,
            recipe=one.recipe,
            advisors=None if one.advisors is None else list(one.advisors),
            council=one.council_id,
            head=one.head_id,
            last_number=one.last_number,
            created_at=one.created_at,
            updated_at=one.updated_at,
            recall=one.recall,
        )


class UsageOut(BaseModel):
    """Tokens and cost; the cost is null where the price is unknown."""

    input_tokens: int
    output_tokens: int
    reasoning_tokens: int
    cached_tokens: int
    cost: float | None
    estimated: bool


class FailureOut(BaseModel):
    """Why an answer failed, and what to do."""

    category: str
    message: str
    hint: str


class AttemptOut(BaseModel):
    """One call made for an answer."""

    model: str
    started_at: int
    first_byte_ms: float | None
    status: int | None
    category: str | None
    message: str | None


class AnswerOut(BaseModel):
    """One advisor's reply in a turn."""

    answer_id: str
    turn_id: str
    conversation_id: str
    advisor_id: str
    name: str
    kind: str
    state: Literal["pending", "streaming", "completed", "failed", "stopped", "interrupted"]
    text: str
    thinking: str
    round: int
    version: int
    replaces: str | None
    current: bool
    excluded: bool
    redacted: bool
    """It was forgotten, or repeated what was: there are marks in its text."""
    model: str
    prompt_version_id: str | None
    error: FailureOut | None
    usage: UsageOut | None
    attempts: list[AttemptOut]
    points: dict[str, Any] | None
    created_at: int
    ended_at: int | None

    @classmethod
    def of(cls, answer: Answer) -> AnswerOut:
        """From the value."""
        spent = usage_data(answer.usage)
        failure = answer.failure
        return cls(
            answer_id=answer.id,
            turn_id=answer.turn_id,
            conversation_id=answer.conversation_id,
            advisor_id=answer.advisor_id,
            name=answer.advisor_name,
            kind=answer.kind,
            state=answer.state,
            text=answer.text,
            thinking=answer.thinking,
            round=answer.round,
            version=answer.version,
            replaces=answer.replaces_id,
            current=answer.current,
            excluded=answer.excluded,
            redacted=answer.redacted,
            model=answer.model,
            prompt_version_id=answer.prompt_version_id,
            error=None
            if failure is None
            else FailureOut(category=failure.category, message=failure.message, hint=failure.hint),
            usage=None if spent is None else UsageOut(**spent),
            attempts=[
                AttemptOut(**{name: getattr(one, name) for name in AttemptOut.model_fields})
                for one in answer.attempts
            ],
            points=None if answer.points is None else msgspec.json.decode(answer.points),
            created_at=answer.created_at,
            ended_at=answer.ended_at,
        )


class MessageOut(BaseModel):
    """A user message with the turn it opened and the answers to it."""

    id: str
    role: Literal["user"] = "user"
    turn_id: str
    parent: str | None
    depth: int
    """How many turns lead to it, itself counted: the `before` that pages back from here."""
    session_id: str | None
    content: str
    state: Literal["queued", "running", "completed"]
    excluded: bool
    redacted: bool
    """It was forgotten: the content is a mark, and it is in no later request."""
    asked: list[str]
    said_at: int | None
    created_at: int
    answers: list[AnswerOut]

    @classmethod
    def of(cls, turn: Turn, answers: list[Answer]) -> MessageOut:
        """From the values."""
        return cls(
            id=turn.message_id,
            turn_id=turn.id,
            parent=turn.parent_id,
            depth=turn.depth,
            session_id=turn.session_id,
            content=turn.content,
            state=turn.state,
            excluded=turn.excluded,
            redacted=turn.redacted,
            asked=list(turn.asked),
            said_at=turn.said_at,
            created_at=turn.created_at,
            answers=[AnswerOut.of(answer) for answer in answers],
        )


class ConversationWhole(ConversationOut):
    """A conversation with the messages and answers of its current branch."""

    messages: list[MessageOut]
    branches: dict[str, list[str]]
    """Where a message was edited: the turns that share a parent, by that parent (or "")."""
    tips: dict[str, str]
    """For each of those turns the last one of its branch: the `head` that goes on from there."""
    more: bool
    """Whether there are older messages than these."""


class TurnCreate(Body):
    """A message to the council."""

    content: Message
    advisors: list[Id] | None = Field(None, max_length=200)
    idempotency_key: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    veto: Vetoes = []
    """What the session shall not be told of what is remembered, by the ids that
    GET /api/memory/start gives; added to what it has."""


class AnswerRef(BaseModel):
    """Where an answer will be."""

    answer_id: str
    advisor_id: str


class TurnStartedOut(BaseModel):
    """The message is stored; its answers are on their way."""

    turn_id: str
    message_id: str
    session_id: str | None
    """The session that the message belongs to."""
    state: Literal["queued", "running", "completed"]
    answers: list[AnswerRef]


class EstimateBody(Body):
    """A message that might be sent."""

    content: Message
    advisors: list[Id] | None = Field(None, max_length=200)


class FirstEstimateBody(EstimateBody):
    """A message that might open a conversation."""

    recipe: RecipeName = "council"


class EstimateRow(BaseModel):
    """What asking one advisor would take at most; a cost of null is unknown, not free."""

    advisor_id: str
    name: str
    model: str
    input_tokens: int
    max_output_tokens: int
    cost: float | None


class EstimateOut(BaseModel):
    """What a message would take."""

    advisors: list[EstimateRow]
    input_tokens: int
    max_output_tokens: int
    cost: float | None
    """USD at most, of the models whose price is known; null when none is."""
    unpriced: int
    """Advisors whose model has no known price."""


class MessagePatch(Body):
    """Another content makes a branch; `excluded` keeps the message out of later requests."""

    content: Message | None = None
    excluded: bool | None = None


class MessagePatched(BaseModel):
    """The message as it is now, or the turn of the new branch."""

    message: MessageOut
    turn: TurnStartedOut | None


class ExchangeBody(Body):
    """How many rounds the advisors respond to each other."""

    rounds: int = Field(1, ge=1, le=20)


class TurnOut(BaseModel):
    """A turn and its answers."""

    turn_id: str
    answers: list[AnswerOut]


def usd(nano: int | None) -> float | None:
    """Nano-dollars as USD."""
    return None if nano is None else nano / NANO
