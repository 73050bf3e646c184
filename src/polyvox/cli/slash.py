"""The commands inside a chat: lines that begin with /. An unknown one names the nearest."""

from __future__ import annotations

import difflib
import re
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from polyvox.cli.lookup import SCOPE, find_advisor
from polyvox.cli.output import note, say, say_beside
from polyvox.cli.receipts import print_receipt, print_trace
from polyvox.cli.show.trace import missing
from polyvox.cli.words import count, one_line
from polyvox.errors import Invalid
from polyvox.receive import clean_name
from polyvox.session.lifecycle import running_session, set_veto
from polyvox.session.preview import Strip, strip
from polyvox.session.trace import trace_of
from polyvox.values import Answer

if TYPE_CHECKING:
    from polyvox.cli.chat import Room

Order = Callable[["Room", list[str]], Awaitable[None]]
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


class Leave(Exception):
    """The person wants to go."""


async def obey(room: Room, line: str) -> None:
    """Do what a line says."""
    name, *words = line[1:].split()
    known = orders(room)
    match = known.get(name.lower())
    if match is None:
        near = difflib.get_close_matches(name.lower(), known, 1, cutoff=0.3)
        hint = f"Did you mean /{near[0]}? " if near else ""
        raise Invalid(f"There is no command /{name}.", f"{hint}/help lists them all.")
    await match[1](room, words)


async def _help(room: Room, _: list[str]) -> None:
    known = orders(room).values()
    widest = max(len(usage) for usage, _ in known)
    for usage, order in known:
        say(f"{usage:<{widest}}  {order.__doc__}")
    only = "" if room.alone is not None else " @slug in it asks only that advisor,"
    say(f"Anything else is a message;{only} // begins one with a /.")


async def _new(room: Room, _: list[str]) -> None:
    """begin a new conversation"""
    room.conversation = None
    room.turn_id = None
    room.listed = ()
    note("A new conversation begins with your next message.")


async def _advisors(room: Room, _: list[str]) -> None:
    """who there is; * are those who are asked"""
    advisors = await room.app.advisors.list(SCOPE)
    chosen = room.conversation.advisors if room.conversation is not None else None
    if room.alone is not None:
        chosen = (room.alone.id,)
    for advisor in advisors:
        asked = advisor.active if chosen is None else advisor.id in chosen
        if room.only is not None:
            asked = advisor.slug in room.only
        say(f"{'*' if asked else ' '} {advisor.slug:<16} {advisor.name}")


async def _only(room: Room, words: list[str]) -> None:
    """ask only these from now on"""
    if not words:
        raise Invalid("Whom?", "/only SLUG …; /all asks everyone again.")
    room.only = [await _slug(room, word) for word in words]
    note(f"Only {', '.join(room.only)} from now on; /all asks everyone again.")


async def _all(room: Room, _: list[str]) -> None:
    """ask everyone again"""
    room.only = None
    note("Everyone is asked again.")


async def _retry(room: Room, words: list[str]) -> None:
    """complete what failed, was stopped or cut off"""
    answers = [answer for answer in await _last(room, words) if answer.state != "completed"]
    if not answers:
        raise Invalid(
            "There is nothing to retry in the last turn.", "/regenerate SLUG writes anew."
        )
    room.close(await room.talk.again(answers, retry=True))


async def _regenerate(room: Room, words: list[str]) -> None:
    """have the last answer written anew"""
    answers = [answer for answer in await _last(room, words) if answer.kind == "advisor"]
    room.close(await room.talk.again(answers, retry=False))


async def _exclude(room: Room, words: list[str]) -> None:
    """keep an answer (or `message`) out of later requests"""
    await _exclusion(room, words, excluded=True)


async def _include(room: Room, words: list[str]) -> None:
    """let it in again"""
    await _exclusion(room, words, excluded=False)


async def _exclusion(room: Room, words: list[str], *, excluded: bool) -> None:
    if not words and room.alone is None:
        raise Invalid("Which one?", "Name an advisor of the last turn, or write: message.")
    how = "left out of later requests" if excluded else "part of later requests again"
    if words == ["message"]:
        turn = (await room.app.view(SCOPE, _conversation(room), None, 1)).turns[-1][0]
        await room.app.turns.exclude_message(SCOPE, turn.message_id, excluded)
        note(f"Your last message, with the answers to it, is {how}.")
        return
    for answer in await _last(room, words):
        await room.app.turns.exclude_answer(SCOPE, answer.id, excluded)
        note(f"What {answer.advisor_name} said is {how}.")


