"""The other parts of the memory room: open loops, profile, days, the work behind them, a file."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playwright.async_api import Locator, Page, Route, expect
from tests.page.desk import Desk, spill
from tests.page.house import House
from tests.page.notes import READS, fact, ingest, loop, remember, replies, worked
from tests.page.talk import tool
from tests.provider import Script

reads = pytest.mark.parametrize("house", [READS], indirect=True, ids=["reads"])
EVERY = "status=open&status=needs_review&status=stale&status=done&status=dropped"
HERE = "/memory/open-loops"


def entry(page: Page, text: str) -> Locator:
    return page.locator(".memo").filter(has=page.locator(".statement", has_text=text))


def press(where: Locator, name: str) -> Locator:
    return where.get_by_role("button", name=re.compile(f"^{name}"))


async def loops(house: House) -> dict[str, Any]:
    """Every loop there is, by its text."""
    told = (await house.get(f"/api/memory/loops?{EVERY}")).json()
    return {one["text"]: one for one in told}


async def busy(house: House) -> None:
    """A loop that is due, one that nobody has spoken of for long, and one without a day."""
    now = datetime.now(UTC)
    await remember(
        house, "s1", "I keep my Sunday walk with Rui.", at=now - timedelta(days=40),
        loops=[loop("I keep my Sunday walk with Rui", "Walk with Rui", type="habit",
                    horizon="ongoing", domain="relationships")],
    )  # fmt: skip
    tomorrow = (now + timedelta(days=1)).date().isoformat()
    await remember(
        house, "s2", "I'll call the bank. I wait for the plumber to answer me.", at=now,
        loops=[loop("I'll call the bank", "Call the bank", due=tomorrow, horizon="today",
                    importance=5, urgency=5, tags=["money"]),
               loop("I wait for the plumber", "Hear from the plumber", type="thread",
                    horizon="ongoing", importance=1, urgency=1)],
    )  # fmt: skip


@reads
async def test_loops_by_how_pressing_they_are(house: House, desk: Desk) -> None:
    await busy(house)
    page = await desk.open(HERE, size="phone")
    await expect(page.locator(".statement")).to_have_text(
        ["Call the bank", "Hear from the plumber", "Walk with Rui"]
    )
    bank = entry(page, "Call the bank")
    await expect(bank.locator(".marks")).to_have_text("due tomorrowmoney")
    await expect(bank.locator(".margin-note")).to_contain_text("commitment")
    await expect(bank.locator("blockquote")).to_have_text("“I'll call the bank”")
    walk = entry(page, "Walk with Rui")
    await expect(walk.locator(".marks")).to_contain_text("still open? last mentioned")
    await expect(walk.locator(".marks")).to_contain_text("relationships")
    await expect(page.get_by_text("3 loops, the most urgent first")).to_be_visible()
    assert await spill(page) == []


@reads
async def test_a_loop_ends_and_is_taken_up_again(house: House, desk: Desk) -> None:
    await busy(house)
    page = await desk.open(HERE)
    bank = entry(page, "Call the bank")
    await press(bank, "Done").click()
    await expect(bank).to_have_attribute("data-status", "done")
    assert (await loops(house))["Call the bank"]["status"] == "done"
    await press(entry(page, "plumber"), "Drop").click()
    await expect(entry(page, "plumber")).to_have_attribute("data-status", "dropped")
    await press(entry(page, "Walk with Rui"), "Still open").click()
    await expect(entry(page, "Walk with Rui").locator(".marks")).not_to_contain_text("still open?")
    assert (await loops(house))["Walk with Rui"]["status"] == "open"

    await page.get_by_role("radio", name="Done").check()
    await expect(page.locator(".statement")).to_have_text(["Call the bank"])
    await press(bank, "Open again").click()
    await expect(bank).to_have_attribute("data-status", "open")
    assert (await loops(house))["Call the bank"]["status"] == "open"
    await page.get_by_role("radio", name="Dropped").check()
    await expect(page.locator(".statement")).to_have_text(["Hear from the plumber"])
    await page.get_by_role("radio", name="Open", exact=True).check()
    await expect(page.locator(".statement")).to_have_text(["Call the bank", "Walk with Rui"])
    await press(bank, "Delete").click()
    question = page.get_by_role("dialog", name="Delete this loop?")
    await expect(question).to_contain_text("The message it came from stays.")
    await tool(question, "Delete").click()
    await expect(page.locator(".statement")).to_have_text(["Walk with Rui"])
    assert set(await loops(house)) == {"Walk with Rui", "Hear from the plumber"}


@reads
async def test_a_loop_is_pinned(house: House, desk: Desk) -> None:
    """It stays where it was pressed, stands first from the next look on, and does not grow old; in
    another tab it moves at once."""
    await busy(house)
    page = await desk.open(HERE, size="phone")
    other = await desk.beside(page, HERE)
    await expect(other.locator(".statement").first).to_have_text("Call the bank")
    walk = entry(page, "Walk with Rui")
    await expect(walk.locator(".marks")).to_contain_text("still open?")
    await press(walk, "Pin").click()
    await expect(press(walk, "Unpin")).to_have_attribute("aria-pressed", "true")
    await expect(press(walk, "Unpin")).to_be_focused()
    await expect(walk.locator(".marks span").first).to_have_text("pinned")
    await expect(walk.locator(".marks")).not_to_contain_text("still open?")
    await expect(page.locator(".notices")).to_contain_text("Pinned. It comes first.")
    told = (await loops(house))["Walk with Rui"]
    assert (told["pinned"], told["status"]) == (True, "open")
    first = ["Walk with Rui", "Call the bank", "Hear from the plumber"]
    await expect(other.locator(".statement")).to_have_text(first)
    await page.reload()
    await expect(page.locator(".statement")).to_have_text(first)
    words = "3 loops, pinned first, then the most urgent"
    await expect(page.get_by_text(words)).to_be_visible()
    assert await spill(page) == []

    await press(walk, "Done").click()
    await expect(press(walk, "Open again")).to_be_visible()
    await expect(press(walk, "Unpin")).to_have_count(0)
    await page.get_by_role("radio", name="Done").check()
    await expect(walk.locator(".marks")).to_contain_text("done")
    await press(walk, "Open again").click()
    await page.get_by_role("radio", name="Open", exact=True).check()
    await expect(page.locator(".statement")).to_have_text(first)
    await press(walk, "Unpin").click()
    await expect(press(walk, "Pin")).to_have_attribute("aria-pressed", "false")
    assert (await loops(house))["Walk with Rui"]["pinned"] is False
    await page.reload()
    await expect(page.locator(".statement").first).to_have_text("Call the bank")


@reads
async def test_a_loop_is_put_rightly_and_given_a_day(house: House, desk: Desk) -> None:
    await busy(house)
    page = await desk.open(HERE)
    await press(entry(page, "Call the bank"), "Correct").click()
    await page.get_by_role("textbox", name="Corrected text").fill("Write to the bank")
    day = (datetime.now(UTC) + timedelta(days=3)).date().isoformat()
    await page.get_by_label("Due").fill(day)
    await tool(page, "Save").click()
    mine = entry(page, "Write to the bank")
    await expect(mine.locator(".marks")).to_contain_text("due in 3 days")
    await expect(mine.locator("blockquote")).to_have_text("“I'll call the bank”")
    await expect(press(mine, "Correct")).to_be_focused()
    told = await loops(house)
    assert (told["Write to the bank"]["dueDate"], "Call the bank" in told) == (day, False)
    await press(mine, "Correct").click()
    await page.get_by_label("Due").fill("")
    await tool(page, "Save").click()
    await expect(mine.locator(".marks")).not_to_contain_text("due")
    assert (await loops(house))["Write to the bank"]["dueDate"] is None


async def test_nothing_is_open(house: House, desk: Desk) -> None:
    page = await desk.open(HERE)
    await expect(page.get_by_text("Nothing is open.")).to_be_visible()
    await page.get_by_role("link", name="Profile").click()
    await expect(page.get_by_text("Your profile is empty.")).to_be_visible()
    await page.get_by_role("link", name="Days").click()
    await expect(page.get_by_text("No days yet.")).to_be_visible()


# the profile


def place(page: Page, name: str) -> Locator:
    return page.locator(".place").filter(has=page.locator("dt", has_text=re.compile(f"^{name}$")))


async def model(house: House) -> Any:
    return (await house.get("/api/memory/profile")).json()["model"]


async def told_of_oneself(house: House) -> None:
    await remember(
        house, "s1", "Call me Ana. Never use bullet points. I clean when I should write.",
        profile=[{"quote": "I clean when I should write", "field": "patterns",
                  "text": "Cleans instead of writing.", "stated": False, "confidence": 0.62},
                 {"quote": "Call me Ana", "field": "name", "text": "Ana"}],
        instructions=[{"quote": "Never use bullet points", "text": "Never use bullet points"}],
    )  # fmt: skip


@reads
async def test_the_profile_and_who_says_so(house: House, desk: Desk) -> None:
    await told_of_oneself(house)
    page = await desk.open("/memory/profile", size="phone")
    name = place(page, "Name")
    await expect(name.locator(".statement")).to_have_text("Ana")
    await expect(name.locator(".marks")).to_have_text("you said this")
    await expect(name.locator("blockquote")).to_have_text("“Call me Ana”")
    pattern = place(page, "Patterns")
    await expect(pattern.locator(".marks")).to_have_text("inferred, 62 % sure")
    bars = page.get_by_role("region", name="How much is known").get_by_role("listitem")
    await expect(bars.filter(has_text="Life in general")).to_contain_text("%")
    await expect(bars.filter(has_text="Work")).to_contain_text("0 %")
    assert await spill(page) == []


@reads
async def test_lines_are_written_by_hand(house: House, desk: Desk) -> None:
    await told_of_oneself(house)
    page = await desk.open("/memory/profile")
    work = (
        page.get_by_role("region", name="Long-term goals").locator(".place").filter(has_text="Work")
    )
    await tool(work, "Add: Work").click()
    field = work.get_by_role("textbox")
    await expect(field).to_be_focused()
    await field.fill("To teach.")
    await tool(work, "Save").click()
    await expect(work.locator(".statement")).to_have_text("To teach.")
    await expect(work.locator(".marks")).to_have_text("written by you")
    assert (await model(house))["north_star"]["work"]["text"] == "To teach."
    bars = page.get_by_role("region", name="How much is known").get_by_role("listitem")
    await expect(bars.filter(has_text="Work")).to_contain_text("33 %")

    people = place(page, "People")
    await tool(people, "Add: People").click()
    await people.get_by_label("Name").fill("Rui")
    await people.get_by_label("Who they are to you").fill("Brother; walks on Sundays.")
    await tool(people, "Save").click()
    await expect(people.locator(".statement")).to_have_text("Rui Brother; walks on Sundays.")
    (rui,) = (await model(house))["key_relationships"]
    assert (rui["name"], rui["text"]) == ("Rui", "Brother; walks on Sundays.")

    rules = place(page, "Standing instructions")
    await tool(rules, "Add: Standing instructions").click()
    await rules.get_by_role("textbox").fill("Be brief.")
    await page.reload()
    await expect(rules.get_by_role("textbox")).to_have_value("Be brief.")
    await tool(rules, "Save").click()
    await expect(rules.locator(".statement")).to_have_text(["Never use bullet points", "Be brief."])
    before = (await model(house))["instructions"][0]
    assert before["evidence"], "who else said what stays as it is"

    await press(rules.locator(".profile-line").last, "Edit").click()
    await rules.get_by_role("textbox").fill("Be brief, but kind.")
    await tool(rules, "Save").click()
    await expect(rules.locator(".statement").last).to_have_text("Be brief, but kind.")
    lines = [one["text"] for one in (await model(house))["instructions"]]
    assert lines == ["Never use bullet points", "Be brief, but kind."]

    await press(place(page, "Name"), "Delete").click()
    question = page.get_by_role("dialog", name="Delete this line?")
    await tool(question, "Delete").click()
    await expect(place(page, "Name").locator(".statement")).to_have_count(0)
    assert (await model(house))["name"] is None
    assert (await house.get("/api/memory/items?q=Ana")).json()["items"], "the message stays"


@reads
async def test_a_line_that_somebody_changed_meanwhile(house: House, desk: Desk) -> None:
    desk.allow("status of 404", "status of 409")
    await told_of_oneself(house)
    page = await desk.open("/memory/profile")
    await press(place(page, "Name"), "Edit").click()
    line = (await model(house))["name"]["id"]
    await house.patch(f"/api/memory/profile/lines/{line}", {"text": "Anna"})
    field = place(page, "Name").get_by_role("textbox")
    await field.fill("Annie")
    await tool(place(page, "Name"), "Save").click()
    await expect(page.get_by_role("alert")).to_contain_text("does not have this line any more")
    await expect(field).to_have_value("Annie")
    assert (await model(house))["name"]["text"] == "Anna"
    other = await desk.beside(page, "/memory/profile")
    await expect(place(other, "Name").locator(".statement")).to_have_text("Anna")
    await tool(other, "Add: Tone").click()
    await place(other, "Tone").get_by_role("textbox").fill("dry")
    await tool(place(other, "Tone"), "Save").click()
    await expect(place(page, "Tone").locator(".statement")).to_have_text("dry")


# days


@reads
async def test_days_and_their_sessions(house: House, desk: Desk) -> None:
    now = datetime.now(UTC)
    said = (
        "I wrote two pages of the letter before breakfast, and it went well enough for once.",
        "Then I walked to the river and back, twice, because the light was so good today.",
        "In the evening I called Marta and told her everything, and she laughed and said yes.",
    )
    await remember(
        house, "s1", *said, at=now - timedelta(days=3), summary="Two pages, a walk, and Marta.",
        themes=["the letter", "the river"], scores={"mood": 8, "energy": 6}, confidence=0.9,
        steering_note="Ask for the last line of the letter.",
    )  # fmt: skip
    (one,) = await house.voices("Yes.")
    conversation = await house.conversation(one, title="Today")
    replies(house.provider, summary="They asked whether it is so.")
    turn = await house.say(conversation, "Is it so?")
    (session,) = (await house.get("/api/sessions")).json()
    await house.post(f"/api/sessions/{session['id']}/end")
    await worked(house)
    page = await desk.open("/memory/days", size="phone")
    days = page.locator(".day-entry")
    await expect(days).to_have_count(2)
    await expect(days.first).to_contain_text("The summary of this day comes when it is over.")
    await expect(days.first).to_contain_text("They asked whether it is so.")
    past = days.last
    await expect(past.locator(".themes")).to_have_text("the letterthe river")
    await expect(past.locator(".note")).to_contain_text("Ask for the last line of the letter.")
    await expect(past.locator(".scores")).to_contain_text("8 of 10")
    await expect(past).to_contain_text("3 messages of yours.")
    await expect(past).to_contain_text("Two pages, a walk, and Marta.")
    told = (await house.get("/api/memory/days")).json()["items"][1]
    assert told["analysis"]["steeringNote"] == "Ask for the last line of the letter."
    assert await spill(page) == []
    await days.first.get_by_role("link", name="Today").click()
    await expect(page).to_have_url(f"{house.url}/c/{conversation}#{turn['turn_id']}")


# the work behind it, and a file


@reads
async def test_work_that_did_not_go_well_is_tried_again(house: House, desk: Desk) -> None:
    house.provider.script("notes", Script(text="I would rather not."))
    await ingest(house, "s1", "I live by the river.")
    await worked(house)
    page = await desk.open("/memory")
    line = page.locator(".undone")
    await expect(line).to_contain_text("Could not take notes of a session")
    await expect(line).to_contain_text("did not return valid notes")
    await expect(line).to_contain_text("Next try at")
    await expect(line.get_by_role("link", name="Settings → Models")).to_have_attribute(
        "href", "/settings#models"
    )
    facts = [fact("I live by the river", "Lives by the river.", "home")]
    replies(house.provider, gates={0: "again"}, facts=facts)
    await press(line, "Retry").click()
    await expect(line).to_have_text("Still taking notes: 1 task to go.")
    house.provider.gate("again").set()
    await expect(entry(page, "Lives by the river.")).to_be_visible()
    await expect(line).to_be_hidden()
    assert (await house.get("/api/jobs?state=failed")).json()["items"] == []


async def test_work_whose_time_has_come_is_looked_at_again(house: House, desk: Desk) -> None:
    """By the server's clock: the page's own may be wrong."""
    job = {"id": "j1", "kind": "extract", "subject": "[]", "state": "pending", "attempts": 1,
           "due_at": 3_000_000, "failure": "No model was there.", "session_id": None}  # fmt: skip
    told = iter([(1_000_000, [job]), (3_000_000, [job]), (9_000_000, [])])

    async def tell(route: Route) -> None:
        now, items = next(told)
        count = {"pending": len(items), "running": 0, "failed": 0}
        await route.fulfill(json={**count, "now": now, "items": items})

    page = await desk.open("/search")
    await page.route("**/api/jobs*", tell)
    await page.get_by_role("link", name="Memory", exact=True).click()
    line = page.locator(".undone")
    await expect(line).to_contain_text("No model was there. Next try at")
    await expect(line).to_have_text("Still taking notes: 1 task to go.")
    await expect(line).to_be_hidden()


@reads
async def test_memory_is_taken_along(house: House, desk: Desk) -> None:
    await told_of_oneself(house)
    page = await desk.open("/memory")
    async with page.expect_download() as waiting:
        await tool(page, "Export all of memory as a file").click()
    file = await waiting.value
    assert re.fullmatch(r"polyvox-memory-\d{4}-\d\d-\d\d\.json", file.suggested_filename)
    told = json.loads((await file.path()).read_text(encoding="utf-8"))
    assert told["profile"]["model"]["name"]["text"] == "Ana"
    assert told["profile"] == {
        **(await house.get("/api/memory/profile")).json(),
    }
