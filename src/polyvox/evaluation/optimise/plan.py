"""The plan of an optimisation: its assertions and contexts, its prompt, its models.

Decided in one commit and written down by ids, versions and hashes, so that a run does the same
whenever it is taken up.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from polyvox.context.words import prompt_set
from polyvox.errors import Invalid
from polyvox.evaluation.contexts import Context
from polyvox.evaluation.judge import TOO_SMALL, judge_model, own_model_warning
from polyvox.evaluation.optimise.values import Case, OptimisationPlan
from polyvox.evaluation.replay import PROMPT, Places, Prompt, places
from polyvox.evaluation.tables import assertions as assertion_rows
from polyvox.evaluation.tables.assertions import Assertion, AssertionFilter, version_of
from polyvox.evaluation.tables.optimisations import Optimisation, StoredPlan
from polyvox.events import NANO
from polyvox.ids import new_id
from polyvox.models.providers import EMBEDDED
from polyvox.recipes import known_recipe
from polyvox.resources import Resources
from polyvox.store import advisors as advisor_rows
from polyvox.store import conversations
from polyvox.store.database import Tx
from polyvox.values import Advisor

ENGINE: Final = "native"
"""The only one there is; the field stays for clients that name it."""
HOLDOUT = 0.25
HOLDOUT_FROM = 8
"""Assertions: with fewer, each is needed to learn from."""
FEWEST_SHOWN = 2
MOST_ITERATIONS = 100
MOST_ASSERTIONS = 200
MOST_CASES = 1_000
MOST_NAMED = 10
NO_REWRITER = (
    "There is no model to rewrite prompts with: the embedded model is far too small for it."
)


@dataclass(frozen=True, slots=True)
class OptimisationRequest:
    """A request to improve a prompt."""

    advisor_id: str
    """Id or slug."""
    assertion_ids: Sequence[str] | None = None
    """None: every active one."""
    target: str = PROMPT
    engine: str = ENGINE
    iterations: int | None = None
    budget: float | None = None
    """USD; None: as the settings say."""
    holdout: float | None = None
    """The part of the assertions that the rewriter never sees; None: a quarter, where there are
    enough."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A run that could begin."""

    run: Optimisation
    """Before its first call, and before it is estimated."""
    plan: OptimisationPlan
    places: Places


def prepare(tx: Tx, resources: Resources, wish: OptimisationRequest, seed: int) -> Planned:
    """The run that is wished for. `Invalid` where there is nothing it could do, with the reason."""
    advisor = advisor_rows.get(tx, wish.advisor_id)
    if wish.engine != ENGINE:
        raise Invalid(
            f"There is no engine {wish.engine!r}.",
            f"Leave it out: {ENGINE} is the only one.",
            param="engine",
        )
    phase = Prompt("", wish.target).phase
    if not phase and wish.target != PROMPT:
        raise Invalid(
            f"There is no target {wish.target!r}.", "Use prompt, or phase:NAME.", param="target"
        )
    chosen, others = _chosen(tx, advisor, wish, shared=phase is not None)
    where = places(tx, resources, [*chosen, *others])
    warnings: list[str] = []
    targets = _cases(chosen, where, phase, warnings)
    if not targets:
        raise Invalid(
            "None of these assertions can be tried out. " + " ".join(dict.fromkeys(warnings)),
            "Make an assertion from an answer of this advisor, or give one a question of its own.",
            param="assertion_ids",
        )
    guards = _cases(others, where, phase, [])
    recipe, text = "", advisor.identity
    if phase is not None:
        recipe, text = _phase_text(tx, resources, phase, targets, where)
        guards = [case for case in guards if where.contexts[case.context].recipe[0] == recipe]
        warnings.append(_affected(tx, advisor, phase, recipe))
    if len(targets) + len(guards) > MOST_CASES:
        raise Invalid(
            f"{len(targets) + len(guards)} pairs of assertion and context are too many for a run.",
            f"Choose fewer assertions, or make others inactive: at most {MOST_CASES} pairs.",
            param="assertion_ids",
        )
    judge, optimizer = _models(resources, [case.assertion for case in targets])
    if judge is None:
        guards = [case for case in guards if case.assertion.kind != "judge"]
    asked = [context.model_id for context in where.contexts.values()]
    if own := own_model_warning(judge, asked):
        warnings.append(own)
    settings = resources.settings.evaluation
    budget = settings.budget if wish.budget is None else wish.budget
    if budget is not None and budget <= 0:
        raise Invalid("The budget must be more than nothing.", param="budget")
    plan = OptimisationPlan(
        Prompt(text, wish.target),
        tuple(targets),
        tuple(guards),
        _holdouts(targets, wish.holdout, seed),
        wish.iterations or settings.iterations,
        seed=seed,
    )
    run = Optimisation(
        id=new_id(),
        advisor_id=advisor.id,
        advisor_name=advisor.name,
        target=wish.target,
        recipe=recipe,
        judge=judge or "",
        optimizer=optimizer,
        warnings=tuple(dict.fromkeys(warnings)),
        iterations=plan.iterations,
        base_version="" if phase else advisor.version_id,
        created_at=resources.clock(),
        plan=_stored(plan),
        budget=None if budget is None else round(budget * NANO),
        base_text=text,
    )
    return Planned(run, plan, where)


