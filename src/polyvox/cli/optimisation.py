"""`polyvox optimize`: look for a better prompt by an advisor's assertions, and decide on it.

Exit codes: 0 where it was improved, 1 where it was not or did not come to its end, 2 for bad input.
"""

from __future__ import annotations

from typing import Annotated, cast, get_args

import typer

from polyvox.app import Polyvox
from polyvox.cli.lookup import SCOPE
from polyvox.cli.output import note, say, say_json, table
from polyvox.cli.progress import Bar, Run, follow
from polyvox.cli.words import count, money, usd
from polyvox.errors import Invalid
from polyvox.evaluation.optimise.plan import OptimisationRequest
from polyvox.evaluation.optimise.run import Verb
from polyvox.evaluation.optimise.shapes import OptimizationDetail, OptimizationOut
from polyvox.evaluation.tables.optimisations import Optimisation

NOT_BETTER = 1


async def optimize(
    app: Polyvox,
    advisor: Annotated[
        str | None, typer.Argument(metavar="SLUG", help="The advisor, by slug or id.")
    ] = None,
    assertion: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="Only this one (may be repeated).")
    ] = None,
    iterations: Annotated[
        int | None, typer.Option(min=1, max=100, help="Attempts at most (evaluation.iterations).")
    ] = None,
    budget: Annotated[
        float | None,
        typer.Option(metavar="USD", help="What it may cost at most (evaluation.budget)."),
    ] = None,
    engine: Annotated[str, typer.Option(metavar="native", help="Who searches.")] = "native",
    holdout: Annotated[
        float | None,
        typer.Option(min=0, max=0.5, metavar="X", help="Part that the rewriter never sees."),
    ] = None,
    target: Annotated[
        str, typer.Option(metavar="prompt|phase:NAME", help="The text to improve.")
    ] = "prompt",
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Say what it would take, and do nothing.")
    ] = False,
    accept: Annotated[
        bool, typer.Option("--accept", help="Accept the result where it is improved.")
    ] = False,
    resume: Annotated[
        str | None, typer.Option(metavar="RUN", help="Go on with a run that failed or is spent.")
    ] = None,
    show: Annotated[str | None, typer.Option(metavar="RUN", help="Show a run.")] = None,
    decide: Annotated[
        str | None,
        typer.Option(metavar="WORD:RUN", help="accept:RUN, reject:RUN or rollback:RUN."),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Decide so although something speaks against it.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="The run as JSON.")] = False,
) -> int:
    """Look for a better prompt: rewrite it, try it on the assertions, confirm the best one afresh.

    Without --assertion, all active assertions of the advisor are used. Nothing changes until a
    result is accepted. Exits 1 where nothing better was found.
    """
    if decide is not None:
        return await _decide(app, decide, force=force, json=json)
    if show is not None:
        return await _report(app, show, json=json)
    if resume is not None:
        run_id = (await app.optimisations.resume(SCOPE, resume, budget)).id
        return await _whole(app, run_id, accept=accept, json=json)
    if advisor is None:
        raise Invalid("Which advisor?", "polyvox optimize SLUG; `polyvox advisors list` has them.")
    ids = tuple(assertion) if assertion else None
    wish = OptimisationRequest(advisor, ids, target, engine, iterations, budget, holdout)
    if estimate:
        return await _estimate(app, wish, json=json)
    return await _begin(app, wish, accept=accept, json=json)


async def _estimate(app: Polyvox, wish: OptimisationRequest, *, json: bool) -> int:
    planned = await app.optimisations.estimate(SCOPE, wish)
    if json:
        say_json(planned)
        return 0
    for warning in planned.warnings:
        note(warning)
    many = f"{count(planned.assertions, 'assertion')}, {count(planned.guards, 'guard')}"
    say(f"{planned.advisor_name}: {many}, {count(planned.iterations, 'iteration')}")
    say(f"judge {planned.judge or 'none'}, rewriter {planned.optimizer}")
    calls, cost = planned.estimate.most_calls, planned.estimate.most_cost
    say(f"at most {count(calls, 'call')} and {usd(cost)} if it goes all the way")
    say(planned.visible.message)
    return 0


