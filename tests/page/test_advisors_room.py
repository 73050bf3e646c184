"""The advisors' room: every advisor made, changed, moved and removed by hand, and its history."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.async_api import Locator, Page, expect
from tests.page.desk import GONE, Desk, Size, Theme, spill
from tests.page.house import House, Process
from tests.page.talk import tool
from tests.page.test_axe import findings


def row(page: Page, name: str) -> Locator:
    """An advisor's line in the list."""
    return page.locator(".voice", has=page.get_by_role("link", name=name, exact=True))


def said(page: Page, text: str | re.Pattern[str]) -> Locator:
    """A notice that says so."""
    return page.get_by_role("status").filter(has_text=text)


async def names(house: House) -> list[str]:
    """Every advisor by name, in the server's order."""
    return [one["name"] for one in (await house.get("/api/advisors")).json()]


async def order(page: Page, *expected: str) -> None:
    """Wait until the list reads so."""
    await expect(page.locator(".voice h3")).to_have_text(list(expected))


async def advisor(house: House, slug: str) -> Any:
    """It as the server has it."""
    return (await house.get(f"/api/advisors/{slug}")).json()


async def test_an_advisor_is_made(house: House, desk: Desk) -> None:
    await house.voices("Yes.")
    page = await desk.open("/advisors")
    await page.get_by_role("link", name="New advisor").click()
    await page.get_by_role("textbox", name="Name", exact=True).fill("The Ferryman")
    await page.get_by_label("Description").fill("You know both banks. You ask what is left behind.")
    await page.get_by_role("radio", name="Moss").check()
    await page.get_by_label("Model").select_option(label="Another model …")
    await page.get_by_label("Its name").fill("lab:deep")
    await page.reload()
    await expect(page.get_by_role("heading", level=1)).to_have_text("FThe Ferryman")
    await tool(page, "Add this advisor").click()
    await order(page, "Skeptic", "The Ferryman")
    await expect(row(page, "The Ferryman")).to_contain_text("You know both banks.")
    await expect(row(page, "The Ferryman")).to_contain_text("lab:deep")
    made = await advisor(house, "the-ferryman")
    assert (made["color"], made["model"], made["active"]) == ("#3f6b2a", "lab:deep", True)
    assert made["prompt"] is None
    await page.goto("/advisors?new")
    await expect(page.get_by_role("textbox", name="Name", exact=True)).to_have_value("")


async def test_what_the_server_refuses_is_said_at_the_field(house: House, desk: Desk) -> None:
    desk.allow("422", "409")
    await house.voices("Yes.", "No.")
    page = await desk.open("/advisors/skeptic")
    name = page.get_by_role("textbox", name="Name", exact=True)
    await name.fill("")
    await tool(page, "Save").click()
    await expect(name).to_have_accessible_description("Must not be empty.")
    await name.fill("Skeptic")
    await page.get_by_label("Model").select_option(label="Another model …")
    model = page.get_by_label("Its name")
    await model.fill("nobody:knows")
    await tool(page, "Save").click()
    await expect(model).to_have_accessible_description(re.compile("There is no provider 'nobody'"))
    await model.fill("no colon")
    await tool(page, "Save").click()
    await expect(model).to_have_accessible_description(re.compile(r"written \"provider:name\""))
    await page.get_by_label("Model").select_option("")
    short = page.get_by_label("Short name")
    await short.fill("builder")
    await tool(page, "Save").click()
    await expect(short).to_have_accessible_description(
        re.compile("There is already an advisor 'builder'. Choose another slug.")
    )
    await short.fill("a b")
    await tool(page, "Save").click()
    await expect(short).to_have_accessible_description(re.compile("small letters, digits"))
    await page.get_by_text("How its model is asked").click()
    await page.get_by_label("Temperature").fill("7")
    await short.fill("doubter")
    await tool(page, "Save").click()
    await expect(page.get_by_label("Temperature")).to_have_accessible_description(
        re.compile("Must be at most 2")
    )
    assert (await advisor(house, "skeptic"))["name"] == "Skeptic"


