"""`polyvox assertions`: how advisors should answer, written down so that it can be checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from polyvox.cli import assertion_files
from polyvox.cli.invocation import command
from polyvox.cli.options import Json, Yes, new_group, sure

if TYPE_CHECKING:
    from polyvox.app import Polyvox
    from polyvox.evaluation.tables.assertions import Details, Wanted
    from polyvox.evaluation.values import Assertion
    from polyvox.evaluation.wordings import Wording

group = new_group("How advisors should answer: assertions, to be judged or checked in code.")

Id = Annotated[str, typer.Argument(metavar="ID", help="The assertion's id.")]
Owner = Annotated[
    str | None, typer.Option("--advisor", metavar="SLUG", help="Whose: slug, @slug or id.")
]
KindOption = Annotated[
    str | None,
    typer.Option(
        metavar="KIND",
        help="judge, words, sentences, contains, lacks, matches, questions, ends_with_question,"
        " language or json.",
    ),
]
Least = Annotated[int | None, typer.Option("--min", metavar="N", help="At least so many.")]
Most = Annotated[int | None, typer.Option("--max", metavar="N", help="At most so many.")]
Argument = Annotated[
    list[str] | None,
    typer.Option("--arg", metavar="NAME=VALUE", help="What a check needs: text=…, pattern=…"),
]
Tags = Annotated[list[str] | None, typer.Option("--tag", metavar="TAG", help="May be repeated.")]
Active = Annotated[
    bool | None, typer.Option("--active/--inactive", help="Whether it is part of the suite.")
]
Texts = Annotated[
    list[str] | None,
    typer.Argument(metavar="TEXT…", help="One assertion each; - reads stdin, one per line."),
]


@group.callback()
def assertions(context: typer.Context) -> None:
    """How advisors should answer: assertions, to be judged or checked in code."""
    if context.invoked_subcommand is None:
        list_assertions(json=False)


@command(group, "list")
def list_assertions(
    advisor: Owner = None,
    search: Annotated[str, typer.Option(metavar="WORDS", help="Only what has these.")] = "",
    tag: Annotated[str | None, typer.Option(metavar="TAG", help="Only with this tag.")] = None,
    kind: KindOption = None,
    active: Active = None,
    json: Json = False,
) -> None:
    """Every assertion with its source in short."""
    from polyvox.cli.running import run

    async def work(app: Polyvox) -> None:
        from polyvox.cli.choosing import SCOPE
        from polyvox.cli.output import say_json, table
        from polyvox.cli.words import one_line
        from polyvox.evaluation.assertion import whose
        from polyvox.evaluation.tables import assertions as rows
        from polyvox.evaluation.tables.assertions import Wanted
        from polyvox.store.database import Tx
        from polyvox.web.assertion_shapes import AssertionOut

        def read(tx: Tx) -> list[Assertion]:
            owner = None if advisor is None else whose(tx, SCOPE, advisor.removeprefix("@"))[0]
            named = None if kind is None else assertion_files.kind_of(kind)
            wanted: Wanted = Wanted(owner, search, tag and tag.casefold(), named, active)
            return rows.list_all(tx, SCOPE, wanted)

        found = await app.database.read(read)
        if json:
            say_json([AssertionOut.of(one).model_dump() for one in found])
            return
        table(
            ("id", "advisor", "kind", "", "text", "source"),
            [
                (
                    one.id,
                    one_line(one.advisor_name, 24),
                    one.kind,
                    "" if one.active else "inactive",
                    one_line(one.text, 60),
                    assertion_files.whence(one),
                )
                for one in found
            ],
            empty="There are no assertions. Add one: polyvox assertions add TEXT --advisor SLUG",
        )

    run(work)


@command(group, "show")
def show(assertion: Id, json: Json = False) -> None:
    """One assertion with its source, and everything it has said."""
    from polyvox.cli.running import run

    async def work(app: Polyvox) -> None:
        from polyvox.cli.choosing import SCOPE
        from polyvox.cli.output import say, say_json
        from polyvox.cli.words import when
        from polyvox.evaluation import assertion as asserting
        from polyvox.web.assertion_shapes import HistoryOut

        found = await asserting.history(app.road, SCOPE, assertion)
        if json:
            say_json(HistoryOut.of(found).model_dump(mode="json"))
            return
        one, zone = found.assertion, app.settings.timezone
        say(one.text)
        say(f"  {one.kind} · {one.advisor_name} · {'active' if one.active else 'inactive'}")
        if one.args:
            say("  " + ", ".join(f"{key}: {value}" for key, value in one.args.items()))
        if one.tags:
            say("  " + " ".join(f"#{tag}" for tag in one.tags))
        if one.source is not None:
            say(f"  from the answer {one.source.answer_id}")
            say(f"  asked:    {' '.join(one.source.user_input.split())}")
            say(f"  answered: {' '.join(one.source.answer.split())}")
            if not one.source.context_hash:
                say("  what its advisor was sent is not known: it can be judged, not replayed")
        elif one.user_input is not None:
            say(f"  asks: {one.user_input}")
        for version in found.versions:
            say(f"  {when(version.created_at, zone)}  version {version.number}: {version.text}")
        for past in found.runs:
            say(f"  {when(past.at, zone)}  {past.kind} {past.id}, from another program")

    run(work)


@command(group, "add")
def add(
    text: Texts = None,
    advisor: Owner = None,
    answer: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Draw it from this answer, with its context."),
    ] = None,
    ask: Annotated[
        str | None, typer.Option(metavar="TEXT", help="By hand: what to ask the advisor.")
    ] = None,
    kind: KindOption = None,
    min_: Least = None,
    max_: Most = None,
    arg: Argument = None,
    tag: Tags = None,
    json: Json = False,
) -> None:
    """New assertions: drawn from an answer, or by hand for an advisor."""
    from polyvox.cli.running import run

    said = assertion_files.said(text, kind, assertion_files.args(arg, min_, max_))

    async def work(app: Polyvox) -> None:
        from polyvox.cli.choosing import SCOPE
        from polyvox.cli.output import say, say_json
        from polyvox.errors import Invalid
        from polyvox.evaluation import assertion as asserting
        from polyvox.web.assertion_shapes import AssertionOut

        if (advisor is None) == (answer is None):
            raise Invalid("Whose is it?", "Give --advisor SLUG, or --answer ID to draw it from.")
        if answer is not None:
            if ask is not None:
                raise Invalid("What is drawn from an answer has its question.", "Leave --ask out.")
            made = await asserting.from_answer(app.road, SCOPE, answer, said, tag or ())
        else:
            who = (advisor or "").removeprefix("@")
            made = await asserting.by_hand(app.road, SCOPE, who, said, tag or (), ask)
        if json:
            say_json([AssertionOut.of(one).model_dump() for one in made])
        for one in made:
            if not json:
                say(f"added {one.id}  {one.text}")
        await _warn(app, made)

    run(work)


async def _warn(app: Polyvox, made: list[Assertion]) -> None:
    """What the lint thinks of new ones, beside the results."""
    from polyvox.cli.choosing import SCOPE
    from polyvox.cli.output import note
    from polyvox.evaluation.tables import assertions as rows
    from polyvox.evaluation.tables.assertions import Wanted
    from polyvox.evaluation.wordings import Wording

    ids = {one.id for one in made}
    wanted = Wanted(advisor_id=made[0].advisor_id, active=True)
    known = await app.database.read(lambda tx: rows.list_all(tx, SCOPE, wanted))
    others = [Wording(one.text, one.kind, one.args) for one in known if one.id not in ids]
    for one in made:
        for line in assertion_files.warnings(Wording(one.text, one.kind, one.args), others):
            note(line)


@command(group, "edit")
def edit(
    assertion: Id,
    text: Annotated[str | None, typer.Option(metavar="TEXT", help="What it says.")] = None,
    kind: KindOption = None,
    min_: Least = None,
    max_: Most = None,
    arg: Argument = None,
    tag: Tags = None,
    no_tags: Annotated[bool, typer.Option("--no-tags", help="Take all tags off.")] = False,
    active: Active = None,
    ask: Annotated[
        str | None, typer.Option(metavar="TEXT", help="By hand: what to ask; '' for nothing.")
    ] = None,
) -> None:
    """Change an assertion. Saying something else makes a new version."""
    from polyvox.cli.running import run

    given = assertion_files.args(arg, min_, max_)

    async def work(app: Polyvox) -> None:
        from polyvox.cli.choosing import SCOPE
        from polyvox.cli.output import say
        from polyvox.errors import Invalid
        from polyvox.evaluation import assertion as asserting

        details: Details = {}
        if text is not None:
            details["text"] = text
        if kind is not None:
            details["kind"] = assertion_files.kind_of(kind)
        if given:
            details["args"] = given
        if tag or no_tags:
            details["tags"] = tuple(tag or ())
        if active is not None:
            details["active"] = active
        if ask is not None:
            details["user_input"] = ask or None
        if not details:
            raise Invalid(
                "Nothing to change.", "`polyvox assertions edit --help` lists what can be."
            )
        made = await asserting.change(app.road, SCOPE, assertion, details)
        say(f"changed {made.id}: version {made.number}")

    run(work)


@command(group, "remove")
def remove(
    assertion: Annotated[list[str], typer.Argument(metavar="ID…", help="Which.")],
    yes: Yes = False,
) -> None:
    """Take assertions off the list, with their sources and contexts."""
    from polyvox.cli.running import run

    async def work(app: Polyvox) -> None:
        from polyvox.cli.choosing import SCOPE
        from polyvox.cli.output import say
        from polyvox.cli.words import count
        from polyvox.evaluation import assertion as asserting

        for one in assertion:
            await asserting.get(app.road, SCOPE, one)
        sure(f"Remove {count(len(assertion), 'assertion')}?", yes)
        for one in await asserting.bulk(app.road, SCOPE, assertion, "remove"):
            say(f"removed {one}")

    run(work)


@command(group, "lint")
def lint(text: Texts = None, advisor: Owner = None, json: Json = False) -> None:
    """Warnings about assertions: given ones, or (with --advisor alone) all that are stored."""
    from polyvox.cli.running import run

    async def work(app: Polyvox) -> None:
        from polyvox.cli.choosing import SCOPE
        from polyvox.cli.output import note, say, say_json
        from polyvox.errors import Invalid
        from polyvox.evaluation.assertion import whose
        from polyvox.evaluation.tables import assertions as rows
        from polyvox.evaluation.tables.assertions import Wanted
        from polyvox.evaluation.wordings import Wording
        from polyvox.store.database import Tx
        from polyvox.web.assertion_shapes import LintedOut

        def read(tx: Tx) -> list[Wording]:
            if advisor is None:
                return []
            owner, _ = whose(tx, SCOPE, advisor.removeprefix("@"))
            found = rows.list_all(tx, SCOPE, Wanted(advisor_id=owner, active=True))
            return [Wording(one.text, one.kind, one.args) for one in found]

        if not text and advisor is None:
            raise Invalid("There is nothing to look at.", "Give a TEXT, or --advisor SLUG.")
        known = await app.database.read(read)
        looked = assertion_files.said(text, None, {}) if text else known
        if json:
            rows_ = [LintedOut.of(one, [o for o in known if o is not one]) for one in looked]
            say_json([row.model_dump() for row in rows_])
            return
        clean = True
        for one in looked:
            lines = assertion_files.warnings(one, [other for other in known if other is not one])
            clean = clean and not lines
            for line in lines:
                say(line)
        if clean:
            note("Nothing to warn of.")

    run(work)


@command(group, "suggest")
def suggest(
    answer: Annotated[str, typer.Argument(metavar="ANSWER_ID", help="The answer to look at.")],
    count: Annotated[int, typer.Option(min=1, max=12, metavar="N", help="How many.")] = 6,
    json: Json = False,
) -> None:
    """Assertions that hold of an answer. Nothing is made: pick, then `add` them."""
    from polyvox.cli.running import run

    async def work(app: Polyvox) -> None:
        from polyvox.cli.choosing import SCOPE
        from polyvox.cli.output import note, say_json, table
        from polyvox.evaluation import proposing
        from polyvox.web.assertion_shapes import ProposedOut

        found = await proposing.suggest(app.road, SCOPE, answer, count)
        if json:
            say_json([ProposedOut.of(one).model_dump() for one in found.proposals])
        else:
            rows: list[tuple[Any, ...]] = [(one.kind, one.by, one.text) for one in found.proposals]
            table(("kind", "by", "text"), rows, empty="There is nothing to suggest.")
        if found.note:
            note(found.note)

    run(work)


command(group, "import")(assertion_files.import_)
command(group, "export")(assertion_files.export)
