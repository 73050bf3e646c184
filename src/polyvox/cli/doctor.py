"""`polyvox doctor`: is everything as it should be, and what to do where it is not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from polyvox.cli.failing import FAILED
from polyvox.cli.options import Json

if TYPE_CHECKING:
    from polyvox.cli.checks import Finding

Offline = Annotated[bool, typer.Option("--offline", help="Do not ask the default model.")]


def doctor(offline: Offline = False, json: Json = False) -> None:
    """Check the configuration, the database, the models and the port; say what to do next.

    Ends with 1 if something must be put right.
    """
    import asyncio
    from dataclasses import replace

    from polyvox.cli.checks import examine
    from polyvox.settings import shown_url

    findings: list[Finding] = []

    async def whole() -> None:
        async for told in examine(offline=offline, progress=_wait):
            finding = replace(told, found=shown_url(told.found), next=shown_url(told.next))
            findings.append(finding)
            if not json:
                _tell(finding)

    asyncio.run(whole())
    if json:
        from polyvox.cli.output import say_json

        say_json(
            [
                {"state": one.state, "what": one.what, "found": one.found, "next": one.next}
                for one in findings
            ]
        )
    if any(one.state == "fail" for one in findings):
        raise typer.Exit(FAILED)


def _wait(what: str) -> None:
    """A word to a person who waits."""
    import sys

    from polyvox.cli.output import note

    if sys.stderr.isatty():
        note(f"...   {what}")


def _tell(finding: Finding) -> None:
    from polyvox.cli.output import console, is_terminal, printable, say

    then = f"\n      → {finding.next}" if finding.next else ""
    line = f"{finding.what}: {finding.found}{then}"
    if not is_terminal():
        say(f"{finding.state:<4}  {line}")
        return
    from rich.text import Text

    color = {"ok": "green", "warn": "yellow", "fail": "bold red"}[finding.state]
    console().print(Text.assemble((f"{finding.state:<4}", color), "  ", printable(line)))
