"""The OpenAI-compatible door, used by the official client as it is: sync and async, streamed and
whole, and every way it can fail."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, TypeVar

import openai
import pytest
import pytest_asyncio
from openai.types.chat import ChatCompletionMessageParam
from tests.provider import Script
from tests.web.house import House, open_house

pytestmark = pytest.mark.asyncio(loop_scope="session")
T = TypeVar("T")
Ask = Callable[..., Any]


def user(text: str = "Is it so?") -> list[ChatCompletionMessageParam]:
    return [{"role": "user", "content": text}]


def client_of(house: House, **more: Any) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(
        base_url=f"{house.url}/v1", api_key="not-needed", max_retries=0, **more
    )


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def client(house: House) -> AsyncIterator[openai.AsyncOpenAI]:
    async with client_of(house) as found:
        yield found


async def in_thread(house: House, work: Callable[[openai.OpenAI], T]) -> T:
    """Do something with the synchronous client."""

    def run() -> T:
        with openai.OpenAI(base_url=f"{house.url}/v1", api_key="x", max_retries=0) as found:
            return work(found)

    return await asyncio.to_thread(run)


async def streamed(client: openai.AsyncOpenAI, model: str, **more: Any) -> list[Any]:
    chunks = []
    async for chunk in await client.chat.completions.create(
        model=model, messages=more.pop("messages", user()), stream=True, **more
    ):
        chunks.append(chunk)
    return chunks


def text_of(chunks: list[Any]) -> str:
    return "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)


async def door_rows(house: House) -> list[tuple[Any, ...]]:
    return await house.polyvox.database.read(
        lambda tx: tx.all(
            "SELECT model, advisor_id, input_tokens, output_tokens, estimated FROM usage"
            " WHERE purpose = 'door' ORDER BY id"
        )
    )


# -- what can be named -----------------------------------------------------------------------------


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
    assert "2 of 3" in system
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


# -- failing ---------------------------------------------------------------------------------------

FAILURES: list[tuple[str, Script, type[openai.APIStatusError], int, str, str]] = [
    ("401", Script(status=401), openai.InternalServerError, 502, "authentication", "Incorrect"),
    ("402", Script(status=402), openai.InternalServerError, 502, "quota", "credits"),
    ("404", Script(status=404), openai.NotFoundError, 404, "refused", "does not exist"),
    ("400", Script(status=400), openai.BadRequestError, 400, "refused", "not valid"),
    ("413", Script(status=413), openai.BadRequestError, 400, "context_too_long", "too large"),
    ("429", Script(status=429), openai.RateLimitError, 429, "rate_limit", "Rate limit"),
    ("500", Script(status=500), openai.InternalServerError, 503, "unavailable", "had an error"),
    ("504", Script(status=504), openai.InternalServerError, 504, "timeout", "timed out"),
    ("empty", Script(empty=True), openai.InternalServerError, 502, "empty", "without a word"),
    ("html", Script(fault="html"), openai.InternalServerError, 502, "protocol", ""),
    ("reset", Script(fault="reset"), openai.InternalServerError, 503, "unavailable", ""),
]


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize(
    ("script", "kind", "status", "code", "words"),
    [row[1:] for row in FAILURES],
    ids=[row[0] for row in FAILURES],
)
async def test_a_failing_provider_is_the_right_exception(
    house: House,
    client: openai.AsyncOpenAI,
    script: Script,
    kind: type[openai.APIStatusError],
    status: int,
    code: str,
    words: str,
    stream: bool,
) -> None:
    model = house.model(script)
    with pytest.raises(kind) as raised:
        if stream:
            await streamed(client, model)
        else:
            await client.chat.completions.create(model=model, messages=user())
    assert raised.value.status_code == status
    assert raised.value.code == code
    assert words in raised.value.message
    body: Any = raised.value.body
    assert body["hint"]
    assert set(body) == {"code", "message", "hint", "type", "param"}


async def test_silence_is_a_timeout(tmp_path: Path) -> None:
    async with (
        open_house(tmp_path, limits={"first_byte": 0.1}) as house,
        client_of(house) as client,
    ):
        for model in (house.model(Script(fault="silence")), house.model(Script(delay=60))):
            with pytest.raises(openai.InternalServerError) as raised:
                await streamed(client, model)
            assert raised.value.status_code == 504
            assert raised.value.code == "timeout"


async def test_retry_after_reaches_the_client(house: House, client: openai.AsyncOpenAI) -> None:
    model = house.model(Script(status=429, retry_after="7"))
    with pytest.raises(openai.RateLimitError) as raised:
        await client.chat.completions.create(model=model, messages=user())
    assert raised.value.response.headers["retry-after"] == "7"
    assert raised.value.type == "rate_limit_error"


@pytest.mark.parametrize("fault", ["cut", "malformed", "error_event"])
async def test_an_error_in_the_middle_is_raised_after_the_words_before_it(
    house: House, client: openai.AsyncOpenAI, fault: Any
) -> None:
    model = house.model(Script(text="It breaks off in", fault=fault, after=3))
    heard = ""
    with pytest.raises(openai.APIError) as raised:
        async for chunk in await client.chat.completions.create(
            model=model, messages=user(), stream=True
        ):
            heard += chunk.choices[0].delta.content or ""
    assert heard == "It breaks off"
    body: Any = raised.value.body
    assert body["code"] in ("unavailable", "protocol")
    assert body["message"]
    assert body["hint"]


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("gpt-5", "provider:name"),
        ("nobody:knows", "no provider 'nobody'"),
        ("advisor:nobody-at-all", "no advisor 'nobody-at-all'"),
        ("council:nobody-at-all", "no council 'nobody-at-all'"),
        ("lab:", "provider:name"),
    ],
)
async def test_an_unknown_model(
    house: House, client: openai.AsyncOpenAI, model: str, words: str
) -> None:
    with pytest.raises(openai.NotFoundError) as raised:
        await client.chat.completions.create(model=model, messages=user())
    assert words in raised.value.message
    assert raised.value.param == "model"
    assert raised.value.code == "not_found"
    with pytest.raises(openai.NotFoundError):
        await streamed(client, model)


@pytest.mark.parametrize(
    ("change", "kind", "param"),
    [
        ({"messages": []}, openai.UnprocessableEntityError, "messages"),
        ({"messages": user("")}, openai.UnprocessableEntityError, "messages"),
        ({"messages": user("  ")}, openai.UnprocessableEntityError, "messages"),
        ({"messages": user("a\x00b")}, openai.UnprocessableEntityError, "messages.0.content"),
        (
            {"messages": [{"role": "system", "content": "a\x00b"}, *user()]},
            openai.UnprocessableEntityError,
            "messages.0.content",
        ),
        (
            {"messages": [{"role": "assistant", "content": "x"}]},
            openai.UnprocessableEntityError,
            "messages",
        ),
        (
            {"messages": [{"role": "tool", "content": "x"}]},
            openai.UnprocessableEntityError,
            "messages.0.role",
        ),
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url"}]}]},
            openai.BadRequestError,
            "messages",
        ),
        ({"n": 2}, openai.BadRequestError, "n"),
        ({"tools": [{"type": "function"}]}, openai.BadRequestError, "tools"),
        (
            {"response_format": {"type": "json_object"}},
            openai.BadRequestError,
            "response_format",
        ),
        ({"temperature": 9}, openai.UnprocessableEntityError, "temperature"),
        ({"max_tokens": 0}, openai.UnprocessableEntityError, "max_tokens"),
        ({"messages": user("x" * 400_001)}, openai.UnprocessableEntityError, "messages"),
    ],
)
async def test_what_cannot_be_asked(
    house: House,
    client: openai.AsyncOpenAI,
    change: dict[str, Any],
    kind: type[openai.APIStatusError],
    param: str,
) -> None:
    model = house.model()
    with pytest.raises(kind) as raised:
        await client.chat.completions.create(**{"model": model, "messages": user(), **change})
    assert raised.value.param == param
    assert raised.value.message
    assert house.provider.requests(model.partition(":")[2]) == []


async def test_what_means_nothing_here_is_passed_over(
    house: House, client: openai.AsyncOpenAI
) -> None:
    whole = await client.chat.completions.create(
        model=house.model(Script(text="Fine.")),
        messages=user(),
        seed=1,
        user="somebody",
        n=1,
        presence_penalty=0.5,
        response_format={"type": "text"},
        metadata={"a": "b"},
    )
    assert whole.choices[0].message.content == "Fine."


# -- leaving, counting, paying ---------------------------------------------------------------------


async def test_who_leaves_in_the_middle_closes_the_upstream(
    house: House, client: openai.AsyncOpenAI
) -> None:
    model = house.model(Script(pieces=("One", " two", " three"), gates={2: "never"}))
    stream = await client.chat.completions.create(model=model, messages=user(), stream=True)
    heard = ""
    async for chunk in stream:
        heard += chunk.choices[0].delta.content or ""
        if heard == "One two":
            break
    await stream.close()
    (request,) = house.provider.requests(model.partition(":")[2])
    await house.provider.gone(request)
    assert request.ended_at is None
    await _counted(house, model)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_who_leaves_before_the_first_word_closes_the_upstream(
    house: House, client: openai.AsyncOpenAI, stream: bool
) -> None:
    model = house.model(Script(hold="never"))
    name = model.partition(":")[2]
    asking = asyncio.create_task(
        client.chat.completions.create(model=model, messages=user(), stream=stream)
    )
    await house.provider.until(lambda: bool(house.provider.requests(name)))
    asking.cancel()
    (request,) = house.provider.requests(name)
    await house.provider.gone(request)


async def test_who_leaves_a_whole_answer_in_the_middle_closes_the_upstream(
    house: House, client: openai.AsyncOpenAI
) -> None:
    model = house.model(Script(pieces=("One", " two"), gates={1: "never"}))
    name = model.partition(":")[2]
    asking = asyncio.create_task(client.chat.completions.create(model=model, messages=user()))
    await house.provider.until(
        lambda: any(request.tokens for request in house.provider.requests(name))
    )
    asking.cancel()
    await house.provider.gone(house.provider.requests(name)[0])
    await _counted(house, model)


async def test_who_leaves_a_council_closes_every_upstream(
    house: House, client: openai.AsyncOpenAI
) -> None:
    script = Script(pieces=("One", " two"), gates={1: "never"})
    advisors = [await house.advisor(script=script) for _ in range(3)]
    council = await house.council(*advisors)
    stream = await client.chat.completions.create(
        model=f"council:{council['slug']}", messages=user(), stream=True
    )
    await anext(aiter(stream))
    names = [advisor["model"].partition(":")[2] for advisor in advisors]
    await house.provider.until(
        lambda: all(r.tokens for name in names for r in house.provider.requests(name))
    )
    await stream.close()
    for name in names:
        await house.provider.gone(house.provider.requests(name)[0])
    for advisor in advisors:
        await _counted(house, advisor["model"])


async def _counted(house: House, model: str) -> None:
    """Wait until what a call used, though nobody heard its end, is noted."""
    async with asyncio.timeout(5):
        while True:
            found = [row for row in await door_rows(house) if row[0] == model]
            if found:
                break
    ((_, _, sent, got, estimated),) = found
    assert sent > 0
    assert got > 0
    assert estimated == 1


async def test_usage_is_recorded_for_the_door(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house, client_of(house) as client:
        script = Script(input_tokens=20, output_tokens=4)
        advisors = [await house.advisor(script=script) for _ in range(2)]
        council = await house.council(*advisors)
        model = house.model(script)
        await client.chat.completions.create(model=model, messages=user())
        await streamed(client, f"advisor:{advisors[0]['slug']}")
        await streamed(client, f"council:{council['slug']}")
        first, second = advisors
        assert await door_rows(house) == [
            (model, "door", 20, 4, 0),
            (first["model"], first["id"], 20, 4, 0),
            (first["model"], first["id"], 20, 4, 0),
            (second["model"], second["id"], 20, 4, 0),
        ]
        total = (await house.get("/api/usage")).json()["total"]
        assert (total["answers"], total["input_tokens"]) == (4, 80)
        assert (await house.get("/api/conversations")).json()["items"] == [], "nothing else kept"


async def test_a_cap_holds_at_the_door(tmp_path: Path) -> None:
    price = '{"prompt_tokens":5,"completion_tokens":5,"total_tokens":10,"cost":0.01}'
    chunk = '{"choices":[{"index":0,"delta":{"content":"Dear."},"finish_reason":"stop"}]'
    raw = f'data: {chunk}}}\n\ndata: {{"choices":[],"usage":{price}}}\n\ndata: [DONE]\n\n'
    async with (
        open_house(tmp_path, limits={"cost_per_day": 0.005}) as house,
        client_of(house) as client,
    ):
        model = house.model(Script(raw=raw))
        await client.chat.completions.create(model=model, messages=user())
        for stream in (False, True):
            with pytest.raises(openai.APIStatusError) as raised:
                await client.chat.completions.create(model=model, messages=user(), stream=stream)
            assert raised.value.status_code == 402
            assert raised.value.code == "cap_reached"
        assert len(house.provider.log) == 1


async def test_the_token_is_the_clients_key(tmp_path: Path) -> None:
    async with open_house(tmp_path, server={"token": "tok-door"}) as house:
        model = house.model(Script(text="Come in."))
        async with client_of(house) as stranger:
            with pytest.raises(openai.AuthenticationError) as raised:
                await stranger.chat.completions.create(model=model, messages=user())
            assert raised.value.code == "not_authorized"
        async with client_of(house).with_options(api_key="tok-door") as friend:
            whole = await friend.chat.completions.create(model=model, messages=user())
        assert whole.choices[0].message.content == "Come in."
