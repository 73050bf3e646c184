"""Companion personas as advisors: those that come with the program are made when first talked to,
inactive, so that no council has them unasked; and the one conversation with each."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from pathlib import Path

from polyvox.errors import NotFound
from polyvox.ids import Clock, content_hash
from polyvox.store import advisors, conversations
from polyvox.store.database import Database, Tx
from polyvox.values import Advisor, Conversation, Scope

# -- a persona's kernel: its fragment files, joined in the order of their names, read once ---------
# None of its sentences is added again as a runtime block. A persona that the person wrote, or
# changed, has its advisor's prompt or description for a kernel: the shipped one is never put over
# it.

FOLDER = Path(__file__).parent / "personas"
OPENINGS = "openings.md"
"""A slug and a hash in each line: every opening that was ever shipped, those of today too."""
FALLBACK = "You are {name}, a companion. You listen, and you answer plainly and kindly."
"""Where nothing else says who a persona is."""


@functools.cache
def shipped() -> dict[str, str]:
    """The kernels that come with the program, by slug."""
    found = {}
    for folder in sorted(path for path in FOLDER.glob("*") if path.is_dir()):
        parts = [path.read_text("utf-8").strip() for path in sorted(folder.glob("*.md"))]
        if any(parts):
            found[folder.name] = "\n\n".join(part for part in parts if part)
    return found


@functools.cache
def openings() -> frozenset[tuple[str, str]]:
    """Which descriptions are a shipped persona's own, by slug and hash. Whoever has one of them has
    changed nothing, though it be of an earlier release."""
    path = FOLDER / OPENINGS
    lines = path.read_text("utf-8").splitlines() if path.is_file() else []
    return frozenset((slug, known) for slug, _, known in (one.partition(" ") for one in lines))


def opening(slug: str) -> str:
    """Who a shipped persona is, in its first fragment: the description of its advisor."""
    first = min((FOLDER / slug).glob("*.md"), default=None)
    return "" if first is None else first.read_text("utf-8").strip()


def kernel(advisor: Advisor) -> str:
    """The persona's text: what the person wrote for it, else the shipped kernel of its slug."""
    if advisor.prompt and advisor.prompt.strip():
        return advisor.prompt.strip()
    described = advisor.description.strip()
    own = (advisor.slug, content_hash(described)) in openings()
    whole = shipped().get(advisor.slug) if own else None
    return whole or described or FALLBACK.format(name=advisor.name)


def embodied(advisor: Advisor) -> Advisor:
    """The same advisor, with its kernel as its identity."""
    return replace(advisor, prompt=kernel(advisor))


RECIPE = "companion"
COLORS = {"harbor": "#2f6f73", "flint": "#a4502f", "margin": "#5d5a8c"}
ABOUT = {
    "harbor": "Warm and unhurried: for the end of a day, or the start of a hard one.",
    "flint": "Brief and direct: for what you have been circling and want to begin.",
    "margin": "A careful reader: marks, questions, and a line back to an earlier page.",
}
"""Who those that come with the program are, for the person who chooses one, in this order."""


@dataclass(frozen=True, slots=True)
class Persona:
    """Somebody to talk to alone."""

    slug: str
    name: str
    about: str
    """A description for the person who chooses."""
    color: str
    shipped: bool
    """True if it comes with the program."""
    advisor_id: str | None = None
    """None until somebody talks to it."""
    conversation_id: str | None = None
    """The conversation with it alone that was spoken in last."""


def personas(tx: Tx) -> list[Persona]:
    """Those that come with the program, then the advisors that somebody talks to alone."""
    ours = [*ABOUT, *(slug for slug in shipped() if slug not in ABOUT)]
    found = [_persona(tx, slug, advisors.find(tx, slug)) for slug in ours]
    known = {persona.advisor_id for persona in found}
    for one in conversations.sole_advisors(tx, RECIPE):
        advisor = None if one in known else advisors.find(tx, one)
        if advisor is not None:
            found.append(_persona(tx, advisor.slug, advisor))
    return found


def _persona(tx: Tx, slug: str, advisor: Advisor | None) -> Persona:
    ours = slug in shipped()
    if advisor is None:
        return Persona(slug, slug.capitalize(), ABOUT.get(slug, ""), COLORS.get(slug, ""), ours)
    as_it_came = ours and kernel(advisor) == shipped()[slug]
    about = ABOUT.get(slug, "") if as_it_came else advisor.description
    talk = _latest(tx, advisor)
    talk_id = None if talk is None else talk.id
    return Persona(advisor.slug, advisor.name, about, advisor.color, ours, advisor.id, talk_id)


def find_or_make(tx: Tx, key: str, now: int) -> Advisor:
    """A persona by its id or slug; a shipped one is made where it is missing."""
    found = advisors.find(tx, key)
    if found is not None:
        return found
    slug = key.removeprefix("@").casefold()
    if slug not in shipped():
        raise NotFound(
            f"There is no persona {key[:80]!r}.",
            f"Give an advisor's id or slug, or one of: {', '.join(shipped())}.",
        )
    return advisors.create(
        tx,
        now,
        reason="companion",
        slug=slug,
        name=slug.capitalize(),
        description=opening(slug),
        color=COLORS.get(slug, ""),
        active=False,
    )


async def meet(
    database: Database, clock: Clock, scope: Scope, key: str, recipe: str = RECIPE
) -> tuple[Advisor, Conversation]:
    """A persona, and the conversation with it alone by this recipe that was spoken in last (or a
    new one)."""

    def look(tx: Tx) -> tuple[Advisor, Conversation] | None:
        persona = advisors.find(tx, key)
        talk = None if persona is None else _latest(tx, persona, recipe)
        return None if persona is None or talk is None else (persona, talk)

    def make(tx: Tx) -> tuple[Advisor, Conversation]:
        now = clock()
        persona = find_or_make(tx, key, now)
        talk = _latest(tx, persona, recipe) or conversations.create(
            tx, now, title=persona.name, recipe=recipe, advisors=[persona.id]
        )
        return persona, talk

    found = await database.read(look, scope)
    return found if found is not None else await database.write(make, scope)


def _latest(tx: Tx, persona: Advisor, recipe: str = RECIPE) -> Conversation | None:
    return conversations.latest(tx, recipe=recipe, advisor_id=persona.id)
