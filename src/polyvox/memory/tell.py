"""The seam between a turn and memory: `TurnView` goes in, `Told` comes out.

The recipe's data names the strategy that decides what advisors are told: a council's, a
companion's, or none. Invariant: nothing here fails a turn.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import msgspec

from polyvox.context.budget import TooLong
from polyvox.context.compile import compile_request
from polyvox.context.draft import Compiled, Draft
from polyvox.context.receipt import BaseHistory, Seat
from polyvox.context.recipe import Recipe
from polyvox.errors import PolyvoxError, StoreError
from polyvox.memory.derive import want_judged
from polyvox.models.base import ModelFacts
from polyvox.resources import Resources
from polyvox.settings import Settings
from polyvox.store.database import Tx
from polyvox.thread import Thread
from polyvox.values import Advisor, Params, Scope, Turn

# -- the trace of an answer: what memory and companion decided before its model was asked, and why -
# Names and numbers only, nobody's words. It is stored as JSON under exactly these names; an
# answer for which nothing was decided has the defaults.

NO_ROOM = "no room"


class Runtime(msgspec.Struct, frozen=True):
    """The part that what a session started with had in a turn."""

    session_id: str | None = None
    turns_seen: int | None = msgspec.field(default=None, name="userTurnsSeen")
    handover_injected: bool = False
    bridge_injected: bool = False
    ops_injected: bool = False
    ops_source: str | None = None
    startbrief_fetch: str = "none"
    reinjection_used: bool = False


class RecallTrace(msgspec.Struct, frozen=True):
    """The decision of recall."""

    decision: str
    explicit: bool = False
    found: int = 0
    entities: int = 0
    relevance: float | None = None
    degrade: str | None = None


class PostureTrace(msgspec.Struct, frozen=True):
    """The posture of a persona, and why."""

    posture: str
    pressure: str
    confidence: float
    reason: str


class Trace(msgspec.Struct, frozen=True):
    """Every decision of one answer."""

    startbrief_used: bool = False
    startbrief_fallback: bool = False
    startbrief_items_count: int = 0
    bridge_chars: int = msgspec.field(default=0, name="bridgeText_chars")
    startbrief_runtime: Runtime = Runtime()
    system_blocks: tuple[str, ...] = ()
    gate: str = "none"
    gate_degrade: str | None = None
    reading: dict[str, Any] | None = None
    risk: str = "LOW"
    """The risk in force: a crisis goes on until readings say that it is over."""
    posture: PostureTrace | None = None
    overlay: str | None = None
    overlay_reason: str = ""
    handover_reason: str = ""
    ops_reason: str = ""
    user_context: tuple[str, ...] = ()
    recall: RecallTrace | None = None
    degrades: tuple[str, ...] = ()
    timings: dict[str, float] = msgspec.field(default_factory=dict)

    @property
    def json(self) -> str:
        """As it is stored."""
        return msgspec.json.encode(self).decode()


def undecided(session_id: str | None) -> Trace:
    """The trace of an answer for which nothing was decided."""
    return Trace(startbrief_runtime=Runtime(session_id))


def read_trace(stored: str) -> Trace:
    """A stored trace, of this version or an earlier one."""
    return msgspec.json.decode(stored, type=Trace)


def unsent_blocks(draft: Draft) -> list[str]:
    """The blocks of memory for which a request had no room, in their order."""
    unsent = [name for part in draft.unsent if part.kind == "memory" for name in part.sources]
    return unsent if draft.memory_sent else [block.kind for block in draft.memory] + unsent


def as_sent(trace: Trace, gone: Sequence[str]) -> Trace:
    """The trace less the blocks that were not sent after all; and that they were not."""
    if not gone:
        return trace
    run = trace.startbrief_runtime
    run = msgspec.structs.replace(
        run,
        handover_injected=run.handover_injected and "handover" not in gone,
        bridge_injected=run.bridge_injected and "bridge" not in gone,
        ops_injected=run.ops_injected and "ops" not in gone,
        ops_source=None if "ops" in gone else run.ops_source,
    )
    late_handover = bool({"handover", "bridge"} & set(gone)) and not run.handover_injected
    recall = trace.recall
    if "supplemental_context" in gone and recall is not None:
        recall = msgspec.structs.replace(recall, found=0, entities=0)
    return msgspec.structs.replace(
        trace,
        startbrief_runtime=run,
        ops_reason=NO_ROOM if "ops" in gone else trace.ops_reason,
        handover_reason=NO_ROOM if late_handover else trace.handover_reason,
        overlay=None if "overlay" in gone else trace.overlay,
        overlay_reason=NO_ROOM if "overlay" in gone else trace.overlay_reason,
        user_context=() if "user_context" in gone else trace.user_context,
        recall=recall,
        degrades=(*trace.degrades, f"context: {NO_ROOM} for {', '.join(gone)}"),
    )


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
    tell: Tell | None = None
    """Decides what the advisors are told, with what its strategy read in the transaction that read
    the threads; None: memory has nothing to tell."""

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


Tell = Callable[[TurnView], Awaitable[Told]]


class Strategy(Protocol):
    """A way to decide what the advisors of a turn are told."""

    def look(self, tx: Tx, view: TurnView) -> TurnView:
        """Read what is needed of the store, in the transaction that reads the threads; return the
        view with what decides (`TurnView.tell`), if there is anything to tell."""
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

    def look(self, tx: Tx, view: TurnView) -> TurnView:
        """Add what memory needs of the store, in the transaction that reads the threads."""
        traits = view.recipe.traits
        if not traits.persona and not uses_memory(self._resources.settings, view.recipe):
            return view
        return self._strategies[traits.tells].look(tx, view)

    async def tell(self, view: TurnView) -> Told:
        """Decide what each advisor of a turn is told."""
        if view.tell is None:
            return Told()
        if view.begins and uses_memory(self._resources.settings, view.recipe):
            await self._caught_up(view)
        return await view.tell(view)

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
