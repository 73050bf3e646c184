"""What a session starts with: asked of memory once, kept for the session, less what was vetoed.

The packet that is kept holds words, and is a cache: it goes when anything is forgotten or changed,
when the veto is, and where it was read for a model on this machine and is now for one elsewhere.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec

from polyvox.companion import blocks
from polyvox.context.recipe import Recipe
from polyvox.context.words import quoted
from polyvox.errors import PolyvoxError
from polyvox.memory.packets import ItemKind, StartItem, Stated
from polyvox.memory.remembering import MemoryService, Start, standing_in
from polyvox.memory.remote import Degrade
from polyvox.memory.session_start import Talk
from polyvox.memory.tables import companions
from polyvox.memory.tables.companions import Kept
from polyvox.memory.veto import LINES, NO_VETO, Veto
from polyvox.resources import Resources
from polyvox.store.database import Tx
from polyvox.values import Recall, Scope

log = logging.getLogger("polyvox.session")

PLAIN = (None, "no_model", "nothing_to_tell", "continues", "hard")
"""Why a handover is as it is, where nothing went wrong."""
TO_A_PERSONA: tuple[ItemKind, ...] = (
    "handover",
    "bridge",
    "steering",
    "instruction",
    "profile",
    "loop",
)
TO_A_COUNCIL: tuple[ItemKind, ...] = ("handover", "instruction", "profile", "loop")
"""Loops are what a handover quotes."""
IN_EVERY_TURN = ("current_focus", "work_context", "north_star", "preferences.tone")
ALWAYS = tuple(f"{LINES[place]}: " for place in IN_EVERY_TURN)
"""How lines begin that a council is always told."""
SMALL_STANDING = 240
"""Characters of instructions that a small model is told: it reads slowly, its window is small."""


TIMED_OUT = "standing: timeout"
NOT_ASKED = "standing: not asked (the session's start timed out)"


TRIES = 3
"""Turns of a session that wait for a start which times out."""


class Packet(msgspec.Struct, frozen=True):
    """What is kept of a session's start, and whether it may go to a cloud model."""

    start: Start
    cloud: bool
    advisor_id: str | None = None
    """The only advisor who may be told it: its own reply may be quoted."""
    tries: int = 1
    """Turns that have waited for it."""

    def serves(self, talk: Talk, *, cloud: bool) -> bool:
        """Whether it need not be asked for again."""
        ours = self.advisor_id in (None, talk.advisor_id)
        return ours and (self.cloud or not cloud) and not self.again

    @property
    def again(self) -> bool:
        """True if it timed out and may be tried once more."""
        return self.start.timed_out and self.tries < TRIES


@dataclass(frozen=True, slots=True)
class Opened:
    """What a session starts with, and how it came about."""

    start: Start
    how: str
    """fetched, cached, brief (the plainer packet), empty or failed."""
    cloud: bool
    veto: Veto = NO_VETO
    advisor_id: str | None = None
    tries: int = 1
    late: bool = False
    """True if turns before this one waited for it and got nothing: it is told as at the start."""

    @property
    def packet(self) -> str:
        """As it is kept. One that failed is kept too, so that it is tried a few times only."""
        kept = Packet(self.start, self.cloud, self.advisor_id, self.tries)
        return msgspec.json.encode(kept).decode()

    @property
    def in_vain(self) -> bool:
        """Whether a turn has just waited for it and got nothing: memory is not asked once more in
        the same turn."""
        return self.how != "cached" and self.start.timed_out

    @property
    def fell_back(self) -> bool:
        """True if the plainer brief stands in for the startbrief."""
        return self.start.startbrief is None and self.start.brief is not None

    @property
    def items_count(self) -> int:
        """Items of the startbrief."""
        return len(self.start.startbrief.items) if self.start.startbrief else 0

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


def looks_up(resources: Resources, chosen: Recall) -> bool:
    """Whether turns look up what was said before: the conversation's choice, else the setting."""
    return (resources.settings.memory.recall if chosen == "inherit" else chosen) != "off"


def is_cloud(resources: Resources, model: str) -> bool:
    """Whether a request may leave this machine: the model's own, or one that stands in for it."""
    names = (model, *resources.settings.models.fallback)
    return not all(resources.models.stays_here(name) for name in names)


def leaves(resources: Resources, recipe: Recipe, models: Iterable[str]) -> bool:
    """Whether what these models are told may leave this machine. A companion's answers are read by
    its gate, so what it is told may come there too."""
    gate = resources.settings.models.gate
    also = (gate,) if recipe.traits.persona and gate else ()
    return any(is_cloud(resources, model) for model in (*models, *also))


