"""What a session starts with: asked of memory once, kept for the session, less what was vetoed.

The packet that is kept holds words, and is a cache: it goes when anything is forgotten or changed,
when the veto is, and where it was read for a model on this machine and is now for one elsewhere.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

import msgspec

from polyvox.companion import blocks
from polyvox.context.recipe import Recipe
from polyvox.errors import Conflict, NotFound, PolyvoxError
from polyvox.memory.packets import ItemKind, StartItem, Stated
from polyvox.memory.remote import Degrade
from polyvox.memory.tables import companions
from polyvox.memory.tables.companions import Kept
from polyvox.memory.veto import LINES, NO_VETO, Veto
from polyvox.quote import quoted
from polyvox.session import council
from polyvox.session.lifecycle import ENDLESS, is_over
from polyvox.session.remembering import MemoryService, NoMemory, RemoteService, Start
from polyvox.session.road import Road
from polyvox.store import conversations, sessions
from polyvox.store.database import Tx
from polyvox.store.sessions import Session
from polyvox.values import Conversation, Recall, Scope

log = logging.getLogger("polyvox.session")

COMPANION = "companion"
PLAIN = (None, "no_model", "nothing_to_tell")
"""Why a handover is as it is, where nothing went wrong."""
TOLD: dict[str, tuple[ItemKind, ...]] = {
    COMPANION: ("handover", "bridge", "steering", "instruction", "profile", "loop"),
}
TO_A_COUNCIL: tuple[ItemKind, ...] = ("handover", "instruction", "profile", "loop")
"""Loops are what a handover quotes."""
IN_EVERY_TURN = ("current_focus", "work_context", "north_star", "preferences.tone")
ALWAYS = tuple(f"{LINES[place]}: " for place in IN_EVERY_TURN)
"""How lines begin that a council is always told."""
SMALL_STANDING = 240
"""Characters of instructions that a small model is told: it reads slowly, its window is small."""


TIMED_OUT = "standing: timeout"
NOT_ASKED = "standing: not asked (the session's start timed out)"


class Packet(msgspec.Struct, frozen=True):
    """What is kept of a session's start, and whether it may go to a cloud model."""

    start: Start
    cloud: bool


@dataclass(frozen=True, slots=True)
class Opened:
    """What a session starts with, and how it came about."""

    start: Start
    how: str
    """fetched, cached, brief (the plainer packet), empty or failed."""
    cloud: bool
    veto: Veto = NO_VETO

    @property
    def packet(self) -> str:
        """As it is kept. One that failed is kept too: its time is lost once in a session."""
        return msgspec.json.encode(Packet(self.start, self.cloud)).decode()

    @property
    def in_vain(self) -> bool:
        """Whether a turn has just waited for it and got nothing: memory is not asked once more in
        the same turn."""
        return self.how != "cached" and self.start.timed_out

    @property
    def degrades(self) -> list[str]:
        """What is missing of it, and why."""
        return [str(one) for one in self.start.degrades] + unwritten(self.start)

    @property
    def vetoed(self) -> tuple[str, ...]:
        """The words of what shall not be told."""
        gone = [one for one in self.start.items if one.id in self.veto.ids]
        return tuple(text for one in gone for text in (one.text, one.quote) if text)

    def allowed(self, standing: Sequence[str]) -> tuple[str, ...]:
        """The instructions that were not vetoed; none, where nobody can tell which those are."""
        if self.veto.ids and not self.start.items:
            return ()
        gone = set(self.vetoed)
        return tuple(one for one in standing if one not in gone)


def uses_memory(road: Road, recipe: Recipe) -> bool:
    """Whether the advisors of a recipe are told what is remembered."""
    off = recipe.name == "council" and not road.settings.memory.council
    return recipe.memory == "auto" and not off


def memory_for(road: Road, recipe: Recipe) -> MemoryService:
    """The memory that a turn of this recipe draws on."""
    return road.memory if uses_memory(road, recipe) else NoMemory()


def looks_up(road: Road, chosen: Recall) -> bool:
    """Whether turns look up what was said before: the conversation's choice, else the setting."""
    return (road.settings.memory.recall if chosen == "inherit" else chosen) != "off"


