"""The companion's part of a turn: what it is told beside its kernel, decided before its model is
asked, with every reason kept in the trace.

    what the session started with | the gate → posture → overlay → recall → blocks

Nothing here fails a turn: what a memory or a gate cannot do within its time is a degrade.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import msgspec

from polyvox.companion import blocks, overlays, starting
from polyvox.companion.blocks import Parts, brief_of, loops_of, ops_of, profile_of, tug_of
from polyvox.companion.gate import Gated, judged, messages_of, read_message
from polyvox.companion.overlays import Moment, Rites
from polyvox.companion.personas import kernel
from polyvox.companion.posture import HARD, Stance, stance_after
from polyvox.companion.recalling import Librarian, Sought
from polyvox.companion.starting import Opened
from polyvox.context.budget import TooLong
from polyvox.context.compile import compile_request
from polyvox.events import ConversationChanged
from polyvox.memory.packets import QueryReply
from polyvox.memory.recall import Exclude, Reader
from polyvox.memory.remembering import Lookup, MemoryService, NoMemory, Services
from polyvox.memory.remote import LATE, Got
from polyvox.memory.running import heard_of, unread_of
from polyvox.memory.tables import companions
from polyvox.memory.tables.companions import Kept, Mark, Marks
from polyvox.memory.tables.redaction import keep_told
from polyvox.memory.tell import (
    AdvisorView,
    PostureTrace,
    Runtime,
    Told,
    Trace,
    TurnView,
    unsent_blocks,
)
from polyvox.memory.times import at, zone_of
from polyvox.resources import Resources
from polyvox.store import conversations, usage
from polyvox.store.database import Tx
from polyvox.store.threads import (
    Need,
    Reach,
    count_answered_messages,
    last_answered_message,
    read_threads,
    went_unanswered,
)
from polyvox.thread import Thread
from polyvox.values import Recall, Scope, Turn

PURPOSE = "gate"
"""Under this name the gate's usage is summed, among the advisors too."""
WINDOW = 8
"""Messages of the session that the request holds: they are not recalled."""
TRIES = 3
"""Retries after a lost update of the persona's state."""
REACH = 60_000
"""Characters of the session that are read here; the rest is only counted by its turns."""

Begun = tuple[Opened, tuple[tuple[str, ...], str]]
"""What a session started with, and what is standing, or why that is not known."""


class State(msgspec.Struct, frozen=True):
    """A person's standing with one persona."""

    stance: Stance = Stance()
    rites: Rites = Rites()


@dataclass(slots=True)
class _Clocked:
    """How long each step took, in ms."""

    began: float = field(default_factory=time.perf_counter)
    steps: dict[str, float] = field(default_factory=dict)

    def mark(self, name: str, since: float) -> None:
        """A step is over."""
        self.steps[f"{name}_ms"] = round((time.perf_counter() - since) * 1000, 1)


@dataclass(frozen=True, slots=True)
class _Seen:
    """What is stored of a turn and before it."""

    threads: list[Thread]
    states: list[State]
    kept: Kept
    marks: Marks
    recall: Recall
    number: int
    """Which message of its session the turn is, from 1; those without an answer do not count."""
    first: str
    """The first message of it, as far as that matters: where the turn is the second."""
    clock: _Clocked


@dataclass(frozen=True, slots=True)
class Ready:
    """What is to be kept of a turn that was made ready."""

    seen: _Seen
    gated: Gated
    begun: Begun
    marks: Sequence[Mark]
    decided: Sequence[_Decided]
    """For each persona."""


@dataclass(frozen=True, slots=True)
class CompanionMemory:
    """Tells a persona."""

    resources: Resources
    services: Services
    resting: dict[str, int] = field(default_factory=dict, compare=False)
    """Until when gates that timed out are left alone, by their names."""

    def look(self, tx: Tx, view: TurnView) -> TurnView:
        """Read what is stored of the turn and before it. In an exchange a persona is told
        nothing."""
        return view if view.round else replace(view, tell=partial(self._tell, _see(tx, view)))

    async def _tell(self, seen: _Seen, view: TurnView) -> Told:
        """Decide what each persona is told in this turn, and keep why."""
        resources, clock = self.resources, seen.clock
        memory = self.services.of(view.recipe)
        memory = memory.here() if view.imagined else memory
        cloud = starting.leaves(resources, view.recipe, [one.facts.id for one in view.advisors])
        gated, begun = await asyncio.gather(
            _gate(resources, view, seen.threads[0], clock, self.resting),
            _start(resources, memory, view, seen.kept, cloud, clock),
        )
        made = await _decide_all(resources, memory, view, seen, gated, begun, clock)
        for last in () if view.imagined else (*[False] * TRIES, True):
            if await _keep(resources, view, made, clock, last=last):
                break
            anew = await resources.database.read(lambda tx: _see(tx, view), view.scope)
            anew = replace(anew, kept=made.seen.kept)  # what the packet was read with
            made = await _decide_all(resources, memory, view, anew, made.gated, made.begun, clock)

        def unsay(tx: Tx) -> None:
            _unsay(tx, view, made, resources.clock())

        blocks_, traces = zip(*((one.memory, one.trace) for one in made.decided), strict=True)
        return Told(blocks_, traces, unsay=unsay)


