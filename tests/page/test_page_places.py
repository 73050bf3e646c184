"""Addresses: what stays in sight over a room, and what is said where nothing is."""

from __future__ import annotations

import pytest
from playwright.async_api import Page, expect
from tests.page.desk import GONE, Desk, spill, visit
from tests.page.house import House, Process

AWAY = "The server is away."
LOOK = "() => window.dispatchEvent(new Event('focus'))"
SEEN = """(one) => {
  const { left, top, width, height } = one.getBoundingClientRect();
  return one.contains(document.elementFromPoint(left + width / 2, top + height / 2));
}"""


async def scrolled(page: Page, by: int = 600) -> None:
    """Scroll down, however short the page is."""
    await page.evaluate("() => { document.body.style.minHeight = '4000px'; }")
    await page.evaluate("(by) => window.scrollTo(0, by)", by)
    await page.wait_for_function("(by) => window.scrollY >= by", arg=by)


async def test_where_nothing_is_the_page_says_so(desk: Desk, house: House) -> None:
    desk.allow("status of 404")
    page = await desk.open(None, size="phone")
    for path, says in (
        ("/foo", "This address leads nowhere."),
        ("/memory/nope", "There is no such page."),
        ("/c/nope", "There is no conversation nope."),
        ("/c/a/b", "This address leads nowhere."),
    ):
        await visit(page, path)
        await expect(page.get_by_role("heading", level=1)).to_have_text("Nothing is here")
        await expect(page.locator("#main")).to_contain_text(says)
        assert await spill(page) == [], path
    await page.get_by_role("main").get_by_role("link", name="Begin a conversation").click()
    await expect(page).to_have_url(f"{house.url}/")
    await expect(page.get_by_role("textbox", name="Your message")).to_be_visible()


async def test_a_room_that_is_scrolled_keeps_its_name(desk: Desk) -> None:
    """A bar where the window is narrow, so that the way to the list stands over no text."""
    page = await desk.open(None, size="phone")
    bar = page.locator(".top.of-room")
    for room in ("Memory", "Sessions", "Settings"):
        await visit(page, f"/{room.lower()}")
        await expect(page.get_by_role("heading", level=1)).to_have_text(room)
        await scrolled(page)
        await expect(bar).to_be_in_viewport(ratio=1)
        await expect(bar).to_have_text(room)
    menu = page.get_by_role("button", name="Conversations and rooms")
    inside = await page.evaluate(
        """() => {
          const [bar, menu] = [".of-room", ".menu"].map((one) => document.querySelector(one))
            .map((one) => one.getBoundingClientRect());
          return menu.top >= bar.top && menu.bottom <= bar.bottom;
        }"""
    )
    assert inside, "the button stands over what is read"
    assert (
        await bar.evaluate("(one) => getComputedStyle(one).backgroundColor") != "rgba(0, 0, 0, 0)"
    )
    await menu.click()
    await expect(page.get_by_role("navigation", name="Conversations and rooms")).to_be_visible()
    wide = await desk.open("/settings")
    await expect(wide.get_by_role("heading", level=1)).to_have_text("Settings")
    await scrolled(wide)
    await expect(wide.locator(".top.of-room")).to_be_hidden()


@pytest.mark.process
async def test_that_the_server_is_away_is_seen_however_far_one_has_read(
    house: Process, desk: Desk
) -> None:
    desk.allow(GONE)
    (one,) = await house.voices("A long answer.\n\n" * 80)
    there = await house.conversation(one, title="The boat")
    await house.say(there, "Sell it?")
    pages = [
        await desk.open(path, size="phone") for path in ("/memory", "/sessions", f"/c/{there}")
    ]
    for page in pages:
        await expect(page.get_by_role("heading", level=1)).to_be_visible()
        await scrolled(page)
    await house.kill()
    for page in pages:
        await page.evaluate(LOOK)
        line = page.get_by_text(AWAY)
        await expect(line).to_be_in_viewport(ratio=1)
        assert await line.evaluate(SEEN), "something stands over it"
    await house.start()
    for page in pages:
        await expect(page.get_by_text(AWAY)).to_have_count(0)


async def test_the_part_one_is_in_is_in_sight_on_a_small_phone(desk: Desk) -> None:
    page = await desk.open(None, size="phone")
    await page.set_viewport_size({"width": 280, "height": 568})
    await visit(page, "/memory/days")
    await expect(page.get_by_role("link", name="Days")).to_be_in_viewport(ratio=1)
    await visit(page, "/memory")
    await expect(page.get_by_role("link", name="Remembered")).to_be_in_viewport(ratio=1)
