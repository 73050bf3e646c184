"""The program as a library: opening, asking, listening, trouble with the disk, closing."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest
from tests.app import KEY
from tests.provider import ProviderServer, Script
from tests.session.room import ME, Room, open_room, settings_for

from polyvox.app import Polyvox
from polyvox.errors import ConfigError, Invalid, NotFound, StoreFull
from polyvox.events import TextDelta, TurnCompleted
from polyvox.settings import Settings
from polyvox.store.database import Tx


async def test_the_first_run_has_a_council_and_a_second_one_no_other(
    tmp_path: Path, database_url: str
) -> None:
    async with open_room(tmp_path, database=database_url) as room:
        first = await room.polyvox.advisors.list(ME)
        assert len(first) == 6
        assert all(one.active and one.version_id for one in first)
        await room.polyvox.advisors.remove(ME, first[0].id)
    async with open_room(tmp_path, database=database_url) as room:
        assert await room.polyvox.advisors.list(ME) == first[1:]


async def test_ask_and_listen_as_the_readme_does(tmp_path: Path) -> None:
    async with open_room(tmp_path) as room:
        polyvox = room.polyvox
        room.provider.default = Script(text="Take it.")
        conversation, turn = await polyvox.ask("Should I take the job?")
        texts: dict[str, str] = {}
        async for item in polyvox.events(conversation.id, until=turn):
            if isinstance(item.event, TextDelta):
                have = texts.get(item.event.answer_id, "")
                texts[item.event.answer_id] = have + item.event.text
        assert list(texts.values()) == ["Take it."] * 6
        assert len(polyvox.hub) == 0
        _, again = await polyvox.ask("And then?", conversation=conversation.id, advisors=["keeper"])
        await room.settled()
        found, answers = await room.turn(again)
        assert (found.depth, len(answers)) == (2, 1)
        assert await polyvox.turn_of_message(ME, found.message_id) == (found, list(answers))


async def test_what_cannot_be_asked_leaves_nothing_behind(tmp_path: Path) -> None:
    async with open_room(tmp_path) as room:
        for content in ("", " \n", "bell \x07", "lone \ud800", "x" * 400_001):
            with pytest.raises(Invalid):
                await room.polyvox.ask(content)
        with pytest.raises(Invalid, match="no recipe"):
            await room.polyvox.ask("Well?", recipe="nonsense")
        with pytest.raises(NotFound):
            await room.polyvox.ask("Well?", conversation="nothing")
        assert (await room.polyvox.conversations.list(ME)).items == ()


async def test_a_model_that_cannot_be_is_refused(tmp_path: Path) -> None:
    async with open_room(tmp_path) as room:
        room.polyvox.check_model(None)
        room.polyvox.check_model("lab:anything")
        with pytest.raises(Invalid, match="no provider 'laboratory'"):
            room.polyvox.check_model("laboratory:x")
        await room.polyvox.warm()  # nothing to warm: the default model is not the embedded one


@pytest.mark.parametrize("place", ["directory", "file"])
async def test_a_database_that_cannot_be_is_a_clear_error(tmp_path: Path, place: str) -> None:
    path = tmp_path / "here"
    if place == "directory":
        path.mkdir()
    else:
        path.write_bytes(b"this is no database, though it is long enough to be one " * 40)
    polyvox = Polyvox(Settings(home=tmp_path, database=f"sqlite:///{path}"), env={})
    with pytest.raises(ConfigError) as caught:
        await polyvox.open()
    assert str(path) in caught.value.message
    assert caught.value.hint


async def test_an_opening_that_fails_lets_go_of_everything(tmp_path: Path) -> None:
    """Its lock is released, so nobody takes it for a living process."""
    async with ProviderServer() as provider:
        settings = settings_for(tmp_path, provider)

        times = iter([1, None, 3])

        def broken() -> int:
            if (time := next(times)) is None:
                raise RuntimeError("no time")
            return time

        polyvox = Polyvox(settings, clock=broken, env={})
        with pytest.raises(RuntimeError, match="no time"):
            await polyvox.open()
        assert list((tmp_path / "polyvox.db.runners").iterdir()) == []


# -- a full disk ---------------------------------------------------------------------------------


async def fill(room: Room, *, full: bool) -> None:
    pages = 1 if full else 1_000_000

    def limit(tx: Tx) -> None:
        tx.run(f"PRAGMA max_page_count = {pages}")

    await room.polyvox.database.write(limit, ME)


async def test_a_full_disk_is_told_and_survived(tmp_path: Path) -> None:
    """An answer is being written when the disk fills up: nothing is shown that is not stored, new
    messages are refused with the reason, and once there is space everything goes on."""
    async with open_room(tmp_path) as room:
        room.polyvox.journal.patience = 0.05
        long = " and on" * 30_000
        script = Script(pieces=("It begins", long, " to the end."), gates={1: "more"})
        ann = await room.advisor("Ann", script)
        talk = await room.conversation(ann)
        begun = await room.send(talk, "Go on")
        (answer,) = begun.answers
        await room.spoken(talk, answer.id)
        last = (await room.polyvox.conversations.get(ME, talk)).last_number

        await fill(room, full=True)
        room.provider.gate("more").set()
        with pytest.raises(StoreFull, match="no space left"):
            await room.send(talk, "x" * 100_000)
        with pytest.raises(StoreFull):
            await room.send(talk, "y" * 100_000)
        assert "no space left" in room.polyvox.journal.trouble
        assert (await room.answer(answer.id)).text == "It begins"
        assert (await room.polyvox.conversations.get(ME, talk)).last_number == last

        await fill(room, full=False)
        await room.settled()
        assert (await room.answer(answer.id)).text == f"It begins{long} to the end."
        assert room.polyvox.journal.trouble == ""
        assert [turn.content for turn, _ in (await room.polyvox.view(ME, talk)).turns] == ["Go on"]
        _, (after,) = await room.say(talk, "And now?")
        assert after.state == "completed"


async def test_closing_on_a_full_disk_ends_and_the_next_start_cleans_up(tmp_path: Path) -> None:
    async with ProviderServer() as provider:
        long = " and on" * 30_000
        async with open_room(tmp_path, provider=provider) as room:
            script = Script(pieces=("It begins", long, " x"), gates={1: "more", 2: "never"})
            ann = await room.advisor("Ann", script)
            talk = await room.conversation(ann)
            begun = await room.send(talk, "Go on")
            waiting = await room.send(talk, "And then")
            await room.spoken(talk, begun.answers[0].id)
            await fill(room, full=True)
            provider.gate("more").set()
            with pytest.raises(StoreFull):
                await room.send(talk, "y" * 100_000)
            async with asyncio.timeout(60):
                await room.polyvox.turns.queue.close()
                await room.polyvox.journal.close()
        provider.clear()
        async with open_room(tmp_path, provider=provider) as room:
            assert room.polyvox.recovered == 2
            ended = await room.answer(begun.answers[0].id)
            assert (ended.state, ended.text) == ("interrupted", "It begins")
            assert (await room.answer(waiting.answers[0].id)).state == "interrupted"
            assert (await room.again(ended.id)).state == "completed"


# -- what is logged ------------------------------------------------------------------------------


async def test_debugging_writes_one_line_for_each_call_and_never_a_secret(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_room(tmp_path) as room:
        ann = await room.advisor("Ann", Script(text="Said in private."))
        bob = await room.advisor("Bob", Script(status=401))
        talk = await room.conversation(ann, bob)
        caplog.set_level(logging.DEBUG, logger="polyvox")
        await room.say(talk, "Asked in private.")
        lines = [r.getMessage() for r in caplog.records if r.getMessage().startswith("call ")]
        assert len(lines) == 2
        (line,) = [line for line in lines if "advisor=ann" in line]
        for part in (
            "turn=1",
            "phase=early",
            "system_tokens=",
            "input_tokens=",
            "messages=1",
            "omitted=0",
            f"model={ann.model}",
            "status=200",
            "first_byte_ms=",
            "attempt=1",
        ):
            assert part in line
        assert "private" not in caplog.text
        caplog.set_level(5, logger="polyvox")
        await room.say(talk, "Asked in private.")
        assert "answer Said in private." in caplog.text
        assert "Asked in private." in caplog.text
        assert KEY not in caplog.text


async def test_events_end_with_the_turn_or_with_the_program(tmp_path: Path) -> None:
    async with open_room(tmp_path) as room:
        ann = await room.advisor("Ann")
        talk = await room.conversation(ann)
        turn, _ = await room.say(talk, "One")
        got = [item.event async for item in room.polyvox.events(talk, until=turn.id)]
        assert got[-1] == TurnCompleted(turn.id)
        listening = asyncio.create_task(
            room.seen(talk, lambda _: False, after=(await room.log(talk))[-1].number)
        )
        await asyncio.sleep(0)
    with pytest.raises(AssertionError, match="the events ended"):
        await listening
