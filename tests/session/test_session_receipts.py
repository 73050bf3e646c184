"""The receipt of every answer is what the provider received, byte for byte, however it came."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from tests.provider import Script
from tests.session.past import live
from tests.session.room import ME, Room, open_room

from polyvox.context.describe import describe
from polyvox.errors import NotFound
from polyvox.store.database import Tx

WIRES = ("lab", "claude")


@pytest.mark.parametrize("wire", WIRES)
async def test_after_retries_it_is_the_last_body_and_tells_every_attempt(
    wire: str, tmp_path: Path, database_url: str
) -> None:
    async with open_room(tmp_path, database=database_url, limits={"retries": 2}) as room:
        ann = await room.advisor("Ann", wire=wire)
        busy = Script(status=429, retry_after="0")
        room.provider.queue("m1", busy, busy, Script(text="At last."))
        talk = await room.conversation(ann)
        _, (answer,) = await room.say(talk, "Well?")
        assert (answer.state, answer.text) == ("completed", "At last.")
        first, second, third = room.provider.log
        seen = await room.receipt(answer.id)
        assert seen.verified
        assert seen.body == third.body == second.body == first.body
        assert seen.receipt.sent is not None
        assert [one.status for one in seen.receipt.sent.attempts] == [429, 429, 200]
        assert [one.category for one in answer.attempts] == ["rate_limit", "rate_limit", None]


@pytest.mark.parametrize(("wire", "other"), [("lab", "claude"), ("claude", "lab")])
async def test_after_a_fallback_it_is_what_the_other_wire_was_sent(
    wire: str, other: str, tmp_path: Path, database_url: str
) -> None:
    fallback = {"fallback": ["lab:gone", f"{other}:spare"]}
    async with open_room(tmp_path, database=database_url, models=fallback) as room:
        ann = await room.advisor("Ann", Script(status=401), wire=wire)
        room.provider.script("gone", Script(status=500))
        room.provider.script("spare", Script(text="From the spare."))
        talk = await room.conversation(ann)
        _, (answer,) = await room.say(talk, "Well?")
        assert (answer.text, answer.model) == ("From the spare.", f"{other}:spare")
        assert [(one.model, one.status) for one in answer.attempts] == [
            (f"{wire}:m1", 401),
            ("lab:gone", 500),
            (f"{other}:spare", 200),
        ]
        seen = await room.receipt(answer.id)
        assert seen.verified
        assert seen.body == room.provider.requests("spare")[0].body
        assert seen.receipt.sent is not None
        assert seen.receipt.sent.model_id == f"{other}:spare"
        assert room.provider.requests("spare")[0].path.endswith(
            "/messages" if other == "claude" else "/chat/completions"
        )


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    "script",
    [
        Script(status=500),
        Script(fault="cut"),
        Script(empty=True),
        Script(fault="garbage"),
        Script(fault="reset"),
    ],
    ids=lambda script: script.fault or str(script.status),
)
async def test_an_answer_that_failed_has_one_too(room: Room, wire: str, script: Script) -> None:
    ann = await room.advisor("Ann", script, wire=wire)
    _, (answer,) = await room.say(await room.conversation(ann), "Well?")
    assert answer.state == "failed"
    seen = await room.receipt(answer.id)
    assert seen.verified
    assert seen.body == room.provider.log[0].body


async def test_so_has_one_that_was_stopped_before_its_first_word(both: Room) -> None:
    room = both
    ann = await room.advisor("Ann", Script(hold="never"))
    talk = await room.conversation(ann)
    begun = await room.send(talk, "Well?")
    await room.provider.arrived(1)
    await room.polyvox.turns.stop_turn(ME, begun.turn.id)
    seen = await room.receipt(begun.answers[0].id)
    assert seen.verified
    assert seen.body == room.provider.log[0].body


async def test_nothing_was_sent_means_nothing_is_claimed(room: Room) -> None:
    ann = await room.advisor("Ann", Script(hold="gate"))
    talk = await room.conversation(ann)
    await room.send(talk, "First")
    queued = await room.send(talk, "Second")
    await room.polyvox.turns.stop_turn(ME, queued.turn.id)
    with pytest.raises(NotFound, match="no receipt"):
        await room.receipt(queued.answers[0].id)
    room.provider.gate("gate").set()
    await room.settled()


@pytest.mark.parametrize("wire", WIRES)
async def test_cache_marks_are_rebuilt_where_they_were(both: Room, wire: str) -> None:
    """Long texts are marked for the provider's cache, on the wire that has marks."""
    room = both
    ann = await room.advisor("Ann", Script(text="long " * 900), wire=wire)
    talk = await room.conversation(ann)
    for number in range(3):
        _, (answer,) = await room.say(talk, f"{number} " + "word " * 500)
        seen = await room.receipt(answer.id)
        assert seen.verified
        assert seen.body == room.provider.log[-1].body
    marked = b"cache_control" in room.provider.log[-1].body
    assert marked == (wire == "claude")


