"""Decisions about an optimisation's result: accept, reject, roll back.

Accepting makes a new prompt version (or changes the phase's text in the recipe), in the same commit
that notes the decision. It is refused where the text was changed since the run began, and where the
result was not confirmed as better, unless the person insists.
"""

from __future__ import annotations

from typing import Any, Literal

from polyvox.context.recipe import as_data, changed
from polyvox.context.words import prompt_set
from polyvox.errors import Conflict, NotFound
from polyvox.evaluation.replay import PHASE, PROMPT
from polyvox.evaluation.tables import optimisations as rows
from polyvox.evaluation.tables.optimisations import Optimisation
from polyvox.recipes import find_recipe
from polyvox.resources import Resources
from polyvox.store import advisors as advisor_rows
from polyvox.store import recipes as recipe_rows
from polyvox.store import versions
from polyvox.store.database import Tx
from polyvox.values import REDACTED

Verb = Literal["accept", "reject", "rollback"]
INSIST = "Insist with `force` to do it all the same."


def decide(
    tx: Tx, resources: Resources, optimisation_id: str, verb: Verb, *, force: bool
) -> Optimisation:
    """Do what was decided, and note it."""
    run = rows.get(tx, optimisation_id)
    if verb == "rollback":
        return _rollback(tx, resources, run, force)
    if not run.ended:
        hint = "Wait for its end." if verb == "accept" else "Cancel it instead."
        raise Conflict(f"This optimisation is {run.state}.", hint)
    if run.decision == "accepted":
        raise Conflict("This result was accepted already.", "Its rollback undoes that.")
    if verb == "accept":
        return _accept(tx, resources, run, force)
    return rows.decide(tx, run.id, "rejected", resources.clock())


def _accept(tx: Tx, resources: Resources, run: Optimisation, force: bool) -> Optimisation:
    """Make the best attempt the prompt."""
    if run.final_text is None:
        raise Conflict("This optimisation has no better prompt to accept.", run.message)
    if REDACTED in run.final_text:
        raise Conflict(
            "Something in this prompt was forgotten since.", "Begin another optimisation."
        )
    if run.verdict != "improved" and not force:
        ruling = f"the result is {run.verdict}" if run.verdict else "nothing was confirmed"
        raise Conflict(f"This prompt was not shown to be better: {ruling}.", INSIST)
    now = resources.clock()
    if run.target != PROMPT:
        _replace_phase(tx, resources, run, run.base_text, run.final_text, force)
        return rows.decide(tx, run.id, "accepted", now)
    advisor = advisor_rows.get(tx, run.advisor_id)
    if advisor.identity != run.base_text and not force:
        number = versions.get(tx, advisor.version_id).number
        raise Conflict(
            f"The prompt of {advisor.name} was changed since this optimisation began: it is"
            f" at version {number} now.",
            f"Optimise the prompt as it is now. {INSIST} That change is then replaced.",
        )
    reason = f"optimised ({run.verdict or 'not confirmed'})"
    made = advisor_rows.update(tx, now, run.advisor_id, reason=reason, prompt=run.final_text)
    return rows.decide(tx, run.id, "accepted", now, made.version_id)


def _rollback(tx: Tx, resources: Resources, run: Optimisation, force: bool) -> Optimisation:
    """Undo an accepted result."""
    if run.decision != "accepted" or run.final_text is None:
        raise Conflict("This result is not in force.", "Only an accepted one is rolled back.")
    now = resources.clock()
    if run.target != PROMPT:
        _replace_phase(tx, resources, run, run.final_text, run.base_text, force)
        return rows.decide(tx, run.id, "rolled back", now)
    advisor = advisor_rows.get(tx, run.advisor_id)
    if advisor.version_id != run.final_version and not force:
        raise Conflict(
            f"The prompt of {advisor.name} was changed again since.",
            f"Its history lists the versions to go back to. {INSIST}",
        )
    made = advisor_rows.rollback(tx, now, run.advisor_id, run.base_version)
    return rows.decide(tx, run.id, "rolled back", now, made.version_id)


def _replace_phase(
    tx: Tx, resources: Resources, run: Optimisation, old: str, new: str, force: bool
) -> None:
    """Put a text in the place of another one in the recipe's phase."""
    name = run.target.removeprefix(PHASE)
    recipe = find_recipe(tx, resources.settings, run.recipe)
    phases: list[dict[str, Any]] = as_data(recipe)["phases"]
    phase = next((phase for phase in phases if phase["name"] == name), None)
    if phase is None:
        raise NotFound(f"The recipe {run.recipe} has no phase {name!r} any more.")
    ours = {prompt_set(size).text(name) for size in ("full", "compact")}
    if old not in ({phase["text"]} if phase["text"] else ours) and not force:
        raise Conflict(
            f"The phase {name!r} of the recipe {run.recipe} was changed since.",
            f"Optimise it as it is now. {INSIST} That change is then replaced.",
        )
    phase["text"] = "" if new in ours else new
    changed(recipe, {"phases": phases})  # what cannot be used is refused before it is stored
    change = {**(recipe_rows.get(tx, run.recipe) or {}), "phases": phases}
    recipe_rows.put(tx, run.recipe, change, resources.clock())
