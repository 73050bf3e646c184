"""Hostile words in what is remembered, in sessions, in traces and in a companion's conversation are
text there, too; see tests.page.test_hostile."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
from playwright.async_api import expect
from tests.companion.lounge import reading_text
from tests.page.corpus import injections, named
from tests.page.desk import Desk, Size, visit
from tests.page.house import House
from tests.page.notes import loop, remember
from tests.page.talk import ask, state, tool
from tests.page.test_hostile import MARKUP, MUTATIONS, UNFOLD, WHOLE, opened, sound
from tests.provider import Script

MODELS = {"default": "lab:default", "gate": "lab:gate", "memory": "lab:notes"}
SAID = [" ".join(one.split())[:180] for one in injections("markup", "mutations", "letters")]
reads = pytest.mark.parametrize("house", [{"models": MODELS}], indirect=True, ids=["reads"])


async def poisoned_memory(house: House) -> None:
    """Loops, instructions and a handover made of them."""
    quotes = [one for one in SAID if one][:12]
    await remember(
        house,
        "<img src=x onerror=pwned()>",
        *quotes,
        at=datetime.now(UTC) - timedelta(days=2),
        loops=[{"n": n, **loop(one, one)} for n, one in enumerate(quotes)],
        instructions=[{"n": n, "quote": one, "text": one} for n, one in enumerate(quotes)],
    )


@pytest.mark.parametrize("size", ["desktop", "phone"])
@reads
async def test_a_hostile_memory_is_shown_as_it_is(house: House, desk: Desk, size: Size) -> None:
    await poisoned_memory(house)
    words = " ".join(WHOLE.split())
    house.provider.script("gate", Script(text=reading_text({"action": "memory_query"})))
    house.provider.queue("default", Script(text=WHOLE, thinking=WHOLE))
    house.provider.queue("default", Script(status=400, error="\n".join((*MARKUP[:8], *MUTATIONS))))
    await house.post("/api/personas/harbor/conversation")
    name = named(120)[0]
    await house.patch("/api/advisors/harbor", {"name": name, "color": "#8a2f4f"})
    page = await opened(desk, "/", size)
    line = page.get_by_role("region", name="What I remember").get_by_role("button")
    await line.click()
    await expect(page.locator(".items > li").nth(5)).to_be_visible()
    await sound(page)
    await visit(page, "/?with=harbor")
    await expect(page).to_have_url(re.compile("/c/"))
    await ask(page, WHOLE)
    await state(page.get_by_role("article").last, "completed")
    await expect(page.locator(".farewell")).to_be_visible()
    await sound(page)
    await ask(page, words[:500])
    await expect(page.get_by_role("article")).to_have_count(2)
    await state(page.get_by_role("article").last, "failed")
    await sound(page)
    there = page.url.partition("#")[0].rpartition("/")[2]
    (session,) = (await house.get(f"/api/sessions?conversation={there}")).json()
    await visit(page, f"/sessions/{session['id']}")
    await expect(page.locator(".utterances > li")).to_have_count(2)
    await sound(page)
    for number in (0, 1):
        await page.locator(".heard button").nth(number).click()
        await expect(page.locator(".trace .steps")).to_be_visible()
        await page.evaluate(UNFOLD)
        await expect(page.locator(".trace .whose")).to_contain_text(name)
        await sound(page)
        await page.keyboard.press("Escape")
    await visit(page, "/sessions")
    await tool(page, "End the session in Harbor").click()
    await expect(page.locator(".stretches > li").first).to_contain_text("ended by you")
    await sound(page)
