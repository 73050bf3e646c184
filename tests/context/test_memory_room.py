"""Memory that does not fit is given up block by block, and the receipt says which."""

from __future__ import annotations

from tests.context.world import LARGE, World, limits, tokens

from polyvox.context.compile import compile_request
from polyvox.context.draft import spans_of
from polyvox.context.recipe import BUILT_IN
from polyvox.values import Params

AGENT = BUILT_IN["agent"]


def test_memory_that_does_not_fit_is_given_up_block_by_block_from_the_end() -> None:
    world = World(1)
    world.say("now")
    system = compile_request(AGENT, world.thread(), limits(), LARGE, Params()).draft.system_tokens
    sizes = {"rules": 80, "posture": 120, "handover": 4_000, "hint": 40, "sheet": 3_000}
    memory = tuple((name, name[0] * size) for name, size in sizes.items())
    told: dict[int, tuple[str, ...]] = {}
    for room in (10, 30, 60, 70, 1_100, 2_000):
        made = compile_request(
            AGENT,
            world.thread(memory=memory),
            limits(f"{(system + room) * 4} chars"),
            LARGE,
            Params(),
        )
        draft = made.draft
        told[room] = tuple(one.kind for one in draft.memory) if draft.memory_sent else ()
        assert tuple(part.text for part in made.request.system[1:]) == tuple(
            text for name, text in memory if name in told[room]
        )
        assert draft.size == tokens(made.request) <= draft.allowance.tokens
        gone = [span for span in spans_of(draft) if not span.included]
        assert [span.sources for span in gone] == [
            (name,) for name in sizes if name not in told[room]
        ]
        assert {(span.kind, span.role) for span in gone} <= {("memory", "system")}
    assert told == {
        10: (),
        30: ("rules",),
        60: ("rules", "posture"),
        70: ("rules", "posture", "hint"),
        1_100: ("rules", "posture", "handover", "hint"),
        2_000: tuple(sizes),
    }
