"""A conversation that is deleted while it is answered: every call for it ends at once."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.provider import ProviderServer, Script
from tests.session.room import HELD, ME, Room, open_room


async def test_what_was_sent_while_it_was_deleted_is_not_asked(room: Room) -> None:
    ann = await room.advisor("Ann", HELD)
    talk = await room.conversation(ann)
    first = await room.send(talk, "One?")
    await room.spoken(talk, first.answers[0].id)
    await room.send(talk, "Two?")
    await room.polyvox.delete_conversation(ME, talk)
    await room.settled()
    assert len(room.provider.log) == 1
    await room.provider.gone(room.provider.log[0])
    assert not room.polyvox.turns.queue.jobs


async def test_one_that_another_process_deletes_is_noticed(tmp_path: Path) -> None:
    async with ProviderServer() as provider, open_room(tmp_path, provider=provider) as room:
        ann = await room.advisor("Ann", Script(pieces=("one", " two"), gates={1: "hold"}))
        talk = await room.conversation(ann)
        first = await room.send(talk, "One?")
        await room.spoken(talk, first.answers[0].id)
        later = await room.send(talk, "Two?")
        async with open_room(tmp_path, provider=provider) as other:
            await other.polyvox.delete_conversation(ME, talk)
        provider.gate("hold").set()
        async with asyncio.timeout(60):
            await room.settled()
        assert len(provider.log) == 1
        assert later.turn.state == "queued"
