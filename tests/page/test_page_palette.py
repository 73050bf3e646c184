"""The palette, the shortcuts and the sheet that lists them: everything by keyboard."""

from __future__ import annotations

from playwright.async_api import Locator, Page, expect
from tests.page.desk import Desk, spill
from tests.page.house import House
from tests.page.talk import card, composer, state
from tests.provider import Script

DESTRUCTIVE = ("delete", "remove", "forget", "clear", "undo", "discard")


def palette(page: Page) -> Locator:
    return page.get_by_role("dialog", name="Do or find anything")


def options(page: Page) -> Locator:
    return palette(page).get_by_role("option")


async def look_for(page: Page, text: str) -> None:
    """Open the palette and write in it."""
    await page.keyboard.press("Control+k")
    await expect(palette(page).get_by_role("combobox")).to_be_focused()
    await page.keyboard.type(text)


async def chosen(page: Page, text: str) -> None:
    """Wait until the option with this text is chosen: the one marked so, and named by the field."""
    field = palette(page).get_by_role("combobox")
    marked = palette(page).locator('[role="option"][aria-selected="true"]')
    await expect(marked).to_contain_text(text)
    name = await marked.get_attribute("id") or ""
    await expect(field).to_have_attribute("aria-activedescendant", name)
    listed = await palette(page).get_by_role("listbox").get_attribute("id") or ""
    await expect(field).to_have_attribute("aria-controls", listed)


async def test_a_room_by_a_few_letters_from_within_a_field(house: House, desk: Desk) -> None:
    page = await desk.open("/")
    await composer(page).fill("A thought")
    await composer(page).press("Control+k")
    await expect(palette(page).get_by_role("combobox")).to_be_focused()
    await page.keyboard.type("sett")
    await chosen(page, "Go to Settings")
    await page.keyboard.press("Enter")
    await expect(page).to_have_url(f"{house.url}/settings")
    await expect(palette(page)).to_have_count(0)
    await page.go_back()
    await expect(composer(page)).to_have_value("A thought")


async def test_arrows_go_round_and_escape_gives_the_focus_back(house: House, desk: Desk) -> None:
    page = await desk.open("/")
    await composer(page).focus()
    await page.keyboard.press("Control+k")
    await expect(options(page).first).to_have_attribute("aria-selected", "true")
    await page.keyboard.press("ArrowUp")
    await expect(options(page).last).to_have_attribute("aria-selected", "true")
    await page.keyboard.press("ArrowDown")
    await expect(options(page).first).to_have_attribute("aria-selected", "true")
    await page.keyboard.press("Escape")
    await expect(palette(page)).to_have_count(0)
    await expect(composer(page)).to_be_focused()
    await page.keyboard.press("Control+k")
    await expect(palette(page)).to_be_visible()
    await page.keyboard.press("Control+k")
    await expect(palette(page)).to_have_count(0)


async def test_conversations_advisors_and_texts_are_found(house: House, desk: Desk) -> None:
    (one,) = await house.voices("It is the third spring.")
    told = await house.conversation(one, title="Café on the corner")
    turn = await house.say(told, "Shall I leave?")
    page = await desk.open("/search", size="phone")
    await look_for(page, "cafe")
    await chosen(page, "Café on the corner")
    assert await spill(page) == []
    await page.keyboard.press("Enter")
    await expect(page).to_have_url(f"{house.url}/c/{told}")

    await look_for(page, "skept")
    await chosen(page, "Skeptic")
    await page.keyboard.press("Enter")
    await expect(page).to_have_url(f"{house.url}/advisors/{one['slug']}")

    await look_for(page, "springs")
    hit = options(page).filter(has_text="It is the third")
    await expect(hit.locator("mark")).to_have_text("spring")
    await chosen(page, "Search every text")  # what comes late does not move it
    await hit.click()
    await expect(page).to_have_url(f"{house.url}/c/{told}#{turn['turn_id']}")

    await look_for(page, "springs")
    await page.keyboard.press("Enter")
    await expect(page).to_have_url(f"{house.url}/search?q=springs")


