"""Words for what people do in a conversation: ask, look at a card, find a tool of it."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.async_api import Locator, Page, expect
from tests.page.house import House
from tests.provider import Script

CLIPBOARD = ["clipboard-read", "clipboard-write"]
"""What a browser has to be allowed before a test may read what was copied."""
PRICED = {"providers": {"openai": {"base_url": "{provider}", "api_key": "env:LAB_KEY"}}}
"""Settings of a house in which openai's models, whose prices are known, are the test's own."""
GPT = "openai:gpt-4o"
"""2.50 dollars for a million tokens in, 10 dollars for a million out."""
priced = pytest.mark.parametrize("house", [PRICED], indirect=True, ids=["priced"])


def composer(page: Page) -> Locator:
    """Where one writes."""
    return page.get_by_role("textbox", name="Your message")


async def ask(page: Page, text: str) -> None:
    """Write a message and send it with Enter."""
    await composer(page).fill(text)
    await composer(page).press("Enter")


def card(page: Page, advisor: Any, at: int = 0) -> Locator:
    """An advisor's card; `at` counts where it has several, from above."""
    return page.get_by_role("article", name=advisor["name"], exact=True).nth(at)


def tool(where: Locator | Page, name: str) -> Locator:
    """A button by its whole name."""
    return where.get_by_role("button", name=name, exact=True)


async def state(where: Locator, expected: str) -> None:
    """Wait until a card says so."""
    await expect(where).to_have_attribute("data-state", expected)


async def copied(page: Page) -> str:
    """What is on the clipboard."""
    text: str = await page.evaluate("() => navigator.clipboard.readText()")
    return text


async def copies(page: Page, text: str) -> None:
    """Wait until this is on the clipboard."""
    same = "async (text) => await navigator.clipboard.readText() === text"
    await page.wait_for_function(same, arg=text)


def last_message(house: House, advisor: Any) -> str:
    """The end of the newest request for an advisor: what it is asked to answer."""
    content: str = house.heard(advisor)[-1]["messages"][-1]["content"]
    return content


def sent(house: House, advisor: Any, at: int = -1) -> str:
    """All words of a request for an advisor, the newest one by default."""
    return "\n".join(one["content"] for one in house.heard(advisor)[at]["messages"])


def says(house: House, advisor: Any, script: Script | str) -> None:
    """What an advisor's model answers from now on."""
    given = Script(text=script) if isinstance(script, str) else script
    house.provider.script(advisor["model"].partition(":")[2], given)
