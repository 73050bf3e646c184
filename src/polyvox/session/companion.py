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

from polyvox.companion import blocks, deferred, gate, handover, ops, overlays, posture
from polyvox.companion.blocks import Parts
from polyvox.companion.gate import Gated
from polyvox.companion.kernel import kernel
from polyvox.companion.overlays import Moment, Rites
from polyvox.companion.posture import Stance
from polyvox.context.budget import TooLong
from polyvox.context.compile import compile_request
from polyvox.errors import CapReached, PolyvoxError
from polyvox.memory.moment import at, zone_of
from polyvox.memory.packets import QueryReply
from polyvox.memory.recall import Exclude, Reader
from polyvox.memory.remote import LATE, Got
from polyvox.models.base import ChatMessage
from polyvox.session import starting
from polyvox.session.council import params_for, voiced
from polyvox.session.earlier import heard_of, unread_of
from polyvox.session.excerpts import brief_of, loops_of, ops_of, profile_of
from polyvox.session.recalling import Librarian, Sought
from polyvox.session.recollecting import in_vain
from polyvox.session.remembering import Lookup, MemoryService, NoMemory
from polyvox.session.road import Job, Road
from polyvox.session.spending import check_caps
from polyvox.session.starting import Opened
from polyvox.session.trace import left_out
from polyvox.store import companions, conversations, ratios, usage
from polyvox.store.companions import Kept, Mark, Marks
from polyvox.store.database import Tx
from polyvox.store.threads import (
    Need,
    Reach,
    count_said,
    last_said,
    read_threads,
    was_answered,
)
from polyvox.thread import Thread
from polyvox.values import Recall, Scope

RECIPE = "companion"
PURPOSE = "gate"
"""Under this name the gate's usage is summed, among the advisors too."""
WINDOW = 8
"""Messages of the session that the request holds: they are not recalled."""
REACH = 60_000
"""Characters of the session that are read here; the rest is only counted by its turns."""


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
    opened: Opened
    marks: Sequence[Mark]
    states: Sequence[State]
    traces: Sequence[dict[str, Any]]
    unsaid: Sequence[State]
    """The states, where nothing is answered."""


async def get_ready(road: Road, jobs: Sequence[Job], models: Sequence[str]) -> Ready:
    """Decide what each job's persona is told in this turn (`Job.memory`), and keep why. `models`
    are those that the jobs will be asked with."""
    clock = _Clocked()
    scope, turn = jobs[0].scope, jobs[0].turn
    made = await _ready(road, jobs, models, clock, ask=True)
    clock.mark("context", clock.began)
    now = road.clock()
    after = replace(made.seen.kept, packet=made.opened.packet)

    def write(tx: Tx) -> None:
        session = turn.session_id or turn.id
        companions.put_session(tx, scope, session, turn.conversation_id, after, now)
        companions.put_marks(tx, scope, turn, made.marks)
        for job, was, state in zip(jobs, made.seen.states, made.states, strict=True):
            companions.put_state(tx, scope, job.advisor.id, turn, _json(was), _json(state), now)
        told = [
            (job.answer_id, _json({**trace, "timings": clock.steps}))
            for job, trace in zip(jobs, made.traces, strict=True)
        ]
        companions.put_traces(tx, scope, turn.id, turn.conversation_id, told, now)
        for model, spent in made.gated.spent:
            usage.record(
                tx,
                scope,
                usage=spent,
                model=model,
                advisor_id=PURPOSE,
                at=now,
                conversation_id=turn.conversation_id,
                purpose=PURPOSE,
            )

    await road.database.write(write)
    return made


async def take_back(road: Road, jobs: Sequence[Job], made: Ready) -> None:
    """What was laid over or brought back in a turn that got no word of an answer was never said, so
    it may still be. What the person said in it counts."""
    if any(_spoke(job) for job in jobs):
        return
    scope, turn, now = jobs[0].scope, jobs[0].turn, road.clock()

    def write(tx: Tx) -> None:
        if was_answered(tx, scope, turn.id):  # by an earlier version
            return
        companions.unmark(tx, scope, turn, "reinjected")
        for job, was, state in zip(jobs, made.seen.states, made.unsaid, strict=True):
            companions.put_state(tx, scope, job.advisor.id, turn, _json(was), _json(state), now)

    await road.database.write(write)


def _spoke(job: Job) -> bool:
    return bool("".join(job.received).strip())


async def foresee(road: Road, jobs: Sequence[Job], models: Sequence[str]) -> None:
    """Decide the same for a turn that may never be: nothing is kept, and no gate is asked."""
    await _ready(road, jobs, models, _Clocked(), ask=False)


