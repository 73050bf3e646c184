"""`polyvox doctor`: is everything as it should be, and what to do where it is not."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Annotated

import typer

from polyvox.cli import checks
from polyvox.cli.checks import Finding
from polyvox.cli.command import Json
from polyvox.cli.database_checks import check_database
from polyvox.cli.failure import FAILED
from polyvox.cli.output import note, say_json, say_styled
from polyvox.cli.run import read_settings
from polyvox.errors import PolyvoxError
from polyvox.models.registry import Models
from polyvox.session.council import check_recipes
from polyvox.settings import shown_url
from polyvox.transport import Transport

Offline = Annotated[bool, typer.Option("--offline", help="Do not ask the default model.")]


def doctor(offline: Offline = False, json: Json = False) -> None:
    """Check the configuration, the database, the models and the port; say what to do next.

    Ends with 1 if something must be put right.
    """
    findings: list[Finding] = []

    async def whole() -> None:
        async for raw in examine(offline=offline, progress=_wait):
            finding = replace(raw, found=shown_url(raw.found), next=shown_url(raw.next))
            findings.append(finding)
            if not json:
                _tell(finding)

    asyncio.run(whole())
    if json:
        say_json(
            [
                {"state": each.state, "what": each.what, "found": each.found, "next": each.next}
                for each in findings
            ]
        )
    if any(each.state == "fail" for each in findings):
        raise typer.Exit(FAILED)


async def examine(*, offline: bool, progress: Callable[[str], None]) -> AsyncIterator[Finding]:
    """Run every check in the order of need. `progress` is told what takes long."""
    try:
        settings = read_settings()
    except PolyvoxError as error:
        yield Finding("fail", "configuration", error.message, error.hint)
        return
    yield checks.configuration(settings)
    try:
        check_recipes(settings)
    except PolyvoxError as error:
        yield Finding("fail", "recipes", error.message, error.hint)
    yield checks.disk(settings)

    async for finding in check_database(settings):
        yield finding
    transport = Transport()
    models = Models(settings, transport)
    try:
        models.check_settings()
    except PolyvoxError as error:
        yield Finding("fail", "models", error.message, error.hint)
    try:
        if settings.memory.url:
            progress(f"asking {shown_url(settings.memory.url)}…")
            yield await checks.memory_service(settings, transport, offline=offline)
        yield checks.keys(models)
        yield checks.embedded(settings, models)
        if not offline:
            progress(f"asking {models.default}…")
            yield await checks.default_model(models)
            if settings.models.embeddings:
                progress(f"asking {settings.models.embeddings}…")
                yield await checks.embeddings_model(settings, models)
    except PolyvoxError as error:
        yield Finding("fail", "default model", error.message, error.hint)
    finally:
        await models.close()
        await transport.close()
    yield checks.exposure(settings)
    yield checks.port(settings)


def _wait(what: str) -> None:
    """A word to a person who waits."""
    if sys.stderr.isatty():
        note(f"...   {what}")


def _tell(finding: Finding) -> None:
    then = f"\n      → {finding.next}" if finding.next else ""
    line = f"{finding.what}: {finding.found}{then}"
    color = {"ok": "green", "warn": "yellow", "fail": "bold red"}[finding.state]
    say_styled((f"{finding.state:<4}", color), (f"  {line}", ""))
