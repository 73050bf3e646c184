"""An answer can be stopped while what its advisor is told is still being found out, over HTTP."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.provider import Script
from tests.web.house import open_house


@pytest.mark.parametrize("whole", [False, True], ids=["answer", "turn"])
async def test_stop_while_the_gate_is_being_asked(tmp_path: Path, whole: bool) -> None:
    models = {"default": "lab:talker", "gate": "lab:gate"}
    memory = {"gate_seconds": 60, "budget": 60}
    async with open_house(tmp_path, models=models, memory=memory) as house:
        house.provider.script("gate", Script(text="{}", gates={0: "never"}))
        talk = await house.conversation(recipe="companion")
        sent = await house.send(talk, "Good morning.")
        await house.provider.arrived(1)
        (answer,) = sent["answers"]
        path = f"turns/{sent['turn_id']}" if whole else f"answers/{answer['answer_id']}"
        async with asyncio.timeout(60):
            assert (await house.post(f"/api/{path}/stop")).status == 200
        assert (await house.answer(answer["answer_id"]))["state"] == "stopped"
        assert house.provider.requests("talker") == []
