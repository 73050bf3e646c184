"""The event stream: its format, and that a cut anywhere neither loses nor doubles a character."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args
from urllib.parse import urlsplit

import msgspec
import pytest
import pytest_asyncio
from tests.provider import Script
from tests.web.house import Event, House, Page, Parser, open_house

from polyvox import events as polyvox_events
from polyvox.app import Polyvox
from polyvox.errors import StoreError
from polyvox.events import TurnCompleted
from polyvox.values import Scope
from polyvox.web.stream import EventStream

pytestmark = pytest.mark.asyncio(loop_scope="session")

WORDS = "Schön – it’s 🎈 “fine”\n\nid: 7\nevent: x"
"""Text that would break a careless stream: several bytes a character, and lines of its own."""


def page_of(events: list[Event]) -> Page:
    page = Page()
    for event in events:
        page.take(event)
    return page


async def listened(house: House, conversation: str, turn_id: str, after: int = 0) -> list[Event]:
    """Everything that a live listener hears until the turn is complete."""
    heard = []
    async with aclosing(house.events(conversation, after)) as events:
        async for event in events:
            heard.append(event)
            if event.kind == "turn.completed" and event.data["turn_id"] == turn_id:
                break
    return heard


@dataclass(frozen=True)
class Told:
    """A turn as a live listener heard it: numbers, every one of them."""

    conversation: str
    turn: Any
    live: list[Event]

    def upto(self, number: int) -> Page:
        """What a page shows that has heard everything up to a number."""
        return page_of([event for event in self.live if event.id <= number])

    @property
    def whole(self) -> Page:
        return page_of(self.live)


async def told(house: House, *scripts: Script) -> Told:
    """A turn, heard live from its first event to its last."""
    advisors = [await house.advisor(script=script) for script in scripts]
    conversation = await house.conversation(*advisors)
    turn = await house.send(conversation, "Tell me.")
    return Told(conversation, turn, await listened(house, conversation, turn["turn_id"]))


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def short(house: House) -> AsyncIterator[Told]:
    """A few rows, replayed one by one; with thinking, a failure in the middle, and odd text."""
    yield await told(
        house,
        Script(text=WORDS, thinking="Hm, let me see.", pace=0.02),
        Script(text="Quite so, and more of it to say here.", pace=0.02),
        Script(text="It ends too soon", fault="cut", after=3, pace=0.02),
    )


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def long(house: House) -> AsyncIterator[Told]:
    """More rows than are replayed one by one: one delta per answer stands for many numbers."""
    yield await told(house, *(Script(tokens=11 + n, pace=0.055 + n / 500) for n in range(8)))


async def test_the_format(house: House) -> None:
    advisor = await house.advisor(script=Script(pieces=(WORDS,), input_tokens=5, output_tokens=2))
    failing = await house.advisor(script=Script(status=429, error="Slow down."))
    conversation = await house.conversation(advisor, failing)
    turn = await house.say(conversation, "Format?")
    reply = await house.get(f"/api/conversations/{conversation}/events?live=false")
    assert reply.status == 200
    assert reply.headers["Content-Type"] == "text/event-stream; charset=utf-8"
    assert reply.headers["Cache-Control"] == "no-cache, no-transform"
    assert reply.headers["X-Accel-Buffering"] == "no"
    good, bad = (a["answer_id"] for a in turn["answers"])
    start = {"turn_id": turn["turn_id"]}
    usage = {
        "input_tokens": 5,
        "output_tokens": 2,
        "reasoning_tokens": 0,
        "cached_tokens": 0,
        "cost": None,
        "estimated": False,
    }
    place = {"kind": "advisor", "round": 0, "replaces": None}
    names = {"advisor_id": advisor["id"], "name": advisor["name"]}
    others = {"advisor_id": failing["id"], "name": failing["name"]}
    failed = (await house.answer(bad))["error"]
    expected = {
        "turn.started": {**start, "message_id": turn["message_id"]},
        "answer.started": {**start, "answer_id": good, **names, **place},
        "answer.delta": {"answer_id": good, "text": WORDS, "at": 0},
        "answer.completed": {"answer_id": good, "usage": usage, "model": advisor["model"]},
        "answer.failed": {"answer_id": bad, **failed},
        "turn.completed": start,
    }
    comment, *frames, rest = reply.body.split(b"\n\n")
    assert comment == b": connected"
    assert rest == b""
    seen: list[str] = []
    for number, frame in enumerate(frames, 1):
        head, kind, data = frame.split(b"\n")
        assert head == b"id: %d" % number
        name = kind.removeprefix(b"event: ").decode()
        if name in seen:  # the other one's place
            assert msgspec.json.decode(data[6:]) == {**start, "answer_id": bad, **others, **place}
        else:
            # byte for byte, in this order of keys, no spaces, no escapes that are not needed
            assert data == b"data: " + msgspec.json.encode(expected[name]), name
        seen.append(name)
    assert set(seen) == set(expected)
    assert seen[0] == "turn.started"
    assert seen[-1] == "turn.completed"
    assert failed["category"] == "rate_limit"
    assert "Slow down." in failed["message"]


async def test_every_kind_of_event_is_on_the_openapi_page(house: House, short: Told) -> None:
    page = (await house.get("/openapi.json")).json()
    told = page["paths"]["/api/conversations/{conversation}/events"]["get"]["responses"]["200"]
    kinds = {
        one["properties"]["event"]["const"]: one["properties"]["data"]["contentSchema"]["required"]
        for one in told["content"]["text/event-stream"]["itemSchema"]["oneOf"]
    }
    for event in short.live:
        assert list(event.data) == kinds[event.kind]
    assert "UsageOut" in page["components"]["schemas"]
    known = {cls.kind for cls in get_args(polyvox_events.Event)}
    assert set(kinds) == known


async def test_the_live_numbers_have_no_holes(short: Told, long: Told) -> None:
    for one in (short, long):
        assert [event.id for event in one.live] == list(range(1, len(one.live) + 1))
        assert one.whole.doubled == 0


async def test_what_was_heard_is_what_is_stored(house: House, short: Told, long: Told) -> None:
    for one in (short, long):
        stored = {a["answer_id"]: await house.answer(a["answer_id"]) for a in one.turn["answers"]}
        assert one.whole.text == {key: a["text"] for key, a in stored.items()}
        for answer_id, thought in one.whole.thinking.items():
            assert stored[answer_id]["thinking"] == thought
        assert one.whole.ended == {key: a["state"] for key, a in stored.items()}
    states = [short.whole.ended[a["answer_id"]] for a in short.turn["answers"]]
    assert states == ["completed", "completed", "failed"]
    assert list(short.whole.thinking.values()) == ["Hm, let me see."]


@pytest.mark.parametrize("way", ["after", "header"])
@pytest.mark.parametrize("length", ["short", "long"])
async def test_a_finished_turn_is_resumed_at_every_number(
    house: House, short: Told, long: Told, length: str, way: str
) -> None:
    one = {"short": short, "long": long}[length]
    path = f"/api/conversations/{one.conversation}/events?live=false"
    for number in range(one.live[-1].id + 1):
        if way == "after":
            reply = await house.get(f"{path}&after={number}")
        else:  # a browser comes back to the old address with the newer number as a header
            reply = await house.get(
                f"{path}&after={number // 2}", headers={"Last-Event-ID": str(number)}
            )
        page = one.upto(number)
        for event in Parser().feed(reply.body):
            page.take(event)
        assert page.text == one.whole.text, number
        assert page.thinking == one.whole.thinking
        assert page.ended == one.whole.ended
        assert page.doubled == 0, "exactly the rest"
        assert page.last == one.live[-1].id


async def test_a_long_replay_is_condensed(house: House, long: Told) -> None:
    assert len(long.live) > 90
    replay = await house.stored(long.conversation)
    deltas = [event for event in replay if event.kind == "answer.delta"]
    assert len(deltas) == 8, "one per answer"
    bytes_ = len(
        (await house.get(f"/api/conversations/{long.conversation}/events?live=false")).body
    )
    text = sum(len(words.encode()) for words in long.whole.text.values())
    assert bytes_ - text < 8 * 1000, "what is around the text does not grow with it"


async def test_a_cut_anywhere_in_a_condensed_replay_loses_and_doubles_nothing(
    house: House, long: Told
) -> None:
    last = long.live[-1].id
    again = 0
    for begin in range(0, last, 9):
        replay = await house.stored(long.conversation, begin)
        for cut in range(1, len(replay)):
            page = long.upto(begin)
            for event in replay[:cut]:
                page.take(event)
            assert begin <= page.last <= last
            for event in await house.stored(long.conversation, page.last):
                page.take(event)
            assert page.text == long.whole.text, (begin, cut)
            assert page.ended == long.whole.ended
            again += page.doubled
    assert again > 0, "pieces did come twice, and `at` told"


async def test_two_turns_and_a_retry_in_one_log(house: House) -> None:
    advisor = await house.advisor()
    name = advisor["model"].partition(":")[2]
    house.provider.queue(name, Script(fault="cut", text="Too soon it", after=2), Script(), Script())
    conversation = await house.conversation(advisor)
    first = await house.say(conversation, "One?")
    await house.post(f"/api/answers/{first['answers'][0]['answer_id']}/retry")
    await house.ended(conversation, first["turn_id"])
    second = await house.say(conversation, "Two?")
    everything = await house.stored(conversation)
    assert page_of(everything).completed == [first["turn_id"]] * 2 + [second["turn_id"]]
    assert page_of(everything).text == await house.texts(conversation)
    for number in range(everything[-1].id + 1):
        rest = await house.stored(conversation, number)
        assert rest == [event for event in everything if event.id > number]


async def test_a_running_turn_is_resumed_at_every_number(house: House) -> None:
    scripts = [
        Script(text="Over already."),
        Script(status=500),
        Script(tokens=12, pace=0.01, gates={8: "running"}),
        Script(tokens=9, thinking="a b c d", pace=0.015, gates={5: "running"}),
    ]
    advisors = [await house.advisor(script=script) for script in scripts]
    conversation = await house.conversation(*advisors)
    turn = await house.send(conversation, "Go on.")
    ids = [a["answer_id"] for a in turn["answers"]]
    want = {ids[2]: "".join(f" t{n}" for n in range(8)), ids[3]: " t0 t1 t2 t3 t4"}
    page, live = Page(), []
    async with aclosing(house.events(conversation)) as events:
        async for event in events:
            page.take(event)
            live.append(event)
            if len(page.ended) == 2 and want.items() <= page.text.items():
                break
    # what is stored of it, from every number
    last = page.last
    for number in range(last + 1):
        seen = page_of([event for event in live if event.id <= number])
        for event in await house.stored(conversation, number):
            seen.take(event)
        assert (seen.text, seen.thinking) == (page.text, page.thinking), number
        assert seen.doubled == 0
    # and, live, the rest of it: a listener from every number, all at once
    listeners = [
        asyncio.create_task(listened(house, conversation, turn["turn_id"], number))
        for number in range(last + 1)
    ]
    house.provider.gate("running").set()
    heard = await asyncio.gather(*listeners)
    final = await house.texts(conversation)
    for number, rest in enumerate(heard):
        seen = page_of([event for event in live if event.id <= number])
        for event in rest:
            seen.take(event)
        assert seen.text == {key: text for key, text in final.items() if text}, number
        assert seen.doubled == 0


async def test_a_connection_cut_after_every_single_event(house: House) -> None:
    advisors = [await house.advisor(script=Script(tokens=25, pace=0.01)) for _ in range(3)]
    conversation = await house.conversation(*advisors)
    turn = await house.send(conversation, "Hold on.")
    page, cuts = Page(), 0
    while turn["turn_id"] not in page.completed:
        async with aclosing(house.events(conversation, page.last)) as events:
            page.take(await anext(events))
        cuts += 1
    assert cuts > 8
    assert page.text == await house.texts(conversation)
    assert set(page.text.values()) == {"".join(f" t{n}" for n in range(25))}


async def test_everybody_hears_the_same(house: House) -> None:
    advisors = [await house.advisor(script=Script(tokens=40, pace=0.005)) for _ in range(4)]
    conversation = await house.conversation(*advisors)
    url = f"{house.url}/api/conversations/{conversation}/events"

    connected = asyncio.Barrier(6)

    async def raw() -> bytes:
        data = b""
        async with house.client.get(url) as response:
            await connected.wait()
            async for chunk in response.content.iter_any():
                data += chunk
                if b"event: turn.completed" in data and data.endswith(b"\n\n"):
                    break
        return data

    before = len(house.polyvox.hub)
    listeners = [asyncio.create_task(raw()) for _ in range(5)]
    await connected.wait()
    await house.send(conversation, "All ears?")
    heard = await asyncio.gather(*listeners)
    assert len(set(heard)) == 1
    assert page_of(Parser().feed(heard[0])).text == await house.texts(conversation)
    await house.until(lambda: len(house.polyvox.hub) == before)  # who left is forgotten


async def test_closing_the_page_changes_nothing(house: House) -> None:
    advisor = await house.advisor(script=Script(pieces=("One", " two"), gates={1: "closed"}))
    conversation = await house.conversation(advisor)
    before = len(house.polyvox.hub)
    turn = await house.send(conversation, "Still there?")
    async with aclosing(house.events(conversation)) as events:
        async for event in events:
            if event.kind == "answer.delta":
                break
    await house.until(lambda: len(house.polyvox.hub) == before)
    (request,) = house.provider.requests(advisor["model"].partition(":")[2])
    assert request.closed_at is None
    house.provider.gate("closed").set()
    await house.ended(conversation, turn["turn_id"])
    answer = await house.answer(turn["answers"][0]["answer_id"])
    assert (answer["state"], answer["text"]) == ("completed", "One two")
    assert request.closed_at is None


async def test_a_listener_who_does_not_read_holds_nobody_up_and_misses_nothing(
    house: House,
) -> None:
    size = 12_000_000
    advisor = await house.advisor(script=Script(size=size))
    conversation = await house.conversation(advisor)
    where = urlsplit(house.url)
    reader, writer = await asyncio.open_connection(where.hostname, where.port, limit=1024)
    path = f"/api/conversations/{conversation}/events"
    writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
    head = await reader.readuntil(b"\r\n\r\n")
    assert b" 200 " in head
    turn = await house.say(conversation, "At length?")  # somebody else hears it to the end
    # Nobody has read a byte of the first one's: it has fallen behind by more than is kept for it.
    for _ in range(300):
        house.polyvox.hub.beat()
    page, parser = Page(), Parser()
    async with asyncio.timeout(60):
        while turn["turn_id"] not in page.completed:
            length = int(await reader.readuntil(b"\r\n"), 16)
            for event in parser.feed(await reader.readexactly(length)):
                page.take(event)
            await reader.readexactly(2)
    writer.close()
    await writer.wait_closed()
    assert list(page.text.values()) == ["x" * size]
    assert page.doubled == 0


async def test_what_another_process_wrote_is_heard_too(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        advisor = await house.advisor()
        conversation = await house.conversation(advisor)
        page, kinds = Page(), []
        first = await house.send(conversation, "Here?")
        async with aclosing(house.events(conversation)) as events:
            while first["turn_id"] not in page.completed:
                page.take(await anext(events))
            async with Polyvox(house.polyvox.settings, env={}) as other:  # as a terminal would
                second = (await other.turns.send(Scope(), conversation, "There?")).turn.id
                async for item in other.events(conversation):
                    if item.event == TurnCompleted(second):
                        break
            third = await house.send(conversation, "Here again?")
            async for event in events:
                page.take(event)
                kinds.append(event.kind)
                if third["turn_id"] in page.completed:
                    break
        assert page.completed == [first["turn_id"], second, third["turn_id"]]
        assert page.text == await house.texts(conversation)
        assert kinds.count("turn.started") == kinds.count("turn.completed") == 2


async def test_silence_is_broken_now_and_then(house: House) -> None:
    conversation = await house.conversation(await house.advisor())
    url = f"{house.url}/api/conversations/{conversation}/events"
    async with house.client.get(url) as response:
        assert await response.content.readuntil(b"\n\n") == b": connected\n\n"
        house.polyvox.hub.beat()
        assert await response.content.readuntil(b"\n\n") == b": still here\n\n"


async def test_what_cannot_be_resumed(house: House, short: Told) -> None:
    path = f"/api/conversations/{short.conversation}/events"
    last = short.live[-1].id
    beyond = await house.get(f"{path}?after={last + 1}")
    assert beyond.status == 422
    assert beyond.error["param"] == "after"
    assert str(last) in beyond.error["message"]
    for bad in ("-1", "x", str(2**60)):
        assert (await house.get(f"{path}?after={bad}")).status == 422
        wrong = await house.get(path, headers={"Last-Event-ID": bad})
        assert wrong.status == 422
        assert wrong.error["param"] in ("Last-Event-ID", "after")
    unknown = await house.get("/api/conversations/nowhere/events")
    assert unknown.status == 404
    assert "nowhere" in unknown.error["message"]


async def test_a_stream_that_cannot_be_read_on_ends_properly(
    caplog: pytest.LogCaptureFixture,
) -> None:
    sent: list[Any] = []
    never = asyncio.Event()

    async def chunks() -> AsyncIterator[bytes]:
        yield b"one"
        raise StoreError("The database cannot be read.")

    async def receive() -> Any:
        await never.wait()

    async def send(message: Any) -> None:
        sent.append(message)

    await EventStream(chunks(), never.set)({}, receive, send)
    assert [message.get("body") for message in sent] == [None, b": connected\n\n", b"one", b""]
    assert sent[-1]["more_body"] is False
    assert "The database cannot be read." in caplog.text
