"""The door when something is wrong: the official client raises what it should, with our words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import openai
import pytest
from tests.provider import Script
from tests.web.caller import client_of, streamed, text_of, user, whole
from tests.web.house import House, open_house

pytestmark = [pytest.mark.contract, pytest.mark.asyncio(loop_scope="session")]


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
        await (streamed(client, model) if stream else whole(client, model))
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

    async def listen() -> None:
        nonlocal heard
        async for chunk in await whole(client, model, stream=True):
            heard += text_of([chunk])

    with pytest.raises(openai.APIError) as raised:
        await listen()
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
