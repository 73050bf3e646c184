"""A reply under way: stopped, aborted, counted, and its connection with it."""

from __future__ import annotations

import asyncio

import pytest
from tests.models.asking import REQUEST, MakeModels, hear
from tests.provider import ProviderServer, Script

from polyvox.errors import ModelError, ModelTimeout
from polyvox.models.base import AttemptLog
from polyvox.models.registry import Models
from polyvox.models.reply import OpenReply
from polyvox.values import Usage

WIRES = ("lab", "claude")


async def begin(models: Models, name: str, log: AttemptLog | None = None) -> OpenReply:
    return await models._one(name).stream(REQUEST, log)


@pytest.mark.parametrize("wire", WIRES)
async def test_the_first_piece_is_there_when_the_reply_is(
    wire: str, provider: ProviderServer, make_models: MakeModels
) -> None:
    provider.script("m", Script(pieces=("one", "two"), gates={0: "first", 1: "second"}))
    asking = asyncio.create_task(begin(make_models(), f"{wire}:m"))
    await provider.arrived(1)
    assert not asking.done()
    provider.gate("first").set()
    reply = await asking
    assert (await anext(reply)).text == "one"
    provider.gate("second").set()
    assert (await anext(reply)).text == "two"
    await reply.aclose()


@pytest.mark.parametrize("wire", WIRES)
async def test_closing_a_reply_closes_its_connection(
    wire: str, provider: ProviderServer, make_models: MakeModels
) -> None:
    provider.script("m", Script(fault="stall"))
    reply = await begin(make_models(), f"{wire}:m")
    assert provider.log[0].closed_at is None
    await reply.aclose()
    await provider.gone(provider.log[0])
    assert reply.over


@pytest.mark.parametrize("wire", WIRES)
async def test_cancelling_before_the_first_word_closes_the_connection(
    wire: str, provider: ProviderServer, make_models: MakeModels
) -> None:
    provider.script("m", Script(hold="never"))
    log = AttemptLog()
    asking = asyncio.create_task(begin(make_models(), f"{wire}:m", log))
    await provider.arrived(1)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    await provider.gone(provider.log[0])
    (attempt,) = log.attempts
    assert (attempt.category, attempt.message) == (None, "stopped before the first word")


@pytest.mark.parametrize("wire", WIRES)
async def test_cancelling_between_status_and_first_word_closes_the_connection(
    wire: str, provider: ProviderServer, make_models: MakeModels
) -> None:
    provider.script("m", Script(gates={0: "never"}))
    asking = asyncio.create_task(begin(make_models(), f"{wire}:m"))
    await provider.until(lambda: bool(provider.log) and provider.log[0].first_at is not None)
    for _ in range(20):
        await asyncio.sleep(0)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    await provider.gone(provider.log[0])


@pytest.mark.parametrize("wire", WIRES)
async def test_an_aborted_reply_raises_the_reason_where_it_waits(
    wire: str, provider: ProviderServer, make_models: MakeModels
) -> None:
    provider.script("m", Script(fault="stall"))
    reply = await begin(make_models(), f"{wire}:m")
    heard = ""
    while heard != "This is":
        heard += (await anext(reply)).text
    listening = asyncio.create_task(anext(reply))
    await asyncio.sleep(0)
    reply.abort(ModelTimeout("Enough."))
    with pytest.raises(ModelTimeout, match="Enough"):
        await listening
    await provider.gone(provider.log[0])


@pytest.mark.parametrize("wire", WIRES)
async def test_usage_of_a_stopped_reply_is_estimated_from_what_came(
    wire: str, provider: ProviderServer, make_models: MakeModels
) -> None:
    provider.script("m", Script(pieces=("x" * 41,), gates={}, fault="stall", input_tokens=77))
    reply = await begin(make_models(), f"{wire}:m")
    await anext(reply)
    await reply.aclose()
    known = 77 if wire == "claude" else 3 + 3  # Anthropic reports the input at the start
    assert reply.usage == Usage(known, 11, estimated=True)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("script", [Script(), Script(fault="cut"), Script(fault="malformed")])
async def test_who_waits_for_the_end_is_told_once(
    wire: str, script: Script, provider: ProviderServer, make_models: MakeModels
) -> None:
    provider.script("m", script)
    reply = await begin(make_models(), f"{wire}:m")
    told: list[int] = []
    reply.at_end(lambda: told.append(1))
    try:
        async for _ in reply:
            pass
    except ModelError:
        assert script.fault
    await reply.aclose()
    await reply.aclose()
    assert told == [1]
    reply.at_end(lambda: told.append(2))
    assert told == [1, 2]


@pytest.mark.parametrize("wire", WIRES)
async def test_whole_answers_leave_their_connection_for_the_next(
    wire: str, provider: ProviderServer, make_models: MakeModels
) -> None:
    models = make_models()
    for _ in range(3):
        reply = await begin(models, f"{wire}:m")
        async for _piece in reply:
            pass
        await reply.aclose()
        await provider.until(lambda: provider.log[-1].ended_at is not None)
        for _ in range(5):
            await asyncio.sleep(0)
    assert provider.connections_made == 1


@pytest.mark.parametrize("wire", WIRES)
async def test_a_lost_connection_after_the_end_of_the_answer_is_no_failure(
    wire: str, provider: ProviderServer, make_models: MakeModels
) -> None:
    """A server that says why it ended and then hangs up without its end mark."""
    provider.script("m", Script(fault="hangup", text="That is all."))
    reply = await begin(make_models(), f"{wire}:m")
    pieces = [piece async for piece in reply]
    assert "".join(piece.text for piece in pieces) == "That is all."
    assert pieces[-1].finish == "stop"


async def test_a_report_of_nonsense_is_replaced_by_an_estimate(
    provider: ProviderServer, make_models: MakeModels
) -> None:
    provider.script("m", Script(text="four words are here", input_tokens=2**62))
    heard = await hear(make_models().get("lab:m"))
    assert heard.usage is not None
    assert heard.usage.estimated
    assert heard.usage.input_tokens < 1000
