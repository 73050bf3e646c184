"""What the advisors of a council are told of the past, decided before their models are asked.

    what the session started with → instructions, profile, handover; for each advisor: recall

There is no gate: what is relevant enough is told. An advisor recalls the person's words and its own
answers, never another's, and nothing that its request holds already. Nothing here fails a turn, and
whoever has no memory is sent what they would be sent without one.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from polyvox.companion import blocks, recalling, starting
from polyvox.companion.blocks import brief_of
from polyvox.companion.gate import NO_GATE
from polyvox.companion.recalling import Librarian, Sought, words_for
from polyvox.companion.starting import Opened
from polyvox.context.draft import Compiled
from polyvox.context.words import quoted
from polyvox.errors import PolyvoxError
from polyvox.memory.recall import Exclude, Reader
from polyvox.memory.remembering import MemoryService, Services
from polyvox.memory.remote import LATE
from polyvox.memory.running import Heard, heard_of, unread_of
from polyvox.memory.session_start import Talk
from polyvox.memory.tables import companions
from polyvox.memory.tables.companions import Kept
from polyvox.memory.tables.redaction import keep_told
from polyvox.memory.tell import AdvisorView, Runtime, Told, Trace, TurnView, with_drafts
from polyvox.memory.times import zone_of
from polyvox.resources import Resources
from polyvox.store import conversations
from polyvox.store.database import Tx
from polyvox.store.threads import count_answered_messages
from polyvox.thread import Thread, ThreadTurn
from polyvox.values import Recall, Turn

LINE = 240
"""Characters of one line of the profile."""
SMALL_FACTS = 1


@dataclass(frozen=True, slots=True)
class _Seen:
    """What is stored of a turn's session."""

    kept: Kept | None
    recall: Recall
    unread: Sequence[tuple[ThreadTurn, ...]]
    """For each advisor, the turns of this session before what was read for its request."""
    number: int
    """Which message of its session the turn is, from 1."""


@dataclass(frozen=True, slots=True)
class CouncilMemory:
    """Tells the advisors of a council."""

    resources: Resources
    services: Services

    def look(self, tx: Tx, view: TurnView) -> TurnView:
        """Read what the session started with, and compile the requests without memory: what there
        is to tell depends on what they hold, but not where that is one message."""
        turn = view.turn
        seen = _Seen(
            companions.session(tx, view.session),
            conversations.recall_of(tx, turn.conversation_id),
            [unread_of(tx, turn, one.thread) for one in view.advisors],
            1 + _said_before(tx, turn, view.advisors[0].thread),
        )
        view = replace(view, tell=partial(self._tell, seen))
        alone = all(one.begins for one in view.advisors)
        return view if alone else with_drafts(self.resources.settings, view)

    async def _tell(self, seen: _Seen, view: TurnView) -> Told:
        resources = self.resources
        memory = self.services.current.here() if view.imagined else self.services.current
        look = starting.looks_up(resources, seen.recall)
        return await _recollect(resources, memory, view, seen, look=look)


def _said_before(tx: Tx, turn: Turn, thread: Thread) -> int:
    """How many answered messages of its session stand before a turn, in a thread or not."""
    mine = [one for one in thread.past if one.session_id == turn.session_id]
    if len(thread.past) == turn.depth - 1 and all(one.own for one in mine):  # all are there
        return len(mine)
    return count_answered_messages(tx, turn)


