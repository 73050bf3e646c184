"""The recipes' room: what is changed there by hand is what a provider gets next."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.async_api import Locator, Page, expect
from tests.page.desk import Desk, Size, Theme, spill
from tests.page.house import House
from tests.page.talk import ask, card, sent, state, tool
from tests.page.test_axe import findings


async def changed(house: House, name: str = "council") -> Any:
    """What the server has as the user's changes."""
    return (await house.get(f"/api/recipes/{name}")).json()["changed"]


async def wording(house: House, name: str) -> str:
    """One of our own texts for large models."""
    recipe = (await house.get("/api/recipes/council")).json()
    return str(recipe["wording"]["full"][name])


def part(page: Page, title: str) -> Locator:
    """A part of the recipe by its heading."""
    return page.get_by_role("region", name=title, exact=True)


def in_words(page: Page) -> Locator:
    """The sentence that says what the recipe does."""
    return page.locator(".in-words")


async def save(page: Page) -> None:
    """Save, and wait until it is."""
    await tool(page, "Save").click()
    await expect(page.get_by_role("region", name="Unsaved changes")).to_have_count(0)


async def test_a_phase_is_changed_and_the_provider_gets_it(house: House, desk: Desk) -> None:
    one, two = await house.voices("I ask.", "I ask, too.")
    page = await desk.open("/")
    await ask(page, "What am I not seeing?")
    await state(card(page, one), "completed")
    await state(card(page, two), "completed")
    assert "turn 1 of 3" in sent(house, one)
    talk = page.url
    await page.get_by_role("link", name="Recipes").click()
    await page.get_by_role("link", name="Council", exact=True).click()
    await expect(in_words(page)).to_contain_text("The first 3 answers of each advisor follow")
    phases = part(page, "Phases")
    text = phases.get_by_label("What an advisor is told in “early”")
    await expect(text).to_have_attribute("placeholder", await wording(house, "early"))
    await phases.get_by_label("Lasts, in answers").fill("1")
    await expect(in_words(page)).to_contain_text("The first answer of each advisor follows “early”")
    await tool(phases, "Start from the built-in text").first.click()
    await expect(text).to_have_value(await wording(house, "early"))
    await text.fill("Ask about {n} thing: money. This is {k} of {n}.")
    await phases.get_by_label("What an advisor is told in “ongoing”").fill("Say it in one line.")
    await save(page)
    await expect(phases.get_by_text("changed by you")).to_be_visible()
    await page.goto(talk)
    await ask(page, "And now?")
    await expect(page.locator('article[data-state="completed"]')).to_have_count(4)
    for advisor in (one, two):
        system = house.heard(advisor)[-1]["messages"][0]["content"]
        assert "Say it in one line." in system, "the early phase is over after one answer"
        assert "Ask about" not in system
    await page.goto("/")
    await ask(page, "Something else.")
    await state(card(page, one), "completed")
    assert "Ask about 1 thing: money. This is 1 of 1." in sent(house, one)


async def test_who_sees_whom_reaches_the_provider(house: House, desk: Desk) -> None:
    one, two, three = await house.voices("Canary one.", "Canary two.", "Canary three.")
    conversation = await house.conversation(one, two, three)
    await house.say(conversation, "First?")
    await house.say(conversation, "Second?")
    assert "Canary one." in sent(house, two), "by default they see the last turn"
    page = await desk.open("/recipes/council")
    sight = part(page, "What advisors see of each other")
    await sight.get_by_role("radio", name="Nothing").check()
    await expect(in_words(page)).to_contain_text("Advisors do not see each other’s answers.")
    await save(page)
    await house.say(conversation, "Third?")
    for advisor in (one, two, three):
        others = {"Canary one.", "Canary two.", "Canary three."}
        others -= {house.heard(advisor)[-1]["messages"][2]["content"]}
        assert len(others) == 2
        assert not any(word in sent(house, advisor) for word in others)
        assert "For reference" not in sent(house, advisor)
    await tool(sight, "Add an exception").click()
    await sight.get_by_label("Advisor", exact=True).select_option(label="Listener")
    await sight.get_by_label("sees of").select_option(label="Builder")
    await sight.get_by_label("this much").select_option(label="The last turn")
    await expect(in_words(page)).to_contain_text("with 1 exception.")
    await save(page)
    pair = {"viewer": three["id"], "seen": two["id"], "level": "last_turn"}
    assert await changed(house) == {"visibility": {"default": "none", "pairs": [pair]}}
    await house.say(conversation, "Fourth?")
    assert "Canary two." in sent(house, three)
    assert "Canary one." not in sent(house, three)
    assert "Canary three." not in sent(house, two)
    await tool(sight, "Remove exception 1").click()
    await save(page)
    assert await changed(house) == {"visibility": {"default": "none"}}