async def _synthesize(room: Room, _: list[str]) -> None:
    """bring the answers of the last turn together"""
    room.close(await room.talk.synthesize(_conversation(room), _turn(room)))


async def _exchange(room: Room, words: list[str]) -> None:
    """let them respond to each other for N rounds"""
    if words and not words[0].isdecimal():
        raise Invalid(f"{words[0]!r} is not a number of rounds.", "/exchange 2")
    rounds = int(words[0]) if words else 1
    room.close(await room.talk.exchange(_conversation(room), _turn(room), rounds))


async def _receipt(room: Room, words: list[str]) -> None:
    """what an advisor was sent in the last turn, and why"""
    answer = await _one(room, words, "/receipt SLUG")
    print_receipt(await room.app.receipt(SCOPE, answer.id))


async def _why(room: Room, words: list[str]) -> None:
    """why the last answer is as it is, step by step"""
    answer = await _one(room, words, "/why SLUG")
    trace = await room.app.database.read(lambda tx: trace_of(tx, answer.turn_id, answer.id), SCOPE)
    print_trace(trace)


async def _title(room: Room, words: list[str]) -> None:
    """call this conversation something"""
    title = " ".join(words)
    clean_name(title, "title", 200)
    room.conversation = await room.app.change_conversation(
        SCOPE, _conversation(room), {"title": title}
    )
    note(f"It is called “{title}” now.")


async def _quit(_room: Room, _: list[str]) -> None:
    """leave"""
    raise Leave


async def _memory(room: Room, _: list[str]) -> None:
    """what I remember and use here, each with its number"""
    packet = await _look(room)
    if not packet.items:
        off = "" if packet.memory else ": memory is switched off for this recipe"
        note(f"Nothing from before is told in this session{off}.")
        return
    vetoed = _set_aside(room, packet)
    start = "Told at the start:" if packet.session is None else "Told when it began:"
    for when, title in (("start", start), ("later", "Used only if it comes up:")):
        numbered = [each for each in enumerate(packet.items, 1) if each[1].when == when]
        if numbered:
            say(title)
        for number, shown in numbered:
            set_aside = " (set aside)" if shown.item.id in vetoed else ""
            text = " ".join(shown.item.text.split())
            say_beside(f"{number:>3}  ", f"{KINDS[shown.item.kind]}: {text}{set_aside}")
    for degrade in packet.degrades:
        say(f"Missing: {missing(degrade)}.")
    note("/veto N leaves one out of this session; /veto N again takes that back.")


async def _veto(room: Room, words: list[str]) -> None:
    """leave one of them out of this session; again: use it"""
    listed = room.listed or (await _look(room)).items
    if len(words) != 1 or not words[0].isdecimal() or not 1 <= int(words[0]) <= len(listed):
        raise Invalid("Which one?", "/veto N; /memory lists them with their numbers.")
    chosen = listed[int(words[0]) - 1].item
    packet = await _strip(room)
    vetoed = _set_aside(room, packet) ^ {chosen.id}
    if packet.session is None or room.conversation is None:
        room.veto = vetoed
    else:
        await set_veto(room.app.resources, SCOPE, room.conversation.id, vetoed)
    now = "Set aside in this session" if chosen.id in vetoed else "Used again"
    note(f"{now}: {one_line(chosen.text, WIDTH)}")


async def _end(room: Room, _: list[str]) -> None:
    """that's all for now: end the session"""
    app, talk = room.app, room.conversation
    session = None
    if talk is not None:
        now = app.clock()
        session = await app.database.read(
            lambda tx: running_session(tx, app.settings, talk, now), SCOPE
        )
    if session is None:
        raise Invalid("No session is going on.", "Your next message begins one.")
    await app.end_session(SCOPE, session.id)
    room.listed = ()
    note("You ended it here. Your next message begins anew, and knows of it.")


async def _strip(room: Room) -> Strip:
    """The packet that the next message's session is told, or the running one was."""
    await room.app.catch_up.all(SCOPE)
    talk = room.conversation
    app, recipe = room.app, room.recipe or "council"
    where = talk.id if talk else None
    return await strip(app.resources, app.services.current, SCOPE, recipe, where)


