"""The reference block: what an advisor may see of the others, and no more.

The level between two advisors is the recipe's. `last_turn` shows the others' words of the most
recent completed turn; `thread` also those of every earlier turn that is kept; `none` nothing. An
advisor's own words never stand in its block, and nobody's words stand anywhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from polyvox.context.draft import Line, Unsent
from polyvox.context.recipe import Level, Recipe
from polyvox.context.words import Entry, Group, Made, PromptSet, fill, indented, label
from polyvox.thread import Other, Thread, ThreadTurn

_BREAK = 2
"""Characters between two parts of a block."""


@dataclass(frozen=True, slots=True)
class Reference:
    """The others' words that may be shown, and how many characters they take."""

    last: tuple[Entry, ...] = ()
    texts: dict[str, str] = field(default_factory=dict)
    earlier: dict[str, tuple[int, tuple[Entry, ...]]] = field(default_factory=dict)
    """By turn id, for visibility `thread`: how many turns ago, and who said something."""
    chars: int = 0
    """The block as far as it hangs on no turn of the history; 0: there is none."""
    hung: tuple[int, ...] = ()
    """Size that each unit of the history adds, where anything is shown of it."""
    frame: int = 0

    @property
    def last_group(self) -> tuple[Group, ...]:
        """The last words alone, as a group without a heading."""
        return (("", self.last),) if self.last else ()


def gather(
    recipe: Recipe,
    thread: Thread,
    units: Sequence[ThreadTurn],
    prompts: PromptSet,
    most: int,
    words: Sequence[Other] | None = None,
) -> Reference:
    """Collect the words of others that this advisor may see: the last turn's and, where it sees
    whole threads, those of `units`; or of given `words` alone. An exchange has no other block.

    A text of more than `most` characters is not put together only to be measured: it cannot be
    sent anyway, and its bare length says so."""
    if words is None and thread.round:
        return Reference()
    level = _levels(recipe, thread)
    texts: dict[str, str] = {}
    last = _entries(thread.last if words is None else words, lambda o: level(o) != "none", texts)
    earlier: dict[str, tuple[int, tuple[Entry, ...]]] = {}
    if words is None and _whole(recipe):
        for unit in units:
            shown = _entries(
                [other for other in unit.others if other.answer_id not in texts],
                lambda o: level(o) == "thread",
                texts,
            )
            if shown:
                earlier[unit.turn_id] = (thread.current.depth - unit.depth, shown)
    if not earlier:
        if not last:
            return Reference()
        bare = len(prompts.text("reference")) - len("{words}")
        return Reference(last, texts, chars=bare + _width(last, texts, most) - _BREAK)
    frame = len(prompts.text("reference_thread"))
    heading = len(prompts.text("last")) + _BREAK
    return Reference(
        last,
        texts,
        earlier,
        chars=frame + heading + _width(last, texts, most) if last else 0,
        hung=tuple(_hangs(earlier.get(unit.turn_id), texts, prompts, most) for unit in units),
        frame=frame,
    )


def block_of(
    reference: Reference, kept: Sequence[ThreadTurn], prompts: PromptSet, *, sent: bool
) -> Line | Unsent | None:
    """The block for the turns that are kept, or what was left out where it is not sent, or None
    where there is nothing to show."""
    groups: list[Group] = []
    for unit in kept if reference.earlier else ():
        if unit.turn_id in reference.earlier:
            ago, entries = reference.earlier[unit.turn_id]
            groups.append((_heading(ago, prompts), entries))
    if groups:
        if reference.last:
            groups.append((prompts.text("last"), reference.last))
        made = Made(prompts.text("reference_thread"), tuple(groups))
    elif reference.last:
        made = Made(prompts.text("reference"), reference.last_group)
    else:
        return None
    if sent:
        return Line("reference", "user", "", made.render(reference.texts), made)
    sources = tuple(f"a{answer}" for _, entries in made.groups for answer, _ in entries)
    return Unsent("reference", sources, sum(len(reference.texts[ref[1:]]) for ref in sources))


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
    return tuple((other.answer_id, label(other.name)) for other in shown)


def _heading(ago: int, prompts: PromptSet) -> str:
    return prompts.text("last") if ago == 1 else fill(prompts.text("ago"), {"count": str(ago)})


def _width(entries: Sequence[Entry], texts: dict[str, str], most: int) -> int:
    width = 0
    for answer, name in entries:
        text = texts[answer]
        size = len(text) if len(text) > most else len(indented(text))
        width += len(name) + len(": ") + size + _BREAK
    return width


def _hangs(
    shown: tuple[int, tuple[Entry, ...]] | None,
    texts: dict[str, str],
    prompts: PromptSet,
    most: int,
) -> int:
    if shown is None:
        return 0
    return len(_heading(shown[0], prompts)) + _BREAK + _width(shown[1], texts, most)
