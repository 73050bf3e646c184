"""The plan of an optimisation: its assertions and contexts, its prompt, its models.

Decided in one commit and written down by ids, versions and hashes, so that a run does the same
whenever it is taken up.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec

from polyvox.context.promptset import prompt_set
from polyvox.context.recipe import BUILT_IN, Recipe
from polyvox.errors import Conflict, Invalid
from polyvox.evaluation.contexts import Context
from polyvox.evaluation.judge import TOO_SMALL, judge_model, own_model_warning
from polyvox.evaluation.optimise.values import CONFIRMATIONS, REPEATS, Case, OptimisationPlan
from polyvox.evaluation.replay import PHASE, PROMPT, Places, Prompt, places, version_of
from polyvox.evaluation.tables import assertions as assertion_rows
from polyvox.evaluation.tables import optimisations
from polyvox.evaluation.tables.assertions import Assertion, AssertionFilter
from polyvox.events import NANO
from polyvox.models.providers import EMBEDDED
from polyvox.resources import Resources
from polyvox.session.council import find_recipe
from polyvox.store import advisors as advisor_rows
from polyvox.store.database import Tx
from polyvox.values import Advisor

ENGINE = "native"
"""The only one there is; the field stays for clients that name it."""
HOLDOUT = 0.25
HOLDOUT_FROM = 8
"""Assertions: with fewer, each is needed to learn from."""
FEWEST_SHOWN = 2
MOST_ITERATIONS = 100
MOST_ASSERTIONS = 200
MOST_CASES = 1_000
NO_REWRITER = (
    "There is no model to rewrite prompts with: the embedded model is far too small for it."
)


@dataclass(frozen=True, slots=True)
class OptimisationRequest:
    """A request to improve a prompt."""

    advisor: str
    """Id or slug."""
    assertion_ids: tuple[str, ...] | None = None
    """None: every active one."""
    target: str = PROMPT
    engine: str = ENGINE
    iterations: int | None = None
    budget: float | None = None
    """USD; None: as the settings say."""
    holdout: float | None = None
    """The part of the assertions that the rewriter never sees; None: a quarter, where there are
    enough."""


class StoredPlan(msgspec.Struct, frozen=True):
    """A plan as it is stored: ids, versions and hashes."""

    targets: tuple[tuple[str, int, str], ...]
    """(assertion, version, context); an empty context is the assertion's own question."""
    guards: tuple[tuple[str, int, str], ...]
    holdouts: tuple[str, ...]
    iterations: int
    repeats: int
    confirmations: int
    seed: int


@dataclass(frozen=True, slots=True)
class Prepared:
    """A run that could begin."""

    advisor: Advisor
    plan: OptimisationPlan
    places: Places
    recipe: str
    judge: str | None
    optimizer: str
    budget: float | None
    """USD."""
    warnings: tuple[str, ...]

    @property
    def written(self) -> str:
        """The plan as it is stored."""
        plan = self.plan
        return msgspec.json.encode(
            StoredPlan(
                tuple(_named(case) for case in plan.targets),
                tuple(_named(case) for case in plan.guards),
                tuple(sorted(plan.holdouts)),
                plan.iterations,
                plan.repeats,
                plan.confirmations,
                plan.seed,
            )
        ).decode()


def _named(case: Case) -> tuple[str, int, str]:
    own = case.assertion.source is None and case.assertion.user_input is not None
    return (case.assertion.id, case.assertion.number, "" if own else case.context)


def read(written: str) -> StoredPlan:
    """A stored plan."""
    return msgspec.json.decode(written, type=StoredPlan)


