"""`polyvox councils`: named sets of advisors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypedDict, Unpack, cast

import typer

from polyvox.app import Polyvox
from polyvox.cli.command import Json, Named, Phases, Yes, command, new_group
from polyvox.cli.lookup import SCOPE, People, check_recipe, read_phases
from polyvox.cli.output import print_list, say
from polyvox.cli.prompt import sure
from polyvox.errors import Invalid
from polyvox.receive import clean_name
from polyvox.store.councils import CouncilDetails

group = new_group()

Which = Annotated[str, typer.Argument(help="Its slug or id.")]


class Fields(TypedDict, total=False):
    """What can be said of a council."""

    advisors: Annotated[
        list[str],
        typer.Option("--advisor", "-a", metavar="SLUG", help="Who is in it; repeatable."),
    ]
    slug: Annotated[str, typer.Option(help="How it is typed: letters, digits, hyphens.")]
    recipe: Annotated[str, typer.Option(metavar="NAME", help="How they are asked.")]
    phases: Phases


class Changes(Named, Fields):
    """What can be changed of a council."""


@command(group, "list")
async def list_councils(app: Polyvox, json: Json = False) -> None:
    """Every council."""
    people = await People.of(app, SCOPE)
    print_list(
        await app.councils.list(SCOPE),
        ("slug", "name", "recipe", "asking", "advisors"),
        lambda council: (
            council.slug,
            council.name,
            council.recipe,
            "as the recipe" if council.phases is None else str(council.phases or "off"),
            ", ".join(people.get(advisor).slug for advisor in council.advisors),
        ),
        empty="There are no councils yet. Add one: polyvox councils add NAME --advisor SLUG",
        json=json,
    )


@command(group, "add")
async def add(
    app: Polyvox,
    name: Annotated[str, typer.Argument(help="What it is called.")],
    **fields: Unpack[Fields],
) -> None:
    """A new council."""
    clean_name(name, "name", 120)
    await check_recipe(app, fields.get("recipe"))
    made = await app.councils.create(SCOPE, **_details({**fields, "name": name}))
    say(f"added the council {made.slug}")


@command(group, "edit")
async def edit(
    app: Polyvox,
    council: Which,
    **changes: Unpack[Changes],
) -> None:
    """Change a council; the advisors given replace those it has."""
    if "name" in changes:
        clean_name(changes["name"], "name", 120)
    await check_recipe(app, changes.get("recipe"))
    if not changes:
        raise Invalid("Nothing to change.", "`polyvox councils edit --help` lists what can be.")
    made = await app.councils.update(SCOPE, council, **_details(changes))
    say(f"changed the council {made.slug}")


def _details(given: Mapping[str, Any]) -> CouncilDetails:
    """The options as the store takes them."""
    details = dict(given)
    if "phases" in details:
        details["phases"] = read_phases(details["phases"])
    return cast("CouncilDetails", details)


@command(group, "remove")
async def remove(app: Polyvox, council: Which, yes: Yes = False) -> None:
    """Delete a council; its advisors stay."""
    match = await app.councils.get(SCOPE, council)
    sure(f"Delete the council {match.name}?", yes)
    await app.councils.remove(SCOPE, match.id)
    say(f"removed the council {match.slug}")