async def test_a_command_of_the_conversation_is_there_while_it_can_be_done(
    house: House, desk: Desk
) -> None:
    (one,) = await house.voices(Script(pieces=("Yes", " and no"), gates={1: "on"}))
    conversation = await house.conversation(one)
    await house.send(conversation, "Is it so?")
    page = await desk.open(f"/c/{conversation}")
    await state(card(page, one), "streaming")
    await look_for(page, "stop all")
    await chosen(page, "Stop all answers")
    await page.keyboard.press("Enter")
    await state(card(page, one), "stopped")
    await look_for(page, "stop all")
    await expect(options(page)).to_have_count(1)
    await chosen(page, "Search every text")


async def test_the_theme_from_the_palette(house: House, desk: Desk) -> None:
    page = await desk.open("/usage")
    for wanted in ("dark", "light"):
        await look_for(page, "theme")
        await options(page).filter(has_text=f"Use the {wanted} theme").click()
        await expect(page.locator("html")).to_have_attribute("data-theme", wanted)


async def test_letters_go_places_but_not_while_one_writes(house: House, desk: Desk) -> None:
    page = await desk.open("/")
    await composer(page).fill("")
    await composer(page).press_sequentially("gs? /gu")
    await expect(composer(page)).to_have_value("gs? /gu")
    await expect(page).to_have_url(f"{house.url}/")
    await composer(page).evaluate("(field) => field.blur()")
    for keys, path in (("gs", "settings"), ("gu", "usage"), ("ga", "advisors"), ("gf", "search")):
        await page.keyboard.type(keys)
        await expect(page).to_have_url(f"{house.url}/{path}")
    await expect(page.get_by_role("searchbox")).to_be_focused()
    await page.keyboard.type("gu")
    await expect(page.get_by_role("searchbox")).to_have_value("gu")
    await page.get_by_role("searchbox").evaluate("(field) => field.blur()")
    await page.keyboard.type("gn")
    await expect(page).to_have_url(f"{house.url}/")
    await page.locator("h1").first.click()
    await page.keyboard.press("/")
    await expect(composer(page)).to_be_focused()
    await expect(composer(page)).to_have_value("gs? /gu")


async def test_the_sheet_lists_what_can_be_pressed_here(house: House, desk: Desk) -> None:
    (one,) = await house.voices("Yes.")
    conversation = await house.conversation(one)
    await house.say(conversation, "Is it so?")
    page = await desk.open("/usage")
    await page.keyboard.press("?")
    sheet = page.get_by_role("dialog", name="Keyboard shortcuts")
    await expect(sheet.get_by_text("Go to Usage")).to_be_visible()
    await expect(sheet.get_by_text("Next turn")).to_have_count(0)
    await page.keyboard.type("gs")
    await expect(page).to_have_url(f"{house.url}/usage")
    await page.keyboard.press("Escape")
    await expect(sheet).to_have_count(0)

    await page.goto(f"/c/{conversation}")
    await expect(card(page, one)).to_be_visible()
    await page.locator("h2, h1").first.click()
    await page.keyboard.press("?")
    await expect(sheet.get_by_text("Next turn")).to_be_visible()
    listed = (await sheet.inner_text()).lower().replace("no shortcut deletes anything", "")
    assert [word for word in DESTRUCTIVE if word in listed] == []


async def test_letters_can_be_switched_off(house: House, desk: Desk) -> None:
    page = await desk.open("/usage")
    await page.keyboard.press("?")
    await page.get_by_label("Letters alone are shortcuts").uncheck()
    await page.keyboard.press("Escape")
    await page.keyboard.type("gs?")
    await page.keyboard.press("Control+k")
    await expect(palette(page)).to_be_visible()
    await expect(page).to_have_url(f"{house.url}/usage")
    await expect(page.get_by_role("dialog")).to_have_count(1)


async def test_the_search_of_the_list_opens_it(house: House, desk: Desk) -> None:
    page = await desk.open("/")
    await page.get_by_role("button", name="Search everything").click()
    await expect(palette(page).get_by_role("combobox")).to_have_value("")
    await page.mouse.click(5, 5)
    await expect(palette(page)).to_have_count(0)
