"""The commands inside a chat: lines that begin with /. An unknown one names the nearest."""

from __future__ import annotations

import difflib
import re
from collections.abc import Awaitable, Callable

from polyvox.cli.answers import print_closing
from polyvox.cli.lookup import SCOPE, find_advisor, read_phases
from polyvox.cli.output import note, say, say_beside
from polyvox.cli.receipts import print_receipt, print_trace
from polyvox.cli.talk import Outcome, Talk
from polyvox.cli.words import count, one_line
from polyvox.errors import Invalid
from polyvox.memory.trace_words import missing
from polyvox.memory.values import Partition
from polyvox.receive import clean_name
from polyvox.session.inspect import trace_of
from polyvox.session.lifecycle import running_session, set_veto
from polyvox.session.preview import Strip, strip
from polyvox.values import Answer

Order = Callable[[Talk, list[str]], Awaitable[None]]
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


def close(talk: Talk, outcome: Outcome) -> None:
    """Print the line under answers."""
    if outcome.stopped:
        note("(stopped; what had come is kept)")
    else:
        new = "" if talk.named == talk.conversation_id else talk.conversation_id
        talk.named = talk.conversation_id
        print_closing(new, outcome.answers)


async def obey(talk: Talk, line: str) -> None:
    """Do what a line says."""
    name, *words = line[1:].split()
    known = orders(talk)
    match = known.get(name.lower())
    if match is None:
        near = difflib.get_close_matches(name.lower(), known, 1, cutoff=0.3)
        hint = f"Did you mean /{near[0]}? " if near else ""
        raise Invalid(f"There is no command /{name}.", f"{hint}/help lists them all.")
    await match[1](talk, words)


async def _help(talk: Talk, _: list[str]) -> None:
    known = orders(talk).values()
    widest = max(len(usage) for usage, _ in known)
    for usage, order in known:
        say(f"{usage:<{widest}}  {order.__doc__}")
    only = "" if talk.alone is not None else " @slug in it asks only that advisor,"
    say(f"Anything else is a message;{only} // begins one with a /.")


async def _new(talk: Talk, _: list[str]) -> None:
    """begin a new conversation"""
    talk.conversation = None
    talk.turn_id = None
    talk.listed = ()
    note("A new conversation begins with your next message.")


async def _advisors(talk: Talk, _: list[str]) -> None:
    """who there is; * are those who are asked"""
    advisors = await talk.app.advisors.list(SCOPE)
    chosen = talk.conversation.advisors if talk.conversation is not None else None
    for advisor in advisors:
        asked = advisor.active if chosen is None else advisor.id in chosen
        if talk.only is not None:
            asked = advisor.slug in talk.only
        say(f"{'*' if asked else ' '} {advisor.slug:<16} {advisor.name}")


async def _only(talk: Talk, words: list[str]) -> None:
    """ask only these from now on"""
    if not words:
        raise Invalid("Whom?", "/only SLUG …; /all asks everyone again.")
    advisors = await talk.app.advisors.list(SCOPE)
    found = [
        find_advisor(word, advisors) or await talk.app.advisors.get(SCOPE, word) for word in words
    ]
    talk.only = [advisor.slug for advisor in found]
    note(f"Only {', '.join(talk.only)} from now on; /all asks everyone again.")


async def _all(talk: Talk, _: list[str]) -> None:
    """ask everyone again"""
    talk.only = None
    note("Everyone is asked again.")


async def _retry(talk: Talk, words: list[str]) -> None:
    """complete what failed, was stopped or cut off"""
    answers = [answer for answer in await _last(talk, words) if answer.state != "completed"]
    if not answers:
        raise Invalid(
            "There is nothing to retry in the last turn.", "/regenerate SLUG writes anew."
        )
    close(talk, await talk.again(answers, retry=True))


async def _regenerate(talk: Talk, words: list[str]) -> None:
    """have the last answer written anew"""
    answers = [answer for answer in await _last(talk, words) if answer.kind == "advisor"]
    close(talk, await talk.again(answers, retry=False))


async def _answer(talk: Talk, words: list[str]) -> None:
    """have it answered now, without further questions"""
    if words:
        close(talk, await talk.send(" ".join(words), answer_now=True))
        return
    answers = [answer for answer in await _last(talk, []) if answer.kind == "advisor"]
    await talk.set_phases(0)
    close(talk, await talk.again(answers, retry=False))