def _chosen(
    tx: Tx, advisor: Advisor, wish: OptimisationRequest, *, shared: bool
) -> tuple[list[Assertion], list[Assertion]]:
    """The assertions to improve, and the advisor's other active ones; those of all advisors where
    they share the text."""
    active = assertion_rows.list_all(tx, AssertionFilter(advisor_id=advisor.id, active=True))
    if wish.assertion_ids is None:
        chosen = active
    else:
        chosen = assertion_rows.get_many(tx, list(dict.fromkeys(wish.assertion_ids)))
        for assertion in chosen:
            if assertion.advisor_id != advisor.id:
                raise Invalid(
                    f"The assertion {assertion.id} is about {assertion.advisor_name},"
                    f" not {advisor.name}.",
                    param="assertion_ids",
                )
    if not chosen:
        raise Invalid(
            f"There is nothing to improve {advisor.name} by: no active assertion is chosen.",
            "Make one from an answer, or with `polyvox assertions add`.",
            param="assertion_ids",
        )
    if len(chosen) > MOST_ASSERTIONS:
        raise Invalid(
            f"{len(chosen)} assertions are too many for one run.",
            f"Choose at most {MOST_ASSERTIONS}.",
            param="assertion_ids",
        )
    ids = {assertion.id for assertion in chosen}
    if shared:
        active = assertion_rows.list_all(tx, AssertionFilter(active=True))
    return chosen, [assertion for assertion in active if assertion.id not in ids]


def _affected(tx: Tx, advisor: Advisor, phase: str, recipe: str) -> str:
    """Say who else will answer by a new text of this phase."""
    shared = f"The text of the phase {phase} applies to every advisor of the recipe {recipe}"
    speakers = conversations.speakers(tx, recipe) - {advisor.id}
    names = [other.name for other in advisor_rows.list_all(tx) if other.id in speakers]
    if not names:
        return f"{shared}; up to now only {advisor.name} has answered under it."
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    also = f"a new one also changes {', '.join(names[:MOST_NAMED])}{more}"
    return f"{shared}: {also}. Their active assertions guard against that."


def _cases(
    assertions: Sequence[Assertion], where: Places, phase: str | None, warnings: list[str]
) -> list[Case]:
    """Each assertion in the contexts in which this target makes a difference."""
    cases: list[Case] = []
    for assertion in assertions:
        contexts = {name: where.contexts[name] for name in where.of[assertion.id]}
        unusable = {name: _unusable(context, phase) for name, context in contexts.items()}
        cases += [
            Case(assertion, name, contexts[name].asked) for name in contexts if not unusable[name]
        ]
        if all(unusable.values()):
            why = next(iter(unusable.values()), "it has no context")
            warnings.append(f"“{assertion.text}” cannot be tried out: {why}.")
    return cases


def _unusable(context: Context, phase: str | None) -> str:
    if context.redacted:
        return "something in its context was forgotten"
    if phase is None:
        return "" if context.takes_prompt else "its context does not show where the prompt stood"
    if context.phase != phase:
        held = f"the phase {context.phase}" if context.phase else "no phase"
        return f"{held} was in force in its context, not {phase}"
    return ""


