"""`polyvox councils`: named sets of advisors."""

from __future__ import annotations

from typing import Annotated

import typer

from polyvox.app import Polyvox
from polyvox.cli.command import Json, Yes, command, new_group
from polyvox.cli.lookup import SCOPE, check_recipe
from polyvox.cli.output import say, say_json, table
from polyvox.cli.people import People
from polyvox.cli.prompt import sure
from polyvox.cli.run import run
from polyvox.errors import Invalid
from polyvox.receive import clean_name
from polyvox.store.councils import CouncilDetails

group = new_group()

Name = Annotated[str | None, typer.Option(metavar="TEXT", help="What it is called.")]
Slug = Annotated[str | None, typer.Option(help="How it is typed: letters, digits, hyphens.")]
Members = Annotated[
    list[str] | None,
    typer.Option("--advisor", "-a", metavar="SLUG", help="Who is in it; repeatable."),
]
RecipeName = Annotated[str | None, typer.Option(metavar="NAME", help="How they are asked.")]


@group.callback()
def councils(context: typer.Context) -> None:
    """Named sets of advisors."""
    if context.invoked_subcommand is None:
        list_councils(json=False)


@command(group, "list")
def list_councils(json: Json = False) -> None:
    """Every council."""

    async def work(app: Polyvox) -> None:
        known = await app.councils.list(SCOPE)
        if json:
            say_json(known)
            return
        people = await People.of(app, SCOPE)
        rows = [
            (
                council.slug,
                council.name,
                council.recipe,
                ", ".join(people.get(a).slug for a in council.advisors),
            )
            for council in known
        ]
        empty = "There are no councils yet. Add one: polyvox councils add NAME --advisor SLUG"
        table(("slug", "name", "recipe", "advisors"), rows, empty=empty)

    run(work)


@command(group, "add")
def add(
    name: Annotated[str, typer.Argument(help="What it is called.")],
    advisor: Members = None,
    slug: Slug = None,
    recipe: RecipeName = None,
) -> None:
    """A new council."""

    async def work(app: Polyvox) -> None:
        clean_name(name, "name", 120)
        await check_recipe(app, recipe, None)
        made = await app.councils.create(SCOPE, **_details(name, advisor, slug, recipe))
        say(f"added the council {made.slug}")

    run(work)


@command(group, "edit")
def edit(
    council: Annotated[str, typer.Argument(help="Its slug or id.")],
    name: Name = None,
    advisor: Members = None,
    slug: Slug = None,
    recipe: RecipeName = None,
) -> None:
    """Change a council; the advisors given replace those it has."""

    async def work(app: Polyvox) -> None:
        if name is not None:
            clean_name(name, "name", 120)
        await check_recipe(app, recipe, None)
        details = _details(name, advisor, slug, recipe)
        if not details:
            raise Invalid("Nothing to change.", "`polyvox councils edit --help` lists what can be.")
        made = await app.councils.update(SCOPE, council, **details)
        say(f"changed the council {made.slug}")

    run(work)


@command(group, "remove")
def remove(
    council: Annotated[str, typer.Argument(help="Its slug or id.")], yes: Yes = False
) -> None:
    """Delete a council; its advisors stay."""

    async def work(app: Polyvox) -> None:
        match = await app.councils.get(SCOPE, council)
        sure(f"Delete the council {match.name}?", yes)
        await app.councils.remove(SCOPE, match.id)
        say(f"removed the council {match.slug}")

    run(work)


def _details(
    name: str | None, advisors: list[str] | None, slug: str | None, recipe: str | None
) -> CouncilDetails:
    details: CouncilDetails = {}
    if name is not None:
        details["name"] = name
    if advisors:
        details["advisors"] = advisors
    if slug is not None:
        details["slug"] = slug
    if recipe is not None:
        details["recipe"] = recipe
    return details
