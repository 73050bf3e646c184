"""The memory room leaves a reader where they are: what they see, how far they read, what has the
focus, what they typed."""

from __future__ import annotations

import asyncio
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playwright.async_api import Locator, Page, Route, expect
from tests.page.desk import Desk, settled
from tests.page.house import House
from tests.page.notes import READS, fact, loop, remember
from tests.page.talk import tool

reads = pytest.mark.parametrize("house", [READS], indirect=True, ids=["reads"])
LOOK = "() => window.dispatchEvent(new Event('focus'))"
EDGE = """() => [...document.querySelectorAll(".memo")]
  .find((one) => one.getBoundingClientRect().bottom > 0)?.querySelector(".statement").textContent"""
HEBREW = "אני גר בתל אביב ליד הים"


def entry(page: Page, text: str) -> Locator:
    return page.locator(".memo").filter(has=page.locator(".statement", has_text=text))


def press(where: Locator, name: str) -> Locator:
    return where.get_by_role("button", name=re.compile(f"^{name}"))


def place(page: Page, name: str) -> Locator:
    return page.locator(".place").filter(has=page.locator("dt", has_text=re.compile(f"^{name}$")))


async def noted(house: House, *names: str, days: int) -> None:
    """So many days ago, a fact about each of these."""
    said = [f"The {name} is green." for name in names]
    facts = [fact(text, text, name) for name, text in zip(names, said, strict=True)]
    at = datetime.now(UTC) - timedelta(days=days)
    await remember(house, f"s{days}", *said, at=at, facts=facts)


async def told(house: House) -> list[str]:
    """The current facts, in the order of the server."""
    items = (await house.get("/api/memory/items?limit=100")).json()["items"]
    return [one["fact"]["text"] for one in items]


async def shown(page: Page) -> list[str]:
    return await page.locator(".statement").all_inner_texts()


class Held:
    """Lets requests or their answers wait until they are let go."""

    def __init__(self, *, answer: bool = False, method: str = "GET") -> None:
        self.answer, self.method = answer, method
        self.came, self.go = asyncio.Event(), asyncio.Event()

    async def __call__(self, route: Route) -> None:
        if route.request.method != self.method or self.go.is_set():
            await route.fallback()
            return
        response = await route.fetch() if self.answer else None
        self.came.set()
        await self.go.wait()
        await (route.fulfill(response=response) if response else route.continue_())


@reads
async def test_a_change_is_seen_whatever_is_read_meanwhile(house: House, desk: Desk) -> None:
    await noted(house, "door", "gate", days=3)
    page = await desk.open("/memory")
    door, gate = entry(page, "door"), entry(page, "gate")
    await expect(press(door, "Pin")).to_be_visible()
    await settled(page, desk.watch)

    sent = Held(method="PATCH")  # read again between the press and the reply
    await page.route("**/api/memory/facts/*", sent)
    await press(door, "Hide").click()
    await sent.came.wait()
    async with page.expect_response("**/api/memory/items*"):
        await page.evaluate(LOOK)
    await expect(press(door, "Hide")).to_be_visible()
    sent.go.set()
    await expect(page.locator(".notices")).to_contain_text("Hidden.")
    await expect(press(door, "Show")).to_be_visible()

    read = Held(answer=True)  # read before the press, answered after it
    await page.route("**/api/memory/items*", read)
    await page.evaluate(LOOK)
    await read.came.wait()
    await press(gate, "Pin").click()
    await expect(press(gate, "Unpin")).to_be_visible()
    read.go.set()
    await settled(page, desk.watch)
    await expect(press(gate, "Unpin")).to_be_visible()


