"""Isolation: a canary in every answer, random conversations, and where each canary may be found."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.context.world import World, limits, tokens

from polyvox.context.budget import TooLong
from polyvox.context.compile import compile_request
from polyvox.context.draft import Compiled
from polyvox.context.recipe import BUILT_IN, changed
from polyvox.context.reference import LEAST, shortened
from polyvox.context.words import Made
from polyvox.models.base import ModelFacts
from polyvox.values import Params

COUNCIL = BUILT_IN["council"]


@dataclass(frozen=True)
class Move:
    """One turn: who answers, who of them fails, who is excluded, how long everything is, and how
    many rounds of exchange follow."""

    asked: frozenset[int]
    silent: frozenset[int]
    excluded: bool
    size: int
    rounds: int
    rename: bool


MOVES = st.lists(
    st.builds(
        Move,
        asked=st.frozensets(st.integers(0, 3)),
        silent=st.frozensets(st.integers(0, 3), max_size=2),
        excluded=st.sampled_from([False, False, False, True]),
        size=st.integers(0, 400),
        rounds=st.sampled_from([0, 0, 0, 1, 2]),
        rename=st.booleans(),
    ),
    max_size=14,
)


def play(moves: list[Move], fork: int) -> World:
    """The conversation that these moves make; a canary in everything anyone says."""
    world = World(4)
    for at, move in enumerate(moves):
        if fork and at == fork * 2:
            world.fork(fork)
        turn = world.say("USER".ljust(move.size, "u"))
        turn.excluded = move.excluded
        for number in range(move.rounds + 1):
            for who in sorted(move.asked):
                said = world.answer(turn, who, "", round=number)
                said.text = f"«{said.id}»".ljust(move.size, "w")
                said.speaks = who not in move.silent
        if move.rename:
            # Everybody gets the same name; who they are does not change.
            for who, one in enumerate(world.advisors):
                world.advisors[who] = replace(one, name="Same]\nName")
                for old in world.everything:
                    for said in old.answers:
                        if said.advisor.id == one.id:
                            said.advisor = world.advisors[who]
    world.say("NOW")
    return world


@settings(max_examples=150)
@given(MOVES, st.integers(0, 4), st.integers(900, 6_000), st.booleans())
def test_canaries(moves: list[Move], fork: int, room: int, compact: bool) -> None:
    world = play(moves, fork)
    facts = ModelFacts("m:n", None, prompts="compact" if compact else "full")
    before = [turn for turn in world.turns[:-1] if not turn.excluded]
    for who, me in enumerate(world.advisors):
        made = _compile(world, who, room, facts)
        if made is None:
            continue
        assistant = [m.text for m in made.request.messages if m.role == "assistant"]
        user = [m.text for m in made.request.messages if m.role == "user"]
        system = "".join(part.text for part in made.request.system)
        for turn in world.everything:
            for said in turn.answers:
                canary = f"«{said.id}»"
                assert canary not in system
                mine = said.advisor.id == me.id
                allowed = said.speaks and turn in before
                in_assistant = sum(canary in text for text in assistant)
                in_user = sum(canary in text for text in user)
                assert in_assistant <= (mine and allowed)
                newest = [
                    t for t in before if said.advisor.id in {o.advisor_id for o in t.others(me)}
                ]
                last_word = not mine and allowed and turn is newest[-1]
                assert in_user <= bool(last_word)
        assert tokens(made.request) <= made.draft.allowance.tokens
        _pairs_are_whole(world, who, made)


def _compile(world: World, who: int, room: int, facts: ModelFacts) -> Compiled | None:
    """The request; None where what is never dropped is too much, which is checked."""
    thread = world.thread(who, memory=(("m", "remembered " * 4),))
    bare = replace(thread, past=(), last=(), memory=())
    least = tokens(compile_request(COUNCIL, bare, limits(), facts, Params()).request)
    if least <= room // 4:
        return compile_request(COUNCIL, thread, limits(f"{room} chars"), facts, Params())
    with pytest.raises(TooLong) as caught:
        compile_request(COUNCIL, thread, limits(f"{room} chars"), facts, Params())
    assert caught.value.size <= least
    return None


def _pairs_are_whole(world: World, who: int, made: Compiled) -> None:
    """History is a run of whole turns up to the newest one, in order."""
    me = world.advisors[who]
    kept = [line.ref for line in made.draft.lines[: made.draft.history]]
    turns = [
        [f"u{turn.id}", *(f"a{own.answer_id}" for own in turn.own(me))]
        for turn in world.turns[:-1]
        if not turn.excluded
    ]
    runs = [[ref for turn in turns[at:] for ref in turn] for at in range(len(turns) + 1)]
    assert kept in runs
    if kept:
        assert made.request.messages[0].role == "user"
    assert made.request.messages[-1].text.endswith("NOW")


@settings(max_examples=60)
@given(MOVES, st.integers(1_500, 20_000))
def test_whole_thread_visibility_shows_the_newest_words_first(moves: list[Move], room: int) -> None:
    world = play(moves, 0)
    recipe = changed(COUNCIL, {"visibility": {"default": "thread"}, "blocks": ["identity"]})
    made = compile_request(
        recipe, world.thread(0), limits(f"{room} chars"), ModelFacts("m:n", None), Params()
    )
    assert tokens(made.request) <= room // 4
    before = [turn for turn in world.turns[:-1] if not turn.excluded]
    shown = "".join(line.text for line in made.draft.lines if line.kind == "reference")
    depths = {said.id: turn.depth for turn in before for said in turn.answers}
    last = {other.answer_id for other in world.thread(0).last}
    older = [depths[a] for a in depths if f"«{a}»" in shown and a not in last]
    left = [depths[source[1:]] for unsent in made.draft.unsent for source in unsent.sources]
    assert not older or not left or max(left) < min(older)
    for turn in world.everything:
        for said in turn.answers:
            if f"«{said.id}»" in shown:
                assert said.advisor.id != "adv0"
                assert turn in before


SENTENCES = st.lists(
    st.lists(st.sampled_from(["one", "two", "three", "[four]", "five,", "six\n"]), min_size=1),
    min_size=1,
    max_size=60,
).map(lambda rows: " ".join(f"{' '.join(row)}." for row in rows))


@settings(max_examples=200)
@given(st.lists(SENTENCES, min_size=1, max_size=4), st.integers(0, 3_000))
def test_others_share_the_block_fairly(spoken: list[str], room: int) -> None:
    """All of it fits, nobody keeps less than an equal share but for the sentence that did not fit,
    and cuts are between sentences."""
    texts = {f"a{number}": text for number, text in enumerate(spoken)}
    entries = tuple((answer, f"Advisor {answer}") for answer in texts)
    cuts = shortened(entries, texts, room)
    equal = (room + 2) // len(texts) - len("Advisor a0: ") - 2
    if cuts is None:
        assert equal < LEAST
        return
    assert len(Made("{words}", (("", entries),), cuts=cuts).render(texts)) <= room
    shown = {answer: (kept, whole) for answer, kept, whole in cuts}
    for answer, (kept, length) in shown.items():
        assert length == len(texts[answer])
        assert kept >= (equal - len(" […]")) // 3 - 4
        text = texts[answer][:kept].rstrip()
        assert text.endswith(".") or ". " not in text[kept // 2 :]


@settings(max_examples=100)
@given(MOVES, st.integers(1_200, 9_000), st.integers(0, 4_000))
def test_a_larger_limit_never_costs_history(moves: list[Move], room: int, more: int) -> None:
    world = play(moves, 0)
    facts = ModelFacts("m:n", None, prompts="compact")
    small, large = (
        compile_request(COUNCIL, world.thread(0), limits(f"{size} chars"), facts, Params()).draft
        for size in (room, room + more)
    )
    assert small.history <= large.history