async def _recollect(
    resources: Resources, memory: MemoryService, view: TurnView, seen: _Seen, *, look: bool
) -> Told:
    """`look`: whether anything is looked up."""
    began = time.perf_counter()
    scope, turn, kept, number = view.scope, view.turn, seen.kept, seen.number
    now = turn.said_at if turn.said_at is not None else resources.clock()
    cloud = any(starting.is_cloud(resources, one.facts.id) for one in view.advisors)
    steps = {"brief_ms": 0.0, "recall_ms": 0.0}

    async def ask_brief() -> tuple[Opened, tuple[tuple[str, ...], str]]:
        talk = Talk(turn.conversation_id)
        told = await starting.begun(
            resources, memory, scope, view.session, now, kept, talk, cloud=cloud
        )
        steps["brief_ms"] = _ms(time.perf_counter() - began)
        return told

    async def ask_recall(opened: Opened | None) -> list[Sought]:
        if not look:
            return [Sought(decision="off") for _ in view.advisors]
        since = time.perf_counter()
        found = await _look_up(resources, memory, view, seen.unread, opened, now)
        steps["recall_ms"] = _ms(time.perf_counter() - since)
        return found

    if kept is not None and kept.vetoed:
        # What must not be told is known by what there is to tell.
        opened, (wishes, degrade) = await ask_brief()
        sought = await ask_recall(opened)
    else:
        (opened, (wishes, degrade)), sought = await asyncio.gather(ask_brief(), ask_recall(None))
    standing = opened.allowed(wishes)
    steps["context_ms"] = _ms(time.perf_counter() - began)
    traces, told = [], []
    brief, profile = _brief(opened), _profile(opened, turn.content)
    rules = {
        small: blocks.standing(
            standing, starting.SMALL_STANDING if small else blocks.STANDING_CHARS
        )
        for small in {seat.small for seat in view.advisors}
    }
    for seat, found in zip(view.advisors, sought, strict=True):
        carried = blocks.carry(
            brief, 1 if opened.late else number, _first(seat.thread), NO_GATE, reinjected=False
        )
        lines = [] if seat.small else profile
        memory_blocks = _told(rules[seat.small], lines, carried.handover, found.text)
        room = starting.SMALL_STANDING if seat.small else blocks.STANDING_CHARS
        unsaid = blocks.left_out(standing, room)
        degrades = [*opened.degrades, unsaid, degrade, found.degrade]
        trace = Trace(
            startbrief_used=opened.start.startbrief is not None,
            startbrief_fallback=opened.fell_back,
            startbrief_items_count=opened.items_count,
            startbrief_runtime=Runtime(
                turn.session_id,
                number,
                handover_injected=bool(carried.handover),
                startbrief_fetch=opened.how,
            ),
            system_blocks=tuple(name for name, _ in memory_blocks),
            handover_reason=carried.reason if brief.handover else "nothing to say",
            user_context=tuple(name for name, _ in lines),
            recall=found.as_trace(),
            degrades=tuple(one for one in degrades if one),
            timings=steps,
        )
        traces.append(trace)
        told.append(memory_blocks)
    after = replace(kept or Kept(), packet=opened.packet)

    stored_at = resources.clock()
    rows = [(one.answer_id, trace.json) for one, trace in zip(view.advisors, traces, strict=True)]

    def store(tx: Tx) -> None:
        talk = turn.conversation_id
        companions.put_session(tx, view.session, talk, after, stored_at)
        companions.put_traces(tx, turn.id, talk, rows, stored_at)
        for seat, memory_blocks in zip(view.advisors, told, strict=True):
            names = [name for name, _ in memory_blocks]
            keep_told(tx, seat.answer_id, blocks.sources_of(opened.start, names))

    return Told(tuple(told), tuple(traces), store)


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 1)


def _first(thread: Thread) -> str:
    """What the person said first in this session."""
    mine = (one for one in thread.past if one.session_id == thread.current.session_id)
    return next(mine, thread.current).text


def _brief(opened: Opened) -> blocks.Brief:
    """The handover, where it tells something. There is no bridge: a council reads on anyway."""
    start = opened.start
    known = replace(brief_of(start), bridge="", use_bridge=False)
    return known if starting.tells_something(start) else replace(known, handover="")


def _told(
    rules: str, lines: Sequence[tuple[str, str]], carried: str, recalled: str
) -> tuple[tuple[str, str], ...]:
    """The blocks, those that stay the same from turn to turn first."""
    made = (
        ("standing_instructions", rules),
        ("user_context", blocks.user_context(lines)),
        ("handover", carried),
        ("supplemental_context", recalled),
    )
    return tuple((name, text) for name, text in made if text)


# -- recall --------------------------------------------------------------------------------------


