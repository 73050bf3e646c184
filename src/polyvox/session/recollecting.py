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
from typing import Any

import msgspec

from polyvox.companion import blocks, deferred, handover, sheet
from polyvox.companion.reading import NO_GATE
from polyvox.context.draft import Compiled
from polyvox.context.receipt import BaseHistory, Seat
from polyvox.errors import PolyvoxError
from polyvox.memory.moment import zone_of
from polyvox.memory.recall import Exclude, Reader
from polyvox.memory.remote import LATE
from polyvox.memory.running import Heard
from polyvox.memory.tables import companions
from polyvox.memory.tables.companions import Kept
from polyvox.models.base import ModelFacts
from polyvox.quote import quoted
from polyvox.session import starting
from polyvox.session.earlier import heard_of
from polyvox.session.excerpts import brief_of
from polyvox.session.recalling import Librarian, Sought, words_for
from polyvox.session.road import Job, Road
from polyvox.session.starting import Opened
from polyvox.store.database import Tx
from polyvox.thread import Thread, ThreadTurn
from polyvox.values import Params, Turn

LINE = 240
"""Characters of one line of the profile."""
SMALL_FACTS = 1


@dataclass(frozen=True, slots=True)
class Seated:
    """An advisor about to be asked: its thread, its model, and its receipt before this one."""

    thread: Thread
    facts: ModelFacts
    params: Params
    base: BaseHistory | None
    place: Seat

    @property
    def begins(self) -> bool:
        """Whether nothing was said before."""
        return not (self.thread.head or self.thread.past or self.thread.unread)

    @property
    def small(self) -> bool:
        """Whether its model is one for which everything is kept short."""
        return self.facts.prompts == "compact"


@dataclass(frozen=True, slots=True)
class Remembered:
    """What is to be kept of it: what the session started with, and a trace for each answer."""

    kept: Kept
    traces: tuple[tuple[str, str], ...]

    def store(self, tx: Tx, turn: Turn, now: int) -> None:
        """Keep it."""
        talk, session = turn.conversation_id, turn.session_id or turn.id
        companions.put_session(tx, session, talk, self.kept, now)
        companions.put_traces(tx, turn.id, talk, self.traces, now)


async def recollect(
    road: Road,
    jobs: Sequence[Job],
    seats: Sequence[Seated],
    drafts: Sequence[Compiled | None],
    kept: Kept | None,
    unread: Sequence[tuple[ThreadTurn, ...]],
    number: int,
    *,
    look: bool,
) -> Remembered:
    """Decide what each job's advisor is told (`Job.memory`). `drafts` are the requests without it
    (none: nothing was said before) and `unread` what of the session is in none; `number`: which
    message of its session this is; `look`: whether anything is looked up."""
    began = time.perf_counter()
    scope, turn = jobs[0].scope, jobs[0].turn
    now = turn.said_at if turn.said_at is not None else road.clock()
    cloud = any(starting.is_cloud(road, one.facts.id) for one in seats)
    session = turn.session_id or turn.id
    steps = {"brief_ms": 0.0, "recall_ms": 0.0}

    async def ask_brief() -> tuple[Opened, tuple[tuple[str, ...], str]]:
        told = await starting.begun(road, road.memory, scope, session, now, kept, cloud=cloud)
        steps["brief_ms"] = _ms(time.perf_counter() - began)
        return told

    async def ask_recall(opened: Opened | None) -> list[Sought]:
        if not look:
            return [Sought(decision="off") for _ in jobs]
        since = time.perf_counter()
        found = await _look_up(road, jobs, seats, drafts, unread, opened, now)
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
    traces = []
    brief, profile = _brief(opened), _profile(opened, turn.content)
    rules = {
        small: blocks.standing(
            standing, starting.SMALL_STANDING if small else blocks.STANDING_CHARS
        )
        for small in {seat.small for seat in seats}
    }
    for job, seat, found in zip(jobs, seats, sought, strict=True):
        carried = handover.carry(brief, number, _first(seat.thread), NO_GATE, reinjected=False)
        lines = [] if seat.small else profile
        job.memory = _told(rules[seat.small], lines, carried.handover, found.text)
        trace = _trace(turn, opened, brief, number, carried, lines, found)
        room = starting.SMALL_STANDING if seat.small else blocks.STANDING_CHARS
        unsaid = blocks.left_out(standing, room)
        trace["degrades"] = [
            *opened.degrades,
            *([unsaid] if unsaid else []),
            *([degrade] if degrade else []),
            *([found.degrade] if found.degrade else []),
        ]
        trace["timings"] = steps
        trace["system_blocks"] = [name for name, _ in job.memory]
        traces.append((job.answer_id, msgspec.json.encode(trace).decode()))
    before = kept or Kept()
    return Remembered(replace(before, packet=opened.packet), tuple(traces))


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 1)


