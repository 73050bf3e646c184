"""Replaying a receipt: the very bytes again, whatever has changed since."""

from __future__ import annotations

import pytest
from tests.provider import Script
from tests.session.room import ME, Room

from polyvox.errors import Conflict

pytestmark = pytest.mark.contract


@pytest.mark.parametrize("wire", ["lab", "claude"])
async def test_the_same_bytes_are_sent_again(both: Room, wire: str) -> None:
    ann = await both.advisor("Ann", wire=wire)
    bob = await both.advisor("Bob")
    talk = await both.conversation(ann, bob)
    await both.say(talk, "First?")
    _, (answer, _) = await both.say(talk, "Second?")
    sent = both.provider.requests("m1")[-1].body
    await both.polyvox.advisors.update(ME, ann.id, name="Anna", prompt="Somebody else.")
    earlier = (await both.polyvox.view(ME, talk)).turns[0][1][0]
    await both.polyvox.turns.exclude_answer(ME, earlier.id, excluded=True)

    new = await both.polyvox.turns.replay(ME, answer.id)
    await both.settled()

    assert both.provider.requests("m1")[-1].body == sent
    seen = await both.receipt(new.id)
    assert seen.verified
    assert seen.body == sent
    assert (seen.answer.version, seen.answer.replaces_id) == (2, answer.id)
    await both.polyvox.turns.again(ME, new.id, retry=False)
    await both.settled()
    assert both.provider.requests("m1")[-1].body != sent


async def test_what_was_never_sent_cannot_be_sent_again(room: Room) -> None:
    ann = await room.advisor("Ann", Script(text="Yes."))
    talk = await room.conversation(ann)
    turn, _ = await room.say(talk, "Well?")
    synthesis = await room.polyvox.turns.synthesize(ME, turn.id)
    await room.settled()
    with pytest.raises(Conflict, match="cannot be sent again"):
        await room.polyvox.turns.replay(ME, synthesis.id)
