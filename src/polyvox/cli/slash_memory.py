"""The commands inside a chat that are about memory: what a session is told, what of it is set
aside, why an answer is as it is, and that it is all for now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyvox.cli.choosing import SCOPE
from polyvox.cli.output import note, say, say_beside
from polyvox.cli.show.decided import missing
from polyvox.cli.words import count, one_line
from polyvox.errors import Invalid
from polyvox.session.starting import Strip, running_session, set_veto, strip

if TYPE_CHECKING:
    from polyvox.cli.room import Room

KINDS = {
    "handover": "from before",
    "bridge": "a moment ago",
    "steering": "from yesterday",
    "instruction": "you asked for this",
    "profile": "about you",
    "loop": "still open",
}
WIDTH = 60
"""Most characters of a text that is set aside, to know it by."""


async def list_memory(room: Room, _: list[str]) -> None:
    """what I remember and use here, each with its number"""
    told = await look(room)
    if not told.items:
        off = "" if told.memory else ": memory is switched off for this recipe"
        note(f"Nothing from before is told in this session{off}.")
        return
    out = aside(room, told)
    start = "Told at the start:" if told.session is None else "Told when it began:"
    for when, title in (("start", start), ("later", "Used only if it comes up:")):
        numbered = [each for each in enumerate(told.items, 1) if each[1].when == when]
        if numbered:
            say(title)
        for number, one in numbered:
            set_aside = " (set aside)" if one.item.id in out else ""
            text = " ".join(one.item.text.split())
            say_beside(f"{number:>3}  ", f"{KINDS[one.item.kind]}: {text}{set_aside}")
    for degrade in told.degrades:
        say(f"Missing: {missing(degrade)}.")
    note("/veto N leaves one out of this session; /veto N again takes that back.")


async def veto(room: Room, words: list[str]) -> None:
    """leave one of them out of this session; again: use it"""
    listed = room.listed or (await look(room)).items
    if len(words) != 1 or not words[0].isdecimal() or not 1 <= int(words[0]) <= len(listed):
        raise Invalid("Which one?", "/veto N; /memory lists them with their numbers.")
    chosen = listed[int(words[0]) - 1].item
    told = await strip_of(room)
    out = aside(room, told) ^ {chosen.id}
    if told.session is None or room.conversation is None:
        room.veto = out
    else:
        await set_veto(room.app.road, SCOPE, room.conversation.id, out)
    now = "Set aside in this session" if chosen.id in out else "Used again"
    note(f"{now}: {one_line(chosen.text, WIDTH)}")


async def end(room: Room, _: list[str]) -> None:
    """that's all for now: end the session"""
    app, talk = room.app, room.conversation
    session = None
    if talk is not None:
        now = app.clock()
        session = await app.database.read(
            lambda tx: running_session(tx, SCOPE, app.road, talk, now)
        )
    if session is None:
        raise Invalid("No session is going on.", "Your next message begins one.")
    await app.end_session(SCOPE, session.id)
    room.listed = ()
    note("You ended it here. Your next message begins anew, and knows of it.")


async def strip_of(room: Room) -> Strip:
    """What the next message's session is told, or the running one was."""
    await room.app.catch_up(SCOPE)
    talk = room.conversation
    return await strip(room.app.road, SCOPE, room.recipe or "council", talk.id if talk else None)


async def look(room: Room) -> Strip:
    """The same; its numbers are those that /veto means from now on."""
    told = await strip_of(room)
    room.listed = told.items
    return told


def aside(room: Room, told: Strip) -> set[str]:
    """What is set aside. A running session keeps that itself; else it waits for the message."""
    if told.session is None:
        return room.veto
    return {one.item.id for one in told.items if one.vetoed}


async def greeting(room: Room) -> str:
    """What a person is told of memory before they say anything."""
    told = await look(room)
    if told.session is not None:
        return "Your session goes on; /memory lists what it was told, /end ends it."
    if not told.items:
        return ""
    now = sum(one.when == "start" for one in told.items)
    later = len(told.items) - now
    parts = [f"{now} told now"] if now else []
    parts += [f"{later} if {'it comes' if later == 1 else 'they come'} up"] if later else []
    things = count(len(told.items), "thing")
    them = "it" if len(told.items) == 1 else "them"
    lists = f"/memory lists {them}, /veto N leaves one out."
    return f"I remember {things}: {', '.join(parts)}. {lists}"
