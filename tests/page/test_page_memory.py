"""The memory room: what is remembered, from where; asked, corrected, pinned, kept out, forgotten.
Whatever the page shows is what the server says afterwards."""

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
    await expect(page.get_by_text("1 statement", exact=True)).to_be_visible()
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
async def test_a_fact_is_put_rightly(house: House, desk: Desk) -> None:
    await talked(house)
    page = await desk.open("/memory")
    await press(entry(page, HOUSE), "Correct").click()
    field = page.get_by_role("textbox", name="Put it rightly")
    await expect(field).to_be_focused()
    await expect(field).to_have_value(HOUSE)
    await field.fill("Lives on a boat on the river.")
    await page.reload()  # whoever comes back finds it as it was left
    await expect(field).to_have_value("Lives on a boat on the river.")
    days = page.get_by_role("link", name="Days", exact=True)
    await days.click()
    await expect(days).to_have_attribute("aria-current", "page")
    await page.get_by_role("link", name="Remembered", exact=True).click()
    await expect(field).to_have_value("Lives on a boat on the river.")
    await tool(page, "Save").click()
    mine = entry(page, "Lives on a boat on the river.")
    await expect(mine.locator(".was del")).to_have_text(HOUSE)
    await expect(press(mine, "Correct")).to_be_focused()
    (now,) = await known(house)
    assert (now["text"], now["source"]) == ("Lives on a boat on the river.", "manual")
    (old,) = await known(house, "&only=superseded")
    assert (old["text"], now["corrects"]) == (HOUSE, old["id"])

    await press(mine, "History").click()
    line = mine.locator(".line li")
    await expect(line).to_have_count(2)
    await expect(line.first).to_contain_text("I live in a house by the river")
    await expect(line.last).to_contain_text("until now")
    await page.get_by_role("radio", name="Superseded").check()
    await expect(entry(page, HOUSE).locator(".marks")).to_contain_text("superseded")
    await expect(press(entry(page, HOUSE), "Correct")).to_have_count(0)


@reads
async def test_changing_ones_mind_changes_nothing(house: House, desk: Desk) -> None:
    await talked(house)
    page = await desk.open("/memory")
    before = await known(house)
    correct = press(entry(page, HOUSE), "Correct")
    await correct.click()
    await page.get_by_role("textbox", name="Put it rightly").fill("Lives nowhere.")
    await page.keyboard.press("Escape")
    await expect(correct).to_be_focused()
    await expect(entry(page, HOUSE)).to_be_visible()
    await correct.click()
    await expect(page.get_by_role("textbox", name="Put it rightly")).to_have_value(HOUSE)
    await tool(page, "Save").click()
    await expect(page.get_by_role("textbox", name="Put it rightly")).to_have_count(0)
    assert await known(house) == before


@reads
async def test_what_was_superseded_is_kept_with_its_time(house: House, desk: Desk) -> None:
    await moved(house)
    page = await desk.open("/memory")
    now = entry(page, HOUSE)
    await expect(now.locator(".was del")).to_have_text("Lives above the bakery.")
    await press(now, "History").click()
    await expect(now.locator(".line li").first).to_contain_text("“I live above the bakery”")
    await page.goto("/memory?only=superseded")
    await expect(page.get_by_role("radio", name="Superseded")).to_be_checked()
    await expect(entry(page, "Lives above the bakery.")).to_be_visible()
    await expect(page.locator(".memo")).to_have_count(1)


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
    await press(entry(page, "nurse"), "Exclude").click()
    await expect(entry(page, "nurse").locator(".marks")).to_contain_text("no answer sees it")
    marks = {one["text"]: (one["pinned"], one["excluded"]) for one in await known(house)}
    assert marks == {HOUSE: (True, False), "Her sister is a nurse.": (False, True)}
    told = (await house.get("/api/memory/search?q=nurse")).json()["facts"]
    assert "Her sister is a nurse." not in told

    await page.reload()
    await expect(page.locator(".statement")).to_have_text([HOUSE, "Her sister is a nurse."])
    await expect(page.get_by_role("heading", name="Pinned")).to_be_visible()
    await page.get_by_role("radio", name="Pinned").check()
    await expect(page.locator(".statement")).to_have_text([HOUSE])
    await page.get_by_role("radio", name="Excluded").check()
    await expect(page.locator(".statement")).to_have_text(["Her sister is a nurse."])
    await press(entry(page, "nurse"), "Include").click()
    await expect(press(entry(page, "nurse"), "Exclude")).to_be_visible()
    assert not any(one["excluded"] for one in await known(house))
    await page.reload()
    await expect(page.get_by_text("Nothing is excluded.")).to_be_visible()


