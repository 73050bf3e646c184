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
from typing import Any

import msgspec

from polyvox.companion import blocks, deferred, handover, ops, overlays
from polyvox.companion.blocks import Parts
from polyvox.companion.gate import Gated
from polyvox.companion.kernel import kernel
from polyvox.companion.overlays import Moment, Rites
from polyvox.companion.posture import Stance
from polyvox.context.budget import TooLong
from polyvox.context.compile import compile_request
from polyvox.memory.moment import at, zone_of
from polyvox.memory.packets import QueryReply
from polyvox.memory.recall import Exclude, Reader
from polyvox.memory.remote import LATE, Got
from polyvox.memory.tables import companions
from polyvox.memory.tables.companions import Kept, Mark, Marks
from polyvox.session import starting
from polyvox.session.council import params_for, voiced
from polyvox.session.earlier import heard_of, unread_of
from polyvox.session.excerpts import brief_of, loops_of, ops_of, profile_of, tug_of
from polyvox.session.gating import judged, messages_of, read_message, stance_after
from polyvox.session.recalling import Librarian, Sought
from polyvox.session.remembering import Lookup, MemoryService, NoMemory
from polyvox.session.road import Job, Road
from polyvox.session.starting import Opened
from polyvox.session.trace import left_out
from polyvox.store import conversations, ratios, usage
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
from polyvox.values import Recall, Scope

RECIPE = "companion"
PURPOSE = "gate"
"""Under this name the gate's usage is summed, among the advisors too."""
WINDOW = 8
"""Messages of the session that the request holds: they are not recalled."""
TRIES = 3
"""So often what was decided is decided anew because another conversation was quicker."""
REACH = 60_000
"""Characters of the session that are read here; the rest is only counted by its turns."""


Begun = tuple[Opened, tuple[tuple[str, ...], str]]
"""What a session started with, and what is standing, or why that is not known."""


class State(msgspec.Struct, frozen=True):
    """A person's standing with one persona."""

    stance: Stance = Stance()
    rites: Rites = Rites()


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


@dataclass(slots=True)
class _Clocked:
    """How long each step took, in ms."""

    began: float = field(default_factory=time.perf_counter)
    steps: dict[str, float] = field(default_factory=dict)

    def mark(self, name: str, since: float) -> None:
        """A step is over."""
        self.steps[f"{name}_ms"] = round((time.perf_counter() - since) * 1000, 1)


@dataclass(frozen=True, slots=True)
class Ready:
    """What is to be kept of a turn that was made ready."""

    seen: _Seen
    gated: Gated
    begun: Begun
    marks: Sequence[Mark]
    states: Sequence[State]
    traces: Sequence[dict[str, Any]]
    unsaid: Sequence[State]
    """The states, where nothing is answered."""


async def get_ready(road: Road, jobs: Sequence[Job], models: Sequence[str]) -> Ready:
    """Decide what each job's persona is told in this turn (`Job.memory`), and keep why. `models`
    are those that the jobs will be asked with."""
    clock = _Clocked()
    made = await _ready(road, jobs, models, clock, ask=True)
    for last in (*[False] * TRIES, True):
        if await _keep(road, jobs, made, clock, last=last):
            break
        seen = await road.database.read(lambda tx: _see(tx, jobs, models), jobs[0].scope)
        seen = replace(seen, kept=made.seen.kept)  # what the packet was read with
        made = await _decide_all(road, jobs, models, seen, made.gated, made.begun, clock)
    return made


