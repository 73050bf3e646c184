"""The reference block: what an advisor may see of the others, and no more.

The level between two advisors is the recipe's. `last_turn` shows each other advisor's last words;
`thread` also those of every earlier turn, newest first, as far as they fit; `none` nothing. An
advisor's own words never stand in its block, and nobody's words stand anywhere else.

A block that is larger than its share is shortened fairly: every advisor may keep as many
characters as any other, and what some do not need is given to those who do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from polyvox.context.draft import Line, Unsent
from polyvox.context.recipe import Level, Recipe
from polyvox.context.words import Cut, Entry, Group, Made, PromptSet, cut_to, fill, indented, label
from polyvox.thread import Other, Thread, ThreadTurn, distinct

LEAST = 40
"""Characters below which a shortened text tells nothing: then the block is left out."""
_BREAK = 2
"""Characters between two parts of a block."""


@dataclass(frozen=True, slots=True)
class Reference:
    """The others' words that may be shown, and how many characters they take."""

    last: tuple[Entry, ...] = ()
    texts: dict[str, str] = field(default_factory=dict)
    earlier: tuple[Group, ...] = ()
    """For visibility `thread`: one group for each earlier turn, oldest first."""
    chars: int = 0
    """The whole block; 0: there is none."""


def gather(
    recipe: Recipe,
    thread: Thread,
    units: Sequence[ThreadTurn],
    prompts: PromptSet,
    most: int,
) -> Reference:
    """Collect the words of others that this advisor may see: their last ones and, where it sees
    whole threads, those of `units`. An exchange has no other block than the words it is about.

    A text of more than `most` characters is not put together only to be measured: it cannot be
    sent whole anyway, and its bare length says so."""
    level = _levels(recipe, thread)
    texts: dict[str, str] = {}
    spoken = thread.words if thread.round else thread.last
    last = _entries(spoken, lambda o: level(o) != "none", texts)
    earlier: list[Group] = []
    if not thread.round and _whole(recipe):
        for unit in units:
            shown = _entries(
                [other for other in unit.others if other.answer_id not in texts],
                lambda o: level(o) == "thread",
                texts,
            )
            if shown:
                heading = {"count": str(thread.current.depth - unit.depth)}
                earlier.append((fill(prompts.text("ago"), heading), shown))
    groups = _groups(tuple(earlier), last, prompts)
    if not groups:
        return Reference()
    chars = _frame(prompts, bool(earlier)) + sum(_width(group, texts, most) for group in groups)
    return Reference(last, texts, tuple(earlier), chars - _BREAK)


def block_of(
    reference: Reference, prompts: PromptSet, room: int
) -> tuple[Line | None, Unsent | None]:
    """The block in at most `room` characters, and what of it was left out whole: the oldest turns
    first; the last words are shortened, or left out where too little of them would remain."""
    texts, earlier = reference.texts, list(reference.earlier)
    gone: list[Group] = []
    size = reference.chars
    while earlier and size > room:
        gone.append(earlier.pop(0))
        size -= _width(gone[-1], texts, room)
        if not earlier and reference.last:
            size = _frame(prompts, whole=False) - _BREAK + _width(("", reference.last), texts, room)
    groups = _groups(tuple(earlier), reference.last, prompts)
    cuts: tuple[Cut, ...] | None = ()
    if groups and size > room:
        cuts = shortened(reference.last, texts, room - _frame(prompts, whole=False))
    if cuts is None:
        gone, groups = [*gone, *groups], ()
    line = None
    if groups:
        template = prompts.text("reference_thread" if earlier else "reference")
        made = Made(template, groups, cuts=cuts or ())
        line = Line("reference", "user", "", made.render(texts), made)
    sources = tuple(f"a{answer}" for _, entries in gone for answer, _ in entries)
    chars = sum(len(texts[source[1:]]) for source in sources)
    return line, Unsent("reference", sources, chars) if sources else None


def shortened(entries: Sequence[Entry], texts: dict[str, str], room: int) -> tuple[Cut, ...] | None:
    """Cut these texts so that all entries together take at most `room` characters; None where
    somebody could not keep enough to be understood. Short texts stay whole: they are dealt with
    first, so that what they leave is shared by the longer ones."""
    cuts: list[Cut] = []
    left = room - sum(len(name) + len(": ") + _BREAK for _, name in entries) + _BREAK
    sizes = sorted((_size(texts[answer], room), answer) for answer, _ in entries)
    for number, (size, answer) in enumerate(sizes):
        share = left // (len(sizes) - number)
        if size > share:
            if share < LEAST:
                return None
            cut, size = cut_to(texts[answer], share)
            cuts.append((answer, cut, len(texts[answer])))
        left -= size
    return tuple(cuts)


def _groups(
    earlier: tuple[Group, ...], last: tuple[Entry, ...], prompts: PromptSet
) -> tuple[Group, ...]:
    """All groups, oldest first; the last words need a heading only behind earlier ones."""
    heading = prompts.text("last") if earlier else ""
    return (*earlier, (heading, last)) if last else earlier


def _frame(prompts: PromptSet, whole: bool) -> int:
    """Characters of a block without its words."""
    return len(prompts.text("reference_thread" if whole else "reference")) - len("{words}")


def _levels(recipe: Recipe, thread: Thread) -> Callable[[Other], Level]:
    viewer = (thread.advisor.id, thread.advisor.slug)

    def level(other: Other) -> Level:
        if other.advisor_id == thread.advisor.id:
            return "none"
        return recipe.visibility.level(viewer, (other.advisor_id, other.slug))

    return level


def _whole(recipe: Recipe) -> bool:
    """True if anybody sees whole threads: else nothing of the units need be looked at."""
    visibility = recipe.visibility
    return visibility.default == "thread" or any(p.level == "thread" for p in visibility.pairs)


def _entries(
    others: Sequence[Other], seen: Callable[[Other], bool], texts: dict[str, str]
) -> tuple[Entry, ...]:
    shown = [other for other in others if other.text.strip() and seen(other)]
    texts.update((other.answer_id, other.text) for other in shown)
    names = distinct({other.advisor_id: label(other.name) for other in shown})
    return tuple((other.answer_id, names[other.advisor_id]) for other in shown)


def _width(group: Group, texts: dict[str, str], most: int) -> int:
    """Characters of a group, the break behind each of its parts included."""
    heading, entries = group
    width = len(heading) + _BREAK if heading else 0
    for answer, name in entries:
        width += len(name) + len(": ") + _size(texts[answer], most) + _BREAK
    return width


def _size(text: str, most: int) -> int:
    """Characters of a text behind a name; of one that is too long anyway, its bare length."""
    return len(text) if len(text) > most else len(indented(text))
