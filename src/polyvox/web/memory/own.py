"""Routes of the person's own memory, which see everything: search, facts, loops, forgetting."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query

from polyvox.fields import Filled, Text
from polyvox.memory.forget import Kind, Target
from polyvox.memory.loops import LIVE, LoopStatus
from polyvox.memory.query import Query as Wanted
from polyvox.memory.query import shape
from polyvox.memory.shapes.contract import LoopOut, QueryOut, Time, found, micros
from polyvox.memory.shapes.own import (
    EpisodeOut,
    FactBody,
    FactOut,
    FactPatch,
    FactWhole,
    ForgetBody,
    ForgetOut,
    LoopPatch,
    MarkBody,
    SummaryOut,
)
from polyvox.memory.shapes.profile import UserModelOut
from polyvox.web.dependencies import App, Key, Who
from polyvox.web.errors import responses
from polyvox.web.memory.partition import Own
from polyvox.web.openapi import Router

router = Router("memory")

Few = Annotated[int, Query(ge=1, le=200)]
AsOf = Annotated[Time | None, Query(alias="asOf")]
Index = Annotated[int, Path(ge=0, le=1_000_000)]


@router.get("/api/memory/search", response_model_exclude_unset=True)
async def search_memory(
    app: App,
    who: Who,
    whose: Own,
    q: Annotated[Text, Query(min_length=1, max_length=1000)],
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
) -> QueryOut:
    """Everything that is remembered about something: messages, answers, facts."""
    asked = Wanted(q, app.clock(), limit)
    return found(shape(await app.memory.query(who, whose, asked)))


@router.get("/api/memory/facts")
async def list_facts(
    app: App,
    who: Who,
    whose: Own,
    q: Annotated[Text, Query(max_length=1000)] = "",
    as_of: AsOf = None,
    history: bool = False,
) -> list[FactOut]:
    """What is known: pinned facts first, then the newest; with `q`, those about it."""
    facts = await app.memory.facts(
        who,
        whose,
        words=q,
        as_of=None if as_of is None else micros("asOf", as_of),
        include_history=history,
    )
    return [FactOut.of(one) for one in facts]


@router.post("/api/memory/facts", status_code=201)
async def write_fact(app: App, who: Who, whose: Own, body: FactBody) -> FactOut:
    """Tell memory something outright."""
    return FactOut.of(await app.memory.write_fact(who, whose, body.text))


@router.get("/api/memory/facts/{fact}")
async def get_fact(app: App, who: Who, whose: Own, fact: Key) -> FactWhole:
    """One fact, and everything else that was ever said of the same."""
    one, others = await app.memory.fact(who, whose, fact)
    history = [FactOut.of(each) for each in others]
    return FactWhole(**FactOut.of(one).model_dump(), history=history)


@router.patch("/api/memory/facts/{fact}")
async def change_fact(app: App, who: Who, whose: Own, fact: Key, body: FactPatch) -> FactOut:
    """Pin a fact, exclude it from recall, or correct it: a correction is a fact of its own, which
    stands in its place."""
    one = await app.memory.change_fact(
        who,
        whose,
        fact,
        text=body.text,
        pinned=body.pinned,
        excluded=body.excluded,
        current=body.current,
    )
    return FactOut.of(one)


@router.get("/api/memory/facts/{fact}/forget")
async def preview_forgetting_fact(app: App, who: Who, whose: Own, fact: Key) -> ForgetOut:
    """What goes with a fact: the statement alone. Nothing is changed."""
    return ForgetOut.of(await app.memory.preview(who, whose, Target("fact", fact)))


@router.post("/api/memory/facts/{fact}/forget")
@router.delete("/api/memory/facts/{fact}", operation_id="delete_fact")
async def forget_fact(app: App, who: Who, whose: Own, fact: Key) -> ForgetOut:
    """Delete a fact for good, from the files too. The message it was taken from stays."""
    return ForgetOut.of(await app.memory.forget(who, whose, Target("fact", fact)))


@router.patch("/api/memory/messages/{session}/{index}")
async def mark_message(
    app: App, who: Who, whose: Own, session: Key, index: Index, body: MarkBody
) -> EpisodeOut:
    """Pin a remembered message, or exclude it from recall."""
    one = await app.memory.mark_message(
        who, whose, session, index, pinned=body.pinned, excluded=body.excluded
    )
    return EpisodeOut.of(one)


@router.get("/api/memory/loops")
async def list_loops(
    app: App, who: Who, whose: Own, status: Annotated[list[LoopStatus] | None, Query()] = None
) -> list[LoopOut]:
    """The loops in these states (default: what is open), by priority, pinned ones first."""
    loops = await app.memory.loops(who, whose, statuses=tuple(status or LIVE))
    return [LoopOut.of(one) for one in loops]


@router.patch("/api/memory/loops/{loop}", responses=responses(409))
async def change_loop(app: App, who: Who, whose: Own, loop: Key, body: LoopPatch) -> LoopOut:
    """Mark a loop as done or dropped, or open it again; pin it; put it in other words, or give it
    another day. What is pinned comes first and does not grow old; what is over cannot be pinned."""
    one = await app.memory.change_loop(
        who,
        whose,
        loop,
        status=body.status,
        text=body.text,
        due=body.due_date,
        clear_due="due_date" in body.model_fields_set and body.due_date is None,
        pinned=body.pinned,
    )
    return LoopOut.of(one)


@router.get("/api/memory/profile")
async def get_profile(app: App, who: Who, whose: Own) -> UserModelOut:
    """The whole profile, what must not go to a cloud model included."""
    profile = await app.memory.profile(who, whose)
    return UserModelOut.of(profile, app.clock())


@router.get("/api/memory/summaries")
async def list_summaries(app: App, who: Who, whose: Own, limit: Few = 20) -> list[SummaryOut]:
    """Sessions in few words, the last first."""
    found_ = await app.memory.summaries(who, whose, limit)
    return [SummaryOut.of(one) for one in found_]


@router.get("/api/memory/forget", responses=responses(404))
async def preview_forgetting(
    app: App,
    who: Who,
    whose: Own,
    kind: Kind,
    id: Annotated[Filled, Query(min_length=1, max_length=300)],  # noqa: A002 - as in the body
) -> ForgetOut:
    """What would go with a fact, a loop, a line of the profile, a message (SESSION#INDEX) or a
    session. Nothing is changed."""
    target = Target(kind, id)
    return ForgetOut.of(await app.memory.preview(who, whose, target))


@router.post("/api/memory/forget", responses=responses(404))
async def forget(app: App, who: Who, whose: Own, body: ForgetBody) -> ForgetOut:
    """Forget it for good, with everything that the preview shows, from the files too."""
    target = Target(body.kind, body.id, frozenset(body.keep))
    return ForgetOut.of(await app.memory.forget(who, whose, target))