@pytest.mark.parametrize("wire", WIRES)
async def test_any_text_survives_the_way_back(both: Room, wire: str) -> None:
    room = both
    odd = 'Ünï ✓ 𝄞 👩‍👩‍👧 "quoted" \\back\\ [bracket] ] [ line\n\tnext \u2028 \ufeff end'
    ann = await room.advisor("A [nn]", Script(pieces=(odd,)), wire=wire)
    bob = await room.advisor("Böb\u2028", Script(pieces=(odd,)), wire=wire)
    talk = await room.conversation(ann, bob)
    await room.say(talk, odd)
    _, answers = await room.say(talk, odd)
    bodies = {request.body for request in room.provider.log}
    for answer in answers:
        assert answer.text == odd
        seen = await room.receipt(answer.id)
        assert seen.verified
        assert seen.body in bodies


async def test_it_shows_the_council_as_it_was(room: Room) -> None:
    ann = await room.advisor("Ann", description="You count.")
    bob = await room.advisor("Bob")
    talk = await room.conversation(ann, bob)
    _, (answer, _) = await room.say(talk, "Well?")
    update = room.polyvox.advisors.update
    await update(ME, ann.id, name="Anna", prompt="You no longer count.", model="lab:other")
    await update(ME, bob.id, name="Bobby")
    seen = (await room.receipt(answer.id)).receipt
    assert [(seat.id, seat.name, seat.version_id, seat.model) for seat in seen.council] == [
        (ann.id, "Ann", ann.version_id, ann.model),
        (bob.id, "Bob", bob.version_id, bob.model),
    ]
    assert "You count." in seen.request.system[0].text
    assert (await room.receipt(answer.id)).verified


async def test_it_says_of_every_span_what_it_is_and_why(room: Room) -> None:
    ann, bob = await room.advisor("Ann"), await room.advisor("Bob", Script(text="Bob's word."))
    talk = await room.conversation(ann, bob)
    first, _ = await room.say(talk, "First")
    second, answers = await room.say(talk, "Second")
    seen = (await room.receipt(answers[0].id)).receipt
    spans = seen.spans()
    assert [(span.kind, span.role, span.included) for span in spans] == [
        ("identity", "system", True),
        ("shared", "system", True),
        ("protocol", "system", True),
        ("rules", "system", True),
        ("danger", "system", True),
        ("clock", "system", True),
        ("user", "user", True),
        ("own", "assistant", True),
        ("reference", "user", True),
        ("current", "user", True),
    ]
    assert spans[6].sources == (f"u{first.id}",)
    assert spans[-1].sources == (f"u{second.id}",)
    assert "turn 2 of 3" in spans[2].reason
    assert all(span.reason and span.chars == len(span.text) for span in spans)
    told = msgspec.to_builtins(describe(seen))
    assert msgspec.json.encode(told)


async def test_receipts_go_with_their_conversation(both: Room) -> None:
    room = both
    ann = await room.advisor("Ann")
    talk = await room.conversation(ann)
    _, (answer,) = await room.say(talk, "Well?")
    await room.polyvox.delete_conversation(ME, talk)
    with pytest.raises(NotFound):
        await room.receipt(answer.id)

    def left(tx: Tx) -> list[int]:
        tables = ("receipts", "spans", "events", "answers", "turns")
        return [(tx.one(f"SELECT COUNT(*) FROM {name}") or (0,))[0] for name in tables]

    assert await room.polyvox.database.read(left, ME) == [0, 0, 0, 0, 0]


@pytest.mark.slow
async def test_bytes_per_turn_do_not_grow_with_the_conversation(both: Room) -> None:
    room = both
    advisors = [await room.advisor(wire=wire) for wire in WIRES]
    talk = await room.conversation(*advisors)
    sizes = [0]
    ids: list[str] = []
    for _ in range(20):
        ids += await live(room, talk, 10)
        sizes.append(await room.polyvox.database.read(_stored, ME))
    early = sizes[4] - sizes[2]
    late = sizes[20] - sizes[18]
    assert late <= early * 1.05, sizes
    for answer_id in (ids[0], ids[len(ids) // 2], ids[-1]):
        seen = await room.receipt(answer_id)
        assert seen.verified
        assert seen.receipt.exact
    assert len((await room.receipt(ids[-1])).receipt.request.messages) == 200 + 199 + 1
    _, answers = await room.say(talk, "And now, on the real road?")
    bodies = {request.body for request in room.provider.log}
    for answer in answers:
        seen = await room.receipt(answer.id)
        assert seen.verified
        assert seen.body in bodies


def _stored(tx: Tx) -> int:
    """Bytes of all that turns store."""
    sums = (
        "SELECT SUM(LENGTH(data)) FROM receipts",
        "SELECT SUM(LENGTH(text)) FROM spans",
        "SELECT SUM(LENGTH(data) + 60) FROM events",
        "SELECT SUM(LENGTH(text) + LENGTH(attempts) + 200) FROM answers",
    )
    return sum(int((tx.one(sql) or (0,))[0] or 0) for sql in sums)
