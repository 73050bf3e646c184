"""The memory room: facts and their sources; searched, added, corrected, undone, pinned, hidden and
deleted. Whatever the page shows is what the server says afterwards."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playwright.async_api import Locator, Page, Route, expect
from tests.page.desk import Desk, spill
from tests.page.house import House
from tests.page.notes import READS, fact, ingest, loop, remember, replies, worked
from tests.page.talk import tool

reads = pytest.mark.parametrize("house", [READS], indirect=True, ids=["reads"])
HOUSE = "Lives in a house by the river."
SAID = "I live in a house by the river now. I'll call the bank on Monday, I promise. Call me Ana."


def entry(page: Page, text: str) -> Locator:
    """What is remembered with these words."""
    return page.locator(".memo").filter(has=page.locator(".statement", has_text=text))


def press(where: Locator, name: str) -> Locator:
    """A tool of an entry, by the beginning of its name."""
    return where.get_by_role("button", name=re.compile(f"^{name}"))


async def talked(house: House) -> tuple[str, str]:
    """A conversation that was remembered: itself and its first turn."""
    replies(
        house.provider,
        facts=[fact("I live in a house by the river", HOUSE, "home")],
        loops=[loop("I'll call the bank on Monday", "Call the bank")],
        profile=[{"quote": "Call me Ana", "field": "name", "text": "Ana"}],
    )
    (one,) = await house.voices("A river is good company.")
    conversation = await house.conversation(one, title="By the river")
    turn = await house.say(conversation, SAID)
    (session,) = (await house.get("/api/sessions")).json()
    await house.post(f"/api/sessions/{session['id']}/end")
    await worked(house)
    return conversation, turn["turn_id"]


async def known(house: House, query: str = "") -> list[Any]:
    """The facts that the server lists."""
    items = (await house.get(f"/api/memory/items?limit=100{query}")).json()["items"]
    return [one["fact"] for one in items if one["fact"]]


async def moved(house: House) -> None:
    """Two statements about the same, the newer over the older."""
    now = datetime.now(UTC)
    await remember(
        house, "s1", "I live above the bakery.", at=now - timedelta(days=20),
        facts=[fact("I live above the bakery", "Lives above the bakery.", "home")],
    )  # fmt: skip
    await remember(
        house, "s2", "I live in a house by the river now.", at=now - timedelta(days=2),
        facts=[fact("I live in a house by the river", HOUSE, "home")],
    )  # fmt: skip


@reads
async def test_what_is_remembered_and_from_where(house: House, desk: Desk) -> None:
    conversation, turn = await talked(house)
    page = await desk.open("/memory", size="phone")
    one = entry(page, HOUSE)
    await expect(one.locator("blockquote")).to_have_text("“I live in a house by the river”")
    await expect(one.locator(".margin-note")).to_contain_text("home")
    today = datetime.now(UTC).date().isoformat()
    assert today in await one.locator(".margin-note").inner_text()
    await expect(one.locator("figcaption")).to_contain_text("You")
    await expect(page.get_by_text("1 fact", exact=True)).to_be_visible()
    assert await spill(page) == []
    await one.get_by_role("link", name="By the river").click()
    await expect(page).to_have_url(f"{house.url}/c/{conversation}#{turn}")
    await expect(page.get_by_role("article", name="Skeptic")).to_be_visible()
    await page.goto("/memory")
    await expect(one).to_be_visible()
    await house.delete(f"/api/conversations/{conversation}")
    await page.reload()
    await expect(page.get_by_text("Nothing is remembered yet.")).to_be_visible()


@reads
async def test_a_fact_is_corrected_and_that_undone(house: House, desk: Desk) -> None:
    await talked(house)
    page = await desk.open("/memory")
    await press(entry(page, HOUSE), "Correct").click()
    field = page.get_by_role("textbox", name="Corrected text")
    await expect(field).to_be_focused()
    await expect(field).to_have_value(HOUSE)
    await field.fill("Lives on a boat on the river.")
    await page.reload()  # whoever comes back finds it as it was left
    await expect(field).to_have_value("Lives on a boat on the river.")
    await tool(page, "Save").click()
    mine = entry(page, "Lives on a boat on the river.")
    await expect(mine.locator(".was del")).to_have_text(HOUSE)
    await expect(press(mine, "Correct")).to_be_focused()
    assert [one["source"] for one in await known(house)] == ["manual"]
    assert [one["text"] for one in await known(house, "&only=superseded")] == [HOUSE]

    await press(mine, "History").click()
    line = mine.locator(".line li")
    await expect(line).to_have_count(2)
    await expect(line.first).to_contain_text("I live in a house by the river")
    await expect(line.last).to_contain_text("until now")
    await press(mine, "Undo").click()
    await expect(page.locator(".statement")).to_have_text([HOUSE])
    assert [one["text"] for one in await known(house)] == [HOUSE]


@reads
async def test_an_outdated_fact_is_still_true(house: House, desk: Desk) -> None:
    """What was said twice is one fact; what was replaced comes back with one press."""
    await moved(house)
    await remember(
        house, "s3", "Yes, I live in a house by the river.",
        facts=[fact("I live in a house by the river", HOUSE, "home")],
    )  # fmt: skip
    page = await desk.open("/memory")
    now = entry(page, HOUSE)
    await expect(page.locator(".memo")).to_have_count(1)
    await expect(now.locator(".marks")).to_contain_text("said 2 times")
    await expect(now.locator(".was del")).to_have_text("Lives above the bakery.")
    await page.get_by_role("radio", name="Outdated").check()
    await expect(page).to_have_url(f"{house.url}/memory?only=superseded")
    old = entry(page, "Lives above the bakery.")
    await expect(page.locator(".memo")).to_have_count(1)
    await expect(old.locator(".marks")).to_contain_text("replaced")
    await press(old, "Still true").click()
    await expect(page.get_by_text("Nothing is outdated.")).to_be_visible()
    texts = {one["text"] for one in await known(house)}
    assert texts == {HOUSE, "Lives above the bakery."}


@reads
async def test_a_fact_is_deleted_and_its_message_stays(house: House, desk: Desk) -> None:
    desk.allow("status of 404")
    await moved(house)
    page = await desk.open("/memory")
    other = await desk.beside(page, "/memory")
    await expect(entry(other, HOUSE)).to_be_visible()
    await press(entry(page, HOUSE), "Delete").click()
    dialog = page.get_by_role("dialog", name="Delete this fact?")
    await expect(dialog).to_contain_text("becomes current again: “Lives above the bakery.”")
    await expect(dialog).to_contain_text("The message it came from stays.")
    await tool(dialog, "Keep").click()
    await expect(entry(page, HOUSE)).to_be_visible()
    await press(entry(page, HOUSE), "Delete").click()
    await tool(dialog, "Delete").click()
    for tab in (page, other):
        await expect(tab.locator(".statement")).to_have_text(["Lives above the bakery."])
    found = (await house.get("/api/memory/items?q=river")).json()["items"]
    assert [one["kind"] for one in found] == ["message"]


@pytest.mark.parametrize("house", [{"models": {"default": "local:tiny"}}], indirect=True)
async def test_memory_is_told_outright_without_a_model(house: House, desk: Desk) -> None:
    page = await desk.open("/memory", size="phone")
    await expect(page.get_by_text("Nothing is remembered yet.")).to_be_visible()
    await expect(page.get_by_text("There is no capable model for memory")).to_be_visible()
    await ingest(house, "s1", "I'll call the bank tomorrow. The sky is blue over the river.")
    await worked(house)
    await page.reload()
    await expect(page.get_by_text("1 session can be searched above.")).to_be_visible()
    await tool(page, "Add something to remember").click()
    await page.get_by_role("textbox", name="What should be remembered?").fill("My bike is green.")
    await tool(page, "Save").click()
    await expect(entry(page, "My bike is green.").locator(".speaker")).to_have_text("You")
    assert await spill(page) == []
    await page.get_by_role("searchbox").fill("sky")
    await expect(entry(page, "The sky is blue")).to_be_visible()

    await page.goto("/")
    composer = page.get_by_role("textbox", name="Your message")
    await composer.fill("/remember")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("alert")).to_contain_text("There is nothing to remember.")
    await composer.fill("/remember The key is under the mat.")
    await page.keyboard.press("Enter")
    await expect(page.locator(".notices")).to_contain_text("Remembered: “The key is under")
    await expect(composer).to_have_value("")
    texts = [one["text"] for one in await known(house)]
    assert texts == ["The key is under the mat.", "My bike is green."]
    assert (await house.get("/api/conversations")).json()["items"] == []


@pytest.mark.parametrize("house", [{"models": {"default": ""}}], indirect=True)
async def test_an_online_model_reads_private_talks_only_if_allowed(
    house: House, desk: Desk
) -> None:
    """Asked where the default model is changed, and in the memory room."""
    (one,) = await house.voices("A river is good company.")
    await house.say(await house.conversation(one), SAID)
    (session,) = (await house.get("/api/sessions")).json()
    await house.post(f"/api/sessions/{session['id']}/end")
    await worked(house)
    away = {"kind": "openai", "base_url": "https://away.example/v1", "models": ["big"]}
    assert (await house.put("/api/providers/away", away)).status == 200
    await house.put("/api/keys/away", {"key": "sk-away"})
    page = await desk.open("/settings", size="phone")
    field = page.get_by_label("Default model")
    await field.fill("away:big")
    await field.press("Enter")
    asked = page.get_by_role("region", name="Private conversations")
    await expect(asked).to_contain_text("1 conversation was held with a model on this computer.")
    await expect(asked).to_contain_text("away:big runs online.")
    assert await spill(page) == []
    await tool(asked, "Keep private").click()
    await expect(asked).to_have_count(0)
    shared = [
        row["value"]
        for row in (await house.get("/api/settings/page")).json()["settings"]
        if row["name"] == "memory.share"
    ]
    assert shared == ["never"]
    await page.goto("/memory")
    await expect(page.get_by_text("stays private")).to_be_visible()
    await house.patch("/api/settings", {"memory.share": "ask"})
    await page.reload()
    await tool(asked, "Allow").click()
    await expect(asked).to_have_count(0)
    assert (await house.get("/api/memory/overview")).json()["keptLocal"] == 0


@reads
async def test_pinned_and_kept_out(house: House, desk: Desk) -> None:
    await moved(house)
    await remember(
        house, "s3", "My sister is a nurse.",
        facts=[fact("My sister is a nurse", "Her sister is a nurse.", "sister")],
    )  # fmt: skip
    page = await desk.open("/memory")
    await expect(page.locator(".statement")).to_have_text(["Her sister is a nurse.", HOUSE])
    await press(entry(page, HOUSE), "Pin").click()
    await expect(press(entry(page, HOUSE), "Unpin")).to_have_attribute("aria-pressed", "true")
    await press(entry(page, "nurse"), "Hide").click()
    await expect(entry(page, "nurse").locator(".marks")).to_contain_text("hidden from advisors")
    marks = {one["text"]: (one["pinned"], one["excluded"]) for one in await known(house)}
    assert marks == {HOUSE: (True, False), "Her sister is a nurse.": (False, True)}
    told = (await house.get("/api/memory/search?q=nurse")).json()["facts"]
    assert "Her sister is a nurse." not in told

    await page.reload()
    await expect(page.locator(".statement")).to_have_text([HOUSE, "Her sister is a nurse."])
    await expect(page.get_by_role("heading", name="Pinned")).to_be_visible()
    await page.get_by_role("radio", name="Pinned").check()
    await expect(page.locator(".statement")).to_have_text([HOUSE])
    await page.get_by_role("radio", name="Hidden").check()
    await expect(page.locator(".statement")).to_have_text(["Her sister is a nurse."])
    await press(entry(page, "nurse"), "Show").click()
    await expect(press(entry(page, "nurse"), "Hide")).to_be_visible()
    assert not any(one["excluded"] for one in await known(house))
    await page.reload()
    await expect(page.get_by_text("Nothing is hidden.")).to_be_visible()


@reads
async def test_asking_ones_memory(house: House, desk: Desk) -> None:
    await moved(house)
    conversation, turn = await talked(house)
    page = await desk.open("/memory", size="phone")
    field = page.get_by_role("searchbox", name="Search your memory")
    await field.press_sequentially("bak")
    await expect(page).to_have_url(f"{house.url}/memory?q=bak")
    await field.press_sequentially("ery")
    await expect(page).to_have_url(f"{house.url}/memory?q=bakery")
    await page.go_back()  # to the list, not out of the room
    await expect(page).to_have_url(f"{house.url}/memory")
    await expect(field).to_have_value("")
    await page.go_forward()
    await expect(field).to_have_value("bakery")
    old = entry(page, "Lives above the bakery.")
    await expect(old.locator(".marks")).to_contain_text("replaced")
    said = entry(page, "I live above the bakery.")
    await expect(said.locator(".whence")).to_contain_text("You")
    await expect(page.get_by_role("status").filter(has_text="about “bakery”")).to_be_visible()
    await expect(page.get_by_role("radio")).to_have_count(0)

    await press(said, "Hide").click()
    await expect(said.locator(".marks")).to_contain_text("hidden from advisors")
    told = (await house.get("/api/memory/items?only=excluded")).json()["items"]
    out = [one["message"]["text"] for one in told if one["message"]]
    assert out == ["I live above the bakery."]
    await press(said, "Show").click()
    await expect(press(said, "Hide")).to_be_visible()
    assert (await house.get("/api/memory/items?only=excluded")).json()["items"] == []

    await field.fill("good company")
    answer = entry(page, "A river is good company.")
    await expect(answer.locator(".speaker")).to_contain_text("Skeptic")
    await answer.get_by_role("link", name="By the river").click()
    await expect(page).to_have_url(f"{house.url}/c/{conversation}#{turn}")
    await page.go_back()
    await expect(field).to_have_value("good company")
    await field.fill("zebra")
    await expect(page.get_by_text("Nothing found for “zebra”.")).to_be_visible()
    assert await spill(page) == []
    await tool(page, "Show all").click()
    await expect(field).to_have_value("")
    await expect(page.locator(".memo").first).to_be_visible()


@reads
async def test_older_ones_come_on_request(house: House, desk: Desk) -> None:
    said = [f"Thing {number} is number {number}." for number in range(45)]
    notes = [fact(text, text, f"thing {number}") for number, text in enumerate(said)]
    await remember(house, "many", *said, at=datetime.now(UTC) - timedelta(days=3), facts=notes)
    page = await desk.open("/memory")
    await expect(page.get_by_text("The newest 30 facts")).to_be_visible()
    await expect(page.locator(".memo")).to_have_count(30)
    await tool(page, "Show older").click()
    await expect(page.locator(".memo")).to_have_count(45)
    await expect(page.get_by_text("45 facts")).to_be_visible()
    await expect(tool(page, "Show older")).to_have_count(0)
    shown = await page.locator(".statement").all_inner_texts()
    assert shown == [one["text"] for one in await known(house)]


def refusing(status: int, message: str) -> Any:
    """Answers as a server would that cannot."""
    error = {"code": "x", "message": message, "hint": "Try again soon.", "type": "x", "param": None}

    async def refuse(route: Route) -> None:
        await route.fulfill(status=status, json={"error": error})

    return refuse


@reads
async def test_a_server_that_cannot(house: House, desk: Desk) -> None:
    desk.allow("status of 503", "status of 409")
    await talked(house)
    page = await desk.open(None)
    await page.route("**/api/memory/items*", refusing(503, "The database is busy."))
    await page.goto("/memory")
    alert = page.get_by_role("alert")
    await expect(alert).to_contain_text("The database is busy. Try again soon.")
    await page.unroute("**/api/memory/items*")
    await tool(alert, "Try again").click()
    await expect(entry(page, HOUSE)).to_be_visible()

    await page.route("**/api/memory/facts/*", refusing(503, "Not now."))
    await press(entry(page, HOUSE), "Pin").click()
    await expect(page.locator(".notices")).to_contain_text("Not now. Try again soon.")
    await expect(press(entry(page, HOUSE), "Pin")).to_have_attribute("aria-pressed", "false")
    await press(entry(page, HOUSE), "Correct").click()
    field = page.get_by_role("textbox", name="Corrected text")
    await field.fill("Lives elsewhere.")
    await tool(page, "Save").click()
    await expect(page.locator(".reword").get_by_role("alert")).to_contain_text("Not now.")
    await expect(field).to_have_value("Lives elsewhere.")
    await page.unroute("**/api/memory/facts/*")
    await tool(page, "Save").click()
    await expect(entry(page, "Lives elsewhere.")).to_be_visible()

    await page.route("**/api/memory/forget", refusing(409, "It is being read."))
    await press(entry(page, "Lives elsewhere."), "Delete").click()
    await tool(page.get_by_role("dialog"), "Delete").click()
    await expect(page.locator(".notices")).to_contain_text("It is being read.")
    assert [one["text"] for one in await known(house)] == ["Lives elsewhere."]


@reads
async def test_a_long_fact_ends_at_a_word_and_says_that_there_is_more(
    house: House, desk: Desk
) -> None:
    long = "They argued about the garden and the boat. " * 13
    said = "We argued about the garden."
    notes = [
        fact(said, long.strip(), "argument"),
        fact(said, f"{'So it went on, ' * 18}and the", "x"),
    ]
    await remember(house, "s1", said, facts=notes)
    page = await desk.open("/memory")
    one = entry(page, "They argued")
    await expect(one.locator(".statement")).to_contain_text(re.compile(r"\w …\s+more$"))
    await tool(one, "more").click()
    await expect(one.locator(".statement")).to_contain_text(long.strip())
    await tool(one, "less").click()
    await expect(entry(page, "So it went on").locator(".statement")).to_have_text(
        re.compile("and the …$")
    )
