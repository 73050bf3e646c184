"""A recipe: a named set of policies for what an advisor is sent. Recipes are data.

The built-in ones are `council` (several advisors in parallel), `agent` (one agent, bookends) and
`companion` (one persona; what it is told beside its kernel is decided for each turn).
Users change any part by a table in the configuration, or through the API; `changed` applies such a
change and refuses what it does not know. A recipe of the user's own is a copy of a built-in one
with such changes (`layered`). Texts are empty here when the prompt set supplies them.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Literal

from pydantic import ConfigDict, TypeAdapter, ValidationError, with_config

from polyvox.context.words import PromptSet, fill, prompt_set
from polyvox.errors import Invalid
from polyvox.ids import content_hash
from polyvox.settings.complaint import complaint
from polyvox.values import Params

Level = Literal["none", "last_turn", "thread"]
_STRICT = ConfigDict(extra="forbid")


@with_config(_STRICT)
@dataclass(frozen=True, slots=True)
class Phase:
    """A protocol and for how many of an advisor's answers it holds (None: from then on)."""

    name: str
    answers: int | None = None
    text: str = ""
    """Empty: the prompt set's text of this name. `{k}` and `{n}` are filled in."""


@with_config(_STRICT)
@dataclass(frozen=True, slots=True)
class Window:
    """The policy that selects history, before the budget cuts it."""

    kind: Literal["graceful", "bookends", "recent"] = "graceful"
    max_messages: int = 20
    recent_messages: int = 17
    system_messages: int = 3
    last_messages: int = 8


@with_config(_STRICT)
@dataclass(frozen=True, slots=True)
class Pair:
    """An exception to the default: the level at which `viewer` sees `seen` (advisor ids or
    slugs)."""

    viewer: str
    seen: str
    level: Level


@with_config(_STRICT)
@dataclass(frozen=True, slots=True)
class Visibility:
    """Rules for how much advisors see of each other."""

    default: Level = "last_turn"
    pairs: tuple[Pair, ...] = ()

    def level(self, viewer: tuple[str, str], seen: tuple[str, str]) -> Level:
        """The level at which `viewer` (id, slug) sees `seen` (id, slug). The last pair that fits
        wins."""
        level = self.default
        for pair in self.pairs:
            if pair.viewer in viewer and pair.seen in seen:
                level = pair.level
        return level


@dataclass(frozen=True, slots=True)
class Traits:
    """The fixed side of a recipe: no change to it touches these."""

    tells: Literal["council", "companion"] = "council"
    """The strategy by which memory decides what its advisors are told."""
    persona: bool = False
    """One persona answers, speaking from its kernel."""
    endless: bool = False
    """Idleness never ends its session: it is continued by name."""
    optional_memory: bool = False
    """`memory.council` turns its memory off."""


@with_config(_STRICT)
@dataclass(frozen=True, slots=True)
class Recipe:
    """Rules by which a thread becomes a request."""

    name: str
    base: str = ""
    """The built-in recipe that this one was copied from; empty: it is built in itself."""
    blocks: tuple[str, ...] = ("identity", "shared", "protocol", "rules")
    """System blocks in their order."""
    phases: tuple[Phase, ...] = (Phase("early", 3), Phase("ongoing"))
    count_turns: bool = False
    """Tell the ongoing phase its turn number too (costs provider cache hits)."""
    window: Window = field(default_factory=Window)
    scope: Literal["conversation", "session"] = "conversation"
    stamps: Literal["all", "history", "none"] = "all"
    visibility: Visibility = field(default_factory=Visibility)
    synthesis: Literal["on_request", "always"] = "on_request"
    model: str = ""
    params: Params = field(default_factory=Params)
    context: str = ""
    """A limit of this recipe's own, with its unit; empty: `limits.context`."""
    texts: dict[str, str] = field(default_factory=dict)
    """Block texts of the user's own, by block name, in place of the prompt set's. `{name}`,
    `{identity}` and `{short}` (the identity's first sentences) are filled in."""
    memory: Literal["auto", "off"] = "auto"
    """Recall of what is remembered of the person: off, or auto."""

    @property
    def hash(self) -> str:
        """The content hash of this recipe. A whole council asks for the same one, so the last is
        cached: computing it took a fifth of compiling a request."""
        global _hashed
        recipe, name = _hashed
        if recipe is not self:
            parts = asdict(self)
            if not self.base:  # as it was named before recipes could be copied
                del parts["base"]
            name = content_hash(repr(parts))
            _hashed = self, name
        return name

    @property
    def traits(self) -> Traits:
        """The traits that come with the built-in recipe it is, or was copied from."""
        return traits_of(self.base or self.name)


_hashed: tuple[Recipe | None, str] = None, ""
_adapter: TypeAdapter[Recipe] | None = None


def _recipes() -> TypeAdapter[Recipe]:
    global _adapter
    if _adapter is None:
        _adapter = TypeAdapter(Recipe)
    return _adapter


BUILT_IN: dict[str, Recipe] = {
    "council": Recipe("council"),
    "agent": Recipe(
        "agent",
        blocks=("identity",),
        phases=(),
        window=Window("bookends"),
        stamps="none",
        visibility=Visibility("none"),
        texts={"identity": "{identity}"},
        memory="off",
    ),
    "companion": Recipe(
        "companion",
        blocks=("identity",),
        phases=(),
        window=Window("recent"),
        scope="session",
        stamps="none",
        visibility=Visibility("none"),
        texts={"identity": "{identity}"},
    ),
}


TRAITS: dict[str, Traits] = {
    "council": Traits(optional_memory=True),
    "agent": Traits(endless=True),
    "companion": Traits("companion", persona=True),
}


NAME = r"^[a-z0-9][a-z0-9_-]{0,63}$"
"""How a recipe may be named."""


