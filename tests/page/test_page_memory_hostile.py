"""Whatever was said, or noted of it, is text wherever memory shows it: it never runs, and breaks no
layout."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playwright.async_api import Page, Route, expect
from tests.page.corpus import injections, named
from tests.page.desk import Desk, Size, visit
from tests.page.house import House
from tests.page.notes import READS, fact, ingest, loop, remember, replies, worked
from tests.page.talk import tool
from tests.page.test_hostile import UNFOLD, opened, sound
from tests.provider import Script

PARTS = ("/memory", "/memory/open-loops", "/memory/profile", "/memory/days")
ALL = [one for one in injections() if "\x00" not in one]
SIZES: tuple[Size, ...] = ("phone", "desktop")
reads = pytest.mark.parametrize("house", [READS], indirect=True, ids=["reads"])


def quotable(text: str) -> str:
    """The words of a message that a note may quote: enough of them to be found in it."""
    return " ".join(text.split())[:300]


async def hostile_memory(house: House) -> None:
    """Every string as what was said, what was noted, what it is about, and what was made of it."""
    said = [f"I say: {one}" for one in ALL]
    facts = [
        fact(quotable(text), text[:1500], one[:70], subject=ALL[-at][:100])
        for at, (text, one) in enumerate(zip(said, ALL, strict=True))
    ]
    loops = [
        loop(quotable(text), one[:280], tags=[one[:40], ALL[0][:40]], horizon="ongoing")
        for text, one in zip(said, ALL, strict=True)
    ]
    profile = [
        {"quote": quotable(text), "field": field, "item": one[:70], "text": one[:1500]}
        for field in ("patterns", "key_relationships", "current_focus")
        for text, one in zip(said[:12], ALL[:12], strict=True)
    ]
    instructions = [{"quote": quotable(text), "text": text[:280]} for text in said[:10]]
    for at in range(0, len(said), 20):
        some = slice(at, at + 20)
        await remember(
            house, f"hostile-{at}", *said[some], at=datetime.now(UTC) - timedelta(days=2 + at),
            facts=facts[some], loops=loops[some], profile=profile, instructions=instructions,
            summary="\n".join(ALL)[:3900], themes=[one[:60] for one in ALL[at : at + 5]],
            scores={"mood": 3}, steering_note=ALL[at % len(ALL)][:100],
        )  # fmt: skip
    for one in (await house.get("/api/memory/items?limit=3")).json()["items"]:
        await house.patch(f"/api/memory/facts/{one['fact']['id']}", {"text": "\n".join(ALL)[:1900]})


async def unfold(page: Page) -> None:
    """Open whatever can be opened."""
    await page.evaluate(UNFOLD)
    for one in (await page.get_by_role("button", name="History").all())[:3]:
        await one.click()
    await expect(page.get_by_text("Loading …")).to_have_count(0)


@reads
async def test_hostile_memories(house: House, desk: Desk) -> None:
    await hostile_memory(house)
    one = await house.advisor(script=Script(text=ALL[3]), name=named(120)[0])
    conversation = await house.conversation(one, title=named(200)[3])
    replies(house.provider)
    await house.say(conversation, "\n".join(ALL))
    (session,) = (await house.get("/api/sessions")).json()
    await house.post(f"/api/sessions/{session['id']}/end")
    await worked(house)
    house.provider.script("notes", Script(status=400, error="\n".join(ALL[:12])))
    await ingest(house, f"{ALL[0][:60]} #/?", "One more.")
    await worked(house)
    for size in SIZES:
        page = await opened(desk, "/memory?q=pwned", size)
        await expect(page.locator(".memo .whence").first).to_be_visible()
        await sound(page)
        for path in PARTS:
            await visit(page, path)
            await expect(page.locator(".memo, .profile-line, .day-entry").first).to_be_visible()
            await expect(page.locator(".undone")).to_contain_text("Could not")
            await unfold(page)
            await sound(page)
    await visit(page, "/memory?q=pwned")
    await page.get_by_role("button", name="Forget: ").first.click()
    await expect(page.locator("dialog .going li").first).to_be_visible()
    await page.evaluate(UNFOLD)
    await sound(page)
    await tool(page.get_by_role("dialog"), "Cancel").click()
    await visit(page, "/memory")
    await page.get_by_role("button", name="Correct: ").first.click()
    await sound(page)


FREE = {
    *("advisorName", "attribute", "day", "domain", "dueDate", "excerpt", "failure", "lastSeenAt"),
    *("model", "name", "quote", "saidAt", "source", "status", "steeringNote", "subject", "text"),
    *("timeHorizon", "timestamp", "title", "toldAt", "type", "validTo"),
}
"""What comes to the page as words, or as something that should be a time or one of a few words."""


def lied(value: Any, words: str) -> Any:
    if isinstance(value, dict):
        return {
            key: words if key in FREE and isinstance(one, str) else lied(one, words)
            for key, one in value.items()
        }
    if isinstance(value, list):
        return [words if isinstance(one, str) else lied(one, words) for one in value]
    return value


def liar(words: str) -> Callable[[Route], Awaitable[None]]:
    """Changes every answer of the server."""

    async def lie(route: Route) -> None:
        response = await route.fetch()
        await route.fulfill(response=response, json=lied(await response.json(), words))

    return lie


@reads
async def test_a_memory_that_lies(house: House, desk: Desk) -> None:
    """Not even what the server would never say is more than text: no time where a time should be,
    no known kind, a title that is a script."""
    now = datetime.now(UTC)
    await remember(
        house, "s1", "I live by the river. I'll call the bank tomorrow. Call me Ana.",
        at=now - timedelta(days=2), facts=[fact("I live by the river", "Lives there.", "home")],
        loops=[loop("I'll call the bank tomorrow", "Call the bank")], scores={"mood": 3},
        profile=[{"quote": "Call me Ana", "field": "name", "text": "Ana"}],
    )  # fmt: skip

    for words in (injections("markup")[3], injections("code")[5], injections("letters")[2]):
        page = await opened(desk, "/search")
        await page.route("**/api/memory/**", liar(words))
        await page.route("**/api/jobs*", liar(words))
        for path in PARTS:
            await visit(page, path)
            await expect(page.locator(".memo, .profile-line, .day-entry").first).to_be_visible()
            await unfold(page)
            await sound(page)
        await page.unroute_all(behavior="ignoreErrors")
        await page.close()
