"""Two tabs, or a laptop and a phone: whatever is done in one is soon to be seen in the other, and
in whatever order the network brings things, both end with what the server has."""

from __future__ import annotations

import asyncio
from typing import Any

from playwright.async_api import Page, Route, expect
from tests.page.desk import Desk
from tests.page.house import House
from tests.page.kept import agree, heard, kept, same_texts, stored
from tests.page.talk import ask, card, says, state, tool
from tests.provider import Script

GATED = Script(pieces=("One", ", two", "."), gates={1: "on", 2: "over"})


async def rename(page: Page, title: str) -> None:
    """Give the conversation another title."""
    await page.get_by_text("Conversation …").click()
    await tool(page, "Rename").click()
    await page.get_by_label("Title").fill(title)
    await page.keyboard.press("Enter")


async def test_tabs_agree_about_everything_that_is_done(house: House, desk: Desk) -> None:
    """Each thing is done once from either tab, and both are looked at after it."""
    one, two = await house.voices("Yes.", "No.")
    conversation = await house.conversation(one, two)
    left, right = await desk.open(f"/c/{conversation}"), await desk.open(f"/c/{conversation}")
    says(house, one, GATED)
    await ask(left, "Is it so?")
    await expect(card(right, one).locator(".prose")).to_have_text("One")
    await agree(left, right)
    house.provider.gate("on").set()
    await expect(card(left, one).locator(".prose")).to_have_text("One, two")
    await agree(left, right)
    await tool(card(right, one), f"Stop {one['name']}").click()
    await state(card(left, one), "stopped")
    says(house, one, "Better.")
    await tool(card(left, one), "Retry").click()
    await expect(card(right, one).locator(".prose")).to_have_text("Better.")
    await expect(card(right, one).locator(".under:not(.few) .versions")).to_contain_text("2 of 2")
    await state(card(right, one), "completed")
    await agree(left, right)

    says(house, two, "Never.")
    for actor, other in ((left, right), (right, left)):
        await tool(card(actor, two), "Regenerate").click()
        await expect(card(other, two).locator(".prose")).to_have_text("Never.")
        await state(card(other, two), "completed")
        await agree(left, right)
        await tool(card(actor, two), "Exclude").click()
        await expect(card(other, two)).to_contain_text("Left out of later requests")
        await agree(left, right)
        await tool(card(other, two), "Include").click()
        await expect(card(actor, two).get_by_text("Left out of later requests")).to_have_count(0)
        await agree(left, right)
        await actor.locator(".ask-tools").get_by_role("button", name="Exclude").click()
        await expect(other.locator(".ask.out")).to_be_visible()
        await other.locator(".ask-tools").get_by_role("button", name="Include").click()
        await expect(actor.locator(".ask.out")).to_have_count(0)
        await agree(left, right)
        await rename(actor, f"By {actor is left}")
        await expect(other.locator(".top h1")).to_have_text(f"By {actor is left}")
        await agree(left, right)
    await same_texts(left, house, conversation)
    await same_texts(right, house, conversation)


async def test_tabs_agree_about_branches(house: House, desk: Desk) -> None:
    one, *_ = await house.voices("Yes.")
    conversation = await house.conversation(one)
    await house.say(conversation, "First?")
    await house.say(conversation, "Second?")
    left, right = await desk.open(f"/c/{conversation}"), await desk.open(f"/c/{conversation}")
    for number, (actor, other) in enumerate(((left, right), (right, left)), 2):
        await actor.locator(".ask-tools").nth(0).get_by_role("button", name="Edit").click()
        await actor.locator("dialog textarea").fill(f"In other words {number}?")
        await tool(actor, "Ask").click()
        asked = other.get_by_role("heading", name=f"In other words {number}?", level=2)
        await expect(asked).to_be_visible()
        await state(card(other, one), "completed")
        seen = await agree(left, right)
        assert [turn["asked"] for turn in seen["turns"]] == [f"In other words {number}?"]
    await tool(right, "Earlier wording").click()
    await expect(left.get_by_role("heading", name="In other words 2?", level=2)).to_be_visible()
    await agree(left, right)
    await tool(left, "Earlier wording").click()
    for page in (left, right):  # turns are drawn one after another
        for words in ("First?", "Second?"):
            await expect(page.locator(".ask", has_text=words)).to_have_count(1)
    seen = await agree(left, right)
    assert [turn["asked"] for turn in seen["turns"]] == ["First?", "Second?"]
    await same_texts(left, house, conversation)
    await same_texts(right, house, conversation)


