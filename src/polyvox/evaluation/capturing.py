"""Capturing: an answer's context, whole, from its receipt, with the advisor as it was then."""

from __future__ import annotations

from dataclasses import replace

from polyvox.advisors import plain_assistant
from polyvox.context.recipe import BUILT_IN
from polyvox.errors import NotFound
from polyvox.evaluation.contexts import Context, captured
from polyvox.session.council import find_recipe
from polyvox.session.inspect import inspect
from polyvox.settings import Settings
from polyvox.store import advisors, receipts, turns, versions
from polyvox.store.database import Tx
from polyvox.values import ASSISTANT_ID, SYNTHESIS_ID, Advisor, Answer


def context_of(tx: Tx, settings: Settings, answer: Answer) -> Context | None:
    """What an advisor was sent for an answer; None where nobody knows, for it came from elsewhere
    or ended before its model could be asked."""
    if receipts.find(tx, answer.id) is None:
        return None
    receipt = inspect(tx, answer.id).receipt
    name = receipt.draft.recipe
    recipe = find_recipe(tx, settings, name) if name in BUILT_IN else None
    asked = turns.get_turn(tx, answer.turn_id).content
    return captured(receipt, advisor_then(tx, answer), recipe, asked)


def advisor_then(tx: Tx, answer: Answer) -> Advisor:
    """Who gave an answer, with the name and the prompt version of that time."""
    if answer.advisor_id == ASSISTANT_ID:
        return plain_assistant()
    if answer.advisor_id == SYNTHESIS_ID:
        return Advisor(SYNTHESIS_ID, SYNTHESIS_ID, answer.advisor_name, "")
    known = advisors.even_removed(tx, answer.advisor_id)
    now = known or Advisor(answer.advisor_id, "", answer.advisor_name, "")
    then = replace(now, name=answer.advisor_name)
    if answer.prompt_version_id is None:
        return then
    try:
        version = versions.get(tx, answer.prompt_version_id)
    except NotFound:  # an imported answer may name a version that did not come with it
        return then
    if version.field == "prompt":
        return replace(then, prompt=version.text)
    return replace(then, prompt=None, description=version.text)