async def _keep(
    road: Road, jobs: Sequence[Job], made: Ready, clock: _Clocked, *, last: bool
) -> bool:
    """Keep what was decided; but for the `last` time not where a state that it rests on is another
    by now: the same persona was talked to elsewhere, and may have done there what is done once a
    day."""
    scope, turn, now = jobs[0].scope, jobs[0].turn, road.clock()
    clock.mark("context", clock.began)
    after = replace(made.seen.kept, packet=made.begun[0].packet)

    def write(tx: Tx) -> bool:
        if not last and _states(tx, jobs) != made.seen.states:
            return False
        session = turn.session_id or turn.id
        companions.put_session(tx, session, turn.conversation_id, after, now)
        if "corrected" not in made.marks:  # it may have been read so the first time
            companions.unmark(tx, turn, "corrected")
        companions.put_marks(tx, turn, made.marks)
        for job, was, state in zip(jobs, made.seen.states, made.states, strict=True):
            companions.put_state(tx, job.advisor.id, turn, _json(was), _json(state), now)
        told = [
            (job.answer_id, _json({**trace, "timings": clock.steps}))
            for job, trace in zip(jobs, made.traces, strict=True)
        ]
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

    return await road.database.write(write, scope)


async def take_back(road: Road, jobs: Sequence[Job], made: Ready) -> None:
    """What was laid over or brought back in a turn that got no word of an answer was never said, so
    it may still be. What the person said in it counts."""
    if any(_spoke(job) for job in jobs):
        return
    scope, turn, now = jobs[0].scope, jobs[0].turn, road.clock()

    def write(tx: Tx) -> None:
        if not went_unanswered(tx, turn.id):  # there is an earlier version, or it is gone
            return
        companions.unmark(tx, turn, "reinjected")
        for job, was, state in zip(jobs, made.seen.states, made.unsaid, strict=True):
            companions.put_state(tx, job.advisor.id, turn, _json(was), _json(state), now)

    await road.database.write(write, scope)


def _spoke(job: Job) -> bool:
    return bool("".join(job.received).strip())


async def foresee(road: Road, jobs: Sequence[Job], models: Sequence[str]) -> None:
    """Decide the same for a turn that may never be: nothing is kept, and no gate is asked."""
    await _ready(road, jobs, models, _Clocked(), ask=False)


async def _ready(
    road: Road, jobs: Sequence[Job], models: Sequence[str], clock: _Clocked, *, ask: bool
) -> Ready:
    """`ask`: whether the gate is asked."""
    seen = await road.database.read(lambda tx: _see(tx, jobs, models), jobs[0].scope)
    clock.mark("session", clock.began)
    cloud = starting.leaves(road, jobs[0].recipe, models)
    memory = starting.memory_for(road, jobs[0].recipe)
    gated, begun = await asyncio.gather(
        _gate(road, jobs[0], seen.threads[0], models[0], clock) if ask else _no_gate(),
        _start(road, memory, jobs[0], seen.kept, cloud, clock),
    )
    return await _decide_all(road, jobs, models, seen, gated, begun, clock)


async def _decide_all(
    road: Road,
    jobs: Sequence[Job],
    models: Sequence[str],
    seen: _Seen,
    gated: Gated,
    begun: Begun,
    clock: _Clocked,
) -> Ready:
    opened, (wishes, standing_degrade) = begun
    start, standing = opened.start, opened.allowed(wishes)
    memory = starting.memory_for(road, jobs[0].recipe)
    late = opened.in_vain or standing_degrade == starting.TIMED_OUT
    source = _Late() if late else memory
    look = source if starting.looks_up(road, seen.recall) else None
    held = seen.marks.corrected_here and not gated.open
    made: set[Mark] = {"corrected"} if gated.reading.correction or held else set()
    corrected = seen.marks.corrected or bool(made)
    used = replace(start, startbrief=None, brief=None, daily=None) if corrected else start
    again = seen.marks.reinjected
    until = asyncio.get_running_loop().time() + road.settings.memory.recall_seconds
    here = _Place(seen.number, seen.first, look, until)
    cut = blocks.left_out(standing)
    states, traces, unsaid = [], [], []
    told = replace(opened, start=used)
    for job, model, thread, state in zip(jobs, models, seen.threads, seen.states, strict=True):
        decided = await _decide(
            road, job, model, thread, state, gated, told, standing, here, again, clock
        )
        job.memory = decided.memory
        if decided.reinjected:
            made.add("reinjected")
        states.append(decided.state)
        unsaid.append(decided.unsaid)
        trace = decided.trace
        trace["startbrief_runtime"]["startbrief_fetch"] = "invalidated" if corrected else opened.how
        trace["startbrief_fallback"] = start.startbrief is None and start.brief is not None
        trace["degrades"] = [
            *opened.degrades,
            *([standing_degrade] if standing_degrade else []),
            *([cut] if cut else []),
            *([f"gate: {gated.degrade}"] if gated.degrade else []),
            *([trace["recall"]["degrade"]] if trace["recall"]["degrade"] else []),
        ]
        traces.append(trace)
    return Ready(seen, gated, begun, sorted(made), states, traces, unsaid)


