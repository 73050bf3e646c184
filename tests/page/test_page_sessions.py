"""The sessions' room: how each session ended, what was said in it, and what became of it."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from playwright.async_api import Browser, Locator, Page, expect
from tests.page.desk import Desk, spill
from tests.page.house import House, open_house
from tests.page.notes import READS, fact, loop, replies, worked
from tests.page.talk import tool
from tests.provider import Script

reads = pytest.mark.parametrize("house", [READS], indirect=True, ids=["reads"])
instant = pytest.mark.parametrize(
    "house", [READS | {"sessions": {"idle_minutes": 0.000001}}], indirect=True, ids=["instant"]
)


def row(page: Page, title: str) -> Locator:
    """A session in the list."""
    return page.locator(".stretches > li").filter(has=page.get_by_role("link", name=title))


async def only(house: House, conversation: str) -> Any:
    (one,) = (await house.get(f"/api/sessions?conversation={conversation}")).json()
    return one


@reads
async def test_a_session_is_ended_and_remembered(house: House, desk: Desk) -> None:
    replies(
        house.provider,
        summary="They talked about a boat.",
        facts=[fact("the boat", "Has a boat.", "boat")],
        loops=[loop("sell the boat", "Sell the boat")],
    )
    one, two = await house.voices("Yes.", "No.")
    boat = await house.conversation(one, two, title="The boat")
    first = await house.say(boat, "Shall I sell the boat?")
    await house.say(boat, "And if nobody wants it?")
    await house.say(await house.conversation(one, title="Another matter"), "Something else?")

    page = await desk.open("/sessions")
    await expect(row(page, "The boat")).to_contain_text("2 messages · still going on")
    await expect(row(page, "The boat").locator(".began")).to_have_text("Shall I sell the boat?")
    await expect(row(page, "Another matter")).to_contain_text("1 message · still going on")
    await tool(page, "End the session in The boat").click()
    await expect(row(page, "The boat")).to_contain_text("ended by you")
    session = await only(house, boat)
    assert session["ended_by"] == "person"
    await worked(house)
    await expect(row(page, "The boat")).to_contain_text("remembered")
    await expect(tool(page, "End the session in Another matter")).to_be_visible()
    asked = [request.json() for request in house.provider.requests("notes")]
    assert any("Shall I sell the boat?" in one["messages"][-1]["content"] for one in asked)

    await page.get_by_role("link", name="The boat").last.click()
    await expect(page).to_have_url(f"{house.url}/sessions/{session['id']}")
    await expect(page.get_by_role("heading", name="The boat", level=1)).to_be_visible()
    turns = page.locator(".utterances > li")
    await expect(turns).to_have_count(2)
    await expect(turns.first).to_contain_text("Shall I sell the boat?")
    await expect(turns.first.locator(".heard .name")).to_have_text(["Skeptic", "Builder"])
    for kind in ("Kept", "Facts and open ends", "A summary"):
        step = page.locator(".work > li").filter(has_text=kind)
        await expect(step).to_have_attribute("data-state", "done")
    await expect(turns.first.locator(".heard .began")).to_have_text(["Yes.", "No."])
    noted = page.locator(".noted-of")
    await expect(noted).to_contain_text("They talked about a boat.")
    await expect(noted.get_by_role("link", name="Sell the boat")).to_have_attribute(
        "href", "/memory/open-loops"
    )
    await expect(noted.get_by_role("link", name="Has a boat.")).to_have_attribute(
        "href", "/memory?q=Has%20a%20boat."
    )
    await turns.first.get_by_role("link").click()
    await expect(page).to_have_url(f"{house.url}/c/{boat}#turn-{first['turn_id']}")
    await expect(page.get_by_role("heading", name="Shall I sell the boat?")).to_be_in_viewport()


@instant
async def test_silence_ends_one_too(house: House, desk: Desk) -> None:
    replies(house.provider)
    (one,) = await house.voices("Yes.")
    there = await house.conversation(one, title="Slow talk")
    await house.say(there, "One.")
    await house.say(there, "Two.")
    page = await desk.open("/sessions")
    await expect(page.locator(".stretches > li")).to_have_count(2)
    ended = page.locator(".stretches > li").last
    await expect(ended).to_contain_text("ended when you had been silent for a while")
    found = (await house.get("/api/sessions")).json()
    assert found[-1]["ended_by"] == "idle"


@reads
async def test_work_that_did_not_succeed_is_tried_again(house: House, desk: Desk) -> None:
    house.provider.script("notes", Script(text="I would rather not."))
    (one,) = await house.voices("Yes.")
    there = await house.conversation(one, title="The boat")
    await house.say(there, "Shall I sell the boat?")
    session = await only(house, there)
    await house.post(f"/api/sessions/{session['id']}/end")
    await worked(house)
    (job,) = (await house.get(f"/api/jobs?session={session['id']}")).json()["items"]
    assert (job["kind"], job["state"], job["attempts"]) == ("extract", "pending", 1)

    page = await desk.open(f"/sessions/{session['id']}")
    step = page.locator(".work > li").filter(has_text="Facts and open ends")
    await expect(step).to_contain_text(job["failure"])
    await expect(step).to_contain_text("waiting, next try at")
    replies(house.provider)
    await tool(page, "Try again: Facts and open ends").click()
    await expect(step).to_have_attribute("data-state", "done")
    await expect(page.locator(".work > li").last).to_have_attribute("data-state", "done")
    await worked(house)
    assert (await house.get(f"/api/jobs?session={session['id']}")).json()["items"] == []
    await page.get_by_role("link", name="Sessions").first.click()
    await expect(row(page, "The boat")).to_contain_text("remembered")


@asynccontextmanager
async def memory_service(taken: list[Any], answers: list[int]) -> AsyncIterator[str]:
    """A remote memory that answers so, one after the other, and then well."""

    async def ingest(request: web.Request) -> web.Response:
        taken.append(await request.json())
        status = answers.pop(0) if answers else 200
        said = {"status": "ingested", "sessionId": taken[-1]["sessionId"]}
        return web.json_response(said if status == 200 else {}, status=status)

    app = web.Application()
    app.router.add_post("/session/ingest", ingest)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


async def test_a_failure_says_why(browser: Browser, tmp_path: Path) -> None:
    """A memory service that refuses a session at once, and takes it when asked again."""
    taken: list[Any] = []
    async with (
        memory_service(taken, [422]) as url,
        open_house(tmp_path / "home", memory={"url": url}) as house,
    ):
        (one,) = await house.voices("Yes.")
        there = await house.conversation(one, title="The boat")
        await house.say(there, "Shall I sell the boat?")
        session = await only(house, there)
        desk = Desk(browser, house.url)
        page = await desk.open("/sessions", size="phone")
        await tool(page, "End the session in The boat").click()
        here = row(page, "The boat")
        await expect(here).to_contain_text("Kept: failed.")
        await expect(here).to_contain_text("The memory service did not take the session")
        assert await spill(page) == []
        (job,) = (await house.get("/api/jobs?state=failed")).json()["items"]
        assert job["session_id"] == session["id"]
        await tool(page, "Try again: Kept").click()
        await expect(here).to_contain_text("remembered")
        assert [one["sessionId"] for one in taken] == [session["id"]] * 2
        assert taken[1]["messages"][0]["text"] == "Shall I sell the boat?"
        await desk.close()
        assert desk.watch.wrong() == []


async def test_nothing_there_and_nothing_known(house: House, desk: Desk) -> None:
    desk.allow("status of 404")
    page = await desk.open("/sessions")
    await expect(page.get_by_text("There are no sessions yet.")).to_be_visible()
    await page.goto("/sessions/none")
    await expect(page.get_by_role("alert")).to_contain_text("There is no session none.")
    await expect(page.get_by_role("link", name="Sessions").last).to_be_visible()


async def test_older_sessions_come_when_asked_for(house: House, desk: Desk) -> None:
    (one,) = await house.voices("Yes.")
    for number in range(52):
        await house.send(await house.conversation(one, title=f"Talk {number}"), "Hello?")
    page = await desk.open("/sessions")
    await expect(page.locator(".stretches > li")).to_have_count(50)
    await expect(row(page, "Talk 51")).to_be_visible()
    await tool(page, "Older sessions").click()
    await expect(page.locator(".stretches > li")).to_have_count(52)
    await expect(page.get_by_role("link", name=re.compile("^Talk 0$")).last).to_be_visible()
    await expect(tool(page, "Older sessions")).to_have_count(0)
