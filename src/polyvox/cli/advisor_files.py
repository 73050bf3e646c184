"""`polyvox advisors import` and `export`, and what the options of `add` and `edit` amount to."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polyvox.cli.failing import FAILED
from polyvox.cli.options import DryRun, Force

if TYPE_CHECKING:
    from polyvox.app import Polyvox


def import_(
    file: Annotated[Path, typer.Argument(help="Our YAML, or an agents.json of Port 42.")],
    replace: Annotated[
        bool, typer.Option("--replace", help="Give those who have the same slug the new words.")
    ] = False,
    dry_run: DryRun = False,
) -> None:
    """Take advisors from a file. Taking the same file twice adds nothing."""
    from polyvox.cli.running import run

    async def work(app: Polyvox) -> int:
        from polyvox.cli.choosing import SCOPE
        from polyvox.cli.output import say
        from polyvox.interop import advisor_file, advisor_import

        parsed = advisor_file.read(file)
        report = await advisor_import.store(
            app.database,
            SCOPE,
            app.clock(),
            parsed,
            check_model=app.check_model,
            replacing=replace,
            dry=dry_run,
        )
        for line in report.lines(dry=dry_run):
            say(line)
        return FAILED if report.useless else 0

    run(work)


def export(
    advisor: Annotated[
        list[str] | None, typer.Argument(metavar="[SLUG]…", help="Who; nobody named: all.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Instead of stdout.")
    ] = None,
    force: Force = False,
) -> None:
    """Write advisors as YAML, to be read by `import`."""
    from polyvox.cli.running import run

    async def work(app: Polyvox) -> None:
        from polyvox.cli.choosing import SCOPE
        from polyvox.interop.advisor_file import write

        if advisor:
            found = [await app.advisors.get(SCOPE, name) for name in advisor]
        else:
            found = await app.advisors.list(SCOPE)
        put(write(found) if found else "[]\n", output, force=force)

    run(work)


def put(text: str, place: Path | None, *, force: bool = False) -> None:
    """Text into a new file that is its owner's alone, or on stdout as it is."""
    import os
    import sys

    from polyvox.cli.output import note
    from polyvox.errors import Invalid

    if place is None:
        sys.stdout.write(text)
        return
    special = place.exists() and not place.is_file()  # a pipe, say: nothing in it is lost
    how = os.O_TRUNC if force or special else os.O_EXCL
    try:
        number = os.open(place, os.O_WRONLY | os.O_CREAT | how, 0o600)
        with os.fdopen(number, "w", encoding="utf-8") as file:
            if not special:
                os.fchmod(number, 0o600)  # also where it was there before
            file.write(text)
    except FileExistsError:
        raise Invalid(f"{place} is there already.", "--force writes over it.") from None
    except OSError as error:
        raise Invalid(f"{place} cannot be written: {error.strerror}.", "Choose another.") from None
    note(f"wrote {place}")


def given(
    name: str | None,
    description: str | None,
    prompt: str | None,
    slug: str | None,
    model: str | None,
    color: str | None,
    voice: str | None,
    active: bool | None,
    params: tuple[int | None, float | None, float | None, int | None],
) -> dict[str, Any]:
    """What was said of an advisor; an empty text means: none."""
    said: dict[str, Any] = {
        "name": name,
        "description": description,
        "prompt": prompt,
        "slug": slug,
        "model": model,
        "color": color,
        "voice": voice,
        "active": active,
    }
    keys = ("max_tokens", "temperature", "top_p", "reasoning")
    chosen = {key: value for key, value in zip(keys, params, strict=True) if value is not None}
    found = {key: value for key, value in said.items() if value is not None}
    return {**found, "params": chosen} if chosen else found
