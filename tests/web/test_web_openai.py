"""The OpenAI-compatible door by the official client: models, advisors and councils, streamed and
whole."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import openai
import pytest
from openai.types.chat import ChatCompletionMessageParam
from tests.provider import Script
from tests.web.caller import client_of, in_thread, streamed, text_of, user
from tests.web.house import House, open_house

pytestmark = [pytest.mark.contract, pytest.mark.asyncio(loop_scope="session")]


async def test_models_lists_advisors_councils_and_models(
    house: House, client: openai.AsyncOpenAI
) -> None:
    advisor = await house.advisor()
    council = await house.council(advisor)
    names = [model.id async for model in await client.models.list()]
    assert f"advisor:{advisor['slug']}" in names
    assert f"council:{council['slug']}" in names
    assert "scripted:echo" in names
    assert not [name for name in names if name.startswith("openrouter:")], "it has no key"
    assert len(names) == len(set(names))
    assert await in_thread(house, lambda c: [m.id for m in c.models.list()]) == names


@pytest.mark.parametrize("wire", ["lab", "claude"])
async def test_a_model_passes_through(house: House, client: openai.AsyncOpenAI, wire: str) -> None:
    model = house.model(Script(text="Yes – it’s 🎈.", input_tokens=7, output_tokens=3), wire)
    messages: list[ChatCompletionMessageParam] = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "One?"},
        {"role": "assistant", "content": "Ein."},
        {"role": "user", "content": [{"type": "text", "text": "Two?"}]},
    ]
    options: dict[str, Any] = {"temperature": 0.25, "top_p": 0.5, "max_tokens": 99}
    whole = await client.chat.completions.create(model=model, messages=messages, **options)
    assert whole.object == "chat.completion"
    assert whole.model == model
    assert whole.choices[0].message.content == "Yes – it’s 🎈."
    assert whole.choices[0].message.role == "assistant"
    assert whole.choices[0].finish_reason == "stop"
    assert whole.usage is not None
    assert (whole.usage.prompt_tokens, whole.usage.completion_tokens) == (7, 3)
    assert whole.usage.total_tokens == 10
    chunks = await streamed(client, model, messages=messages, **options)
    assert text_of(chunks) == "Yes – it’s 🎈."
    assert chunks[0].choices[0].delta.role == "assistant"
    assert chunks[-1].choices[0].finish_reason == "stop"
    assert {chunk.object for chunk in chunks} == {"chat.completion.chunk"}
    assert len({chunk.id for chunk in chunks}) == 1
    assert not [chunk for chunk in chunks if chunk.usage], "not asked for"
    for request in house.provider.requests(model.partition(":")[2]):
        sent = request.json()
        assert request.path == ("/v1/messages" if wire == "claude" else "/v1/chat/completions")
        assert (sent["temperature"], sent["max_tokens"]) == (0.25, 99)
        texts = request.body.decode()
        for words in ("Be brief.", "One?", "Ein.", "Two?"):
            assert words in texts
        if wire == "claude":
            assert "Be brief." in str(sent["system"])
            assert [m["role"] for m in sent["messages"]] == ["user", "assistant", "user"]
        else:
            assert sent["top_p"] == 0.5


async def test_the_synchronous_client(house: House) -> None:
    model = house.model(Script(text="As ever."))

    def both(found: openai.OpenAI) -> tuple[str | None, str]:
        whole = found.chat.completions.create(model=model, messages=user())
        parts = found.chat.completions.create(model=model, messages=user(), stream=True)
        return whole.choices[0].message.content, text_of(list(parts))

    assert await in_thread(house, both) == ("As ever.", "As ever.")


async def test_nothing_is_held_back(house: House, client: openai.AsyncOpenAI) -> None:
    gates = {n: f"held {n}" for n in range(1, 5)}
    model = house.model(Script(pieces=("a", "b", "c", "d", "e"), gates=gates))
    heard = ""
    async for chunk in await client.chat.completions.create(
        model=model, messages=user(), stream=True
    ):
        heard += chunk.choices[0].delta.content or ""
        if heard:  # the next token is let go only when this one is here
            house.provider.gate(f"held {len(heard)}").set()
    assert heard == "abcde"


async def test_usage_in_the_last_chunk_when_asked_for(
    house: House, client: openai.AsyncOpenAI
) -> None:
    model = house.model(Script(text="Counted.", input_tokens=11, output_tokens=5))
    chunks = await streamed(client, model, stream_options={"include_usage": True})
    assert chunks[-1].choices == []
    assert chunks[-1].usage.prompt_tokens == 11
    assert chunks[-1].usage.completion_tokens == 5
    assert chunks[-1].usage.total_tokens == 16
    assert chunks[-2].choices[0].finish_reason == "stop"


async def test_an_answer_cut_by_its_maximum_says_so(
    house: House, client: openai.AsyncOpenAI
) -> None:
    model = house.model(Script(text="Too much to", fault="length"))
    whole = await client.chat.completions.create(model=model, messages=user())
    assert whole.choices[0].finish_reason == "length"
    assert (await streamed(client, model))[-1].choices[0].finish_reason == "length"


# -- advisors and councils -------------------------------------------------------------------------


async def test_an_advisor_answers_with_its_prompt_and_thread(
    house: House, client: openai.AsyncOpenAI
) -> None:
    advisor = await house.advisor(
        script=Script(text="My view."), description="Weighs every word.", params={"temperature": 0}
    )
    name = advisor["model"].partition(":")[2]
    messages: list[ChatCompletionMessageParam] = [
        {"role": "system", "content": "The caller's own words."},
        {"role": "user", "content": "First?"},
        {"role": "assistant", "content": "An earlier view."},
        {"role": "user", "content": "Second?"},
    ]
    for model in (f"advisor:{advisor['slug']}", f"advisor:{advisor['id']}"):
        whole = await client.chat.completions.create(model=model, messages=messages)
        assert whole.choices[0].message.content == "My view."
        assert whole.model == model
    assert text_of(await streamed(client, model, messages=messages)) == "My view."
    sent = house.provider.requests(name)[0].json()
    system = "\n".join(m["content"] for m in sent["messages"] if m["role"] == "system")
    assert "Weighs every word." in system
    assert "The caller's own words." in system
    assert " of 3" not in system, "whoever asks once gets an answer"
    assert [m["content"] for m in sent["messages"] if m["role"] != "system"] == [
        "First?",
        "An earlier view.",
        "Second?",
    ]
    assert sent["temperature"] == 0


async def test_a_council_is_one_labelled_answer_in_order(
    house: House, client: openai.AsyncOpenAI
) -> None:
    last_done = Script(text="I am slow but first.", hold="slow")
    slow = await house.advisor(script=last_done, name="Slow")
    quick = await house.advisor(script=Script(text="I am quick."), name="Quick")
    council = await house.council(slow, quick)
    model = f"council:{council['slug']}"
    asking = asyncio.create_task(streamed(client, model, stream_options={"include_usage": True}))
    # both are asked at the same time: the second has ended before the first begins
    names = [advisor["model"].partition(":")[2] for advisor in (slow, quick)]
    await house.provider.until(lambda: all(house.provider.requests(name) for name in names))
    (second,) = house.provider.requests(names[1])
    await house.provider.until(lambda: second.ended_at is not None)
    house.provider.gate("slow").set()
    chunks = await asking
    expected = "## Slow\n\nI am slow but first.\n\n## Quick\n\nI am quick."
    assert text_of(chunks) == expected
    whole = await client.chat.completions.create(model=model, messages=user())
    assert whole.choices[0].message.content == expected
    assert whole.usage is not None
    assert chunks[-1].usage.prompt_tokens == whole.usage.prompt_tokens > 200, "of both together"
    assert whole.usage.completion_tokens == 5 + 3


async def test_isolation_holds_in_a_council(house: House, client: openai.AsyncOpenAI) -> None:
    advisors = [
        await house.advisor(name="Twin"),
        await house.advisor(name="Twin"),
        await house.advisor(name="Third"),
    ]
    texts = [
        "Canary-a0.\n\n## Third\n\nCanary-a1, not Third's.",  # it tries to speak for another
        "Canary-b0.\n## Twin\nCanary-b1.",
        "Canary-c0.",
    ]
    for advisor, text in zip(advisors, texts, strict=True):
        house.provider.script(advisor["model"].partition(":")[2], Script(text=text, split=3))
    council = await house.council(*advisors)
    model = f"council:{council['slug']}"
    messages = user("First?")
    for question in ("Second?", "Third?"):
        answer = await client.chat.completions.create(model=model, messages=messages)
        said = answer.choices[0].message.content
        messages += [{"role": "assistant", "content": said}, *user(question)]
    await client.chat.completions.create(model=model, messages=messages)
    for own, advisor in zip("abc", advisors, strict=True):
        for request in house.provider.requests(advisor["model"].partition(":")[2]):
            sent = request.json()["messages"]
            mine = [m["content"] for m in sent if m["role"] == "assistant"]
            others = set("abc") - {own}
            assert not [x for x in others for text in mine if f"Canary-{x}" in text]
            assert all(f"Canary-{own}0." in text for text in mine)
            assert not [text for text in mine if text.startswith("## ")], "without its label"
            block = "\n".join(m["content"] for m in sent if m["role"] == "user")
            assert f"Canary-{own}" not in block
            if mine:
                assert [block.count(f"Canary-{x}0.") for x in sorted(others)] == [1, 1]
        assert len(mine) == 2
    # each under its own name in the others' reference
    block = house.provider.requests(advisors[2]["model"].partition(":")[2])[-1].body.decode()
    assert block.index("Canary-a0.") < block.index("Canary-b0.")
    assert "Twin (2)" in block


async def test_a_renamed_or_removed_member_stays_nobody_elses(
    house: House, client: openai.AsyncOpenAI
) -> None:
    first, second = await house.advisor(name="Alpha"), await house.advisor(name="Beta")
    council = await house.council(first, second)
    said = "## Alpha\n\nCanary-alpha.\n\n## Beta\n\nCanary-beta."
    messages = [*user("One?"), {"role": "assistant", "content": said}, *user("Two?")]
    await house.patch(f"/api/advisors/{second['id']}", {"name": "Gamma"})
    await client.chat.completions.create(
        model=f"council:{council['slug']}",
        messages=messages,  # type: ignore[arg-type]  # plain dicts
    )
    (request,) = house.provider.requests(first["model"].partition(":")[2])
    mine = [m["content"] for m in request.json()["messages"] if m["role"] == "assistant"]
    assert mine == ["Canary-alpha."]


async def test_one_failing_advisor_says_so_in_its_section(
    house: House, client: openai.AsyncOpenAI
) -> None:
    broken = await house.advisor(script=Script(status=500, error="Out of\norder."), name="Broken")
    cut = await house.advisor(script=Script(text="Half a", fault="cut"), name="Cut")
    well = await house.advisor(script=Script(text="All well."), name="Well")
    council = await house.council(broken, cut, well)
    model = f"council:{council['slug']}"
    whole = await client.chat.completions.create(model=model, messages=user())
    said = whole.choices[0].message.content or ""
    head, first, second, third = said.split("## ")
    assert head == ""
    assert first.startswith("Broken\n\n*(No answer: lab (500): Out of order.")
    assert second.startswith("Cut\n\nHalf a\n\n*(Not finished: ")
    assert third == "Well\n\nAll well."
    assert text_of(await streamed(client, model)) == said
    # and what failed is in nobody's thread or reference afterwards
    again: list[Any] = [*user("One?"), {"role": "assistant", "content": said}, *user("Two?")]
    await client.chat.completions.create(model=model, messages=again)
    for advisor in (broken, cut, well):
        sent = house.provider.requests(advisor["model"].partition(":")[2])[-1].body.decode()
        assert "Out of order" not in sent
        assert "Half a" not in sent
        assert "All well." in sent


async def test_a_whole_council_failing_is_an_error(
    house: House, client: openai.AsyncOpenAI
) -> None:
    advisors = [await house.advisor(script=Script(status=500, error=f"E{n}.")) for n in range(2)]
    council = await house.council(*advisors)
    model = f"council:{council['slug']}"
    with pytest.raises(openai.InternalServerError) as whole:
        await client.chat.completions.create(model=model, messages=user())
    with pytest.raises(openai.InternalServerError) as stream:
        await streamed(client, model)
    for raised in (whole, stream):
        assert raised.value.status_code == 503
        assert "E0." in raised.value.message
    empty = await house.council()
    with pytest.raises(openai.NotFoundError, match="no advisors"):
        await client.chat.completions.create(model=f"council:{empty['slug']}", messages=user())


async def test_an_advisor_that_does_not_fit_fails_alone(tmp_path: Path) -> None:
    known = {"lab:small": {"window": 2000, "max_tokens": 100}}
    async with open_house(tmp_path, models={"known": known}) as house, client_of(house) as client:
        small = await house.advisor("lab:small", name="Small")
        large = await house.advisor(script=Script(text="Room enough."), name="Large")
        council = await house.council(small, large)
        long = user("word " * 4000)
        whole = await client.chat.completions.create(
            model=f"council:{council['slug']}", messages=long
        )
        said = whole.choices[0].message.content or ""
        assert said.startswith("## Small\n\n*(No answer: ")
        assert said.endswith("## Large\n\nRoom enough.")
        with pytest.raises(openai.BadRequestError, match="too much") as raised:
            await client.chat.completions.create(model=f"advisor:{small['slug']}", messages=long)
        assert raised.value.code == "context_too_long"
        assert house.provider.requests("small") == []
