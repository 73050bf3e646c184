"""`polyvox assertions`: how advisors should answer, written down so that it can be checked."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from polyvox.app import Polyvox
from polyvox.cli.command import DryRun, Force, Json, Output, Yes, command, new_group
from polyvox.cli.lookup import SCOPE
from polyvox.cli.output import note, print_list, put, say, say_json, table, taken
from polyvox.cli.prompt import interruptible, sure
from polyvox.cli.words import count, one_line, when
from polyvox.errors import Invalid
from polyvox.evaluation import assertion as assertion_room
from polyvox.evaluation.assertion import AssertionOut, lines, typed
from polyvox.evaluation.checks import KNOWN
from polyvox.evaluation.lint import LintedWording
from polyvox.evaluation.lint import lint as lint_wordings
from polyvox.evaluation.suggest import suggest as suggest_assertions
from polyvox.evaluation.tables import assertions as rows
from polyvox.evaluation.tables.assertions import (
    Assertion,
    AssertionDetails,
    AssertionFilter,
    Kind,
    Wording,
)
from polyvox.interop import assertion_file, assertion_import, files
from polyvox.store.database import Tx

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
PhaseOption = Annotated[
    str | None,
    typer.Option("--phase", metavar="NAME", help="The phase whose answers are meant: early, …"),
]
Tags = Annotated[list[str] | None, typer.Option("--tag", metavar="TAG", help="May be repeated.")]
Active = Annotated[
    bool | None, typer.Option("--active/--inactive", help="Whether it is part of the suite.")
]
Texts = Annotated[
    list[str] | None,
    typer.Argument(metavar="TEXT…", help="One assertion each; - reads stdin, one per line."),
]


@command(group, "list")
async def list_assertions(
    app: Polyvox,
    advisor: Owner = None,
    search: Annotated[str, typer.Option(metavar="WORDS", help="Only what has these.")] = "",
    tag: Annotated[str | None, typer.Option(metavar="TAG", help="Only with this tag.")] = None,
    kind: KindOption = None,
    active: Active = None,
    json: Json = False,
) -> None:
    """Every assertion with its source in short."""

    def read(tx: Tx) -> list[Assertion]:
        owner = None if advisor is None else rows.owner(tx, advisor)[0]
        named = None if kind is None else _kind(kind)
        wanted = AssertionFilter(owner, search, tag and tag.casefold(), named, active)
        return rows.list_all(tx, wanted)

    print_list(
        await app.database.read(read, SCOPE),
        ("id", "advisor", "kind", "", "text", "source"),
        lambda assertion: (
            assertion.id,
            one_line(assertion.advisor_name, 24),
            assertion.kind,
            ", ".join(filter(None, (assertion.phase, "" if assertion.active else "inactive"))),
            one_line(assertion.text, 60),
            _source(assertion),
        ),
        empty="There are no assertions. Add one: polyvox assertions add TEXT --advisor SLUG",
        json=json,
        out=AssertionOut.of,
    )


@command(group, "show")
async def show(app: Polyvox, assertion: Id, json: Json = False) -> None:
    """One assertion with its source, and everything it has said."""
    history = await app.database.read(lambda tx: assertion_room.history(tx, assertion), SCOPE)
    if json:
        say_json(history)
        return
    shown, zone = history.assertion, app.settings.timezone
    say(shown.text)
    say(f"  {shown.kind} · {shown.advisor_name} · {'active' if shown.active else 'inactive'}")
    if shown.phase is not None:
        say(f"  judged in the phase {shown.phase}")
    if shown.args:
        say("  " + ", ".join(f"{key}: {value}" for key, value in shown.args.items()))
    if shown.tags:
        say("  " + " ".join(f"#{tag}" for tag in shown.tags))
    if shown.source is not None:
        say(f"  from the answer {shown.source.answer_id}")
        say(f"  asked:    {' '.join(shown.source.user_input.split())}")
        say(f"  answered: {' '.join(shown.source.answer.split())}")
        if not shown.source.context_hash:
            say("  what its advisor was sent is not known: it can be judged, not replayed")
    elif shown.user_input is not None:
        say(f"  asks: {shown.user_input}")
    for version in history.versions:
        say(f"  {when(version.created_at, zone)}  version {version.number}: {version.text}")
    for past in history.runs:
        say(f"  {when(past.at, zone)}  {past.kind} {past.id}, from another program")


@command(group, "add")
async def add(
    app: Polyvox,
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
    phase: PhaseOption = None,
    json: Json = False,
) -> None:
    """New assertions: drawn from an answer, or by hand for an advisor."""
    wordings = _wordings(text, kind, _arguments(arg, min_, max_))
    if (advisor is None) == (answer is None):
        raise Invalid("Whose is it?", "Give --advisor SLUG, or --answer ID to draw it from.")
    if answer is not None:
        if ask is not None:
            raise Invalid("What is drawn from an answer has its question.", "Leave --ask out.")
        made = await assertion_room.from_answer(
            app.resources, SCOPE, answer, wordings, tag or (), phase
        )
    else:
        made = await assertion_room.by_hand(
            app.resources, SCOPE, advisor or "", wordings, tag or (), ask, phase
        )
    if json:
        say_json([AssertionOut.of(assertion) for assertion in made])
    for assertion in made:
        if not json:
            say(f"added {assertion.id}  {assertion.text}")


@command(group, "edit")
async def edit(
    app: Polyvox,
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
    phase: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The phase that is meant; '' for each context's own."),
    ] = None,
) -> None:
    """Change an assertion. Saying something else makes a new version."""
    given = _arguments(arg, min_, max_)
    details: AssertionDetails = {}
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
    if phase is not None:
        details["phase"] = phase or None
    if not details:
        raise Invalid("Nothing to change.", "`polyvox assertions edit --help` lists what can be.")
    made = await assertion_room.change(app.resources, SCOPE, assertion, details)
    say(f"changed {made.id}: version {made.number}")


@command(group, "remove")
async def remove(
    app: Polyvox,
    assertion: Annotated[list[str], typer.Argument(metavar="ID…", help="Which.")],
    yes: Yes = False,
) -> None:
    """Take assertions off the list, with their sources and contexts."""
    await app.database.read(lambda tx: rows.get_many(tx, assertion), SCOPE)
    sure(f"Remove {count(len(assertion), 'assertion')}?", yes)
    for assertion_id in await assertion_room.bulk(app.resources, SCOPE, assertion, "remove"):
        say(f"removed {assertion_id}")


@command(group, "lint")
async def lint(
    app: Polyvox,
    text: Texts = None,
    advisor: Owner = None,
    phase: PhaseOption = None,
    json: Json = False,
) -> None:
    """Warnings about assertions: given ones, or (with --advisor alone) all that are stored, each in
    the phase that it is meant for."""
    given = _wordings(text, "judge", {}) if text else []
    if not given and advisor is None:
        raise Invalid("There is nothing to look at.", "Give a TEXT, or --advisor SLUG.")

    def read(tx: Tx) -> tuple[list[Assertion], dict[str | None, str]]:
        stored: list[Assertion] = []
        if advisor is not None:
            wanted = AssertionFilter(advisor_id=rows.owner(tx, advisor)[0], active=True)
            stored = rows.list_all(tx, wanted)
        meant = [row.phase for row in stored if phase in (None, row.phase)]
        return stored, {
            name: assertion_room.phase_of(tx, app.resources, name, None) if name or given else ""
            for name in ([phase] if given else meant)
        }

    stored, protocols = await app.database.read(read, SCOPE)
    known = [row.wording for row in stored] if given else []
    reports = []
    for name, protocol in protocols.items():
        looked = given or [row.wording for row in stored if row.phase == name]
        reports.append(await lint_wordings(app.resources, SCOPE, looked, known, protocol))
    items = [item for report in reports for item in report.items]
    notes = {report.note for report in reports if report.note}
    if json:
        say_json(items)
    else:
        warnings = [line for item in items for line in _warnings(item)]
        for line in warnings:
            say(line)
        if not warnings and not notes:
            note("Nothing to warn of.")
    for line in notes:
        note(line)


@command(group, "suggest")
async def suggest(
    app: Polyvox,
    answer: Annotated[str, typer.Argument(metavar="ANSWER_ID", help="The answer to look at.")],
    count: Annotated[int, typer.Option(min=1, max=12, metavar="N", help="How many.")] = 6,
    json: Json = False,
) -> None:
    """Assertions that hold of an answer. Nothing is made: pick, then `add` them."""
    suggested = await suggest_assertions(app.resources, SCOPE, answer, count)
    if json:
        say_json(suggested.suggestions)
    else:
        rows: list[tuple[Any, ...]] = [
            (proposal.kind, proposal.by, proposal.text) for proposal in suggested.suggestions
        ]
        table(("kind", "by", "text"), rows, empty="There is nothing to suggest.")
    if suggested.note:
        note(suggested.note)


@command(group, "contexts")
async def contexts(
    app: Polyvox,
    advisor: Annotated[str, typer.Argument(metavar="SLUG", help="The advisor, by slug or id.")],
    assertion: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="Only this one (may be repeated).")
    ] = None,
    most: Annotated[int, typer.Option("--count", min=1, max=50, metavar="N", help="How many.")] = 3,
) -> None:
    """Try assertions in contexts of other conversations with their advisor too."""
    added = await assertion_room.add_contexts(app.resources, SCOPE, advisor, assertion, most)
    say(f"added {count(added, 'context')}")


@command(group, "import")
async def import_(
    app: Polyvox,
    file: Annotated[
        Path, typer.Argument(help="Our YAML, or the storage of SPACE Terminal as JSON.")
    ],
    advisor: Annotated[
        str | None,
        typer.Option(metavar="SLUG", help="Who gets them all; else whom the file names."),
    ] = None,
    dry_run: DryRun = False,
) -> int:
    """Take assertions from a file. Taking the same file twice adds nothing."""
    text = files.read_text(file, assertion_import.LARGEST)
    parsed = assertion_import.understand(text, str(file))
    phase = partial(assertion_room.open_phase, resources=app.resources)
    report = await assertion_import.store(
        app.database, SCOPE, app.clock(), parsed, into=advisor, phase=phase, dry=dry_run
    )
    return taken(report, dry=dry_run)


@command(group, "export")
async def export(
    app: Polyvox,
    advisor: Annotated[
        list[str] | None, typer.Argument(metavar="[SLUG]…", help="Whose; nobody named: all.")
    ] = None,
    output: Output = None,
    force: Force = False,
) -> None:
    """Write assertions as YAML with their contexts, to be read by `import`."""

    def read(tx: Tx) -> str:
        named = [rows.owner(tx, slug) for slug in advisor or ()]
        return assertion_file.export(tx, named or rows.owners(tx))

    put(await app.database.read(read, SCOPE), output, force=force)


def _kind(name: str) -> Kind:
    """A kind by its name (hyphens are fine)."""
    plain = name.strip().lower().replace("-", "_")
    for kind in KNOWN:
        if kind == plain:
            return kind
    raise Invalid(f"There is no kind {name!r}.", f"Known are {', '.join(KNOWN)}.", param="kind")


def _arguments(given: Sequence[str] | None, least: int | None, most: int | None) -> dict[str, Any]:
    """The arguments of a check; a value that reads as JSON is that."""
    arguments: dict[str, Any] = {}
    for pair in given or ():
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise Invalid(f"{pair!r} is not written NAME=VALUE.", "Like --arg text=sea.")
        try:
            read = json.loads(value)
        except ValueError:
            read = value
        # A number that somebody looks for is a text all the same.
        texts = name.strip() in ("text", "pattern", "language")
        arguments[name.strip()] = value if texts else read
    if least is not None:
        arguments["min"] = least
    if most is not None:
        arguments["max"] = most
    return arguments


def _wordings(text: Sequence[str] | None, kind: str | None, given: dict[str, Any]) -> list[Wording]:
    """Read the wordings: the texts, or the lines on stdin."""
    named = _kind(kind) if kind is not None else "judge"
    texts: list[str] = []
    for line in text or ():
        with interruptible():
            texts += lines(sys.stdin.read() if line == "-" else line)
    if not texts and named != "judge":
        texts = [""]
    if not texts:
        raise Invalid("There is no assertion.", "Write what the answer should do.")
    if kind is None and not given:
        return typed(texts)
    return [Wording(line, named, given) for line in texts]


def _warnings(linted: LintedWording) -> list[str]:
    """The lint's warnings about an assertion, as lines to read."""
    shown = one_line(linted.text, 60)
    lines = []
    for finding in linted.findings:
        split = f" ({' | '.join(finding.split)})" if finding.split else ""
        lines.append(f"{finding.rule}: “{shown}”. {finding.message}{split}")
    if (check := linted.check) is not None:
        options = " ".join(
            f"--{key} {value}" if key in ("min", "max") else f"--arg {key}={value}"
            for key, value in check.args.items()
        )
        lines.append(
            f"note: “{shown}” can be checked in code: --kind {check.kind} {options}".rstrip()
        )
    return lines


def _source(assertion: Assertion) -> str:
    """The source of an assertion, in short."""
    if assertion.source is not None:
        asked, answered = (
            one_line(assertion.source.user_input, 40),
            one_line(assertion.source.answer, 40),
        )
        return f"“{asked}” → “{answered}”"
    return (
        f"asks “{one_line(assertion.user_input, 60)}”"
        if assertion.user_input is not None
        else "by hand"
    )
