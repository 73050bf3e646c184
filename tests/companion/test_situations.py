"""A table of situations, each through POST /api/chat: what the provider got, block by block, and
what the trace says of it. The last message of a situation is the one that is looked at."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
import pytest_asyncio
from tests.companion.lounge import Lounge, open_lounge, with_danger
from tests.companion.situations import BEGINS, Situation
from tests.companion.situations_by_block import GATES, OPS, POSTURES, PROFILE, RECALL
from tests.companion.situations_by_turn import LATER, START
from tests.provider import Script

pytestmark = pytest.mark.contract

TABLE = [*START, *LATER, *POSTURES, *OPS, *PROFILE, *RECALL, *GATES]


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def lounge(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Lounge]:
    """One for all: each situation has a persona, and so a state, of its own. The embedded model is
    not there, so its requests go to the one that stands in for it."""
    async with open_lounge(
        tmp_path_factory.mktemp("lounge"),
        models={"fallback": ["lab:talker"]},
        local={"model_path": "/nowhere/model.gguf", "warm": False},
    ) as found:
        yield found


def at_path(data: Any, path: str) -> Any:
    for part in path.split("."):
        data = data[part]
    return data


def waits(situation: Situation) -> dict[str, float]:
    """Wait briefly for what never answers, and on a busy machine long enough for the rest."""
    gates = [say.gate for say in situation.says]
    silent = any(isinstance(gate, Script) and gate.fault == "silence" for gate in gates)
    return {
        "budget": 0.2 if situation.memory.silent else 30.0,
        "gate_seconds": 0.5 if silent else 30.0,
    }


def test_the_table_is_large_and_its_names_differ() -> None:
    assert len(TABLE) >= 40
    assert len({one.name for one in TABLE}) == len(TABLE)


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("situation", TABLE, ids=lambda one: one.name)
async def test_situation(lounge: Lounge, situation: Situation) -> None:
    lounge.remember(replace(situation.memory, lookups=[]))
    settings = lounge.house.polyvox.settings
    gate = "lab:gate" if situation.gate else ""
    models = settings.models.model_copy(update={"gate": gate})
    memory = settings.memory.model_copy(update=waits(situation))
    changed = settings.model_copy(update={"models": models, "memory": memory})
    lounge.house.polyvox.resources.settings = changed
    model = "lab:talker" if situation.gate else "local:smollm2"
    persona = await lounge.house.advisor(model, description="You are Wren. You listen.")
    now = situation.at
    for number, say in enumerate(situation.says):
        now = now + say.after if number else now
        heard = await lounge.say(persona, say.text, at=now, gate=say.gate, reply=say.reply)
        assert heard.status == 200, heard.data
    expected = ["persona", *situation.blocks.split()]
    place = 2 if "standing_instructions" in expected else 1
    expected.insert(place, "posture")
    assert list(heard.blocks) == expected, heard.trace
    for name, text in zip(expected, heard.system, strict=True):
        assert text.startswith(BEGINS[name]), name
    prompts: Any = "full" if situation.gate else "compact"
    assert heard.blocks["persona"] == with_danger("You are Wren. You listen.", prompts)
    for name, text in situation.texts.items():
        assert text in heard.blocks[name]
    whole = "\n".join(heard.system)
    for text in situation.lacks:
        assert text not in whole
    for path, value in situation.trace.items():
        assert at_path(heard.trace, path) == value, path
    assert heard.sent[-1] == situation.says[-1].text
    assert lounge.memory.starts >= 1