async def _look_up(
    resources: Resources,
    memory: MemoryService,
    view: TurnView,
    unread: Sequence[tuple[ThreadTurn, ...]],
    opened: Opened | None,
    now: int,
) -> list[Sought]:
    """What the message calls up for each advisor, all looked up at once. `opened`: what the session
    started with, where any of it was vetoed."""
    scope, message = view.scope, view.turn.content
    zone = zone_of(resources.settings.timezone)
    drafted = not all(one.begins for one in view.advisors)
    hidden = frozenset(opened.start.hidden) if opened is not None else frozenset[str]()
    librarians = []
    for seat, before in zip(view.advisors, unread, strict=True):
        sessions, shown = _in_request(seat, seat.draft) if drafted else _in_message(seat)
        earlier = _earlier(seat, seat.draft, before)
        librarians.append(
            Librarian(
                memory,
                scope,
                Reader(
                    advisor_id=seat.advisor.id, cloud=starting.is_cloud(resources, seat.facts.id)
                ),
                Exclude(ids=hidden, sessions=sessions),
                now,
                zone,
                seat.advisor.name,
                resources.settings.memory.recall_seconds,
                shown,
                opened.vetoed if opened is not None else (),
                most=SMALL_FACTS if seat.small else recalling.MOST,
                heard=earlier,
            )
        )
    words_of = words_for(message, now, [one.name for one in librarians])
    asked = list(zip(librarians, words_of, strict=True))
    degrade = str(LATE) if opened is not None and opened.in_vain else ""
    wanted = [one.lookup(words) for one, words in asked if words and not degrade]
    try:
        async with asyncio.timeout(resources.settings.memory.recall_seconds):
            got = iter(await memory.look_up_all(scope, wanted) if wanted else ())
    except TimeoutError:
        degrade = "query: timeout"
    except PolyvoxError as error:
        degrade = f"query: {error.code}"
    found = []
    for librarian, words in asked:
        if not words:
            found.append(librarian.no_query())
        elif degrade:
            found.append(librarian.sought(words, None, degrade))
        else:
            reply = next(got)
            why = None if reply.degrade is None else str(reply.degrade)
            found.append(librarian.sought(words, reply.value, why))
    return found


def _in_message(seat: AdvisorView) -> tuple[frozenset[str], str]:
    """The same as below, where the message is all that was said."""
    said = seat.thread.current
    return frozenset() if said.session_id is None else frozenset({said.session_id}), said.text


def _in_request(seat: AdvisorView, compiled: Compiled | None) -> tuple[frozenset[str], str]:
    """What a request holds already: the sessions that are in it as a whole, and the words of it
    that may be of others."""
    thread = seat.thread
    lines = () if compiled is None else compiled.draft.lines
    refs = {line.ref for line in lines}
    said = (*thread.head, *thread.past, thread.current)
    cut = {one.session_id for one in said if f"u{one.turn_id}" not in refs}
    if thread.unread and thread.past:
        cut.add(thread.past[0].session_id)
    known = {one.session_id for one in said if one.session_id is not None}
    shown = "\n".join(line.text for line in lines) if known & cut else thread.current.text
    return frozenset(known - cut), shown


def _earlier(
    seat: AdvisorView, compiled: Compiled | None, unread: Sequence[ThreadTurn]
) -> tuple[Heard, ...]:
    """What was said in this session and is not in the request, in order."""
    thread = seat.thread
    session = thread.current.session_id
    if compiled is None or session is None:
        return ()
    refs = {line.ref for line in compiled.draft.lines}
    said = {one.turn_id: one for one in (*thread.head, *unread, *thread.past)}
    return heard_of([one for one in said.values() if one.session_id == session], refs)


# -- the profile ---------------------------------------------------------------------------------


def _profile(opened: Opened, message: str) -> list[tuple[str, str]]:
    """(which part, the line): what helps whoever advises, and the people whom a message names."""
    model = opened.start.user_model
    if model is None:
        return []
    star = model.north_star.get("general") or next(iter(model.north_star.values()), None)
    heading = (star.vision or star.goal) if star is not None else None
    found = [
        (part, f"{name}: {quoted(line.text[:LINE])}")
        for part, name, line in (
            ("current_focus", "In focus", model.current_focus),
            ("work_context", "Work", model.work_context),
            ("long_term_direction", "Long term", heading),
            ("communication_preference", "How they like to be spoken to", model.tone),
        )
        if line is not None and line.text.strip()
    ]
    people = blocks.Profile({one.name: one.about[:LINE] for one in model.key_relationships})
    if named := blocks.people(people, message):
        found.append(("relationships", named))
    return found