async def _begin(app: Polyvox, wish: OptimisationRequest, *, accept: bool, json: bool) -> int:
    planned = await app.optimisations.estimate(SCOPE, wish)
    note(planned.visible.message)
    if planned.visible.add:
        more = f"{wish.advisor_id} --count {planned.visible.add}"
        note(f"add some with: polyvox assertions contexts {more}")
    made = await app.optimisations.begin(SCOPE, wish)
    for warning in made.warnings:
        note(warning)
    calls, cost = made.estimate.most_calls, made.estimate.most_cost
    note(f"run {made.id}: at most {calls} calls and {money(cost)}")
    return await _whole(app, made.id, accept=accept, json=json)


async def _whole(app: Polyvox, run_id: str, *, accept: bool, json: bool) -> int:
    """A run to its end, and what came of it."""
    ended = await _follow(app, run_id)
    code = await _report(app, run_id, json=json)
    if accept and ended.verdict == "improved":
        taken = await app.optimisations.decide(SCOPE, run_id, "accept")
        note(f"accepted; undo it with: polyvox optimize --decide rollback:{taken.id}")
    elif ended.verdict == "improved":
        note(f"accept it with: polyvox optimize --decide accept:{run_id}")
    return code


async def _follow(app: Polyvox, run_id: str) -> Optimisation:
    with Bar("optimising") as bar:

        def show(now: Optimisation) -> None:
            bar.show(now.iteration, now.iterations, _step(now), f", {money(now.spent)} spent")

        return await follow(Run(app, app.optimisations, run_id), show)


def _step(now: Optimisation) -> str:
    """The stage of a run: 3/10, the best up to now."""
    text = f"{now.stage or now.state} {now.iteration}/{now.iterations}"
    if now.best_rate is not None:
        before = "not run" if now.base_rate is None else f"{now.base_rate:.0%}"
        text += f", best {now.best_rate:.0%} (before {before})"
    return text


async def _report(app: Polyvox, run_id: str, *, json: bool) -> int:
    detail = await app.optimisations.get(SCOPE, run_id)
    if json:
        say_json(detail)
    else:
        _show(detail)
    return 0 if detail.verdict == "improved" or detail.success else NOT_BETTER


def _show(detail: OptimizationDetail) -> None:
    rows = []
    for row in detail.results:
        sides = [
            f"{side.passes}/{side.passes + side.fails}"
            if side and side.rate is not None
            else "not run"
            for side in (row.before, row.after)
        ]
        kind = "guard" if row.guard else "unseen" if row.holdout else ""
        kind = "copied from the assertion" if row.copied else kind
        rows.append((*sides, kind, row.text))
    table(("before", "after", "", "assertion"), rows, empty="Nothing was compared.")
    for attempt in detail.attempts:
        rate = "" if attempt.rate is None else f" {attempt.rate:.0%}"
        noted = f": {attempt.note}" if attempt.note else ""
        say(f"  attempt {attempt.number} (from {attempt.parent}) {attempt.state}{rate}{noted}")
    marks = {"same": " ", "added": "+", "removed": "-"}
    for line in detail.diff:
        say(f"{marks[line.kind]} {line.text}")
    message = detail.message if detail.state == "finished" else f"{detail.state}: {detail.message}"
    say(f"{message} ({count(detail.calls, 'call')}, {usd(detail.cost)}, run {detail.id})")


async def _decide(app: Polyvox, wanted: str, *, force: bool, json: bool) -> int:
    word, _, run_id = wanted.partition(":")
    if word not in get_args(Verb) or not run_id:
        raise Invalid(f"{wanted!r} is no decision.", "Use accept:RUN, reject:RUN or rollback:RUN.")
    decided = await app.optimisations.decide(SCOPE, run_id, cast("Verb", word), force=force)
    if json:
        say_json(OptimizationOut.of(decided))
    else:
        say(f"{decided.advisor_name}: {decided.decision}")
    return 0