async def _phases(talk: Talk, words: list[str]) -> None:
    """let advisors only ask in their first N answers, at most"""
    if len(words) != 1:
        raise Invalid("For how many answers?", "/phases N; off: none; recipe: as the recipe says.")
    await talk.set_phases(read_phases(words[0]))
    if talk.phases is None:
        note("Advisors ask first for as long as the recipe says.")
    else:
        first = f"Advisors only ask in their first {count(talk.phases, 'answer')}, at most."
        note(first if talk.phases else "Advisors answer at once.")


async def _exclude(talk: Talk, words: list[str]) -> None:
    """keep an answer (or `message`) out of later requests"""
    await _exclusion(talk, words, excluded=True)


async def _include(talk: Talk, words: list[str]) -> None:
    """let it in again"""
    await _exclusion(talk, words, excluded=False)


async def _exclusion(talk: Talk, words: list[str], *, excluded: bool) -> None:
    if not words and talk.alone is None:
        raise Invalid("Which one?", "Name an advisor of the last turn, or write: message.")
    how = "left out of later requests" if excluded else "part of later requests again"
    if words == ["message"]:
        turn = (await talk.app.view(SCOPE, talk.conversation_id, None, 1)).turns[-1][0]
        await talk.app.turns.exclude_message(SCOPE, turn.message_id, excluded)
        note(f"Your last message, with the answers to it, is {how}.")
        return
    for answer in await _last(talk, words):
        await talk.app.turns.exclude_answer(SCOPE, answer.id, excluded)
        note(f"What {answer.advisor_name} said is {how}.")


async def _synthesize(talk: Talk, _: list[str]) -> None:
    """bring the answers of the last turn together"""
    close(talk, await talk.synthesize())


async def _exchange(talk: Talk, words: list[str]) -> None:
    """let them respond to each other for N rounds"""
    if words and not words[0].isdecimal():
        raise Invalid(f"{words[0]!r} is not a number of rounds.", "/exchange 2")
    rounds = int(words[0]) if words else 1
    before = await talk.answers(talk.last_turn)
    close(talk, await talk.exchange(rounds))
    if any(answer.kind == "synthesis" for answer in before):
        note("The synthesis is from before this round; /synthesize writes a new one.")


async def _receipt(talk: Talk, words: list[str]) -> None:
    """what an advisor was sent in the last turn, and why"""
    answer = await _one(talk, words, "/receipt SLUG")
    print_receipt(await talk.app.receipt(SCOPE, answer.id))


async def _why(talk: Talk, words: list[str]) -> None:
    """why the last answer is as it is, step by step"""
    answer = await _one(talk, words, "/why SLUG")
    trace = await talk.app.database.read(lambda tx: trace_of(tx, answer.turn_id, answer.id), SCOPE)
    print_trace(trace)


async def _title(talk: Talk, words: list[str]) -> None:
    """call this conversation something"""
    title = " ".join(words)
    clean_name(title, "title", 200)
    talk.conversation = await talk.app.change_conversation(
        SCOPE, talk.conversation_id, {"title": title}
    )
    note(f"It is called “{title}” now.")


async def _quit(_talk: Talk, _: list[str]) -> None:
    """leave"""
    raise Leave


async def _memory(talk: Talk, _: list[str]) -> None:
    """what I remember and use here, each with its number"""
    packet = await _look(talk)
    if not packet.items:
        off = "" if packet.memory else ": memory is switched off for this recipe"
        note(f"Nothing from before is told in this session{off}.")
        return
    vetoed = _set_aside(talk, packet)
    start = "Told at the start:" if packet.session == "new" else "Told when it began:"
    for when, title in (("start", start), ("later", "Used only if it comes up:")):
        numbered = [each for each in enumerate(packet.items, 1) if each[1].when == when]
        if numbered:
            say(title)
        for number, shown in numbered:
            set_aside = " (set aside)" if shown.id in vetoed else ""
            text = " ".join(shown.text.split())
            say_beside(f"{number:>3}  ", f"{KINDS[shown.kind]}: {text}{set_aside}")
    for degrade in packet.degrades:
        say(f"Missing: {missing(degrade)}.")
    note("/veto N leaves one out of this session; /veto N again takes that back.")


