"""The journal's promises on the real road: the pace of commits, and what listeners get."""

from __future__ import annotations

import asyncio
import math
from contextlib import aclosing

import pytest
from tests.provider import Script
from tests.session.room import ME, Room
from tests.stream.desk import shown

from polyvox.events import Numbered, TurnCompleted


@pytest.mark.slow
async def test_at_most_twenty_commits_a_second_while_four_advisors_speak(both: Room) -> None:
    room = both
    script = Script(tokens=250, pace=0.004, thinking="a thought before")
    advisors = [await room.advisor(script=script) for _ in range(4)]
    talk = await room.conversation(*advisors)
    loop, database = asyncio.get_running_loop(), room.polyvox.database
    begun, before = loop.time(), database.commits
    _, answers = await room.say(talk, "Take your time")
    spent, commits = loop.time() - begun, database.commits - before
    assert [answer.text.count(" t") for answer in answers] == [250] * 4
    assert commits <= 20 * math.ceil(spent), f"{commits} commits in {spent:.2f} s"
    rows = [item for item in await room.log(talk) if item.event.kind == "answer.delta"]
    assert len(rows) <= 4 * commits, "one row for each commit and answer at most"


async def listen(room: Room, talk: str, turn_id: str, leaves: int) -> list[Numbered]:
    """Somebody who goes away after every so many events, and comes back with the last number."""
    got: list[Numbered] = []
    while True:
        after = got[-1].number if got else 0
        async with aclosing(room.polyvox.events(talk, after=after)) as events:
            for _ in range(leaves):
                got.append(await anext(events))
                if got[-1].event == TurnCompleted(turn_id):
                    return got


async def test_whoever_comes_and_goes_gets_the_same_text(both: Room) -> None:
    room = both
    script = Script(tokens=120, pace=0.002)
    advisors = [await room.advisor(script=script) for _ in range(3)]
    talk = await room.conversation(*advisors)
    begun = await room.send(talk, "Go on")
    turn_id = begun.turn.id
    async with asyncio.timeout(60):
        heard = await asyncio.gather(
            *(listen(room, talk, turn_id, leaves) for leaves in (1, 2, 7, 10_000))
        )
    await room.settled()
    _, answers = await room.turn(turn_id)
    whole = {f"answer.delta {answer.id}": answer.text for answer in answers}
    for got in heard:
        assert shown(got) == whole
        numbers = [item.number for item in got]
        assert numbers == sorted(numbers)
    later = await listen(room, talk, turn_id, 10_000)
    assert shown(later) == whole
    assert len(room.polyvox.hub) == 0


async def test_a_view_shows_what_is_being_written(both: Room) -> None:
    room = both
    ann = await room.advisor(script=Script(pieces=("so", " far", " so good"), gates={2: "on"}))
    talk = await room.conversation(ann)
    begun = await room.send(talk, "Well?")
    await room.spoken(talk, begun.answers[0].id)
    ((_, (answer,)),) = (await room.polyvox.view(ME, talk)).turns
    assert answer.state == "streaming"
    assert "so far".startswith(answer.text)
    assert answer.text
    room.provider.gate("on").set()
    await room.settled()
    ((turn, (answer,)),) = (await room.polyvox.view(ME, talk)).turns
    assert (turn.state, answer.text) == ("completed", "so far so good")