def prepare(tx: Tx, resources: Resources, wish: OptimisationRequest, seed: int = 0) -> Prepared:
    """The run that is wished for. `Invalid` where there is nothing it could do, with the reason."""
    advisor = advisor_rows.get(tx, wish.advisor)
    iterations = wish.iterations or resources.settings.evaluation.iterations
    if not 1 <= iterations <= MOST_ITERATIONS:
        raise Invalid(f"iterations must be from 1 to {MOST_ITERATIONS}.", param="iterations")
    _check_engine(wish.engine)
    chosen, others = _chosen(tx, advisor, wish)
    where = places(tx, resources, [*chosen, *others])
    warnings: list[str] = []
    phase = _phase(wish.target)
    targets = _cases(chosen, where, phase, warnings)
    if not targets:
        raise Invalid(
            "None of these assertions can be tried out. " + " ".join(dict.fromkeys(warnings)),
            "Make an assertion from an answer of this advisor, or give one a question of its own.",
            param="assertion_ids",
        )
    guards = _cases(others, where, phase, [])
    if len(targets) + len(guards) > MOST_CASES:
        raise Invalid(
            f"{len(targets) + len(guards)} pairs of assertion and context are too many for a run.",
            f"Choose fewer assertions, or make others inactive: at most {MOST_CASES} pairs.",
            param="assertion_ids",
        )
    recipe, text = "", advisor.identity
    if phase is not None:
        recipe, text = _phase_text(tx, resources, phase, targets, where)
    judge, optimizer = _models(resources, [case.assertion for case in targets])
    if judge is None:
        guards = [case for case in guards if case.assertion.kind != "judge"]
    asked = [context.model_id for context in where.contexts.values()]
    if judge and (own := own_model_warning(judge, asked)):
        warnings.append(own)
    holdouts = _holdouts(targets, wish.holdout, seed)
    budget = wish.budget if wish.budget is not None else resources.settings.evaluation.budget
    if budget is not None and budget <= 0:
        raise Invalid("The budget must be more than nothing.", param="budget")
    plan = OptimisationPlan(
        Prompt(text, wish.target),
        tuple(targets),
        tuple(guards),
        holdouts,
        iterations,
        REPEATS,
        CONFIRMATIONS,
        seed,
    )
    return Prepared(
        advisor, plan, where, recipe, judge, optimizer, budget, tuple(dict.fromkeys(warnings))
    )


def price_warnings(
    wish: OptimisationRequest, prepared: Prepared, cost: int | None, needed: int | None
) -> tuple[str, ...]:
    """Warn of a budget that is too small; one that somebody names must be one that can be kept."""
    if prepared.budget is None:
        return ()
    if cost is None:
        if wish.budget is not None:
            raise Invalid(
                "The price of a model that would be asked is not known, so no budget can be kept.",
                "Leave the budget out, or choose models with known prices.",
                param="budget",
            )
        return ("The price of a model is not known: the budget covers only what is priced.",)
    if needed is not None and prepared.budget * NANO < needed:
        missing = f"{needed / NANO:.4f} USD: nothing could be confirmed."
        return (
            f"The budget of {prepared.budget:g} USD does not cover the confirmation, {missing}",
        )
    if prepared.budget * NANO < cost:
        missing = f"the {cost / NANO:.4f} USD that a run takes at most: it may try less."
        return (f"The budget of {prepared.budget:g} USD is less than {missing}",)
    return ()


def check_free(tx: Tx, prepared: Prepared) -> None:
    """Two runs for one prompt would undo each other."""
    target = prepared.plan.prompt.target
    other = optimisations.under_way(tx, prepared.advisor.id, target, prepared.recipe)
    if other is not None:
        raise Conflict(
            f"An optimisation of the same text is under way: {other.id}.",
            "Wait for its end, or cancel it.",
        )


def _check_engine(engine: str) -> None:
    if engine != ENGINE:
        raise Invalid(
            f"There is no engine {engine!r}.",
            f"Leave it out: {ENGINE} is the only one.",
            param="engine",
        )


def _chosen(
    tx: Tx, advisor: Advisor, wish: OptimisationRequest
) -> tuple[list[Assertion], list[Assertion]]:
    """The assertions to improve, and the advisor's other active ones."""
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
    return chosen, [assertion for assertion in active if assertion.id not in ids]


def _cases(
    assertions: Sequence[Assertion], where: Places, phase: str | None, warnings: list[str]
) -> list[Case]:
    """Each assertion in the contexts in which this target makes a difference."""
    cases: list[Case] = []
    for assertion in assertions:
        names = where.of[assertion.id]
        usable = [name for name in names if not (why := _unusable(where.contexts[name], phase))]
        cases += [Case(assertion, name) for name in usable]
        if not usable:
            why = _unusable(where.contexts[names[0]], phase) if names else "it has no context"
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