def traits_of(name: str) -> Traits:
    """The traits of the built-in recipe of this name; those of a council for any other."""
    return TRAITS.get(name, Traits())


def layered(name: str, *layers: Mapping[str, Any]) -> Recipe:
    """The recipe of this name with each layer's changes laid over it. One that is not built in is a
    copy of the `base` that a layer names, or else of the council."""
    recipe = BUILT_IN.get(name)
    if recipe is None:
        base = next((layer["base"] for layer in layers if "base" in layer), "council")
        if base not in BUILT_IN:
            raise Invalid(
                f"The recipe {base!r} cannot be copied.",
                f"These can: {', '.join(BUILT_IN)}.",
                param="base",
            )
        if not re.match(NAME, name):
            raise Invalid(
                f"A recipe cannot be called {name!r}.",
                "Use small letters, digits, hyphens and underscores.",
                param="name",
            )
        recipe = replace(BUILT_IN[base], name=name, base=base)
        layers = tuple(without_base(layer) for layer in layers)
    for layer in layers:
        recipe = changed(recipe, layer)
    return recipe


def without_base(layer: Mapping[str, Any]) -> dict[str, Any]:
    """The changes of a layer, without what it is a copy of."""
    return {part: value for part, value in layer.items() if part != "base"}


def shortened(recipe: Recipe, most: int | None) -> Recipe:
    """The recipe with its limited phases lasting at most `most` answers together; 0 skips them,
    None leaves them as they are."""
    if most is None or most >= asked_first(recipe):
        return recipe
    phases, left = [], most
    for phase in recipe.phases:
        if phase.answers is not None:
            phase = replace(phase, answers=min(phase.answers, left))
            left -= phase.answers or 0
        phases.append(phase)
    return replace(recipe, phases=tuple(phases))


def asked_first(recipe: Recipe) -> int:
    """The number of an advisor's answers that follow a limited phase."""
    return sum(phase.answers or 0 for phase in recipe.phases)


def changed(base: Recipe, change: Mapping[str, Any]) -> Recipe:
    """`base` with `change` laid over it, table by table; what is unknown is refused."""
    if not change:
        return base
    data = _recipes().dump_python(base, mode="json")
    for key, value in change.items():
        if key not in data or key in ("name", "base"):
            near = difflib.get_close_matches(key, [f.name for f in fields(Recipe)], 1, cutoff=0)
            raise Invalid(f"A recipe has no part {key!r}.", f"Did you mean {near[0]!r}?", param=key)
        if isinstance(data[key], dict) and isinstance(value, Mapping):
            data[key] = {**data[key], **value}
        else:
            data[key] = value
    try:
        recipe = _recipes().validate_python(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise Invalid(f"{where}: {complaint(first)}.", param=where) from None
    _check(recipe)
    return recipe


def as_data(recipe: Recipe) -> dict[str, Any]:
    """The recipe as plain data, the inverse of `changed`."""
    data: dict[str, Any] = _recipes().dump_python(recipe, mode="json")
    return data


def _check(recipe: Recipe) -> None:
    window = recipe.window
    if min(window.max_messages, window.recent_messages, window.last_messages) < 1:
        raise Invalid("A window must keep at least one message.", param="window")
    if window.system_messages < 0:
        raise Invalid("system_messages cannot be negative.", param="window.system_messages")
    if any(phase.answers is not None and phase.answers < 0 for phase in recipe.phases):
        raise Invalid("A phase cannot last a negative number of answers.", param="phases")
    known = prompt_set("full").texts
    for phase in recipe.phases:
        if not phase.text and phase.name not in known:
            raise Invalid(
                f"The phase {phase.name!r} has no text.",
                "Write one in its `text`, or name it early or ongoing to use ours.",
                param="phases",
            )
    for block in recipe.blocks:
        if block != "protocol" and block not in known and block not in recipe.texts:
            raise Invalid(
                f"The block {block!r} has no text.",
                "Write one in the recipe's `texts` under this name, or leave the block out.",
                param="blocks",
            )


# -- the phase that holds: a pure function of the recipe and an advisor's answers so far -----------


@dataclass(frozen=True, slots=True)
class PhasePlace:
    """The place of a turn in the phases: turn k of n, or turn k of an open phase (n is None)."""

    phase: Phase | None
    k: int
    n: int | None = None

    @property
    def name(self) -> str:
        """The phase's name; empty where the recipe has none for this turn."""
        return self.phase.name if self.phase else ""


def phase_for(recipe: Recipe, answers: int) -> PhasePlace:
    """The phase for an advisor's next answer, when it has given `answers` so far."""
    before = 0
    for phase in recipe.phases:
        if phase.answers is None:
            return PhasePlace(phase, answers + 1)
        if answers < before + phase.answers:
            return PhasePlace(phase, answers - before + 1, phase.answers)
        before += phase.answers
    return PhasePlace(None, answers + 1)


def exchange_phase(recipe: Recipe, answers: int) -> PhasePlace:
    """The phase of an exchange round: the open one, if the recipe has one. An early protocol would
    forbid the views that an exchange asks for."""
    for phase in recipe.phases:
        if phase.answers is None:
            return PhasePlace(phase, answers + 1)
    return phase_for(recipe, answers)


def protocol(recipe: Recipe, place: PhasePlace, prompts: PromptSet) -> str:
    """The protocol's text. An open phase reads the same every turn unless turns are counted."""
    if place.phase is None:
        return ""
    text = place.phase.text or prompts.text(place.phase.name)
    if recipe.count_turns and place.n is None:
        text = f"{text}\n\n{prompts.text('turn')}".strip()
    n = str(place.n) if place.n is not None else ""
    return fill(text, {"k": str(place.k), "n": n})
