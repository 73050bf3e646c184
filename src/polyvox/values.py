"""The nouns of the road: frozen, without I/O, shared by every room.

Times are UTC microseconds as integers. Ids are UUIDv7 text, never reused.
Money is whole nano-dollars; an unknown price is None, never 0.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Literal

AnswerKind = Literal["advisor", "exchange", "synthesis"]
AnswerState = Literal["pending", "streaming", "completed", "failed", "stopped", "interrupted"]
TurnState = Literal["queued", "running", "completed"]
Recall = Literal["inherit", "auto", "off"]

ENDED: frozenset[AnswerState] = frozenset({"completed", "failed", "stopped", "interrupted"})

LOCAL_USER = "local"
ASSISTANT_ID = "assistant"
"""The plain assistant that answers when no advisor is active: an advisor like any other."""
SYNTHESIS_ID = "synthesis"
"""The author of a synthesis. It has no thread."""
REDACTED = "[redacted]"
"""The mark in place of what was forgotten."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose rows a store verb may touch. Every verb takes one."""

    user: str = LOCAL_USER


@dataclass(frozen=True, slots=True)
class Params:
    """Parameters of a model call. None means: whatever the recipe or the settings say."""

    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    reasoning: int | None = None
    """Thinking budget in tokens; 0 turns thinking off."""

    def over(self, base: Params) -> Params:
        """These parameters where they are set, else those of `base`."""
        given = {key: value for key, value in asdict(self).items() if value is not None}
        return replace(base, **given)


@dataclass(frozen=True, slots=True)
class PromptVersion:
    """One immutable text that an advisor's identity has had."""

    id: str
    advisor_id: str
    number: int
    field: Literal["prompt", "description"]
    text: str
    hash: str
    parent_id: str | None
    reason: str
    created_at: int


@dataclass(frozen=True, slots=True)
class Advisor:
    """A voice: a perspective, a model and, in each conversation, a thread of its own."""

    id: str
    slug: str
    name: str
    description: str
    prompt: str | None = None
    model: str | None = None
    color: str = ""
    voice: str | None = None
    active: bool = True
    params: Params = field(default_factory=Params)
    position: int = 0
    version_id: str = ""
    created_at: int = 0
    updated_at: int = 0

    @property
    def identity(self) -> str:
        """The versioned text: the prompt where there is one, else the description."""
        return self.prompt or self.description


@dataclass(frozen=True, slots=True)
class Council:
    """A named set of advisors with the recipe they are asked by."""

    id: str
    slug: str
    name: str
    advisors: tuple[str, ...]
    recipe: str = "council"
    created_at: int = 0
    updated_at: int = 0
    phases: int | None = None
    """Answers that its recipe's limited phases last at most; 0 skips them, None: as the recipe
    says."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """A tree of turns with a head: the turn that the next message answers to."""

    id: str
    title: str
    recipe: str
    advisors: tuple[str, ...] | None
    """The council of this conversation; None means every active advisor."""
    council_id: str | None
    head_id: str | None
    last_number: int
    created_at: int
    updated_at: int
    recall: Recall = "inherit"
    """Recall in its turns; inherit: as the settings say."""
    phases: int | None = None
    """Answers that its recipe's limited phases last at most; 0 skips them, None: as the recipe
    says."""


@dataclass(frozen=True, slots=True)
class Branch:
    """A line of turns that leaves another one after a depth."""

    id: str
    parent_id: str | None
    fork_depth: int
    created_at: int


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of one branch: the turns with first < depth <= last."""

    branch_id: str
    after: int
    upto: int


@dataclass(frozen=True, slots=True)
class Turn:
    """One user message and everything it causes."""

    id: str
    conversation_id: str
    message_id: str
    session_id: str | None
    parent_id: str | None
    branch_id: str
    depth: int
    content: str
    said_at: int | None
    """When the user said it; None where an import does not know."""
    asked: tuple[str, ...]
    state: TurnState
    excluded: bool
    created_at: int
    completed_at: int | None = None
    idempotency_key: str | None = None
    redacted: bool = False
    """It was forgotten: its content is the mark, and it is in no later request."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens and cost of an answer. `estimated` where the provider reported nothing."""

    input_tokens: int
    output_tokens: int
    reasoning_tokens: int = 0
    cached_tokens: int = 0
    cost: int | None = None
    estimated: bool = False


@dataclass(frozen=True, slots=True)
class Failure:
    """The reason an answer has no (whole) text, in the provider's own words, and what to do."""

    category: str
    message: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One call to a model for an answer."""

    model: str
    started_at: int
    first_byte_ms: float | None = None
    status: int | None = None
    category: str | None = None
    message: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """One advisor's reply in a turn. Ends in exactly one of four states."""

    id: str
    conversation_id: str
    turn_id: str
    advisor_id: str
    advisor_name: str
    kind: AnswerKind
    state: AnswerState
    text: str = ""
    thinking: str = ""
    round: int = 0
    position: int = 0
    version: int = 1
    replaces_id: str | None = None
    current: bool = True
    excluded: bool = False
    model: str = ""
    prompt_version_id: str | None = None
    failure: Failure | None = None
    usage: Usage | None = None
    attempts: tuple[Attempt, ...] = field(default=())
    created_at: int = 0
    first_at: int | None = None
    ended_at: int | None = None
    points: str | None = None
    """A synthesis as data: its points with their attributions, as JSON."""
    redacted: bool = False
    """It was forgotten, or repeated what was: there are marks in its text."""

    @property
    def speaks(self) -> bool:
        """True if this answer may be part of a thread or a reference block."""
        return (
            self.current
            and not self.excluded
            and (self.state == "completed" or (self.state == "stopped" and bool(self.text.strip())))
        )
