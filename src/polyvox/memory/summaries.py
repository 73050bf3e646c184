"""Summaries of sessions: in a model's words where one is set, else in the person's own.

Only what the person said is told, with the ids of the messages it tells of, so that it is known
what a summary rests on and when it has to go.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, tzinfo

from polyvox.errors import ProtocolError
from polyvox.memory.asking import Asker, prompt, text_of
from polyvox.memory.extract import Said, as_data
from polyvox.memory.handover import quote
from polyvox.memory.tables.derived import Summary
from polyvox.values import Scope

LONGEST = 700
MOST_CHARS = 24_000
"""Of a longer session, its beginning and its end are told."""


async def summarise(
    asker: Asker,
    scope: Scope,
    session_id: str,
    said: Sequence[Said],
    zone: tzinfo | None = UTC,
) -> Summary:
    """The summary of a session that has something said in it."""
    name = asker.model
    allowed = said
    if name is not None and asker.is_cloud(name):
        allowed = [one for one in said if one.cloud]
    text, told, model = quoting(said), list(said), ""
    if name is not None and allowed:
        told, model = _some(allowed), name
        data = await asker.ask(scope, name, prompt("summary"), as_data(told, zone), "summary")
        text = text_of(data, "summary", LONGEST)
        if not text:
            raise ProtocolError(
                f"{name} wrote an empty summary.",
                "Retry the job, or name a more capable model as models.memory.",
            )
    return Summary(
        "session",
        session_id,
        text,
        tuple(one.episode.id for one in told),
        model,
        all(one.cloud for one in told),
        max(one.at for one in told),
        asker.clock(),
    )


def quoting(said: Sequence[Said]) -> str:
    """What a session began and ended with, in the person's own words."""
    first, last = quote(said[0].episode.text, 24), quote(said[-1].episode.text, 24)
    if len(said) == 1 or not last:
        return f"They said {first}."
    count = len(said) - 2
    between = f", {count} more message{'s' if count != 1 else ''} between" if count else ""
    return f"They began with {first} and ended with {last}{between}."


def _some(said: Sequence[Said]) -> list[Said]:
    """As much as a model is shown: from both ends."""
    if sum(len(one.episode.text) for one in said) <= MOST_CHARS:
        return list(said)
    kept: dict[int, Said] = {}
    left = MOST_CHARS
    ends = [
        at for pair in zip(range(len(said)), reversed(range(len(said))), strict=True) for at in pair
    ]
    for at in ends:
        left -= len(said[at].episode.text)
        if left < 0 and kept:
            break
        kept[at] = said[at]
    return [kept[at] for at in sorted(kept)]
