"""The phase that holds: a pure function of the recipe and the number of answers this advisor has
given."""

from __future__ import annotations

from dataclasses import dataclass

from polyvox.context.promptset import PromptSet, fill
from polyvox.context.recipe import Phase, Recipe


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
