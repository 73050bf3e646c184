"""The conversation, recipe, council or advisor that a name means; names and colours of advisors,
also of those that were removed since."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from polyvox.app import Polyvox
from polyvox.errors import Invalid, NotFound
from polyvox.receive import mended_name
from polyvox.store.advisors import everyone
from polyvox.values import ASSISTANT_ID, SYNTHESIS_ID, Advisor, Conversation, Scope

SCOPE = Scope()

PALETTE = ("#2b7fa3", "#7d6bc9", "#bf4a7c", "#9c7000", "#4a8f41", "#c25a33")
GREY = "#808080"
LONGEST = 200
MOST_PHASES = 1000
"""Characters of a name that are shown."""
DIMMEST = 0.19
"""Relative luminance: as far from black as from white, so that it reads on both."""


async def find_conversation(app: Polyvox, name: str) -> Conversation:
    """A conversation by its id, or the `last` one that was spoken in."""
    if name != "last":
        return await app.conversations.get(SCOPE, name)
    latest = await app.conversations.latest(SCOPE)
    if latest is None:
        raise NotFound("There is no conversation yet.", 'Begin one: polyvox ask "…"')
    return latest


async def choose_conversation(
    app: Polyvox, name: str | None, recipe: str | None, council: str | None
) -> Conversation | None:
    """The conversation to go on with, where one is named; else a new one begins. Refuses a recipe
    or a council that it cannot have."""
    chosen = await find_conversation(app, name) if name else None
    await check_recipe(app, recipe, chosen)
    if council is not None:
        await app.councils.get(SCOPE, council)
        if chosen is not None:
            raise Invalid(
                "That conversation has its council already.",
                "Leave --council away, or begin a new conversation.",
            )
    return chosen


async def check_recipe(app: Polyvox, name: str | None, chosen: Conversation | None = None) -> None:
    """Refuse a recipe that does not exist, or that is not the conversation's own."""
    await app.check_recipe(SCOPE, name)
    if name is not None and chosen is not None and chosen.recipe != name:
        raise Invalid(
            f"That conversation has the recipe {chosen.recipe}, not {name}.",
            "Leave --recipe away, or begin a new conversation.",
        )


def read_phases(text: str) -> int | None:
    """The answers in which advisors only ask, as a person types them; None: as the recipe says."""
    if text == "recipe":
        return None
    if text == "off":
        return 0
    if not text.isdecimal() or int(text) > MOST_PHASES:
        raise Invalid(f"{text!r} is not a number of answers.", "Use 0 to 1000, off, or recipe.")
    return int(text)


def find_advisor(name: str, advisors: Sequence[Advisor]) -> Advisor | None:
    """An advisor by slug, @slug, @ai-slug or name, in any case; by its id too."""
    wanted = name.strip().casefold()
    plain = wanted.removeprefix("@")
    for key in (wanted, plain, plain.removeprefix("ai-")):
        for advisor in advisors:
            if key in (advisor.slug, advisor.name.casefold(), advisor.id):
                return advisor
    return None


class People:
    """Everyone who ever answered."""

    def __init__(self, known: Mapping[str, Advisor]) -> None:
        self._known = known

    @classmethod
    async def of(cls, app: Polyvox, scope: Scope) -> People:
        """Read the advisors of this user, each with a colour that can be seen."""
        advisors = await app.database.read(everyone, scope)
        colors = (a.color or PALETTE[at % len(PALETTE)] for at, a in enumerate(advisors))
        drawn = zip(advisors, colors, strict=True)
        return cls({a.id: replace(a, color=legible(color)) for a, color in drawn})

    def get(self, advisor_id: str, name: str = "") -> Advisor:
        """The advisor of that id, under the name it had at the time where one is given."""
        advisor = self._known.get(advisor_id)
        if advisor is None:
            own = {ASSISTANT_ID: "Assistant", SYNTHESIS_ID: "Synthesis"}.get(advisor_id, "")
            name = mended_name(name or own or advisor_id, LONGEST, "somebody")
            return Advisor(advisor_id, advisor_id, name, "", color=GREY)
        return replace(advisor, name=mended_name(name or advisor.name, LONGEST, advisor.slug))


def legible(color: str) -> str:
    """The colour, lightened where it would drown on a dark screen."""
    try:
        parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    except ValueError:
        return GREY
    for _ in range(20):
        if _luminance(parts) >= DIMMEST:
            break
        parts = [part + (1 - part) * 0.06 for part in parts]
    return "#" + "".join(f"{round(part * 255):02x}" for part in parts)


def _luminance(parts: list[float]) -> float:
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
