"""On the page: answers without further questions, how long advisors only ask, recipes of one's
own, and a synthesis that says what to do next."""

from __future__ import annotations

import json

from playwright.async_api import expect
from tests.page.desk import Desk
from tests.page.house import House
from tests.page.talk import ask, card, composer, sent, state, tool
from tests.provider import Script


async def test_answer_now_skips_the_questions(house: House, desk: Desk) -> None:
    one, two = await house.voices("One.", "Two.")
    page = await desk.open("/")
    await expect(tool(page, "Answer now")).to_be_disabled()
    await ask(page, "It is broken.")
    await state(card(page, one), "completed")
    await state(card(page, two), "completed")
    assert "turn 1 of 3" in sent(house, one)
    await composer(page).fill("It is ten years old.")
    await tool(page, "Answer now").click()
    await state(card(page, one, 1), "completed")
    await state(card(page, two, 1), "completed")
    assert "Answer fully" in sent(house, one)
    assert sent(house, one).endswith("It is ten years old.")
    await expect(tool(page, "Answer now")).to_have_count(0)
    await ask(page, "And now?")
    await state(card(page, one, 2), "completed")
    assert "Answer fully" in sent(house, one)


async def test_answer_now_without_words_has_the_last_message_answered(
    house: House, desk: Desk
) -> None:
    (one,) = await house.voices("Asked.")
    page = await desk.open("/")
    await ask(page, "It is broken.")
    await state(card(page, one), "completed")
    await tool(page, "Answer now").click()
    await expect(card(page, one).locator(".versions").first).to_contain_text("2 of 2")
    await state(card(page, one), "completed")
    assert "Answer fully" in sent(house, one)
    assert sent(house, one).endswith("It is broken.")


async def test_phases_of_a_conversation_and_of_a_council(house: House, desk: Desk) -> None:
    (one,) = await house.voices("Asked.")
    page = await desk.open("/")
    await ask(page, "It is broken.")
    await state(card(page, one), "completed")
    await page.get_by_text("Conversation …").click()
    await page.get_by_label("Questions first").select_option("Off: answer at once")
    await expect(tool(page, "Answer now")).to_have_count(0)
    await page.reload()
    await page.get_by_text("Conversation …").click()
    await expect(page.get_by_label("Questions first")).to_have_value("0")
    await page.goto("/advisors")
    await tool(page, "New council").click()
    await page.get_by_label("Name", exact=True).fill("Brief")
    await page.get_by_label("Questions first").select_option("For 1 answer at most")
    await tool(page, "Save").click()
    await expect(page.get_by_role("heading", name="Brief")).to_be_visible()
    (council,) = (await house.get("/api/councils")).json()
    assert council["phases"] == 1


async def test_a_recipe_is_copied_changed_used_and_deleted(house: House, desk: Desk) -> None:
    (one,) = await house.voices("Briefly.")
    desk.allow("status of 409")
    page = await desk.open("/recipes")
    await tool(page, "Copy the recipe Council").click()
    await page.get_by_label("Name of your recipe").fill("council")
    await tool(page, "Copy").click()
    await expect(page.get_by_text("There is a recipe 'council' already.")).to_be_visible()
    await page.get_by_label("Name of your recipe").fill("Quick advice")
    await tool(page, "Copy").click()
    await expect(page.get_by_role("heading", name="Quick-advice", level=1)).to_be_visible()
    phases = page.get_by_role("region", name="Phases", exact=True)
    await tool(phases, "Remove early").click()
    await tool(page, "Save").click()
    await expect(page.get_by_role("region", name="Unsaved changes")).to_have_count(0)
    await page.get_by_role("link", name="Start a conversation").click()
    await expect(tool(page, "Answer now")).to_have_count(0)
    await ask(page, "Well?")
    await state(card(page, one), "completed")
    assert "Answer fully" in sent(house, one)
    await page.goto("/recipes/quick-advice")
    await tool(page, "Delete this recipe").click()
    await tool(page.get_by_role("dialog"), "Delete").click()
    await expect(tool(page, "Copy the recipe Council")).to_be_visible()
    await expect(page.get_by_role("heading", name="Quick-advice")).to_have_count(0)
    assert (await house.get("/api/recipes/quick-advice")).status == 404


async def test_a_synthesis_says_what_to_do_and_is_offered_again(house: House, desk: Desk) -> None:
    one, two = await house.voices("Sell.", "Keep.")
    written = {
        "points": [{"text": "Both would wait.", "advisors": [one["slug"], two["slug"]]}],
        "disagreements": [
            {
                "text": "Whether to sell.",
                "sides": [{"text": "Yes.", "advisors": [one["slug"]]}],
                "hinges_on": "How long the market holds.",
            }
        ],
        "next": [{"text": "Ask the bank.", "advisors": []}],
    }
    house.provider.script("default", Script(text=json.dumps(written)))
    page = await desk.open("/")
    await ask(page, "Sell it?")
    await tool(page, "Bring the answers together").click()
    synthesis = page.get_by_role("region", name="Synthesis")
    await state(synthesis, "completed")
    agreed = synthesis.get_by_role("listitem").filter(has_text="Both would wait.")
    await expect(agreed.locator(".who")).to_have_text([one["name"], two["name"]])
    await expect(synthesis).to_contain_text("It hinges on: How long the market holds.")
    await expect(synthesis.get_by_role("heading", name="Next steps")).to_be_visible()
    await expect(synthesis).to_contain_text("Ask the bank.")
    again = tool(page, "Bring them together again")
    await expect(again).to_have_count(0)
    await tool(page, "Let them respond to each other").click()
    await state(card(page, two, 1), "completed")
    await again.click()
    await expect(synthesis.locator(".versions")).to_contain_text("2 of 2")
    await expect(again).to_have_count(0)
