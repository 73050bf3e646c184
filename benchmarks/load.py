"""Load from a process of its own: `python -m benchmarks.load JSON` does it and prints what it saw.

Each kind of load is one function; `run` in `benchmarks.processes` starts this program.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import uvloop

from benchmarks.lean import MARK, Connection, Failed, unchunked

COMPLETED = b"event: turn.completed"
DELTA = b"event: answer.delta"
KIND = b" turn."
"""Event names that look like a token."""


def request(model: str) -> bytes:
    """The body that asks a model for a stream."""
    messages = [{"role": "user", "content": "Tell me what you see."}]
    return msgspec.json.encode({"model": model, "stream": True, "messages": messages})


async def _workers(port: int, count: int, work: Callable[[Connection], Awaitable[None]]) -> float:
    """Run `work` on so many connections at once; the seconds it took, connecting left out."""
    connections = [Connection(port) for _ in range(count)]
    try:
        for connection in connections:
            await connection.open()
        began = time.perf_counter()
        await asyncio.gather(*(work(connection) for connection in connections))
        return time.perf_counter() - began
    finally:
        for connection in connections:
            await connection.close()


async def answers(
    port: int, path: str, model: str, concurrency: int, each: int, tokens: int
) -> dict[str, Any]:
    """So many answers one after another on each of so many connections."""
    body = request(model)
    seen = 0

    async def work(connection: Connection) -> None:
        nonlocal seen
        for _ in range(each):
            got = await connection.count(path, body)
            if got != tokens:
                raise Failed(f"an answer had {got} tokens instead of {tokens}")
            seen += got

    seconds = await _workers(port, concurrency, work)
    return {"seconds": seconds, "tokens": seen, "rate": seen / seconds}


async def stamps(
    port: int, path: str, model: str, concurrency: int, each: int, apart: float
) -> dict[str, Any]:
    """Answers whose tokens say when they were sent: how old each was when it arrived, in ms. The
    connections begin `apart`, as people do."""
    body = request(model)
    ages: list[float] = []
    places = iter(range(concurrency))

    async def work(connection: Connection) -> None:
        await asyncio.sleep(next(places) * apart)
        for _ in range(each):
            for text, at in await connection.stamped(path, body):
                ages.append((at - int(text)) / 1e6)

    await _workers(port, concurrency, work)
    return {"ages": ages}


async def first(port: int, path: str, model: str, concurrency: int, each: int) -> dict[str, Any]:
    """From the request to the first token, in ms."""
    body = request(model)
    waits: list[float] = []

    async def work(connection: Connection) -> None:
        for _ in range(each):
            began = time.monotonic_ns()
            found = await connection.stamped(path, body)
            waits.append((found[0][1] - began) / 1e6)

    await _workers(port, concurrency, work)
    return {"waits": waits}


async def turns(
    port: int, advisors: list[str], count: int, same: bool = False, tokens: int = 0
) -> dict[str, Any]:
    """Council turns one after another, each from POST to turn.completed at one listener. `same`:
    all of them in one conversation, else each in its own. Conversation and listener are there
    before the clock starts."""
    caller = Connection(port)
    spent = 0.0
    seen = 0
    waits: list[float] = []
    longest: list[float] = []
    listener: Listener | None = None
    conversation = ""
    for number in range(count):
        if listener is None or not same:
            if listener is not None:
                await listener.close()
            made = await caller.call("POST", "/api/conversations", {"advisors": advisors})
            conversation = made["id"]
            listener = Listener(port, conversation)
            await listener.open()
        began = time.perf_counter()
        asking = asyncio.ensure_future(
            caller.call(
                "POST",
                f"/api/conversations/{conversation}/turns",
                {"content": f"Tell me what you see, {number}."},
            )
        )
        got, arrived = await listener.turn()
        took = time.perf_counter() - began
        await asking
        if tokens and got != tokens:
            raise Failed(f"a turn had {got} tokens instead of {tokens}")
        spent += took
        longest.append(took)
        seen += got
        waits += [(at - began) * 1000 for at in arrived]
    if listener is not None:
        await listener.close()
    await caller.close()
    return {
        "seconds": spent,
        "tokens": seen,
        "rate": seen / spent,
        "waits": waits,
        "turns": longest,
    }


async def stops(port: int, advisors: list[str], count: int) -> dict[str, Any]:
    """Answers one after another, each stopped once its first words are here: when the stops were
    sent, by the monotonic clock."""
    caller = Connection(port)
    made = await caller.call("POST", "/api/conversations", {"advisors": advisors})
    listener = Listener(port, made["id"])
    await listener.open()
    sent: list[float] = []
    for number in range(count):
        question = {"content": f"Tell me what you see, {number}."}
        begun = await caller.call("POST", f"/api/conversations/{made['id']}/turns", question)
        await listener.words()
        sent.append(time.monotonic())
        await caller.call("POST", f"/api/answers/{begun['answers'][0]['answer_id']}/stop")
        await listener.turn()
    await listener.close()
    await caller.close()
    return {"sent": sent}


async def resume(port: int, conversation: str, after: int, times: int) -> dict[str, Any]:
    """Come back to a conversation whose turn is over: ms and bytes until turn.completed."""
    took: list[float] = []
    whole = b""
    for _ in range(times):
        connection = Connection(port)
        await connection.open()
        whole = b""
        began = time.perf_counter()
        events = connection.events(f"/api/conversations/{conversation}/events?after={after}")
        async for data in events:
            whole += data
            if (at := whole.rfind(COMPLETED)) >= 0 and b"\n\n" in whole[at:]:
                break
        took.append((time.perf_counter() - began) * 1000)
        await events.aclose()
        await connection.close()
    lines = unchunked(whole).split(b"\n")
    rows = [msgspec.json.decode(line[6:]) for line in lines if line.startswith(b"data: ")]
    text = sum(len(row["text"].encode()) for row in rows if "text" in row)
    return {"took": took, "bytes": len(whole), "text": text, "events": len(rows)}


async def idle(port: int, conversation: str, count: int) -> dict[str, Any]:
    """Listeners to a quiet conversation, until standard input ends."""
    listeners = [Listener(port, conversation) for _ in range(count)]
    for listener in listeners:
        await listener.open()
    sys.stdout.write("open\n")
    sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.read)
    for listener in listeners:
        await listener.close()
    return {"listeners": count}


class Listener:
    """A listener to a conversation's events."""

    def __init__(self, port: int, conversation: str) -> None:
        self._connection = Connection(port)
        self._events = self._connection.events(f"/api/conversations/{conversation}/events")

    async def open(self) -> None:
        """Be heard."""
        data = b""
        while b": connected" not in data:
            data += await anext(self._events)

    async def close(self) -> None:
        """Hang up."""
        await self._events.aclose()
        await self._connection.close()

    async def words(self) -> None:
        """Read until somebody says something."""
        async for data in self._events:
            if DELTA in data:
                return

    async def turn(self) -> tuple[int, list[float]]:
        """Read until the turn is complete: its tokens, and when each answer's first one came."""
        seen, tail = 0, b""
        begun: dict[bytes, float] = {}
        begins = True
        async for data in self._events:
            if begins and DELTA in data:
                now = time.perf_counter()
                for part in data.split(DELTA)[1:]:
                    answer = part[:60].partition(b'"answer_id":"')[2][:36]
                    begun.setdefault(answer, now)
            seen += data.count(MARK) - data.count(KIND)
            if COMPLETED in tail + data:
                return seen, list(begun.values())
            tail = data[-30:]
        raise Failed("the events ended")


KINDS: dict[str, Callable[..., Awaitable[dict[str, Any]]]] = {
    "answers": answers,
    "stamps": stamps,
    "first": first,
    "turns": turns,
    "stops": stops,
    "resume": resume,
    "idle": idle,
}


async def main() -> None:
    """Do what the command line says."""
    order = msgspec.json.decode(sys.argv[1])
    kind = KINDS[order.pop("kind")]
    result = await kind(**order)
    sys.stdout.buffer.write(msgspec.json.encode(result) + b"\n")


if __name__ == "__main__":
    uvloop.run(main())
