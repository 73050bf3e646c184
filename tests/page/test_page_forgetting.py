"""Forgetting in the memory room: what goes is shown first, and gone afterwards."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from playwright.async_api import Route, expect
from tests.page.desk import Desk
from tests.page.house import House
from tests.page.notes import fact, remember, replies, worked
from tests.page.talk import tool
from tests.page.test_page_memory import HOUSE, SAID, entry, known, moved, press, reads, talked


@reads
async def test_forgetting_shows_first_what_goes(house: House, desk: Desk) -> None:
    """The message, the fact, the loop, the line of the profile; where it becomes a mark; what is
    written anew, what holds again. Only then, and never by a key, is it gone."""
    await remember(
        house, "s1", "I live above the bakery.", at=datetime.now(UTC) - timedelta(days=20),
        facts=[fact("I live above the bakery", "Lives above the bakery.", "home")],
    )  # fmt: skip
    conversation, _ = await talked(house)
    page = await desk.open("/memory")
    await press(entry(page, HOUSE), "Forget").click()
    dialog = page.get_by_role("dialog", name="Forget this for good?")
    await expect(dialog.locator(".target")).to_have_text(HOUSE)
    for title, words in (
        ("1 message", SAID), ("1 fact", HOUSE), ("1 mention of a loop", "Call the bank"),
        ("1 line of the profile", "Ana"), ("Then holds again", "Lives above the bakery."),
        ("Written anew", "the summary of 1 session"),
        ("A mark in 1 conversation", "By the river"),
    ):  # fmt: skip
        section = dialog.locator("section").filter(has=page.get_by_role("heading", name=title))
        await expect(section).to_contain_text(words)
    there = dialog.get_by_role("link", name="By the river")
    await expect(there).to_have_attribute("href", f"/c/{conversation}")
    await expect(tool(dialog, "Keep it")).to_be_focused()
    before = await known(house)
    await page.keyboard.press("Enter")
    await expect(dialog).to_have_count(0)
    await press(entry(page, HOUSE), "Forget").click()
    await expect(tool(dialog, "Forget for good")).to_be_enabled()
    await page.keyboard.press("Escape")
    await expect(dialog).to_have_count(0)
    assert await known(house) == before

    (gone,) = [one for one in before if one["text"] == HOUSE]
    await press(entry(page, HOUSE), "Forget").click()
    await tool(dialog, "Forget for good").click()
    await expect(page.locator(".notices")).to_contain_text("Forgotten.")
    await expect(page.locator(".statement")).to_have_text(["Lives above the bakery."])
    assert [one["text"] for one in await known(house)] == ["Lives above the bakery."]
    assert (await house.get(f"/api/memory/facts/{gone['id']}")).status == 404
    assert (await house.get("/api/memory/loops")).json() == []
    assert (await house.get("/api/memory/profile")).json()["exists"] is False
    found = (await house.get("/api/memory/items?q=bank")).json()["items"]
    assert not [one for one in found if one["message"] and one["message"]["role"] == "user"]
    assert "river" not in (await house.get("/api/memory/export")).text


@reads
async def test_more_in_the_preview_than_the_page_knows(house: House, desk: Desk) -> None:
    """A field that came later is shown in its own words, whatever its shape."""
    await talked(house)

    async def richer(route: Route) -> None:
        response = await route.fetch()
        told = await response.json()
        more = {"staleAnswers": [{"id": "a1", "text": "You live by a river."}], "rows": 7,
                "redactedReceipts": ["r1"], "note": None, "empty": [], "receipts": 2,
                "answers": [{"id": "a2", "text": "By the river, you say."}],
                "elsewhere": {"trace": 3, "event": 0, "remembered": 1, "page": 2},
                "backups": ["old.db.v6.bak"]}  # fmt: skip
        await route.fulfill(response=response, json={**told, **more})

    desk.allow("status of 404")  # a2 is nobody's answer
    page = await desk.open("/memory")
    await page.route("**/api/memory/forget*", richer)
    await press(entry(page, HOUSE), "Forget").click()
    dialog = page.get_by_role("dialog")
    await expect(dialog.get_by_role("heading", name="1 stale answers")).to_be_visible()
    await expect(dialog.get_by_text("You live by a river.")).to_be_visible()
    await expect(dialog.get_by_role("heading", name="1 redacted receipts")).to_be_visible()
    await expect(dialog.get_by_text("empty", exact=False)).to_have_count(0)
    await expect(dialog.get_by_role("heading", name="1 answer that repeats it")).to_be_visible()
    await expect(dialog.get_by_text("2 receipts keep a mark")).to_be_visible()
    await expect(
        dialog.get_by_text(
            "In 3 accounts of why answers came about, 1 answer that memory keeps, 2 pages."
        )
    ).to_be_visible()
    await expect(dialog.locator(".stays")).to_contain_text("old.db.v6.bak")


@reads
async def test_a_message_is_forgotten(house: House, desk: Desk) -> None:
    await moved(house)
    page = await desk.open("/memory?q=bakery")
    await press(entry(page, "I live above the bakery."), "Forget").click()
    dialog = page.get_by_role("dialog")
    await expect(dialog.get_by_role("heading", name="1 fact", exact=True)).to_be_visible()
    await tool(dialog, "Forget for good").click()
    await expect(entry(page, "bakery")).to_have_count(0)
    assert (await house.get("/api/memory/facts?history=true&q=bakery")).json() == []


@reads
async def test_what_repeats_it_is_told_once_with_all_who_said_it(house: House, desk: Desk) -> None:
    """And what is left of a forgotten message can be said anew, nothing else."""
    replies(house.provider, facts=[fact("I live in a house by the river", HOUSE, "home")])
    again = "You live in a house by the river, and that is good company."
    voices = await house.voices(again, again, "And then?")
    there = await house.conversation(*voices)
    turn = await house.say(there, SAID)
    (session,) = (await house.get("/api/sessions")).json()
    await house.post(f"/api/sessions/{session['id']}/end")
    await worked(house)
    page = await desk.open("/memory")
    await press(entry(page, HOUSE), "Forget").click()
    dialog = page.get_by_role("dialog")
    repeats = dialog.locator("section").filter(has_text="2 answers that repeat it")
    await expect(repeats.locator("li")).to_have_count(1)
    await expect(repeats).to_contain_text("2 times")
    for voice in voices[:2]:
        await expect(repeats.get_by_role("link", name=voice["name"])).to_have_attribute(
            "href", f"/c/{there}#turn-{turn['turn_id']}"
        )
    await tool(dialog, "Forget for good").click()
    await expect(page.locator(".notices")).to_contain_text("Forgotten.")

    await page.goto(f"/c/{there}")
    here = page.locator(".turn")
    await expect(here.locator(".stamp").first).to_contain_text("forgotten")
    for gone in ("Edit", "Include", "Exclude", "Copy"):
        await expect(here.locator(".ask-tools").get_by_role("button", name=gone)).to_have_count(0)
    await expect(here.get_by_role("article").first).to_be_visible()
    for gone in ("Regenerate", "Edit prompt", "Instruct this advisor"):
        await expect(tool(page, gone)).to_have_count(0)
    await expect(tool(page, "Bring the answers together")).to_have_count(0)
    await tool(here, "Say it anew").click()
    field = dialog.get_by_role("textbox", name="Your message")
    await expect(field).to_have_value("")
    await expect(dialog).to_contain_text("cannot be brought back")
    await field.fill("I live by the sea.")
    await tool(dialog, "Ask").click()
    await expect(page.get_by_role("heading", name="I live by the sea.", level=2)).to_be_visible()
