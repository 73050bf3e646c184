"""Why this answer: what was decided, what was told and in which order, how long each step took; the
same on the page as in the trace and in what the model was really sent."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playwright.async_api import Locator, Page, expect
from tests.companion.lounge import reading_text
from tests.page.desk import Desk, Size, spill
from tests.page.house import House
from tests.page.notes import ingest, replies, worked
from tests.page.talk import card, state, tool
from tests.provider import Script

MODELS = {"default": "lab:default", "gate": "lab:gate", "memory": "lab:notes"}
alone = pytest.mark.parametrize("house", [{"models": MODELS}], indirect=True, ids=["alone"])
ASKED = {"action": "memory_query", "confidence": 0.9, "explicit": True, "direct_request": True}


async def talk(house: House, text: str, reading: Script | dict[str, Any]) -> tuple[str, Any]:
    """Say something to Harbor; the conversation, and the turn's trace."""
    gate = reading if isinstance(reading, Script) else Script(text=reading_text(reading))
    house.provider.script("gate", gate)
    house.provider.script("default", Script(text="She is the Osprey."))
    there = (await house.post("/api/personas/harbor/conversation")).json()["id"]
    turn = await house.say(there, text)
    return there, (await house.get(f"/api/turns/{turn['turn_id']}/trace")).json()


def sheet(page: Page) -> Locator:
    return page.get_by_role("dialog", name="Why this answer")


async def opened(page: Page, here: Locator, size: Size = "desktop") -> Locator:
    await state(here, "completed")
    if size == "phone":
        await here.get_by_role("button", name="Tools for").click()
    where = page.get_by_role("dialog") if size == "phone" else here
    await tool(where, "Why this answer").click()
    await expect(sheet(page).locator(".steps")).to_be_visible()
    return sheet(page)


def decision(where: Locator, name: str) -> Locator:
    return where.locator(".decided > div").filter(has_text=re.compile(f"^{name}")).locator("> dd")


def shown(ms: float) -> str:
    """As the page writes it."""
    return f"{ms / 1000:.1f} s" if ms >= 10_000 else f"{int(ms + 0.5):,} ms"


@pytest.mark.parametrize("size", ["desktop", "phone"])
@alone
async def test_a_companion_tells_why(house: House, desk: Desk, size: Size) -> None:
    replies(house.provider)
    await ingest(
        house,
        "harbour",
        "My boat is called the Osprey, she lies in the north harbour.",
        *("Work was dull again.", "I slept badly.", "Dinner was soup.", "It rained all day."),
        at=datetime.now(UTC) - timedelta(days=3),
    )
    await worked(house)
    there, trace = await talk(house, "What is the boat in the north harbour called?", ASKED)
    assert trace["recall"]["decision"] == "found"
    assert "supplemental_context" in trace["system_blocks"]

    page = await desk.open(f"/c/{there}", size=size)
    here = await opened(page, page.get_by_role("article", name="Harbor"), size)
    await expect(here.locator(".told code")).to_have_text(trace["system_blocks"])
    system = [
        one["content"]
        for one in house.provider.requests("default")[-1].json()["messages"]
        if one["role"] == "system"
    ]
    texts = here.locator(".told pre")
    assert [await texts.nth(n).text_content() for n in range(len(system))] == system
    looked = decision(here, "Looking things up")
    await expect(looked).to_contain_text("You asked it to remember. It found 1 thing")
    await expect(looked.locator("pre")).to_contain_text("the Osprey")
    await expect(looked).to_contain_text("As Harbor was told")
    await expect(decision(here, "From before")).to_contain_text("It was told what was before")
    await expect(decision(here, "Its manner")).to_have_text(
        "It keeps you company, with some pressure: as before."
    )
    await expect(decision(here, "A task of its own")).to_have_text(
        "None: you asked for something directly."
    )
    await expect(decision(here, "Your message")).to_contain_text("lab:gate read your message")

    steps = here.get_by_role("table", name="Each step of the turn")
    for name, key in (("Reading your message", "gate_ms"), ("Looking things up", "recall_ms")):
        took = steps.get_by_role("row", name=name).get_by_role("cell").last
        await expect(took).to_have_text(shown(trace["timings"][key]))
    whole = steps.get_by_role("row", name="From your message to its end").get_by_role("cell").last
    await expect(whole).to_have_text(shown(trace["timings"]["total_ms"]))
    bars = await steps.locator("tbody tr").evaluate_all(
        """(rows) => rows.map((row) => {
          const lane = row.querySelector(".lane").getBoundingClientRect();
          const bar = row.querySelector("i").getBoundingClientRect();
          return [bar.left - lane.left, bar.right - lane.left, lane.width];
        })"""
    )
    assert all(-1 <= left <= right <= width + 3 for left, right, width in bars), bars
    lefts = [left for left, _, _ in bars]
    assert lefts == sorted(lefts), "each begins where time has come to"
    await expect(here).to_contain_text("lab:default answered")
    assert await spill(page) == []
    await here.get_by_role("link", name="its session").click()
    await expect(page).to_have_url(
        f"{house.url}/sessions/{trace['startbrief_runtime']['session_id']}"
    )


