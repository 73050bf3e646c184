"""`polyvox assertions`: how advisors should answer, written down so that it can be checked."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from polyvox.app import Polyvox
from polyvox.cli.command import Json, Yes, command, new_group
from polyvox.cli.files import DryRun, Force, Output, put, taken
from polyvox.cli.lookup import SCOPE
from polyvox.cli.output import note, say, say_json, table
from polyvox.cli.prompt import sure
from polyvox.cli.run import run
from polyvox.cli.words import count, one_line, when
from polyvox.errors import Invalid
from polyvox.evaluation import assertion as asserting
from polyvox.evaluation import proposing
from polyvox.evaluation.assertion import whose
from polyvox.evaluation.checks import KNOWN
from polyvox.evaluation.lint import lint as lint_findings
from polyvox.evaluation.lint import offered
from polyvox.evaluation.tables import assertions as rows
from polyvox.evaluation.tables.assertions import Details, Wanted
from polyvox.evaluation.values import Assertion, Kind
from polyvox.evaluation.wordings import Wording, lines
from polyvox.interop import assertion_import, assertion_reading, files
from polyvox.interop.assertion_file import LARGEST
from polyvox.store.database import Tx
from polyvox.web.assertion_shapes import AssertionOut, HistoryOut, LintedOut, ProposedOut

group = new_group()

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

    async def work(app: Polyvox) -> None:

        def read(tx: Tx) -> list[Assertion]:
            owner = None if advisor is None else whose(tx, advisor.removeprefix("@"))[0]
            named = None if kind is None else _kind(kind)
            wanted: Wanted = Wanted(owner, search, tag and tag.casefold(), named, active)
            return rows.list_all(tx, wanted)

        found = await app.database.read(read, SCOPE)
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
                    _source(one),
                )
                for one in found
            ],
            empty="There are no assertions. Add one: polyvox assertions add TEXT --advisor SLUG",
        )

    run(work)


@command(group, "show")
def show(assertion: Id, json: Json = False) -> None:
    """One assertion with its source, and everything it has said."""

    async def work(app: Polyvox) -> None:

        found = await asserting.history(app.resources, SCOPE, assertion)
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
    said = _wordings(text, kind, _arguments(arg, min_, max_))

    async def work(app: Polyvox) -> None:

        if (advisor is None) == (answer is None):
            raise Invalid("Whose is it?", "Give --advisor SLUG, or --answer ID to draw it from.")
        if answer is not None:
            if ask is not None:
                raise Invalid("What is drawn from an answer has its question.", "Leave --ask out.")
            made = await asserting.from_answer(app.resources, SCOPE, answer, said, tag or ())
        else:
            who = (advisor or "").removeprefix("@")
            made = await asserting.by_hand(app.resources, SCOPE, who, said, tag or (), ask)
        if json:
            say_json([AssertionOut.of(one).model_dump() for one in made])
        for one in made:
            if not json:
                say(f"added {one.id}  {one.text}")
        await _warn(app, made)

    run(work)


async def _warn(app: Polyvox, made: list[Assertion]) -> None:
    """What the lint thinks of new ones, beside the results."""
    ids = {one.id for one in made}
    wanted = Wanted(advisor_id=made[0].advisor_id, active=True)
    known = await app.database.read(lambda tx: rows.list_all(tx, wanted), SCOPE)
    others = [Wording(one.text, one.kind, one.args) for one in known if one.id not in ids]
    for one in made:
        for line in _warnings(Wording(one.text, one.kind, one.args), others):
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
    given = _arguments(arg, min_, max_)

    async def work(app: Polyvox) -> None:

        details: Details = {}
        if text is not None:
            details["text"] = text
        if kind is not None:
            details["kind"] = _kind(kind)
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
        made = await asserting.change(app.resources, SCOPE, assertion, details)
        say(f"changed {made.id}: version {made.number}")

    run(work)


@command(group, "remove")
def remove(
    assertion: Annotated[list[str], typer.Argument(metavar="ID…", help="Which.")],
    yes: Yes = False,
) -> None:
    """Take assertions off the list, with their sources and contexts."""

    async def work(app: Polyvox) -> None:

        for one in assertion:
            await asserting.get(app.resources, SCOPE, one)
        sure(f"Remove {count(len(assertion), 'assertion')}?", yes)
        for one in await asserting.bulk(app.resources, SCOPE, assertion, "remove"):
            say(f"removed {one}")

    run(work)


@command(group, "lint")
def lint(text: Texts = None, advisor: Owner = None, json: Json = False) -> None:
    """Warnings about assertions: given ones, or (with --advisor alone) all that are stored."""

    async def work(app: Polyvox) -> None:

        def read(tx: Tx) -> list[Wording]:
            if advisor is None:
                return []
            owner, _ = whose(tx, advisor.removeprefix("@"))
            found = rows.list_all(tx, Wanted(advisor_id=owner, active=True))
            return [Wording(one.text, one.kind, one.args) for one in found]

        if not text and advisor is None:
            raise Invalid("There is nothing to look at.", "Give a TEXT, or --advisor SLUG.")
        known = await app.database.read(read, SCOPE)
        looked = _wordings(text, None, {}) if text else known
        if json:
            rows_ = [LintedOut.of(one, [o for o in known if o is not one]) for one in looked]
            say_json([row.model_dump() for row in rows_])
            return
        clean = True
        for one in looked:
            lines = _warnings(one, [other for other in known if other is not one])
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

    async def work(app: Polyvox) -> None:

        found = await proposing.suggest(app.resources, SCOPE, answer, count)
        if json:
            say_json([ProposedOut.of(one).model_dump() for one in found.proposals])
        else:
            rows: list[tuple[Any, ...]] = [(one.kind, one.by, one.text) for one in found.proposals]
            table(("kind", "by", "text"), rows, empty="There is nothing to suggest.")
        if found.note:
            note(found.note)

    run(work)


@command(group, "import")
def import_(
    file: Annotated[
        Path, typer.Argument(help="Our YAML, or the storage of SPACE Terminal as JSON.")
    ],
    advisor: Annotated[
        str | None,
        typer.Option(metavar="SLUG", help="Who gets them all; else whom the file names."),
    ] = None,
    dry_run: DryRun = False,
) -> None:
    """Take assertions from a file. Taking the same file twice adds nothing."""

    async def work(app: Polyvox) -> int:

        parsed = assertion_reading.understand(files.read_text(file, LARGEST), str(file))
        into = None if advisor is None else advisor.removeprefix("@")
        report = await assertion_import.store(
            app.database, SCOPE, app.clock(), parsed, into=into, dry=dry_run
        )
        return taken(report, dry=dry_run)

    run(work)


@command(group, "export")
def export(
    advisor: Annotated[
        list[str] | None, typer.Argument(metavar="[SLUG]…", help="Whose; nobody named: all.")
    ] = None,
    output: Output = None,
    force: Force = False,
) -> None:
    """Write assertions as YAML with their contexts, to be read by `import`."""

    async def work(app: Polyvox) -> None:

        def read(tx: Tx) -> str:
            named = [whose(tx, one.removeprefix("@")) for one in advisor or ()]
            return assertion_reading.whole(tx, named or rows.owners(tx))

        put(await app.database.read(read, SCOPE), output, force=force)

    run(work)


def _kind(name: str) -> Kind:
    """A kind by its name (hyphens are fine)."""
    plain = name.strip().lower().replace("-", "_")
    for kind in KNOWN:
        if kind == plain:
            return kind
    raise Invalid(f"There is no kind {name!r}.", f"Known are {', '.join(KNOWN)}.", param="kind")


def _arguments(given: Sequence[str] | None, least: int | None, most: int | None) -> dict[str, Any]:
    """The arguments of a check; a value that reads as JSON is that."""
    found: dict[str, Any] = {}
    for one in given or ():
        name, equals, value = one.partition("=")
        if not equals or not name.strip():
            raise Invalid(f"{one!r} is not written NAME=VALUE.", "Like --arg text=sea.")
        try:
            read = json.loads(value)
        except ValueError:
            read = value
        # A number that somebody looks for is a text all the same.
        texts = name.strip() in ("text", "pattern", "language")
        found[name.strip()] = value if texts else read
    if least is not None:
        found["min"] = least
    if most is not None:
        found["max"] = most
    return found


def _wordings(text: Sequence[str] | None, kind: str | None, given: dict[str, Any]) -> list[Wording]:
    """What is to be asserted: the texts, or the lines on stdin."""
    named = _kind(kind) if kind is not None else "judge"
    texts: list[str] = []
    for one in text or ():
        texts += lines(sys.stdin.read()) if one == "-" else lines(one)
    if not texts and named != "judge":
        texts = [""]
    if not texts:
        raise Invalid("There is no assertion.", "Write what the answer should do.")
    return [Wording(one, named, given) for one in texts]


def _warnings(one: Wording, others: Sequence[Wording]) -> list[str]:
    """What the lint says of an assertion, as lines to read."""
    shown = one_line(one.text, 60)
    found = []
    for finding in lint_findings(one, others):
        split = f" ({' | '.join(finding.split)})" if finding.split else ""
        found.append(f"{finding.rule}: “{shown}”. {finding.message}{split}")
    if (check := offered(one)) is not None:
        options = " ".join(
            f"--{key} {value}" if key in ("min", "max") else f"--arg {key}={value}"
            for key, value in check.args.items()
        )
        found.append(
            f"note: “{shown}” can be checked in code: --kind {check.kind} {options}".rstrip()
        )
    return found


def _source(one: Assertion) -> str:
    """Where an assertion comes from, in short."""
    if one.source is not None:
        asked, answered = one_line(one.source.user_input, 40), one_line(one.source.answer, 40)
        return f"“{asked}” → “{answered}”"
    return f"asks “{one_line(one.user_input, 60)}”" if one.user_input is not None else "by hand"
