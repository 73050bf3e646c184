"""The phase of an assertion on the page: chosen in the forms, shown in the list."""

from __future__ import annotations

import json

from playwright.async_api import expect
from tests.page.desk import Desk
from tests.page.house import House
from tests.page.talk import tool
from tests.page.test_page_assertions import answered, asserted, linted, opened
from tests.page.test_page_evaluation import advised, judged, rows
from tests.provider import Script


@judged
async def test_chosen_in_the_form_and_told_in_the_list(house: House, desk: Desk) -> None:
    advisor, _ = await advised(house, "Is slow")
    page = await desk.open(f"/assertions/{advisor['slug']}")
    await expect(rows(page).first).to_contain_text("phase early")
    await tool(page, "Write some").click()
    dialog = page.get_by_role("dialog")
    phase = dialog.get_by_role("combobox", name="Phase")
    await expect(phase).to_have_value("ongoing")
    await dialog.get_by_role("textbox", name="What should hold").fill("Gives advice")
    await tool(dialog, "Keep 1 assertion").click()
    await expect(rows(page).nth(1)).to_contain_text("phase ongoing")
    await tool(page, "Edit: Gives advice").click()
    await page.get_by_role("combobox", name="Phase").select_option("early")
    await page.get_by_role("textbox", name="Assertion").fill("at most 150 words")
    await tool(page, "Save").click()
    await expect(rows(page).nth(1)).to_contain_text("phase early")
    await expect(rows(page).nth(1)).to_contain_text("counts words")


@judged
async def test_a_card_means_its_own_phase_and_warns_of_another(house: House, desk: Desk) -> None:
    (advisor,), conversation, _ = await answered(house)
    page = await desk.open(f"/c/{conversation}")
    dialog = await opened(page, advisor)
    phase = dialog.get_by_role("combobox", name="Phase")
    await expect(phase.locator("option:checked")).to_have_text("As in this answer")
    warning = {"rule": "contradictory", "message": "The early phase gives no advice.", "split": []}
    house.provider.script("judge", linted([warning], None))
    await dialog.get_by_role("textbox").fill("Gives advice")
    ask = dialog.get_by_role("button", name="Ask for a second opinion")
    await ask.click()
    await expect(dialog.get_by_label("A second opinion")).to_contain_text(warning["message"])
    await phase.select_option("ongoing")
    house.provider.script("judge", linted([], None))
    await ask.click()
    await expect(dialog.get_by_text("Nothing to warn of.")).to_be_visible()
    asked = [
        json.loads(call.json()["messages"][-1]["content"])["phase"]
        for call in house.provider.requests("judge")
    ]
    assert ["turn {k} of {n}" in text for text in asked] == [True, False]
    await tool(dialog, "Keep 1 assertion").click()
    await expect(dialog.locator(".taken")).to_have_count(0)
    assert [each["phase"] for each in await asserted(house, advisor)] == ["ongoing"]


@judged
async def test_what_can_be_seen_and_one_click_for_more_contexts(house: House, desk: Desk) -> None:
    advisor, _ = await advised(house, "Ends well")
    for number in range(9):
        await house.say(await house.conversation(advisor), f"And boat number {number}?")
    page = await desk.open(f"/assertions/{advisor['slug']}/improve")
    remark = page.locator(".remark").filter(has_text="1 assertion in 1 context can show only")
    await expect(remark).to_contain_text("contexts to see 20")
    await tool(remark, "Add contexts from other conversations").click()
    await expect(page.get_by_text("can show a change of 20 points or more.")).to_be_visible()
    estimate = await house.post("/api/optimizations/estimate", {"advisor_id": advisor["slug"]})
    assert estimate.json()["visible"]["add"] == 0


@judged
async def test_not_yet_judged_is_not_run(house: House, desk: Desk) -> None:
    advisor, (assertion,) = await advised(house, "Is slow")
    house.provider.script("judge", Script(gates={0: "not-yet"}, pieces=("x",)))
    begun = await house.post("/api/evaluations", {"assertion_ids": [assertion["id"]]})
    page = await desk.open(f"/assertions/{advisor['slug']}/runs/{begun.json()['id']}")
    result = page.get_by_role("list", name="Results").locator("> li")
    await expect(result.locator(".outcome")).to_have_text("not run")
    now = (await house.get(f"/api/evaluations/{begun.json()['id']}")).json()
    assert [row["judged"] for row in now["results"]] == [False]
    await tool(page, "Cancel").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Cancelled")
    await expect(result.locator(".outcome")).to_have_text("not run")