@pytest.mark.parametrize("size", ["desktop", "phone"])
@alone
async def test_the_end_of_it_is_the_end_of_the_sheet(house: House, desk: Desk, size: Size) -> None:
    """Read to its end, its title and the way out are still there."""
    there, _ = await talk(house, "Good evening.", {})
    page = await desk.open(f"/c/{there}", size=size)
    if size == "desktop":
        await page.set_viewport_size({"width": 1440, "height": 600})
    here = await opened(page, page.get_by_role("article", name="Harbor"), size)
    await here.locator(".sheet-body").focus()
    for _ in range(3):  # what is left to scroll when the end is reached would be the sheet itself
        await page.keyboard.press("End")
    await expect(here.get_by_text("Who was asked")).to_be_in_viewport()
    await expect(tool(here, "Close")).to_be_in_viewport(ratio=1)
    inner, outer = await here.evaluate("(one) => [one.scrollHeight, one.clientHeight]")
    assert inner <= outer, "the sheet is longer than what is in it"
    if size == "phone":
        box = await here.bounding_box()
        assert box is not None
        assert (box["x"], box["width"]) == (0, 390)
    await tool(here, "Close").click()
    await expect(sheet(page)).to_have_count(0)


@alone
async def test_what_did_not_work_is_said(house: House, desk: Desk) -> None:
    there, trace = await talk(house, "Good evening.", Script(text="No form today."))
    assert trace["degrades"] == ["gate: unreadable"]
    page = await desk.open(f"/c/{there}")
    here = await opened(page, page.get_by_role("article", name="Harbor"))
    await expect(here).to_contain_text("One thing was done another way.")
    await expect(here.locator(".err")).to_have_count(0)
    await expect(here).to_contain_text("Reading your message gave a reply that cannot be read.")
    await expect(decision(here, "Its manner")).to_contain_text("could not be read")


async def test_a_council_tells_it_too(house: House, desk: Desk) -> None:
    """From the tools, from the receipt and back, and from the session."""
    one, two = await house.voices("Yes.", Script(status=400, error="Not for you."))
    there = await house.conversation(one, two, title="Two")
    turn = await house.say(there, "Is it so?")
    page = await desk.open(f"/c/{there}")
    here = await opened(page, card(page, one))
    answer = turn["answers"][0]["answer_id"]
    trace = (await house.get(f"/api/turns/{turn['turn_id']}/trace?answer={answer}")).json()
    await expect(here.locator(".told code")).to_have_text(trace["system_blocks"])
    await expect(here.locator(".told li").first).to_contain_text("Who the advisor is")
    await expect(here.locator(".steps")).to_contain_text("Until the first word")
    await tool(here, "Receipt").click()
    receipt = page.get_by_role("dialog", name="What Skeptic saw")
    await expect(receipt.get_by_text("Piece by piece")).to_be_visible()
    await tool(receipt, "Why this answer").click()
    await expect(sheet(page).locator(".whose")).to_contain_text("Skeptic")
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("dialog")).to_have_count(0)

    await page.goto(f"/sessions/{turn['session_id']}")
    await tool(page, "Why Builder answered so").click()
    here = sheet(page)
    await expect(here).to_contain_text("failed: ")
    await expect(here).to_contain_text("Not for you.")
    await expect(here.locator(".whose")).to_contain_text("Builder")


async def test_a_trace_that_is_not_there_is_no_alarm(house: House, desk: Desk) -> None:
    desk.allow("status of 404")
    (one,) = await house.voices("Yes.")
    there = await house.conversation(one)
    await house.say(there, "Is it so?")
    page = await desk.open(f"/c/{there}")
    gone = {"error": {"code": "not_found", "message": "Gone.", "hint": ""}}
    await page.route(
        re.compile("/api/turns/.*/trace"), lambda route: route.fulfill(status=404, json=gone)
    )
    await tool(card(page, one), "Why this answer").click()
    await expect(sheet(page)).to_contain_text("How this answer came about was not kept.")
    await expect(sheet(page).get_by_role("alert")).to_have_count(0)
