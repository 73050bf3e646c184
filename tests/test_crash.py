"""kill -9, with a real process, at many points: nothing that was shown is lost, nothing stays open,
one retry completes it; and whoever else lives on the same database is not disturbed."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import signal
import sys
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.provider import ProviderServer, Script
from tests.session.room import ME, Room, open_room
from tests.session.victim import Plan

ROOT = Path(__file__).resolve().parent.parent
pytestmark = [pytest.mark.contract, pytest.mark.slow]


class Victim:
    """The process, and all that it has shown so far."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.runner = ""
        self.shown: list[dict[str, Any]] = []

    async def line(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        async with asyncio.timeout(60):
            text = await self.process.stdout.readline()
        assert text, "the process has ended"
        data: dict[str, Any] = msgspec.json.decode(text)
        if "runner" in data:
            self.runner = data["runner"]
        else:
            self.shown.append(data)
        return data

    def talks(self) -> list[str]:
        """The conversations in the order they appeared."""
        return list(dict.fromkeys(item["talk"] for item in self.shown))

    def of(self, talk: str, kind: str = "") -> list[dict[str, Any]]:
        return [i for i in self.shown if i["talk"] == talk and i["kind"].startswith(kind)]

    def words(self, talk: str) -> int:
        """How many words were shown."""
        return sum(len(i["data"]["text"].split()) for i in self.of(talk, "answer.delta"))

    async def kill(self) -> None:
        """kill -9, and then read what it had still written: that was shown, too."""
        self.process.send_signal(signal.SIGKILL)
        assert self.process.stdout is not None
        rest = await self.process.stdout.read()
        await self.process.wait()
        whole = rest[: rest.rfind(b"\n") + 1]
        self.shown += [msgspec.json.decode(line) for line in whole.splitlines()]


@asynccontextmanager
async def victim(plan: Plan) -> AsyncIterator[Victim]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.session.victim", msgspec.json.encode(plan).decode()),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        limit=10_000_000,
    )
    try:
        yield Victim(process)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def gone(database_url: str, runner: str) -> None:
    """PostgreSQL notices a killed client a moment later: wait for its lock."""
    if database_url.startswith("postgresql"):
        import psycopg

        digest = hashlib.sha256(f"polyvox runner {runner}".encode()).digest()
        lock = int.from_bytes(digest[:8], "big", signed=True)
        async with await psycopg.AsyncConnection.connect(database_url) as connection:
            await connection.execute("SELECT pg_advisory_xact_lock(%s)", (lock,))


async def check_kept(room: Room, killed: Victim, talk: str, messages: list[str]) -> None:
    """Every message and every shown delta is there; every answer has ended, as it must have."""
    view = await room.polyvox.view(ME, talk)
    assert [turn.content for turn, _ in view.turns] == messages
    assert [turn.state for turn, _ in view.turns] == ["completed"] * len(messages)
    answers = {answer.id: answer for _, found in view.turns for answer in found}
    ended = {i["data"]["answer_id"]: i["kind"] for i in killed.of(talk) if _ends(i["kind"])}
    for answer in answers.values():
        known = ended.get(answer.id, "").removeprefix("answer.")
        assert answer.state in ({known} if known else {"completed", "interrupted"}), answer
    shown: dict[str, str] = defaultdict(str)
    for item in killed.of(talk, "answer.delta"):
        data = item["data"]
        assert data["at"] == len(shown[data["answer_id"]])
        shown[data["answer_id"]] += data["text"]
    for answer_id, text in shown.items():
        assert answers[answer_id].text.startswith(text)
        if answer_id in ended:
            assert answers[answer_id].text == text
    last = max((i["number"] for i in killed.of(talk)), default=0)
    rest = [item for item in await room.log(talk) if item.number > last]
    assert view.conversation.last_number == (rest[-1].number if rest else last)


def _ends(kind: str) -> bool:
    return kind in ("answer.completed", "answer.failed", "answer.stopped", "answer.interrupted")


async def check_retry(room: Room, talk: str) -> int:
    """One retry completes each interrupted answer; how many that were."""
    view = await room.polyvox.view(ME, talk)
    open_ = [one for _, found in view.turns for one in found if one.state == "interrupted"]
    for answer in open_:
        await room.polyvox.turns.again(ME, answer.id, retry=True)
    await room.settled()
    view = await room.polyvox.view(ME, talk)
    assert {one.state for _, found in view.turns for one in found if one.current} == {"completed"}
    return len(open_)


