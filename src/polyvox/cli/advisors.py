"""`polyvox advisors`: who there is, what they are told, and every text that has been."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, TypedDict, Unpack

import typer

from polyvox.app import Polyvox
from polyvox.cli.command import DryRun, Force, Json, Named, Output, Yes, command, new_group
from polyvox.cli.lookup import SCOPE
from polyvox.cli.output import print_list, put, say, say_json, taken
from polyvox.cli.prompt import sure
from polyvox.cli.words import one_line, when
from polyvox.errors import Invalid
from polyvox.interop import advisor_file
from polyvox.interop.advisor_file import checked, write
from polyvox.receive import clean

group = new_group()

PARAMS = ("max_tokens", "temperature", "top_p", "reasoning")

Who = Annotated[str, typer.Argument(metavar="SLUG", help="Its slug, @slug or id.")]


class Fields(TypedDict, total=False):
    """What can be said of an advisor; an empty text means: none."""

    description: Annotated[str, typer.Option(metavar="TEXT", help="Who it is.")]
    prompt: Annotated[
        str,
        typer.Option(
            metavar="TEXT", help="What it is told, in place of the description; '' for none."
        ),
    ]
    slug: Annotated[str, typer.Option(help="How it is mentioned: letters, digits, hyphens.")]
    model: Annotated[
        str, typer.Option(metavar="P:M", help="Its own model; '' for the default one.")
    ]
    color: Annotated[str, typer.Option(metavar="HEX", help="Like #1f6f8b.")]
    voice: Annotated[str, typer.Option(metavar="NAME", help="Its voice; '' for none.")]
    active: Annotated[
        bool, typer.Option("--active/--inactive", help="Whether it is asked without being named.")
    ]
    max_tokens: Annotated[int, typer.Option(metavar="N", help="Longest answer in tokens.")]
    temperature: Annotated[float, typer.Option(metavar="X", help="0 to 2.")]
    top_p: Annotated[float, typer.Option(metavar="X", help="Above 0, at most 1.")]
    reasoning: Annotated[
        int, typer.Option(metavar="N", help="Thinking budget in tokens; 0 for none.")
    ]


class Changes(Named, Fields):
    """What can be changed of an advisor."""


@command(group, "list")
async def list_advisors(app: Polyvox, json: Json = False) -> None:
    """Every advisor, in the order they are asked."""
    print_list(
        await app.advisors.list(SCOPE),
        ("slug", "name", "", "model", "description"),
        lambda advisor: (
            advisor.slug,
            advisor.name,
            "active" if advisor.active else "inactive",
            advisor.model or "default",
            one_line(advisor.description or advisor.identity, 72),
        ),
        empty="There are no advisors. Add one: polyvox advisors add NAME --description …",
        json=json,
    )


@command(group, "show")
async def show(app: Polyvox, advisor: Who, json: Json = False) -> None:
    """One advisor with all its words."""
    match = await app.advisors.get(SCOPE, advisor)
    if json:
        say_json(match)
    else:
        say(write([match]).rstrip())


@command(group, "add")
async def add(
    app: Polyvox,
    name: Annotated[str, typer.Argument(help="What it is called.")],
    **fields: Unpack[Fields],
) -> None:
    """A new advisor; it needs a description or a prompt."""
    details = checked({"name": name, **_nested(fields)})
    app.check_model(details.get("model"))
    made = await app.advisors.create(SCOPE, **details)
    say(f"added {made.slug}")


@command(group, "edit")
async def edit(
    app: Polyvox,
    advisor: Who,
    **changes: Unpack[Changes],
) -> None:
    """Change an advisor. Other words make a new version; the old ones stay in its history."""
    details = checked(_nested(changes), new=False)
    if not details:
        raise Invalid("Nothing to change.", "`polyvox advisors edit --help` lists what can be.")
    app.check_model(details.get("model"))
    old = await app.advisors.get(SCOPE, advisor)
    if "params" in details:
        details["params"] = details["params"].over(old.params)
    made = await app.advisors.update(SCOPE, old.id, **details)
    say(f"changed {made.slug}")


@command(group, "remove")
async def remove(app: Polyvox, advisor: Who, yes: Yes = False) -> None:
    """Take an advisor off the list. Its answers and its history stay."""
    match = await app.advisors.get(SCOPE, advisor)
    sure(f"Remove {match.name}?", yes)
    await app.advisors.remove(SCOPE, match.id)
    say(f"removed {match.slug}")


@command(group, "history")
async def history(app: Polyvox, advisor: Who, json: Json = False) -> None:
    """Every text that an advisor has had, newest first."""
    zone = app.settings.timezone
    print_list(
        await app.advisors.versions(SCOPE, advisor),
        ("version", "when", "why", "text"),
        lambda version: (
            str(version.number),
            when(version.created_at, zone),
            version.reason,
            one_line(version.text, 90),
        ),
        empty="There is no history.",
        json=json,
    )


@command(group, "rollback")
async def rollback(
    app: Polyvox,
    advisor: Who,
    version: Annotated[str, typer.Argument(help="Its number in the history, or its id.")],
) -> None:
    """Give an advisor an earlier text again, as a new version."""
    made = await app.advisors.rollback(SCOPE, advisor, version)
    say(f"{made.slug} has the words of version {version} again")


@command(group, "instruct")
async def instruct(
    app: Polyvox,
    advisor: Who,
    instruction: Annotated[str, typer.Argument(help="What to do differently.")],
) -> None:
    """Add an instruction to an advisor's prompt, as a new version."""
    clean(instruction, "instruction", 10_000)
    made = await app.advisors.instruct(SCOPE, advisor, instruction)
    say(f"instructed {made.slug}")


@command(group, "import")
async def import_(
    app: Polyvox,
    file: Annotated[Path, typer.Argument(help="Our YAML, or an agents.json of Port 42.")],
    replace: Annotated[
        bool, typer.Option("--replace", help="Give those who have the same slug the new words.")
    ] = False,
    dry_run: DryRun = False,
) -> int:
    """Take advisors from a file. Taking the same file twice adds nothing."""
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


@command(group, "export")
async def export(
    app: Polyvox,
    advisor: Annotated[
        list[str] | None, typer.Argument(metavar="[SLUG]…", help="Who; nobody named: all.")
    ] = None,
    output: Output = None,
    force: Force = False,
) -> None:
    """Write advisors as YAML, to be read by `import`."""
    if advisor:
        chosen = [await app.advisors.get(SCOPE, name) for name in advisor]
    else:
        chosen = await app.advisors.list(SCOPE)
    put(write(chosen) if chosen else "[]\n", output, force=force)


def _nested(fields: Fields | Changes) -> dict[str, Any]:
    """The fields as files have them: the parameters of the model stand together."""
    params = {name: value for name, value in fields.items() if name in PARAMS}
    given = {name: value for name, value in fields.items() if name not in PARAMS}
    return {**given, "params": params} if params else given