def _json(value: Any) -> str:  # noqa: ANN401 - whatever JSON can hold
    return msgspec.json.encode(value).decode()


def _see(tx: Tx, jobs: Sequence[Job], models: Sequence[str]) -> _Seen:
    turn = jobs[0].turn
    needs = [
        Need(voiced(job.recipe, job.advisor), REACH, ratios.ratio(tx, model))
        for job, model in zip(jobs, models, strict=True)
    ]
    threads = [
        replace(one, past=(*unread_of(tx, turn, one), *one.past))
        for one in read_threads(tx, turn, Reach(session_only=True), needs, {})
    ]
    kept = companions.session(tx, turn.session_id or turn.id) or Kept()
    recall = conversations.recall_of(tx, turn.conversation_id)
    number = count_answered_messages(tx, turn) + 1
    first = (last_answered_message(tx, turn) if number == 2 else None) or turn.content
    marks = companions.marks(tx, turn)
    return _Seen(threads, _states(tx, jobs), kept, marks, recall, number, first)


def _states(tx: Tx, jobs: Sequence[Job]) -> list[State]:
    """The state before the turn, with each persona."""
    stored = [companions.state(tx, job.advisor.id, job.turn) for job in jobs]
    return [State() if one is None else msgspec.json.decode(one, type=State) for one in stored]


# -- the two calls -------------------------------------------------------------------------------


async def _gate(road: Road, job: Job, thread: Thread, model: str, clock: _Clocked) -> Gated:
    since = time.perf_counter()
    found = await read_message(road, job, thread, model)
    if found.model is not None:
        clock.mark("gate", since)
    return found


async def _no_gate() -> Gated:
    return Gated()


async def _start(
    road: Road, memory: MemoryService, job: Job, kept: Kept | None, cloud: bool, clock: _Clocked
) -> Begun:
    since, session = time.perf_counter(), job.turn.session_id or job.turn.id
    found = await starting.begun(
        road, memory, job.scope, session, _now(road, job), kept, cloud=cloud
    )
    if found[0].how != "cached":
        clock.mark("brief", since)
    return found


def _now(road: Road, job: Job) -> int:
    return job.turn.said_at if job.turn.said_at is not None else road.clock()


# -- deciding ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Decided:
    memory: tuple[tuple[str, str], ...]
    state: State
    unsaid: State
    """The state, where nothing is answered."""
    trace: dict[str, Any]
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


class _Late(NoMemory):
    """A service elsewhere that has cost this turn its budget already."""

    async def look_up(self, scope: Scope, wanted: Lookup) -> Got[QueryReply]:  # noqa: ARG002
        """It is not asked."""
        return Got(None, LATE)


