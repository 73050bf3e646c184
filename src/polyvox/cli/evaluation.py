"""`polyvox eval`: run the assertions of advisors as a test suite; its commands look at verdicts.

Exit codes: 0, 1 where an assertion fails (with --fail-under: less passes than that), something
broke since the run that it is compared with, or the run did not finish, 2 for bad input, 3 where
nothing of that is so, but something could not be found out.
"""

from __future__ import annotations

from dataclasses import asdict
from json import dumps
from pathlib import Path
from typing import Annotated, Literal, cast

import typer

from polyvox.app import Polyvox
from polyvox.cli.command import Json, command, new_group, with_shared_options
from polyvox.cli.lookup import SCOPE
from polyvox.cli.output import note, print_list, say, say_json, table
from polyvox.cli.progress import Bar, Run, follow
from polyvox.cli.run import run
from polyvox.cli.words import count, one_line, usd
from polyvox.errors import Invalid, NotFound
from polyvox.evaluation import report as reports
from polyvox.evaluation.plan import EvaluationRequest
from polyvox.evaluation.report import Agreements, ComparedOut, EvaluationOut, VerdictOut
from polyvox.evaluation.statistics import Agreement
from polyvox.evaluation.tables import assertions as assertion_rows
from polyvox.evaluation.tables import evaluations
from polyvox.evaluation.tables.evaluations import Evaluation
from polyvox.store.database import Tx

UNDER = 1
UNCLEAR = 3

group = new_group()


@group.callback()
@with_shared_options
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
        typer.Option(min=0, max=1, metavar="X", help="Exit 1 only where a smaller part passes."),
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

    Exits 1 where an assertion fails (with --fail-under: where a smaller part passes), or where
    something that passed in the run compared with fails now; 3 where some could not be judged.
    """
    if context.invoked_subcommand is not None:
        _refuse_options(context)
        return

    async def work(app: Polyvox) -> int:
        if retry_errors:
            run_id = await _taken_up(app, advisor)
        else:
            wish = EvaluationRequest(
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
        report = await _follow(app, run_id)
        return await _report(app, report, json, junit, compare, fail_under, bless=bless)

    run(work)


def _refuse_options(context: typer.Context) -> None:
    """An option of a run before the name of another command would mean nothing: say so."""
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
    last = await app.database.read(lambda tx: _newest_run(tx, advisor), SCOPE)
    if last.ended:
        await app.evaluations.retry_errors(SCOPE, last.id)
    return last.id


async def _follow(app: Polyvox, run_id: str) -> EvaluationOut:
    """A run to its end, and what it has found out."""
    with Bar("evaluating") as bar:
        run = Run(app, app.evaluations, run_id)
        await follow(run, lambda now: bar.show(now.done, now.total))
    return await app.database.read(lambda tx: reports.evaluation_out(tx, run_id), SCOPE)


async def _report(
    app: Polyvox,
    report: EvaluationOut,
    json: Path | None,
    junit: Path | None,
    compare: str | None,
    fail_under: float | None,
    *,
    bless: bool,
) -> int:
    other = None
    if compare is not None:
        other = await app.database.read(lambda tx: reports.compared(tx, report.id, compare), SCOPE)
    data = asdict(report)
    if other is not None:
        data["compared"] = asdict(other)
    if json is not None and str(json) == "-":
        say_json(data)
    else:
        _show(report)
        if other is not None:
            _show_changes(other)
        if json is not None:
            _write(json, dumps(data, ensure_ascii=False, indent=2) + "\n")
    if junit is not None:
        _write(junit, reports.junit(report))
    if report.state != "finished":
        note(f"{report.state}: {report.message}")
        return UNDER
    if bless:
        await app.evaluations.bless(SCOPE, report.id)
        note(f"blessed: later runs are compared with {report.id} by --compare blessed")
    return _code(report, other, fail_under)


def _code(report: EvaluationOut, other: ComparedOut | None, fail_under: float | None) -> int:
    summary = report.summary
    if summary is None or summary.rate is None:
        note("Nothing could be found out.")
        return UNCLEAR
    if other is not None and other.broken:
        return UNDER
    least = 1.0 if fail_under is None else fail_under
    if summary.rate < least:
        note(f"{summary.rate:.0%} passed, less than {least:.0%}.")
        return UNDER
    return UNCLEAR if summary.errors else 0


def _show(report: EvaluationOut) -> None:
    for warning in report.warnings:
        note(warning)
    rows = []
    for row in report.results or []:
        total = row.passes + row.fails
        rate = f"{row.passes}/{total}" if total else "-"
        interval = f"{row.low:.0%} to {row.high:.0%}" if total else "-"
        mark = f"{row.outcome} (flaky)" if row.flaky else row.outcome if row.judged else "not run"
        rows.append((mark, rate, interval, row.advisor_name, row.text))
    table(("outcome", "passed", "95 %", "advisor", "assertion"), rows, empty="Nothing was tried.")
    for row in report.results or []:
        if row.outcome != "pass" or row.flaky:
            for reason in report.reasons(row.assertion_id)[:3]:
                say(f"  {row.outcome}: {row.text}: {reason}")
    say(f"{report.message} ({count(report.calls, 'call')}, {_cost(report)}, run {report.id})")


def _cost(report: EvaluationOut) -> str:
    known = usd(report.cost)
    partly = report.cost is not None and report.unpriced
    return f"{known} and {report.unpriced} without a known price" if partly else known


def _show_changes(other: ComparedOut) -> None:
    words = {
        "broken": "went from pass to fail",
        "unclear": "could not be compared",
        "fixed": "went from fail to pass",
        "new": "is new",
        "gone": "was not run",
    }
    say(f"compared with {other.base}:")
    changed = [change for change in other.changes if change.change != "same"]
    for change in changed:
        say(f"  {words[change.change]}: {change.text}")
    if not changed:
        say("  nothing has changed")


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Invalid(
            f"{path} could not be written: {error.strerror}.", "Choose another place."
        ) from None


Advisor = Annotated[
    str | None, typer.Option(metavar="SLUG", help="Only of this advisor's assertions.")
]


def _newest_run(tx: Tx, advisor: str | None = None) -> Evaluation:
    """The newest run, of an advisor where one is named."""
    key = None if advisor is None else assertion_rows.owner(tx, advisor)[0]
    page = evaluations.list_page(tx, advisor_id=key, limit=1)
    if not page.items:
        raise NotFound("There is no run yet.", "Begin one: polyvox eval")
    return page.items[0]


@command(group, "verdicts")
async def verdicts(
    app: Polyvox,
    run_id: Annotated[
        str | None, typer.Argument(metavar="[RUN]", help="A run's id; without: the newest run.")
    ] = None,
    json: Json = False,
) -> None:
    """Every verdict of a run with its id and its reason."""

    def read(tx: Tx) -> list[VerdictOut]:
        return reports.evaluation_out(tx, run_id or _newest_run(tx).id).verdicts or []

    print_list(
        await app.database.read(read, SCOPE),
        ("verdict", "outcome", "assertion", "reason"),
        lambda verdict: (
            verdict.id,
            _counted(verdict),
            one_line(verdict.text, 60),
            verdict.reason,
        ),
        empty="There are no verdicts in this run.",
        json=json,
    )


def _counted(verdict: VerdictOut) -> str:
    """The outcome that counts, and the judge's where it is another."""
    return (
        verdict.outcome
        if verdict.overruled is None
        else f"{verdict.overruled} (judged: {verdict.outcome})"
    )