async def _keep(
    resources: Resources, view: TurnView, made: Ready, clock: _Clocked, *, last: bool
) -> bool:
    """Keep what was decided; but for the `last` time not where a state that it rests on is another
    by now: the same persona was talked to elsewhere, and may have done there what is done once a
    day."""
    scope, turn, now = view.scope, view.turn, resources.clock()
    clock.mark("context", clock.began)
    opened = made.begun[0]

    def write(tx: Tx) -> bool:
        if not last and _states(tx, view) != made.seen.states:
            return False
        after = replace(made.seen.kept, packet=opened.packet)
        companions.put_session(tx, view.session, turn.conversation_id, after, now)
        if "corrected" not in made.marks:  # it may have been read so the first time
            companions.unmark(tx, turn, "corrected")
        companions.put_marks(tx, turn, made.marks)
        _put_states(tx, view, made, [one.state for one in made.decided], now)
        told = []
        for one, decided in zip(view.advisors, made.decided, strict=True):
            trace = msgspec.structs.replace(decided.trace, timings=clock.steps)
            told.append((one.answer_id, trace.json))
            keep_told(tx, one.answer_id, blocks.sources_of(opened.start, dict(decided.memory)))
        companions.put_traces(tx, turn.id, turn.conversation_id, told, now)
        for model, spent in made.gated.spent:
            usage.record(
                tx,
                usage=spent,
                model=model,
                advisor_id=PURPOSE,
                at=now,
                conversation_id=turn.conversation_id,
                purpose=PURPOSE,
            )
        return True

    kept = await resources.database.write(write, scope)
    if kept and "crisis" in made.marks:  # whoever looks at the turn shows the help at once
        shown = ConversationChanged("message", turn.message_id)
        resources.journal.soon(scope, turn.conversation_id, lambda _: (None, [shown]))
    return kept


def _put_states(tx: Tx, view: TurnView, made: Ready, states: Sequence[State], now: int) -> None:
    for one, was, state in zip(view.advisors, made.seen.states, states, strict=True):
        before, after = (msgspec.json.encode(each).decode() for each in (was, state))
        companions.put_state(tx, one.advisor.id, view.turn, before, after, now)


def _unsay(tx: Tx, view: TurnView, made: Ready, now: int) -> None:
    """What was laid over or brought back in a turn that got no word of an answer was never said, so
    it may still be. What the person said in it counts."""
    if not went_unanswered(tx, view.turn.id):
        return  # there is an earlier version, or it is gone
    companions.unmark(tx, view.turn, "reinjected")
    _put_states(tx, view, made, [one.unsaid for one in made.decided], now)


async def _decide_all(
    resources: Resources,
    memory: MemoryService,
    view: TurnView,
    seen: _Seen,
    gated: Gated,
    begun: Begun,
    clock: _Clocked,
) -> Ready:
    opened, (wishes, standing_degrade) = begun
    start, standing = opened.start, opened.allowed(wishes)
    late = opened.in_vain or standing_degrade == starting.TIMED_OUT
    source = _Late() if late else memory
    look = source if starting.looks_up(resources, seen.recall) else None
    held = seen.marks.corrected_here and not gated.open
    made: set[Mark] = {"corrected"} if gated.reading.correction or held else set()
    corrected = seen.marks.corrected or bool(made)
    used = replace(start, startbrief=None, brief=None, daily=None) if corrected else start
    again = seen.marks.reinjected
    until = asyncio.get_running_loop().time() + resources.settings.memory.recall_seconds
    here = _Place(
        seen.number,
        seen.first,
        look,
        until,
        fetch="invalidated" if corrected else opened.how,
        fell_back=opened.fell_back,
        degrades=(
            *opened.degrades,
            standing_degrade,
            blocks.left_out(standing),
            gated.complaint,
        ),
    )
    trimmed = replace(opened, start=used)
    every = []
    for one, thread, state in zip(view.advisors, seen.threads, seen.states, strict=True):
        decided = await _decide(
            resources, view, one, thread, state, gated, trimmed, standing, here, again, clock
        )
        if (risk := decided.state.stance.risk) in HARD:  # and so they stay, if it is answered again
            made |= {"risk", "crisis"} if risk == "CRISIS" else {"risk"}
        if decided.reinjected:
            made.add("reinjected")
        every.append(decided)
    return Ready(seen, gated, begun, sorted(made), every)