async def _look(room: Room) -> Strip:
    """The same; its numbers are those that /veto means from now on."""
    packet = await _strip(room)
    room.listed = packet.items
    return packet


def _set_aside(room: Room, packet: Strip) -> set[str]:
    """Ids that are set aside. A running session keeps them; else they wait for the message."""
    if packet.session is None:
        return room.veto
    return {shown.item.id for shown in packet.items if shown.vetoed}


async def greeting(room: Room) -> str:
    """The greeting's words about memory; empty where there is nothing."""
    packet = await _look(room)
    if packet.session is not None:
        return "Your session goes on; /memory lists what it was told, /end ends it."
    if not packet.items:
        return ""
    now = sum(shown.when == "start" for shown in packet.items)
    later = len(packet.items) - now
    parts = [f"{now} told now"] if now else []
    parts += [f"{later} if {'it comes' if later == 1 else 'they come'} up"] if later else []
    things = count(len(packet.items), "thing")
    them = "it" if len(packet.items) == 1 else "them"
    lists = f"/memory lists {them}, /veto N leaves one out."
    return f"I remember {things}: {', '.join(parts)}. {lists}"


_help.__doc__ = "what can be typed here"

ORDERS: dict[str, tuple[str, Order]] = {
    "help": ("/help", _help),
    "new": ("/new", _new),
    "advisors": ("/advisors", _advisors),
    "only": ("/only SLUG …", _only),
    "all": ("/all", _all),
    "retry": ("/retry [SLUG …]", _retry),
    "regenerate": ("/regenerate [SLUG …]", _regenerate),
    "exclude": ("/exclude SLUG …", _exclude),
    "include": ("/include SLUG …", _include),
    "synthesize": ("/synthesize", _synthesize),
    "exchange": ("/exchange [N]", _exchange),
    "receipt": ("/receipt [SLUG]", _receipt),
    "why": ("/why [SLUG]", _why),
    "memory": ("/memory", _memory),
    "veto": ("/veto N", _veto),
    "end": ("/end", _end),
    "title": ("/title TEXT", _title),
    "quit": ("/quit", _quit),
}
OF_A_COUNCIL = ("advisors", "only", "all", "synthesize", "exchange")


def orders(room: Room) -> dict[str, tuple[str, Order]]:
    """The commands that make sense here: who is alone has nobody to choose from."""
    if room.alone is None:
        return ORDERS
    return {
        name: (re.sub(r" \[?SLUG.*", "", usage), order)
        for name, (usage, order) in ORDERS.items()
        if name not in OF_A_COUNCIL
    }


def _conversation(room: Room) -> str:
    if room.conversation is None:
        raise Invalid("Nothing has been said yet.", "Send a message first.")
    return room.conversation.id


def _turn(room: Room) -> str:
    if room.turn_id is None:
        raise Invalid("Nothing has been said yet.", "Send a message first.")
    return room.turn_id


async def _one(room: Room, words: list[str], usage: str) -> Answer:
    answers = await _last(room, words)
    if len(answers) > 1 and not words:
        raise Invalid("Whose?", usage)
    return answers[-1]


async def _last(room: Room, words: list[str]) -> list[Answer]:
    """The current answers of the last turn; of these advisors, where some are named."""
    answers = [answer for answer in await room.talk.answers(_turn(room)) if answer.current]
    if not words:
        return answers
    chosen: list[Answer] = []
    for word in words:
        mine = [answer for answer in answers if await _is(room, answer, word)]
        if not mine:
            names = ", ".join(dict.fromkeys(answer.advisor_name for answer in answers))
            raise Invalid(f"{word!r} did not answer in the last turn.", f"Those who did: {names}.")
        chosen += mine[-1:]
    return chosen


async def _is(room: Room, answer: Answer, word: str) -> bool:
    if word.casefold() in (answer.advisor_name.casefold(), answer.kind):
        return True
    who = find_advisor(word, await room.app.advisors.list(SCOPE))
    return who is not None and who.id == answer.advisor_id


async def _slug(room: Room, word: str) -> str:
    advisors = await room.app.advisors.list(SCOPE)
    advisor = find_advisor(word, advisors)
    if advisor is None:
        slugs = ", ".join(each.slug for each in advisors) or "none yet"
        raise Invalid(f"There is no advisor {word!r}.", f"Known advisors: {slugs}.")
    return advisor.slug