async def test_only_what_differs_is_sent_and_undone_by_null(house: House, desk: Desk) -> None:
    page = await desk.open("/recipes/council")
    memory = part(page, "How much they remember")
    await expect(memory.get_by_label("Newest messages", exact=True)).to_have_count(0)
    await memory.get_by_role("radio", name="Only the newest messages of a session").check()
    await memory.get_by_label("Newest messages", exact=True).fill("4")
    await memory.get_by_label("Never send more than").fill("9000")
    await memory.get_by_label("Counted in").select_option("tokens")
    await expect(in_words(page)).to_contain_text("the last 4 messages of the current session")
    await expect(in_words(page)).to_contain_text("At most 9,000 tokens are sent.")
    times = part(page, "Times")
    await times.get_by_role("radio", name="Never").check()
    await part(page, "Model").get_by_label("Temperature").press_sequentially("0.25")
    await (
        part(page, "Bringing answers together")
        .get_by_role("radio", name="After every turn")
        .check()
    )
    await page.reload()
    await expect(times.get_by_role("radio", name="Never")).to_be_checked()
    async with page.expect_request(lambda one: one.method == "PATCH") as asked:
        await save(page)
    change = {
        "window": {"kind": "recent", "last_messages": 4},
        "context": "9000 tokens",
        "stamps": "none",
        "params": {"temperature": 0.25},
        "synthesis": "always",
    }
    assert (await asked.value).post_data_json == change
    assert await changed(house) == change
    await times.get_by_role("button", name="back to the original").click()
    await memory.get_by_label("Newest messages", exact=True).fill("8")
    async with page.expect_request(lambda one: one.method == "PATCH") as asked:
        await save(page)
    assert (await asked.value).post_data_json == {"stamps": None, "window": {"last_messages": None}}
    left = {**change, "window": {"kind": "recent"}}
    del left["stamps"]
    assert await changed(house) == left
    await tool(page, "Undo every change").click()
    await tool(page.get_by_role("dialog"), "Undo all").click()
    await expect(tool(page, "Undo every change")).to_have_count(0)
    assert await changed(house) == {}


async def test_phases_are_added_moved_and_removed(house: House, desk: Desk) -> None:
    desk.allow("422")
    page = await desk.open("/recipes/council")
    phases = part(page, "Phases")
    name = phases.get_by_label("Name")
    await tool(phases, "Add a phase").click()
    await expect(name.nth(1)).to_have_value("phase 3")
    await expect(name.nth(1)).to_be_focused()
    await name.nth(1).fill("middle")
    await tool(page, "Save").click()
    await expect(phases.get_by_role("alert").first).to_contain_text("The phase 'middle' has no")
    text = phases.get_by_label("What an advisor is told in “middle”")
    await expect(text).to_have_attribute("aria-invalid", "true")
    await text.fill("Take sides.")
    await phases.get_by_label("Lasts, in answers").nth(1).fill("2")
    await expect(in_words(page)).to_contain_text(
        "The first 3 answers of each advisor follow “early”; the next 2 “middle”; "
        "from then on “ongoing”."
    )
    await tool(phases, "Move middle up").click()
    await expect(tool(phases, "Move middle down")).to_be_focused()
    await tool(phases, "Remove early").click()
    await save(page)
    (first, second) = (await house.get("/api/recipes/council")).json()["recipe"]["phases"]
    assert first == {"name": "middle", "answers": 2, "text": "Take sides."}
    assert (second["name"], second["answers"]) == ("ongoing", None)
    await phases.get_by_role("checkbox", name="holds from then on").uncheck()
    await expect(phases).to_contain_text("After these, no phase holds.")
    await tool(page, "Discard").click()
    await tool(page.get_by_role("dialog"), "Discard").click()
    await phases.get_by_role("button", name="back to the original").click()
    await save(page)
    assert await changed(house) == {}


