"""Running summaries on the road: whose thread, by which recipe, as the next message finds it."""

from __future__ import annotations

from polyvox.advisors import plain_assistant
from polyvox.context.recipe import Recipe
from polyvox.memory.asking import Asker
from polyvox.session import council
from polyvox.session.road import Job, Road
from polyvox.session.running_summary import RunningSummaries
from polyvox.session.turn import seat
from polyvox.store.database import Tx
from polyvox.thread import Thread
from polyvox.values import Turn


def running_summaries(road: Road, asker: Asker) -> RunningSummaries:
    """Who makes them."""

    def recipe_of(tx: Tx, name: str) -> Recipe:
        return council.find_recipe(tx, road.settings, name)

    def thread_of(tx: Tx, turn: Turn, recipe: Recipe, advisor_id: str) -> Thread | None:
        known = council.everyone(tx)
        slugs = {one.id: one.slug for one in known}
        for advisor in (*known, plain_assistant()):
            if advisor.id == advisor_id:
                return seat(tx, road, [Job(tx.scope, turn, "", advisor, recipe)], slugs)[0].thread
        return None

    return RunningSummaries(asker, recipe_of, thread_of)
