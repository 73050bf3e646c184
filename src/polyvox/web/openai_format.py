"""The OpenAI chat format: request bodies, completions, chunks."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec
from pydantic import BaseModel, ConfigDict, Field

from polyvox.errors import BadInput
from polyvox.fields import Text
from polyvox.ids import new_id
from polyvox.interop.guest import Visit
from polyvox.models.base import ChatMessage
from polyvox.values import Params

DONE = b"data: [DONE]\n\n"


class ContentPart(BaseModel):
    """A piece of a message's content; only text is taken."""

    model_config = ConfigDict(extra="allow")
    type: Text
    text: Text | None = None


class ChatMessageBody(BaseModel):
    """One message of the caller's history."""

    model_config = ConfigDict(extra="allow")
    role: Literal["system", "developer", "user", "assistant"]
    content: Text | list[ContentPart] | None = None


class StreamOptions(BaseModel):
    """Options of the stream."""

    model_config = ConfigDict(extra="allow")
    include_usage: bool | None = None


class ChatBody(BaseModel):
    """A chat completion request. Fields that do not matter here are passed over."""

    model_config = ConfigDict(extra="allow")
    model: Annotated[Text, Field(min_length=1, max_length=300)]
    messages: Annotated[list[ChatMessageBody], Field(min_length=1, max_length=10_000)]
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    max_tokens: Annotated[int, Field(ge=1, le=10_000_000)] | None = None
    max_completion_tokens: Annotated[int, Field(ge=1, le=10_000_000)] | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    n: Annotated[int, Field(ge=1, le=128)] | None = None
    tools: list[Any] | None = None
    functions: list[Any] | None = None
    response_format: dict[str, Any] | None = None
    phases: Annotated[int, Field(strict=True, ge=0, le=1000)] | None = None
    """Answers in which advisors only ask, at most; left out, a council's own number, else none."""

    @property
    def wants_usage(self) -> bool:
        """True if a stream should end with its usage."""
        return self.stream_options is not None and bool(self.stream_options.include_usage)

    def visit(self) -> Visit:
        """The value of the road. Options that would change the answer and cannot be carried are
        refused rather than dropped."""
        if self.n is not None and self.n > 1:
            raise BadInput("n must be 1 here.", "Ask again for another answer.", param="n")
        for name, given in (("tools", self.tools), ("functions", self.functions)):
            if given:
                raise BadInput(
                    "Tools are not carried through this door.", "Leave them out.", param=name
                )
        if (self.response_format or {}).get("type", "text") != "text":
            raise BadInput(
                "Only plain text can be asked for through this door.",
                "Leave response_format out and describe the form in the message.",
                param="response_format",
            )
        system: list[str] = []
        messages: list[ChatMessage] = []
        for message in self.messages:
            text = _text(message.content)
            if message.role == "user" or message.role == "assistant":
                messages.append(ChatMessage(message.role, text))
            elif text:
                system.append(text)
        params = Params(
            max_tokens=self.max_completion_tokens or self.max_tokens,
            temperature=self.temperature,
            top_p=self.top_p,
        )
        return Visit(self.model, tuple(system), tuple(messages), params, self.phases)


def _text(content: str | Sequence[ContentPart] | None) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    for part in content:
        if part.type != "text" or part.text is None:
            raise BadInput(
                f"Only text can be sent through this door, not {part.type!r}.",
                "Leave it out, or describe it in words.",
                param="messages",
            )
    return "\n".join(part.text or "" for part in content)


class ModelCard(BaseModel):
    """One model that can be named."""

    id: str
    object: Literal["model"] = "model"
    created: int
    owned_by: str


class ModelList(BaseModel):
    """Every model that can be named."""

    object: Literal["list"] = "list"
    data: list[ModelCard]


class CompletionMessage(BaseModel):
    """The message of the assistant."""

    role: Literal["assistant"]
    content: str


class CompletionChoice(BaseModel):
    """The one answer."""

    index: int
    message: CompletionMessage
    finish_reason: Literal["stop", "length"]
    logprobs: None


class CompletionUsage(BaseModel):
    """Tokens of the completion."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class Completion(BaseModel):
    """A whole completion."""

    id: str
    object: Literal["chat.completion"]
    created: int
    model: str
    choices: list[CompletionChoice]
    usage: CompletionUsage


class ChunkFrame:
    """The constant parts of a completion's chunks."""

    def __init__(self, model: str) -> None:
        self._id = f"chatcmpl-{new_id()}"
        self._created = int(time.time())
        self._model = model
        head = msgspec.json.encode(self._head())[:-1]
        self.before = b"data: " + head + b',"choices":[{"index":0,"delta":{"content":'
        self.after = b'},"finish_reason":null}]}\n\n'

    def _head(self, kind: str = "chat.completion.chunk") -> dict[str, Any]:
        return {"id": self._id, "object": kind, "created": self._created, "model": self._model}

    def role(self) -> bytes:
        """The opening chunk."""
        delta = {"role": "assistant", "content": ""}
        return self._chunk([{"index": 0, "delta": delta, "finish_reason": None}])

    def end(self, finish: str, usage: dict[str, int] | None) -> bytes:
        """The closing chunks."""
        closing = self._chunk([{"index": 0, "delta": {}, "finish_reason": finish}])
        if usage is not None:
            closing += self._chunk([], usage)
        return closing + DONE

    def _chunk(self, choices: list[Any], usage: dict[str, int] | None = None) -> bytes:
        data = {**self._head(), "choices": choices}
        if usage is not None:
            data["usage"] = usage
        return b"data: " + msgspec.json.encode(data) + b"\n\n"

    def completion(self, text: str, finish: str, usage: dict[str, int]) -> dict[str, Any]:
        """A whole completion."""
        message = {"role": "assistant", "content": text}
        choice = {"index": 0, "message": message, "finish_reason": finish, "logprobs": None}
        return {**self._head("chat.completion"), "choices": [choice], "usage": usage}
