"""Compiling: whole requests as they are sent, and the rules each of them keeps."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.context.world import LARGE, MINUTE, START, World, limits, plain, tokens

from polyvox.context.budget import TooLong
from polyvox.context.compile import compile_request, with_memory
from polyvox.context.recipe import BUILT_IN, changed
from polyvox.context.words import prompt_set
from polyvox.models.base import ModelFacts, Request, SystemPart
from polyvox.session.council import plain_assistant, starter_council
from polyvox.thread import Other, Own, Thread, ThreadSummary, ThreadTurn
from polyvox.values import Advisor, Params

COUNCIL, AGENT = BUILT_IN["council"], BUILT_IN["agent"]
GOLDEN = Path(__file__).parent / "golden"
SMALL = ModelFacts("local:smollm2", 2_048, prompts="compact", max_tokens=512)


def shown(request: Request) -> str:
    parts = [f"── system ──\n{part.text}" for part in request.system]
    parts += [f"── {message.role} ──\n{message.text}" for message in request.messages]
    return "\n\n".join(parts) + "\n"


def evening(turns: int, exchange: bool = False) -> Thread:
    """A conversation with the starter council, seen by the Keeper."""
    council = {who.slug: who for who in starter_council(make_id=lambda: "")}
    council = {slug: replace(who, id=slug) for slug, who in council.items()}
    said = [
        "My brother wants me to take over the family workshop. I don't want to.",
        "He said: if you leave, I have to sell. That was on Sunday.",
        "Two employees, both there since our father's time. No debts.",
        "I told him I would think about it. I haven't slept since.",
    ]
    own = [
        "What exactly did he say when he asked you?",
        "Who works there besides him?",
        "What answer did you give him?",
    ]
    units = tuple(
        ThreadTurn(
            f"t{n}", f"m{n}", n + 1, said[n], START + n * 5 * MINUTE, None, (Own(f"k{n}", own[n]),)
        )
        for n in range(turns)
    )
    current = ThreadTurn(
        f"t{turns}", f"m{turns}", turns + 1, said[turns], START + turns * 5 * MINUTE
    )
    builder, listener = council["builder"], council["listener"]
    words = (
        Other("b1", builder.id, "builder", "Builder", "What would he need to run it alone?"),
        Other("l1", listener.id, "listener", "Listener", "What did your father say?\n\nAnd when?"),
    )
    if exchange:
        mine = Own("k9", "You owe the two employees an answer before you owe him one.")
        return Thread(
            council["keeper"],
            replace(current, own=(mine,)),
            units,
            answers=turns,
            last=words,
            words=words,
            round=1,
            company=True,
        )
    last = words if turns else ()
    return Thread(council["keeper"], current, units, answers=turns, last=last, company=True)


@pytest.mark.parametrize(
    ("name", "thread", "facts", "recipe"),
    [
        ("council_early", evening(1), LARGE, COUNCIL),
        ("council_ongoing", evening(3), LARGE, COUNCIL),
        ("council_exchange", evening(0, exchange=True), LARGE, COUNCIL),
        ("compact_early", evening(1), SMALL, COUNCIL),
        ("compact_ongoing", evening(3), SMALL, COUNCIL),
        ("agent", evening(1), LARGE, AGENT),
    ],
)
def test_a_whole_request(name: str, thread: Thread, facts: ModelFacts, recipe: object) -> None:
    made = compile_request(
        COUNCIL if recipe is COUNCIL else AGENT, thread, limits(), facts, Params(max_tokens=500)
    )
    assert shown(made.request) == (GOLDEN / f"{name}.txt").read_text(encoding="utf-8")


def test_others_are_named_only_where_others_answer() -> None:
    others = "Others are answering the same message"
    alone, together = (
        compile_request(
            COUNCIL, replace(evening(1), company=company), limits(), LARGE, Params()
        ).request.system[0]
        for company in (False, True)
    )
    assert others not in alone.text
    assert not alone.text.endswith("\n")
    assert others in together.text


def talk(turns: int = 3, advisors: int = 3) -> World:
    world = World(advisors)
    for n in range(turns):
        world.round(f"message {n + 1}")
    world.say("the current one")
    return world


def request(thread: Thread, **change: object) -> Request:
    recipe = changed(COUNCIL, change)
    return compile_request(recipe, thread, limits(), LARGE, Params()).request


def test_order_roles_and_what_is_settled() -> None:
    made = request(talk().thread(1))
    roles = [role for role, _ in plain(made)]
    assert roles == ["user", "assistant"] * 3 + ["user", "user"]
    assert made.settled == 6
    assert made.messages[-1].text == "[2025-10-30T12:20] the current one"
    assert made.messages[-2].text.startswith("[For reference")
    assert made.messages[1].text.startswith("answer 1 in 1")
    assert len(made.system) == 1
    assert made.system[0].stable


def test_memory_follows_the_stable_system_text() -> None:
    thread = talk().thread(memory=(("recall", "They moved in May."), ("empty", "")))
    made = request(thread)
    assert made.system[1:] == (SystemPart("They moved in May.", stable=False),)


def test_the_first_turn_has_no_reference_block() -> None:
    world = World()
    world.say("first")
    assert plain(request(world.thread())) == [("user", "[2025-10-30T12:05] first")]


def test_stamps() -> None:
    world = talk(1)
    world.turns[0].said_at = None
    for mode, history, current in (
        ("all", "message 1", "[2025-10-30T12:10] the current one"),
        ("history", "message 1", "the current one"),
        ("none", "message 1", "the current one"),
    ):
        texts = [text for _, text in plain(request(world.thread(), stamps=mode))]
        assert texts[0] == history
        assert texts[-1] == current
    world.turns[0].said_at = START
    assert plain(request(world.thread(), stamps="history"))[0][1] == "[2025-10-30T12:00] message 1"
    assert plain(request(world.thread(), stamps="none"))[0][1] == "message 1"


def test_identical_messages_are_two() -> None:
    world = World()
    world.round("again")
    world.round("again")
    world.say("again")
    texts = [text for role, text in plain(request(world.thread(), stamps="none")) if role == "user"]
    assert texts.count("again") == 3


def test_names_do_not_matter_ids_do() -> None:
    world = talk()
    before = plain(request(world.thread(0)))
    twin = replace(world.advisors[1], name=world.advisors[0].name)
    world.advisors[1] = twin
    for turn in world.turns:
        for said in turn.answers:
            if said.advisor.id == twin.id:
                said.advisor = twin
    after = plain(request(world.thread(0)))
    assert after[:-2] == before[:-2]
    assert "Advisor 0: answer 1 in 3" in after[-2][1]
    assert "answer 0 in" not in after[-2][1]


@pytest.mark.parametrize(
    ("visibility", "seen"),
    [
        ({"default": "none"}, set()),
        ({"default": "last_turn"}, {"1 in 3", "2 in 3"}),
        ({"default": "thread"}, {f"{who} in {turn}" for who in (1, 2) for turn in (1, 2, 3)}),
        (
            {"pairs": [{"viewer": "slug0", "seen": "slug1", "level": "none"}]},
            {"2 in 3"},
        ),
        (
            {
                "default": "none",
                "pairs": [{"viewer": "adv0", "seen": "adv2", "level": "thread"}],
            },
            {"2 in 1", "2 in 2", "2 in 3"},
        ),
        ({"pairs": [{"viewer": "adv1", "seen": "adv2", "level": "none"}]}, {"1 in 3", "2 in 3"}),
    ],
)
def test_visibility(visibility: dict[str, object], seen: set[str]) -> None:
    made = request(talk().thread(0), visibility=visibility)
    found = {
        f"{who} in {turn}"
        for who in (1, 2)
        for turn in (1, 2, 3)
        if any(f"answer {who} in {turn} " in m.text for m in made.messages)
    }
    assert found == seen
    assert sum("For reference" in m.text for m in made.messages) == bool(seen)


def test_whole_threads_are_grouped_by_turn_oldest_first() -> None:
    made = request(talk().thread(0), visibility={"default": "thread"})
    block = made.messages[-2].text
    order = ["3 turns ago:", "answer 1 in 1", "2 turns ago:", "in 2", "Most recently:", "in 3"]
    at = [block.index(part) for part in order]
    assert at == sorted(at)
    assert block.count("Most recently:") == 1


def test_an_exchange_ends_with_the_others_words_and_what_to_do() -> None:
    world = talk(1)
    now = world.turns[-1]
    for who in range(3):
        world.answer(now, who, f"view {who}")
    world.answer(now, 0, "reply 0", round=1)
    for who in (1, 2):
        world.answer(now, who, f"reply {who}", round=1)
    made = request(world.thread(0, round=2))
    assert [role for role, _ in plain(made)] == ["user", "assistant", "user"] + [
        "assistant"
    ] * 2 + ["user"]
    assert [text for _, text in plain(made)][3:5] == ["view 0", "reply 0"]
    last = made.messages[-1].text
    assert "Advisor 1: reply 1" in last
    assert "view 1" not in last
    assert "answer 1 in 1" not in "".join(text for _, text in plain(made))
    assert last.endswith("say that in one sentence.")
    assert made.settled == 5


def test_an_exchange_keeps_to_visibility() -> None:
    world = talk(0)
    for who in range(3):
        world.answer(world.turns[-1], who, f"view {who}")
    pairs = [{"viewer": "adv0", "seen": "adv1", "level": "none"}]
    last = request(world.thread(0, round=1), visibility={"pairs": pairs}).messages[-1].text
    assert "view 2" in last
    assert "view 1" not in last
    alone = request(world.thread(0, round=1), visibility={"default": "none"}).messages[-1].text
    assert "(None of them said anything.)" in alone


def test_the_plain_assistant_has_an_identity_and_no_protocol() -> None:
    thread = replace(talk().thread(), advisor=plain_assistant())
    made = request(thread)
    zone = prompt_set("full").text("clock").replace("{zone}", "UTC")
    full, danger = prompt_set("full"), prompt_set("full").text("danger")
    assert made.system == (SystemPart("\n\n".join((full.text("assistant"), danger, zone))),)
    assert made.messages[-2].text.startswith("[For reference")
    first = replace(thread, answers=0)
    assert compile_request(COUNCIL, first, limits(), LARGE, Params()).draft.phase == ""
    own = replace(thread, advisor=replace(plain_assistant(), prompt="Be terse."))
    zone = "The time in front of a message is the time in this zone: UTC."
    assert request(own).system == (SystemPart(f"Be terse.\n\n{danger}\n\n{zone}"),)


def test_the_agents_prompt_and_danger_are_the_system_text() -> None:
    prompt = "  You are @ai-engineer: {name}.\n\nBuild.  "
    agent = Advisor("i", "engineer", "@ai-engineer", "Does things.", prompt=prompt)
    for facts in (LARGE, SMALL):
        thread = Thread(agent, ThreadTurn("t", "m", 1, "hi", START))
        made = compile_request(AGENT, thread, limits(), facts, Params()).request
        danger = prompt_set(facts.prompts).text("danger")
        assert made.system == (SystemPart(f"{prompt.strip()}\n\n{danger}"),)
        assert plain(made) == [("user", "hi")]


def agent_talk(turns: int) -> World:
    world = World(1)
    for n in range(turns):
        world.round(f"message {n + 1}")
    world.say("now")
    return world


@pytest.mark.parametrize("read", [None, 20])
def test_the_bookends_note_counts_exactly(read: int | None) -> None:
    made = compile_request(AGENT, agent_talk(40).thread(read=read), limits(), LARGE, Params())
    assert len(made.request.messages) == 20
    assert made.request.messages[2].role == "user"
    assert made.request.messages[2].text == (
        "[62 earlier messages of this conversation are not shown here.]"
    )
    assert made.request.settled == 2
    assert made.draft.messages_omitted == 62


def test_ten_left_out_are_not_worth_a_note() -> None:
    for turns, note in ((13, False), (14, False), (15, True)):
        made = compile_request(AGENT, agent_talk(turns).thread(), limits(), LARGE, Params())
        assert any("not shown" in m.text for m in made.request.messages) is note, turns


def test_the_note_counts_what_the_budget_dropped_too() -> None:
    world = agent_talk(40)
    for turn in world.turns[:-1]:
        turn.text = "long " * 40
    made = compile_request(AGENT, world.thread(), limits("900 chars"), LARGE, Params())
    note = made.request.messages[0].text
    left = 81 - (len(made.request.messages) - 1)
    assert note == f"[{left} earlier messages of this conversation are not shown here.]"
    assert made.draft.messages_omitted == left
    assert tokens(made.request) <= 225


def test_a_stored_summary_of_exactly_those_replaces_the_note() -> None:
    world = agent_talk(40)
    thread = world.thread()
    exact = ThreadSummary("We agreed]\non May.", world.turns[0].id, world.turns[32].id, 62)
    made = compile_request(AGENT, replace(thread, summary=exact), limits(), LARGE, Params())
    assert made.request.messages[2].text == (
        "[62 earlier messages of this conversation are not shown here. What they said, in short:"
        "\n\nWe agreed\\]\n  on May.]"
    )
    for other in (
        replace(exact, messages=61),
        replace(exact, before_id=world.turns[31].id),
        replace(exact, after_id=""),
    ):
        made = compile_request(AGENT, replace(thread, summary=other), limits(), LARGE, Params())
        assert "in short" not in made.request.messages[2].text


def test_too_long_says_how_much() -> None:
    world = talk()
    world.turns[-1].text = "x" * 8_000
    with pytest.raises(TooLong) as caught:
        compile_request(COUNCIL, world.thread(), limits("4000 chars"), LARGE, Params())
    assert caught.value.over_chars > 4_000
    assert caught.value.allowance.tokens == 1_000


def test_the_reference_block_is_dropped_whole_before_the_newest_pair() -> None:
    world = talk()
    for said in world.turns[2].answers[1:]:
        said.text = "y" * 4_000
    system = len(
        compile_request(COUNCIL, world.thread(), limits(), LARGE, Params()).request.system[0].text
    )
    made = compile_request(
        COUNCIL,
        world.thread(memory=(("m", "z" * 90),)),
        limits(f"{system + 180} chars"),
        LARGE,
        Params(),
    )
    texts = [text for _, text in plain(made.request)]
    assert texts[0].endswith("message 3")
    assert not any("yyyy" in text for text in texts)
    assert len(made.request.system) == 1
    assert made.draft.unsent[0].kind == "reference"
    assert not made.draft.memory_sent


def test_the_cut_is_told_and_kept() -> None:
    world = talk(30)
    for turn in world.turns[:-1]:
        turn.text = "long " * 60
    first = compile_request(COUNCIL, world.thread(), limits("9000 chars"), LARGE, Params())
    assert first.draft.cut is not None
    assert first.draft.cut > 1
    assert len(first.draft.omitted) == 1
    assert first.draft.omitted[0].last == first.draft.cut - 1
    world.answer(world.turns[-1], 0, "short")
    world.say("and now")
    second = compile_request(
        COUNCIL, world.thread(cut=first.draft.cut), limits("9000 chars"), LARGE, Params()
    )
    assert second.draft.cut == first.draft.cut
    settled = first.request.settled
    assert second.request.messages[:settled] == first.request.messages[:settled]


def test_a_cut_of_another_branch_is_ignored() -> None:
    made = compile_request(COUNCIL, talk().thread(cut=50), limits(), LARGE, Params())
    assert made.draft.cut is None
    assert made.request.settled == 6


def test_unread_turns_are_part_of_what_the_limit_left_out() -> None:
    world = talk(50)
    for turn in world.turns[:-1]:
        turn.text = "long " * 60
    whole = compile_request(COUNCIL, world.thread(), limits("6000 chars"), LARGE, Params())
    partly = compile_request(COUNCIL, world.thread(read=30), limits("6000 chars"), LARGE, Params())
    assert partly.request == whole.request
    assert partly.draft.omitted == whole.draft.omitted
    assert partly.draft.cut == whole.draft.cut


def test_own_and_empty_words_never_stand_in_the_block() -> None:
    thread = talk(1).thread()
    mine = Other("x1", thread.advisor.id, "other-slug", "Somebody", "MINE")
    empty = Other("x2", "adv9", "slug9", "Nobody", " \n ")
    for change in ({}, {"visibility": {"default": "thread"}}):
        made = request(replace(thread, last=(*thread.last, mine, empty)), **change)
        assert "MINE" not in shown(made)
        assert "Nobody" not in shown(made)
    assert len(request(replace(thread, last=(mine, empty))).messages) == 3


def test_a_huge_answer_is_measured_not_copied() -> None:
    world = talk(1)
    world.turns[0].answers[1].text = "[" * 3_000_000
    for level in ("last_turn", "thread"):
        recipe = changed(COUNCIL, {"visibility": {"default": level}})
        made = compile_request(recipe, world.thread(), limits(), LARGE, Params())
        assert [whole for _, _, whole in made.draft.cuts] == [3_000_000]
        assert tokens(made.request) < made.draft.allowance.tokens / 2


def test_the_note_goes_before_the_message_does() -> None:
    world = agent_talk(30)
    system = compile_request(AGENT, world.thread(), limits(), LARGE, Params()).draft.system_tokens
    made = compile_request(
        AGENT, world.thread(), limits(f"{system * 4 + 4} chars"), LARGE, Params()
    )
    assert plain(made.request) == [("user", "now")]


def test_same_input_same_request() -> None:
    one, two = (compile_request(COUNCIL, talk().thread(), limits(), LARGE, Params()) for _ in "ab")
    assert one == two
    assert one.draft.recipe_hash == COUNCIL.hash
    assert one.draft.prompts_hash == prompt_set("full").hash
    assert (one.draft.phase, one.draft.k, one.draft.n) == ("ongoing", 4, None)
    assert one.draft.size == tokens(one.request)


@settings(deadline=None)
@given(
    st.integers(0, 10**6),
    st.sampled_from(sorted(BUILT_IN)),
    st.integers(0, 6),
    st.integers(1_500, 9_000),
    st.sampled_from([None, None, 2]),
    st.lists(st.integers(0, 900), max_size=3),
)
@example(0, "council", 0, 2_004, None, [1])  # so little room that memory is left out
@example(0, "council", 2, 9_000, None, [90])
def test_memory_that_fits_is_put_into_what_was_compiled_without_it(
    seed: int, recipe: str, turns: int, room: int, cut: int | None, sizes: list[int]
) -> None:
    """It is what compiling the whole thread with memory makes."""
    dice, world = random.Random(seed), World(3)
    for _ in range(turns):
        turn = world.say("u" * dice.randint(5, 400))
        for who in range(3):
            world.answer(turn, who, "a" * dice.randint(5, 400))
    world.say("And now?")
    memory = tuple((f"block {n}", "m" * size) for n, size in enumerate(sizes))
    rules = (limits(f"{room} chars"), ModelFacts("m:n", 60_000), Params())
    thread = world.thread(cut=cut)
    try:
        without = compile_request(BUILT_IN[recipe], thread, *rules)
    except TooLong:
        return
    whole = compile_request(BUILT_IN[recipe], replace(thread, memory=memory), *rules)
    told = with_memory(without, thread, memory)
    assert told is None or told == whole
    draft = whole.draft
    left_out = draft.omitted or draft.unsent or draft.cuts or draft.memory_sent is not any(sizes)
    if cut is None and not left_out:
        assert told is not None, "nothing is left out, so nothing had to be compiled"