@command(group, "overrule")
async def overrule(
    app: Polyvox,
    verdict: Annotated[
        str, typer.Argument(metavar="VERDICT", help="Its id; `polyvox eval verdicts` has them.")
    ],
    outcome: Annotated[
        str | None, typer.Argument(metavar="pass|fail", help="What it should have been.")
    ] = None,
    off: Annotated[bool, typer.Option("--off", help="Take back what you said of it.")] = False,
    json: Json = False,
) -> None:
    """Say what a verdict should have been. It counts so from now on, and is a label.

    To say what the judge said is a label too: see `polyvox eval agreement`.
    """
    changed = await app.evaluations.overrule(SCOPE, verdict, _outcome(outcome, off=off))
    (shown,) = await app.database.read(lambda tx: reports.verdicts_out(tx, [changed]), SCOPE)
    if json:
        say_json(shown)
    else:
        say(f"{_counted(shown)}: {shown.text}")


def _outcome(word: str | None, *, off: bool) -> Literal["pass", "fail"] | None:
    if off:
        if word is not None:
            raise Invalid("--off takes back what was said.", f"Leave {word!r} or --off out.")
        return None
    if word is None:
        raise Invalid("What should it have been?", "Say pass or fail; --off takes it back.")
    if word not in ("pass", "fail"):
        raise Invalid(f"{word!r} is no outcome.", "Say pass or fail.", param="outcome")
    return cast("Literal['pass', 'fail']", word)


@command(group, "agreement")
async def agreement(app: Polyvox, advisor: Advisor = None, json: Json = False) -> None:
    """How well the judges agree with what you say of their verdicts, with the counts.

    TPR: of what should pass, how much is passed; TNR: of what should fail, how much is failed;
    kappa: agreement beyond chance.
    """
    agreements = await app.database.read(lambda tx: reports.agreements(tx, advisor), SCOPE)
    if json:
        say_json(agreements)
        return
    empty = "No verdict has a label yet. Give it one: polyvox eval overrule VERDICT pass|fail"
    table(("labels", "TPR", "TNR", "kappa", "of"), _lines(agreements), empty=empty)


def _lines(agreements: Agreements) -> list[tuple[str, ...]]:
    if not agreements.overall.n:
        return []
    named = [("everything", agreements.overall)]
    named += [
        (f"judge {each.judge} ({each.judge_hash[:8]})", each.agreement)
        for each in agreements.judges
    ]
    named += [(each.text, each.agreement) for each in agreements.assertions]
    return [(*_numbers(each), name) for name, each in named]


def _numbers(agreement: Agreement) -> tuple[str, ...]:
    kappa = "-" if agreement.kappa is None else f"{agreement.kappa:.2f}"
    passes = _part(agreement.tpr, agreement.both_pass, agreement.both_pass + agreement.judge_fail)
    fails = _part(agreement.tnr, agreement.both_fail, agreement.both_fail + agreement.judge_pass)
    return str(agreement.n), passes, fails, kappa


def _part(rate: float | None, some: int, of: int) -> str:
    return "-" if rate is None else f"{rate:.0%} ({some}/{of})"
