"""Compiling: a recipe, a thread and a model's facts become one request and the draft behind it.

Pure: same input, same request. The system text comes first and stays the same from turn to turn,
then memory, then history, the reference block, and the current message last. Another advisor's
words appear in no place but a bracketed `user` message.
"""

from __future__ import annotations

from collections.abc import Sequence

from polyvox.context.budget import Fit, Load, TooLong, allowance_for, estimate, fit, sane_ratio
from polyvox.context.draft import Block, Compiled, Draft, Line, request_of, size_of, system_size
from polyvox.context.phase import Place, exchange_phase, phase_for, protocol
from polyvox.context.promptset import PromptSet, fill, prompt_set, short
from polyvox.context.recipe import Recipe
from polyvox.context.reference import block_of, gather
from polyvox.context.thread import Said, Thread
from polyvox.context.window import (
    NOTE_ABOVE,
    Omitted,
    Selected,
    messages_in,
    select,
    stretch,
)
from polyvox.context.words import STAMP_CHARS, Made, label, quoted, stamp
from polyvox.models.base import ModelFacts
from polyvox.settings import Limits
from polyvox.values import ASSISTANT_ID, Advisor, Params


def compile_request(
    recipe: Recipe, thread: Thread, limits: Limits, facts: ModelFacts, params: Params
) -> Compiled:
    """What this advisor is to be sent. Raises `TooLong` when its instructions and the current
    message alone are more than fits."""
    prompts = prompt_set(facts.prompts)
    ratio = sane_ratio(thread.ratio)
    place = (exchange_phase if thread.round else phase_for)(recipe, thread.answers)
    blocks = system_blocks(recipe, thread.advisor, place, prompts)
    memory = tuple(Block(name, text) for name, text in thread.memory if text)
    selected = select(recipe, thread)
    reference = gather(recipe, thread, selected.units, prompts)
    tail = _tail(recipe, thread, prompts)
    room = allowance_for(limits, facts, params, ratio, recipe.context)
    notes = _Notes(thread, selected, prompts)
    load = Load(
        fixed=system_size(blocks, ()) + sum(estimate(len(line.text)) for line in tail),
        memory=system_size((), memory),
        units=_sizes(selected.units, stamped=recipe.stamps != "none"),
        reference=reference.chars,
        words=reference.hung,
        frame=reference.frame,
        note=notes.size if selected.noted else None,
        exchange=thread.round > 0,
    )
    kept = fit(load, room.tokens, limits.low_water, _start(selected.units, thread.cut))
    if not isinstance(kept, Fit):
        what = "The advisor's instructions, the message and the others' words"
        raise TooLong(kept, room, ratio, what) if thread.round else TooLong(kept, room, ratio)
    history = _history(selected.units[kept.start :], stamped=recipe.stamps != "none")
    note = notes.line(kept.start) if selected.noted and kept.note else None
    ahead = messages_in(selected.units[kept.start : selected.head])
    if note is not None:
        history.insert(ahead, note)
    said = block_of(reference, selected.units[kept.start :], prompts)
    sent = (said,) if said is not None and kept.reference else ()
    lines = (*history, *sent, *tail)
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
        memory=memory,
        memory_sent=kept.memory and bool(memory),
        lines=lines,
        history=len(history),
        unsent=(said,) if said is not None and not kept.reference else (),
        omitted=_omitted(recipe, thread, selected, kept.start),
        stamps=recipe.stamps,
        cut=_cut(recipe, thread, selected.units, kept.start),
        ratio=ratio,
        allowance=room,
        size=size_of(blocks, memory if kept.memory else (), lines),
        params=params,
        settled=settled,
    )
    return Compiled(request_of(draft), draft)


def system_blocks(
    recipe: Recipe, advisor: Advisor, place: Place, prompts: PromptSet
) -> tuple[Block, ...]:
    """The stable system text, block by block; blocks without a text are left out. The plain
    assistant has no protocol and no company, only its identity."""
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
        if text:
            blocks.append(Block(kind, text))
    return tuple(blocks)


