"""`polyvox advisors`: who there is, what they are told, and every text that has been."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from polyvox.app import Polyvox
from polyvox.cli.command import Json, Yes, command, new_group
from polyvox.cli.files import DryRun, Force, Output, put, taken
from polyvox.cli.lookup import SCOPE
from polyvox.cli.output import say, say_json, table
from polyvox.cli.prompt import sure
from polyvox.cli.run import run
from polyvox.cli.words import one_line, when
from polyvox.errors import Invalid
from polyvox.interop import advisor_file
from polyvox.interop.advisor_file import checked, write
from polyvox.receive import clean

group = new_group()

Who = Annotated[str, typer.Argument(metavar="SLUG", help="Its slug, @slug or id.")]
Name = Annotated[str | None, typer.Option(metavar="TEXT", help="What it is called.")]
Slug = Annotated[str | None, typer.Option(help="How it is mentioned: letters, digits, hyphens.")]
Description = Annotated[str | None, typer.Option(metavar="TEXT", help="Who it is.")]
Prompt = Annotated[
    str | None,
    typer.Option(metavar="TEXT", help="What it is told, in place of the description; '' for none."),
]
Model = Annotated[
    str | None, typer.Option(metavar="P:M", help="Its own model; '' for the default one.")
]
Color = Annotated[str | None, typer.Option(metavar="HEX", help="Like #1f6f8b.")]
Voice = Annotated[str | None, typer.Option(metavar="NAME", help="Its voice; '' for none.")]
Active = Annotated[
    bool | None,
    typer.Option("--active/--inactive", help="Whether it is asked without being named."),
]
MaxTokens = Annotated[int | None, typer.Option(metavar="N", help="Longest answer in tokens.")]
Temperature = Annotated[float | None, typer.Option(metavar="X", help="0 to 2.")]
TopP = Annotated[float | None, typer.Option(metavar="X", help="Above 0, at most 1.")]
Reasoning = Annotated[
    int | None, typer.Option(metavar="N", help="Thinking budget in tokens; 0 for none.")
]


@group.callback()
def advisors(context: typer.Context) -> None:
    """The advisors: who they are and what they are told."""
    if context.invoked_subcommand is None:
        list_advisors(json=False)


@command(group, "list")
def list_advisors(json: Json = False) -> None:
    """Every advisor, in the order they are asked."""

    async def work(app: Polyvox) -> None:
        everyone = await app.advisors.list(SCOPE)
        if json:
            say_json(everyone)
            return
        rows = [
            (
                advisor.slug,
                advisor.name,
                "active" if advisor.active else "inactive",
                advisor.model or "default",
                one_line(advisor.description or advisor.identity, 72),
            )
            for advisor in everyone
        ]
        empty = "There are no advisors. Add one: polyvox advisors add NAME --description …"
        table(("slug", "name", "", "model", "description"), rows, empty=empty)

    run(work)


@command(group, "show")
def show(advisor: Who, json: Json = False) -> None:
    """One advisor with all its words."""

    async def work(app: Polyvox) -> None:
        match = await app.advisors.get(SCOPE, advisor)
        if json:
            say_json(match)
        else:
            say(write([match]).rstrip())

    run(work)


@command(group, "add")
def add(
    name: Annotated[str, typer.Argument(help="What it is called.")],
    description: Description = None,
    prompt: Prompt = None,
    slug: Slug = None,
    model: Model = None,
    color: Color = None,
    voice: Voice = None,
    active: Active = None,
    max_tokens: MaxTokens = None,
    temperature: Temperature = None,
    top_p: TopP = None,
    reasoning: Reasoning = None,
) -> None:
    """A new advisor; it needs a description or a prompt."""
    given = _given(
        name, description, prompt, slug, model, color, voice, active,
        (max_tokens, temperature, top_p, reasoning),
    )  # fmt: skip

    async def work(app: Polyvox) -> None:
        details = checked(given)
        app.check_model(details.get("model"))
        made = await app.advisors.create(SCOPE, **details)
        say(f"added {made.slug}")

    run(work)


@command(group, "edit")
def edit(
    advisor: Who,
    name: Name = None,
    description: Description = None,
    prompt: Prompt = None,
    slug: Slug = None,
    model: Model = None,
    color: Color = None,
    voice: Voice = None,
    active: Active = None,
    max_tokens: MaxTokens = None,
    temperature: Temperature = None,
    top_p: TopP = None,
    reasoning: Reasoning = None,
) -> None:
    """Change an advisor. Other words make a new version; the old ones stay in its history."""
    given = _given(
        name, description, prompt, slug, model, color, voice, active,
        (max_tokens, temperature, top_p, reasoning),
    )  # fmt: skip

    async def work(app: Polyvox) -> None:
        if not given:
            raise Invalid("Nothing to change.", "`polyvox advisors edit --help` lists what can be.")
        details = checked(given, new=False)
        app.check_model(details.get("model"))
        old = await app.advisors.get(SCOPE, advisor)
        if "params" in details:
            details["params"] = details["params"].over(old.params)
        made = await app.advisors.update(SCOPE, old.id, **details)
        say(f"changed {made.slug}")

    run(work)


@command(group, "remove")
def remove(advisor: Who, yes: Yes = False) -> None:
    """Take an advisor off the list. Its answers and its history stay."""

    async def work(app: Polyvox) -> None:
        match = await app.advisors.get(SCOPE, advisor)
        sure(f"Remove {match.name}?", yes)
        await app.advisors.remove(SCOPE, match.id)
        say(f"removed {match.slug}")

    run(work)


@command(group, "history")
def history(advisor: Who, json: Json = False) -> None:
    """Every text that an advisor has had, newest first."""

    async def work(app: Polyvox) -> None:
        versions = await app.advisors.versions(SCOPE, advisor)
        if json:
            say_json(versions)
            return
        zone = app.settings.timezone
        rows = [
            (
                str(version.number),
                when(version.created_at, zone),
                version.reason,
                one_line(version.text, 90),
            )
            for version in versions
        ]
        table(("version", "when", "why", "text"), rows, empty="There is no history.")

    run(work)


@command(group, "rollback")
def rollback(
    advisor: Who,
    version: Annotated[str, typer.Argument(help="Its number in the history, or its id.")],
) -> None:
    """Give an advisor an earlier text again, as a new version."""

    async def work(app: Polyvox) -> None:
        made = await app.advisors.rollback(SCOPE, advisor, version)
        say(f"{made.slug} has the words of version {version} again")

    run(work)


@command(group, "instruct")
def instruct(
    advisor: Who, instruction: Annotated[str, typer.Argument(help="What to do differently.")]
) -> None:
    """Add an instruction to an advisor's prompt, as a new version."""

    async def work(app: Polyvox) -> None:
        clean(instruction, "instruction", 10_000)
        made = await app.advisors.instruct(SCOPE, advisor, instruction)
        say(f"instructed {made.slug}")

    run(work)