async def test_killed_at_every_event_of_a_turn(tmp_path: Path, database_url: str) -> None:
    """One conversation for each point: of three advisors with three words each, so many words were
    let through (the last word of an answer also ends it). One kill ends them all."""
    seats, words = range(3), range(3)
    steps = [(word, seat) for word in words for seat in seats]
    async with ProviderServer() as provider:
        for point, seat in itertools.product(range(len(steps) + 1), seats):
            pieces = tuple(f"{point}.{seat}.{word} " for word in words)
            gates = {word: f"p{point}s{seat}w{word}" for word in words}
            provider.queue(f"p{point}s{seat}", Script(pieces=pieces, gates=gates))
            provider.script(f"p{point}s{seat}", Script(hold="never"))
        plan = Plan(
            home=str(tmp_path),
            base_url=provider.base_url,
            database=database_url,
            talks=[[f"p{p}s{s}" for s in seats] for p in range(len(steps) + 1)],
            messages=["First", "Second"],
        )
        async with victim(plan) as killed:
            await killed.line()
            while len(killed.talks()) <= len(steps) or not all(
                len(killed.of(talk, "answer.started")) == 6 for talk in killed.talks()
            ):
                await killed.line()
            for point, talk in enumerate(killed.talks()):
                for word, seat in steps[:point]:
                    provider.gate(f"p{point}s{seat}w{word}").set()
                ends = max(0, point - 6)
                while killed.words(talk) < point or len(killed.of(talk, "answer.completed")) < ends:
                    await killed.line()
            await killed.kill()
        await gone(database_url, killed.runner)

        provider.clear()
        async with open_room(tmp_path, provider=provider, database=database_url) as room:
            interrupted = 0
            for talk in killed.talks():
                await check_kept(room, killed, talk, plan.messages)
            for talk in killed.talks():
                interrupted += await check_retry(room, talk)
            assert interrupted == room.polyvox.recovered
            # Three answers at each point, less those that had ended; and three that waited.
            assert interrupted == 10 * 3 - (1 + 2 + 3) + 10 * 3


@pytest.mark.parametrize("lines", [1, 4, 9, 23, 60])
async def test_killed_while_everything_flows(lines: int, tmp_path: Path) -> None:
    """Without gates: the kill falls wherever it falls, in the middle of a commit perhaps."""
    async with ProviderServer() as provider:
        provider.default = Script(tokens=3000, pace=0.0005)
        plan = Plan(str(tmp_path), provider.base_url, [["a", "b", "c"]] * 2, ["Go on"])
        async with victim(plan) as killed:
            await killed.line()
            while len(killed.shown) < lines:
                await killed.line()
            await killed.kill()
        provider.clear()
        async with open_room(tmp_path, provider=provider) as room:
            for talk in killed.talks():
                await check_kept(room, killed, talk, plan.messages)
                await check_retry(room, talk)


async def test_another_living_process_is_not_disturbed(tmp_path: Path, database_url: str) -> None:
    async with ProviderServer() as provider:
        provider.script("held", Script(pieces=("one", " two"), gates={1: "on"}))
        plan = Plan(str(tmp_path), provider.base_url, [["held"]], ["Go on"], database_url)
        async with victim(plan) as other:
            await other.line()
            while not (other.shown and other.shown[-1]["kind"] == "answer.delta"):
                await other.line()
            (talk,) = other.talks()
            answer_id = other.shown[-1]["data"]["answer_id"]
            async with open_room(tmp_path, provider=provider, database=database_url) as room:
                assert room.polyvox.recovered == 0
                answer = await room.answer(answer_id)
                assert (answer.state, answer.text) == ("streaming", "one")
                provider.gate("on").set()
                while other.shown[-1]["kind"] != "turn.completed":
                    await other.line()
                answer = await room.answer(answer_id)
                assert (answer.state, answer.text) == ("completed", "one two")
                turn, _ = await room.say(talk, "And from here?")
                assert turn.depth == 2
            await other.kill()


async def test_a_killed_process_leaves_a_living_one_its_answers(tmp_path: Path) -> None:
    """Of two processes one is killed: only its answers are closed by whoever starts next."""
    async with ProviderServer() as provider:
        held = Script(pieces=("one", " two"), gates={1: "on"})
        provider.script("mine", held)
        provider.script("theirs", held)
        async with open_room(tmp_path, provider=provider) as room:
            mine = await room.advisor("Mine", model="lab:mine")
            talk = await room.conversation(mine)
            begun = await room.send(talk, "Go on")
            await room.spoken(talk, begun.answers[0].id)
            plan = Plan(str(tmp_path), provider.base_url, [["theirs"]], ["Go on"])
            async with victim(plan) as killed:
                await killed.line()
                while not (killed.shown and killed.shown[-1]["kind"] == "answer.delta"):
                    await killed.line()
                await killed.kill()
            async with open_room(tmp_path, provider=provider) as third:
                assert third.polyvox.recovered == 1
                theirs = await third.answer(killed.shown[-1]["data"]["answer_id"])
                assert (theirs.state, theirs.text) == ("interrupted", "one")
                assert (await third.answer(begun.answers[0].id)).state == "streaming"
            provider.gate("on").set()
            await room.settled()
            assert (await room.answer(begun.answers[0].id)).text == "one two"
