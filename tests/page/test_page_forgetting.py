"""Forgetting a message: what goes is shown first, and answers can be kept."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from playwright.async_api import expect
from tests.page.desk import Desk, spill
from tests.page.house import House
from tests.page.notes import fact, loop, remember, replies, worked
from tests.page.talk import tool
from tests.page.test_page_memory import HOUSE, SAID, entry, known, press, reads


@reads
async def test_a_message_is_forgotten_and_an_answer_kept(house: House, desk: Desk) -> None:
    await remember(
        house, "s1", "I live above the bakery.", at=datetime.now(UTC) - timedelta(days=20),
        facts=[fact("I live above the bakery", "Lives above the bakery.", "home")],
    )  # fmt: skip
    replies(
        house.provider,
        facts=[fact("I live in a house by the river", HOUSE, "home")],
        loops=[loop("I'll call the bank on Monday", "Call the bank")],
        profile=[{"quote": "Call me Ana", "field": "name", "text": "Ana"}],
    )
    one, two = await house.voices("Rivers are good company.", "And floods?")
    there = await house.conversation(one, two, title="By the river")
    turn = await house.say(there, SAID)
    (session,) = (await house.get("/api/sessions")).json()
    await house.post(f"/api/sessions/{session['id']}/end")
    await worked(house)
    page = await desk.open("/memory?q=promise", size="phone")
    await press(entry(page, SAID), "Forget").click()
    dialog = page.get_by_role("dialog", name="Forget this message?")
    for title, words in (
        ("1 fact", HOUSE), ("1 open loop", "Call the bank"), ("1 line of the profile", "Ana"),
        ("Current again", "Lives above the bakery."), ("In 1 conversation", "By the river"),
    ):  # fmt: skip
        section = dialog.locator("section").filter(has=page.get_by_role("heading", name=title))
        await expect(section).to_contain_text(words)
    await expect(dialog).to_contain_text("rewritten without it")
    answers = dialog.locator(".answers li")
    await expect(answers).to_have_count(2)
    assert await spill(page) == []
    await expect(tool(dialog, "Cancel")).to_be_focused()
    before = await known(house)
    await page.keyboard.press("Enter")
    await expect(dialog).to_have_count(0)
    assert await known(house) == before

    await press(entry(page, SAID), "Forget").click()
    await dialog.get_by_label("Keep Builder’s answer").check()
    await tool(dialog, "Forget").click()
    await expect(page.locator(".notices")).to_contain_text("Forgotten.")
    assert [one["text"] for one in await known(house)] == ["Lives above the bakery."]
    assert (await house.get("/api/memory/loops")).json() == []
    assert (await house.get("/api/memory/profile")).json()["exists"] is False
    assert "river" not in (await house.get("/api/memory/export")).text
    texts = [(await house.answer(each["answer_id"]))["text"] for each in turn["answers"]]
    assert "And floods?" in texts
    assert "Rivers are good company." not in texts

    await page.goto(f"/c/{there}")
    here = page.locator(".turn")
    await expect(here.locator(".stamp").first).to_contain_text("forgotten")
    for gone in ("Edit", "Include", "Exclude", "Copy"):
        await expect(here.locator(".ask-tools").get_by_role("button", name=gone)).to_have_count(0)
    await tool(here, "Say it anew").click()
    again = page.get_by_role("dialog")
    await expect(again.get_by_role("textbox", name="Your message")).to_have_value("")
    await again.get_by_role("textbox", name="Your message").fill("I live by the sea.")
    await tool(again, "Ask").click()
    await expect(page.get_by_role("heading", name="I live by the sea.", level=2)).to_be_visible()
