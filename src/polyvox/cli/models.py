"""`polyvox models`: which models there are, and whether one answers."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Annotated

import typer

from polyvox.app import Polyvox
from polyvox.cli.command import Json, command, new_group
from polyvox.cli.failure import FAILED
from polyvox.cli.output import note, say, say_json, table
from polyvox.cli.words import answers
from polyvox.settings import shown_url
from polyvox.settings.layers import decision_of

group = new_group()


@command(group, "list")
async def list_models(app: Polyvox, json: Json = False) -> None:
    """Every provider, whether its key is there, and models of it that are known by name."""
    default, why = app.models.default, _why(app)
    listing = [replace(row, base_url=shown_url(row.base_url)) for row in app.models.listing()]
    model_note = app.models.facts(default).note
    if json:
        known = {"default": default, "default_from": why, "note": model_note}
        say_json({**known, "providers": listing})
        return
    rows = [
        (
            "*" if name == default else "",
            name,
            provider.key if name == provider.models[0] else "",
            provider.base_url if name == provider.models[0] else "",
        )
        for provider in listing
        for name in provider.models
    ]
    if not any(row[0] for row in rows):
        rows.insert(0, ("*", default, "", ""))
    rows += [
        ("", f"{provider.name}:…", provider.key, provider.base_url)
        for provider in listing
        if not provider.models
    ]
    table(("*", "model", "key", "address"), rows, empty="There are no models.")
    note(f"* is the default: {why}.")
    if model_note:
        note(model_note)


def _why(app: Polyvox) -> str:
    """Say why the default model is the default."""
    setting = decision_of(app.settings, "models.default")
    if setting.origin == "page":
        return "chosen on the page"
    if setting.origin != "default":
        return f"set in {setting.where}"
    provider = app.models.default.partition(":")[0]
    row = next(row for row in app.models.listing() if row.name == provider)
    return f"there is a key, {row.key_source}" if row.key == "present" else "no key was found"


@command(group, "check")
async def check(
    app: Polyvox,
    model: Annotated[
        str | None, typer.Argument(metavar="P:M", help="The model; else the default one.")
    ] = None,
    json: Json = False,
) -> int:
    """Ask a model for one word, without retries or fallback, and tell how that went."""
    name = model or app.models.default
    if name.startswith("local:") and sys.stderr.isatty():
        note("loading the embedded model…")
    result = await app.models.check(name)
    if json:
        say_json(result)
    elif result.ok:
        say(f"ok    {answers(result)}")
    else:
        say(f"fail  {result.model}: {result.message} {result.hint}".rstrip())
    return 0 if result.ok else FAILED