@reads
async def test_a_long_list_stays_as_long_and_where_it_is(house: House, desk: Desk) -> None:
    for days in (3, 9, 20):
        await noted(house, *(f"thing {days}-{number}" for number in range(45)), days=days)
    page = await desk.open("/memory")
    for many in (30, 130):
        await expect(page.locator(".memo")).to_have_count(many)
        first = page.locator(".memo").nth(many)
        await tool(page, "Show older").press("Enter")
        await expect(first).to_be_focused()
    await expect(page.locator(".memo")).to_have_count(135)
    await page.locator(".memo").nth(125).evaluate("(one) => one.scrollIntoView()")
    edge = await page.evaluate(EDGE)
    await page.evaluate(LOOK)
    await settled(page, desk.watch)
    await expect(page.locator(".memo")).to_have_count(135)
    assert await page.evaluate(EDGE) == edge

    there = page.get_by_role("link", name="Usage", exact=True)
    await there.evaluate("(one) => one.click()")
    await expect(page.get_by_role("heading", name="Usage", level=1)).to_be_visible()
    await page.go_back()
    await expect(page.locator(".memo")).to_have_count(135)
    await page.wait_for_function(f"(edge) => ({EDGE})() === edge", arg=edge)
    await page.reload()
    await expect(page.locator(".memo")).to_have_count(135)
    await page.wait_for_function(f"(edge) => ({EDGE})() === edge", arg=edge)
    await page.get_by_role("link", name="Memory", exact=True).evaluate("(one) => one.click()")
    await there.evaluate("(one) => one.click()")
    await expect(page.get_by_role("heading", name="Usage", level=1)).to_be_visible()
    await page.get_by_role("link", name="Memory", exact=True).click()
    await expect(page.locator(".memo")).to_have_count(30)
    assert await page.evaluate("() => scrollY") == 0, "who comes anew begins at the beginning"


@reads
async def test_an_entry_goes_where_it_belongs(house: House, desk: Desk) -> None:
    """Under the right heading, in the server's order, with the focus and what is open in it."""
    await noted(house, "river", "roof", "road", days=40)
    await noted(house, "door", "gate", "garden", days=10)
    page = await desk.open("/memory")
    headings = page.locator(".months h2")
    await expect(page.locator(".memo")).to_have_count(6)
    (before,) = [one for one in await headings.all_inner_texts() if one.lower() != "last week"]
    roof, gate = entry(page, "roof"), entry(page, "gate")
    await press(gate, "Pin").focus()
    await page.keyboard.press("Enter")
    await expect(press(gate, "Unpin")).to_be_focused()
    await expect(headings).to_have_text(["Pinned", "Last week", before], ignore_case=True)
    assert await shown(page) == await told(house)
    await press(roof, "Correct").click()
    await page.get_by_role("textbox", name="Corrected text").fill("The roof is red.")
    again = page.locator(".memo").filter(has=page.locator(".reword"))
    await press(again, "Pin").click()
    await expect(press(again, "Unpin")).to_be_focused()
    await expect(again.get_by_role("textbox")).to_have_value("The roof is red.")
    await press(again, "Unpin").click()
    await expect(press(again, "Pin")).to_be_focused()
    await again.get_by_role("textbox").press("Control+Enter")
    mine = entry(page, "The roof is red.")
    await expect(press(mine, "Correct")).to_be_focused()
    await expect(mine).to_be_in_viewport()
    await expect(headings).to_have_text(["Pinned", "Today", "Last week", before], ignore_case=True)
    assert await shown(page) == await told(house)
    await page.evaluate(LOOK)
    await settled(page, desk.watch)
    await expect(press(mine, "Correct")).to_be_focused()
    await press(gate, "Unpin").press("Enter")
    await expect(press(gate, "Pin")).to_be_focused()
    await expect(headings).to_have_text(["Today", "Last week", before], ignore_case=True)
    assert await shown(page) == await told(house)


@reads
async def test_the_focus_stays_with_a_loop(house: House, desk: Desk) -> None:
    await remember(
        house, "s1", "I'll call Rui. I'll write to Ana.",
        loops=[loop("I'll call Rui", "Call Rui"), loop("I'll write to Ana", "Write to Ana")],
    )  # fmt: skip
    page = await desk.open("/memory/open-loops")
    rui = entry(page, "Call Rui")
    await press(rui, "Done").press("Enter")
    await expect(press(rui, "Open again")).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(press(rui, "Done")).to_be_focused()
    await press(rui, "Drop").press("Enter")
    await expect(press(rui, "Open again")).to_be_focused()
    await page.evaluate(LOOK)
    await expect(rui).to_have_count(0)
    await expect(page.locator(".count")).to_be_focused()


