"""Packing: small, flat in the conversation's length, and appended wherever that is true."""

from __future__ import annotations

import hashlib
import json

import msgspec
from tests.context.world import LARGE, World, limits

from polyvox.context.compile import compile_request
from polyvox.context.receipt import (
    BaseHistory,
    Packed,
    Seat,
    base_of,
    pack,
    read,
    refs_hash,
    sealed,
)
from polyvox.context.recipe import BUILT_IN
from polyvox.ids import content_hash, new_id
from polyvox.models.base import Encoded
from polyvox.values import Attempt, Params

COUNCIL, AGENT = BUILT_IN["council"], BUILT_IN["agent"]
COUNCIL_SEATS = tuple(Seat(f"adv{n}", f"Advisor {n}", new_id(), "lab:large") for n in range(3))


def grown(turns: int, recipe: str = "council") -> list[Packed]:
    """The receipts of one advisor over a conversation, each appended to the one before."""
    world, base, made = World(3), None, []
    for _ in range(turns):
        turn = world.say("what about this?")
        thread = world.thread(0, cut=base.cut if base else None)
        draft = compile_request(BUILT_IN[recipe], thread, limits(), LARGE, Params()).draft
        made.append(pack(draft, base, COUNCIL_SEATS))
        answer = world.answer(turn, 0, "I would not.")
        base = base_of(answer.id, made[-1].data)
        for who in (1, 2):
            world.answer(turn, who, "I would.")
    return made


def test_stored_bytes_do_not_grow_with_the_conversation() -> None:
    receipts = grown(500)
    sizes = [len(packed.data.encode()) for packed in receipts]
    assert sizes[499] <= 1.2 * sizes[19]
    assert max(sizes[5:]) <= 1.2 * sizes[19]
    assert sizes[499] < 2_500
    texts = {name for packed in receipts for name in packed.spans}
    # identity, shared, three early protocols, ongoing, rules, danger, zone, reference, council
    assert len(texts) == 11


def test_each_receipt_appends_one_turn() -> None:
    receipts = [read(packed.data).history for packed in grown(10)]
    assert [len(history.append) for history in receipts] == [0, 2, 2, 2, 2, 2, 2, 2, 2, 2]
    assert [history.count for history in receipts] == list(range(0, 20, 2))
    assert receipts[0].base is None
    assert receipts[1].base is None  # there was nothing to append to
    assert all(history.base for history in receipts[2:])


def test_bookends_are_whole_lists_and_small() -> None:
    receipts = grown(60, "agent")
    assert read(receipts[-1].data).history.base is None
    assert len(read(receipts[-1].data).history.append) == 18
    sizes = [len(packed.data) for packed in receipts]
    assert sizes[59] <= 1.2 * sizes[30]


def test_what_does_not_continue_is_a_whole_list() -> None:
    world = World(1)
    for _ in range(4):
        world.round()
    world.say("now")
    draft = compile_request(COUNCIL, world.thread(), limits(), LARGE, Params()).draft
    refs = [line.ref for line in draft.lines[: draft.history]]
    fits = BaseHistory("x", 4, refs_hash(refs[:4]))
    assert pack(draft, fits).base_id == "x"
    assert read(pack(draft, fits).data).history.append == refs[4:]
    for other in (
        BaseHistory("x", 4, refs_hash(refs[1:5])),
        BaseHistory("x", 9, refs_hash(refs)),
        BaseHistory("x", 0, refs_hash([])),
        None,
    ):
        assert pack(draft, other).base_id is None
        assert read(pack(draft, other).data).history.append == refs


def test_spans_are_named_by_their_content() -> None:
    (packed,) = grown(1)
    assert all(content_hash(text) == name for name, text in packed.spans.items())
    stored = read(packed.data)
    assert stored.council is not None
    seats = msgspec.json.decode(packed.spans[stored.council], type=tuple[Seat, ...])
    assert seats == COUNCIL_SEATS
    assert "You are Advisor 0." in packed.spans[stored.system[0][1]]


def test_no_text_of_the_conversation_is_stored_twice() -> None:
    packed = grown(6)[-1]
    for text in ("what about this?", "I would not.", "I would."):
        assert text not in packed.data
        assert text not in "".join(packed.spans.values())


def test_sealing_adds_what_was_sent() -> None:
    (packed,) = grown(1)
    attempts = (
        Attempt("lab:a", 1, status=503, category="unavailable"),
        Attempt("lab:b", 2, 9.5, 200),
    )
    encoded = Encoded("openai", "b", b'{"model":"b"}')
    after = sealed(packed, encoded, "lab:b", attempts, Params(max_tokens=9))
    sent = read(after.data).sent
    assert sent is not None
    assert (sent.dialect, sent.model, sent.model_id, sent.wire_bytes) == (
        "openai",
        "b",
        "lab:b",
        13,
    )
    assert sent.wire_hash == hashlib.sha256(encoded.body).hexdigest()
    assert sent.attempts == attempts
    assert sent.params == Params(max_tokens=9)
    assert read(sealed(packed, encoded, "lab:b", (), Params()).data).sent.params is None  # type: ignore[union-attr] # just sealed
    before, now = json.loads(packed.data), json.loads(after.data)
    now.pop("sent")
    assert now == before
