"""Perspectives for a question: proposed by a model, picked and changed by a person."""

from __future__ import annotations

import json

from playwright.async_api import expect
from tests.page.desk import Desk
from tests.page.house import House
from tests.page.talk import tool
from tests.page.test_advisors_room import advisor, order
from tests.page.test_axe import findings
from tests.provider import Script

PROPOSED = [
    {
        "name": "Tenant",
        "description": "You would live in the house. You ask what it is like in winter.",
        "why": "Nobody else will sleep there.",
    },
    {
        "name": "Notary",
        "description": "You read what was signed. You ask who may decide at all.",
        "why": "The house may not be hers to sell.",
    },
    {
        "name": "Neighbour",
        "description": "You look over the fence. You ask what is promised to the street.",
        "why": "The garden has two sides.",
    },
]


async def test_perspectives_are_suggested_and_picked(house: House, desk: Desk) -> None:
    (one,) = await house.voices("Yes.")
    house.provider.script("default", Script(text=json.dumps({"suggestions": PROPOSED})))
    page = await desk.open("/advisors")
    await tool(page, "Suggest perspectives").click()
    dialog = page.get_by_role("dialog", name="Suggest perspectives")
    await dialog.get_by_label("The question you carry").fill("Should I sell the house?")
    await dialog.get_by_label("How many").select_option("3")
    await tool(dialog, "Suggest").click()
    await expect(dialog).to_contain_text("3 proposals by lab:default.")
    await expect(dialog).to_contain_text("The house may not be hers to sell.")
    await expect(tool(dialog, "Pick somebody")).to_be_disabled()
    assert "Should I sell the house?" in house.provider.requests("default")[-1].body.decode()
    await dialog.get_by_role("checkbox", name="Tenant").check()
    await dialog.get_by_role("checkbox", name="Notary").check()
    await tool(dialog, "Edit Notary").click()
    await dialog.get_by_label("Name", exact=True).fill("The Notary")
    await dialog.get_by_label("Description").fill("You read what was signed, twice.")
    assert await findings(page) == []
    await page.keyboard.press("Escape")
    await expect(dialog).to_have_count(0)
    await tool(page, "Suggest perspectives").click()
    await tool(dialog, "Add 2 advisors").click()
    await expect(dialog).to_have_count(0)
    await order(page, "Skeptic", "Tenant", "The Notary")
    notary = await advisor(house, "the-notary")
    assert notary["description"] == "You read what was signed, twice."
    tenant = await advisor(house, "tenant")
    assert len({one["color"], notary["color"], tenant["color"]}) == 3


async def test_a_suggestion_that_fails_or_is_stopped(house: House, desk: Desk) -> None:
    desk.allow("429")
    await house.voices("Yes.")
    house.provider.queue("default", Script(status=429, error="Too many."), Script(hold="never"))
    page = await desk.open("/advisors")
    await tool(page, "Suggest perspectives").click()
    dialog = page.get_by_role("dialog", name="Suggest perspectives")
    await dialog.get_by_label("The question you carry").fill("Well?")
    await tool(dialog, "Suggest").click()
    await expect(dialog.get_by_role("alert")).to_contain_text("Too many.")
    await tool(dialog, "Suggest").click()
    await expect(dialog).to_contain_text("This takes as long as the model takes.")
    await tool(dialog, "Stop").click()
    await expect(tool(dialog, "Suggest")).to_be_enabled()
    await expect(dialog.get_by_role("alert")).to_have_count(0)
    await house.provider.gone(house.provider.requests("default")[-1])
    await tool(dialog, "Close").click()
    await tool(page, "Suggest perspectives").click()
    await expect(dialog.get_by_label("The question you carry")).to_have_value("Well?")
