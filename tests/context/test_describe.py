"""Descriptions: words and numbers that agree with the request they describe."""

from __future__ import annotations

import msgspec
import pytest
from tests.context.world import LARGE, World, limits, tokens

from polyvox.context.compile import compile_request
from polyvox.context.describe import describe
from polyvox.context.draft import Draft
from polyvox.context.rebuild import ReceiptSources, rebuild
from polyvox.context.receipt import Seat, pack, sealed
from polyvox.context.recipe import BUILT_IN
from polyvox.models.base import Encoded, ModelFacts
from polyvox.values import Attempt, Params

COUNCIL = BUILT_IN["council"]


def crowded(room: str = "9000 chars", ratio: float = 1.0) -> tuple[World, Draft]:
    world = World(3)
    for _ in range(40):
        world.round("u" * 200, 200)
    world.say("now")
    thread = world.thread(ratio=ratio, memory=(("recall", "They moved in May."),))
    return world, compile_request(COUNCIL, thread, limits(room), LARGE, Params()).draft


def test_numbers_agree_with_the_request() -> None:
    _, draft = crowded()
    told = describe(draft)
    assert told.budget == 2_250
    assert told.tokens == draft.size <= told.budget
    assert told.limit == "limit 9000 chars"
    kinds = [share.kind for share in told.shares]
    assert kinds == [
        "identity",
        "shared",
        "protocol",
        "rules",
        "danger",
        "clock",
        "memory",
        "user",
        "own",
        "reference",
        "current",
    ]
    # Each piece is rounded by itself, and what joins the blocks counts with the whole alone.
    total = sum(share.tokens for share in told.shares)
    assert told.tokens - 2 <= total <= told.tokens + len(kinds)
    assert sum(share.share for share in told.shares) == pytest.approx(total / 2_250)
    assert sum(share.pieces for share in told.shares if share.kind in {"user", "own"}) == (
        draft.history
    )


def test_what_is_left_out_is_one_entry_with_its_reason() -> None:
    _, draft = crowded()
    told = describe(draft)
    (entry,) = told.left_out
    assert draft.cut is not None
    left = draft.cut - 1
    assert entry == (
        f"{left} turns ({left * 2} messages, turns 1 to {left}): older than what fits the limit"
    )
    assert told.messages_omitted == left * 2
    assert [span.reason for span in told.spans if not span.included] == [entry]


def test_pieces_that_were_dropped_are_told_with_their_reason() -> None:
    _, roomy = crowded("150000 chars")
    system = (roomy.system_tokens + 4) * 4
    _, draft = crowded(f"{system + 40} chars")
    told = describe(draft)
    assert [entry.split(" (")[0] for entry in told.left_out] == [
        "40 turns",
        "memory",
        "what the others said",
    ]
    assert "left out whole" in told.left_out[2]


def test_the_ratio_is_in_every_token_figure() -> None:
    _, once = crowded("150000 chars")
    _, twice = crowded("150000 chars", ratio=2.0)
    assert describe(twice).tokens == 2 * describe(once).tokens
    assert describe(twice).budget == 2 * describe(once).budget


def test_every_span_says_what_it_is() -> None:
    _, draft = crowded()
    told = describe(draft)
    assert all(span.reason and span.reason != span.kind for span in told.spans)
    protocol = next(span for span in told.spans if span.kind == "protocol")
    assert protocol.reason == "what to do in this phase (ongoing, turn 41)"
    reference = next(span for span in told.spans if span.kind == "reference")
    assert len(reference.sources) == 2
    assert all(source.startswith("a") for source in reference.sources)


def test_a_receipt_in_lines() -> None:
    world, draft = crowded()
    packed = sealed(
        pack(draft, None, (Seat("adv0", "Advisor 0", "v", "m:n"),)),
        Encoded("openai", "n", b"x" * 1234),
        "m:n",
        (Attempt("m:o", 1), Attempt("m:n", 2)),
    )
    receipt = rebuild("r", world.load("r", {"r": packed.data}, packed.spans))
    told = describe(receipt)
    assert (told.tokens, told.budget, told.limit) == (draft.size, 2_250, "limit 9000 chars")
    assert (told.recipe, told.phase, told.k, told.prompts) == ("council", "ongoing", 41, "full")
    assert any(share.name == "its own answers" and share.pieces > 1 for share in told.shares)
    assert told.sent is not None
    assert (told.sent.model_id, told.sent.wire_bytes, len(told.sent.attempts)) == ("m:n", 1234, 2)
    assert told.council[0].name == "Advisor 0"
    assert told.exact
    assert msgspec.json.decode(msgspec.json.encode(told))["answer_id"] == "r"


def test_an_inexact_receipt_says_so() -> None:
    _, draft = crowded()
    receipt = rebuild("r", ReceiptSources({"r": pack(draft).data}))
    told = describe(receipt)
    assert not told.exact
    assert told.missing


def test_the_models_window_is_named_when_it_binds() -> None:
    world = World(1)
    world.say("now")
    facts = ModelFacts("m:n", 4_096)
    made = compile_request(COUNCIL, world.thread(), limits(), facts, Params(max_tokens=96))
    told = describe(made.draft)
    assert told.limit == "the model's window of 4,096 tokens less 96 for the answer"
    assert told.budget == 4_000
    assert told.tokens == tokens(made.request)