def _tail(recipe: Recipe, thread: Thread, prompts: PromptSet) -> tuple[Line, ...]:
    """The current message; in an exchange also the answers to it so far and the others' words."""
    said = thread.current
    front = stamp(said.said_at) if recipe.stamps == "all" else ""
    current = Line("current", "user", f"u{said.turn_id}", front + said.text)
    if not thread.round:
        return (current,)
    own = [Line("own", "assistant", f"a{answer.answer_id}", answer.text) for answer in said.own]
    seen = gather(recipe, thread, (), prompts, words=thread.words)
    made = Made(prompts.text("exchange"), seen.last_group)
    return (current, *own, Line("exchange", "user", "", made.render(seen.texts), made))


def _sizes(units: Sequence[Said], *, stamped: bool) -> list[int]:
    """Estimated tokens of each unit, without building its texts: this runs over all that was
    read, while texts are built only for what is kept."""
    sizes = []
    for unit in units:
        front = STAMP_CHARS if stamped and stamp(unit.said_at) else 0
        size = (len(unit.text) + front + 3) >> 2
        for answer in unit.own:
            size += (len(answer.text) + 3) >> 2
        sizes.append(size)
    return sizes


def _history(units: Sequence[Said], *, stamped: bool) -> list[Line]:
    lines = []
    for unit in units:
        text = stamp(unit.said_at) + unit.text if stamped else unit.text
        lines.append(Line("user", "user", "u" + unit.turn_id, text))
        lines += [Line("own", "assistant", "a" + own.answer_id, own.text) for own in unit.own]
    return lines


def _start(units: Sequence[Said], cut: int | None) -> int:
    """Where the remembered cut lies; a cut that would leave nothing is of another branch."""
    if cut is None:
        return 0
    for at, unit in enumerate(units):
        if unit.depth >= cut:
            return at
    return 0


def _cut(recipe: Recipe, thread: Thread, units: Sequence[Said], start: int) -> int | None:
    unread = thread.unread > 0 and recipe.window.kind == "graceful"
    if not start and not unread:
        return None
    return units[start].depth if start < len(units) else thread.current.depth


def _omitted(recipe: Recipe, thread: Thread, selected: Selected, start: int) -> tuple[Omitted, ...]:
    """The window's stretches and the budget's, with what was never read as part of the latter."""
    dropped = stretch("limit", selected.units[:start])
    if thread.unread > 0 and recipe.window.kind == "graceful" and recipe.scope == "conversation":
        upto = (
            dropped[0].last
            if dropped
            else thread.past[0].depth - 1
            if thread.past
            else (thread.current.depth - 1)
        )
        messages = thread.unread_messages + messages_in(selected.units[:start])
        return (Omitted("limit", thread.unread + start, messages, 1, upto),)
    return (*dropped, *selected.omitted)


class _Notes:
    """The note of a bookends window, for any number of units that the budget drops as well."""

    def __init__(self, thread: Thread, selected: Selected, prompts: PromptSet) -> None:
        self._thread = thread
        self._selected = selected
        self._prompts = prompts

    def size(self, dropped: int) -> int:
        """Estimated tokens of the note, 0 where there is none."""
        line = self.line(dropped)
        return estimate(len(line.text)) if line is not None else 0

    def line(self, dropped: int) -> Line | None:
        """The note: exactly how many messages are left out, or the summary of exactly those."""
        units = self._selected.units
        count = self._selected.missing + messages_in(units[:dropped])
        if count <= NOTE_ABOVE:
            return None
        values = (("count", f"{count}"),)
        summary = self._thread.summary
        if summary is None or summary.messages != count or not self._between(dropped):
            made = Made(self._prompts.text("note"), values=values)
        else:
            # A summary is stored whole, as a text of its own: it belongs to no answer.
            text = fill(
                self._prompts.text("summary"),
                {"count": f"{count}", "summary": quoted(summary.text)},
            )
            return Line("note", "user", "", text, Made(text))
        return Line("note", "user", "", made.render({}), made)

    def _between(self, dropped: int) -> bool:
        """Whether the stored summary is of what lies between the turns that are shown."""
        summary, units, head = self._thread.summary, self._selected.units, self._selected.head
        after = units[head - 1].turn_id if dropped < head else ""
        rest = units[max(head, dropped) :]
        before = rest[0].turn_id if rest else self._thread.current.turn_id
        # Two stretches (head partly dropped) are no one stretch that could have been summarised.
        whole = dropped == 0 or dropped >= head
        return (
            summary is not None
            and whole
            and (summary.after_id, summary.before_id) == (after, before)
        )
