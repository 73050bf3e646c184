"""The next model when one fails: which failures, in which order, what is recorded and told."""

from __future__ import annotations

import asyncio

import pytest
from tests.models.asking import REQUEST, MakeModels, hear
from tests.models.wrappers.stand_in import StandIn
from tests.provider import ProviderServer, Script

from polyvox.errors import (
    AuthenticationFailed,
    ContextTooLong,
    EmptyAnswer,
    ModelError,
    ModelTimeout,
    ProtocolError,
    QuotaExceeded,
    RateLimited,
    Refused,
    Unavailable,
)
from polyvox.models.base import ChatMessage, Request
from polyvox.models.wrappers import Fallback
from polyvox.values import Params


def unknown(name: str) -> int | None:
    return None


@pytest.mark.parametrize(
    "kind",
    [
        AuthenticationFailed,
        QuotaExceeded,
        RateLimited,
        ModelTimeout,
        Unavailable,
        Refused,
        ContextTooLong,
        ProtocolError,
        EmptyAnswer,
    ],
)
async def test_any_failure_leads_to_the_next(kind: type[ModelError]) -> None:
    first, second, third = StandIn([kind("x")], "a:1"), StandIn(name="b:2"), StandIn(name="c:3")
    heard = await hear(Fallback([first, second, third], unknown))
    assert (heard.text, heard.model) == ("one two three", "b:2")
    assert [(a.model, a.category) for a in heard.log.attempts] == [
        ("a:1", kind.category),
        ("b:2", None),
    ]
    assert heard.log.model == "b:2"
    assert third.calls == 0


async def test_when_all_fail_the_first_cause_is_told_with_the_others_named() -> None:
    chain = [
        StandIn([RateLimited("slow down", "Wait.", http_status=429, retry_after=60)], "a:1"),
        StandIn([Unavailable("gone")], "b:2"),
    ]
    heard = await hear(Fallback(chain, unknown))
    error = heard.error
    assert isinstance(error, RateLimited)
    assert error.message == "slow down"
    assert error.hint == "Wait. Also tried: b:2 (unavailable)."
    assert (error.http_status, error.retry_after) == (429, 60)


async def test_a_model_that_is_too_small_is_passed_over_and_that_is_said() -> None:
    windows = {"b:2": 100, "c:3": 1000}
    request = Request((), (ChatMessage("user", "x" * 400),), Params(max_tokens=50))
    first, small = StandIn([Unavailable("gone")], "a:1"), StandIn(name="b:2")
    heard = await hear(Fallback([first, small, StandIn(name="c:3")], windows.get), request)
    assert heard.model == "c:3"
    assert small.calls == 0
    skipped = heard.log.attempts[1]
    assert (skipped.model, skipped.category) == ("b:2", "context_too_long")
    assert skipped.message == "Not asked: about 150 tokens do not fit its window of 100."


async def test_the_first_model_is_asked_whatever_its_window() -> None:
    heard = await hear(Fallback([StandIn(name="a:1"), StandIn(name="b:2")], {"a:1": 1}.get))
    assert heard.model == "a:1"


async def test_nothing_falls_back_after_the_first_word(
    provider: ProviderServer, make_models: MakeModels
) -> None:
    provider.script("m", Script(fault="cut"))
    heard = await hear(make_models().chain("lab:m", ["claude:other"]))
    assert (heard.text, heard.category) == ("This is", "unavailable")
    assert len(provider.log) == 1


async def test_a_stop_does_not_fall_back(provider: ProviderServer, make_models: MakeModels) -> None:
    provider.script("m", Script(hold="never"))
    asking = asyncio.create_task(hear(make_models().chain("lab:m", ["claude:other"])))
    await provider.arrived(1)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert len(provider.log) == 1


async def test_across_wires_each_gets_its_own_bytes(
    provider: ProviderServer, make_models: MakeModels
) -> None:
    models = make_models({"retries": 1})
    provider.script("m", Script(status=503, retry_after="0"))
    chain = models.chain("lab:m", ["claude:other"])
    heard = await hear(chain)
    assert heard.model == "claude:other"
    paths = [request.path for request in provider.log]
    assert paths == ["/v1/chat/completions", "/v1/chat/completions", "/v1/messages"]
    assert heard.log.encoded is not None
    assert heard.log.encoded.dialect == "anthropic"
    assert heard.log.encoded.body == provider.log[-1].body
    assert chain.encode(REQUEST).body == provider.log[0].body
