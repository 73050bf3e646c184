"""`polyvox eval verdicts`, `overrule` and `agreement`: what was judged, and what you say of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from polyvox.cli.options import Json

if TYPE_CHECKING:
    from polyvox.app import Polyvox
    from polyvox.evaluation.tables.evaluations import Evaluation
    from polyvox.store.database import Tx
    from polyvox.web.evaluation_shapes import AgreementOut, AgreementsOut, VerdictOut

Advisor = Annotated[
    str | None, typer.Option(metavar="SLUG", help="Only of this advisor's assertions.")
]


def newest_run(tx: Tx, advisor: str | None = None) -> Evaluation:
    """The newest run, of an advisor where one is named."""
    from polyvox.cli.choosing import SCOPE
    from polyvox.errors import NotFound
    from polyvox.evaluation.tables import evaluations
    from polyvox.web.evaluations import advisor_id

    key = None if advisor is None else advisor_id(tx, SCOPE, advisor)
    page = evaluations.list_page(tx, SCOPE, advisor_id=key, limit=1)
    if not page.items:
        raise NotFound("There is no run yet.", "Begin one: polyvox eval")
    return page.items[0]


def verdicts(
    run_id: Annotated[
        str | None, typer.Argument(metavar="[RUN]", help="A run's id; without: the newest run.")
    ] = None,
    json: Json = False,
) -> None:
    """Every verdict of a run with its id and its reason."""
    from polyvox.cli.running import run

    async def work(app: Polyvox) -> None:
        from polyvox.cli.choosing import SCOPE
        from polyvox.cli.output import say_json, table
        from polyvox.cli.words import one_line
        from polyvox.web.evaluation_shapes import told

        def read(tx: Tx) -> list[VerdictOut]:
            return told(tx, SCOPE, run_id or newest_run(tx).id).verdicts or []

        found = await app.database.read(read)
        if json:
            say_json([one.model_dump() for one in found])
            return
        rows = [(one.id, _counted(one), one_line(one.text, 60), one.reason) for one in found]
        empty = "There are no verdicts in this run."
        table(("verdict", "outcome", "assertion", "reason"), rows, empty=empty)

    run(work)


def _counted(one: VerdictOut) -> str:
    """What counts, and the judge's word where it is another."""
    return one.outcome if one.overruled is None else f"{one.overruled} (judged: {one.outcome})"


def overrule(
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
    from polyvox.cli.running import run

    async def work(app: Polyvox) -> None:
        from polyvox.cli.choosing import SCOPE
        from polyvox.cli.output import say, say_json
        from polyvox.web.evaluations import verdict_out

        one = await app.evaluations.overrule(SCOPE, verdict, _outcome(outcome, off=off))
        shown = await app.database.read(lambda tx: verdict_out(tx, SCOPE, one))
        if json:
            say_json(shown.model_dump())
        else:
            say(f"{_counted(shown)}: {shown.text}")

    run(work)


def _outcome(word: str | None, *, off: bool) -> Literal["pass", "fail"] | None:
    from polyvox.errors import Invalid

    if off:
        if word is not None:
            raise Invalid("--off takes back what was said.", f"Leave {word!r} or --off out.")
        return None
    if word is None:
        raise Invalid("What should it have been?", "Say pass or fail; --off takes it back.")
    if word == "pass":
        return "pass"
    if word == "fail":
        return "fail"
    raise Invalid(f"{word!r} is no outcome.", "Say pass or fail.", param="outcome")


def agreement(advisor: Advisor = None, json: Json = False) -> None:
    """How well the judges agree with what you say of their verdicts, with the counts.

    TPR: of what should pass, how much is passed; TNR: of what should fail, how much is failed;
    kappa: agreement beyond chance.
    """
    from polyvox.cli.running import run

    async def work(app: Polyvox) -> None:
        from polyvox.cli.choosing import SCOPE
        from polyvox.cli.output import say_json, table
        from polyvox.web.evaluations import agreed

        found = await app.database.read(lambda tx: agreed(tx, SCOPE, advisor))
        if json:
            say_json(found.model_dump())
            return
        empty = "No verdict has a label yet. Give it one: polyvox eval overrule VERDICT pass|fail"
        table(("labels", "TPR", "TNR", "kappa", "of"), _lines(found), empty=empty)

    run(work)


def _lines(found: AgreementsOut) -> list[tuple[str, ...]]:
    if not found.overall.n:
        return []
    named = [("everything", found.overall)]
    named += [(f"judge {one.judge} ({one.judge_hash[:8]})", one.agreement) for one in found.judges]
    named += [(one.text, one.agreement) for one in found.assertions]
    return [(*_numbers(one), name) for name, one in named]


def _numbers(one: AgreementOut) -> tuple[str, ...]:
    kappa = "-" if one.kappa is None else f"{one.kappa:.2f}"
    passes = _part(one.tpr, one.both_pass, one.both_pass + one.judge_fail)
    fails = _part(one.tnr, one.both_fail, one.both_fail + one.judge_pass)
    return str(one.n), passes, fails, kappa


def _part(rate: float | None, some: int, of: int) -> str:
    return "-" if rate is None else f"{rate:.0%} ({some}/{of})"
