"""Requests of other programs: they bring their own history, and nothing is stored but the usage.

`advisor:<slug>` is one advisor, `council:<slug>` a whole council as one labelled answer, and any
`provider:model` passes through. A council's isolation holds here too: each advisor gets only its
own sections of earlier labelled answers as its own, and the others' last ones as reference.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace

from polyvox.context import sections
from polyvox.context.budget import TooLong
from polyvox.context.compile import compile_request
from polyvox.context.recipe import Recipe, shortened
from polyvox.errors import ContextTooLong, Invalid, ModelError, NotFound
from polyvox.models.base import AttemptLog, ChatMessage, Request, SystemPart
from polyvox.receive import clean
from polyvox.recipes import usable_recipe
from polyvox.resources import Resources
from polyvox.session import council
from polyvox.session.council import model_for, params_for
from polyvox.store import advisors as advisor_rows
from polyvox.store import councils as council_rows
from polyvox.store import usage
from polyvox.store.database import Tx
from polyvox.store.usage import check_caps, token_ratio
from polyvox.thread import Other, Own, Thread, ThreadTurn
from polyvox.values import Advisor, Params, Scope, Usage

DOOR = "door"


@dataclass(frozen=True, slots=True)
class Visit:
    """A request of another program: a model by its public name, a system text, its own history."""

    model: str
    system: tuple[str, ...]
    messages: tuple[ChatMessage, ...]
    params: Params = field(default_factory=Params)
    phases: int | None = None
    """Answers that limited phases last at most; None: as the council has it, else none."""


@dataclass(slots=True)
class Voice:
    """One call made for a visit."""

    label: str
    model: str
    request: Request | None
    refusal: ModelError | None = None
    """Why there is nothing to ask (the request does not fit)."""
    advisor_id: str = DOOR
    tried: AttemptLog = field(default_factory=AttemptLog)
    usage: Usage | None = None
    finish: str = "stop"


async def plan(resources: Resources, scope: Scope, visit: Visit) -> tuple[list[Voice], bool]:
    """The calls a visit needs, and whether their answers are to be labelled. Refuses what is
    unknown, empty, too long or over a cap."""
    _check(resources, visit)
    kind, _, name = visit.model.partition(":")
    if kind not in ("advisor", "council") and not resources.settings.limits.capped:
        return [_passed(resources, visit)], False

    def read(tx: Tx) -> tuple[list[Voice], bool]:
        check_caps(tx, resources.settings.limits, "", None, resources.clock())
        if kind == "advisor":
            advisor = advisor_rows.get(tx, name)
            recipe = usable_recipe(tx, resources.settings, "council")
            return [_advised(tx, resources, visit, advisor, None, recipe)], False
        if kind == "council":
            seated = council_rows.get(tx, name)
            known = {advisor.id: advisor for advisor in council.everyone(tx)}
            members = [known[advisor_id] for advisor_id in seated.advisors if advisor_id in known]
            if not members:
                raise NotFound(f"The council {name!r} has no advisors.", "Add some to it.")
            recipe = usable_recipe(tx, resources.settings, seated.recipe)
            asking = seated.phases if visit.phases is None else visit.phases
            own = replace(visit, phases=asking)
            return [
                _advised(tx, resources, own, member, members, recipe) for member in members
            ], True
        return [_passed(resources, visit)], False

    return await resources.database.read(read, scope)


def _check(resources: Resources, visit: Visit) -> None:
    if not visit.messages or visit.messages[-1].role != "user":
        raise Invalid("The last message must be the user's.", param="messages")
    most = resources.settings.limits.message_chars
    for text in visit.system:
        clean(text, "messages", most, empty=True)
    for message in visit.messages:
        clean(message.text, "messages", most, empty=message is not visit.messages[-1])
    kind = visit.model.partition(":")[0]
    if kind not in ("advisor", "council"):
        resources.models.check_name(visit.model)


def _passed(resources: Resources, visit: Visit) -> Voice:
    """Any configured model, as it is."""
    facts = resources.models.facts(visit.model)
    base = Params(max_tokens=facts.max_tokens)
    request = Request(
        tuple(SystemPart(text) for text in visit.system), visit.messages, visit.params.over(base)
    )
    return Voice(visit.model, visit.model, request)


def _advised(
    tx: Tx,
    resources: Resources,
    visit: Visit,
    advisor: Advisor,
    members: Sequence[Advisor] | None,
    recipe: Recipe,
) -> Voice:
    """One advisor's call, compiled by the same road as everybody's. Without other members the
    answer has no label. Another program asks once and wants an answer: nobody only asks back,
    unless it wants that."""
    recipe = shortened(recipe, visit.phases or 0)
    model = model_for(resources, recipe, advisor)
    facts = resources.models.facts(model)
    params = visit.params.over(params_for(resources, recipe, advisor, facts))
    called = {} if members is None else sections.labels(members)
    thread = _thread(visit, advisor, members or (), called)
    thread = replace(thread, ratio=token_ratio(tx, model))
    voice = Voice(called.get(advisor.id, ""), model, None, advisor_id=advisor.id)
    try:
        compiled = compile_request(recipe, thread, resources.settings.limits, facts, params)
    except TooLong as refusal:
        voice.refusal = refusal
    else:
        voice.request = compiled.request
    return voice


def _thread(
    visit: Visit, advisor: Advisor, members: Sequence[Advisor], called: Mapping[str, str]
) -> Thread:
    """The caller's history as this advisor may know it. Times are unknown, so nothing is stamped;
    texts without an id of ours are numbered."""
    past: list[ThreadTurn] = []
    last: tuple[Other, ...] = ()
    for number, message in enumerate(visit.messages[:-1]):
        if message.role == "user":
            past.append(ThreadTurn(f"t{number}", f"m{number}", len(past) + 1, message.text, None))
        elif past:
            parts = (
                sections.taken_apart(message.text, called) if called else {advisor.id: message.text}
            )
            own = parts.get(advisor.id, "")
            last = tuple(
                Other(
                    f"a{number} {member.id}",
                    member.id,
                    member.slug,
                    called[member.id],
                    parts[member.id],
                )
                for member in members
                if member.id in parts and member.id != advisor.id
            )
            known_turn = replace(past[-1], others=(*past[-1].others, *last))
            if own:
                known_turn = replace(
                    known_turn, own=(*known_turn.own, Own(f"a{number} {advisor.id}", own))
                )
            past[-1] = known_turn
    current = ThreadTurn("now", "now", len(past) + 1, visit.messages[-1].text, None)
    return Thread(
        advisor=advisor,
        current=current,
        past=tuple(past),
        answers=sum(bool(turn.own) for turn in past),
        last=last,
        company=len(members) > 1,
        memory=tuple(("memory", text) for text in visit.system),
    )


async def single(resources: Resources, voice: Voice) -> AsyncGenerator[str, None]:
    """One call's text as it comes."""
    if voice.request is None:
        raise voice.refusal or ContextTooLong("There is nothing to send.")
    reply = await resources.models.chain(voice.model).stream(voice.request, voice.tried)
    try:
        async for piece in reply:
            if piece.finish:
                voice.finish = piece.finish
            if piece.text:
                yield piece.text
    finally:
        await reply.aclose()
        voice.usage = reply.usage


