"""Every usage has its price: known, nothing, or unknown."""

from __future__ import annotations

import pytest
from tests.models.asking import REQUEST, MakeModels, hear
from tests.models.wrappers.stand_in import StandIn
from tests.provider import ProviderServer, Script

from polyvox.models.prices import cost_of
from polyvox.models.wrappers import Meter
from polyvox.values import Usage


async def test_what_runs_here_costs_nothing() -> None:
    heard = await hear(Meter(StandIn()))
    assert heard.usage.cost == 0
    assert not heard.usage.estimated


async def test_the_price_of_a_known_model(
    provider: ProviderServer, make_models: MakeModels
) -> None:
    """A built-in provider at another address keeps its prices."""
    models = make_models(None, providers={"openai": {"base_url": provider.base_url}})
    provider.script("gpt-4o", Script(input_tokens=1000, cached_tokens=400, tokens=10))
    heard = await hear(models.get("openai:gpt-4o"))
    expected = round((600 * 2.5 + 400 * 1.25 + 10 * 10) * 1000)
    assert heard.usage == Usage(1000, 10, cached_tokens=400, cost=expected)


@pytest.mark.parametrize("wire", ["lab", "claude"])
@pytest.mark.parametrize("usage", [True, False])
async def test_an_unknown_price_is_unknown(
    wire: str, usage: bool, provider: ProviderServer, make_models: MakeModels
) -> None:
    provider.script("m", Script(usage=usage))
    heard = await hear(make_models().get(f"{wire}:m"))
    assert heard.usage.cost is None
    assert heard.usage.estimated is not usage


async def test_an_answer_in_one_piece_is_priced_too(
    provider: ProviderServer, make_models: MakeModels
) -> None:
    models = make_models(None, providers={"openai": {"base_url": provider.base_url}})
    provider.script("gpt-4o", Script(plain=True, input_tokens=10, output_tokens=5))
    heard = await hear(models.get("openai:gpt-4o"))
    assert heard.usage.cost == cost_of("openai:gpt-4o", Usage(10, 5))


async def test_a_stopped_answer_has_a_price(
    provider: ProviderServer, make_models: MakeModels
) -> None:
    models = make_models(None, providers={"openai": {"base_url": provider.base_url}})
    provider.script("gpt-4o", Script(fault="stall"))
    reply = await models._one("openai:gpt-4o").stream(REQUEST)
    await reply.aclose()
    assert reply.usage.estimated
    assert reply.usage.cost