async def test_an_advisor_is_changed_and_leaving_loses_nothing(house: House, desk: Desk) -> None:
    (one,) = await house.voices("Yes.")
    page = await desk.open("/advisors/skeptic")
    await page.get_by_role("textbox", name="Name", exact=True).fill("The Doubter")
    await page.get_by_label("Short name").fill("doubter")
    await page.get_by_role("radio", name="Violet").check()
    await page.get_by_text("How its model is asked").click()
    await page.get_by_label("Temperature").press_sequentially("0.75")
    await page.get_by_label("Thinking").fill("0")
    await page.get_by_role("switch", name="Answers when everybody is asked").uncheck()
    bar = page.get_by_role("region", name="Unsaved changes")
    await expect(bar).to_contain_text("name, short name, colour, how its model is asked")
    await page.get_by_role("link", name="Usage").click()
    await page.get_by_role("link", name="Advisors").click()
    await page.get_by_role("link", name="Skeptic", exact=True).click()
    await expect(page.get_by_label("Short name")).to_have_value("doubter")
    await page.reload()
    await expect(page.get_by_role("textbox", name="Name", exact=True)).to_have_value("The Doubter")
    assert (await advisor(house, one["id"]))["name"] == "Skeptic", "nothing is saved unasked"
    await tool(page, "Save").click()
    await expect(page).to_have_url(re.compile("/advisors/doubter$"))
    await expect(bar).to_have_count(0)
    now = await advisor(house, "doubter")
    assert now["name"] == "The Doubter"
    assert (now["color"], now["active"]) == ("#5b4a8a", False)
    kept = {"max_tokens": None, "temperature": 0.75, "top_p": None, "reasoning": 0}
    assert now["params"] == kept
    assert now["version_id"] == one["version_id"], "its prompt did not change"


async def test_changes_can_be_discarded(house: House, desk: Desk) -> None:
    await house.voices("Yes.")
    page = await desk.open("/advisors/skeptic")
    name = page.get_by_role("textbox", name="Name", exact=True)
    await name.fill("Somebody else")
    await tool(page, "Discard").click()
    await tool(page, "Keep them").click()
    await expect(name).to_have_value("Somebody else")
    await tool(page, "Discard").click()
    await tool(page.get_by_role("dialog"), "Discard").click()
    await expect(name).to_have_value("Skeptic")
    await page.reload()
    await expect(name).to_have_value("Skeptic")


async def test_only_what_was_changed_is_sent(house: House, desk: Desk) -> None:
    (one,) = await house.voices("Yes.")
    page = await desk.open("/advisors/skeptic")
    await page.get_by_role("textbox", name="Name", exact=True).fill("Mine")
    await page.get_by_text("How its model is asked").click()
    await page.get_by_label("Top p").fill("0.5")
    other = {"description": "You were changed elsewhere.", "name": "Theirs"}
    await house.patch(f"/api/advisors/{one['id']}", {**other, "params": {"max_tokens": 99}})
    await page.evaluate("() => window.dispatchEvent(new Event('focus'))")
    await expect(page.get_by_text("changed elsewhere meanwhile")).to_have_count(2)
    await expect(page.get_by_label("Description")).to_have_value("You were changed elsewhere.")
    async with page.expect_request(lambda sent: sent.method == "PATCH") as asked:
        await tool(page, "Save").click()
    params = {"max_tokens": 99, "temperature": None, "top_p": 0.5, "reasoning": None}
    assert (await asked.value).post_data_json == {"name": "Mine", "params": params}
    await expect(page.get_by_role("region", name="Unsaved changes")).to_have_count(0)
    now = await advisor(house, one["id"])
    assert (now["name"], now["description"]) == ("Mine", "You were changed elsewhere.")


async def test_what_was_changed_elsewhere_can_be_taken(house: House, desk: Desk) -> None:
    (one,) = await house.voices("Yes.")
    page = await desk.open("/advisors/skeptic")
    await page.get_by_role("textbox", name="Name", exact=True).fill("Mine")
    await house.patch(f"/api/advisors/{one['id']}", {"name": "Theirs"})
    await page.evaluate("() => window.dispatchEvent(new Event('focus'))")
    await tool(page, "Take the other").click()
    await expect(page.get_by_role("textbox", name="Name", exact=True)).to_have_value("Theirs")
    await expect(page.get_by_role("region", name="Unsaved changes")).to_have_count(0)


async def test_two_tabs_share_what_is_not_saved(house: House, desk: Desk) -> None:
    await house.voices("Yes.")
    page = await desk.open("/advisors/skeptic")
    await page.get_by_label("Description").fill("You doubt, and you say why.")
    beside = await desk.beside(page, "/advisors/skeptic")
    await expect(beside.get_by_label("Description")).to_have_value("You doubt, and you say why.")
    await tool(beside, "Save").click()
    await expect(page.get_by_role("region", name="Unsaved changes")).to_have_count(0)
    await page.evaluate("() => window.dispatchEvent(new Event('focus'))")
    await expect(page.get_by_label("Description")).to_have_value("You doubt, and you say why.")