@command(group, "import")
def import_(
    file: Annotated[Path, typer.Argument(help="Our YAML, or an agents.json of Port 42.")],
    replace: Annotated[
        bool, typer.Option("--replace", help="Give those who have the same slug the new words.")
    ] = False,
    dry_run: DryRun = False,
) -> None:
    """Take advisors from a file. Taking the same file twice adds nothing."""

    async def work(app: Polyvox) -> int:
        parsed = advisor_file.read(file)
        report = await advisor_file.store(
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


@command(group, "export")
def export(
    advisor: Annotated[
        list[str] | None, typer.Argument(metavar="[SLUG]…", help="Who; nobody named: all.")
    ] = None,
    output: Output = None,
    force: Force = False,
) -> None:
    """Write advisors as YAML, to be read by `import`."""

    async def work(app: Polyvox) -> None:
        if advisor:
            chosen = [await app.advisors.get(SCOPE, name) for name in advisor]
        else:
            chosen = await app.advisors.list(SCOPE)
        put(write(chosen) if chosen else "[]\n", output, force=force)

    run(work)


def _given(
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
    """The fields of an advisor that were given; an empty text means: none."""
    fields: dict[str, Any] = {
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
    given = {key: value for key, value in fields.items() if value is not None}
    return {**given, "params": chosen} if chosen else given
