"""The time for an answer as a whole: before its first word, and between two of them."""

from __future__ import annotations

import gc
import weakref

import pytest
from tests.models.asking import REQUEST, MakeModels, hear
from tests.models.wrappers.stand_in import StandIn
from tests.provider import ProviderServer, Script

from polyvox.errors import Refused
from polyvox.models.wrappers import Deadline


@pytest.mark.parametrize("wire", ["lab", "claude"])
async def test_no_first_word_in_time(
    wire: str, provider: ProviderServer, make_models: MakeModels
) -> None:
    provider.script("m", Script(hold="never"))
    heard = await hear(make_models({"deadline": 0.1}).get(f"{wire}:m"))
    assert heard.category == "timeout"
    assert heard.error is not None
    assert "longer than 0.1 seconds" in heard.error.message
    assert "limits.deadline" in heard.error.hint
    await provider.gone(provider.log[0])


@pytest.mark.parametrize("wire", ["lab", "claude"])
async def test_the_time_is_up_in_the_middle(
    wire: str, provider: ProviderServer, make_models: MakeModels
) -> None:
    provider.script("m", Script(fault="stall"))
    heard = await hear(make_models({"deadline": 0.3}).get(f"{wire}:m"))
    assert (heard.category, heard.text) == ("timeout", "This is")
    assert heard.error is not None
    assert "longer than 0.3 seconds" in heard.error.message
    await provider.gone(provider.log[0])


async def test_a_finished_answer_is_not_held_until_the_deadline() -> None:
    reply = await Deadline(StandIn(), 600).stream(REQUEST)
    async for _ in reply:
        pass
    held = weakref.ref(reply)
    del reply
    gc.collect()
    assert held() is None


async def test_a_failure_before_the_deadline_is_itself() -> None:
    heard = await hear(Deadline(StandIn([Refused("no")]), 600), REQUEST)
    assert heard.category == "refused"