def _see(tx: Tx, view: TurnView) -> _Seen:
    clock, turn = _Clocked(), view.turn
    needs = [
        Need(one.thread.advisor, REACH, usage.token_ratio(tx, one.facts.id))
        for one in view.advisors
    ]
    threads = [
        replace(one, past=(*unread_of(tx, turn, one), *one.past))
        for one in read_threads(tx, turn, Reach(session_only=True), needs, {})
    ]
    kept = companions.session(tx, view.session) or Kept()
    recall = conversations.recall_of(tx, turn.conversation_id)
    number = count_answered_messages(tx, turn) + 1
    first = (last_answered_message(tx, turn) if number == 2 else None) or turn.content
    marks = companions.marks(tx, turn)
    states = _states(tx, view)
    clock.mark("session", clock.began)
    return _Seen(threads, states, kept, marks, recall, number, first, clock)


def _states(tx: Tx, view: TurnView) -> list[State]:
    """The state before the turn, with each persona."""
    stored = [companions.state(tx, one.advisor.id, view.turn) for one in view.advisors]
    return [State() if one is None else msgspec.json.decode(one, type=State) for one in stored]


# -- the two calls -------------------------------------------------------------------------------


async def _gate(
    resources: Resources,
    view: TurnView,
    thread: Thread,
    clock: _Clocked,
    resting: dict[str, int],
) -> Gated:
    if view.imagined:
        return Gated()
    since = time.perf_counter()
    model = view.advisors[0].facts.id
    gated = await read_message(resources, resting, view.scope, view.turn, thread, model)
    if gated.model is not None:
        clock.mark("gate", since)
    return gated


async def _start(
    resources: Resources,
    memory: MemoryService,
    view: TurnView,
    kept: Kept | None,
    cloud: bool,
    clock: _Clocked,
) -> Begun:
    since = time.perf_counter()
    now = _now(resources, view.turn)
    found = await starting.begun(resources, memory, view, now, kept, cloud=cloud)
    if found[0].how != "cached":
        clock.mark("brief", since)
    return found


def _now(resources: Resources, turn: Turn) -> int:
    return turn.said_at if turn.said_at is not None else resources.clock()


# -- deciding ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Decided:
    memory: tuple[tuple[str, str], ...]
    state: State
    unsaid: State
    """The state, where nothing is answered."""
    trace: Trace
    reinjected: bool


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a turn stands, and what it may look up."""

    number: int
    first: str
    look: MemoryService | None
    """Where to look things up, if anywhere."""
    until: float
    """By when, for everybody who answers, by the loop's clock."""
    fetch: str
    """Where the session's start came from."""
    fell_back: bool
    """There was a plain brief instead of a startbrief."""
    degrades: tuple[str | None, ...]
    """What was not to be had so far, where anything."""


class _Late(NoMemory):
    """A service elsewhere that has cost this turn its budget already."""

    async def look_up(self, scope: Scope, wanted: Lookup) -> Got[QueryReply]:  # noqa: ARG002
        """It is not asked."""
        return Got(None, LATE)


