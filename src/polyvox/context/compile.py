"""Compiling: a recipe, a thread and a model's facts become one request and the draft behind it.

Pure: same input, same request. The system text comes first and stays the same from turn to turn,
then memory, then history, the reference block, and the current message last. Another advisor's
words appear in no place but a bracketed `user` message.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from polyvox.context.budget import (
    CHARS_PER_TOKEN,
    Fit,
    Load,
    TooLong,
    allowance_for,
    estimate,
    fit,
    sane_ratio,
)
from polyvox.context.draft import (
    JOIN,
    Block,
    Compiled,
    Draft,
    Line,
    Unsent,
    request_of,
    size_of,
    system_size,
)
from polyvox.context.recipe import PhasePlace, Recipe, exchange_phase, phase_for, protocol
from polyvox.context.reference import Reference, block_of, gather, shortened
from polyvox.context.window import NOTE_ABOVE, Omitted, Selected, messages_in, select, stretch
from polyvox.context.words import (
    STAMP_CHARS,
    Made,
    PromptSet,
    fill,
    indented,
    label,
    prompt_set,
    short,
    stamp,
    words,
)
from polyvox.models.base import ModelFacts
from polyvox.settings import Limits
from polyvox.thread import Thread, ThreadSummary, ThreadTurn
from polyvox.values import ASSISTANT_ID, Advisor, Params


def compile_request(
    recipe: Recipe, thread: Thread, limits: Limits, facts: ModelFacts, params: Params
) -> Compiled:
    """Compile the request for this advisor. Raises `TooLong` when its instructions and the current
    message alone are more than fits."""
    prompts = prompt_set(facts.prompts)
    ratio = sane_ratio(thread.ratio)
    place = _place(recipe, thread)
    blocks = (
        *system_blocks(recipe, thread.advisor, place, prompts, company=thread.company),
        *_clock(recipe, thread, prompts),
    )
    memory = tuple(Block(name, text) for name, text in thread.memory if text)
    selected = select(recipe, thread)
    room = allowance_for(limits, facts, params, ratio, recipe.context)
    reference = gather(recipe, thread, selected.units, prompts, room.chars)
    tail = _tail(recipe, thread, prompts, reference, room.tokens - system_size(blocks, ()))
    notes = Notes(thread, selected, prompts)
    load = Load(
        fixed=system_size(blocks, ()) + sum(estimate(len(line.text)) for line in tail),
        memory=system_size((), memory),
        units=_sizes(selected.units, thread.zone, stamped=recipe.stamps != "none"),
        reference=0 if thread.round else estimate(reference.chars),
        share=limits.reference_share,
        note=notes.size if selected.noted else None,
        exchange=thread.round > 0,
    )
    bounds = (room.tokens, limits.low_water, _start(selected.units, thread.cut))
    kept = fit(load, *bounds)
    kept_blocks = memory
    if isinstance(kept, Fit) and not kept.memory and (some := _fitting(memory, load, bounds)):
        kept_blocks, kept = some, fit(replace(load, memory=system_size((), some)), *bounds)
    if not isinstance(kept, Fit):
        what = "The advisor's instructions, the message and the others' words"
        system = system_size(blocks, ())
        if thread.round:
            raise TooLong(kept, room, ratio, what, system=system)
        raise TooLong(kept, room, ratio, system=system)
    kept_units = selected.units[kept.start :]
    history = _history(kept_units, thread.zone, stamped=recipe.stamps != "none")
    note = notes.line(kept.start) if selected.noted and kept.note else None
    ahead = messages_in(selected.units[kept.start : selected.head])
    if note is not None:
        history.insert(ahead, note)
    block, left = None, None
    if not thread.round:
        block, left = block_of(reference, prompts, kept.reference * CHARS_PER_TOKEN)
    lines = (*history, *((block,) if block else ()), *tail)
    # In an exchange the tail repeats as well, all but the others' words: further rounds follow.
    moves = selected.slides or note is not None
    settled = ahead if moves else len(history) + len(tail) - 1
    draft = Draft(
        advisor_id=thread.advisor.id,
        turn_id=thread.current.turn_id,
        recipe=recipe.name,
        recipe_hash=recipe.hash,
        prompts=prompts.name,
        prompts_hash=prompts.hash,
        phase=place.name,
        k=place.k,
        n=place.n,
        blocks=blocks,
        memory=kept_blocks,
        memory_sent=kept.memory and bool(kept_blocks),
        lines=lines,
        history=len(history),
        unsent=(*((left,) if left else ()), *_without(memory, kept_blocks)),
        omitted=_omitted(recipe, thread, selected, kept.start),
        stamps=recipe.stamps,
        zone=thread.zone,
        base=recipe.base,
        cut=_cut(recipe, thread, selected.units, kept.start),
        ratio=ratio,
        allowance=room,
        size=size_of(blocks, kept_blocks if kept.memory else (), lines),
        params=params,
        settled=settled,
    )
    return Compiled(request_of(draft), draft)


def _fitting(
    memory: tuple[Block, ...], load: Load, bounds: tuple[int, float, int]
) -> tuple[Block, ...]:
    """Choose the blocks of memory that fit where not all do. The first ones matter in every turn,
    so they are tried first."""
    chosen: tuple[Block, ...] = ()
    for block in memory:
        more = (*chosen, block)
        kept = fit(replace(load, memory=system_size((), more)), *bounds)
        if isinstance(kept, Fit) and kept.memory:
            chosen = more
    return chosen


def _without(memory: tuple[Block, ...], sent: tuple[Block, ...]) -> tuple[Unsent, ...]:
    """The blocks of memory that others were told in place of."""
    gone = (block for block in memory if block not in sent)
    return tuple(Unsent("memory", (block.kind,), len(block.text)) for block in gone)


def with_memory(
    compiled: Compiled, thread: Thread, memory: Sequence[tuple[str, str]]
) -> Compiled | None:
    """The request that `compile_request` would make of the same thread with memory, if all of it
    fits; None where it has to be compiled, because something is or would be left out."""
    draft, blocks = compiled.draft, tuple(Block(name, text) for name, text in memory if text)
    size = draft.size + system_size((), blocks)
    whole = thread.cut is None and not draft.omitted and not draft.unsent and not draft.cuts
    if draft.memory or not whole or size > draft.allowance.tokens:
        return None
    fuller = replace(draft, memory=blocks, memory_sent=bool(blocks), size=size)
    return Compiled(request_of(fuller), fuller)


def _place(recipe: Recipe, thread: Thread) -> PhasePlace:
    if thread.advisor.id == ASSISTANT_ID:
        return PhasePlace(None, thread.answers + 1)
    positions = thread.round and not thread.early
    return (exchange_phase if positions else phase_for)(recipe, thread.answers)


def system_blocks(
    recipe: Recipe,
    advisor: Advisor,
    place: PhasePlace,
    prompts: PromptSet,
    *,
    company: bool = False,
) -> tuple[Block, ...]:
    """The stable system text, block by block; blocks without a text are left out. `company`: others
    are answering too. The plain assistant has no protocol and no company, only its identity."""
    if advisor.id == ASSISTANT_ID:
        return (Block("identity", advisor.prompt or prompts.text("assistant")),)
    values = {
        "name": label(advisor.name),
        "identity": advisor.identity.strip(),
        "short": (advisor.prompt or short(advisor.description)).strip(),
    }
    blocks = []
    for kind in recipe.blocks:
        if kind == "protocol":
            text = protocol(recipe, place, prompts)
        else:
            text = fill(recipe.texts.get(kind) or prompts.text(kind), values).strip()
            if kind == "rules" and kind not in recipe.texts and company:
                text = f"{text}{JOIN}{prompts.text('company')}".strip()
        if text:
            blocks.append(Block(kind, text))
    return tuple(blocks)


def _clock(recipe: Recipe, thread: Thread, prompts: PromptSet) -> tuple[Block, ...]:
    """The zone of the stamps, named once, where there are any."""
    if recipe.stamps == "none" or thread.current.said_at is None:
        return ()
    return (Block("clock", fill(prompts.text("clock"), {"zone": thread.zone})),)


def _tail(
    recipe: Recipe, thread: Thread, prompts: PromptSet, reference: Reference, room: int
) -> tuple[Line, ...]:
    """The current message; in an exchange also the answers to it so far and the others' words,
    which are shortened where they would not fit beside those."""
    asked = thread.current
    front = stamp(asked.said_at, thread.zone) if recipe.stamps == "all" else ""
    current = Line("current", "user", f"u{asked.turn_id}", front + asked.text)
    if not thread.round:
        return (current,)
    own = [Line("own", "assistant", f"a{answer.answer_id}", answer.text) for answer in asked.own]
    template = prompts.text("exchange_early" if thread.early else "exchange")
    made = Made(template, (("", reference.last),) if reference.last else ())
    text = made.render(reference.texts)
    room -= sum(estimate(len(line.text)) for line in (current, *own))
    over = len(text) - room * CHARS_PER_TOKEN
    if over > 0:
        spoken = len(words(made.groups, reference.texts))
        cuts = shortened(reference.last, reference.texts, spoken - over) or ()
        made = Made(made.template, made.groups, cuts=cuts)
        text = made.render(reference.texts)
    return (current, *own, Line("exchange", "user", "", text, made))


def _sizes(units: Sequence[ThreadTurn], zone: str, *, stamped: bool) -> list[int]:
    """Estimated tokens of each unit, without building its texts: this runs over all that was
    read, while texts are built only for what is kept."""
    sizes = []
    for unit in units:
        front = STAMP_CHARS if stamped and stamp(unit.said_at, zone) else 0
        size = (len(unit.text) + front + 3) >> 2
        for answer in unit.own:
            size += (len(answer.text) + 3) >> 2
        sizes.append(size)
    return sizes


def _history(units: Sequence[ThreadTurn], zone: str, *, stamped: bool) -> list[Line]:
    lines = []
    for unit in units:
        text = stamp(unit.said_at, zone) + unit.text if stamped else unit.text
        lines.append(Line("user", "user", "u" + unit.turn_id, text))
        lines += [Line("own", "assistant", "a" + own.answer_id, own.text) for own in unit.own]
    return lines


def _start(units: Sequence[ThreadTurn], cut: int | None) -> int:
    """Index of the first unit kept by the remembered cut; a cut that would leave nothing is of
    another branch."""
    if cut is None:
        return 0
    for at, unit in enumerate(units):
        if unit.depth >= cut:
            return at
    return 0


def _cut(recipe: Recipe, thread: Thread, units: Sequence[ThreadTurn], start: int) -> int | None:
    unread = thread.unread > 0 and recipe.window.kind == "graceful"
    if not start and not unread:
        return None
    return units[start].depth if start < len(units) else thread.current.depth


def _omitted(recipe: Recipe, thread: Thread, selected: Selected, start: int) -> tuple[Omitted, ...]:
    """The stretches left out by the window and by the budget; turns that were never read count to
    the latter."""
    if thread.unread > 0 and recipe.window.kind == "graceful" and recipe.scope == "conversation":
        kept = (*selected.units[start : start + 1], thread.current)[0]
        messages = thread.unread_messages + messages_in(selected.units[:start])
        return (Omitted("limit", thread.unread + start, messages, 1, kept.depth - 1),)
    return (*stretch("limit", selected.units[:start]), *selected.omitted)


class Notes:
    """The note of a bookends window, for any number of units that the budget drops beyond what the
    window left out: exactly how many messages are not shown, or the stored summary of exactly
    those. Nothing in it is invented."""

    def __init__(self, thread: Thread, selected: Selected, prompts: PromptSet) -> None:
        self._thread = thread
        self._selected = selected
        self._prompts = prompts

    def size(self, dropped: int) -> int:
        """Estimated tokens of the note, 0 where there is none."""
        line = self.line(dropped)
        return estimate(len(line.text)) if line is not None else 0

    def line(self, dropped: int) -> Line | None:
        """The note, or None where too little is left out to be worth one."""
        count = self._selected.missing + messages_in(self._selected.units[:dropped])
        if count <= NOTE_ABOVE:
            return None
        if (summary := self._summary(dropped, count)) is not None:
            values = {"count": str(count), "summary": indented(summary.text)}
            text = fill(self._prompts.text("summary"), values)
            ends = (summary.covers[0], summary.covers[-1]) if summary.covers else ()
            return Line("note", "user", "", text, Made(text, whole=True, sources=ends))
        made = Made(self._prompts.text("note"), values=(("count", str(count)),))
        return Line("note", "user", "", made.render({}), made)

    def _summary(self, dropped: int, count: int) -> ThreadSummary | None:
        """The stored summary, if it is of exactly what lies between the turns that are shown."""
        summary, units, head = self._thread.summary, self._selected.units, self._selected.head
        if summary is None or summary.messages != count:
            return None
        if 0 < dropped < head:
            return None  # part of the head is gone too: two stretches, and no summary is of both
        after = units[head - 1].turn_id if dropped < head else ""
        rest = units[max(head, dropped) :]
        before = rest[0].turn_id if rest else self._thread.current.turn_id
        return summary if (summary.after_id, summary.before_id) == (after, before) else None