class Slow:
    """Holds back one answer of the server: it is made now, and given when the test says so."""

    def __init__(self) -> None:
        self.made = asyncio.Event()
        self.go = asyncio.Event()

    async def __call__(self, route: Route) -> None:
        response = await route.fetch()
        self.made.set()
        await self.go.wait()
        await route.fulfill(response=response)


async def opened(house: House, desk: Desk, *scripts: Script | str) -> tuple[str, list[Any], Page]:
    """A page of a conversation in which one turn is over."""
    voices = await house.voices(*scripts)
    conversation = await house.conversation(*voices)
    await house.say(conversation, "First?")
    page = await desk.open(f"/c/{conversation}")
    await expect(page.locator('article[data-state="completed"]')).to_have_count(len(voices))
    return conversation, voices, page


async def last_number(house: House, conversation: str) -> int:
    """The number of the conversation's newest event."""
    number: int = (await house.get(f"/api/conversations/{conversation}")).json()["last_number"]
    return number


async def test_a_turn_that_ends_before_it_could_be_read_is_whole(house: House, desk: Desk) -> None:
    """The page hears of a new turn and reads it; that reading is old when it comes, since all of
    the answer has been told meanwhile. Nothing of it is told again."""
    conversation, (one,), page = await opened(house, desk, "Yes.")
    says(house, one, Script(pieces=("One", ", two."), gates={1: "on"}))
    slow = Slow()
    await page.route(f"**/api/conversations/{conversation}?**", slow, times=1)
    turn = await house.send(conversation, "Second?")
    async with asyncio.timeout(60):
        await slow.made.wait()
    house.provider.gate("on").set()
    await house.ended(conversation, turn["turn_id"])
    await heard(page, await last_number(house, conversation))
    slow.go.set()
    await state(card(page, one, 1), "completed")
    await expect(card(page, one, 1).locator(".prose")).to_have_text("One, two.")
    await same_texts(page, house, conversation)


async def test_an_old_reading_does_not_undo_what_came_since(house: House, desk: Desk) -> None:
    """While a reading is under way an answer is regenerated and another left out: the reading
    knows neither, and both stay."""
    conversation, (one, two), page = await opened(house, desk, "Yes.", "No.")
    first, second = (await stored(house, conversation)).keys()
    slow = Slow()
    await page.route(f"**/api/conversations/{conversation}?**", slow, times=1)
    await house.patch(f"/api/conversations/{conversation}", {"title": "Another"})
    async with asyncio.timeout(60):
        await slow.made.wait()
    says(house, one, "Better.")
    await house.post(f"/api/answers/{first}/regenerate")
    await state(card(page, one), "completed")
    await expect(card(page, one).locator(".prose")).to_have_text("Better.")
    await house.post(f"/api/answers/{second}/exclude")
    await expect(card(page, two)).to_contain_text("Left out of later requests")
    await heard(page, await last_number(house, conversation))
    slow.go.set()
    await expect(page.locator(".top h1")).to_have_text("Another")
    await expect(card(page, one).locator(".prose")).to_have_text("Better.")
    await expect(card(page, two)).to_contain_text("Left out of later requests")
    await same_texts(page, house, conversation)
    assert len(await kept(page)) == 3


async def test_what_could_not_be_read_is_read_later(house: House, desk: Desk) -> None:
    """The event has come, but not what it is about: the page asks until it has it."""
    conversation, (one,), page = await opened(house, desk, "Yes.")
    desk.allow("ERR_FAILED", "status of 503")
    refused = iter(("abort", "busy"))

    async def refuse(route: Route) -> None:
        how = next(refused, "")
        if how == "abort":
            await route.abort()
        elif how == "busy":
            await route.fulfill(status=503, json={"error": {"message": "Busy."}})
        else:
            await route.continue_()

    await page.route(f"**/api/conversations/{conversation}?**", refuse)
    await house.say(conversation, "Second?")
    await state(card(page, one, 1), "completed")
    await same_texts(page, house, conversation)
