"""What an advisor saw: a bar that is true to scale, every piece, what was left out and why, and the
very bytes that went out."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.async_api import Locator, Page, expect
from tests.page.desk import Desk, Size, spill
from tests.page.house import House
from tests.page.talk import CLIPBOARD, ask, card, copied, says, state, tool
from tests.provider import Script

NARROW = pytest.mark.parametrize(
    "house", [{"limits": {"context": "4000 chars"}}], indirect=True, ids=["narrow"]
)


async def told(house: House, here: Locator) -> Any:
    """The receipt of a card's answer as the server describes it."""
    answer = (await here.get_attribute("id") or "").removeprefix("answer-")
    return (await house.get(f"/api/answers/{answer}/receipt")).json()


async def opened(page: Page, here: Locator, size: Size = "desktop") -> Locator:
    """The sheet with its receipt."""
    if size == "phone":
        await here.get_by_role("button", name="Tools for").click()
        await tool(page.get_by_role("dialog"), "Receipt").click()
    else:
        await tool(here, "Receipt").click()
    sheet = page.get_by_role("dialog")
    await expect(sheet.get_by_role("heading", name="The request itself")).to_be_visible()
    return sheet


@NARROW
@pytest.mark.parametrize("size", ["desktop", "phone"])
async def test_a_receipt_reads_at_a_glance(house: House, desk: Desk, size: Size) -> None:
    one, two = await house.voices("I said this. " * 90, "I said that — “so”. " * 90)
    there = await house.conversation(one, two)
    for number in range(4):
        await house.say(there, f"Question {number}, with an “ü” and a 🜂?")
    page = await desk.open(f"/c/{there}", size=size, permissions=CLIPBOARD)
    here = page.get_by_role("region", name="Question 3").get_by_role("article").first
    receipt = await told(house, here)
    description = receipt["description"]
    sheet = await opened(page, here, size)

    # The bar: as wide, piece by piece, as the shares say.
    bar = sheet.get_by_role("img")
    tokens, budget = description["tokens"], description["budget"]
    name = await bar.get_attribute("aria-label") or ""
    assert name.startswith(f"{tokens:,} of {budget:,} tokens: ")
    widths = await bar.locator("span").evaluate_all("(all) => all.map((one) => one.offsetWidth)")
    inner = await bar.evaluate("(one) => one.clientWidth")
    shares = [share["share"] for share in description["shares"]]
    assert len(shares) == 10
    for width, share in zip(widths, shares, strict=True):
        assert width == pytest.approx(share * inner, abs=2.5)
    legend = sheet.locator(".legend li")
    await expect(legend).to_have_count(len(shares) + 1)
    for place, share in enumerate(description["shares"]):
        await expect(legend.nth(place)).to_contain_text(share["name"])
        await expect(legend.nth(place)).to_contain_text(f"{share['tokens']:,} tokens")
        paint = "(one) => getComputedStyle(one).backgroundColor"
        swatch = await legend.nth(place).locator(".swatch").evaluate(paint)
        assert swatch == await bar.locator("span").nth(place).evaluate(paint)
    await expect(legend.last).to_contain_text("still free")
    await expect(legend.last).to_contain_text(f"{budget - tokens:,} tokens")

    # What was left out, and why.
    left_out = sheet.locator("h3", has_text="Left out, and why").locator("+ ul > li")
    await expect(left_out).to_have_text(description["left_out"])
    await expect(left_out.first).to_contain_text("older than what fits the limit")
    await expect(left_out.last).to_contain_text("what the others said, shortened")

    # Every piece, in the order it was sent.
    pieces = sheet.locator(".spans > details")
    await expect(pieces).to_have_count(len(description["spans"]))
    for place, span in enumerate(description["spans"]):
        summary = pieces.nth(place).locator("summary")
        if span["included"]:
            await expect(summary).to_contain_text(f"{span['role']} · {span['tokens']:,} tokens")
        else:
            await expect(summary).to_contain_text("left out")
            await summary.click()
            await expect(pieces.nth(place)).to_contain_text(span["reason"])
    await expect(sheet.locator("details.out", has_text="earlier turns")).to_have_count(1)
    asked = pieces.filter(has=page.locator("summary", has_text="the current message"))
    await expect(asked.locator("pre")).to_be_hidden()
    await asked.locator("summary").click()
    await expect(asked.locator("pre")).to_contain_text("Question 3, with an “ü” and a 🜂?")

    # The request: byte for byte what the provider got.
    request = house.provider.requests(one["model"].partition(":")[2])[-1]
    await expect(sheet.get_by_text("equal, byte for byte")).to_be_visible()
    await expect(sheet.get_by_text(f"{len(request.body):,} bytes")).to_be_visible()
    await tool(sheet, "Copy the exact request").click()
    await expect(page.get_by_text("The request is copied, as it was sent.")).to_be_attached()
    assert (await copied(page)).encode() == request.body
    assert await spill(page) == []


async def test_a_receipt_of_each_try(house: House, desk: Desk) -> None:
    (one,) = await house.voices(Script(status=402))
    page = await desk.open("/", permissions=CLIPBOARD)
    await ask(page, "Are you there?")
    here = card(page, one)
    await state(here, "failed")
    sheet = await opened(page, here)
    await expect(sheet.get_by_text("failed: lab (402): Insufficient credits.")).to_be_visible()
    await tool(sheet, "Close").click()
    says(house, one, "I am.")
    await tool(here, "Retry").click()
    await state(here, "completed")
    await house.patch(f"/api/advisors/{one['id']}", {"prompt": "You are a ferryman."})
    await tool(here, "Regenerate").click()
    versions = here.locator(".under:not(.few) .versions")
    await expect(versions).to_contain_text("3 of 3")
    await state(here, "completed")
    requests = house.provider.requests(one["model"].partition(":")[2])
    for place in (2, 1, 0):
        await expect(versions).to_contain_text(f"{place + 1} of 3")
        sheet = await opened(page, here)
        await tool(sheet, "Copy the exact request").click()
        await expect(page.get_by_text("The request is copied").nth(2 - place)).to_be_attached()
        assert (await copied(page)).encode() == requests[place].body
        await tool(sheet, "Close").click()
        if place:
            await tool(versions, "Older version").click()
    assert requests[1].body != requests[2].body
