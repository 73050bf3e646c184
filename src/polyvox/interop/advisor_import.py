"""Storing the advisors of a file: all that can be taken, in one transaction.

An advisor that is here already, also with a text it has had and lost since, is not added again. A
slug that somebody else has is not taken from them: the newcomer gets the next free one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace

from polyvox.context.recipe import BUILT_IN, changed
from polyvox.errors import Invalid
from polyvox.interop.advisor_file import AdvisorFile
from polyvox.interop.report import Report, Undo
from polyvox.store import advisors as advisor_rows
from polyvox.store import recipes as recipe_rows
from polyvox.store import versions
from polyvox.store.advisors import AdvisorDetails
from polyvox.store.database import Database, Tx
from polyvox.store.slug import candidates, slug_of
from polyvox.values import Advisor, Params, Scope

REASON = "imported"


async def store(
    database: Database,
    scope: Scope,
    now: int,
    parsed: AdvisorFile,
    *,
    check_model: Callable[[str], object],
    replacing: bool = False,
    dry: bool = False,
) -> Report:
    """Store what a file holds; `dry` tells what would happen. `replacing` gives the advisor that
    has the slug the new words, as a new version. `check_model` raises Invalid for a model that
    nobody here knows."""
    made: list[Report] = []

    def work(tx: Tx) -> None:
        report = Report(refused=list(parsed.refused), notes=list(parsed.notes))
        made[:] = [report]
        for details in parsed.advisors:
            _one(tx, now, _usable(details, check_model, report), replacing, report)
        if parsed.window:
            _window(tx, now, parsed.window, report)
        if dry:
            raise Undo

    with suppress(Undo):
        await database.write(work, scope)
    return made[0]


def _usable(
    details: AdvisorDetails, check_model: Callable[[str], object], report: Report
) -> AdvisorDetails:
    model = details.get("model")
    if model is None:
        return details
    try:
        check_model(model)
    except Invalid as error:
        report.notes.append(f"{details['name']}: {error.message} The default model is used")
        return {**details, "model": None}
    return details


def _one(tx: Tx, now: int, details: AdvisorDetails, replacing: bool, report: Report) -> None:
    wanted = details.get("slug") or slug_of(details["name"], "advisor")
    for other in advisor_rows.list_all(tx):
        if _family(other.slug, wanted) or other.name == details["name"]:
            known = _known(tx, other, details)
            if known is not None and not (replacing and other.slug == wanted):
                report.present.append(f"{other.slug}{known}")
                return
    holder = advisor_rows.find(tx, wanted)
    if holder is not None and replacing:
        if _same(holder, details):
            report.present.append(holder.slug)
            return
        advisor_rows.update(tx, holder.id, now, REASON, _whole(details))
        report.taken.append(f"{holder.slug} (its words replaced; the old ones are in its history)")
        return
    slug = next(free for free in candidates(wanted, "advisor") if not _taken(tx, free))
    made = advisor_rows.create(tx, now, REASON, {**details, "slug": slug})
    instead = f", because {wanted} is somebody else" if slug != wanted else ""
    report.taken.append(f"{made.slug} ({made.name}{instead})")


def _taken(tx: Tx, slug: str) -> bool:
    return advisor_rows.find(tx, slug) is not None


def _family(slug: str, wanted: str) -> bool:
    """True if a slug is the wanted one, or one that stood in for it."""
    return slug == wanted or (
        slug.startswith(f"{wanted}-") and slug.removeprefix(f"{wanted}-").isdecimal()
    )


def _known(tx: Tx, advisor: Advisor, details: AdvisorDetails) -> str | None:
    """A remark on how an advisor is known: "" unchanged, a text where it has changed since; None:
    not at all."""
    if _same(advisor, details):
        return ""
    text = details.get("prompt") or details["description"]
    if any(old.text == text for old in versions.list_all(tx, advisor.id)):
        return " (changed since it was imported)"
    return None


def _same(advisor: Advisor, details: AdvisorDetails) -> bool:
    return replace(advisor, **_whole(details)) == advisor


def _whole(details: AdvisorDetails) -> AdvisorDetails:
    """The fields that the file decides, by naming or omitting them; its place here (slug, whether
    it is active) is not the file's to decide."""
    unsaid: AdvisorDetails = {"prompt": None, "model": None, "voice": None, "params": Params()}
    merged: AdvisorDetails = {**unsaid, **details}
    merged.pop("slug", None)
    merged.pop("active", None)
    return merged


def _window(tx: Tx, now: int, window: Mapping[str, int], report: Report) -> None:
    """The window that the file's agents had becomes that of the recipe `agent`."""
    stored = recipe_rows.get(tx, "agent") or {}
    before = changed(BUILT_IN["agent"], stored)
    change = {**stored, "window": {**stored.get("window", {}), **window}}
    numbers = ", ".join(f"{key} {value}" for key, value in window.items())
    try:
        after = changed(BUILT_IN["agent"], change)
    except Invalid as error:
        report.notes.append(f"the window ({numbers}) is not usable: {error.message}")
        return
    if after.window == before.window:
        report.notes.append(f"the window ({numbers}) is what the recipe agent has")
        return
    recipe_rows.put(tx, "agent", change, now)
    report.notes.append(f"the recipe agent has the file's window now: {numbers}")
