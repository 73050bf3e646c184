"""Routes of recipes: how they are, and what the user changes of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Literal

from pydantic import BaseModel, Field, ValidationError

from polyvox.app import Polyvox
from polyvox.context.budget import ContextLimit
from polyvox.context.recipe import BUILT_IN, DANGER, Recipe, as_data, layered, without_base
from polyvox.context.words import prompt_set
from polyvox.errors import Conflict, Invalid, NotFound
from polyvox.fields import Body, ParamsBody, RecipeName
from polyvox.receive import clean
from polyvox.recipes import find_recipe, known_recipe, recipe_names
from polyvox.settings.complaint import complaint
from polyvox.store import recipes
from polyvox.store.database import Tx
from polyvox.web.dependencies import App, Key, Who
from polyvox.web.errors import responses
from polyvox.web.openapi import Router

router = Router("recipes")
MOST = 1_000_000
"""Numbers in a recipe are counts of messages, answers or tokens."""


class RecipeCopy(Body):
    """A recipe of your own: a copy, with changes."""

    name: RecipeName
    copy_of: RecipeName = Field("council", alias="copy")
    """The recipe to copy, with whatever was changed of it."""
    change: dict[str, Any] = Field(default_factory=dict)
    """What is different in the copy, as for PATCH."""


class RecipeOut(BaseModel):
    """A recipe as it is in force."""

    name: str
    base: str | None
    """The built-in recipe it was copied from; null: it is built in."""
    fixed: bool
    """True if it cannot be deleted: it is built in, or stands in the configuration."""
    recipe: Recipe
    changed: dict[str, Any]
    """What the user changed of it."""
    standard: Recipe
    """How it is without these changes: built in, and changed by the configuration."""
    wording: dict[Literal["full", "compact"], dict[str, str]]
    """Our texts of blocks and phases by name, which hold where the recipe has none of its own;
    the compact ones are for small models."""


@router.get("/api/recipes")
async def list_recipes(app: App, who: Who) -> list[RecipeOut]:
    """Every recipe."""
    return await app.database.read(
        lambda tx: [_recipe(tx, app, name) for name in recipe_names(tx, app.settings)], who
    )


@router.post("/api/recipes", status_code=201, responses=responses(409))
async def copy_recipe(app: App, who: Who, body: RecipeCopy) -> RecipeOut:
    """Make a recipe of your own: a copy of another, with changes."""
    _sound(body.change)
    _refuse_base(body.change)

    def write(tx: Tx) -> RecipeOut:
        if known_recipe(tx, app.settings, body.name) is not None:
            raise Conflict(
                f"There is a recipe {body.name!r} already.", "Choose another name.", param="name"
            )
        copied = find_recipe(tx, app.settings, body.copy_of)
        base = copied.base or copied.name
        parts, usual = as_data(copied), as_data(BUILT_IN[base])
        differs = {
            part: value
            for part, value in parts.items()
            if part not in ("name", "base") and value != usual[part]
        }
        change = {**_laid_over(differs, body.change), "base": base}
        _check(app, layered(body.name, change))
        recipes.put(tx, body.name, change, app.clock())
        return _recipe(tx, app, body.name)

    return await app.database.write(write, who)


@router.get("/api/recipes/{name}")
async def get_recipe(app: App, who: Who, name: Key) -> RecipeOut:
    """One recipe."""
    return await app.database.read(lambda tx: _recipe(tx, app, name), who)


@router.patch("/api/recipes/{name}")
async def change_recipe(app: App, who: Who, name: Key, body: dict[str, Any]) -> RecipeOut:
    """Change parts of a recipe: phases, window, visibility, stamps, texts. Tables are laid over
    what they change; a null undoes that part's change, or that of one key of a table. Holds from
    the next message on."""
    _sound(body)
    _refuse_base(body)

    def write(tx: Tx) -> RecipeOut:
        _known(tx, app, name)
        change = _laid_over(recipes.get(tx, name) or {}, body)
        _check(app, layered(name, app.settings.recipes.get(name, {}), change))
        recipes.put(tx, name, change, app.clock())
        return _recipe(tx, app, name)

    return await app.database.write(write, who)


@router.delete("/api/recipes/{name}", status_code=204)
async def reset_recipe(app: App, who: Who, name: Key) -> None:
    """Undo every change to a recipe; one that you made is deleted. Conversations that used it go on
    by the council's."""

    def write(tx: Tx) -> None:
        _known(tx, app, name)
        recipes.delete(tx, name)

    await app.database.write(write, who)


def _known(tx: Tx, app: Polyvox, name: str) -> Recipe:
    recipe = known_recipe(tx, app.settings, name)
    if recipe is None:
        names = ", ".join(sorted(recipe_names(tx, app.settings)))
        raise NotFound(f"There is no recipe {name!r}.", f"Known recipes: {names}.")
    return recipe


def _refuse_base(change: Mapping[str, Any]) -> None:
    if "base" in change:
        raise Invalid(
            "A change cannot say what a recipe is a copy of.",
            "Copy another recipe under a new name.",
            param="base",
        )


def _sound(value: object, place: str = "") -> None:
    """Refuse what JSON can say and nothing here can use."""
    if isinstance(value, str):
        clean(value, place, len(value), empty=True)
    elif isinstance(value, dict):
        for key, inner in value.items():
            clean(key, "key", MOST)
            _sound(inner, f"{place}.{key}" if place else key)
    elif isinstance(value, list):
        for inner in value:
            _sound(inner, place)
    elif isinstance(value, int | float) and not -MOST <= value <= MOST:
        raise Invalid(f"{place}: {value} is out of range.", "Use a smaller number.", param=place)


def _check(app: Polyvox, recipe: Recipe) -> None:
    """Refuse what would make every later message fail."""
    app.check_model(recipe.model or None)
    if recipe.context:
        ContextLimit.parse(recipe.context)
    try:
        ParamsBody.model_validate(asdict(recipe.params))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(["params", *(str(part) for part in first["loc"])])
        raise Invalid(f"{place}: {complaint(first)}.", "Correct that value.", param=place) from None


def _laid_over(before: Mapping[str, Any], body: dict[str, Any]) -> dict[str, Any]:
    change = dict(before)
    for part, value in body.items():
        if isinstance(value, dict):
            old = change.get(part)
            table = {**old, **value} if isinstance(old, dict) else value
            change[part] = {key: inner for key, inner in table.items() if inner is not None} or None
        else:
            change[part] = value
    return {part: value for part, value in change.items() if value is not None}


def _wording(*recipes: Recipe) -> dict[Literal["full", "compact"], dict[str, str]]:
    """Our texts for every block and phase of these recipes, and of those we ship."""
    every = (*recipes, *BUILT_IN.values())
    names = {DANGER, *(block for entry in every for block in entry.blocks)}
    names |= {phase.name for entry in every for phase in entry.phases}
    full, compact = prompt_set("full").texts, prompt_set("compact").texts
    return {
        "full": {name: full[name] for name in sorted(names & full.keys())},
        "compact": {name: compact[name] for name in sorted(names & compact.keys())},
    }


def _recipe(tx: Tx, app: Polyvox, name: str) -> RecipeOut:
    recipe = _known(tx, app, name)
    configured, stored = app.settings.recipes.get(name), recipes.get(tx, name) or {}
    standard = layered(name, configured or {}, {"base": recipe.base} if recipe.base else {})
    return RecipeOut(
        name=name,
        base=recipe.base or None,
        fixed=not recipe.base or configured is not None,
        recipe=recipe,
        changed=without_base(stored),
        standard=standard,
        wording=_wording(recipe, standard),
    )
