"""Another program at the OpenAI-compatible door: the official client, unchanged."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

import openai
from openai.types.chat import ChatCompletionMessageParam
from tests.web.house import House

T = TypeVar("T")


def user(text: str = "Is it so?") -> list[ChatCompletionMessageParam]:
    return [{"role": "user", "content": text}]


def client_of(house: House, key: str = "not-needed") -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(base_url=f"{house.url}/v1", api_key=key, max_retries=0)


async def in_thread(house: House, work: Callable[[openai.OpenAI], T]) -> T:
    """Do something with the synchronous client."""

    def run() -> T:
        with openai.OpenAI(base_url=f"{house.url}/v1", api_key="x", max_retries=0) as found:
            return work(found)

    return await asyncio.to_thread(run)


async def whole(client: openai.AsyncOpenAI, model: str, **more: Any) -> Any:
    """A completion at once."""
    messages = more.pop("messages", user())
    return await client.chat.completions.create(model=model, messages=messages, **more)


async def streamed(client: openai.AsyncOpenAI, model: str, **more: Any) -> list[Any]:
    """Every chunk of a streamed completion."""
    return [chunk async for chunk in await whole(client, model, stream=True, **more)]


def text_of(chunks: list[Any]) -> str:
    return "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)


async def door_rows(house: House) -> list[tuple[Any, ...]]:
    """What was recorded for the door."""
    return await house.polyvox.database.read(
        lambda tx: tx.all(
            "SELECT model, advisor_id, input_tokens, output_tokens, estimated FROM usage"
            " WHERE purpose = 'door' ORDER BY id"
        )
    )
