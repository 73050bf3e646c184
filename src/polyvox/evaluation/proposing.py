"""Suggesting assertions: what an answer itself shows, and what a model proposes. Nothing is made.

The rules always have something to offer, so a model that is missing, too small or away takes away
its own share and says so; only a cap on spending is an error.
"""

from __future__ import annotations

from dataclasses import dataclass

from polyvox.caps import check_caps
from polyvox.errors import Conflict, ModelError
from polyvox.evaluation import suggest as suggesting
from polyvox.evaluation.calls import Calls
from polyvox.evaluation.judge import judge_model
from polyvox.evaluation.suggest import Proposed
from polyvox.evaluation.tables import assertions
from polyvox.evaluation.tables.assertions import Wanted
from polyvox.evaluation.wordings import Wording
from polyvox.models.base import Request
from polyvox.models.providers import EMBEDDED
from polyvox.resources import Resources
from polyvox.store import turns
from polyvox.store.database import Tx
from polyvox.values import ENDED, Answer, Scope

TOO_SMALL = (
    "These were found by rules. The embedded model is far too small to propose more: set"
    " models.judge, or a key for a provider."
)


@dataclass(frozen=True, slots=True)
class Suggested:
    """What could be asserted of an answer."""

    proposals: tuple[Proposed, ...]
    model: str
    """Who proposed; empty: only the rules did."""
    note: str
    """Why a model did not, where it did not."""


async def suggest(
    resources: Resources,
    scope: Scope,
    answer_id: str,
    count: int = suggesting.COUNT,
    model: str | None = None,
) -> Suggested:
    """Assertions that hold of an answer and that its advisor does not have yet."""
    if model:
        resources.models.check_name(model)

    def read(tx: Tx) -> tuple[Answer, str, list[Wording]]:
        answer = turns.get_answer(tx, answer_id)
        if answer.state not in ENDED:
            raise Conflict("The answer is still being written.", "Wait until it has ended.")
        if not answer.text.strip():
            raise Conflict("The answer says nothing.", "Take one that says something.")
        asked = turns.get_turn(tx, answer.turn_id).content
        known = assertions.list_all(tx, Wanted(advisor_id=answer.advisor_id))
        return answer, asked, [Wording(one.text, one.kind, one.args) for one in known]

    answer, asked, known = await resources.database.read(read, scope)
    taken = {one.kind for one in known}
    found = [one for one in suggesting.by_rule(answer.text) if one.kind not in taken]
    name = model or judge_model(resources.settings, resources.models)
    if name is None or name == EMBEDDED:
        return Suggested(tuple(found), "", TOO_SMALL)

    async def afford(_: str, __: Request) -> None:
        limits = resources.settings.limits
        await resources.database.read(
            lambda tx: check_caps(tx, limits, "", None, resources.clock()), scope
        )

    calls = Calls(scope, resources.models, resources.database, resources.clock, afford=afford)
    request = suggesting.ask(asked, answer.text, [one.text for one in known], count)
    try:
        reply = await calls.ask(name, request)
    except ModelError as error:
        return Suggested(
            tuple(found), "", f"Found by rules alone: {name} gave nothing. {error.message}"
        )
    said = suggesting.read(reply.text, reply.model, known, count)
    offered = {one.kind for one in found}
    more = [one for one in said if one.kind == "judge" or one.kind not in offered]
    note = "" if said else f"{reply.model} proposed nothing that can be used; try again."
    return Suggested((*more, *found), reply.model, note)
