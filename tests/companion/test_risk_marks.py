"""The marks of turns with a risk: whoever remembers reads them and leaves such a turn out."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

from tests.companion.lounge import Heard, open_lounge
from tests.companion.situations import NOON
from tests.provider import Script

from polyvox.store.database import Tx
from polyvox.values import Scope


async def test_a_turn_is_marked_by_the_risk_in_force(tmp_path: Path) -> None:
    steps: list[tuple[Any, set[str]]] = [
        ({"risk": "LOW"}, set()),
        ({"risk": "HIGH"}, {"risk"}),
        ({"risk": "MED"}, set()),
        ({"risk": "CRISIS"}, {"risk", "crisis"}),
        (Script(status=500), {"risk", "crisis"}),
        ({"risk": "LOW"}, {"risk", "crisis"}),
        ({"risk": "LOW"}, set()),
    ]
    async with open_lounge(tmp_path) as lounge:
        wren = await lounge.house.advisor("lab:talker")
        heard: list[Heard] = []
        for number, (gate, _) in enumerate(steps):
            at = NOON + number * timedelta(minutes=1)
            heard.append(await lounge.say(wren, f"Message {number}.", at=at, gate=gate))

        def marks(tx: Tx) -> list[tuple[str, str]]:
            return tx.all("SELECT turn_id, mark FROM companion_marks")

        async def made() -> list[set[str]]:
            rows = await lounge.house.polyvox.database.read(marks, Scope())
            return [{m for turn, m in rows if turn == one.trace["turn_id"]} for one in heard]

        assert await made() == [expected for _, expected in steps]
        # Answered once more, by a gate that sees no danger now: it stays marked.
        lounge.house.provider.script("gate", Script(text='{"risk": "LOW"}'))
        answer = heard[3].trace["answer_id"]
        again = await lounge.house.post(f"/api/answers/{answer}/regenerate")
        assert again.status < 300, again.text
        await lounge.house.polyvox.turns.queue.drain(30)
        assert (await made())[3] == {"risk", "crisis"}
