"""Windows, phases, budget and visibility on the real road, read off the bodies that were sent."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.provider import Script
from tests.session.past import live
from tests.session.room import ME, Hand, Room, open_room
from tests.session.shadow import EARLY, ONGOING, Sent

from polyvox.errors import Invalid

pytestmark = pytest.mark.contract

WIRES = ("lab", "claude")


def bodies(room: Room, model: str = "") -> list[Sent]:
    log = room.provider.requests(model) if model else room.provider.log
    return [Sent.of(request.json()) for request in log]


def size(sent: Sent) -> int:
    """Estimated tokens, by the rule itself."""
    texts = [sent.system, *(text for _, text in sent.messages)]
    return sum(-(-len(text) // 4) for text in texts)


# -- graceful ------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("wire", WIRES)
async def test_the_kept_prefix_stays_the_same_for_several_turns(wire: str, tmp_path: Path) -> None:
    """Sixty turns against a small limit: never over it, pairs whole, and the cut moves in leaps."""
    limit = 12_000
    async with open_room(tmp_path, limits={"context": f"{limit} chars"}) as room:
        ann = await room.advisor("Ann", Script(text="answer " * 30, plain=True), wire=wire)
        talk = await room.conversation(ann)
        for number in range(60):
            await room.say(talk, f"message {number} " + "word " * 40)
        sent = bodies(room)
    assert len(sent) == 60
    assert all(size(one) <= limit // 4 for one in sent)
    assert all(one.messages[0][0] == "user" for one in sent)
    assert all(one.messages[-1][1].endswith("word ") for one in sent)
    firsts = [one.messages[0][1] for one in sent]
    cut = next(at for at, first in enumerate(firsts) if first != firsts[0])
    assert cut > 10
    moves = sum(before != after for before, after in pairwise(firsts[cut:]))
    assert moves <= (60 - cut) / 3, "the cut stays where it is for several turns"
    for before, after in pairwise(sent):
        if before.messages[0] == after.messages[0]:
            assert after.messages[: len(before.messages)] == before.messages
    leap = size(sent[cut - 1]) - size(sent[cut])
    assert leap > 0.05 * limit / 4, "trimmed to a mark below the limit"


async def test_the_receipt_tells_what_was_left_out_and_why(tmp_path: Path) -> None:
    async with open_room(tmp_path, limits={"context": "12000 chars"}) as room:
        ann = await room.advisor("Ann")
        talk = await room.conversation(ann)
        await live(room, talk, 30, lambda n: f"{n} " + "word " * 60, lambda n, _: "yes " * 80)
        _, (answer,) = await room.say(talk, "And now?")
        seen = (await room.receipt(answer.id)).receipt
        (out,) = [span for span in seen.spans() if not span.included]
        kept = [span for span in seen.spans() if span.kind == "user"]
        assert out.kind == "omitted"
        assert f"{30 - len(kept)} turns" in out.reason
        assert "older than what fits the limit" in out.reason
        assert seen.draft.cut == 30 - len(kept) + 1
        assert (await room.receipt(answer.id)).verified


async def test_a_long_reference_block_is_shortened_and_says_so(tmp_path: Path) -> None:
    async with open_room(tmp_path, limits={"context": "9000 chars"}) as room:
        ann = await room.advisor("Ann", Script(text="short"))
        bob = await room.advisor("Bob", Script(text="long " * 400))
        talk = await room.conversation(ann, bob)
        await room.say(talk, "One")
        await room.say(talk, "Two")
        assert "Bob: long" in bodies(room, "m1")[-1].messages[-2][1]
        room.provider.script("m2", Script(text="longer " * 1200))
        await room.say(talk, "Three")
        _, (answer, _) = await room.say(talk, "Four")
        last = bodies(room, "m1")[-1]
        assert "[…]" in last.messages[-2][1]
        seen = (await room.receipt(answer.id)).receipt
        (block,) = [span for span in seen.spans() if span.kind == "reference"]
        assert block.included
        assert "shortened" in block.reason


# -- the learned ratio ---------------------------------------------------------------------------


@pytest.mark.parametrize("wire", WIRES)
async def test_three_reports_at_twice_the_estimate_are_enough(wire: str, room: Room) -> None:
    ann = await room.advisor("Ann", Script(text="Yes.", input_ratio=2.0), wire=wire)
    talk = await room.conversation(ann)
    for number in range(3):
        _, (answer,) = await room.say(talk, f"Message {number}, long enough to be counted well.")
    (estimate,) = await room.polyvox.turns.estimate(ME, talk, "And what now?")
    _, (answer,) = await room.say(talk, "And what now?")
    assert answer.usage is not None
    assert estimate.input_tokens == pytest.approx(answer.usage.input_tokens, rel=0.1)
    assert (await room.receipt(answer.id)).receipt.draft.ratio == pytest.approx(2.0, rel=0.1)


async def test_a_ratio_is_the_models_own_and_estimates_teach_nothing(room: Room) -> None:
    ann = await room.advisor("Ann", Script(text="Yes.", input_ratio=3.0))
    bob = await room.advisor("Bob", Script(text="Yes.", usage=False))
    talk = await room.conversation(ann, bob)
    for _ in range(3):
        _, answers = await room.say(talk, "Well?")
    assert answers[1].usage is not None
    assert answers[1].usage.estimated
    of_ann, of_bob = await room.polyvox.turns.estimate(ME, talk, "Well?")
    assert of_ann.input_tokens > 2 * of_bob.input_tokens


async def test_a_ratio_moves_what_fits_the_models_window(tmp_path: Path) -> None:
    """A window of 3,000 tokens holds half as much text for a model that counts double."""
    known = {"known": {"lab:m1": {"window": 3000, "max_tokens": 200}}}
    async with open_room(tmp_path, models=known) as room:
        ann = await room.advisor("Ann", Script(text="Yes.", input_ratio=2.0))
        talk = await room.conversation(ann)
        for number in range(24):
            _, (answer,) = await room.say(talk, f"{number} " + "word " * 60)
            assert answer.usage is not None
            if number > 5:
                assert answer.usage.input_tokens <= 2800 * 1.02
        assert len(bodies(room)[-1].messages) < 40


# -- bookends and recent -------------------------------------------------------------------------


async def test_bookends_by_the_agent_recipe(room: Room) -> None:
    ann = await room.advisor("Ann", description="You keep the books.")
    talk = await room.conversation(ann, recipe="agent")
    await live(room, talk, 30)
    await room.say(talk, "And now?")
    (sent,) = bodies(room)
    assert sent.system.startswith("You keep the books.\n\nBefore anything else: if the person")
    texts = [text for _, text in sent.messages]
    assert texts[:2] == ["message 1", "Ann says 1"]
    assert texts[2] == "[42 earlier messages of this conversation are not shown here.]"
    assert texts[3:] == [
        *(t for n in range(23, 31) for t in (f"message {n}", f"Ann says {n}")),
        "And now?",
    ]
    assert len(texts) == 20
    assert 42 + 2 + 16 == 60, "shown and not shown are all there are"


@pytest.mark.parametrize("turns", [9, 10, 14, 15])
async def test_a_short_past_has_no_note(room: Room, turns: int) -> None:
    """Twenty messages fit; when no more than ten are left out, nothing is said about them."""
    ann = await room.advisor("Ann")
    talk = await room.conversation(ann, recipe="agent")
    await live(room, talk, turns)
    await room.say(talk, "And now?")
    texts = [text for _, text in bodies(room)[0].messages]
    left_out = turns * 2 + 1 - sum(1 for text in texts if "not shown" not in text)
    if turns == 9:
        assert (len(texts), left_out) == (19, 0)
    assert ("not shown" in "".join(texts)) == (left_out > 10)
    assert texts[:2] == ["message 1", "Ann says 1"]


async def test_bookends_of_a_very_long_past_are_its_real_first_messages(tmp_path: Path) -> None:
    """More than the limit could ever hold: the first turns are read from the far end, and the note
    counts exactly."""
    async with open_room(tmp_path, limits={"context": "8000 chars"}) as room:
        ann = await room.advisor("Ann")
        talk = await room.conversation(ann, recipe="agent")
        await live(room, talk, 130, lambda n: f"message {n} " + "word " * 30)
        await room.say(talk, "And now?")
        texts = [text for _, text in bodies(room)[0].messages]
        assert texts[0].startswith("message 1 ")
        shown = sum(1 for text in texts if "not shown" not in text)
        assert texts[2] == (
            f"[{130 * 2 + 1 - shown} earlier messages of this conversation are not shown here.]"
        )


async def test_recent_is_the_last_messages_of_the_active_session(tmp_path: Path) -> None:
    clock = Hand()
    recipe = {"council": {"window": {"kind": "recent", "last_messages": 4}}}
    async with open_room(tmp_path, clock=clock, recipes=recipe) as room:
        ann = await room.advisor("Ann", Script(text="Answer {n}."))
        talk = await room.conversation(ann)
        for text in ("one", "two", "three", "four"):
            await room.say(talk, text)
            clock.on(minutes=1)
        said = [text[19:] if text[0] == "[" else text for _, text in bodies(room)[-1].messages]
        assert said == ["two", "Answer 2.", "three", "Answer 3.", "four"]
        clock.on(minutes=6)
        turn, _ = await room.say(talk, "five")
        assert [text[19:] for _, text in bodies(room)[-1].messages] == ["five"]
        clock.on(minutes=4)
        later, _ = await room.say(talk, "six")
        assert later.session_id == turn.session_id
        assert len(bodies(room)[-1].messages) == 3


async def test_an_agents_session_is_never_cut_by_idleness(tmp_path: Path) -> None:
    clock = Hand()
    async with open_room(tmp_path, clock=clock) as room:
        ann = await room.advisor("Ann")
        talk, other = await room.conversation(ann, recipe="agent"), await room.conversation(ann)
        first, _ = await room.say(talk, "one")
        before, _ = await room.say(other, "one")
        clock.on(days=30)
        second, _ = await room.say(talk, "two")
        after, _ = await room.say(other, "two")
        assert first.session_id == second.session_id
        assert before.session_id != after.session_id


# -- visibility ----------------------------------------------------------------------------------


async def three_turns(tmp_path: Path, visibility: dict[str, Any]) -> dict[str, Sent]:
    """What each of three advisors was sent last, by name."""
    recipes = {"council": {"visibility": visibility}}
    async with open_room(tmp_path, recipes=recipes) as room:
        for name in ("ann", "bob", "cem"):
            await room.advisor(name, Script(text=f"{name} {{n}}"))
        talk = await room.conversation(
            *[await room.polyvox.advisors.get(ME, name) for name in ("ann", "bob", "cem")]
        )
        for text in ("one", "two", "three"):
            _, answers = await room.say(talk, text)
        for answer in answers:
            assert (await room.receipt(answer.id)).verified
        return {f"{name}": bodies(room, f"m{n}")[-1] for n, name in enumerate(_NAMES, 1)}


_NAMES = ("ann", "bob", "cem")


def others_of(sent: Sent, name: str) -> list[str]:
    """Whose words stand in the block, in order."""
    block = [text for role, text in sent.messages if role == "user" and text.startswith("[For")]
    lines = "\n".join(block).splitlines()
    return [line.split(":")[0] for line in lines if line.split(":")[0] in _NAMES]


async def test_visibility_none(tmp_path: Path) -> None:
    sent = await three_turns(tmp_path, {"default": "none"})
    assert [others_of(sent[name], name) for name in _NAMES] == [[], [], []]
    assert [len(sent[name].messages) for name in _NAMES] == [5, 5, 5]


async def test_visibility_of_the_last_turn(tmp_path: Path) -> None:
    sent = await three_turns(tmp_path, {})
    assert others_of(sent["ann"], "ann") == ["bob", "cem"]
    assert others_of(sent["bob"], "bob") == ["ann", "cem"]


async def test_visibility_of_the_whole_thread(tmp_path: Path) -> None:
    sent = await three_turns(tmp_path, {"default": "thread"})
    assert others_of(sent["ann"], "ann") == ["bob", "cem", "bob", "cem"]
    block = sent["ann"].messages[-2][1]
    assert block.index("bob 2") < block.index("bob 5")


async def test_visibility_by_pairs(tmp_path: Path) -> None:
    pairs = [
        {"viewer": "ann", "seen": "bob", "level": "none"},
        {"viewer": "bob", "seen": "ann", "level": "thread"},
    ]
    sent = await three_turns(tmp_path, {"pairs": pairs})
    assert others_of(sent["ann"], "ann") == ["cem"]
    assert others_of(sent["bob"], "bob") == ["ann", "ann", "cem"]
    assert others_of(sent["cem"], "cem") == ["ann", "bob"]


# -- phases --------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [0, 1, 3])
async def test_the_early_phase_lasts_as_long_as_it_is_told(tmp_path: Path, length: int) -> None:
    phases = [{"name": "early", "answers": length}, {"name": "ongoing"}]
    async with open_room(tmp_path, recipes={"council": {"phases": phases}}) as room:
        ann = await room.advisor("Ann")
        talk = await room.conversation(ann)
        for number in range(length + 2):
            await room.say(talk, f"{number}")
        sent = bodies(room)
    for number, one in enumerate(sent):
        early = number < length
        assert (EARLY in one.system, ONGOING in one.system) == (early, not early)
        if early:
            assert f"turn {number + 1} of {length}" in one.system
    assert sent[length].system == sent[length + 1].system, "constant, so that caches hold"


async def test_a_phase_counts_what_is_in_the_thread(room: Room) -> None:
    """Failed and excluded answers do not count, exchange rounds and syntheses neither."""
    ann, bob = await room.advisor("Ann"), await room.advisor("Bob")
    talk = await room.conversation(ann, bob)
    turn, (first, _) = await room.say(talk, "one")
    await room.polyvox.turns.exchange(ME, turn.id, 2)
    await room.settled()
    room.provider.queue("m1", Script(status=500))
    await room.say(talk, "two")
    await room.say(talk, "three")
    assert "turn 2 of 3" in bodies(room, "m1")[-1].system
    await room.polyvox.turns.exclude_answer(ME, first.id, True)
    await room.say(talk, "four")
    assert "turn 2 of 3" in bodies(room, "m1")[-1].system
    assert ONGOING in bodies(room, "m2")[-1].system


async def test_turns_are_counted_where_the_recipe_says_so(tmp_path: Path) -> None:
    change = {"council": {"count_turns": True, "phases": [{"name": "ongoing"}]}}
    async with open_room(tmp_path, recipes=change) as room:
        ann = await room.advisor("Ann")
        talk = await room.conversation(ann)
        await live(room, talk, 7)
        await room.say(talk, "And now?")
        assert "This is turn 8 of your conversation" in bodies(room)[-1].system


@pytest.mark.parametrize(
    ("stamps", "expected"),
    [("all", [True, True]), ("history", [True, False]), ("none", [False] * 2)],
)
async def test_stamps_as_they_are_wanted(tmp_path: Path, stamps: str, expected: list[bool]) -> None:
    clock = Hand()
    async with open_room(tmp_path, clock=clock, recipes={"council": {"stamps": stamps}}) as room:
        ann = await room.advisor("Ann")
        talk = await room.conversation(ann)
        await room.say(talk, "one")
        clock.on(minutes=2)
        _, (answer,) = await room.say(talk, "one")
        said = [text for role, text in bodies(room)[-1].messages if role == "user"]
        assert [text.startswith("[2025-10-30T12:0") for text in said] == expected
        assert len(said) == 2, "the same words twice are two messages"
        assert (await room.receipt(answer.id)).verified


# -- too long ------------------------------------------------------------------------------------


async def test_too_long_for_one_is_that_ones_failure_without_a_call(tmp_path: Path) -> None:
    known = {"known": {"lab:small": {"window": 2000, "max_tokens": 200}}}
    async with open_room(tmp_path, models=known) as room:
        ann = await room.advisor("Ann", Script(text="Fine."))
        small = await room.advisor("Small", model="lab:small")
        talk = await room.conversation(ann, small)
        turn, (fine, failed) = await room.say(talk, "word " * 2000)
        assert (fine.state, turn.state) == ("completed", "completed")
        assert failed.state == "failed"
        assert failed.failure is not None
        assert failed.failure.category == "context_too_long"
        assert "too much" in failed.failure.message
        assert "larger window" in failed.failure.hint
        assert failed.attempts == ()
        assert room.provider.requests("small") == []


async def test_too_long_for_all_is_refused_and_nothing_is_stored(tmp_path: Path) -> None:
    async with open_room(tmp_path, limits={"context": "6000 chars"}) as room:
        ann, bob = await room.advisor("Ann"), await room.advisor("Bob")
        talk = await room.conversation(ann, bob)
        with pytest.raises(Invalid, match=r"about [\d,]+ tokens .* too much") as caught:
            await room.send(talk, "word " * 1000)
        assert caught.value.param == "content"
        assert "limits.context" in caught.value.hint
        assert (await room.polyvox.view(ME, talk)).turns == ()
        assert (await room.polyvox.conversations.get(ME, talk)).last_number == 0
        assert room.provider.log == []


async def test_too_long_is_measured_as_the_model_counts(tmp_path: Path) -> None:
    """A model that is known to count double refuses what half its window could hold."""
    known = {"known": {"lab:m1": {"window": 6000, "max_tokens": 200}}}
    async with open_room(tmp_path, models=known) as room:
        ann = await room.advisor("Ann", Script(text="Yes.", input_ratio=2.0))
        talk = await room.conversation(ann)
        for _ in range(3):
            await room.say(talk, "Well?")
        with pytest.raises(Invalid, match="too much"):
            await room.send(talk, "word " * 2400)
        assert len((await room.polyvox.view(ME, talk)).turns) == 3


async def test_too_long_is_measured_in_the_phase_the_advisor_is_in(tmp_path: Path) -> None:
    """A message that fits only beside the shorter text of a later phase is not refused there."""
    phases = [
        {"name": "early", "answers": 1, "text": "early " * 200},
        {"name": "ongoing", "text": "later"},
    ]
    limits, recipes = {"context": "5000 chars"}, {"council": {"phases": phases}}
    async with open_room(tmp_path, limits=limits, recipes=recipes) as room:
        ann = await room.advisor("Ann")
        talk = await room.conversation(ann)
        message = "word " * 640
        with pytest.raises(Invalid):
            await room.send(talk, message)
        await room.say(talk, "Hello")
        _, (answer,) = await room.say(talk, message)
        assert answer.state == "completed"
        first = (await room.polyvox.view(ME, talk)).turns[0][0]
        with pytest.raises(Invalid):
            await room.polyvox.turns.edit_message(ME, first.message_id, message)