def unwritten(start: Start) -> list[str]:
    """Why a handover is the plain one though a model was to write it."""
    brief = start.startbrief
    reason = brief.evidence.fallback if brief is not None and brief.evidence is not None else None
    return [] if reason in PLAIN or not (brief and brief.handover_text) else [f"handover: {reason}"]


async def opened(
    resources: Resources,
    memory: MemoryService,
    scope: Scope,
    session_id: str,
    now: int,
    kept: Kept | None,
    talk: Talk,
    *,
    cloud: bool,
) -> Opened:
    """What a session started with: kept, else asked for within its budget."""
    veto = Veto(frozenset(kept.vetoed)) if kept is not None else NO_VETO
    before = packet_of(kept)
    if before is not None and before.serves(talk, cloud=cloud):
        return Opened(before.start, "cached", before.cloud, veto, before.advisor_id, before.tries)
    asked = memory.start(scope, session_id, now, cloud=cloud, veto=veto, talk=talk)
    start = await within(resources, memory, asked)
    waited = before is not None and before.again
    return Opened(
        start,
        _how(start),
        cloud,
        veto,
        talk.advisor_id,
        before.tries + 1 if before is not None and waited else 1,
        late=waited and not start.timed_out,
    )


async def begun(
    resources: Resources,
    memory: MemoryService,
    scope: Scope,
    session_id: str,
    now: int,
    kept: Kept | None,
    talk: Talk,
    *,
    cloud: bool,
) -> tuple[Opened, tuple[tuple[str, ...], str]]:
    """What a session started with, and what is standing now (or why that is not known), together
    within one budget."""
    asked = opened(resources, memory, scope, session_id, now, kept, talk, cloud=cloud)
    if not memory.starts_whole:
        return await asyncio.gather(asked, _standing(resources, memory, scope, cloud=cloud))
    told = await asked
    return told, await standing(resources, memory, scope, told, cloud=cloud)


async def within(resources: Resources, memory: MemoryService, asked: Awaitable[Start]) -> Start:
    """A start within the budget. A remote service ends each of its calls by then: to end them all
    from here would lose what came because of one that did not."""
    budget = resources.settings.memory.budget
    try:
        async with asyncio.timeout(None if memory.elsewhere else budget):
            return await asked
    except TimeoutError:
        return Start(degrades=(Degrade("startbrief", "timeout", f"{budget:g} s"),))
    except PolyvoxError as error:
        return Start(degrades=(Degrade("startbrief", "unreachable", error.code),))


async def standing(
    resources: Resources, memory: MemoryService, scope: Scope, told: Opened, *, cloud: bool
) -> tuple[tuple[str, ...], str]:
    """What the person asked for once and for all, or why that is not known. `told` is what the
    session started with: nobody is asked for what it says."""
    if memory.elsewhere:
        return standing_in(told.start), ""
    if told.in_vain:
        return (), NOT_ASKED
    if memory.starts_whole and told.how == "fetched":  # just now, so what it tells is what stands
        return tuple(one.text for one in told.start.items if one.kind == "instruction"), ""
    return await _standing(resources, memory, scope, cloud=cloud)


async def _standing(
    resources: Resources, memory: MemoryService, scope: Scope, *, cloud: bool
) -> tuple[tuple[str, ...], str]:
    try:
        async with asyncio.timeout(resources.settings.memory.budget):
            return await memory.standing(scope, cloud=cloud), ""
    except TimeoutError:
        return (), TIMED_OUT
    except PolyvoxError as error:
        return (), f"standing: {error.code}"


def packet_of(kept: Kept | None) -> Packet | None:
    """What is kept of a session's start; None: nothing that this version can read."""
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
    alone = recipe.traits.persona
    kinds = TO_A_PERSONA if alone else TO_A_COUNCIL
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


def tells_something(start: Start) -> bool:
    """Whether a handover says more than the time of day."""
    brief = start.startbrief
    quality = brief.evidence.quality if brief is not None and brief.evidence is not None else None
    return quality not in ("thin", "empty")


def add_veto(tx: Tx, session_id: str, conversation_id: str, ids: Iterable[str], now: int) -> None:
    """What a session shall not be told either."""
    kept = companions.session(tx, session_id)
    before = kept.vetoed if kept is not None else ()
    companions.veto(tx, session_id, conversation_id, (*before, *ids), now)