def _phase_text(
    tx: Tx, resources: Resources, phase: str, targets: Sequence[Case], where: Places
) -> tuple[str, str]:
    """The recipe whose phase it is, and what it says now."""
    names = sorted({where.contexts[case.context].recipe[0] for case in targets})
    recipe = known_recipe(tx, resources.settings, names[0])
    if len(names) > 1 or recipe is None:
        raise Invalid(
            f"These assertions were made under several recipes: {', '.join(names)}.",
            "Choose those of one recipe.",
            param="assertion_ids",
        )
    own = {entry.name: entry.text for entry in recipe.phases}
    if phase not in own:
        raise Invalid(
            f"The recipe {recipe.name} has no phase {phase!r}.",
            f"Its phases: {', '.join(own) or 'none'}.",
            param="target",
        )
    sets = {where.contexts[case.context].prompts[0] for case in targets}
    ours = prompt_set("compact" if sets == {"compact"} else "full")
    return recipe.name, own[phase] or ours.text(phase)


def _models(resources: Resources, assertions: Sequence[Assertion]) -> tuple[str | None, str]:
    judge = judge_model(resources)
    if judge is None and any(assertion.kind == "judge" for assertion in assertions):
        raise Invalid(TOO_SMALL, "Choose assertions that are checks in code, or set models.judge.")
    optimizer = resources.settings.models.optimizer or judge
    if optimizer is None or optimizer == EMBEDDED:
        raise Invalid(NO_REWRITER, "Set models.optimizer, or a key for a provider.")
    resources.models.check_name(optimizer)
    return judge, optimizer


def _holdouts(targets: Sequence[Case], part: float | None, seed: int) -> frozenset[str]:
    """Draw the assertions that the rewriter never sees."""
    ids = list(dict.fromkeys(case.assertion.id for case in targets))
    if part is None:
        part = HOLDOUT if len(ids) >= HOLDOUT_FROM else 0.0
    count = math.floor(len(ids) * part + 1e-9)
    if part and (not count or len(ids) - count < FEWEST_SHOWN):
        raise Invalid(
            f"{len(ids)} assertions are too few to keep {part:.0%} of them from the rewriter.",
            "Leave --holdout out, or choose more assertions.",
            param="holdout",
        )
    chance = random.Random(f"holdout:{seed}")  # noqa: S311 - a choice that can be made again
    return frozenset(chance.sample(sorted(ids), count))


def _stored(plan: OptimisationPlan) -> StoredPlan:
    """A plan as it is stored."""

    def names(cases: Sequence[Case]) -> tuple[tuple[str, int, str], ...]:
        return tuple((case.assertion.id, case.assertion.number, _context(case)) for case in cases)

    return StoredPlan(
        names(plan.targets),
        names(plan.guards),
        tuple(sorted(plan.holdouts)),
        plan.iterations,
        plan.repeats,
        plan.confirmations,
        plan.seed,
    )


def _context(case: Case) -> str:
    """The context's hash; empty for a question of the assertion's own, which is compiled anew."""
    own = case.assertion.source is None and case.assertion.user_input is not None
    return "" if own else case.context


def loaded(tx: Tx, resources: Resources, run: Optimisation) -> tuple[OptimisationPlan, Places]:
    """Load a stored run: the assertions in the versions it began with, and its advisor as it
    was."""
    written = run.plan
    versions = {(name, number) for name, number, _ in (*written.targets, *written.guards)}
    assertions = {
        version: assertion
        for version in sorted(versions)
        if (assertion := version_of(tx, *version)) is not None
    }
    where = places(tx, resources, list(assertions.values()))
    advisor = where.advisors.get(run.advisor_id)
    if advisor is not None and run.target == PROMPT and advisor.identity != run.base_text:
        advisor = replace(advisor, prompt=run.base_text)  # it was changed while this was under way
        where = replace(where, advisors={**where.advisors, advisor.id: advisor})
    asked = {name: context.asked for name, context in where.contexts.items()}

    def cases(names: Sequence[tuple[str, int, str]]) -> tuple[Case, ...]:
        return tuple(
            Case(assertion, context, asked.get(context, ""))
            for assertion_id, number, named in names
            if (assertion := assertions.get((assertion_id, number))) is not None
            for context in ((named,) if named else where.of[assertion_id])
        )

    plan = OptimisationPlan(
        Prompt(run.base_text, run.target),
        cases(written.targets),
        cases(written.guards),
        frozenset(written.holdouts),
        written.iterations,
        written.repeats,
        written.confirmations,
        written.seed,
        resources.settings.evaluation.concurrency,
    )
    return plan, where
