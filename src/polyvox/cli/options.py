"""Options that several commands have in common."""

from __future__ import annotations

from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask first.")]
Earlier = Annotated[
    str | None,
    typer.Option("--conversation", "-c", metavar="ID", help="Go on with this one; or: last."),
]
Recipe = Annotated[
    str | None, typer.Option(metavar="NAME", help="The recipe of a new conversation.")
]
Council = Annotated[
    str | None, typer.Option(metavar="SLUG", help="Begin a new conversation with this council.")
]


def new_group(help_text: str) -> typer.Typer:
    """A group of commands; its name alone lists what there is."""
    return typer.Typer(help=help_text, rich_markup_mode=None, invoke_without_command=True)


def sure(question: str, yes: bool) -> None:
    """Ask before something that cannot be undone; without a terminal --yes is needed."""
    import sys

    from polyvox.cli.output import printable
    from polyvox.cli.prompting import interruptible, read_line
    from polyvox.errors import Invalid

    if yes:
        return
    if not sys.stdin.isatty():
        raise Invalid("This cannot be undone, and nobody can be asked here.", "Add --yes.")
    with interruptible():  # from the question on: a Ctrl-C before the reading is one too
        sys.stderr.write(f"{printable(question)} [y/N] ")
        sys.stderr.flush()
        answer = read_line("")
    if (answer or "").strip().lower() not in ("y", "yes"):
        raise typer.Abort