async def test_texts_of_ones_own(house: House, desk: Desk) -> None:
    (one,) = await house.voices("Yes.")
    page = await desk.open("/recipes/council")
    told = part(page, "What every advisor is told")
    await told.get_by_label("Text of “How it writes”").fill("{name} writes in verse.")
    await tool(told, "Leave out “Where it is”").click()
    await told.get_by_label("A text of your own").fill("House rules")
    await page.keyboard.press("Enter")
    await told.get_by_label("Text of “house_rules”").fill("Nobody is called a fool.")
    await tool(told, "Move “house_rules” up").click()
    await save(page)
    conversation = await house.conversation(one)
    await house.say(conversation, "Well?")
    system = house.heard(one)[-1]["messages"][0]["content"]
    assert "\n\nNobody is called a fool.\n\nSkeptic writes in verse.\n\n" in system
    assert await wording(house, "shared") not in system
    await tool(told, "Use the built-in text").click()
    await tool(told, "Put in “Where it is”").click()
    await save(page)
    assert (await changed(house))["texts"] == {"house_rules": "Nobody is called a fool."}
    await house.say(conversation, "And?")
    system = house.heard(one)[-1]["messages"][0]["content"]
    assert await wording(house, "rules") in system
    assert await wording(house, "shared") in system


async def test_the_server_speaks_at_the_part_it_means(house: House, desk: Desk) -> None:
    desk.allow("422")
    page = await desk.open("/recipes/council")
    model = part(page, "Model")
    await model.get_by_label("Model", exact=True).select_option(label="Another model …")
    await model.get_by_label("Its name").fill("nobody:knows")
    await tool(page, "Save").click()
    await expect(model.get_by_role("alert")).to_contain_text("There is no provider 'nobody'")
    await expect(part(page, "Times").get_by_role("alert")).to_have_count(0)
    await model.get_by_label("Model", exact=True).select_option("")
    await model.get_by_label("Temperature").fill("9")
    await tool(page, "Save").click()
    await expect(model.get_by_label("Temperature")).to_have_accessible_description(
        re.compile("Must be at most 2")
    )
    await model.get_by_label("Temperature").fill("")
    memory = part(page, "How much they remember")
    await memory.get_by_role("radio", name="The beginning and the newest part").check()
    await memory.get_by_label("Messages in all, at most").fill("0")
    await tool(page, "Save").click()
    await expect(memory.get_by_role("alert")).to_contain_text("at least one message")
    assert await changed(house) == {}


async def test_every_recipe_is_told_in_words(house: House, desk: Desk) -> None:
    await house.patch("/api/recipes/agent", {"stamps": "all", "texts": {"identity": "Be {name}."}})
    page = await desk.open("/recipes")
    council, agent = (page.locator(".cookbook article").nth(at) for at in (0, 1))
    await expect(council).to_contain_text("Several advisors answer the same message at once")
    await expect(council).to_contain_text("As it came.")
    await expect(agent).to_contain_text("at most 20 messages")
    await expect(agent).to_contain_text("changed by you times, texts")
    await agent.get_by_role("link", name="Agent", exact=True).click()
    text = part(page, "What every advisor is told").get_by_label("Text of “Who it is”")
    await expect(text).to_have_value("Be {name}.")
    await expect(text).to_have_attribute("placeholder", "{identity}")
    await tool(page, "Use the built-in text").click()
    await save(page)
    assert await changed(house, "agent") == {"stamps": "all"}
    agent_now = (await house.get("/api/recipes/agent")).json()
    assert agent_now["recipe"]["texts"] == agent_now["standard"]["texts"]


async def test_a_recipe_nobody_knows(house: House, desk: Desk) -> None:
    desk.allow("404")
    page = await desk.open("/recipes/soup")
    await expect(page.get_by_role("alert")).to_contain_text("There is no recipe 'soup'.")


@pytest.mark.parametrize(("size", "theme"), [("phone", "dark"), ("desktop", "light")])
async def test_an_edited_recipe_at_each_width(
    house: House, desk: Desk, size: Size, theme: Theme
) -> None:
    await house.voices("One.", "Two.")
    page = await desk.open("/recipes/council", size=size, theme=theme)
    await tool(page, "Add an exception").click()
    await tool(page, "Add a phase").click()
    await page.get_by_role("radio", name="The beginning and the newest part").check()
    await page.get_by_label("Name").nth(1).fill("a phase with a long name " * 2)
    await expect(page.get_by_text("not saved yet", exact=True)).to_have_count(3)
    assert await spill(page) == []
    assert await findings(page) == []