def is_cloud(road: Road, model: str) -> bool:
    """Whether a request may leave this machine: the model's own, or one that stands in for it."""
    names = (model, *road.settings.models.fallback)
    return not all(road.models.stays_here(name) for name in names)


def leaves(road: Road, recipe: Recipe, models: Iterable[str]) -> bool:
    """Whether what these models are told may leave this machine. A companion's answers are read by
    its gate, so what it is told may come there too."""
    gate = road.settings.models.gate
    also = (gate,) if recipe.name == COMPANION and gate else ()
    return any(is_cloud(road, model) for model in (*models, *also))


def unwritten(start: Start) -> list[str]:
    """Why a handover is the plain one though a model was to write it."""
    brief = start.startbrief
    reason = brief.evidence.fallback if brief is not None and brief.evidence is not None else None
    return [] if reason in PLAIN or not (brief and brief.handover_text) else [f"handover: {reason}"]


async def catch_up(road: Road, scope: Scope, recipe: Recipe, follows: bool) -> None:
    """Have remembered, before a session begins, what ended before it; `follows`: just now, by the
    message that begins it. It takes no longer than a start may."""
    if not uses_memory(road, recipe):
        return
    try:
        async with asyncio.timeout(road.settings.memory.budget):
            await road.catch_up(scope, follows)
    except (TimeoutError, PolyvoxError) as error:
        log.warning("a session begins before the last one is remembered: %r", error)


async def opened(
    road: Road,
    memory: MemoryService,
    scope: Scope,
    session_id: str,
    now: int,
    kept: Kept | None,
    *,
    cloud: bool,
) -> Opened:
    """What a session started with: kept, else asked for within its budget."""
    veto = Veto.of(kept.vetoed) if kept is not None else NO_VETO
    before = _kept(kept)
    if before is not None and (before.cloud or not cloud):
        return Opened(before.start, "cached", before.cloud, veto)
    asked = memory.start(scope, session_id, now, cloud=cloud, veto=veto)
    start = await _within(road, memory, asked)
    return Opened(start, _how(start), cloud, veto)


async def begun(
    road: Road,
    memory: MemoryService,
    scope: Scope,
    session_id: str,
    now: int,
    kept: Kept | None,
    *,
    cloud: bool,
) -> tuple[Opened, tuple[tuple[str, ...], str]]:
    """What a session started with, and what is standing now (or why that is not known), together
    within one budget."""
    asked = opened(road, memory, scope, session_id, now, kept, cloud=cloud)
    if not memory.starts_whole:
        return await asyncio.gather(asked, _standing(road, memory, scope, cloud=cloud))
    told = await asked
    return told, await standing(road, memory, scope, told, cloud=cloud)


async def _within(road: Road, memory: MemoryService, asked: Awaitable[Start]) -> Start:
    """A start within the budget. A remote service ends each of its calls by then: to end them all
    from here would lose what came because of one that did not."""
    budget = road.settings.memory.budget
    try:
        async with asyncio.timeout(None if isinstance(memory, RemoteService) else budget):
            return await asked
    except TimeoutError:
        return Start(degrades=(Degrade("startbrief", "timeout", f"{budget:g} s"),))
    except PolyvoxError as error:
        return Start(degrades=(Degrade("startbrief", "unreachable", error.code),))


async def standing(
    road: Road, memory: MemoryService, scope: Scope, told: Opened, *, cloud: bool
) -> tuple[tuple[str, ...], str]:
    """What the person asked for once and for all, or why that is not known. `told` is what the
    session started with: nobody is asked for what it says."""
    if isinstance(memory, RemoteService):
        return memory.standing_in(told.start), ""
    if told.in_vain:
        return (), NOT_ASKED
    if memory.starts_whole and told.how == "fetched":  # just now, so what it tells is what stands
        return tuple(one.text for one in told.start.items if one.kind == "instruction"), ""
    return await _standing(road, memory, scope, cloud=cloud)


async def _standing(
    road: Road, memory: MemoryService, scope: Scope, *, cloud: bool
) -> tuple[tuple[str, ...], str]:
    try:
        async with asyncio.timeout(road.settings.memory.budget):
            return await memory.standing(scope, cloud=cloud), ""
    except TimeoutError:
        return (), TIMED_OUT
    except PolyvoxError as error:
        return (), f"standing: {error.code}"


