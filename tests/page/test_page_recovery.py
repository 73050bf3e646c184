"""What happens when something does not work, or happens elsewhere: rooms come back by themselves,
what was pressed can be pressed again, pages follow what goes on, and the focus is never lost."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import Page, Route, expect
from tests.page.desk import GONE, Desk, spill
from tests.page.house import House, Process
from tests.page.notes import READS
from tests.page.talk import ask, card, composer, state, tool
from tests.provider import Script

AWAY = "The server cannot be reached."
ITSELF = "It is tried again by itself"
alone = pytest.mark.parametrize(
    "house", [{"models": {"default": "lab:default"}}], indirect=True, ids=["alone"]
)
reads = pytest.mark.parametrize("house", [READS], indirect=True, ids=["reads"])


@pytest.mark.process
async def test_a_room_comes_back_with_the_server(house: Process, desk: Desk) -> None:
    desk.allow(GONE)
    (one,) = await house.voices("Yes.")
    said = await house.say(await house.conversation(one, title="The boat"), "Sell it?")
    rows = ".stretches > li, .utterances > li, .recipes article"
    paths = ("/sessions", f"/sessions/{said['session_id']}", "/recipes")
    pages = {path: await desk.open(path) for path in paths}
    names: dict[str, str] = {}
    for path, page in pages.items():
        await expect(page.locator(rows).first).to_be_visible()
        names[path] = await page.get_by_role("heading", level=1).text_content() or ""
    await house.kill()
    for path, page in pages.items():
        heading = page.get_by_role("heading", level=1)
        await page.evaluate("() => window.dispatchEvent(new Event('focus'))")
        if path != "/recipes":
            alert = page.get_by_role("alert")
            await expect(alert).to_contain_text(f"{AWAY} Nothing is lost. {ITSELF}")
            await expect(heading).to_have_count(1)
            await expect(heading).to_have_text(names[path])
        await page.get_by_role("link", name="New conversation").click()
        await page.go_back()
        await expect(page.get_by_role("alert")).to_contain_text(ITSELF)
        await expect(heading).to_have_count(1)
    await house.start()
    for path, page in pages.items():
        await expect(page.get_by_role("alert")).to_have_count(0)
        await expect(page.get_by_role("heading", level=1)).to_have_text(names[path])
        await expect(page.locator(rows).first).to_be_visible()


async def fails(route: Route) -> None:
    await route.abort("connectionrefused")


async def test_a_notice_says_what_to_do_and_leaves_send_alone(house: House, desk: Desk) -> None:
    desk.allow(GONE)
    (one,) = await house.voices("Yes.")
    page = await desk.open(f"/c/{(there := await house.conversation(one))}", size="phone")
    await house.say(there, "Sell it?")
    await state(card(page, one), "completed")
    await page.route("**/api/messages/*", fails)
    await tool(page, "Exclude").first.click()
    notice = page.locator(".notice.bad")
    await expect(notice).to_contain_text(
        f"{AWAY} Check that Polyvox is running, then try it again."
    )
    await expect(notice).not_to_contain_text("by itself")
    await composer(page).fill("And if not?")
    await tool(page, "Send").click()
    await expect(page.locator(".turn")).to_have_count(2)
    await tool(page, "Put this notice away").click()
    await expect(notice).to_have_count(0)


async def met(desk: Desk, house: House) -> Page:
    """A conversation with a companion that has answered once."""
    house.provider.script("default", Script(text="Sit down."))
    page = await desk.open("/?with=harbor")
    await ask(page, "A long day.")
    await state(page.get_by_role("article", name="Harbor"), "completed")
    await expect(tool(page, "That’s all for now")).to_be_visible()
    return page


@alone
async def test_a_session_that_could_not_be_ended_can_be_ended(house: House, desk: Desk) -> None:
    desk.allow(GONE)
    page = await met(desk, house)
    end = tool(page, "That’s all for now")
    await page.route("**/api/sessions/*", fails)
    await page.route("**/api/sessions/*/end", fails)
    await end.click()
    await expect(page.locator(".notice.bad")).to_contain_text("then try it again")
    await page.evaluate("() => window.dispatchEvent(new Event('focus'))")
    await expect(end).to_be_visible()
    await page.unroute_all()
    await end.focus()
    await page.keyboard.press("Enter")
    over = page.get_by_role("status").filter(has_text="You ended it here.")
    await expect(over).to_be_focused()
    await expect(end).to_have_count(0)


@alone
async def test_another_tab_sees_that_a_session_was_ended(house: House, desk: Desk) -> None:
    page = await met(desk, house)
    beside = await desk.beside(page, page.url)
    await expect(tool(beside, "That’s all for now")).to_be_visible()
    await tool(page, "That’s all for now").click()
    await expect(beside.get_by_text("You ended it here.")).to_be_visible()
    await expect(tool(beside, "That’s all for now")).to_have_count(0)
    await ask(page, "And another one.")
    for each in (page, beside):
        await expect(each.get_by_role("article", name="Harbor")).to_have_count(2)
        await expect(tool(each, "That’s all for now")).to_be_visible()
    (session, _) = (await house.get("/api/sessions")).json()
    await house.post(f"/api/sessions/{session['id']}/end")  # from elsewhere altogether
    await beside.evaluate("() => window.dispatchEvent(new Event('focus'))")
    await expect(beside.get_by_text("You ended it here.")).to_be_visible()


@reads
async def test_the_page_of_a_session_holds_long_words(house: House, desk: Desk) -> None:
    (one,) = await house.voices("Yes.")
    there = await house.conversation(one, title="Donaudampfschifffahrt" * 9)
    said = await house.say(there, "Sell it?")
    page = await desk.open(f"/sessions/{said['session_id']}", size="phone")
    await expect(page.get_by_role("heading", level=1)).to_contain_text("Donau")
    assert await spill(page) == []
    await tool(page, "End it now").focus()
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("ended by you")).to_be_visible()
    await expect(page.get_by_role("link", name="Open the conversation")).to_be_focused()


@reads
async def test_the_focus_stays_in_the_row_of_an_ended_session(house: House, desk: Desk) -> None:
    (one,) = await house.voices("Yes.")
    await house.say(await house.conversation(one, title="The boat"), "Sell it?")
    page = await desk.open("/sessions")
    await tool(page, "End the session in The boat").focus()
    await page.keyboard.press("Enter")
    await expect(page.locator(".stretches").get_by_role("link", name="The boat")).to_be_focused()


async def test_a_session_and_a_trace_follow_an_answer(house: House, desk: Desk) -> None:
    (one,) = await house.voices(Script(pieces=("Yes", ", sell."), gates={1: "on"}))
    there = await house.conversation(one)
    said = await house.send(there, "Sell it?")
    page = await desk.open(f"/c/{there}")
    await expect(card(page, one).locator(".prose")).to_contain_text("Yes")
    (session,) = (await house.get(f"/api/sessions?conversation={there}")).json()
    await page.goto(f"/sessions/{session['id']}")
    voice = page.locator(".heard > li")
    await expect(voice).to_contain_text("writing")
    await voice.get_by_role("button").click()
    trace = page.get_by_role("dialog", name="Why this answer")
    await expect(trace).to_contain_text("It is being asked")
    await expect(trace).not_to_contain_text("No model was asked.")
    house.provider.gate("on").set()
    await expect(trace).to_contain_text(re.compile("lab:.* answered"))
    await expect(trace).not_to_contain_text("still going on")
    await page.keyboard.press("Escape")
    await expect(voice).not_to_contain_text("writing")
    assert said


async def test_fifty_sessions_are_all_there_are(house: House, desk: Desk) -> None:
    (one,) = await house.voices("Yes.")
    for number in range(50):
        await house.send(await house.conversation(one, title=f"Talk {number}"), "Hello?")
    page = await desk.open("/sessions")
    await expect(page.locator(".stretches > li")).to_have_count(50)
    await expect(tool(page, "Older sessions")).to_have_count(0)
