"""A past for a room: sessions that were ingested, lines of the profile, and what was told of them.

await remember(room, "s1", ["My sister Maria keeps bees in Porto."], days=3)
await profile(room, current_focus="the bakery")
told(room.provider.log[-1])["supplemental_context"]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tests.session.room import ME, Room

from polyvox.memory import profile as profiles
from polyvox.memory.transcript import ingest
from polyvox.memory.values import Message, Partition

OWN = Partition.own(ME)
DAY = 86_400_000_000
FILLER = (
    "The tram was late again this morning.",
    "I bought a green lamp for the desk.",
    "Work was long and the coffee cold.",
    "The window in the kitchen does not close.",
    "A letter from the tax office came on Monday.",
    "We had soup with leeks and old bread.",
    "My bicycle has a flat tyre since the weekend.",
    "The concert on Friday was loud but fine.",
    "I read two chapters of the novel about the sea.",
    "The neighbours are painting their fence.",
    "There was snow on the hills this year already.",
    "My shoes got wet in the park.",
)
"""Others' words are rarer beside these: relevance needs something to compare with."""
HEADS = {
    "The person asked for this": "standing_instructions",
    "[USER_CONTEXT]": "user_context",
    "It is ": "handover",
    "[SUPPLEMENTAL_CONTEXT]": "supplemental_context",
}


async def remember(
    room: Room,
    session: str,
    said: Sequence[str | tuple[str, str]],
    *,
    days: float = 1,
    cloud: bool = True,
    partition: Partition = OWN,
) -> None:
    """A session that ended so many days ago; (advisor, text) is what an advisor answered."""
    end = room.polyvox.clock() - round(days * DAY)
    start = end - 60_000_000
    messages = [
        Message("user", one, start + at)
        if isinstance(one, str)
        else Message("assistant", one[1], start + at, one[0])
        for at, one in enumerate([*FILLER, *said])
    ]
    await room.polyvox.database.write(
        lambda tx: ingest(tx, partition, session, None, start, end, messages, cloud=cloud), ME
    )


async def profile(room: Room, **change: Any) -> None:
    """Lines of the profile, written by hand."""
    now = room.polyvox.clock()
    await room.polyvox.database.write(lambda tx: profiles.patch(tx, OWN, change, now), ME)


def system_of(data: Mapping[str, Any]) -> list[str]:
    """The system texts of a logged body of either wire, one by one."""
    given = data.get("system")
    if given is None:
        return [one["content"] for one in data["messages"] if one["role"] == "system"]
    return [given] if isinstance(given, str) else [one["text"] for one in given]


def told(request: Any) -> dict[str, str]:
    """The memory blocks of a logged request by their names, in their order."""
    found: dict[str, str] = {}
    for text in system_of(request.json())[1:]:
        (name,) = [name for head, name in HEADS.items() if text.startswith(head)]
        found[name] = text
    return found


async def trace(room: Room, answer_id: str) -> Any:
    """What was decided for an answer."""
    from polyvox.session.inspect import trace_of

    answer = await room.answer(answer_id)
    return await room.polyvox.database.read(lambda tx: trace_of(tx, answer.turn_id, answer.id), ME)
