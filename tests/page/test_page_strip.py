"""What I remember and will use: told before a session begins, with a veto that is really kept."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playwright.async_api import Locator, Page, Response, expect
from tests.companion.lounge import reading_text
from tests.page.desk import Desk, spill, visit
from tests.page.house import House
from tests.page.notes import loop, remember
from tests.page.talk import ask, card, composer, sent, state, tool
from tests.provider import Script

MODELS = {"default": "lab:default", "gate": "lab:gate", "memory": "lab:notes"}
reads = pytest.mark.parametrize("house", [{"models": MODELS}], indirect=True, ids=["reads"])
SAID = (
    "My neighbour keeps bees.",
    "Always answer me in one sentence.",
    "I promised to paint the fence this week.",
)


async def told_before(house: House) -> None:
    """Three days ago somebody said this, and it was noted."""
    await remember(
        house,
        "before",
        *SAID,
        at=datetime.now(UTC) - timedelta(days=3),
        loops=[{"n": 2, **loop("I promised to paint the fence this week", "Paint the fence")}],
        instructions=[
            {
                "n": 0,
                "quote": "Always answer me in one sentence.",
                "text": "Answers of one sentence",
            }
        ],
    )


def strip(page: Page) -> Locator:
    return page.get_by_role("region", name="What I remember and will use")


def item(page: Page, words: str) -> Locator:
    return strip(page).locator(".items > li").filter(has_text=words)


async def unfolded(page: Page) -> Locator:
    await strip(page).get_by_role("button", expanded=False).click()
    await expect(strip(page).locator(".items > li").first).to_be_visible()
    return strip(page)


async def start(house: House, query: str = "") -> dict[str, Any]:
    told: dict[str, Any] = (await house.get(f"/api/memory/start?{query}")).json()
    return told


async def known(house: House) -> dict[str, str]:
    """What would be told, by its kind."""
    return {each["kind"]: each["text"] for each in (await start(house))["items"]}


@reads
async def test_what_is_vetoed_is_not_told(house: House, desk: Desk) -> None:
    await told_before(house)
    (one,) = await house.voices("Yes.")
    told, texts = await start(house), await known(house)
    assert set(texts) >= {"handover", "instruction"}

    page = await desk.open("/", size="phone")
    lines = len(told["items"])
    now = len({one["id"] for one in told["items"] if one["when"] == "start"})
    count = len({one["id"] for one in told["items"]})  # what rests on the same words is one thing
    assert 0 < now < count
    later = f"{count - now} if {'it comes' if count - now == 1 else 'they come'} up"
    whole = f"I remember {count} things: {now} told at the start, {later}"
    await expect(strip(page)).to_contain_text(f"{whole}. ")
    await expect(strip(page).locator(".items"), "folded at first").to_have_count(0)
    await unfolded(page)
    await expect(strip(page).locator(".items > li")).to_have_count(lines)
    asked = item(page, "You asked for this")
    await expect(asked).to_contain_text(texts["instruction"])
    await expect(asked, "a session of another program").to_contain_text(", elsewhere")
    await expect(asked.get_by_role("link")).to_have_count(0)
    await expect(strip(page).get_by_role("link", name="Correct or forget it")).to_have_attribute(
        "href", "/memory"
    )
    assert await spill(page) == []
    veto = asked.get_by_role("button", name=re.compile("^Don’t use this now"))
    await veto.click()
    await expect(veto).to_have_attribute("aria-pressed", "true")
    less = f"I remember {count} things: {now - 1} told at the start, {later}, 1 set aside"
    await expect(strip(page)).to_contain_text(less)
    await page.reload()
    await expect(strip(page)).to_contain_text(less)

    await ask(page, "Shall I begin today?")
    await state(card(page, one), "completed")
    wire = sent(house, one)
    assert texts["instruction"] not in wire
    assert "paint the fence" in wire.lower(), "the rest is told"
    conversation = page.url.rpartition("/")[2]
    running = await start(house, f"conversation={conversation}")
    assert running["session"] == "running"
    vetoed = {each["kind"] for each in running["items"] if each["vetoed"]}
    assert vetoed == {"instruction"}
    await expect(strip(page), "the session goes on").to_have_count(0)
    await visit(page, "/")
    await expect(strip(page), "a veto is for one session").to_contain_text(whole)


@reads
async def test_it_comes_back_when_a_session_has_ended(house: House, desk: Desk) -> None:
    await told_before(house)
    (one,) = await house.voices("Yes.")
    there = await house.conversation(one)
    first = await house.say(there, "One.")
    page = await desk.open(f"/c/{there}")
    await expect(card(page, one)).to_be_visible()
    await expect(strip(page)).to_have_count(0)
    await house.post(f"/api/sessions/{first['session_id']}/end")
    await composer(page).focus()
    await expect(strip(page)).to_be_visible()
    await unfolded(page)
    fence = item(page, "Paint the fence").filter(has_not_text="From before")
    await fence.get_by_role("button", name=re.compile("^Don’t use")).click()
    await fence.get_by_role("button", name=re.compile("^Don’t use")).click()
    await expect(fence.get_by_role("button")).to_have_attribute("aria-pressed", "false")
    await item(page, "From before").get_by_role("button").click()
    await ask(page, "Two.")
    await state(card(page, one, 1), "completed")
    wire = sent(house, one)
    texts = await known(house)
    assert texts["handover"].partition(".")[0] not in wire
    assert texts["instruction"] in wire
    await expect(strip(page)).to_have_count(0)


@reads
async def test_a_companion_tells_it_too(house: House, desk: Desk) -> None:
    await told_before(house)
    house.provider.script("gate", Script(text=reading_text({"intent": "momentum"})))
    house.provider.script("default", Script(text="One post, then."))
    page = await desk.open("/?with=flint")
    await unfolded(page)
    await item(page, "Still open").get_by_role("button").click()
    await ask(page, "I want to get on with something.")
    await state(page.get_by_role("article", name="Flint"), "completed")
    messages = house.provider.requests("default")[-1].json()["messages"]
    system = "\n".join(each["content"] for each in messages if each["role"] == "system")
    assert "fence" not in system, "neither in the handover nor as a thread"
    assert (await known(house))["instruction"] in system


async def test_nobody_who_is_new_is_told_anything(house: House, desk: Desk) -> None:
    (one,) = await house.voices("Yes.")
    page = await desk.open("/")
    await expect(composer(page)).to_be_visible()
    async with page.expect_response(re.compile("/api/memory/start")) as came:
        await composer(page).focus()
    assert (await (await came.value).json())["items"] == []
    await expect(strip(page)).to_have_count(0)
    await ask(page, "Hello?")
    await state(card(page, one), "completed")


def patched(response: Response) -> bool:
    return response.request.method == "PATCH"


@reads
async def test_looking_things_up_is_switched_off_for_one_conversation(
    house: House, desk: Desk
) -> None:
    await told_before(house)
    house.provider.script("gate", Script(text=reading_text({})))
    house.provider.script("default", Script(text="I see."))
    there = (await house.post("/api/personas/harbor/conversation")).json()["id"]
    page = await desk.open(f"/c/{there}")
    await page.get_by_text("Conversation …").click()
    choice = page.get_by_role("group", name="Memory: look things up")
    await expect(choice.get_by_label("as in the settings")).to_be_checked()
    for name, value in (("on", "auto"), ("off", "off")):
        async with page.expect_response(patched) as changed:
            await choice.get_by_label(name, exact=True).check()
        assert (await (await changed.value).json())["recall"] == value
        assert (await house.get(f"/api/conversations/{there}")).json()["recall"] == value
        await expect(choice.get_by_label(name, exact=True)).to_be_checked()
    await page.get_by_text("Conversation …").click()
    await ask(page, "What about the bees of my neighbour?")
    await state(page.get_by_role("article", name="Harbor"), "completed")
    await tool(page, "Why this answer").click()
    await expect(page.get_by_role("dialog")).to_contain_text("Looking things up is switched off.")
    turn = (await house.get(f"/api/conversations/{there}")).json()["messages"][0]["turn_id"]
    trace = (await house.get(f"/api/turns/{turn}/trace")).json()
    assert trace["recall"]["decision"] == "off"


@reads
async def test_a_running_session_is_told_less_from_the_next_message_on(
    house: House, desk: Desk
) -> None:
    await told_before(house)
    (one,) = await house.voices("Yes.")
    there = await house.conversation(one)
    await house.say(there, "One.")
    instruction = (await known(house))["instruction"]
    assert instruction in sent(house, one)
    page = await desk.open(f"/c/{there}")
    await expect(card(page, one)).to_be_visible()
    await page.get_by_text("Conversation …").click()
    await tool(page, "What is remembered here …").click()
    sheet = page.get_by_role("dialog", name="What I remember and use here")
    await expect(sheet.get_by_role("list", name="Told when it began")).to_contain_text(instruction)
    here = sheet.locator(".items > li").filter(has_text="You asked for this")
    await here.get_by_role("button").click()
    await expect(here.get_by_role("button")).to_have_attribute("aria-pressed", "true")
    told = await start(house, f"conversation={there}")
    assert [each["kind"] for each in told["items"] if each["vetoed"]] == ["instruction"]
    await page.keyboard.press("Escape")
    await ask(page, "Two.")
    await state(card(page, one, 1), "completed")
    assert instruction not in sent(house, one)
    await page.get_by_text("Conversation …").click()
    await tool(page, "What is remembered here …").click()
    await here.get_by_role("button").click()
    await expect(here.get_by_role("button")).to_have_attribute("aria-pressed", "false")
    await page.keyboard.press("Escape")
    await ask(page, "Three.")
    await state(card(page, one, 2), "completed")
    assert instruction in sent(house, one)