async def test_advisors_are_moved(house: House, desk: Desk) -> None:
    await house.voices("One.", "Two.", "Three.")
    page = await desk.open("/advisors")
    await order(page, "Skeptic", "Builder", "Listener")
    await expect(tool(page, "Move Skeptic up")).to_be_disabled()
    await tool(page, "Move Listener up").click()
    await order(page, "Skeptic", "Listener", "Builder")
    await expect(said(page, "Listener is now 2 of 3.")).to_be_attached()
    await expect(tool(page, "Move Listener up")).to_be_focused()
    await page.keyboard.press("Enter")
    await order(page, "Listener", "Skeptic", "Builder")
    handle = tool(page, "Move Builder: drag, or use the arrow keys")
    await handle.focus()
    await page.keyboard.press("ArrowUp")
    await order(page, "Listener", "Builder", "Skeptic")
    await expect(handle).to_be_focused()
    assert await names(house) == ["Listener", "Builder", "Skeptic"]


@pytest.mark.parametrize("size", ["desktop", "phone"])
async def test_advisors_are_dragged(house: House, desk: Desk, size: Size) -> None:
    await house.voices("One.", "Two.", "Three.")
    page = await desk.open("/advisors", size=size)
    handle = tool(page, "Move Skeptic: drag, or use the arrow keys")
    await handle.hover()
    await page.mouse.down()
    target = await row(page, "Listener").bounding_box()
    assert target is not None
    await page.mouse.move(target["x"] + 20, target["y"] + 10, steps=8)
    await expect(row(page, "Listener")).to_have_class(re.compile("after"))
    await page.keyboard.press("Escape")
    await page.mouse.up()
    assert await names(house) == ["Skeptic", "Builder", "Listener"], "Escape leaves it as it was"
    await handle.hover()
    await page.mouse.down()
    await page.mouse.move(target["x"] + 20, target["y"] + 10, steps=8)
    await page.mouse.up()
    await order(page, "Builder", "Listener", "Skeptic")
    await expect(said(page, "Skeptic is now 3 of 3.")).to_be_attached()
    await page.reload()
    await order(page, "Builder", "Listener", "Skeptic")


async def test_an_advisor_is_switched_off(house: House, desk: Desk) -> None:
    one, _ = await house.voices("One.", "Two.")
    page = await desk.open("/advisors")
    await page.get_by_role("switch", name="Skeptic answers").uncheck()
    await expect(page.get_by_text("2 advisors · 1 switched on")).to_be_visible()
    assert (await advisor(house, one["id"]))["active"] is False
    await page.get_by_role("switch", name="Builder answers").uncheck()
    await expect(page.get_by_text("a plain assistant answers until somebody is")).to_be_visible()


async def test_an_advisor_is_duplicated(house: House, desk: Desk) -> None:
    one, _ = await house.voices("One.", "Two.", params={"temperature": 0.3})
    await house.patch(f"/api/advisors/{one['id']}", {"prompt": "You doubt."})
    page = await desk.open("/advisors")
    await tool(page, "Duplicate Skeptic").click()
    await expect(page).to_have_url(re.compile("/advisors/skeptic-copy$"))
    await expect(page.get_by_label("Prompt")).to_have_value("You doubt.")
    assert await names(house) == ["Skeptic", "Skeptic (copy)", "Builder"]
    copy = await advisor(house, "skeptic-copy")
    before = await advisor(house, one["id"])
    same = ("description", "prompt", "model", "color", "params")
    assert {name: copy[name] for name in same} == {name: before[name] for name in same}
    assert copy["active"] is False, "nobody is asked twice unasked"


async def test_an_advisor_is_removed_and_its_answers_stay(house: House, desk: Desk) -> None:
    one, _ = await house.voices("I stay.", "Two.")
    conversation = await house.conversation(one)
    await house.say(conversation, "Well?")
    page = await desk.open("/advisors")
    await tool(page, "Remove Skeptic").click()
    question = page.get_by_role("dialog")
    await expect(question).to_contain_text("The answers it gave stay where they are.")
    await expect(tool(question, "Keep")).to_be_focused()
    await tool(question, "Keep").click()
    assert len(await names(house)) == 2
    await tool(page, "Remove Skeptic").click()
    await tool(question, "Remove").click()
    await order(page, "Builder")
    await expect(said(page, "Skeptic is removed. Its answers stay.")).to_be_visible()
    assert list((await house.texts(conversation)).values()) == ["I stay."]


async def test_nobody_is_here(house: House, desk: Desk) -> None:
    await house.voices()
    page = await desk.open("/advisors")
    await expect(page.get_by_text("Nobody is here yet.")).to_be_visible()
    await tool(page, "propose some for a question").click()
    await expect(page.get_by_role("dialog", name="Suggest perspectives")).to_be_visible()


async def test_an_address_that_leads_to_nobody(house: House, desk: Desk) -> None:
    desk.allow("404")
    page = await desk.open("/advisors/nobody")
    await expect(page.get_by_role("alert")).to_contain_text("There is no advisor 'nobody'.")
    await expect(page.get_by_role("alert")).to_contain_text("Known advisors:")


