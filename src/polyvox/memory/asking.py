"""Asking a model for data: JSON however it is wrapped, one further try, and no silent failure.

A reply that was cut off, refuses or holds no data is an error with a name; whoever asked sees it in
the job that asked. What a call used is noted whether it helped or not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from polyvox.errors import CapReached, ProtocolError
from polyvox.events import NANO
from polyvox.ids import Clock
from polyvox.models.base import ChatMessage, Request, SystemPart
from polyvox.models.registry import Models
from polyvox.replies import objects
from polyvox.settings import Settings
from polyvox.store import usage
from polyvox.store.database import Database, Tx
from polyvox.values import Params, Scope, Usage

PURPOSE = "memory"
"""Under this name its usage is summed, among the advisors too."""
LONGEST_REPLY = 200_000
SHOWN_AGAIN = 4_000
MAX_TOKENS = 4_096
_THOUGHT = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL | re.IGNORECASE)

Table = dict[str, Any]


@cache
def prompt(name: str) -> str:
    """A text of ours."""
    place = resources.files("polyvox.memory") / "prompts" / f"{name}.md"
    return place.read_text(encoding="utf-8").strip()


def model_for(settings: Settings, default: str) -> str | None:
    """The model that memory works with: the one that is set, else the default one unless it is the
    embedded one."""
    if settings.models.memory:
        return settings.models.memory
    return None if default.startswith("local:") else default


@dataclass(frozen=True, slots=True)
class Asker:
    """Asks the model that memory works with."""

    database: Database
    models: Models
    settings: Callable[[], Settings]
    clock: Clock

    @property
    def model(self) -> str | None:
        """Its name; None: there is none that is capable."""
        return model_for(self.settings(), self.models.default)

    def is_cloud(self, name: str) -> bool:
        """Whether what a model is told leaves this machine."""
        return not self.models.stays_here(name)

    async def ask(
        self,
        scope: Scope,
        model: str,
        system: str,
        data: str,
        has: str,
        lists: Sequence[str] = (),
    ) -> Table:
        """The object that a model replies with; it must have the key `has`, and rows in `lists`,
        where it has these."""
        request = Request(
            (SystemPart(system),),
            (ChatMessage("user", data),),
            Params(max_tokens=self.models.facts(model).max_tokens or MAX_TOKENS, temperature=0),
        )
        text, wrong = await self._reply(scope, model, request, has, lists)
        if isinstance(text, dict):
            return text
        said = ChatMessage("assistant", text[:SHOWN_AGAIN] or "…")
        again = ChatMessage("user", prompt("again").replace("{wrong}", wrong))
        second = Request(request.system, (*request.messages, said, again), request.params)
        text, wrong = await self._reply(scope, model, second, has, lists)
        if isinstance(text, dict):
            return text
        raise ProtocolError(
            f"{model} did not return valid notes: its reply {wrong}.",
            "Retry, or choose a more capable model for memory.",
        )

    async def _reply(
        self, scope: Scope, model: str, request: Request, has: str, lists: Sequence[str]
    ) -> tuple[Table | str, str]:
        """The data, or the text and what is wrong with it."""
        await self.check_cap(scope)
        reply = await self.models.chain(model, ()).stream(request)
        finish = None
        pieces: list[str] = []
        try:
            async for piece in reply:
                pieces.append(piece.text)
                finish = piece.finish or finish
        finally:
            await reply.aclose()
            await self.record(scope, reply.model, reply.usage)
        text = "".join(pieces)
        if finish == "length":
            return text, "was cut off before its end"
        found = read(text, has, lists)
        return (text, "lacks the data it was asked for") if found is None else (found, "")

    async def check_cap(self, scope: Scope) -> None:
        """Refuse to spend more than a day may cost."""
        cap = self.settings().limits.cost_per_day
        if cap is None:
            return
        day = usage.day_of(self.clock())
        spent = await self.database.read(lambda tx: usage.spent(tx, day=day), scope)
        if spent >= cap * NANO:
            raise CapReached(
                f"The cap limits.cost_per_day of {cap:g} USD is reached.",
                "Raise limits.cost_per_day in the settings, or wait.",
            )

    async def record(self, scope: Scope, model: str, used: Usage) -> None:
        """Note what a call used."""
        now = self.clock()

        def write(tx: Tx) -> None:
            usage.record(tx, usage=used, model=model, advisor_id=PURPOSE, at=now, purpose=PURPOSE)

        await self.database.write(write, scope)


def read(reply: str, has: str, lists: Sequence[str] = ()) -> Table | None:
    """The first whole object in a reply that has this key and such lists, however it is wrapped."""
    for value in objects(without_thoughts(reply[:LONGEST_REPLY])):
        if has in value and all(_is_list(value, name) for name in lists):
            return value
    return None


def without_thoughts(reply: str) -> str:
    """A reply without what a model says to itself."""
    return _THOUGHT.sub("", reply)


def _is_list(data: Mapping[str, Any], name: str) -> bool:
    """Whether there is a list that is empty or has a row. A word in its place ("none"), or rows
    that are none, are no such reply: it would count as one that found nothing."""
    found = data.get(name)
    return found is None or (isinstance(found, list) and (not found or bool(rows_of(data, name))))


def rows_of(data: Mapping[str, Any], name: str) -> list[Table]:
    """The objects of a list in a reply; what is none is left out."""
    found = data.get(name)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def text_of(row: Mapping[str, Any], name: str, most: int = 600) -> str:
    """A text in a reply, on one line and storable; empty where there is none."""
    value = row.get(name)
    if not isinstance(value, str):
        return ""
    clean = value.replace("\0", " ").encode("utf-8", "replace").decode()
    return " ".join(clean.split())[:most].strip()


def number_of(row: Mapping[str, Any], name: str, low: float, high: float, default: float) -> float:
    """A number in a reply, within bounds."""
    value = row.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        return default
    return min(high, max(low, float(value)))
