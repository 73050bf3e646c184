"""What becomes of an optimisation's result: accepted, rejected, rolled back.

Accepting makes a new prompt version (or changes the phase's text in the recipe), in the same commit
that notes the decision. It is refused where the text was changed since the run began, and where the
result was not confirmed as better, unless the person insists.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from polyvox.context.promptset import prompt_set
from polyvox.context.recipe import Recipe, as_data, changed
from polyvox.errors import Conflict, NotFound
from polyvox.evaluation.replay import PHASE, PROMPT
from polyvox.evaluation.tables import optimisations as rows
from polyvox.evaluation.tables.optimisations import Optimisation
from polyvox.resources import Resources
from polyvox.session.council import find_recipe
from polyvox.store import advisors as advisor_rows
from polyvox.store import recipes as recipe_rows
from polyvox.store import versions
from polyvox.store.database import Tx
from polyvox.values import REDACTED

INSIST = "Insist with `force` to do it all the same."


def accept(
    tx: Tx, resources: Resources, optimisation_id: str, *, force: bool = False
) -> Optimisation:
    """Make the best attempt the prompt."""
    one = rows.get(tx, optimisation_id)
    text = _acceptable(one, force)
    now = resources.clock()
    if one.target == PROMPT:
        advisor = advisor_rows.get(tx, one.advisor_id)
        if advisor.identity != one.base_text and not force:
            number = versions.get(tx, advisor.version_id).number
            raise Conflict(
                f"The prompt of {advisor.name} was changed since this optimisation began: it is"
                f" at version {number} now.",
                f"Optimise the prompt as it is now. {INSIST} That change is then replaced.",
            )
        reason = f"optimised ({one.verdict or 'not confirmed'})"
        made = advisor_rows.update(tx, one.advisor_id, now, reason, {"prompt": text})
        rows.decide(tx, one.id, "accepted", now, made.version_id)
    else:
        _check_phase(tx, resources, one, one.base_text, force)
        _write_phase(tx, resources, one, text, now)
        rows.decide(tx, one.id, "accepted", now)
    return rows.get(tx, optimisation_id)


def _acceptable(one: Optimisation, force: bool) -> str:
    """The text to accept, or why there is none."""
    if not one.ended:
        raise Conflict(f"This optimisation is {one.state}.", "Wait for its end.")
    if one.decision == "accepted":
        raise Conflict("This result was accepted already.", "Its rollback undoes that.")
    if one.final_text is None:
        raise Conflict("This optimisation has no better prompt to accept.", one.message)
    if REDACTED in one.final_text:
        raise Conflict(
            "Something in this prompt was forgotten since.", "Begin another optimisation."
        )
    if one.verdict != "improved" and not force:
        told = f"the result is {one.verdict}" if one.verdict else "nothing was confirmed"
        raise Conflict(f"This prompt was not shown to be better: {told}.", INSIST)
    return one.final_text


def reject(tx: Tx, resources: Resources, optimisation_id: str) -> Optimisation:
    """Keep the prompt as it is."""
    one = rows.get(tx, optimisation_id)
    if not one.ended:
        raise Conflict(f"This optimisation is {one.state}.", "Cancel it instead.")
    if one.decision == "accepted":
        raise Conflict("This result was accepted already.", "Its rollback undoes that.")
    rows.decide(tx, one.id, "rejected", resources.clock())
    return rows.get(tx, optimisation_id)


def rollback(
    tx: Tx, resources: Resources, optimisation_id: str, *, force: bool = False
) -> Optimisation:
    """Undo an accepted result."""
    one = rows.get(tx, optimisation_id)
    if one.decision != "accepted" or one.final_text is None:
        raise Conflict("This result is not in force.", "Only an accepted one is rolled back.")
    now = resources.clock()
    if one.target == PROMPT:
        advisor = advisor_rows.get(tx, one.advisor_id)
        if advisor.version_id != one.final_version and not force:
            raise Conflict(
                f"The prompt of {advisor.name} was changed again since.",
                f"Its history lists the versions to go back to. {INSIST}",
            )
        made = advisor_rows.rollback(tx, one.advisor_id, one.base_version, now)
        rows.decide(tx, one.id, "rolled back", now, made.version_id)
    else:
        _check_phase(tx, resources, one, one.final_text, force)
        _write_phase(tx, resources, one, one.base_text, now)
        rows.decide(tx, one.id, "rolled back", now)
    return rows.get(tx, optimisation_id)


def _check_phase(
    tx: Tx, resources: Resources, one: Optimisation, expected: str, force: bool
) -> None:
    """Whether the phase still says what it is expected to."""
    name = one.target.removeprefix(PHASE)
    recipe = find_recipe(tx, resources.settings, one.recipe)
    if not any(phase.name == name for phase in recipe.phases):
        raise NotFound(f"The recipe {one.recipe} has no phase {name!r} any more.")
    if expected not in _says(recipe, name) and not force:
        raise Conflict(
            f"The phase {name!r} of the recipe {one.recipe} was changed since.",
            f"Optimise it as it is now. {INSIST} That change is then replaced.",
        )


def _says(recipe: Recipe, name: str) -> Sequence[str]:
    """What a phase says: the person's own text, or else ours for large and for small models."""
    own = next(phase.text for phase in recipe.phases if phase.name == name)
    return (own,) if own else tuple(prompt_set(one).text(name) for one in ("full", "compact"))


def _write_phase(tx: Tx, resources: Resources, one: Optimisation, text: str, now: int) -> None:
    name = one.target.removeprefix(PHASE)
    recipe = find_recipe(tx, resources.settings, one.recipe)
    ours = {prompt_set(each).text(name) for each in ("full", "compact")}
    phases: list[dict[str, Any]] = as_data(recipe)["phases"]
    for phase in phases:
        if phase["name"] == name:
            phase["text"] = "" if text in ours else text
    change = {**(recipe_rows.get(tx, one.recipe) or {}), "phases": phases}
    changed(recipe, {"phases": phases})  # what cannot be used is refused before it is stored
    recipe_rows.put(tx, one.recipe, change, now)