async def _decide(
    road: Road,
    job: Job,
    model: str,
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
    turn, start = job.turn, opened.start
    number, look = here.number, here.look
    now, zone = _now(road, job), zone_of(road.settings.timezone)
    local = at(now, zone)
    messages = messages_of(thread)
    mine = [one for one in thread.past if one.session_id == turn.session_id]
    stance, posture_why = stance_after(state.stance, gated, now)
    reading = msgspec.structs.replace(gated.reading, risk=stance.risk)
    moment = Moment(turn.session_id or turn.id, number, local, tug_of(start))
    overlay = overlays.choose(moment, reading, state.rites, gated=gated.open)
    brief = brief_of(start)
    carried = handover.carry(brief, number, here.first, reading, again)
    daily = start.daily
    steering, lead = "", blocks.YESTERDAY
    if number == 1 and daily is not None and daily.exists:
        sure = 0.0 if daily.confidence is None else daily.confidence
        lead = blocks.steering_lead(daily.analysis_date, local.date())
        steering = blocks.steering(daily.steering_note or "", sure, daily.quality_flag or "", lead)
    lines = deferred.lines(
        profile_of(start.user_model), number, reading, stance.posture, turn.content
    )
    before = next((one.text for one in reversed(messages) if one.role == "assistant"), "")
    parts = Parts(
        kernel(job.advisor),
        standing,
        stance,
        reading,
        local.hour,
        before,
        overlay,
        carried,
        steering,
        ops.Ops(),
        lines,
        "",
        lead,
    )
    texts = [one.text for one in messages[-WINDOW:]]
    texts += [block.text for block in blocks.assemble(parts)]
    librarian = Librarian(
        look or NoMemory(),
        job.scope,
        Reader(advisor_id=job.advisor.id, cloud=opened.cloud),
        Exclude(texts=(turn.content,), ids=frozenset(start.hidden)),
        now,
        zone,
        job.advisor.name,
        road.settings.memory.recall_seconds,
        shown=turn.content,
        vetoed=opened.vetoed,
        until=here.until,
        told=tuple(texts),
        heard=heard_of(mine, ())[:-WINDOW],
    )
    since = time.perf_counter()
    sought = Sought(decision="off")
    if look is not None:
        sought = await librarian.seek(turn.content, gated)
    snippet = ops.snippet(
        reading, stance, ops_of(start), loops_of(start), (), supplemental=bool(sought.text)
    )
    if snippet.reason == ops.NO_THREAD and look is not None and not sought.looked:
        threads, degrade = await librarian.threads(turn.content)
        sought = replace(sought, degrade=degrade)
        snippet = ops.snippet(reading, stance, (), (), threads, supplemental=False)
    clock.mark("recall", since)
    made = blocks.assemble(replace(parts, ops=snippet, supplemental=sought.text))
    memory = tuple((block.name, block.text) for block in made if block.name != "persona")
    gone = _unsent(road, job, model, replace(thread, memory=memory))
    heard = overlays.heard(moment, reading, state.rites)
    rites = heard if "overlay" in gone else overlay.rites
    reinjected = carried.reinjected and "handover" not in gone
    trace: dict[str, Any] = {
        "startbrief_used": start.startbrief is not None,
        "startbrief_fallback": False,
        "startbrief_items_count": len(start.startbrief.items) if start.startbrief else 0,
        "bridgeText_chars": len(brief.bridge),
        "startbrief_runtime": {
            "session_id": turn.session_id,
            "userTurnsSeen": number,
            "handover_injected": bool(carried.handover),
            "bridge_injected": bool(carried.bridge),
            "ops_injected": bool(snippet.text),
            "ops_source": snippet.source or None,
            "startbrief_fetch": "",
            "reinjection_used": again or reinjected,
        },
        "system_blocks": [block.name for block in made],
        "gate": gated.model or "none",
        "gate_degrade": gated.degrade,
        "reading": judged(gated),
        "posture": {
            "posture": stance.posture,
            "pressure": stance.pressure,
            "confidence": stance.confidence,
            "reason": posture_why,
        },
        "overlay": overlay.overlay,
        "overlay_reason": overlay.reason,
        "handover_reason": carried.reason,
        "ops_reason": snippet.reason,
        "user_context": [name for name, _ in lines],
        "recall": sought.as_trace(),
    }
    return _Decided(memory, State(stance, rites), State(stance, heard), trace, reinjected)


def _unsent(road: Road, job: Job, model: str, thread: Thread) -> Sequence[str]:
    """The blocks for which its request will have no room, though all of its history goes first."""
    facts = road.models.facts(model)
    params = params_for(road, job.recipe, job.advisor, facts)
    alone = replace(thread, head=(), past=(), unread=0, unread_messages=0)
    try:
        made = compile_request(job.recipe, alone, road.settings.limits, facts, params)
    except TooLong:
        return [name for name, _ in thread.memory]
    return left_out(made.draft)
