"""Rebuilding: exactly the request that was compiled, whatever the conversation went through."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.context.world import LARGE, World, limits

from polyvox.context.compile import compile_request
from polyvox.context.draft import Compiled, spans_of
from polyvox.context.rebuild import ReceiptSources, needs, rebuild
from polyvox.context.receipt import BaseHistory, Seat, base_of, pack, read_history, sealed
from polyvox.context.recipe import BUILT_IN, Recipe, changed
from polyvox.models.base import Encoded, ModelFacts
from polyvox.thread import ThreadSummary
from polyvox.values import Attempt, Params

RECIPES: list[Recipe] = [
    BUILT_IN["council"],
    BUILT_IN["agent"],
    changed(BUILT_IN["council"], {"visibility": {"default": "thread"}, "stamps": "history"}),
    changed(BUILT_IN["council"], {"count_turns": True, "window": {"kind": "recent"}}),
]


@dataclass(frozen=True)
class Step:
    """What happens between two turns, and how the next one is asked."""

    size: int
    exclude: int | None
    fork: int | None
    silent: bool
    rounds: int
    memory: bool
    unknown_time: bool


STEPS = st.lists(
    st.builds(
        Step,
        size=st.integers(0, 200),
        exclude=st.none() | st.integers(0, 30),
        fork=st.sampled_from([None, None, None, None, 2, 5]),
        silent=st.booleans(),
        rounds=st.sampled_from([0, 0, 1, 2]),
        memory=st.booleans(),
        unknown_time=st.booleans(),
    ),
    min_size=1,
    max_size=25,
)


class Ledger:
    """Every receipt of one advisor in a conversation, kept as a store keeps them."""

    def __init__(self, world: World, recipe: Recipe, room: str) -> None:
        self.world, self.recipe, self.room = world, recipe, room
        self.receipts: dict[str, str] = {}
        self.texts: dict[str, str] = {}
        self.made: dict[str, Compiled] = {}
        self.base: BaseHistory | None = None

    def ask(self, memory: bool, round: int = 0) -> None:  # noqa: A002 - the word of the domain
        notes = (("recall", f"remembered in {len(self.receipts)}"),) if memory else ()
        thread = self.world.thread(
            0, cut=self.base.cut if self.base else None, memory=notes, round=round
        )
        made = compile_request(self.recipe, thread, limits(self.room), LARGE, Params(max_tokens=7))
        packed = pack(made.draft, self.base, (Seat("adv0", "Advisor 0", "v1", "m:n"),))
        said = self.world.answer(self.world.turns[-1], 0, f"own {len(self.made)} [x", round=round)
        self.receipts[said.id] = packed.data
        self.texts |= packed.spans
        self.made[said.id] = made
        assert read_history(packed.data).base == packed.base_id
        if round == 0:
            self.base = base_of(said.id, packed.data)


@settings(max_examples=120, deadline=None)
@given(STEPS, st.sampled_from(RECIPES), st.integers(4_000, 9_000))
def test_every_receipt_is_rebuilt_exactly(steps: list[Step], recipe: Recipe, room: int) -> None:
    world = World(3)
    ledger = Ledger(world, recipe, f"{room} chars")
    for step in steps:
        if step.fork is not None:
            world.fork(step.fork)
        if step.exclude is not None and world.turns:
            world.turns[step.exclude % len(world.turns)].excluded ^= True
        world.say("said ".ljust(step.size, "u"), None if step.unknown_time else -1)
        ledger.ask(step.memory)
        for number in range(step.rounds + 1):
            if number:
                ledger.ask(step.memory, number)
            for who in (1, 2):
                said = world.answer(world.turns[-1], who, f"other {who}\n]".ljust(step.size, "w"))
                said.round, said.speaks = number, not step.silent or who == 1
    for answer_id, made in ledger.made.items():
        receipt = rebuild(answer_id, world.load(answer_id, ledger.receipts, ledger.texts))
        assert receipt.exact
        assert receipt.request == made.request
        assert receipt.draft == made.draft
        assert receipt.spans() == spans_of(made.draft)
        assert receipt.council == (Seat("adv0", "Advisor 0", "v1", "m:n"),)


def ledger_of(turns: int = 4) -> Ledger:
    world = World(3)
    ledger = Ledger(world, BUILT_IN["council"], "150000 chars")
    for _ in range(turns):
        world.say("a secret")
        ledger.ask(memory=False)
        world.answer(world.turns[-1], 1, "another secret")
    return ledger


def test_what_is_needed_is_what_is_loaded() -> None:
    ledger = ledger_of()
    newest = list(ledger.receipts)[-1]
    needed = needs(newest, ledger.receipts)
    turns = ledger.world.turns
    assert needed.turns == {turn.id for turn in turns}
    own = {turn.answers[0].id for turn in turns[:-1]}
    assert needed.answers == own | {turns[-2].answers[1].id}
    assert needed.hashes <= set(ledger.texts)


def test_a_text_that_is_gone_is_redacted_and_told() -> None:
    ledger = ledger_of()
    newest = list(ledger.receipts)[-1]
    whole = ledger.world.load(newest, ledger.receipts, ledger.texts)
    turns = ledger.world.turns
    gone = ReceiptSources(
        whole.receipts,
        {key: value for key, value in whole.turns.items() if key != turns[0].id},
        {key: value for key, value in whole.answers.items() if key != turns[2].answers[1].id},
        whole.texts,
    )
    receipt = rebuild(newest, gone)
    assert not receipt.exact
    assert set(receipt.missing) == {f"u{turns[0].id}", f"a{turns[2].answers[1].id}"}
    assert receipt.request.messages[0].text == "[redacted]"
    assert "Advisor 1: [redacted]" in receipt.request.messages[-2].text
    nothing = rebuild(newest, ReceiptSources(whole.receipts))
    assert all(part.text == "\n\n".join(["[redacted]"] * 6) for part in nothing.request.system)


@pytest.mark.parametrize("harm", ["missing", "other", "circle"])
def test_a_broken_chain_is_told(harm: str) -> None:
    ledger = ledger_of(6)
    ids = list(ledger.receipts)
    receipts = dict(ledger.receipts)
    if harm == "missing":
        del receipts[ids[3]]
    elif harm == "other":
        receipts[ids[3]] = receipts[ids[1]]
    else:
        receipts[ids[3]] = receipts[ids[-1]].replace(ids[4], ids[3])
    receipt = rebuild(ids[-1], ReceiptSources(receipts))
    assert not receipt.exact
    assert any("receipt" in name or "history" in name for name in receipt.missing)


def test_a_text_that_was_not_sent_may_be_gone() -> None:
    world = World(2)
    world.round("hi", 60)
    world.turns[0].answers[1].text = "y" * 90_000
    world.say("now")
    made = compile_request(
        BUILT_IN["council"], world.thread(), limits("5000 chars", share=0), LARGE, Params()
    )
    packed = pack(made.draft)
    receipts = {"r": packed.data}
    loaded = world.load("r", receipts, packed.spans)
    (left,) = made.draft.unsent
    assert left.sources == (f"a{world.turns[0].answers[1].id}",)
    assert left.chars == 90_000
    assert set(loaded.answers) == {world.turns[0].answers[0].id}
    receipt = rebuild("r", loaded)
    assert receipt.exact
    assert receipt.draft == made.draft


def test_what_was_put_on_the_wire_is_checked() -> None:
    ledger = ledger_of(1)
    ((answer_id, data),) = ledger.receipts.items()
    body = Encoded("openai", "n", b"{}")
    packed = pack(ledger.made[answer_id].draft)
    assert packed.data != data  # without its council
    after = sealed(packed, body, "m:n", (Attempt("m:n", 5),), Params(max_tokens=3))
    loaded = ledger.world.load(answer_id, {answer_id: after.data}, ledger.texts)
    receipt = rebuild(answer_id, loaded)
    assert receipt.matches(body)
    assert not receipt.matches(replace(body, body=b"{ }"))
    assert receipt.request.params == Params(max_tokens=3)
    assert not rebuild(
        answer_id, ledger.world.load(answer_id, {answer_id: packed.data}, ledger.texts)
    ).matches(body)


def test_a_summary_is_rebuilt_as_it_was_written() -> None:
    world = World(1)
    for _ in range(40):
        world.round()
    world.say("now")
    told = "They spoke of {words} and {count}]."
    summary = ThreadSummary(told, world.turns[0].id, world.turns[32].id, 62)
    thread = replace(world.thread(), summary=summary)
    made = compile_request(BUILT_IN["agent"], thread, limits(), LARGE, Params())
    packed = pack(made.draft)
    receipt = rebuild("r", world.load("r", {"r": packed.data}, packed.spans))
    assert "{words} and {count}\\]." in receipt.request.messages[2].text
    assert receipt.request == made.request
    assert receipt.draft == made.draft


def test_a_compact_request_is_rebuilt_too() -> None:
    world = World(2)
    world.round()
    world.say("now")
    facts = ModelFacts("local:smollm2", 2_048, "compact", 512)
    made = compile_request(BUILT_IN["council"], world.thread(), limits(), facts, Params())
    packed = pack(made.draft)
    receipt = rebuild("r", world.load("r", {"r": packed.data}, packed.spans))
    assert receipt.draft == made.draft
    assert receipt.request == made.request
