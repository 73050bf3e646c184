"""`polyvox advisors import` and `export`, and what the options of `add` and `edit` amount to."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polyvox.cli.files import DryRun, Force, Output, put, taken

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
        return taken(report, dry=dry_run)

    run(work)


def export(
    advisor: Annotated[
        list[str] | None, typer.Argument(metavar="[SLUG]…", help="Who; nobody named: all.")
    ] = None,
    output: Output = None,
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