async def labelled(resources: Resources, voices: Sequence[Voice]) -> AsyncGenerator[str, None]:
    """A council's answers as one text, in the council's order, all written at the same time. One
    that fails says so in its section; when nobody says a word, the first one's error is raised."""
    queues: list[asyncio.Queue[str | ModelError | None]] = [asyncio.Queue() for _ in voices]
    tasks = [
        asyncio.create_task(_collect(resources, voice, queue))
        for voice, queue in zip(voices, queues, strict=True)
    ]
    failed: list[ModelError] = []
    held = ""  # excuses, as long as nobody has spoken: it may become an error after all
    spoken = False
    try:
        for number, (voice, queue) in enumerate(zip(voices, queues, strict=True)):
            held += ("\n\n" if number else "") + sections.heading(voice.label)
            nested, begun = sections.Nested(), False
            while (part := await queue.get()) is not None:
                if isinstance(part, ModelError):
                    failed.append(part)
                    held += nested.end() + sections.excuse(part, begun=begun)
                else:
                    held += nested.feed(part)
                    spoken = begun = True
                if spoken and held:
                    yield held
                    held = ""
            held += nested.end()
        if not spoken:
            raise failed[0]
        if held:
            yield held
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _collect(
    resources: Resources, voice: Voice, queue: asyncio.Queue[str | ModelError | None]
) -> None:
    try:
        async with aclosing(single(resources, voice)) as texts:
            async for text in texts:
                queue.put_nowait(text)
    except ModelError as error:
        queue.put_nowait(error)
    finally:
        queue.put_nowait(None)


async def record(resources: Resources, scope: Scope, voices: Sequence[Voice]) -> None:
    """Note what the calls consumed."""
    calls = [
        (voice.advisor_id, voice.tried.model or voice.model, voice.usage)
        for voice in voices
        if voice.usage is not None
    ]
    await usage.note(resources.database, scope, resources.clock(), DOOR, calls)