@reads
async def test_asking_ones_memory(house: House, desk: Desk) -> None:
    await moved(house)
    conversation, turn = await talked(house)
    page = await desk.open("/memory", size="phone")
    field = page.get_by_role("searchbox", name="Ask your memory")
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
    await expect(old.locator(".marks")).to_contain_text("superseded")
    said = entry(page, "I live above the bakery.")
    await expect(said.locator(".whence")).to_contain_text("You")
    await expect(page.get_by_role("status").filter(has_text="about “bakery”")).to_be_visible()
    await expect(page.get_by_role("radio")).to_have_count(0)

    await press(said, "Exclude").click()
    await expect(said.locator(".marks")).to_contain_text("no answer sees it")
    told = (await house.get("/api/memory/items?only=excluded")).json()["items"]
    out = [one["message"]["text"] for one in told if one["message"]]
    assert out == ["I live above the bakery."]
    await press(said, "Include").click()
    await expect(press(said, "Exclude")).to_be_visible()
    assert (await house.get("/api/memory/items?only=excluded")).json()["items"] == []

    await field.fill("good company")
    answer = entry(page, "A river is good company.")
    await expect(answer.locator(".speaker")).to_contain_text("Skeptic")
    await answer.get_by_role("link", name="By the river").click()
    await expect(page).to_have_url(f"{house.url}/c/{conversation}#{turn}")
    await page.go_back()
    await expect(field).to_have_value("good company")
    await field.fill("zebra")
    await expect(page.get_by_text("Nothing that is remembered is about “zebra”.")).to_be_visible()
    assert await spill(page) == []
    await tool(page, "See all that is remembered").click()
    await expect(field).to_have_value("")
    await expect(page.locator(".memo").first).to_be_visible()


@reads
async def test_older_ones_come_on_request(house: House, desk: Desk) -> None:
    said = [f"Thing {number} is number {number}." for number in range(45)]
    notes = [fact(text, text, f"thing {number}") for number, text in enumerate(said)]
    await remember(house, "many", *said, at=datetime.now(UTC) - timedelta(days=3), facts=notes)
    page = await desk.open("/memory")
    await expect(page.get_by_text("The newest 30 statements")).to_be_visible()
    await expect(page.locator(".memo")).to_have_count(30)
    await tool(page, "Show older ones").click()
    await expect(page.locator(".memo")).to_have_count(45)
    await expect(page.get_by_text("45 statements")).to_be_visible()
    await expect(tool(page, "Show older ones")).to_have_count(0)
    shown = await page.locator(".statement").all_inner_texts()
    assert shown == [one["text"] for one in await known(house)]


async def test_nothing_is_remembered_yet(house: House, desk: Desk) -> None:
    page = await desk.open("/memory")
    await expect(page.get_by_text("Nothing is remembered yet.")).to_be_visible()
    for name in ("Pinned", "Excluded", "Superseded"):
        await page.get_by_role("radio", name=name).check()
        await expect(page.get_by_text(re.compile("^Nothing (is|was) "))).to_be_visible()
    await page.get_by_role("radio", name="What holds").check()
    await page.get_by_role("link", name="Begin a conversation").click()
    await expect(page.get_by_role("textbox", name="Your message")).to_be_visible()


