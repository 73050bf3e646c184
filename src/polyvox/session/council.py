"""The advisors of a conversation, and the recipe by which they are asked."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import replace

from polyvox.advisors import plain_assistant
from polyvox.companion.kernel import embodied, opening
from polyvox.companion.personas import find_or_make
from polyvox.context.recipe import BUILT_IN, Recipe, changed, traits_of
from polyvox.errors import ConfigError, Invalid
from polyvox.models.base import ModelFacts
from polyvox.resources import Resources
from polyvox.settings import Settings
from polyvox.store import advisors as advisor_rows
from polyvox.store import recipes as recipe_rows
from polyvox.store.database import Tx
from polyvox.values import ASSISTANT_ID, Advisor, Conversation, Params, Scope

PERSONA = "harbor"
"""Whom a companion conversation is with where nobody was named."""


def find_recipe(tx: Tx, settings: Settings, name: str) -> Recipe:
    """A recipe as it is in force: built in, changed by the configuration, then by the user."""
    base = BUILT_IN.get(name)
    if base is None:
        raise Invalid(
            f"There is no recipe {name!r}.",
            f"Known recipes: {', '.join(sorted(BUILT_IN))}.",
            param="recipe",
        )
    recipe = changed(base, settings.recipes.get(name, {}))
    stored = recipe_rows.get(tx, name)
    return changed(recipe, stored) if stored is not None else recipe


def recipe_of(resources: Resources, tx: Tx, name: str) -> Recipe:
    """A recipe as it is in force by the settings of now."""
    return find_recipe(tx, resources.settings, name)


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


def everyone(tx: Tx) -> list[Advisor]:
    """Every advisor of this user, the inactive ones too."""
    return advisor_rows.list_all(tx)


def council_of(
    conversation: Conversation, known: Sequence[Advisor], asked: Sequence[str] | None
) -> tuple[Advisor, ...]:
    """Choose the advisors of a message: those it names, else the conversation's council, else every
    active advisor, else the plain assistant. A companion is one voice: where nobody is named it is
    the first persona, which may not be stored yet (`keep_persona`)."""
    by_id = {advisor.id: advisor for advisor in known} | {ASSISTANT_ID: plain_assistant()}
    if asked is not None:
        chosen = [by_id[advisor_id] for advisor_id in asked if advisor_id in by_id]
    elif conversation.advisors is not None:
        ids = conversation.advisors
        chosen = [by_id[advisor_id] for advisor_id in ids if advisor_id in by_id]
    elif traits_of(conversation.recipe).persona:
        chosen = [_persona(known)]
    else:
        chosen = [advisor for advisor in known if advisor.active]
    return tuple(chosen) or (plain_assistant(),)


def _persona(known: Sequence[Advisor]) -> Advisor:
    """The persona for whoever named nobody. Its slug is its id until it is stored."""
    stored = next((advisor for advisor in known if advisor.slug == PERSONA), None)
    return stored or Advisor(PERSONA, PERSONA, PERSONA.capitalize(), opening(PERSONA))


async def keep_persona(resources: Resources, scope: Scope, asked: Sequence[Advisor]) -> bool:
    """Store the persona among these that is not stored yet; True if there is one."""
    if all(advisor.id != PERSONA for advisor in asked):
        return False
    now = resources.clock()
    await resources.database.write(lambda tx: find_or_make(tx, PERSONA, now), scope)
    return True


def with_model(asked: Sequence[Advisor], model: str | None) -> tuple[Advisor, ...]:
    """The same advisors, all asked with one model where one is given."""
    return tuple(replace(advisor, model=model) if model else advisor for advisor in asked)


def voiced(recipe: Recipe, advisor: Advisor) -> Advisor:
    """The advisor as a recipe lets it speak: a companion speaks from its kernel."""
    return embodied(advisor) if recipe.traits.persona else advisor


def model_for(resources: Resources, recipe: Recipe, advisor: Advisor) -> str:
    """The model an advisor is asked with: its own, else the recipe's, else the default."""
    return advisor.model or recipe.model or resources.models.default


def params_for(resources: Resources, recipe: Recipe, advisor: Advisor, facts: ModelFacts) -> Params:
    """The parameters of a request: the advisor's, then the recipe's, the model's, the settings'."""
    base = Params(max_tokens=facts.max_tokens or resources.settings.limits.max_tokens)
    return advisor.params.over(recipe.params.over(base))
