"""Trying again: after what, how often, how long in between."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from tests.models.asking import REQUEST, MakeModels, hear
from tests.models.wrappers.stand_in import Sleeper, StandIn
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
from polyvox.models.base import AttemptLog
from polyvox.models.wrappers import Retry


def retry(
    model: StandIn, clock: Sleeper, retries: int = 2, chance: Callable[[], float] = lambda: 1.0
) -> Retry:
    return Retry(model, retries, 20, clock.sleep, chance)


async def test_a_passing_failure_is_retried_with_growing_pauses() -> None:
    model, clock = StandIn([Unavailable("a"), Unavailable("b"), None]), Sleeper()
    heard = await hear(retry(model, clock))
    assert heard.text == "one two three"
    assert clock.slept == [0.5, 1.0]
    assert [attempt.category for attempt in heard.log.attempts] == [
        "unavailable",
        "unavailable",
        None,
    ]


async def test_pauses_are_shortened_by_chance_but_never_to_nothing() -> None:
    model, clock = StandIn([Unavailable("a"), None]), Sleeper()
    await hear(retry(model, clock, chance=lambda: 0.0))
    assert clock.slept == [0.25]


async def test_pauses_do_not_grow_for_ever() -> None:
    model, clock = StandIn([Unavailable("a")]), Sleeper()
    await hear(retry(model, clock, retries=10))
    assert max(clock.slept) == 8.0


async def test_the_last_failure_is_told_when_tries_run_out() -> None:
    model, clock = StandIn([Unavailable("a"), Unavailable("b"), Unavailable("c")]), Sleeper()
    heard = await hear(retry(model, clock))
    assert heard.error is not None
    assert heard.error.message == "c"
    assert model.calls == 3


@pytest.mark.parametrize(
    "error",
    [
        AuthenticationFailed("x"),
        QuotaExceeded("x"),
        Refused("x"),
        ContextTooLong("x"),
        ProtocolError("x"),
        EmptyAnswer("x"),
        ModelTimeout("our own patience"),
    ],
)
async def test_what_will_not_pass_is_not_retried(error: ModelError) -> None:
    model, clock = StandIn([error]), Sleeper()
    heard = await hear(retry(model, clock))
    assert heard.error is error
    assert (model.calls, clock.slept) == (1, [])


async def test_a_timeout_that_the_server_reports_is_retried() -> None:
    model, clock = StandIn([ModelTimeout("gateway", http_status=504), None]), Sleeper()
    assert (await hear(retry(model, clock))).error is None


async def test_the_pause_is_the_one_the_provider_asks_for() -> None:
    model, clock = StandIn([RateLimited("slow", retry_after=7.5), None]), Sleeper()
    await hear(retry(model, clock))
    assert clock.slept == [7.5]


async def test_a_longer_wait_than_allowed_is_given_up_at_once() -> None:
    model, clock = StandIn([RateLimited("slow", retry_after=20.5), None]), Sleeper()
    heard = await hear(retry(model, clock))
    assert heard.category == "rate_limit"
    assert (model.calls, clock.slept) == (1, [])


async def test_no_retries_where_none_are_wanted() -> None:
    model, clock = StandIn([Unavailable("a"), None]), Sleeper()
    assert (await hear(retry(model, clock, retries=0))).category == "unavailable"


async def test_waiting_can_be_stopped() -> None:
    model = StandIn([Unavailable("a"), None])
    began = asyncio.Event()

    async def forever(seconds: float) -> None:
        began.set()
        await asyncio.Event().wait()

    asking = asyncio.create_task(Retry(model, 2, 20, forever).stream(REQUEST, AttemptLog()))
    await began.wait()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert model.calls == 1


@pytest.mark.parametrize("wire", ["lab", "claude"])
async def test_over_the_wire_the_same_bytes_are_sent_again(
    wire: str, provider: ProviderServer, make_models: MakeModels
) -> None:
    provider.queue("m", Script(status=429, retry_after="0"), Script(fault="reset"))
    heard = await hear(make_models({"retries": 2}).get(f"{wire}:m"))
    assert heard.text == "This is answer 3 of m."
    assert [a.category for a in heard.log.attempts] == ["rate_limit", "unavailable", None]
    assert len({request.body for request in provider.log}) == 1


@pytest.mark.parametrize("wire", ["lab", "claude"])
async def test_nothing_is_retried_after_the_first_word(
    wire: str, provider: ProviderServer, make_models: MakeModels
) -> None:
    provider.queue("m", Script(fault="cut"))
    heard = await hear(make_models({"retries": 2}).get(f"{wire}:m"))
    assert (heard.text, heard.category) == ("This is", "unavailable")
    assert len(provider.log) == 1
