"""A house whose settings come from files and an environment, as they do for everybody: what the
page may change, what it may not, and what a restart finds.

    async with open_kept(tmp_path, "[limits]\\nqueue = 3", {"OPENAI_API_KEY": "…"}) as house:
        await house.patch("/api/settings", {"limits.max_tokens": 5})
        row = await setting(house, "limits.max_tokens")
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from tests.provider import ProviderServer
from tests.web.house import House, lived_in

from polyvox.settings import load

USUAL = "[local]\nwarm = false\n"


@asynccontextmanager
async def open_kept(
    place: Path,
    config: str = "",
    env: Mapping[str, str] | None = None,
    provider: ProviderServer | None = None,
) -> AsyncIterator[House]:
    """A house with its home in `place`/home. `{lab}` in the configuration is the provider's
    address."""
    async with AsyncExitStack() as stack:
        if provider is None:
            provider = await stack.enter_async_context(ProviderServer())
        file = place / "polyvox.toml"
        file.write_text(USUAL + config.replace("{lab}", provider.base_url), encoding="utf-8")
        given = {"POLYVOX_HOME": str(place / "home"), **(env or {})}
        house = lived_in(load(file, given), provider, given)
        yield await stack.enter_async_context(house)


async def page(house: House) -> dict[str, dict[str, Any]]:
    """Every setting that can be changed, by its name."""
    reply = await house.get("/api/settings/page")
    assert reply.status == 200, reply.text
    return {row["name"]: row for row in reply.json()["settings"]}


async def setting(house: House, name: str) -> dict[str, Any]:
    return (await page(house))[name]


async def row_of(house: House, path: str, name: str) -> dict[str, Any]:
    """A row of a list by its name."""
    reply = await house.get(path)
    assert reply.status == 200, reply.text
    rows: list[dict[str, Any]] = reply.json()
    return next(row for row in rows if name in (row.get("name"), row.get("provider")))


async def answered(house: House, model: str, words: str = "Is it so?") -> dict[str, Any]:
    """A new advisor with that model, asked once: the answer, ended."""
    advisor = await house.advisor(model)
    conversation = await house.conversation(advisor)
    turn = await house.say(conversation, words)
    found: dict[str, Any] = await house.answer(turn["answers"][0]["answer_id"])
    return found
