"""Decisions about an optimisation's result: accept, reject, roll back.

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
    run = rows.get(tx, optimisation_id)
    text = _acceptable(run, force)
    now = resources.clock()
    if run.target == PROMPT:
        advisor = advisor_rows.get(tx, run.advisor_id)
        if advisor.identity != run.base_text and not force:
            number = versions.get(tx, advisor.version_id).number
            raise Conflict(
                f"The prompt of {advisor.name} was changed since this optimisation began: it is"
                f" at version {number} now.",
                f"Optimise the prompt as it is now. {INSIST} That change is then replaced.",
            )
        reason = f"optimised ({run.verdict or 'not confirmed'})"
        made = advisor_rows.update(tx, run.advisor_id, now, reason, {"prompt": text})
        rows.decide(tx, run.id, "accepted", now, made.version_id)
    else:
        _check_phase(tx, resources, run, run.base_text, force)
        _write_phase(tx, resources, run, text, now)
        rows.decide(tx, run.id, "accepted", now)
    return rows.get(tx, optimisation_id)


def _acceptable(run: Optimisation, force: bool) -> str:
    """The text to accept, or why there is none."""
    if not run.ended:
        raise Conflict(f"This optimisation is {run.state}.", "Wait for its end.")
    if run.decision == "accepted":
        raise Conflict("This result was accepted already.", "Its rollback undoes that.")
    if run.final_text is None:
        raise Conflict("This optimisation has no better prompt to accept.", run.message)
    if REDACTED in run.final_text:
        raise Conflict(
            "Something in this prompt was forgotten since.", "Begin another optimisation."
        )
    if run.verdict != "improved" and not force:
        ruling = f"the result is {run.verdict}" if run.verdict else "nothing was confirmed"
        raise Conflict(f"This prompt was not shown to be better: {ruling}.", INSIST)
    return run.final_text


def reject(tx: Tx, resources: Resources, optimisation_id: str) -> Optimisation:
    """Keep the prompt as it is."""
    run = rows.get(tx, optimisation_id)
    if not run.ended:
        raise Conflict(f"This optimisation is {run.state}.", "Cancel it instead.")
    if run.decision == "accepted":
        raise Conflict("This result was accepted already.", "Its rollback undoes that.")
    rows.decide(tx, run.id, "rejected", resources.clock())
    return rows.get(tx, optimisation_id)


def rollback(
    tx: Tx, resources: Resources, optimisation_id: str, *, force: bool = False
) -> Optimisation:
    """Undo an accepted result."""
    run = rows.get(tx, optimisation_id)
    if run.decision != "accepted" or run.final_text is None:
        raise Conflict("This result is not in force.", "Only an accepted one is rolled back.")
    now = resources.clock()
    if run.target == PROMPT:
        advisor = advisor_rows.get(tx, run.advisor_id)
        if advisor.version_id != run.final_version and not force:
            raise Conflict(
                f"The prompt of {advisor.name} was changed again since.",
                f"Its history lists the versions to go back to. {INSIST}",
            )
        made = advisor_rows.rollback(tx, run.advisor_id, run.base_version, now)
        rows.decide(tx, run.id, "rolled back", now, made.version_id)
    else:
        _check_phase(tx, resources, run, run.final_text, force)
        _write_phase(tx, resources, run, run.base_text, now)
        rows.decide(tx, run.id, "rolled back", now)
    return rows.get(tx, optimisation_id)


def _check_phase(
    tx: Tx, resources: Resources, run: Optimisation, expected: str, force: bool
) -> None:
    """Refuse a phase whose text was changed meanwhile."""
    name = run.target.removeprefix(PHASE)
    recipe = find_recipe(tx, resources.settings, run.recipe)
    if not any(phase.name == name for phase in recipe.phases):
        raise NotFound(f"The recipe {run.recipe} has no phase {name!r} any more.")
    if expected not in _says(recipe, name) and not force:
        raise Conflict(
            f"The phase {name!r} of the recipe {run.recipe} was changed since.",
            f"Optimise it as it is now. {INSIST} That change is then replaced.",
        )


def _says(recipe: Recipe, name: str) -> Sequence[str]:
    """The texts of a phase: the person's own, or else ours for large and for small models."""
    own = next(phase.text for phase in recipe.phases if phase.name == name)
    return (own,) if own else tuple(prompt_set(size).text(name) for size in ("full", "compact"))


def _write_phase(tx: Tx, resources: Resources, run: Optimisation, text: str, now: int) -> None:
    name = run.target.removeprefix(PHASE)
    recipe = find_recipe(tx, resources.settings, run.recipe)
    ours = {prompt_set(each).text(name) for each in ("full", "compact")}
    phases: list[dict[str, Any]] = as_data(recipe)["phases"]
    for phase in phases:
        if phase["name"] == name:
            phase["text"] = "" if text in ours else text
    change = {**(recipe_rows.get(tx, run.recipe) or {}), "phases": phases}
    changed(recipe, {"phases": phases})  # what cannot be used is refused before it is stored
    recipe_rows.put(tx, run.recipe, change, now)
