"""Nothing of a turn in which the person was in danger is told again; the next talk is gentle."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.companion.lounge import Heard, Lounge, open_lounge
from tests.companion.situations import NOON
from tests.companion.talks import BREAD, LOAF, POT, ROOF, Talk, talks

from polyvox.store.database import Tx
from polyvox.values import Scope

ME = Scope()
MINUTES = timedelta(minutes=1)


@pytest.fixture(name="lounge", params=["", "lab:notes"], ids=["no model", "a model"])
async def own_lounge(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Lounge]:
    """The embedded memory, with and without a model to write handovers."""
    async with open_lounge(tmp_path, models={"memory": request.param}) as found:
        found.house.polyvox.services.choose()
        yield found


@pytest.fixture(name="wren")
async def persona(lounge: Lounge) -> Any:
    return await lounge.house.advisor("lab:talker")


async def mark_risk(lounge: Lounge, talk: Talk, heard: Heard) -> None:
    """As whoever reads danger marks a turn."""
    turn = heard.data["requestId"]

    def write(tx: Tx) -> None:
        (session,) = tx.one("SELECT session_id FROM turns WHERE id = ?", (turn,)) or ("",)
        tx.run(
            "INSERT INTO companion_marks (user_id, session_id, turn_id, mark, conversation_id)"
            " VALUES (?, ?, ?, 'risk', ?)",
            (tx.user, session, turn, talk.id),
        )

    await lounge.house.polyvox.database.write(write, ME)


@pytest.mark.parametrize("same", [True, False])
@pytest.mark.parametrize("gap", [timedelta(minutes=9), timedelta(hours=3), timedelta(days=2)])
async def test_of_a_hard_talk_nothing_is_quoted(
    lounge: Lounge, wren: Any, gap: timedelta, same: bool
) -> None:
    here, there = await talks(lounge, wren, 2)
    await here.say(BREAD, NOON - timedelta(days=3), LOAF)
    await here.say(ROOF, NOON, POT)
    heard = await here.say("I will end it all tonight, I have the pills.", NOON + MINUTES)
    await mark_risk(lounge, here, heard)
    lounge.set(NOON + gap)
    start = (await lounge.house.get("/api/memory/start?recipe=companion")).json()
    assert "pills" not in str(start)
    talk = here if same else there
    back = await talk.say("Good day to you.", NOON + MINUTES + gap)
    text = back.blocks["handover"]
    assert text.endswith("It was a hard one. Go gently."), text
    assert "“" not in text
    assert "bridge" not in back.blocks
    assert "pills" not in "\n".join(back.system)
    assert "plumber" not in "\n".join(back.system)
    brief = (
        await lounge.house.get(
            "/session/brief?tenantId=polyvox&userId=local&timezone=UTC"
            f"&now={(NOON + gap).strftime('%Y-%m-%dT%H:%M:%SZ')}"
        )
    ).json()
    assert "pills" not in str(brief)


async def test_the_talk_after_the_next_one_is_like_any_other(lounge: Lounge, wren: Any) -> None:
    (talk,) = await talks(lounge, wren, 1)
    heard = await talk.say("I will end it all tonight.", NOON)
    await mark_risk(lounge, talk, heard)
    await talk.say(BREAD, NOON + timedelta(hours=1), LOAF)
    back = await talk.say("Good day to you.", NOON + timedelta(hours=3))
    assert "bakery" in back.blocks["handover"]
    assert "hard one" not in back.blocks["handover"]
    assert "tonight" not in "\n".join(back.system)
