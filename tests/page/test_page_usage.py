"""Usage: the sums, the plots and their tables agree, and an unknown price is called unknown."""

from __future__ import annotations

import pytest
from playwright.async_api import Page, expect
from tests.page.desk import GONE, Desk, spill
from tests.page.house import House, Process
from tests.page.talk import GPT, priced
from tests.provider import Script

YES = Script(text="Yes.", input_tokens=40_000, output_tokens=2_000)
"""An answer for 0.10 and 0.02 dollars, where its price is known."""


async def talked(house: House) -> None:
    """Two turns: one advisor whose price is known, one whose is not."""
    one, two = await house.voices(YES, YES)
    house.provider.script("gpt-4o", YES)
    await house.patch(f"/api/advisors/{one['id']}", {"model": GPT})
    conversation = await house.conversation(one, two)
    await house.say(conversation, "Is it so?")
    await house.say(conversation, "Is it still so?")


async def table(page: Page, by: str) -> list[list[str]]:
    """The numbers under a plot, as they stand."""
    section = page.get_by_role("region", name=f"By {by}", exact=True)
    await section.get_by_text("The same in numbers").click()
    rows = section.locator("tbody tr")
    return [
        await rows.nth(at).locator("th, td").all_inner_texts() for at in range(await rows.count())
    ]


@priced
async def test_sums_plots_and_tables_agree(house: House, desk: Desk) -> None:
    await talked(house)
    page = await desk.open("/usage", size="phone")
    sentence = page.locator(".sum")
    await expect(sentence).to_contain_text("4 answers read 160,000 tokens and wrote 8,000")
    await expect(sentence).to_contain_text("for $0.24")
    await expect(sentence).to_contain_text("2 answers came from models whose price is not known")
    assert await table(page, "advisor") == [
        ["Skeptic", "2", "80,000", "4,000", "$0.24"],
        ["Builder", "2", "80,000", "4,000", "price unknown"],
    ]
    assert [cells[1:] for cells in await table(page, "day")] == [
        ["4", "160,000", "8,000", "$0.24 + 2 unknown"]
    ]
    assert (await table(page, "model"))[0] == [GPT, "2", "80,000", "4,000", "$0.24"]
    plots = page.get_by_role("img")
    await expect(plots).to_have_count(3)
    await expect(plots.nth(1)).to_have_attribute(
        "aria-label", "Tokens by advisor: Skeptic 84,000, Builder 84,000."
    )
    assert await spill(page) == []


@priced
async def test_cost_instead_of_tokens(house: House, desk: Desk) -> None:
    await talked(house)
    page = await desk.open("/usage")
    await page.get_by_role("radio", name="Cost").check()
    await expect(page.get_by_role("img").nth(1)).to_have_attribute(
        "aria-label", "Cost in dollars by advisor: Skeptic $0.24, Builder price unknown."
    )
    bars = page.get_by_role("img").nth(1).locator("rect")
    await expect(bars).to_have_count(1)
    await page.reload()
    await expect(page.get_by_role("radio", name="Cost")).to_be_checked()


@priced
async def test_a_day_says_what_it_was(house: House, desk: Desk) -> None:
    await talked(house)
    page = await desk.open("/usage")
    plot = page.get_by_role("img").first
    box = await plot.bounding_box()
    assert box is not None
    await page.mouse.move(box["x"] + box["width"] - 8, box["y"] + 60)
    said = page.locator("figcaption").first
    await expect(said).to_contain_text("4 answers · 160,000 read, 8,000 written · $0.24")
    await page.get_by_role("radio", name="A year").check()
    await page.mouse.move(box["x"] + box["width"] - 8, box["y"] + 61)
    await expect(said).to_contain_text("The week from")


async def test_nothing_used_yet(house: House, desk: Desk) -> None:
    page = await desk.open("/usage")
    await expect(page.get_by_text("Nothing has been asked yet")).to_be_visible()
    await expect(page.get_by_role("img")).to_have_count(0)
    await page.get_by_role("link", name="Ask something").click()
    await expect(page.get_by_role("textbox", name="Your message")).to_be_visible()


async def test_no_price_at_all(house: House, desk: Desk) -> None:
    (one,) = await house.voices("Yes.")
    await house.say(await house.conversation(one), "Is it so?")
    page = await desk.open("/usage")
    await expect(page.locator(".sum")).to_contain_text("All of them came from models whose price")
    await expect(page.locator(".sum")).not_to_contain_text("$")


@pytest.mark.process
async def test_a_server_that_is_away(house: Process, desk: Desk) -> None:
    desk.allow(GONE)
    page = await desk.open("/usage")
    await expect(page.get_by_text("Nothing has been asked yet")).to_be_visible()
    await page.get_by_role("link", name="Settings").click()
    await expect(page.get_by_role("heading", name="Settings")).to_be_visible()
    await house.kill()
    await page.get_by_role("link", name="Usage").click()
    await expect(page.get_by_role("alert")).to_contain_text("The server cannot be reached.")
    await house.start()
    await page.get_by_role("button", name="Try again").click()
    await expect(page.get_by_text("Nothing has been asked yet")).to_be_visible()
