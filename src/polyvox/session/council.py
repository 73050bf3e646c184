"""Who is asked: the advisors of a conversation, and by which recipe."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import replace

from polyvox.advisors import plain_assistant
from polyvox.companion.kernel import embodied
from polyvox.context.recipe import BUILT_IN, Recipe, changed
from polyvox.errors import ConfigError, Invalid
from polyvox.settings import Settings
from polyvox.store import advisors as advisor_rows
from polyvox.store import recipes as recipe_rows
from polyvox.store.database import Tx
from polyvox.values import ASSISTANT_ID, Advisor, Conversation, Scope


def find_recipe(tx: Tx, scope: Scope, settings: Settings, name: str) -> Recipe:
    """A recipe as it is in force: built in, changed by the configuration, then by the user."""
    base = BUILT_IN.get(name)
    if base is None:
        raise Invalid(
            f"There is no recipe {name!r}.",
            f"Known recipes: {', '.join(sorted(BUILT_IN))}.",
            param="recipe",
        )
    recipe = changed(base, settings.recipes.get(name, {}))
    stored = recipe_rows.get(tx, scope, name)
    return changed(recipe, stored) if stored is not None else recipe


def check_recipes(settings: Settings) -> None:
    """Refuse a configuration whose recipes cannot be used, before anything else begins."""
    for name, change in settings.recipes.items():
        if name not in BUILT_IN:
            near = difflib.get_close_matches(name, BUILT_IN, 1, cutoff=0)
            raise ConfigError(
                f"There is no recipe {name!r} to change.", f"Did you mean [recipes.{near[0]}]?"
            )
        try:
            changed(BUILT_IN[name], change)
        except Invalid as error:
            raise ConfigError(f"[recipes.{name}]: {error.message}", error.hint) from None


def everyone(tx: Tx, scope: Scope) -> list[Advisor]:
    """Every advisor of this user, the inactive ones too."""
    return advisor_rows.list_all(tx, scope)


def council_of(
    conversation: Conversation, known: Sequence[Advisor], asked: Sequence[str] | None
) -> tuple[Advisor, ...]:
    """Whom a message goes to: those it names, else the conversation's council, else every active
    advisor, else the plain assistant."""
    by_id = {advisor.id: advisor for advisor in known} | {ASSISTANT_ID: plain_assistant()}
    if asked is not None:
        chosen = [by_id[one] for one in asked if one in by_id]
    elif conversation.advisors is not None:
        chosen = [by_id[one] for one in conversation.advisors if one in by_id]
    else:
        chosen = [advisor for advisor in known if advisor.active]
    return tuple(chosen) or (plain_assistant(),)


def with_model(asked: Sequence[Advisor], model: str | None) -> tuple[Advisor, ...]:
    """The same advisors, all asked with one model where one is given."""
    return tuple(replace(one, model=model) if model else one for one in asked)


def voiced(recipe: Recipe, advisor: Advisor) -> Advisor:
    """The advisor as a recipe lets it speak: a companion speaks from its kernel."""
    return embodied(advisor) if recipe.name == "companion" else advisor
