"""Recipes in force: built in or the user's own copies, changed by the configuration, then by the
user."""

from __future__ import annotations

import difflib

from polyvox.context.recipe import BUILT_IN, Recipe, layered, shortened, traits_of
from polyvox.errors import ConfigError, Invalid
from polyvox.settings import Settings
from polyvox.store import recipes as recipe_rows
from polyvox.store.database import Tx
from polyvox.values import Conversation


def recipe_names(tx: Tx, settings: Settings) -> list[str]:
    """Every recipe: the built-in ones, then the user's own by name."""
    return [*BUILT_IN, *sorted({*settings.recipes, *recipe_rows.names(tx)} - BUILT_IN.keys())]


def known_recipe(tx: Tx, settings: Settings, name: str) -> Recipe | None:
    """A recipe as it is in force: built in or copied, changed by the configuration, then by the
    user; None where there is none of this name."""
    configured, stored = settings.recipes.get(name), recipe_rows.get(tx, name)
    if name not in BUILT_IN and configured is None and stored is None:
        return None
    return layered(name, configured or {}, stored or {})


def find_recipe(tx: Tx, settings: Settings, name: str) -> Recipe:
    """The same, or Invalid."""
    recipe = known_recipe(tx, settings, name)
    if recipe is None:
        raise Invalid(
            f"There is no recipe {name!r}.",
            f"Known recipes: {', '.join(sorted(recipe_names(tx, settings)))}.",
            param="recipe",
        )
    return recipe


def recipe_for(tx: Tx, settings: Settings, conversation: Conversation) -> Recipe:
    """The recipe by which a conversation goes on, with its phases as the conversation has them."""
    return shortened(usable_recipe(tx, settings, conversation.recipe), conversation.phases)


def usable_recipe(tx: Tx, settings: Settings, name: str) -> Recipe:
    """A recipe as it is in force; the council's where it is gone."""
    return known_recipe(tx, settings, name) or find_recipe(tx, settings, "council")


def endless_recipes(tx: Tx, settings: Settings) -> set[str]:
    """Names of the recipes, of all users, whose sessions idleness never ends."""
    copies = recipe_rows.copies(tx)
    copies |= {name: change.get("base", "") for name, change in settings.recipes.items()}
    bases = copies | {name: name for name in BUILT_IN}
    return {name for name, base in bases.items() if traits_of(base).endless}


def check_recipes(settings: Settings) -> None:
    """Refuse a configuration whose recipes cannot be used, before anything else begins."""
    for name, change in settings.recipes.items():
        near = difflib.get_close_matches(name, BUILT_IN, 1, cutoff=0.8)
        if near and name != near[0] and "base" not in change:
            raise ConfigError(
                f"There is no recipe {name!r} to change.",
                f"Did you mean [recipes.{near[0]}]? For a recipe of your own, write"
                f' base = "{near[0]}" into it.',
            )
        try:
            layered(name, change)
        except Invalid as error:
            raise ConfigError(f"[recipes.{name}]: {error.message}", error.hint) from None