@pytest.mark.parametrize("house", [{"models": {"default": "local:tiny"}}], indirect=True)
async def test_no_model_reads_along(house: House, desk: Desk) -> None:
    await ingest(house, "s1", "I'll call the bank tomorrow. The sky is blue over the river.")
    await worked(house)
    page = await desk.open("/memory")
    await expect(
        page.get_by_text("No facts are noted yet. 1 session can be searched")
    ).to_be_visible()
    await expect(page.get_by_text("plain rules note open loops")).to_be_visible()
    await page.get_by_role("link", name="Open loops").click()
    await expect(page.locator(".statement")).to_contain_text(["bank"])
    await page.get_by_role("link", name="Remembered").click()
    await page.get_by_role("searchbox").fill("sky")
    await expect(entry(page, "The sky is blue")).to_be_visible()


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
    field = page.get_by_role("textbox", name="Put it rightly")
    await field.fill("Lives elsewhere.")
    await tool(page, "Save").click()
    await expect(page.locator(".reword").get_by_role("alert")).to_contain_text("Not now.")
    await expect(field).to_have_value("Lives elsewhere.")
    await page.unroute("**/api/memory/facts/*")
    await tool(page, "Save").click()
    await expect(entry(page, "Lives elsewhere.")).to_be_visible()

    await page.route(
        "**/api/memory/forget",
        lambda route: refusing(409, "It is being read.")(route),
    )
    await press(entry(page, "Lives elsewhere."), "Forget").click()
    dialog = page.get_by_role("dialog")
    await tool(dialog, "Forget for good").click()
    await expect(dialog.get_by_role("alert")).to_contain_text("It is being read.")
    await tool(dialog, "Keep it").click()
    assert [one["text"] for one in await known(house)] == ["Lives elsewhere."]


@reads
async def test_two_tabs_agree(house: House, desk: Desk) -> None:
    desk.allow("status of 404")
    await talked(house)
    one = await desk.open("/memory")
    two = await desk.beside(one, "/memory")
    await expect(entry(two, HOUSE)).to_be_visible()
    await press(entry(one, HOUSE), "Pin").click()
    await expect(press(entry(two, HOUSE), "Unpin")).to_be_visible()
    await press(entry(two, HOUSE), "Forget").click()
    await expect(tool(two.get_by_role("dialog"), "Forget for good")).to_be_enabled()
    await press(entry(one, HOUSE), "Forget").click()
    await tool(one.get_by_role("dialog"), "Forget for good").click()
    await expect(one.locator(".memo")).to_have_count(0)
    await expect(two.locator(".memo")).to_have_count(0)
    await tool(two.get_by_role("dialog"), "Forget for good").click()
    await expect(two.get_by_role("dialog").get_by_role("alert")).to_contain_text("There is no fact")


@reads
async def test_the_way_here(house: House, desk: Desk) -> None:
    """From the list of rooms, the palette and the keyboard; and no key does harm here."""
    await talked(house)
    page = await desk.open("/usage")
    await page.get_by_role("link", name="Memory", exact=True).click()
    await expect(page).to_have_title("Memory · Polyvox")
    await page.get_by_role("link", name="Open loops").click()
    await expect(page).to_have_url(f"{house.url}/memory/open-loops")
    await expect(page).to_have_title("Open loops · Memory · Polyvox")
    await page.goto("/usage")
    await expect(page.get_by_role("heading", name="Usage", level=1)).to_be_visible()
    await page.keyboard.press("g")
    await page.keyboard.press("m")
    await expect(page).to_have_url(f"{house.url}/memory")
    await expect(entry(page, HOUSE)).to_be_visible()
    before = await known(house)
    for key in ("Delete", "Backspace", "x", "d", "f", "Enter"):
        await page.keyboard.press(key)
    assert await known(house) == before
    await expect(page.get_by_role("dialog")).to_have_count(0)


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


@reads
async def test_what_is_less_sure_is_counted_by_itself(house: House, desk: Desk) -> None:
    await talked(house)
    (one,) = (await house.get("/api/memory/items")).json()["items"]
    page = await desk.open("/memory")

    async def found(route: Route) -> None:
        response = await route.fetch()
        items = [
            {**one, "relevance": fits, "fact": {**one["fact"], "id": f"f{number}"}}
            for number, fits in enumerate((0.9, 0.8, 0.3))
        ]
        await route.fulfill(response=response, json={"items": items, "next": None})

    await page.route("**/api/memory/items?*q=*", found)
    await page.get_by_role("searchbox").fill("river")
    await expect(page.locator(".count")).to_have_text("2 things about “river”, and 1 less sure")