async def test_hostile_words_are_only_words(house: House, desk: Desk) -> None:
    bad = "<img src=x onerror=alert(1)>\"'</textarea><script>alert(2)</script>"
    (one,) = await house.voices("Yes.", description=bad)
    await house.patch(f"/api/advisors/{one['id']}", {"name": bad, "prompt": f"{bad} twice {bad}"})
    await house.council(one, name=bad)
    page = await desk.open("/advisors")
    await expect(page.locator(".voice h3")).to_have_text([bad])
    await expect(page.locator(".sets h3")).to_have_text([bad])
    await page.goto(f"/advisors/{one['slug']}")
    await expect(page.get_by_label("Prompt")).to_have_value(f"{bad} twice {bad}")
    await expect(page.locator(".changes")).to_contain_text("<script>alert(2)</script>")


async def test_councils(house: House, desk: Desk) -> None:
    one, two, three = await house.voices("One.", "Two.", "Three.")
    page = await desk.open("/advisors")
    await tool(page, "New council").click()
    dialog = page.get_by_role("dialog")
    await expect(tool(dialog, "Save")).to_be_disabled()
    await dialog.get_by_label("Name", exact=True).fill("Money")
    await dialog.get_by_role("checkbox", name="Listener").check()
    await dialog.get_by_role("checkbox", name="Skeptic").check()
    assert await findings(page) == []
    await tool(dialog, "Save").click()
    await expect(page.locator(".sets li")).to_contain_text("2 advisors · recipe council")
    (made,) = (await house.get("/api/councils")).json()
    assert made["advisors"] == [one["id"], three["id"]]
    await tool(page, "Edit the council Money").click()
    await dialog.get_by_label("Name", exact=True).fill("Time")
    await dialog.get_by_role("checkbox", name="Listener").uncheck()
    await dialog.get_by_role("checkbox", name="Builder").check()
    await dialog.get_by_role("radio", name="Agent").check()
    await tool(dialog, "Save").click()
    await expect(page.locator(".sets h3")).to_have_text("Time")
    (now,) = (await house.get("/api/councils")).json()
    assert (now["name"], now["recipe"]) == ("Time", "agent")
    assert now["advisors"] == [one["id"], two["id"]]
    await tool(page, "Delete the council Time").click()
    await expect(dialog).to_contain_text("Its advisors stay")
    await tool(dialog, "Delete").click()
    await expect(page.locator(".sets li")).to_have_count(0)
    assert (await house.get("/api/councils")).json() == []
    assert len(await names(house)) == 3


@pytest.mark.process
async def test_nothing_is_lost_while_the_server_is_away(house: Process, desk: Desk) -> None:
    desk.allow(GONE)
    await house.voices("Yes.")
    page = await desk.open("/advisors/skeptic")
    await page.get_by_label("Description").fill("You doubt, also when nobody listens.")
    await house.kill()
    await tool(page, "Save").click()
    await expect(page.get_by_role("region", name="Unsaved changes")).to_contain_text(
        "The server cannot be reached."
    )
    await house.start()
    await page.reload()
    await tool(page, "Save").click()
    await expect(page.get_by_role("region", name="Unsaved changes")).to_have_count(0)
    now = await advisor(house, "skeptic")
    assert now["description"] == "You doubt, also when nobody listens."


@pytest.mark.parametrize(("size", "theme"), [("phone", "dark"), ("desktop", "light")])
async def test_an_edited_advisor_at_each_width(
    house: House, desk: Desk, size: Size, theme: Theme
) -> None:
    (one,) = await house.voices("Yes.", description="w" * 300)
    await house.patch(f"/api/advisors/{one['id']}", {"description": f"{'word ' * 80}end."})
    page = await desk.open("/advisors/skeptic", size=size, theme=theme)
    await page.get_by_text("How its model is asked").click()
    await page.get_by_role("textbox", name="Name", exact=True).fill("N" * 120)
    await expect(page.get_by_text("not saved yet", exact=True)).to_be_visible()
    await expect(page.locator(".changes ins")).to_have_count(1)
    assert await spill(page) == []
    assert await findings(page) == []


async def test_twenty_advisors_at_each_width(house: House, desk: Desk) -> None:
    made = await house.voices(*(["Yes."] * 20))
    long = {"name": "W" * 120, "model": f"lab:{'m' * 200}", "description": "d" * 2000}
    await house.patch(f"/api/advisors/{made[3]['id']}", long)
    await house.council(*made, name="C" * 120)
    page = await desk.open("/advisors", size="phone")
    await expect(page.locator(".voice")).to_have_count(20)
    await expect(page.locator(".sets li")).to_contain_text("20 advisors")
    assert await spill(page) == []
    assert await findings(page) == []
