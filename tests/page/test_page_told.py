"""What a session is told at once stands apart from what may come up in it, on the strip and in the
sheet of a session that goes on; and what rests on the same words is set aside together."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
from playwright.async_api import Locator, Page, expect
from tests.companion.lounge import reading_text
from tests.page.desk import Desk, spill
from tests.page.house import House
from tests.page.notes import loop, remember, replies, worked
from tests.page.talk import ask, card, composer, sent, state, tool
from tests.provider import Script

MODELS = {"default": "lab:default", "gate": "lab:gate", "memory": "lab:notes"}
reads = pytest.mark.parametrize("house", [{"models": MODELS}], indirect=True, ids=["reads"])
FENCE = "I promised to paint the fence this week"
LISTS = "Please never use bullet points"
SISTER = "My sister Marta is a nurse"
MILL = "I run a mill by the river"


async def lived(house: House) -> None:
    """Three days ago somebody said this, and it was noted."""
    await remember(
        house,
        "before",
        f"{MILL}. {SISTER}.",
        f"{LISTS}. Call me Ines.",
        f"{FENCE}. I put off every call.",
        at=datetime.now(UTC) - timedelta(days=3),
        loops=[loop(FENCE, "Paint the fence")],
        instructions=[{"quote": LISTS, "text": "No bullet points"}],
        profile=[
            {"quote": LISTS, "field": "preferences.avoid", "text": "bullet points"},
            {"quote": MILL, "field": "work_context", "text": "Runs a mill"},
            {"quote": SISTER, "field": "key_relationships", "item": "Marta", "text": "A nurse"},
            {"quote": "I put off every call", "field": "patterns", "text": "Puts off calls"},
            {"quote": "Call me Ines", "field": "name", "text": "Ines"},
        ],
    )


def strip(page: Page) -> Locator:
    return page.get_by_role("region", name="What I remember and will use")


async def unfold(page: Page) -> None:
    await strip(page).get_by_role("button", expanded=False).click()


def row(where: Locator, words: str) -> Locator:
    return where.locator(".items > li").filter(has_text=words)


async def sheet_of(page: Page) -> Locator:
    await page.get_by_text("Conversation …").click()
    await tool(page, "What is remembered here …").click()
    sheet = page.get_by_role("dialog", name="What I remember and use here")
    await expect(sheet.locator(".items").first).to_be_visible()
    return sheet


@reads
async def test_what_is_told_now_stands_apart(house: House, desk: Desk) -> None:
    await lived(house)
    (one,) = await house.voices("Yes.")
    page = await desk.open("/", size="phone")
    await expect(strip(page)).to_contain_text(
        re.compile(r"\d told at the start, 3 if they come up")
    )
    assert await spill(page) == []
    await unfold(page)
    now = strip(page).get_by_role("list", name="Told at the start")
    later = strip(page).get_by_role("list", name="Used only if it comes up")
    for words in ("Work: Runs a mill", "Call me Ines", LISTS):
        await expect(now).to_contain_text(words)
    for words in ("Marta: A nurse", "A pattern: Puts off calls", "Paint the fence"):
        await expect(later).to_contain_text(words)
    await expect(later.locator("> li")).to_have_count(3)
    assert await spill(page) == []

    await ask(page, "What shall I cook?")
    await state(card(page, one), "completed")
    assert "Runs a mill" in sent(house, one)
    assert "A nurse" not in sent(house, one)
    sheet = await sheet_of(page)
    began = sheet.get_by_role("list", name="Told when it began")
    await expect(began).to_contain_text("Work: Runs a mill")
    await expect(began).not_to_contain_text("Marta")
    await expect(began).not_to_contain_text("Puts off")
    await expect(row(began, "Still open")).to_have_count(0)
    await expect(sheet.get_by_role("list", name="Used only if it comes up")).to_contain_text(
        "Marta"
    )
    assert await spill(page) == []


@reads
async def test_a_companion_is_told_less_at_once(house: House, desk: Desk) -> None:
    await lived(house)
    house.provider.script("gate", Script(text=reading_text({})))
    house.provider.script("default", Script(text="I see."))
    page = await desk.open("/?with=flint")
    await unfold(page)
    now = strip(page).get_by_role("list", name="Told at the start")
    later = strip(page).get_by_role("list", name="Used only if it comes up")
    await expect(now).to_contain_text(LISTS)
    await expect(now).not_to_contain_text("About you")
    await expect(later).to_contain_text("Work: Runs a mill")
    await ask(page, "Good evening to you.")
    await state(page.get_by_role("article", name="Flint"), "completed")
    messages = house.provider.requests("default")[-1].json()["messages"]
    told = "\n".join(each["content"] for each in messages)
    assert "bullet points" in told
    assert "mill" not in told


@reads
async def test_only_sessions_that_are_here_are_linked(house: House, desk: Desk) -> None:
    await lived(house)
    (one,) = await house.voices("Yes.")
    there = await house.conversation(one)
    said = await house.say(there, "I will call the bank tomorrow.")
    replies(house.provider, loops=[loop("I will call the bank tomorrow", "Call the bank")])
    await house.post(f"/api/sessions/{said['session_id']}/end")
    await worked(house)
    page = await desk.open(f"/c/{there}")
    await composer(page).focus()
    await unfold(page)
    later = strip(page).get_by_role("list", name="Used only if it comes up")
    fence, bank = (later.locator("> li").filter(has_text=one) for one in ("fence", "the bank"))
    await expect(fence).to_contain_text(", elsewhere")
    await expect(fence.get_by_role("link")).to_have_count(0)
    await bank.get_by_role("link").click()
    await expect(page).to_have_url(f"{house.url}/sessions/{said['session_id']}")
    await expect(page.locator(".utterances > li")).to_have_count(1)


@reads
async def test_the_focus_comes_back_from_the_sheet(house: House, desk: Desk) -> None:
    await lived(house)
    (one,) = await house.voices("Yes.")
    page = await desk.open(f"/c/{(there := await house.conversation(one))}")
    await house.say(there, "One.")
    await sheet_of(page)
    await page.keyboard.press("Escape")
    await expect(page.get_by_text("Conversation …")).to_be_focused()
    await page.keyboard.press("Enter")
    await tool(page, "Rename").click()
    await expect(page.get_by_role("textbox", name="Title")).to_be_focused()
    await page.keyboard.press("Escape")
    await expect(page.get_by_text("Conversation …")).to_be_focused()


@reads
async def test_words_run_as_they_are_written(house: House, desk: Desk) -> None:
    hebrew = "אני גר ליד הים"
    await remember(
        house, "before", f"{hebrew}.", at=datetime.now(UTC) - timedelta(days=3),
        profile=[{"quote": hebrew, "field": "work_context", "text": hebrew}],
    )  # fmt: skip
    (one,) = await house.voices(f"{hebrew}!\n\nAnd in English.")
    page = await desk.open("/")
    direction = "(one) => getComputedStyle(one).direction"
    await unfold(page)
    last = row(strip(page), f"Work: {hebrew}").locator(".what")
    assert await last.get_attribute("dir") == "auto"
    await ask(page, f"{hebrew}?")
    await state(card(page, one), "completed")
    assert await page.locator("h2.ask").evaluate(direction) == "rtl"
    assert await card(page, one).locator(".prose").evaluate(direction) == "rtl"
    assert await page.locator(".top h1").evaluate(direction) == "rtl"
    first, second = (
        await card(page, one)
        .locator(".prose p")
        .evaluate_all(
            """(all) => all.map((one) => {
          const range = document.createRange();
          range.selectNodeContents(one);
          const [words, box] = [range.getBoundingClientRect(), one.getBoundingClientRect()];
          return Math.round(box.right - words.right) <= 1;
        })"""
        )
    )
    assert (first, second) == (True, False), "each paragraph begins at its own side"
    (session,) = (await house.get("/api/sessions")).json()
    await page.goto(f"/sessions/{session['id']}")
    assert await page.locator(".utterances p:has(.quote)").evaluate(direction) == "rtl"
