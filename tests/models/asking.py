"""How the model tests ask: a small request, and a reply collected with whatever ended it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from polyvox.errors import ModelError
from polyvox.models.base import (
    AttemptLog,
    ChatMessage,
    Model,
    Piece,
    Reply,
    Request,
    SystemPart,
)
from polyvox.models.registry import Models
from polyvox.values import Usage

REQUEST = Request((SystemPart("Be brief."),), (ChatMessage("user", "Is it so?"),))


class MakeModels(Protocol):
    def __call__(
        self, limits: dict[str, float] | None = None, **more: Mapping[str, object]
    ) -> Models: ...


@dataclass
class Heard:
    """A reply, collected."""

    pieces: list[Piece] = field(default_factory=list)
    error: ModelError | None = None
    log: AttemptLog = field(default_factory=AttemptLog)
    model: str = ""

    @property
    def text(self) -> str:
        return "".join(piece.text for piece in self.pieces)

    @property
    def thinking(self) -> str:
        return "".join(piece.thinking for piece in self.pieces)

    @property
    def usage(self) -> Usage:
        (usage,) = [piece.usage for piece in self.pieces if piece.usage is not None]
        return usage

    @property
    def finish(self) -> str | None:
        return self.pieces[-1].finish

    @property
    def category(self) -> str | None:
        return self.error.category if self.error else None


async def hear(model: Model, request: Request = REQUEST) -> Heard:
    """Ask, and listen to the end, whichever it is."""
    heard = Heard()
    reply: Reply | None = None
    try:
        reply = await model.stream(request, heard.log)
        heard.model = reply.model
        async for piece in reply:
            heard.pieces.append(piece)
    except ModelError as error:
        heard.error = error
    finally:
        if reply is not None:
            await reply.aclose()
    return heard