async def _remember(talk: Talk, words: list[str]) -> None:
    """tell memory something, to keep"""
    if not words:
        raise Invalid("There is nothing to remember.", "/remember TEXT")
    own = Partition.own(SCOPE)
    known = await talk.app.memory.write_fact(SCOPE, own, " ".join(words))
    note(f"Remembered: {one_line(known.statement.text, WIDTH)}")


async def _veto(talk: Talk, words: list[str]) -> None:
    """leave one of them out of this session; again: use it"""
    listed = talk.listed or (await _look(talk)).items
    if len(words) != 1 or not words[0].isdecimal() or not 1 <= int(words[0]) <= len(listed):
        raise Invalid("Which one?", "/veto N; /memory lists them with their numbers.")
    chosen = listed[int(words[0]) - 1]
    packet = await _strip(talk)
    vetoed = _set_aside(talk, packet) ^ {chosen.id}
    if packet.session == "new" or talk.conversation is None:
        talk.veto = vetoed
    else:
        await set_veto(talk.app.resources, SCOPE, talk.conversation.id, vetoed)
    now = "Set aside in this session" if chosen.id in vetoed else "Used again"
    note(f"{now}: {one_line(chosen.text, WIDTH)}")


async def _end(talk: Talk, _: list[str]) -> None:
    """that's all for now: end the session"""
    app, conversation, now = talk.app, talk.conversation, talk.app.clock()
    session = None
    if conversation is not None:
        session = await app.database.read(
            lambda tx: running_session(tx, app.settings, conversation, now), SCOPE
        )
    if session is None:
        raise Invalid("No session is going on.", "Your next message begins one.")
    await app.end_session(SCOPE, session.id)
    talk.listed = ()
    note("You ended it here. Your next message begins anew, and knows of it.")


async def _strip(talk: Talk) -> Strip:
    """The packet that the next message's session is told, or the running one was."""
    app, conversation = talk.app, talk.conversation
    await app.catch_up.all(SCOPE)
    where = conversation.id if conversation is not None else None
    current = app.services.current
    return await strip(app.resources, current, SCOPE, talk.recipe or "council", where)


async def _look(talk: Talk) -> Strip:
    """The same; its numbers are those that /veto means from now on."""
    packet = await _strip(talk)
    talk.listed = packet.items
    return packet


def _set_aside(talk: Talk, packet: Strip) -> set[str]:
    """Ids that are set aside. A running session keeps them; else they wait for the message."""
    if packet.session == "new":
        return talk.veto
    return {shown.id for shown in packet.items if shown.vetoed}


async def greeting(talk: Talk) -> str:
    """The greeting's words about memory; empty where there is nothing."""
    packet = await _look(talk)
    if packet.session == "running":
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
    "answer": ("/answer [TEXT]", _answer),
    "phases": ("/phases N", _phases),
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
    "remember": ("/remember TEXT", _remember),
    "end": ("/end", _end),
    "title": ("/title TEXT", _title),
    "quit": ("/quit", _quit),
}
OF_A_COUNCIL = ("advisors", "only", "all", "answer", "phases", "synthesize", "exchange")


def orders(talk: Talk) -> dict[str, tuple[str, Order]]:
    """The commands that make sense here: who is alone has nobody to choose from."""
    if talk.alone is None:
        return ORDERS
    return {
        name: (re.sub(r" \[?SLUG.*", "", usage), order)
        for name, (usage, order) in ORDERS.items()
        if name not in OF_A_COUNCIL
    }


async def _one(talk: Talk, words: list[str], usage: str) -> Answer:
    answers = await _last(talk, words)
    if len(answers) > 1 and not words:
        raise Invalid("Whose?", usage)
    return answers[-1]


async def _last(talk: Talk, words: list[str]) -> list[Answer]:
    """The current answers of the last turn; of these advisors, where some are named."""
    answers = [answer for answer in await talk.answers(talk.last_turn) if answer.current]
    if not words:
        return answers
    advisors = await talk.app.advisors.list(SCOPE)
    chosen: list[Answer] = []
    for word in words:
        advisor = find_advisor(word, advisors)
        own = [
            answer
            for answer in answers
            if word.casefold() in (answer.advisor_name.casefold(), answer.kind)
            or (advisor is not None and advisor.id == answer.advisor_id)
        ]
        if not own:
            names = ", ".join(dict.fromkeys(answer.advisor_name for answer in answers))
            raise Invalid(f"{word!r} did not answer in the last turn.", f"Those who did: {names}.")
        chosen += own[-1:]
    return chosen