async def _ready(
    road: Road, jobs: Sequence[Job], models: Sequence[str], clock: _Clocked, *, ask: bool
) -> Ready:
    """`ask`: whether the gate is asked."""
    seen = await road.database.read(lambda tx: _see(tx, jobs, models))
    clock.mark("session", clock.began)
    cloud = starting.leaves(road, jobs[0].recipe, models)
    memory = starting.memory_for(road, jobs[0].recipe)
    gated, opened = await asyncio.gather(
        _gate(road, jobs[0], seen.threads[0], models[0], clock, ask=ask),
        _start(road, memory, jobs[0], seen.kept, cloud, clock),
    )
    start, scope = opened.start, jobs[0].scope
    wishes, standing_degrade = await starting.standing(road, memory, scope, opened, cloud=cloud)
    standing = opened.allowed(wishes)
    source = _Late() if in_vain(memory, opened) else memory
    look = source if starting.looks_up(road, seen.recall) else None
    made: set[Mark] = {"corrected"} if gated.reading.correction else set()
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
    return Ready(seen, gated, opened, sorted(made), states, traces, unsaid)


def _json(value: Any) -> str:  # noqa: ANN401 - whatever JSON can hold
    return msgspec.json.encode(value).decode()


def _see(tx: Tx, jobs: Sequence[Job], models: Sequence[str]) -> _Seen:
    scope, turn = jobs[0].scope, jobs[0].turn
    needs = [
        Need(voiced(job.recipe, job.advisor), REACH, ratios.ratio(tx, scope, model))
        for job, model in zip(jobs, models, strict=True)
    ]
    threads = [
        replace(one, past=(*unread_of(tx, scope, turn, one), *one.past))
        for one in read_threads(tx, scope, turn, Reach(session_only=True), needs, {})
    ]
    states = []
    for job in jobs:
        stored = companions.state(tx, scope, job.advisor.id, turn)
        states.append(State() if stored is None else msgspec.json.decode(stored, type=State))
    kept = companions.session(tx, scope, turn.session_id or turn.id) or Kept()
    recall = conversations.recall_of(tx, scope, turn.conversation_id)
    number = count_said(tx, scope, turn) + 1
    first = (last_said(tx, scope, turn) if number == 2 else None) or turn.content
    return _Seen(threads, states, kept, companions.marks(tx, scope, turn), recall, number, first)


# -- the two calls -------------------------------------------------------------------------------


async def _gate(
    road: Road, job: Job, thread: Thread, model: str, clock: _Clocked, *, ask: bool
) -> Gated:
    """Have the message read, where there is a model for it."""
    name = road.settings.models.gate or ("" if model.startswith("local:") else model)
    if not name or not ask:
        return Gated()
    since, limits, turn = time.perf_counter(), road.settings.limits, job.turn
    try:
        if limits.capped:
            await road.database.read(
                lambda tx: check_caps(
                    tx, job.scope, limits, turn.conversation_id, turn.id, road.clock()
                )
            )
        seconds = road.settings.memory.gate_seconds
        return await gate.ask(road.models.get(name), _messages(thread), turn.content, seconds)
    except CapReached:
        return Gated(model=name, degrade="cap")
    except PolyvoxError as error:
        return Gated(model=name, degrade=error.code)
    finally:
        clock.mark("gate", since)


def _messages(thread: Thread) -> list[ChatMessage]:
    """The session so far, as this persona knows it."""
    found = []
    for said in thread.past:
        if said.session_id == thread.current.session_id:
            found.append(ChatMessage("user", said.text))
            found += [ChatMessage("assistant", one.text) for one in said.own]
    return found


async def _start(
    road: Road, memory: MemoryService, job: Job, kept: Kept | None, cloud: bool, clock: _Clocked
) -> Opened:
    since, session = time.perf_counter(), job.turn.session_id or job.turn.id
    found = await starting.opened(
        road, memory, job.scope, session, _now(road, job), kept, cloud=cloud
    )
    if found.how != "cached":
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
    messages = _messages(thread)
    mine = [one for one in thread.past if one.session_id == turn.session_id]
    stance, posture_why = _stance(state.stance, gated, now)
    reading = msgspec.structs.replace(gated.reading, risk=stance.risk)
    top = next(iter(loops_of(start)), None)
    moment = Moment(turn.session_id or turn.id, number, local, top)
    overlay = overlays.choose(moment, reading, state.rites, gated=gated.open)
    brief = brief_of(start)
    carried = handover.carry(brief, number, here.first, reading, again)
    daily = start.daily
    steering = ""
    if number == 1 and daily is not None and daily.exists:
        sure = 0.0 if daily.confidence is None else daily.confidence
        steering = blocks.steering(daily.steering_note or "", sure, daily.quality_flag or "")
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
        "reading": _read(gated),
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


def _stance(before: Stance, gated: Gated, now: int) -> tuple[Stance, str]:
    if gated.open:
        return posture.settle(before, gated.reading, now)
    if gated.model is None:
        return Stance(at=now), "no gate"
    rested = posture.rested(before, now)
    return replace(rested, at=now), "held: the gate did not read"


def _read(gated: Gated) -> dict[str, Any] | None:
    """The judgements without the words that a model chose freely."""
    if not gated.open:
        return None
    free = ("mood", "energy", "tone")
    told: dict[str, Any] = msgspec.to_builtins(gated.reading)
    return {name: value for name, value in told.items() if name not in free}