def _first(thread: Thread) -> str:
    """What the person said first in this session."""
    mine = (one for one in thread.past if one.session_id == thread.current.session_id)
    return next(mine, thread.current).text


def _brief(opened: Opened) -> handover.Brief:
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
    road: Road,
    jobs: Sequence[Job],
    seats: Sequence[Seated],
    drafts: Sequence[Compiled | None],
    unread: Sequence[tuple[ThreadTurn, ...]],
    opened: Opened | None,
    now: int,
) -> list[Sought]:
    """What the message calls up for each advisor, all looked up at once. `opened`: what the session
    started with, where any of it was vetoed."""
    scope, message = jobs[0].scope, jobs[0].turn.content
    zone = zone_of(road.settings.timezone)
    hidden = frozenset(opened.start.hidden) if opened is not None else frozenset[str]()
    librarians = []
    for number, (job, seat) in enumerate(zip(jobs, seats, strict=True)):
        draft = drafts[number] if drafts else None
        sessions, shown = _in_request(seat, draft) if drafts else _in_message(seat)
        earlier = _earlier(seat, draft, unread[number] if unread else ())
        librarians.append(
            Librarian(
                road.memory,
                scope,
                Reader(advisor_id=job.advisor.id, cloud=starting.is_cloud(road, seat.facts.id)),
                Exclude(ids=hidden, sessions=sessions),
                now,
                zone,
                job.advisor.name,
                road.settings.memory.recall_seconds,
                shown,
                opened.vetoed if opened is not None else (),
                most=SMALL_FACTS if seat.small else sheet.MOST,
                heard=earlier,
            )
        )
    words_of = words_for(message, now, [one.name for one in librarians])
    asked = list(zip(librarians, words_of, strict=True))
    degrade = str(LATE) if opened is not None and opened.in_vain else ""
    wanted = [one.lookup(words) for one, words in asked if words and not degrade]
    try:
        async with asyncio.timeout(road.settings.memory.recall_seconds):
            got = iter(await road.memory.look_up_all(scope, wanted) if wanted else ())
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


def _in_message(seat: Seated) -> tuple[frozenset[str], str]:
    """The same as below, where the message is all that was said."""
    said = seat.thread.current
    return frozenset() if said.session_id is None else frozenset({said.session_id}), said.text


def _in_request(seat: Seated, compiled: Compiled | None) -> tuple[frozenset[str], str]:
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
    seat: Seated, compiled: Compiled | None, unread: Sequence[ThreadTurn]
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
    people = deferred.Profile({one.name: one.about[:LINE] for one in model.key_relationships})
    if named := deferred.people(people, message):
        found.append(("relationships", named))
    return found


# -- the trace -----------------------------------------------------------------------------------


def _trace(
    turn: Turn,
    opened: Opened,
    brief: handover.Brief,
    number: int,
    carried: handover.Said,
    lines: Sequence[tuple[str, str]],
    found: Sought,
) -> dict[str, Any]:
    start = opened.start
    return {
        "startbrief_used": start.startbrief is not None,
        "startbrief_fallback": start.startbrief is None and start.brief is not None,
        "startbrief_items_count": len(start.startbrief.items) if start.startbrief else 0,
        "startbrief_runtime": {
            "session_id": turn.session_id,
            "userTurnsSeen": number,
            "handover_injected": bool(carried.handover),
            "bridge_injected": False,
            "ops_injected": False,
            "ops_source": None,
            "startbrief_fetch": opened.how,
            "reinjection_used": False,
        },
        "handover_reason": carried.reason if brief.handover else "nothing to say",
        "user_context": [name for name, _ in lines],
        "recall": found.as_trace(),
    }