@reads
async def test_the_focus_stays_in_the_profile(house: House, desk: Desk) -> None:
    await remember(
        house, "s1", "Call me Ana. Never use bullet points.",
        profile=[{"quote": "Call me Ana", "field": "name", "text": "Ana"}],
        instructions=[{"quote": "Never use bullet points", "text": "Never use bullet points"}],
    )  # fmt: skip
    page = await desk.open("/memory/profile")
    tone, rules = place(page, "Tone"), place(page, "Standing instructions")
    await tool(tone, "Add: Tone").press("Enter")
    await tone.get_by_role("textbox").fill("Dry")
    await page.keyboard.press("Control+Enter")
    await expect(press(tone, "Edit")).to_be_focused()
    await page.keyboard.press("Enter")
    await tone.get_by_role("textbox").fill("Dry, but kind")
    await tool(tone, "Save").press("Enter")
    await expect(tone.locator(".statement")).to_have_text("Dry, but kind")
    await expect(press(tone, "Edit")).to_be_focused()
    await press(tone, "Delete").press("Enter")
    await expect(page.get_by_role("dialog")).to_contain_text("becomes current again: “Dry”")
    await tool(page.get_by_role("dialog"), "Delete").press("Enter")
    await expect(tone.locator(".statement")).to_have_text("Dry")
    await press(tone, "Delete").press("Enter")
    await tool(page.get_by_role("dialog"), "Delete").press("Enter")
    await expect(tone.locator(".statement")).to_have_count(0)
    await expect(tool(tone, "Add: Tone")).to_be_focused()

    await tool(rules, "Add: Standing instructions").press("Enter")
    await rules.get_by_role("textbox").fill("Be brief.")
    await tool(rules, "Save").press("Enter")
    await expect(rules.locator(".statement")).to_have_count(2)
    await expect(tool(rules, "Add: Standing instructions")).to_be_focused()
    await press(rules.locator(".profile-line").first, "Delete").press("Enter")
    await tool(page.get_by_role("dialog"), "Delete").press("Enter")
    await expect(rules.locator(".statement")).to_have_text(["Be brief."])
    await expect(press(rules, "Delete")).to_be_focused()


@reads
async def test_a_day_that_is_typed_is_kept_like_the_words(house: House, desk: Desk) -> None:
    await remember(house, "s1", "I'll call Rui.", loops=[loop("I'll call Rui", "Call Rui")])
    page = await desk.open("/memory/open-loops")
    correct = press(page.locator(".memo"), "Correct")
    await correct.click()
    await page.get_by_label("Due").fill("2031-05-04")
    await page.reload()
    await expect(page.get_by_label("Due")).to_have_value("2031-05-04")
    await page.get_by_label("Due").press("Escape")
    await correct.click()
    await expect(page.get_by_label("Due")).to_have_value("")
    await page.get_by_label("Due").fill("2031-05-04")
    await tool(page, "Save").click()
    await expect(page.locator(".memo .marks")).to_contain_text("due 2031-05-04")
    (rui,) = (await house.get("/api/memory/loops")).json()
    assert rui["dueDate"] == "2031-05-04"


RTL = "(one) => getComputedStyle(one).direction"


async def directions(where: Locator) -> set[Any]:
    assert await where.count()
    return {await one.evaluate(RTL) for one in await where.all()}


@reads
async def test_words_are_set_from_the_side_they_are_read_from(house: House, desk: Desk) -> None:
    await remember(
        house, "s1", f"{HEBREW}.", at=datetime.now(UTC) - timedelta(days=2),
        facts=[fact(HEBREW, HEBREW, "home")], loops=[loop(HEBREW, HEBREW)], summary=HEBREW,
        themes=[HEBREW], steering_note=HEBREW,
        profile=[{"quote": HEBREW, "field": "patterns", "text": HEBREW}],
    )  # fmt: skip
    page = await desk.open("/memory")
    for path in ("/memory", "/memory/open-loops", "/memory/profile"):
        await page.goto(path)
        words = page.locator(".statement, blockquote")
        await expect(words.first).to_be_visible()
        assert await directions(words) == {"rtl"}, path
        await page.get_by_role("button", name=re.compile("^(Correct|Edit)")).first.click()
        assert await directions(page.locator(".reword textarea")) == {"rtl"}
        await page.keyboard.press("Escape")
    await page.goto("/memory")
    await page.get_by_role("searchbox").fill(HEBREW)
    assert await directions(page.get_by_role("searchbox")) == {"rtl"}
    await page.goto("/memory/days")
    words = page.locator(".themes bdi, .noted, .sessions .quote")
    await expect(words.first).to_be_visible()
    assert await directions(words) == {"rtl"}