def _phase(target: str) -> str | None:
    if target == PROMPT:
        return None
    name = target.removeprefix(PHASE)
    if not target.startswith(PHASE) or not name:
        raise Invalid(
            f"There is no target {target!r}.", "Use prompt, or phase:NAME.", param="target"
        )
    return name


def _phase_text(
    tx: Tx, resources: Resources, phase: str, targets: Sequence[Case], where: Places
) -> tuple[str, str]:
    """The recipe whose phase it is, and what it says now."""
    names = sorted({where.contexts[case.context].recipe[0] for case in targets})
    if len(names) > 1 or names[0] not in BUILT_IN:
        raise Invalid(
            f"These assertions were made under several recipes: {', '.join(names)}.",
            "Choose those of one recipe.",
            param="assertion_ids",
        )
    recipe = find_recipe(tx, resources.settings, names[0])
    sets = {where.contexts[case.context].prompts[0] for case in targets}
    return names[0], phase_text(recipe, phase, compact=sets == {"compact"})


def phase_text(recipe: Recipe, name: str, *, compact: bool = False) -> str:
    """The text of a recipe's phase: the person's own, else ours."""
    for phase in recipe.phases:
        if phase.name == name:
            return phase.text or prompt_set("compact" if compact else "full").text(name)
    raise Invalid(
        f"The recipe {recipe.name} has no phase {name!r}.",
        f"Its phases: {', '.join(phase.name for phase in recipe.phases) or 'none'}.",
        param="target",
    )


def _models(resources: Resources, assertions: Sequence[Assertion]) -> tuple[str | None, str]:
    judge = judge_model(resources.settings, resources.models)
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
    if not 0 <= part <= 0.5:
        raise Invalid("holdout must be from 0 to 0.5.", param="holdout")
    count = math.floor(len(ids) * part + 1e-9)
    if part and (not count or len(ids) - count < FEWEST_SHOWN):
        raise Invalid(
            f"{len(ids)} assertions are too few to keep {part:.0%} of them from the rewriter.",
            "Leave --holdout out, or choose more assertions.",
            param="holdout",
        )
    chance = random.Random(f"holdout:{seed}")  # noqa: S311 - a choice that can be made again
    return frozenset(chance.sample(sorted(ids), count))


def loaded(
    tx: Tx, resources: Resources, run: optimisations.Optimisation
) -> tuple[OptimisationPlan, Places]:
    """Load a stored run: the assertions in the versions it began with, and its
    advisor as it was."""
    written = read(run.plan)
    named = {(name, number) for name, number, _ in (*written.targets, *written.guards)}
    assertions: dict[tuple[str, int], Assertion] = {}
    for name, number in sorted(named):
        if (assertion := version_of(tx, name, number)) is not None:
            assertions[name, number] = assertion
    where = places(tx, resources, list(assertions.values()))
    advisors = {
        key: _as_it_was(advisor, run) if key == run.advisor_id else advisor
        for key, advisor in where.advisors.items()
    }
    plan = OptimisationPlan(
        Prompt(run.base_text, run.target),
        _placed(written.targets, assertions, where.of),
        _placed(written.guards, assertions, where.of),
        frozenset(written.holdouts),
        written.iterations,
        written.repeats,
        written.confirmations,
        written.seed,
        resources.settings.evaluation.concurrency,
    )
    return plan, replace(where, advisors=advisors)


def _as_it_was(advisor: Advisor, run: optimisations.Optimisation) -> Advisor:
    """An advisor that was changed while its run was under way is tried as it was."""
    if run.target != PROMPT or advisor.identity == run.base_text:
        return advisor
    return replace(advisor, prompt=run.base_text)


def _placed(
    names: Sequence[tuple[str, int, str]],
    assertions: Mapping[tuple[str, int], Assertion],
    of: Mapping[str, tuple[str, ...]],
) -> tuple[Case, ...]:
    cases = []
    for name, number, context in names:
        assertion = assertions.get((name, number))
        if assertion is None:
            continue
        places_ = (context,) if context else of.get(name, ())
        cases += [Case(assertion, place) for place in places_]
    return tuple(cases)
