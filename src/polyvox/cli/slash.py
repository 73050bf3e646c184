"""The commands inside a chat: lines that begin with /. An unknown one names the nearest."""

from __future__ import annotations

import difflib
import re
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from polyvox.cli import slash_memory
from polyvox.cli.choosing import SCOPE
from polyvox.cli.output import note, say
from polyvox.cli.people import look_up
from polyvox.errors import Invalid
from polyvox.values import Answer

if TYPE_CHECKING:
    from polyvox.cli.room import Room

Order = Callable[["Room", list[str]], Awaitable[None]]


async def obey(room: Room, line: str) -> None:
    """Do what a line says."""
    name, *words = line[1:].split()
    known = orders(room)
    found = known.get(name.lower())
    if found is None:
        near = difflib.get_close_matches(name.lower(), known, 1, cutoff=0.3)
        hint = f"Did you mean /{near[0]}? " if near else ""
        raise Invalid(f"There is no command /{name}.", f"{hint}/help lists them all.")
    await found[1](room, words)


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
    everyone = await room.app.advisors.list(SCOPE)
    chosen = room.conversation.advisors if room.conversation is not None else None
    if room.alone is not None:
        chosen = (room.alone.id,)
    for one in everyone:
        asked = one.active if chosen is None else one.id in chosen
        if room.only is not None:
            asked = one.slug in room.only
        say(f"{'*' if asked else ' '} {one.slug:<16} {one.name}")


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
    answers = [one for one in await _last(room, words) if one.state != "completed"]
    if not answers:
        raise Invalid(
            "There is nothing to retry in the last turn.", "/regenerate SLUG writes anew."
        )
    room.told(await room.talk.again(answers, retry=True))


async def _regenerate(room: Room, words: list[str]) -> None:
    """have the last answer written anew"""
    answers = [one for one in await _last(room, words) if one.kind == "advisor"]
    room.told(await room.talk.again(answers, retry=False))


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
    room.told(await room.talk.synthesize(_conversation(room), _turn(room)))


async def _exchange(room: Room, words: list[str]) -> None:
    """let them respond to each other for N rounds"""
    if words and not words[0].isdecimal():
        raise Invalid(f"{words[0]!r} is not a number of rounds.", "/exchange 2")
    rounds = int(words[0]) if words else 1
    room.told(await room.talk.exchange(_conversation(room), _turn(room), rounds))


async def _receipt(room: Room, words: list[str]) -> None:
    """what an advisor was sent in the last turn, and why"""
    from polyvox.cli.show.receipt import print_receipt

    answer = await _one(room, words, "/receipt SLUG")
    print_receipt(await room.app.receipt(SCOPE, answer.id))


async def _why(room: Room, words: list[str]) -> None:
    """why the last answer is as it is, step by step"""
    from polyvox.cli.trace import print_trace
    from polyvox.session.trace import trace_of

    answer = await _one(room, words, "/why SLUG")
    told = await room.app.database.read(lambda tx: trace_of(tx, SCOPE, answer.turn_id, answer.id))
    print_trace(told)


async def _title(room: Room, words: list[str]) -> None:
    """call this conversation something"""
    from polyvox.receive import clean_name

    title = " ".join(words)
    clean_name(title, "title", 200)
    room.conversation = await room.app.change_conversation(
        SCOPE, _conversation(room), {"title": title}
    )
    note(f"It is called “{title}” now.")


async def _quit(_room: Room, _: list[str]) -> None:
    """leave"""
    from polyvox.cli.room import Leave

    raise Leave


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
    "memory": ("/memory", slash_memory.list_memory),
    "veto": ("/veto N", slash_memory.veto),
    "end": ("/end", slash_memory.end),
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
    answers = [one for one in await room.talk.answers(_turn(room)) if one.current]
    if not words:
        return answers
    found: list[Answer] = []
    for word in words:
        mine = [one for one in answers if await _is(room, one, word)]
        if not mine:
            names = ", ".join(dict.fromkeys(one.advisor_name for one in answers))
            raise Invalid(f"{word!r} did not answer in the last turn.", f"Those who did: {names}.")
        found += mine[-1:]
    return found


async def _is(room: Room, answer: Answer, word: str) -> bool:
    if word.casefold() in (answer.advisor_name.casefold(), answer.kind):
        return True
    who = look_up(word, await room.app.advisors.list(SCOPE))
    return who is not None and who.id == answer.advisor_id


async def _slug(room: Room, word: str) -> str:
    everyone = await room.app.advisors.list(SCOPE)
    found = look_up(word, everyone)
    if found is None:
        slugs = ", ".join(one.slug for one in everyone) or "none yet"
        raise Invalid(f"There is no advisor {word!r}.", f"Known advisors: {slugs}.")
    return found.slug