async def _decide(
    resources: Resources,
    view: TurnView,
    one: AdvisorView,
    thread: Thread,
    state: State,
    gated: Gated,
    opened: Opened,
    standing: Sequence[str],
    here: _Place,
    again: bool,
    clock: _Clocked,
) -> _Decided:
    """`again`: the handover was brought back before."""
    turn, advisor, start = view.turn, one.advisor, opened.start
    number, look = here.number, here.look
    now, zone = _now(resources, turn), zone_of(resources.settings.timezone)
    local = at(now, zone)
    messages = messages_of(thread)
    mine = [said for said in thread.past if said.session_id == turn.session_id]
    stance, posture_why = stance_after(state.stance, gated, now)
    reading = msgspec.structs.replace(gated.reading, risk=stance.risk)
    moment = Moment(view.session, number, local, tug_of(start))
    overlay = overlays.choose(moment, reading, state.rites, gated=gated.open)
    brief = brief_of(start)
    carried = blocks.carry(brief, 1 if opened.late else number, here.first, reading, again)
    daily = start.daily
    steering, lead = "", blocks.YESTERDAY
    crisis = stance.risk == "CRISIS"
    if number == 1 and daily is not None and daily.exists and not crisis:
        sure = 0.0 if daily.confidence is None else daily.confidence
        lead = blocks.steering_lead(daily.analysis_date, local.date())
        steering = blocks.steering(daily.steering_note or "", sure, daily.quality_flag or "", lead)
    profile = profile_of(None if crisis else start.user_model)
    lines = blocks.profile_lines(profile, number, reading, stance.posture, turn.content)
    before = next((said.text for said in reversed(messages) if said.role == "assistant"), "")
    parts = Parts(
        kernel(advisor),
        standing,
        stance,
        reading,
        local.hour,
        before,
        overlay,
        carried,
        steering,
        blocks.Ops(),
        lines,
        "",
        lead,
    )
    texts = [said.text for said in messages[-WINDOW:]]
    texts += [block.text for block in blocks.assemble(parts)]
    librarian = Librarian(
        look or NoMemory(),
        view.scope,
        Reader(advisor_id=advisor.id, cloud=opened.cloud),
        Exclude(texts=(turn.content,), ids=frozenset(start.hidden)),
        now,
        zone,
        advisor.name,
        resources.settings.memory.recall_seconds,
        shown=turn.content,
        vetoed=opened.vetoed,
        until=here.until,
        told=tuple(texts),
        heard=heard_of(mine, ())[:-WINDOW],
    )
    since, sought = time.perf_counter(), Sought(decision="crisis" if crisis else "off")
    if look is not None and not crisis:
        sought = await librarian.seek(turn.content, gated)
    snippet = blocks.snippet(
        reading, stance, ops_of(start), loops_of(start), (), supplemental=bool(sought.text)
    )
    if snippet.reason == blocks.NO_THREAD and look is not None and not sought.looked:
        threads, degrade = await librarian.threads(turn.content)
        sought = replace(sought, degrade=degrade)
        snippet = blocks.snippet(reading, stance, (), (), threads, supplemental=False)
    clock.mark("recall", since)
    made = blocks.assemble(replace(parts, ops=snippet, supplemental=sought.text))
    memory = tuple((block.name, block.text) for block in made if block.name != "persona")
    gone = _unsent(resources, view, one, replace(thread, memory=memory))
    heard = overlays.heard(moment, reading, state.rites)
    rites = heard if "overlay" in gone else overlay.rites
    reinjected = carried.reinjected and "handover" not in gone
    trace = Trace(
        startbrief_used=start.startbrief is not None,
        startbrief_fallback=here.fell_back,
        startbrief_items_count=opened.items_count,
        bridge_chars=len(brief.bridge),
        startbrief_runtime=Runtime(
            turn.session_id,
            number,
            handover_injected=bool(carried.handover),
            bridge_injected=bool(carried.bridge),
            ops_injected=bool(snippet.text),
            ops_source=snippet.source or None,
            startbrief_fetch=here.fetch,
            reinjection_used=again or reinjected,
        ),
        system_blocks=tuple(block.name for block in made),
        gate=gated.model or "none",
        gate_degrade=gated.degrade,
        reading=judged(gated),
        risk=stance.risk,
        posture=PostureTrace(stance.posture, stance.pressure, stance.confidence, posture_why),
        overlay=overlay.overlay,
        overlay_reason=overlay.reason,
        handover_reason=carried.reason,
        ops_reason=snippet.reason,
        user_context=tuple(name for name, _ in lines),
        recall=sought.as_trace(),
        degrades=tuple(each for each in (*here.degrades, sought.degrade) if each),
    )
    return _Decided(memory, State(stance, rites), State(stance, heard), trace, reinjected)


def _unsent(
    resources: Resources, view: TurnView, one: AdvisorView, thread: Thread
) -> Sequence[str]:
    """The blocks for which its request will have no room, though all of its history goes first."""
    alone = replace(thread, head=(), past=(), unread=0, unread_messages=0)
    limits = resources.settings.limits
    try:
        made = compile_request(view.recipe, alone, limits, one.facts, one.params)
    except TooLong:
        return [name for name, _ in thread.memory]
    return unsent_blocks(made.draft)
