"""The settings room: what is changed in it holds, what is set elsewhere says where, and what the
server refuses stands at the field."""

from __future__ import annotations

import asyncio
from typing import Any

from playwright.async_api import Locator, Page, Route, expect
from tests.page.desk import Desk, spill
from tests.page.house import KEY, House
from tests.page.talk import tool
from tests.provider import Script

SECRET = "sk-put-in-by-hand-0123456789"


def row(page: Page, name: str) -> Locator:
    """The line of a setting."""
    return page.locator(f'[data-setting="{name}"]')


async def hold(page: Page, path: str) -> asyncio.Event:
    """Keep requests back until this is set."""
    go = asyncio.Event()

    async def wait(route: Route) -> None:
        await go.wait()
        await route.continue_()

    await page.route(path, wait)
    return go


def provider(page: Page, part: str, name: str) -> Locator:
    """The line of a provider among the keys or the providers."""
    return page.locator(f'#{part} [data-provider="{name}"]')


async def setting(house: House, name: str) -> Any:
    """A setting as the server has it."""
    rows = (await house.get("/api/settings/page")).json()["settings"]
    return next(one for one in rows if one["name"] == name)


async def test_answers_stand_in_one_column_on_a_phone(house: House, desk: Desk) -> None:
    voices = await house.voices("One.", "Two.", "Three.")
    talk = await house.conversation(*voices)
    await house.say(talk, "Side by side?")
    page = await desk.open("/settings", size="phone")
    await page.get_by_label("1 column").check()
    await page.goto(f"/c/{talk}")
    cards = page.get_by_role("article")
    await expect(cards).to_have_count(3)
    boxes = [await card.bounding_box() for card in await cards.all()]
    placed = [(round(box["x"]), box["y"]) for box in boxes if box is not None]
    assert len({x for x, _ in placed}) == 1, placed
    assert [y for _, y in placed] == sorted({y for _, y in placed}), placed
    assert await spill(page) == []


async def test_a_change_holds_from_the_next_message_on(house: House, desk: Desk) -> None:
    (one,) = await house.voices("Yes.")
    page = await desk.open("/settings")
    line = row(page, "limits.max_tokens")
    await expect(line.get_by_label("Longest answer")).to_have_value("2048")
    await line.get_by_role("textbox").fill("77")
    await line.get_by_role("textbox").press("Tab")
    await expect(line.get_by_text("Kept.")).to_be_visible()

    await house.say(await house.conversation(one), "Is it so?")
    assert house.heard(one)[-1]["max_tokens"] == 77
    await page.reload()
    await expect(line.get_by_role("textbox")).to_have_value("77")

    await line.get_by_role("button", name="Back to 2048").click()
    await expect(line.get_by_role("textbox")).to_have_value("2048")
    await expect(line.get_by_role("button")).to_have_count(0)
    assert (await setting(house, "limits.max_tokens"))["origin"] == "default"


async def test_a_cap_may_be_emptied(house: House, desk: Desk) -> None:
    page = await desk.open("/settings#limits")
    field = page.get_by_role("textbox", name="Cost of a day")
    await expect(field).to_have_attribute("placeholder", "no limit")
    await field.fill("2,5")
    await field.press("Enter")
    await expect(row(page, "limits.cost_per_day").get_by_text("Kept.")).to_be_visible()
    assert (await setting(house, "limits.cost_per_day"))["value"] == 2.5
    await field.fill("")
    await field.press("Enter")
    await expect(row(page, "limits.cost_per_day").get_by_role("button")).to_have_count(0)
    assert (await setting(house, "limits.cost_per_day"))["value"] is None


