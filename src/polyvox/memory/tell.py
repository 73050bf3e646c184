"""The seam between a turn and memory: `TurnView` goes in, `Told` comes out.

The recipe's data names the strategy that decides what advisors are told: a council's, a
companion's, or none. Invariant: nothing here fails a turn.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from polyvox.context.budget import TooLong
from polyvox.context.compile import compile_request
from polyvox.context.draft import Compiled
from polyvox.context.receipt import BaseHistory, Seat
from polyvox.context.recipe import Recipe
from polyvox.errors import PolyvoxError, StoreError
from polyvox.memory.derive import want_judged
from polyvox.memory.trace import Trace
from polyvox.models.base import ModelFacts
from polyvox.resources import Resources
from polyvox.settings import Settings
from polyvox.store.database import Tx
from polyvox.thread import Thread
from polyvox.values import Advisor, Params, Scope, Turn

log = logging.getLogger("polyvox.session")

Blocks = tuple[tuple[str, str], ...]
"""Texts that an advisor is told beside its own: (block, text)."""
Write = Callable[[Tx], None]


@dataclass(frozen=True, slots=True)
class AdvisorView:
    """An advisor about to be asked: its thread, its model, and its receipt before this one."""

    answer_id: str
    advisor: Advisor
    thread: Thread
    facts: ModelFacts
    params: Params
    base: BaseHistory | None
    place: Seat
    draft: Compiled | None = None
    """Its request without memory, where that is compiled already."""

    @property
    def begins(self) -> bool:
        """True if nothing was said before."""
        return not (self.thread.head or self.thread.past or self.thread.unread)

    @property
    def small(self) -> bool:
        """True if its model is one for which everything is kept short."""
        return self.facts.prompts == "compact"


@dataclass(frozen=True, slots=True)
class TurnView:
    """A turn about to be asked, as memory sees it."""

    scope: Scope
    turn: Turn
    recipe: Recipe
    advisors: tuple[AdvisorView, ...]
    round: int = 0
    """The round of an exchange; 0: the message itself is answered."""
    begins: bool = False
    """The session begins with this message."""
    follows: bool = False
    """This message closed the session before."""
    imagined: bool = False
    """The turn may never be: nothing is stored, no model and nobody elsewhere is asked."""
    silent: bool = False
    """Memory has nothing to tell."""
    seen: Any = None
    """What the recipe's strategy read in the transaction that read the threads."""

    @property
    def answer_ids(self) -> list[str]:
        """The answers that are about to be written."""
        return [advisor.answer_id for advisor in self.advisors]

    @property
    def session(self) -> str:
        """The id under which the session is kept."""
        return self.turn.session_id or self.turn.id


@dataclass(frozen=True, slots=True)
class Told:
    """What memory tells, for each advisor in the view's order."""

    blocks: tuple[Blocks, ...] = ()
    traces: tuple[Trace, ...] = ()
    store: Write | None = None
    """What to store with the receipts."""
    unsay: Write | None = None
    """Takes back what counts as said, for a turn in which no advisor said a word."""


class Strategy(Protocol):
    """A way to decide what the advisors of a turn are told."""

    def look(self, tx: Tx, view: TurnView) -> TurnView:
        """Add what is needed of the store, in the transaction that reads the threads."""
        ...

    async def tell(self, view: TurnView) -> Told:
        """Decide."""
        ...


class Telling:
    """Tells every turn what its advisors should know."""

    def __init__(
        self,
        resources: Resources,
        strategies: Mapping[str, Strategy],
        catch_up: Callable[[Scope, bool], Awaitable[None]],
    ) -> None:
        """`strategies` by the name that recipes give them. `catch_up` has everything ingested that
        ended before a session begins; with True, also what ended just now."""
        self._resources = resources
        self._strategies = strategies
        self._catch_up = catch_up

    def _strategy(self, recipe: Recipe) -> Strategy:
        return self._strategies[recipe.traits.tells]

    def look(self, tx: Tx, view: TurnView) -> TurnView:
        """Add what memory needs of the store, in the transaction that reads the threads."""
        traits = view.recipe.traits
        if not traits.persona and not uses_memory(self._resources.settings, view.recipe):
            return replace(view, silent=True)
        return self._strategy(view.recipe).look(tx, view)

    async def tell(self, view: TurnView) -> Told:
        """Decide what each advisor of a turn is told."""
        if view.begins and uses_memory(self._resources.settings, view.recipe):
            await self._caught_up(view)
        return await self._strategy(view.recipe).tell(view)

    async def _caught_up(self, view: TurnView) -> None:
        try:
            async with asyncio.timeout(self._resources.settings.memory.budget):
                await self._catch_up(view.scope, view.follows)
        except (TimeoutError, PolyvoxError) as error:
            log.warning("a session begins before the last one is remembered: %r", error)

    async def settle(self, view: TurnView, told: Told | None, *, spoken: bool) -> None:
        """Close a turn: take back what was never said, and have the turn remembered at once where
        the settings want that."""
        resources, scope, session = self._resources, view.scope, view.turn.session_id
        if told is not None and told.unsay is not None and not spoken:
            await resources.database.write(told.unsay, scope)
        if not resources.settings.memory.judge or session is None:
            return
        try:
            await resources.database.write(
                lambda tx: want_judged(tx, session, resources.clock()), scope
            )
        except StoreError as error:  # it is remembered when its session ends
            log.warning("a turn is not remembered at once: %s", error.message)
        else:
            resources.bell.ring()


def uses_memory(settings: Settings, recipe: Recipe) -> bool:
    """True if the advisors of a recipe are told what is remembered."""
    off = recipe.traits.optional_memory and not settings.memory.council
    return recipe.memory == "auto" and not off


def with_drafts(settings: Settings, view: TurnView) -> TurnView:
    """The view with every advisor's request compiled without memory, where it fits."""
    drafted = (
        replace(advisor, draft=_draft(settings, view.recipe, advisor)) for advisor in view.advisors
    )
    return replace(view, advisors=tuple(drafted))


def _draft(settings: Settings, recipe: Recipe, advisor: AdvisorView) -> Compiled | None:
    try:
        return compile_request(
            recipe, advisor.thread, settings.limits, advisor.facts, advisor.params
        )
    except TooLong:
        return None
