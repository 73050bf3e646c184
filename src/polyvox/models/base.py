"""The contract of a model: given a request, it starts a reply. One method.

One method. A whole answer is the reply collected. Retry, limits, fallback and metering are models
that wrap models: all of them act before the first piece arrives and then hand the same `Reply`
through, so nothing stands between the wire and the reader once text flows.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Literal, Protocol

from polyvox.values import Attempt, Params, Usage


@dataclass(frozen=True, slots=True)
class SystemPart:
    """One system text. Parts that change from turn to turn are not `stable` and come last."""

    text: str
    stable: bool = True


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message of the thread as it is sent."""

    role: Literal["user", "assistant"]
    text: str


@dataclass(frozen=True, slots=True)
class Request:
    """A request before any wire format. `settled` messages will be sent again next turn unchanged:
    a provider with cache marks gets one behind them."""

    system: tuple[SystemPart, ...]
    messages: tuple[ChatMessage, ...]
    params: Params = field(default_factory=Params)
    settled: int = 0
    schema: str | None = None
    """A JSON schema (as JSON text) that the answer must follow, where the provider can."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """The request as bytes on the wire. Made by a pure function of dialect, model name and request
    (`models.wire.encode`): same input, same bytes, so a receipt needs only those to rebuild it."""

    dialect: str
    """The provider whose habits were followed: a name in `models.wire.DIALECTS`."""
    model: str
    """The model's name without its provider."""
    body: bytes


@dataclass(slots=True)
class Piece:
    """The result of one read from the wire: any of text and thinking, and the usage once known."""

    text: str = ""
    thinking: str = ""
    usage: Usage | None = None
    finish: str | None = None
    """The reason the model ended: stop, length, refused …"""


class Reply(Protocol):
    """A reply under way. Its first piece with text or thinking has already arrived when a caller
    gets it; iterating raises a `ModelError` if the rest does not come. Always close it."""

    model: str
    """provider:name of the model that gave it."""
    encoded: Encoded
    attempts: list[Attempt]
    """Every call made for this reply, the failed ones included, the one that gave it last."""

    @property
    def usage(self) -> Usage:
        """The usage up to now, priced: reported by the provider, else estimated."""
        ...

    def __aiter__(self) -> AsyncIterator[Piece]: ...

    async def aclose(self) -> None:
        """End it, wherever it is; the connection is closed when this returns."""
        ...


class Model(Protocol):
    """A model by its full name."""

    @property
    def id(self) -> str:
        """provider:name."""
        ...

    def encode(self, request: Request) -> Encoded:
        """The bytes that `stream` would send. Pure."""
        ...

    async def stream(self, request: Request, log: AttemptLog | None = None) -> Reply:
        """Start a reply, or raise a `ModelError`. Every attempt made is appended to `log`, with
        the encoded request, whether it succeeds or not."""
        ...


@dataclass(slots=True)
class AttemptLog:
    """The calls made for one answer, kept by the caller so that a failure tells its whole story."""

    attempts: list[Attempt] = field(default_factory=list)
    encoded: Encoded | None = None
    """The last request put on a wire."""
    model: str = ""
    params: Params | None = None
    """The parameters of the last model, where a chain decided them."""


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """Facts about a model apart from how to call it."""

    id: str
    window: int | None
    """Tokens that fit, request and answer together; None where unknown."""
    prompts: Literal["full", "compact"] = "full"
    max_tokens: int | None = None
    note: str = ""


Sleep = Callable[[float], Awaitable[None]]