async def test_what_is_refused_is_said_at_the_field(house: House, desk: Desk) -> None:
    desk.allow("422")
    page = await desk.open("/settings")
    field = page.get_by_role("textbox", name="Largest request")
    await field.fill("a great deal")
    await field.press("Enter")
    await expect(field).to_have_attribute("aria-invalid", "true")
    said = row(page, "limits.context").get_by_role("status")
    await expect(said).to_contain_text("limits.context")
    about = (await field.get_attribute("aria-describedby") or "").split()
    assert await said.get_attribute("id") in about, "the error belongs to the field"
    assert (await setting(house, "limits.context"))["value"] == "150000 chars"
    await field.fill("32000 tokens")
    await field.press("Enter")
    await expect(said).to_contain_text("Kept.")
    await expect(field).not_to_have_attribute("aria-invalid", "true")


async def test_what_is_set_elsewhere_says_where(house: House, desk: Desk) -> None:
    page = await desk.open("/settings")
    line = row(page, "models.default")
    await expect(line.get_by_role("combobox")).to_be_disabled()
    await expect(line.get_by_role("combobox")).to_have_value("lab:default")
    await expect(line).to_contain_text("polyvox.toml")
    await expect(provider(page, "providers", "lab")).to_contain_text("polyvox.toml")
    await expect(tool(page, "Change lab")).to_have_count(0)
    await expect(provider(page, "keys", "lab")).to_contain_text("LAB_KEY")
    await expect(tool(page, "Add a key for lab")).to_have_count(0)
    assert KEY not in await page.content()


async def test_fallbacks_have_an_order(house: House, desk: Desk) -> None:
    page = await desk.open("/settings")
    line = row(page, "models.fallback")
    names = line.locator("li code")
    for name in ("lab:one", "lab:two"):
        await line.get_by_role("combobox").fill(name)
        await line.get_by_role("combobox").press("Enter")
        await expect(names.last).to_have_text(name)
    await tool(line, "Try lab:two earlier").click()
    await expect(names).to_have_text(["lab:two", "lab:one"])
    await tool(line, "Do not fall back to lab:two").click()
    await expect(names).to_have_text(["lab:one"])
    assert (await setting(house, "models.fallback"))["value"] == ["lab:one"]


async def test_the_next_fallback_may_be_typed_while_the_first_is_kept(
    house: House, desk: Desk
) -> None:
    desk.allow("status of 422")
    page = await desk.open("/settings")
    line = row(page, "models.fallback")
    field, names = line.get_by_role("combobox"), line.locator("li code")
    await expect(field).to_be_visible()
    held = await hold(page, "**/api/settings/page")
    await field.fill("lab:one")
    await field.press("Enter")
    await expect(names).to_have_text(["lab:one"])
    await field.fill("lab:two")
    held.set()
    await expect(line).to_contain_text("Kept.")
    await expect(field).to_have_value("lab:two")
    await field.press("Enter")
    await expect(names).to_have_text(["lab:one", "lab:two"])

    await field.fill("no such name")
    await field.press("Enter")
    await expect(line.locator(".wrong")).to_be_visible()
    await expect(field).to_have_value("no such name")


async def test_two_fallbacks_one_after_the_other_are_both_kept(house: House, desk: Desk) -> None:
    page = await desk.open("/settings")
    line = row(page, "models.fallback")
    field, names = line.get_by_role("combobox"), line.locator("li code")
    await expect(field).to_be_visible()
    held = await hold(page, "**/api/settings")
    for name in ("lab:one", "lab:two"):
        await field.fill(name)
        await field.press("Enter")
        await expect(field).to_have_value("")
    held.set()
    await expect(names).to_have_text(["lab:one", "lab:two"])


async def test_a_key_is_put_in_and_never_shown_again(house: House, desk: Desk) -> None:
    page = await desk.open("/settings#keys")
    await expect(page.get_by_role("heading", name="Keys")).to_be_focused()
    line = provider(page, "keys", "openai")
    await expect(line).to_contain_text("No key yet")
    await tool(page, "Add a key for OpenAI").click()
    field = page.get_by_label("Key for OpenAI")
    await expect(field).to_be_focused()
    assert await field.get_attribute("type") == "password"
    await field.fill(SECRET)
    await field.press("Enter")
    await expect(line).to_contain_text("A key is set, kept by this page.")
    assert SECRET not in await page.content()
    await page.reload()
    await expect(line).to_contain_text("A key is set")
    assert SECRET not in await page.content()

    await tool(page, "Remove the key for OpenAI").click()
    await tool(page, "Keep").click()
    await expect(tool(page, "Replace the key for OpenAI")).to_be_visible()
    await tool(page, "Remove the key for OpenAI").click()
    await tool(page, "Remove the key").click()
    await expect(line).to_contain_text("No key yet")