def _kept(kept: Kept | None) -> Packet | None:
    if kept is None or not kept.packet:
        return None
    try:
        return msgspec.json.decode(kept.packet, type=Packet)
    except msgspec.ValidationError:  # of another version: it is a cache
        return None


def _how(start: Start) -> str:
    if start.startbrief is not None:
        return "fetched"
    return "brief" if start.brief is not None else "failed" if start.degrades else "empty"


# -- looking at it, and the veto -----------------------------------------------------------------


When = Literal["start", "later"]
"""Told at once, or only where it comes up."""


@dataclass(frozen=True, slots=True)
class Shown:
    """Something that a session may be told, as a person looks at it."""

    item: StartItem
    when: When
    vetoed: bool
    elsewhere: bool
    """Whether it was said in a session that is none of the conversations here."""


@dataclass(frozen=True, slots=True)
class Strip:
    """What the next message's session is told; a running one: what it was told, and what may come
    up in it."""

    session: Session | None
    """None: the next message opens one."""
    memory: bool
    recall: bool
    items: tuple[Shown, ...]
    degrades: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Place:
    recipe: Recipe
    models: tuple[str, ...]
    recall: Recall
    session: Session | None
    kept: Kept | None


async def strip(
    road: Road, scope: Scope, recipe_name: str, conversation_id: str | None = None
) -> Strip:
    """What a person may look at before they speak. Nothing is stored, and no model is asked."""
    place = await road.database.read(
        lambda tx: _place(tx, road, recipe_name, conversation_id), scope
    )
    recall = looks_up(road, place.recall)
    if not uses_memory(road, place.recipe):
        return Strip(place.session, False, recall, (), ())
    kept, session = place.kept, place.session
    ids = frozenset(kept.vetoed) if kept is not None else frozenset[str]()
    before = _kept(kept)
    if before is None:
        before = await _fresh(road, scope, place, Veto(ids))
    small = all(road.models.facts(one).prompts == "compact" for one in place.models)
    told = told_to(place.recipe, before.start, ids, small=small, look=recall)
    whence = {one.session_id for one, _ in told if one.session_id is not None}
    here = await road.database.read(lambda tx: _known(tx, whence), scope)
    items = tuple(
        Shown(one, when, one.id in ids, one.session_id is not None and one.session_id not in here)
        for one, when in told
    )
    degrades = (*map(str, before.start.degrades), *unwritten(before.start))
    return Strip(session, True, recall, items, degrades)


def told_to(
    recipe: Recipe,
    start: Start,
    vetoed: frozenset[str] = frozenset(),
    *,
    small: bool = False,
    look: bool = True,
) -> tuple[tuple[StartItem, When], ...]:
    """Of everything that can be told, what this recipe tells, and when; what is told at once comes
    first. `small`: only to small models; `look`: whether things are looked up as well."""
    alone = recipe.name == COMPANION
    kinds = TOLD.get(recipe.name, TO_A_COUNCIL)
    always, called = _lines(start, alone=alone, small=small)
    wishes = [o.text for o in start.items if o.kind == "instruction" and o.id not in vetoed]
    rules = blocks.standing(
        wishes, SMALL_STANDING if small and not alone else blocks.STANDING_CHARS
    )

    def when(one: StartItem) -> When | None:
        """None: never."""
        out = one.id in vetoed
        if one.kind == "handover":
            return "start" if alone or tells_something(start) else None
        if one.kind in ("bridge", "steering"):
            return "start" if out or _opens(start, one.kind) else None
        if one.kind == "instruction":
            return "start" if out or quoted(one.text) in rules else "later"
        if one.kind == "profile":
            if one.text in always or (out and not alone and one.text.startswith(ALWAYS)):
                return "start"
            return "later" if out or look or one.text in called else None
        return "later"

    told = [(one, when(one)) for one in start.items if one.kind in kinds]
    shown = [(one, at) for one, at in told if at is not None]
    return tuple(sorted(shown, key=lambda each: (each[1] != "start", kinds.index(each[0].kind))))


