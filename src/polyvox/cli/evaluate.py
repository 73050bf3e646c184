"""`polyvox eval`: run the assertions of advisors as a test suite; its commands look at verdicts.

Exit codes: 0, 1 where less passes than --fail-under wants, something broke since the run that it is
compared with, or nothing at all was found out, 2 for bad input, 3 where --fail-under is reached but
something could not be found out.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from polyvox.cli import verdicts
from polyvox.cli.invocation import command, shared

if TYPE_CHECKING:
    from polyvox.app import Polyvox
    from polyvox.web.evaluation_shapes import ComparedOut, EvaluationOut

UNDER = 1
UNCLEAR = 3

group = typer.Typer(rich_markup_mode=None, invoke_without_command=True)


def evaluate(
    context: typer.Context,
    advisor: Annotated[
        str | None, typer.Option(metavar="SLUG", help="Only this advisor's assertions.")
    ] = None,
    assertion: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="Only this one (may be repeated).")
    ] = None,
    repeat: Annotated[
        int, typer.Option(min=1, max=50, metavar="K", help="Answers that each is tried on.")
    ] = 1,
    full: Annotated[
        bool, typer.Option("--full", help="All repeats, also those that can change nothing.")
    ] = False,
    fail_under: Annotated[
        float | None,
        typer.Option(min=0, max=1, metavar="X", help="Exit 1 where a smaller part passes."),
    ] = None,
    failing: Annotated[
        bool, typer.Option("--failing", help="Only what failed in the last run.")
    ] = False,
    retry_errors: Annotated[
        bool,
        typer.Option(
            "--retry-errors", help="Go on with the last run: what was an error is tried again."
        ),
    ] = False,
    stored: Annotated[
        bool, typer.Option("--stored", help="Judge the stored answers; ask no advisor.")
    ] = False,
    confirm: Annotated[
        bool, typer.Option("--confirm", help="Ask the judge again before a fail counts.")
    ] = False,
    model: Annotated[
        str | None, typer.Option(metavar="P:M", help="Have this model answer instead.")
    ] = None,
    json: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write JSON; - is stdout.")
    ] = None,
    junit: Annotated[
        Path | None, typer.Option("--junit", metavar="FILE", help="Write a JUnit file.")
    ] = None,
    compare: Annotated[
        str | None,
        typer.Option(metavar="RUN", help="Compare with this run; blessed: the blessed one."),
    ] = None,
    bless: Annotated[
        bool, typer.Option("--bless", help="Compare later runs with this one.")
    ] = False,
) -> None:
    """Run the assertions of advisors as a test suite: each answers anew, and is judged.

    Exits 1 under --fail-under, or where something that passed in the run compared with fails now;
    3 where some could not be found out.
    """
    if context.invoked_subcommand is not None:
        _refuse_options(context)
        return
    from polyvox.cli.running import run

    async def work(app: Polyvox) -> int:
        from polyvox.cli.choosing import SCOPE
        from polyvox.evaluation.plan import Wish

        if retry_errors:
            run_id = await _taken_up(app, advisor)
        else:
            wish = Wish(
                advisor=advisor,
                assertion_ids=tuple(assertion) if assertion else None,
                mode="judge" if stored else "replay",
                repeats=repeat,
                confirm=confirm or None,
                early=not full,
                failing=failing,
                model=model or "",
                origin="suite",
            )
            if compare is not None and compare != "blessed":
                await app.evaluations.get(SCOPE, compare)
            run_id = (await app.evaluations.begin(SCOPE, wish)).id
        found = await _follow(app, run_id)
        return await _report(app, found, json, junit, compare, fail_under, bless=bless)

    run(work)


group.callback()(shared(evaluate, shown=False))
command(group, "verdicts")(verdicts.verdicts)
command(group, "overrule")(verdicts.overrule)
command(group, "agreement")(verdicts.agreement)


def _refuse_options(context: typer.Context) -> None:
    """An option of a run before the name of another command would mean nothing: say so."""
    from polyvox.errors import Invalid

    everywhere = {"config", "database", "debug"}
    for param in context.command.params:
        source = context.get_parameter_source(param.name or "")
        if param.name not in everywhere and source is not None and source.name == "COMMANDLINE":
            name = context.invoked_subcommand
            raise Invalid(
                f"{param.opts[0]} before {name} belongs to a run.",
                f"`polyvox eval {name} --help` shows what stands behind it.",
            )


async def _taken_up(app: Polyvox, advisor: str | None) -> str:
    """The newest run (of an advisor where one is named), to be gone on with: one that was broken
    off where it was, one that has ended with what was an error."""
    from polyvox.cli.choosing import SCOPE

    last = await app.database.read(lambda tx: verdicts.newest_run(tx, advisor))
    if last.ended:
        await app.evaluations.retry_errors(SCOPE, last.id)
    return last.id


async def _follow(app: Polyvox, run_id: str) -> EvaluationOut:
    """A run to its end, and what it has found out."""
    from polyvox.cli.choosing import SCOPE
    from polyvox.cli.following import Bar, follow, run_of
    from polyvox.evaluation.run import KIND
    from polyvox.evaluation.tables import evaluations
    from polyvox.web.evaluation_shapes import told

    kept = "what it had found is kept"
    run = run_of(app, KIND, run_id, evaluations.get, app.evaluations.cancel, kept)
    with Bar("evaluating") as bar:
        await follow(run, lambda now: bar.show(now.done, now.total))
    return await app.database.read(lambda tx: told(tx, SCOPE, run_id))


async def _report(
    app: Polyvox,
    found: EvaluationOut,
    json: Path | None,
    junit: Path | None,
    compare: str | None,
    fail_under: float | None,
    *,
    bless: bool,
) -> int:
    from polyvox.cli.choosing import SCOPE
    from polyvox.cli.output import note, say_json
    from polyvox.web.evaluations import compared

    other = None
    if compare is not None:
        other = await app.database.read(lambda tx: compared(tx, SCOPE, found.id, compare))
    data = found.model_dump()
    if other is not None:
        data["compared"] = other.model_dump()
    if json is not None and str(json) == "-":
        say_json(data)
    else:
        _show(found)
        if other is not None:
            _show_changes(other)
        if json is not None:
            _write(json, _as_json(data))
    if junit is not None:
        _write(junit, _as_junit(found))
    if found.state != "finished":
        note(f"{found.state}: {found.message}")
        return UNDER
    if bless:
        await app.evaluations.bless(SCOPE, found.id)
        note(f"blessed: later runs are compared with {found.id} by --compare blessed")
    return _code(found, other, fail_under)


def _code(found: EvaluationOut, other: ComparedOut | None, fail_under: float | None) -> int:
    from polyvox.cli.output import note

    summary = found.summary
    if summary is None or summary.rate is None:
        note("Nothing could be found out.")
        return UNDER
    if other is not None and other.broken:
        return UNDER
    if fail_under is None:
        return 0
    if summary.rate < fail_under:
        note(f"{summary.rate:.0%} passed, less than {fail_under:.0%}.")
        return UNDER
    return UNCLEAR if summary.errors else 0


def _show(found: EvaluationOut) -> None:
    from polyvox.cli.output import note, say, table
    from polyvox.cli.words import count

    for warning in found.warnings:
        note(warning)
    rows = []
    for row in found.results or []:
        total = row.passes + row.fails
        rate = f"{row.passes}/{total}" if total else "-"
        interval = f"{row.low:.0%} to {row.high:.0%}" if total else "-"
        mark = f"{row.outcome} (flaky)" if row.flaky else row.outcome
        rows.append((mark, rate, interval, row.advisor_name, row.text))
    table(("outcome", "passed", "95 %", "advisor", "assertion"), rows, empty="Nothing was tried.")
    for row in found.results or []:
        if row.outcome != "pass" or row.flaky:
            said = _reasons(found, row.assertion_id, all_of_them=False)
            for reason in said[:3]:
                say(f"  {row.outcome}: {row.text}: {reason}")
    say(f"{found.message} ({count(found.calls, 'call')}, {_cost(found)}, run {found.id})")


def _cost(found: EvaluationOut) -> str:
    from polyvox.cli.words import NANO, money

    known = money(None if found.cost is None else round(found.cost * NANO))
    partly = found.cost is not None and found.unpriced
    return f"{known} and {found.unpriced} without a known price" if partly else known


def _reasons(found: EvaluationOut, assertion_id: str, *, all_of_them: bool) -> list[str]:
    """Why an assertion did not pass, each reason once."""
    own = [one for one in found.verdicts or [] if one.assertion_id == assertion_id]
    told = [one.reason for one in own if all_of_them or (one.overruled or one.outcome) != "pass"]
    return list(dict.fromkeys(told))


def _show_changes(other: ComparedOut) -> None:
    from polyvox.cli.output import say

    words: dict[Literal["broken", "unclear", "fixed", "new", "gone"], str] = {
        "broken": "went from pass to fail",
        "unclear": "could not be compared",
        "fixed": "went from fail to pass",
        "new": "is new",
        "gone": "was not run",
    }
    say(f"compared with {other.base}:")
    changed = [one for one in other.changes if one.change != "same"]
    for one in changed:
        if one.change != "same":
            say(f"  {words[one.change]}: {one.text}")
    if not changed:
        say("  nothing has changed")


def _as_json(data: object) -> str:
    import json

    return json.dumps(data, ensure_ascii=False, indent=2) + "\n"


def _as_junit(found: EvaluationOut) -> str:
    from datetime import UTC, datetime

    from polyvox.evaluation.junit import Case, junit

    cases = [
        Case(
            suite=row.advisor_name or "polyvox",
            name=row.text,
            outcome=row.outcome,
            summary=f"{row.passes} of {row.passes + row.fails} passed, {row.errors} errors",
            reasons=tuple(_reasons(found, row.assertion_id, all_of_them=False)),
        )
        for row in found.results or []
    ]
    started = found.started_at or found.created_at
    seconds = ((found.ended_at or started) - started) / 1e6
    at = datetime.fromtimestamp(started // 1_000_000, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return junit("polyvox eval", cases, seconds, at)


def _write(path: Path, text: str) -> None:
    from polyvox.errors import Invalid

    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Invalid(
            f"{path} could not be written: {error.strerror}.", "Choose another place."
        ) from None
