"""Search: what was said is found, marked at the right letters, and one press away."""

from __future__ import annotations

from playwright.async_api import expect
from tests.page.desk import Desk, spill
from tests.page.house import House

OWLS = "🦉🦉 𝒜𝒜 owls, and the clinic in spring: naïve, but the clinic."
HOSTILE = '<img src=x onerror="alert(1)"> clinic <b>bold</b>'


async def test_words_are_marked_where_they_stand(house: House, desk: Desk) -> None:
    (one,) = await house.voices("A clinic is never only a clinic.")
    first = await house.conversation(one, title="Leaving the clinic")
    turn = await house.say(first, OWLS)
    second = await house.conversation(one, title="Elsewhere")
    await house.say(second, HOSTILE)
    page = await desk.open("/search", size="phone")
    field = page.get_by_role("searchbox")
    await expect(field).to_be_focused()
    await field.press_sequentially("clinic")
    await expect(page).to_have_url(f"{house.url}/search?q=clinic")
    groups = page.locator(".found")
    await expect(groups).to_have_count(2)
    mine = groups.filter(has=page.get_by_role("heading", name="Leaving the clinic"))
    owls = mine.get_by_role("link").filter(has_text="owls")
    assert await owls.locator("mark").all_inner_texts() == ["clinic", "clinic"]
    assert OWLS in await owls.inner_text()
    assert await mine.locator("h2 mark").all_inner_texts() == ["clinic"]
    await expect(mine.get_by_role("link").filter(has_text="Skeptic")).to_have_count(1)
    await expect(groups.get_by_text(HOSTILE)).to_be_visible()
    assert await spill(page) == []

    await owls.click()
    await expect(page).to_have_url(f"{house.url}/c/{first}#{turn['turn_id']}")
    await expect(page.get_by_role("article", name="Skeptic")).to_be_visible()


async def test_arrows_walk_through_the_results(house: House, desk: Desk) -> None:
    (one,) = await house.voices("Yes.")
    conversation = await house.conversation(one, title="Elsewhere")
    turn = await house.say(conversation, "Where is the ferry?")
    page = await desk.open("/search?q=ferry")
    await expect(page.locator(".found h2 a")).to_have_text("Elsewhere")
    await page.get_by_role("searchbox").press("ArrowDown")
    await expect(page.locator(".found h2 a")).to_be_focused()
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("ArrowUp")
    await page.keyboard.press("ArrowUp")
    await expect(page.get_by_role("searchbox")).to_be_focused()
    for _ in range(2):
        await page.keyboard.press("ArrowDown")
    await page.keyboard.press("Enter")
    await expect(page).to_have_url(f"{house.url}/c/{conversation}#{turn['turn_id']}")


async def test_a_phrase_in_any_quotes(house: House, desk: Desk) -> None:
    (one,) = await house.voices("Yes.")
    await house.say(await house.conversation(one), "The red boat and the green house.")
    await house.say(await house.conversation(one), "The green boat.")
    page = await desk.open("/search")
    for query, places in (("green boat", 2), ("“green boat”", 1), ('"green boat"', 1)):
        await page.get_by_role("searchbox").fill(query)
        await page.get_by_role("searchbox").press("Enter")
        await expect(page.locator(".found")).to_have_count(places)


async def test_nothing_found_and_nothing_asked(house: House, desk: Desk) -> None:
    (one,) = await house.voices("Yes.")
    await house.say(await house.conversation(one, title="Leaving the clinic"), "Is it so?")
    page = await desk.open("/search?q=zebra")
    await expect(page.get_by_text("Nothing here says “zebra”.")).to_be_visible()
    await page.get_by_role("searchbox").fill("")
    await expect(page).to_have_url(f"{house.url}/search")
    back = page.locator(".found").get_by_role("link", name="Leaving the clinic")
    await back.click()
    await expect(page.get_by_role("article", name="Skeptic")).to_be_visible()


async def test_the_way_back_asks_the_old_question_again(house: House, desk: Desk) -> None:
    (one,) = await house.voices("Yes.")
    await house.say(await house.conversation(one, title="Boats"), "The ferry.")
    page = await desk.open("/search?q=ferry")
    await page.locator(".found h2 a").click()
    await expect(page.get_by_role("article", name="Skeptic")).to_be_visible()
    await page.go_back()
    await expect(page.get_by_role("searchbox")).to_have_value("ferry")
    await expect(page.locator(".found")).to_have_count(1)


async def test_more_is_shown_on_request(house: House, desk: Desk) -> None:
    (one,) = await house.voices("Yes.")
    for number in range(35):
        await house.conversation(one, title=f"Ferry number {number}")
    page = await desk.open("/search?q=ferry")
    await expect(page.get_by_text("The best 30 places in 30 conversations")).to_be_visible()
    await page.get_by_role("button", name="Show more").click()
    await expect(page.locator(".found")).to_have_count(35)
    await expect(page.get_by_role("button", name="Show more")).to_have_count(0)