def _lines(start: Start, *, alone: bool, small: bool) -> tuple[set[str], set[str]]:
    """Lines of the profile as items: those told in every turn, and those that a message calls for
    by itself."""
    model = start.user_model
    if model is None:
        return set(), set()
    star = model.north_star.get("general") or next(iter(model.north_star.values()), None)
    heading = (star.vision or star.goal) if star is not None else None
    shared = {
        "work_context": model.work_context,
        "north_star": heading,
        "preferences.tone": model.tone,
    }
    told = {"current_focus": model.current_focus, **shared}
    people = {f"{one.name}: {one.about}" for one in model.key_relationships}
    people |= {one.name for one in model.key_relationships}
    if not alone:
        return set() if small else _as_items(told), set() if small else people
    patterns = {text for one in model.patterns for text in (one.text, f"A pattern: {one.text}")}
    return set(), people | patterns | _as_items(shared)


def _as_items(lines: Mapping[str, Stated | None]) -> set[str]:
    """With the name of their place, as the embedded memory shows them, and without."""
    found = {(LINES[place], one.text) for place, one in lines.items() if one is not None}
    return {text for _, text in found} | {f"{name}: {text}" for name, text in found}


def _opens(start: Start, kind: ItemKind) -> bool:
    """Whether a bridge or a note on the day before is told in a session's first message."""
    brief, day = start.startbrief, start.daily
    if kind == "bridge":
        return brief is not None and brief.resume is not None and brief.resume.use_bridge
    if day is None or not day.exists:
        return False
    note, sure = day.steering_note or "", day.confidence or 0
    return bool(blocks.steering(note, sure, day.quality_flag or ""))


def _known(tx: Tx, ids: Iterable[str]) -> set[str]:
    """Those of the sessions that are here."""
    found = set()
    for one in ids:
        with suppress(NotFound):
            found.add(sessions.get(tx, one).id)
    return found


def tells_something(start: Start) -> bool:
    """Whether a handover says more than the time of day."""
    brief = start.startbrief
    quality = brief.evidence.quality if brief is not None and brief.evidence is not None else None
    return quality not in ("thin", "empty")


async def set_veto(road: Road, scope: Scope, conversation_id: str, ids: Iterable[str]) -> None:
    """What the session that is running shall not be told, in place of what it was before."""
    now = road.clock()

    def write(tx: Tx) -> None:
        conversation = conversations.get(tx, conversation_id)
        session = running_session(tx, road, conversation, now)
        if session is None:
            raise Conflict(
                "No session is running in this conversation.",
                "Send `veto` with the message that opens the next one.",
            )
        companions.veto(tx, session.id, conversation_id, ids, now)

    await road.database.write(write, scope)


def add_veto(tx: Tx, session_id: str, conversation_id: str, ids: Iterable[str], now: int) -> None:
    """What a session shall not be told either."""
    kept = companions.session(tx, session_id)
    before = kept.vetoed if kept is not None else ()
    companions.veto(tx, session_id, conversation_id, (*before, *ids), now)


async def _fresh(road: Road, scope: Scope, place: _Place, veto: Veto) -> Packet:
    cloud = leaves(road, place.recipe, place.models)
    session = place.session.id if place.session is not None else ""
    asked = road.memory.start(scope, session, road.clock(), cloud=cloud, veto=veto, written=False)
    return Packet(await _within(road, road.memory, asked), cloud)


def _place(tx: Tx, road: Road, recipe_name: str, conversation_id: str | None) -> _Place:
    known = council.everyone(tx)
    if conversation_id is None:
        talk = Conversation("", "", recipe_name, None, None, None, 0, 0, 0)
        session = None
    else:
        talk = conversations.get(tx, conversation_id)
        session = running_session(tx, road, talk, road.clock())
    recipe = council.find_recipe(tx, road.settings, talk.recipe)
    asked = council.council_of(talk, known, None)
    models = tuple(one.model or recipe.model or road.models.default for one in asked)
    kept = companions.session(tx, session.id) if session is not None else None
    return _Place(recipe, models, talk.recall, session, kept)


def running_session(tx: Tx, road: Road, conversation: Conversation, now: int) -> Session | None:
    """The session that a message sent now would belong to."""
    found = sessions.open_session(tx, conversation.id)
    if found is None or conversation.recipe in ENDLESS:
        return found
    idle = road.settings.sessions.idle_minutes
    return None if is_over(found.last_user_at, now, idle) else found
