"""The first run: why several voices, who they are, what to ask, what the model is worth."""

from __future__ import annotations

import pytest
from playwright.async_api import expect
from tests.page.desk import Desk, Size, spill
from tests.page.house import House
from tests.page.talk import composer

EMBEDDED = {"models": {"default": ""}}
embedded = pytest.mark.parametrize("house", [EMBEDDED], indirect=True, ids=["embedded"])


@embedded
@pytest.mark.parametrize("size", ["phone", "desktop"])
async def test_the_first_page_of_all(house: House, desk: Desk, size: Size) -> None:
    page = await desk.open("/", size=size)
    council = (await house.get("/api/advisors")).json()
    seats = page.locator(".seats li")
    await expect(seats).to_have_count(len(council))
    for at, one in enumerate(council):
        await expect(seats.nth(at)).to_contain_text(one["name"])
        said = await seats.nth(at).locator("p").inner_text()
        assert said.endswith(".")
        assert one["description"].startswith(said)
    await expect(page.get_by_text("in its first three answers each asks you")).to_be_visible()
    note = (await house.get("/api/models")).json()["note"]
    aside = page.get_by_role("complementary", name="A word about the model")
    told = await aside.inner_text()
    assert note.split(". ")[0] in told
    assert await spill(page) == []
    await aside.get_by_role("link", name="Add a key").click()
    await expect(page).to_have_url(f"{house.url}/settings#keys")
    await expect(page.get_by_role("heading", name="Keys")).to_be_in_viewport()


async def test_a_question_to_begin_with(house: House, desk: Desk) -> None:
    page = await desk.open("/")
    questions = page.locator(".starters button")
    await expect(questions).to_have_count(3)
    for at in (2, 0):
        text = (await questions.nth(at).inner_text()).removeprefix("›").strip()
        await questions.nth(at).click()
        await expect(composer(page)).to_have_value(text)
        await expect(composer(page)).to_be_focused()
    begun = (await house.get("/api/conversations")).json()["items"]
    assert begun == [], "nothing is sent by itself"
    await expect(page.get_by_role("complementary")).to_have_count(0)


async def test_how_long_they_only_ask_is_what_the_recipe_says(house: House, desk: Desk) -> None:
    phases = (await house.get("/api/recipes/council")).json()["recipe"]["phases"]
    phases[0]["answers"] = 1
    await house.patch("/api/recipes/council", {"phases": phases})
    page = await desk.open("/")
    await expect(page.get_by_text("in its first answer each asks you")).to_be_visible()
    phases[0]["answers"] = 0
    await house.patch("/api/recipes/council", {"phases": phases})
    await page.reload()
    await expect(page.locator(".seats li").first).to_be_visible()
    await expect(page.get_by_text("each asks you")).to_have_count(0)


async def test_nobody_on_the_council(house: House, desk: Desk) -> None:
    await house.voices()
    page = await desk.open("/")
    await expect(page.get_by_text("a plain assistant will answer")).to_be_visible()
    await page.get_by_role("link", name="Seat an advisor").click()
    await expect(page).to_have_url(f"{house.url}/advisors")


async def test_those_who_have_been_here_are_not_told_again(house: House, desk: Desk) -> None:
    (one,) = await house.voices("Yes.")
    await house.say(await house.conversation(one), "Is it so?")
    page = await desk.open("/")
    await expect(page.get_by_role("heading", name="What are you turning over?")).to_be_visible()
    await expect(page.locator(".seats")).to_have_count(0)