async def test_a_key_that_cannot_be_one_is_refused_at_its_field(house: House, desk: Desk) -> None:
    desk.allow("422")
    page = await desk.open("/settings")
    await tool(page, "Add a key for Gemini").click()
    field = page.get_by_label("Key for Gemini")
    await field.fill("env:SOME_KEY")
    await field.press("Enter")
    await expect(field).to_have_attribute("aria-invalid", "true")
    await expect(provider(page, "keys", "gemini").locator(".wrong")).to_be_visible()


async def test_a_check_says_how_it_went(house: House, desk: Desk) -> None:
    page = await desk.open("/settings")
    line = provider(page, "keys", "lab")
    await tool(page, "Check lab").click()
    await expect(line).to_contain_text("It works: lab:default answered")
    said = "This key has been revoked."
    house.provider.script("default", Script(status=401, error=said))
    await tool(page, "Check lab").click()
    await expect(line.locator(".wrong")).to_contain_text(said)


async def test_a_provider_of_ones_own(house: House, desk: Desk) -> None:
    desk.allow("422")
    page = await desk.open("/settings#providers", size="phone")
    await tool(page, "Add a provider").click()
    form = page.get_by_role("dialog", name="A provider of your own")
    await form.get_by_label("Name").fill("den")
    await form.get_by_label("Address").fill("127.0.0.1:9")
    await tool(form, "Keep").click()
    await expect(form.get_by_label("Address")).to_have_attribute("aria-invalid", "true")
    assert await spill(page) == []
    await form.get_by_label("Address").fill(house.provider.base_url)
    await form.get_by_label("Models").fill("calm, den:loud")
    await form.get_by_label("At once").fill("2")
    await tool(form, "Keep").click()
    await expect(form).to_have_count(0)
    line = provider(page, "providers", "den")
    await expect(line).to_contain_text(house.provider.base_url)
    await expect(line).to_contain_text("2 at once")
    await tool(page, "Check den").click()
    await expect(provider(page, "keys", "den")).to_contain_text("It works: den:calm answered")
    made = (await house.get("/api/providers")).json()
    assert next(one["models"] for one in made if one["name"] == "den") == ["den:calm", "den:loud"]

    await tool(page, "Remove den").click()
    await tool(page, "Remove it").click()
    await expect(line).to_have_count(0)


async def test_what_this_browser_likes(house: House, desk: Desk) -> None:
    page = await desk.open("/settings#browser")
    root = page.locator("html")
    await page.get_by_role("group", name="Theme").get_by_label("Dark").check()
    await expect(root).to_have_attribute("data-theme", "dark")
    await page.get_by_role("group", name="Enter").get_by_label("Breaks the line").check()
    await page.goto("/")
    await expect(root).to_have_attribute("data-theme", "dark")
    field = page.get_by_role("textbox", name="Your message")
    await field.fill("One line")
    await field.press("Enter")
    await field.press_sequentially("another")
    await expect(field).to_have_value("One line\nanother")


async def test_all_of_it_fits(house: House, desk: Desk) -> None:
    page = await desk.open("/settings", size="phone")
    health = (await house.get("/healthz")).json()
    about = page.locator("#about")
    await expect(about).to_contain_text(f"Polyvox {health['version']}, with SQLite")
    rows = (await house.get("/api/settings/page")).json()["settings"]
    for one in rows:
        await expect(row(page, one["name"])).to_contain_text(one["help"])
    assert await spill(page) == []
