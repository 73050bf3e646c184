"""The scripted model: says what it is told, fails when told, and is encoded like any other."""

from __future__ import annotations

import asyncio
import gc

import msgspec
import pytest
from tests.models.asking import REQUEST, MakeModels, hear
from tests.models.wrappers.stand_in import Sleeper

from polyvox.errors import MODEL_ERRORS, ModelTimeout
from polyvox.models.base import ChatMessage, Request
from polyvox.models.scripted import Script, ScriptedModel, script_of
from polyvox.values import Params


async def test_echo_repeats_the_last_message_word_by_word() -> None:
    messages = (
        ChatMessage("user", "first"),
        ChatMessage("assistant", "no"),
        ChatMessage("user", "Is it  so,\n\nor not? "),
    )
    heard = await hear(ScriptedModel("echo"), Request((), messages))
    assert heard.text == "Is it  so,\n\nor not? "
    assert [piece.text for piece in heard.pieces] == ["Is", " it", "  so,", "\n\nor", " not?", " "]
    assert heard.finish == "stop"


async def test_a_script_in_the_name() -> None:
    clock = Sleeper()
    model = ScriptedModel("say=Yes,_but_no.;think=Hm_well;delay=2;pace=0.5", sleep=clock.sleep)
    heard = await hear(model)
    assert (heard.text, heard.thinking) == ("Yes, but no.", "Hm well")
    assert clock.slept == [2, 0.5, 0.5, 0.5, 0.5]
    assert heard.usage.output_tokens == 5
    assert heard.usage.reasoning_tokens == 2


async def test_a_script_given_in_code() -> None:
    scripts = {"sage": Script(say="I hear: {last}")}
    heard = await hear(ScriptedModel("sage", scripts))
    assert heard.text == "I hear: Is it so?"


async def test_it_is_deterministic() -> None:
    one, two = await hear(ScriptedModel("ponder")), await hear(ScriptedModel("ponder"))
    assert [(p.text, p.thinking) for p in one.pieces] == [(p.text, p.thinking) for p in two.pieces]
    assert one.usage == two.usage


@pytest.mark.parametrize("category", MODEL_ERRORS)
@pytest.mark.parametrize(("after", "text"), [(0, ""), (2, "Is it"), (9, "Is it so?")])
async def test_it_fails_as_told(category: str, after: int, text: str) -> None:
    heard = await hear(ScriptedModel(f"fail={category};after={after}"))
    assert (heard.category, heard.text) == (category, text)
    (attempt,) = heard.log.attempts
    assert attempt.category == (None if text else category)


async def test_thinking_comes_before_the_failure() -> None:
    heard = await hear(ScriptedModel("think=Hm;fail=refused"))
    assert (heard.thinking, heard.category) == ("Hm", "refused")


@pytest.mark.parametrize("name", ["nobody", "sing=la", "pace=fast", "after=x", "say", ""])
async def test_an_unknown_script_is_refused_and_known_ones_are_named(name: str) -> None:
    heard = await hear(ScriptedModel(name))
    assert heard.category == "refused"
    assert heard.error is not None
    assert "echo" in heard.error.hint


async def test_an_unknown_failure_is_refused() -> None:
    heard = await hear(ScriptedModel("fail=sadness"))
    assert heard.error is not None
    assert "rate_limit" in heard.error.hint


async def test_silence_is_an_empty_answer() -> None:
    assert (await hear(ScriptedModel("silent"))).category == "empty"


async def test_it_keeps_to_the_maximum() -> None:
    request = Request((), REQUEST.messages, Params(max_tokens=2))
    assert (await hear(ScriptedModel("echo"), request)).text == "Is it"


async def test_it_is_encoded_like_any_other() -> None:
    heard = await hear(ScriptedModel("echo"))
    assert heard.log.encoded == ScriptedModel("echo").encode(REQUEST)
    assert heard.log.encoded is not None
    sent = msgspec.json.decode(heard.log.encoded.body)
    assert [message["content"] for message in sent["messages"]] == ["Be brief.", "Is it so?"]


async def test_it_can_be_stopped_and_aborted() -> None:
    async def forever(seconds: float) -> None:
        if seconds:
            await asyncio.Event().wait()

    reply = await ScriptedModel("say=a_b;pace=1", sleep=forever).stream(REQUEST)
    assert (await anext(reply)).text == "a"
    waiting = asyncio.create_task(anext(reply))
    await asyncio.sleep(0)
    reply.abort(ModelTimeout("Enough."))
    with pytest.raises(ModelTimeout, match="Enough"):
        await waiting
    assert reply.usage.output_tokens == 1


async def test_an_abort_that_nobody_hears_is_not_complained_about() -> None:
    complaints: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, what: complaints.append(what))
    reply = await ScriptedModel("say=a_b;pace=1").stream(REQUEST)
    reply.abort(ModelTimeout("Unheard."))
    await reply.aclose()
    del reply
    gc.collect()
    assert complaints == []


async def test_through_the_registry(make_models: MakeModels) -> None:
    heard = await hear(make_models().get("scripted:echo"))
    assert (heard.text, heard.usage.cost) == ("Is it so?", 0)


def test_script_of_a_known_name_wins_over_spelling() -> None:
    own = Script(say="mine")
    assert script_of("say=x", {"say=x": own}) is own
