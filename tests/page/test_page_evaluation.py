"""The room of assertions: the list, runs with intervals and reasons, a prompt that is improved."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Locator, Page, expect
from tests.page.desk import Desk, spill
from tests.page.house import House
from tests.page.talk import tool
from tests.provider import Script

MODELS = {"models": {"default": "lab:default", "judge": "lab:judge", "optimizer": "lab:writer"}}
judged = pytest.mark.parametrize("house", [MODELS], indirect=True, ids=["judged"])
PROMPT = "You weigh things slowly and say what you would do."
BETTER = "Close with one question."


def speaks(body: Any) -> Script:
    """An advisor that closes with a question once its prompt asks for one."""
    asks = any(BETTER in str(one["content"]) for one in body["messages"])
    return Script(text="I would wait. What is the hurry?" if asks else "I would wait.")


def writes(body: Any) -> Script:
    """A rewriter that adds what is missing."""
    given = {"reason": "It never asks.", "instructions": f"{PROMPT} {BETTER}"}
    assert body["messages"]
    return Script(text=json.dumps(given))


async def advised(house: House, *texts: str) -> tuple[Any, list[Any]]:
    """An advisor with a conversation behind it, and assertions drawn from its answer."""
    house.provider.script("judge", Script(judges=True, fails=("rhymes",)))
    house.provider.made("weigher", speaks)
    house.provider.made("writer", writes)
    for one in (await house.get("/api/advisors")).json():
        await house.delete(f"/api/advisors/{one['id']}")
    body = {"name": "Weigher", "description": "Weighs.", "prompt": PROMPT, "model": "lab:weigher"}
    advisor = (await house.post("/api/advisors", body)).json()
    conversation = await house.conversation(advisor)
    turn = await house.say(conversation, "Sell the boat?")
    made = []
    for text in texts:
        reply = await house.post(
            "/api/assertions", {"answer_id": turn["answers"][0]["answer_id"], "text": text}
        )
        assert reply.status == 201, reply.text
        made.append(reply.json())
    return advisor, made


def rows(page: Page) -> Locator:
    return page.get_by_role("list", name="Assertions", exact=True).locator("> li")


@judged
async def test_the_list_of_an_advisor(house: House, desk: Desk) -> None:
    """Found, edited, switched off, tagged, removed; each with where it comes from in short."""
    advisor, (first, second, third) = await advised(house, "Is slow", "Has rhymes", "Is kind")
    page = await desk.open("/assertions")
    await page.get_by_role("link", name="Weigher").click()
    await expect(page.get_by_role("heading", name="How Weigher should answer")).to_be_visible()
    await expect(rows(page)).to_have_count(3)
    await expect(rows(page).first.locator(".origin")).to_have_text(
        "From “Sell the boat?” → “I would wait.”"
    )
    await tool(page, "Edit: Is slow").click()
    await page.get_by_role("textbox", name="Assertion").fill("Takes its time")
    await page.get_by_role("textbox", name="Tags").fill("voice, pace")
    await tool(page, "Save").click()
    await expect(rows(page).first.locator(".says")).to_have_text("Takes its time")
    now = (await house.get(f"/api/assertions/{first['id']}")).json()
    assert (now["version"], now["tags"]) == (2, ["voice", "pace"])
    await tool(page, "History: Takes its time").click()
    await expect(page.get_by_label("Versions").locator("li")).to_contain_text(
        ["Takes its time", "Is slow"]
    )
    await tool(page, "Do not use: Has rhymes").click()
    await expect(rows(page).nth(1)).to_contain_text("not in use")
    assert not (await house.get(f"/api/assertions/{second['id']}")).json()["active"]
    await page.get_by_role("searchbox").fill("kind")
    await expect(rows(page)).to_have_count(1)
    await page.get_by_role("searchbox").fill("")
    await page.get_by_role("combobox").select_option("pace")
    await expect(rows(page)).to_have_count(1)
    await page.get_by_role("combobox").select_option("")
    await expect(rows(page)).to_have_count(3)

    await tool(page, "Remove: Is kind").click()
    await tool(page.get_by_role("dialog"), "Keep").click()
    await expect(rows(page)).to_have_count(3)
    await tool(page, "Remove: Is kind").click()
    await tool(page.get_by_role("dialog"), "Remove").click()
    await expect(rows(page)).to_have_count(2)
    assert (await house.get(f"/api/assertions/{third['id']}")).status == 404

    await page.get_by_role("checkbox", name="All").check()
    await tool(page, "Use").first.click()
    await expect(rows(page).nth(1)).not_to_contain_text("not in use")
    assert (await house.get(f"/api/assertions/{second['id']}")).json()["active"]
    assert advisor["slug"] in page.url


@judged
async def test_written_by_hand_and_taken_elsewhere(
    house: House, desk: Desk, tmp_path: Path
) -> None:
    advisor, _ = await advised(house)
    page = await desk.open(f"/assertions/{advisor['slug']}")
    await expect(page.get_by_text("Nothing has been asserted of Weigher yet.")).to_be_visible()
    await tool(page, "Write some").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_role("textbox", name="What should hold").fill("Is calm\nIs short")
    await dialog.get_by_role("textbox", name="Asked with").fill("Buy a boat?")
    await tool(dialog, "Keep 2 assertions").click()
    await expect(rows(page)).to_have_count(2)
    await expect(rows(page).first.locator(".origin")).to_have_text("Asked with “Buy a boat?”")
    async with page.expect_download() as saved:
        await tool(page, "Export").click()
    path = tmp_path / "suite.yaml"
    await (await saved.value).save_as(path)
    assert "Is calm" in path.read_text(encoding="utf-8")
    await page.locator("input[type=file]").set_input_files(path)
    await expect(page.get_by_text("2 were there already")).to_be_visible()
    await expect(rows(page)).to_have_count(2)


@judged
async def test_a_run_from_its_start_to_the_measure(house: House, desk: Desk) -> None:
    """Chosen, run three times each, with intervals, reasons and the answers; overruled, made the
    measure, and another run compared with it."""
    advisor, (slow, rhymes) = await advised(house, "Is slow", "Has rhymes")
    page = await desk.open(f"/assertions/{advisor['slug']}", size="phone")
    await expect(rows(page)).to_have_count(2)
    await page.get_by_role("spinbutton", name="Times each").fill("3")
    await tool(page, "Run 2 assertions").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("1 of 2 hold, 1 does not")
    results = page.get_by_role("list", name="Results").locator("> li")
    good, bad = results.filter(has_text="Is slow"), results.filter(has_text="Has rhymes")
    await expect(good.locator(".outcome")).to_contain_text("holds")
    await expect(bad.locator(".outcome")).to_contain_text("does not hold")
    run = page.url.rpartition("/")[2]
    said = (await house.get(f"/api/evaluations/{run}")).json()
    result = {one["assertion_id"]: one for one in said["results"]}[slow["id"]]
    span = f"{result['low'] * 100:.0f} % and {result['high'] * 100:.0f} %"
    await expect(good.get_by_role("img")).to_have_attribute(
        "aria-label", f"100 %, somewhere between {span}"
    )
    await tool(bad, "Reasons: Has rhymes").click()
    why = bad.locator(".verdict").first
    await expect(why.locator("q")).not_to_be_empty()
    await why.get_by_text("What it answered").click()
    await expect(why.locator(".prose")).to_have_text("I would wait.")
    await why.get_by_role("button", name=re.compile("^Overrule")).click()
    await expect(why).to_contain_text("you say so")
    verdicts = (await house.get(f"/api/assertions/{rhymes['id']}/verdicts")).json()["items"]
    assert [one["overruled"] for one in verdicts].count("pass") == 1
    assert await spill(page) == []
    await tool(page, "Make it the measure").click()
    await expect(tool(page, "No longer the measure")).to_be_visible()

    house.provider.script("judge", Script(judges=True, fails=("slow",)))
    await page.get_by_role("link", name="How Weigher should answer").click()
    await expect(page.get_by_text("the measure")).to_be_visible()
    plot = page.get_by_role("img", name=re.compile("Pass rate over"))
    await expect(plot).to_be_visible()
    await tool(page, "Run 2 assertions").click()
    await expect(page.get_by_role("heading", name="Against the measure")).to_be_visible()
    await expect(page.locator(".compared .broken")).to_contain_text(
        "Is slow held before, and does not now"
    )


@judged
async def test_a_run_that_is_cancelled_and_one_without_a_judge(house: House, desk: Desk) -> None:
    advisor, _ = await advised(house, "Is slow")
    house.provider.made("weigher", lambda _: Script(pieces=("I", " would."), gates={1: "go"}))
    page = await desk.open(f"/assertions/{advisor['slug']}")
    await tool(page, "Run 1 assertion").click()
    await tool(page, "Cancel").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Cancelled")
    house.provider.gate("go").set()
    house.provider.made("weigher", speaks)
    house.provider.script("judge", Script(status=503, error="away"))
    await page.get_by_role("link", name="How Weigher should answer").click()
    await tool(page, "Run 1 assertion").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text(
        "0 of 1 hold, 1 could not be judged"
    )
    house.provider.script("judge", Script(judges=True))
    await tool(page, "Try the errors again").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("1 of 1 hold")


@judged
async def test_a_prompt_is_improved_accepted_and_rolled_back(house: House, desk: Desk) -> None:
    advisor, (asks, *_) = await advised(house, "Closes with a question")
    reply = await house.patch(
        f"/api/assertions/{asks['id']}", {"kind": "ends_with_question", "args": {}}
    )
    assert reply.status == 200, reply.text
    page = await desk.open(f"/assertions/{advisor['slug']}", size="phone")
    await page.get_by_role("link", name="Improve the prompt").click()
    await expect(page.locator(".estimate")).to_contain_text("lab:writer")
    await page.get_by_role("spinbutton", name="Proposals at most").fill("3")
    await page.get_by_role("spinbutton", name="Spend at most").fill("")
    start = tool(page, "Start with 1 assertion")
    await expect(start).to_be_enabled()
    await start.click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Better")
    run = (await house.get(f"/api/optimizations/{page.url.rpartition('/')[2]}")).json()
    await expect(page.locator(".verdict-words")).to_have_text(run["message"])
    await expect(page.locator(".changes ins")).to_contain_text("Close with one question")
    line = page.locator(".before-after tbody tr").first
    await expect(line).to_contain_text(re.compile("0 of 5.*5 of 5"))
    await tool(page, "Answers side by side: Closes with a question").click()
    await expect(page.locator(".samples section").first).to_contain_text("I would wait.")
    await expect(page.locator(".samples section").last).to_contain_text("What is the hurry?")
    assert await spill(page) == []
    await tool(page, "Accept the new prompt").click()
    await expect(page.get_by_text("Accepted: it is in force.")).to_be_visible()
    now = (await house.get(f"/api/advisors/{advisor['id']}")).json()
    assert now["prompt"] == run["final_prompt"] == f"{PROMPT} {BETTER}"
    await tool(page, "Roll it back").click()
    await expect(page.get_by_text("Rolled back: your earlier text is in force.")).to_be_visible()
    assert (await house.get(f"/api/advisors/{advisor['id']}")).json()["prompt"] == PROMPT


@judged
async def test_an_optimisation_is_cancelled_and_a_refusal_is_told(house: House, desk: Desk) -> None:
    advisor, _ = await advised(house, "Has rhymes")
    house.provider.made("writer", lambda _: Script(pieces=("{", "}"), gates={1: "go"}))
    page = await desk.open(f"/assertions/{advisor['slug']}/improve")
    await page.get_by_role("spinbutton", name="Spend at most").fill("")
    await tool(page, "Start with 1 assertion").click()
    progress = page.locator(".progress").filter(has_text="Looking for a better one")
    await expect(progress).to_contain_text("/10")
    await tool(page, "Cancel").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Cancelled")
    house.provider.gate("go").set()
    empty = (await house.post("/api/advisors", {"name": "Bare", "description": "Bare."})).json()
    desk.allow("status of 4")
    await page.goto(f"/assertions/{empty['slug']}/improve")
    await expect(page.get_by_role("alert")).to_be_visible()
    await expect(tool(page, "Start")).to_be_disabled()
