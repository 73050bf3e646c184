"""`polyvox assertions import` and `export`, and what the options of the others amount to."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polyvox.cli.files import DryRun, Force, Output, put, taken

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polyvox.app import Polyvox
    from polyvox.evaluation.values import Assertion, Kind
    from polyvox.evaluation.wordings import Wording


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
    from polyvox.cli.running import run

    async def work(app: Polyvox) -> int:
        from polyvox.cli.choosing import SCOPE
        from polyvox.interop import assertion_import, assertion_reading, files
        from polyvox.interop.assertion_file import LARGEST

        parsed = assertion_reading.understand(files.read_text(file, LARGEST), str(file))
        into = None if advisor is None else advisor.removeprefix("@")
        report = await assertion_import.store(
            app.database, SCOPE, app.clock(), parsed, into=into, dry=dry_run
        )
        return taken(report, dry=dry_run)

    run(work)


def export(
    advisor: Annotated[
        list[str] | None, typer.Argument(metavar="[SLUG]…", help="Whose; nobody named: all.")
    ] = None,
    output: Output = None,
    force: Force = False,
) -> None:
    """Write assertions as YAML with their contexts, to be read by `import`."""
    from polyvox.cli.running import run

    async def work(app: Polyvox) -> None:
        from polyvox.cli.choosing import SCOPE
        from polyvox.evaluation.assertion import whose
        from polyvox.evaluation.tables import assertions
        from polyvox.interop import assertion_reading
        from polyvox.store.database import Tx

        def read(tx: Tx) -> str:
            named = [whose(tx, SCOPE, one.removeprefix("@")) for one in advisor or ()]
            return assertion_reading.whole(tx, SCOPE, named or assertions.owners(tx, SCOPE))

        put(await app.database.read(read), output, force=force)

    run(work)


def kind_of(name: str) -> Kind:
    """A kind by its name (hyphens are fine)."""
    from polyvox.errors import Invalid
    from polyvox.evaluation.checks import KNOWN

    plain = name.strip().lower().replace("-", "_")
    for kind in KNOWN:
        if kind == plain:
            return kind
    raise Invalid(f"There is no kind {name!r}.", f"Known are {', '.join(KNOWN)}.", param="kind")


def args(given: Sequence[str] | None, least: int | None, most: int | None) -> dict[str, Any]:
    """The arguments of a check; a value that reads as JSON is that."""
    import json

    from polyvox.errors import Invalid

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


def said(text: Sequence[str] | None, kind: str | None, given: dict[str, Any]) -> list[Wording]:
    """What is to be asserted: the texts, or the lines on stdin."""
    import sys

    from polyvox.errors import Invalid
    from polyvox.evaluation.wordings import Wording, lines

    named = kind_of(kind) if kind is not None else "judge"
    texts: list[str] = []
    for one in text or ():
        texts += lines(sys.stdin.read()) if one == "-" else lines(one)
    if not texts and named != "judge":
        texts = [""]
    if not texts:
        raise Invalid("There is no assertion.", "Write what the answer should do.")
    return [Wording(one, named, given) for one in texts]


def warnings(one: Wording, others: Sequence[Wording]) -> list[str]:
    """What the lint says of an assertion, as lines to read."""
    from polyvox.cli.words import one_line
    from polyvox.evaluation.lint import lint, offered

    shown = one_line(one.text, 60)
    found = []
    for finding in lint(one, others):
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


def whence(one: Assertion) -> str:
    """Where an assertion comes from, in short."""
    from polyvox.cli.words import one_line

    if one.source is not None:
        asked, answered = one_line(one.source.user_input, 40), one_line(one.source.answer, 40)
        return f"“{asked}” → “{answered}”"
    return f"asks “{one_line(one.user_input, 60)}”" if one.user_input is not None else "by hand"
