"""A conversation with one voice: begun from the first page, told apart by its sessions, ended by
the person, gone on with later."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.async_api import Page, expect
from tests.companion.lounge import reading_text
from tests.page.desk import Desk, Size, spill
from tests.page.house import House
from tests.page.notes import replies
from tests.page.talk import ask, composer, state, tool
from tests.provider import Script

MODELS = {"default": "lab:default", "gate": "lab:gate", "memory": "lab:notes"}
alone = pytest.mark.parametrize("house", [{"models": MODELS}], indirect=True, ids=["alone"])
instant = pytest.mark.parametrize(
    "house",
    [{"models": MODELS, "sessions": {"idle_minutes": 0.000001}}],
    indirect=True,
    ids=["instant"],
)


def scripted(house: House, *replies_: Script | str) -> None:
    """What the companion says, one after the other; the gate reads nothing into any message."""
    house.provider.script("gate", Script(text=reading_text({})))
    given = [Script(text=one) if isinstance(one, str) else one for one in replies_]
    house.provider.queue("default", *given)
    replies(house.provider)


def heard(house: House) -> list[Any]:
    """Every request for the companion's model."""
    return [request.json()["messages"] for request in house.provider.requests("default")]


def said(messages: list[Any]) -> list[str]:
    return [one["content"] for one in messages if one["role"] != "system"]


async def the_sessions(house: House) -> list[Any]:
    """Oldest first."""
    return list(reversed((await house.get("/api/sessions")).json()))


async def begun(house: House, page: Page, name: str, message: str) -> str:
    """Begin with a companion from the first page; the conversation's id."""
    await (
        page.get_by_role("region", name="Or talk with one alone")
        .get_by_role("link", name=re.compile(name))
        .click()
    )
    await expect(page.get_by_role("heading", name=name, level=1)).to_be_visible()
    await ask(page, message)
    await expect(page).to_have_url(re.compile(r"/c/[^/]+$"))
    return page.url.rpartition("/")[2]


async def answered(page: Page, name: str, count: int = 1) -> None:
    """Wait until it has answered so often."""
    cards = page.get_by_role("article", name=name)
    await expect(cards).to_have_count(count)
    await state(cards.last, "completed")


@alone
async def test_a_companion_is_met_heard_and_left(house: House, desk: Desk) -> None:
    scripted(
        house, Script(pieces=("Where ", "did it begin?"), gates={1: "on"}), "Then begin there."
    )
    page = await desk.open("/")
    there = await begun(house, page, "Flint", "I keep circling it.")
    card = page.get_by_role("article", name="Flint")
    await expect(card.locator(".prose")).to_contain_text("Where")
    await state(card, "streaming")
    await expect(tool(page, "Stop Flint")).to_be_visible()
    await expect(tool(page, "Stop all"), "there is only one").to_have_count(0)
    house.provider.gate("on").set()
    await state(card, "completed")
    await expect(card.locator(".prose")).to_have_text("Where did it begin?")

    talk = (await house.get(f"/api/conversations/{there}")).json()
    assert (talk["recipe"], talk["title"], len(talk["messages"])) == ("companion", "Flint", 1)
    assert heard(house)[0][0]["content"].startswith("You are Flint. You"), "its kernel, first"
    assert said(heard(house)[0]) == ["I keep circling it."]

    await expect(page.locator(".flow.calm")).to_be_visible()
    await expect(page.locator(".chips")).to_have_count(0)
    await expect(
        page.get_by_role("button", name=re.compile("voice|microphone", re.IGNORECASE))
    ).to_have_count(0)
    listed = page.get_by_role("navigation").get_by_role("link", name="Flint (companion)")
    await expect(listed).to_have_attribute("aria-current", "page")
    assert (
        await listed.locator(".mono").evaluate(
            "(one) => getComputedStyle(one.closest('[data-c]')).getPropertyValue('--c').trim()"
        )
        == "#a4502f"
    )

    await tool(page, "That’s all for now").click()
    await expect(page.get_by_text("You ended it here.")).to_be_visible()
    (session,) = await the_sessions(house)
    assert (session["conversation_id"], session["ended_by"]) == (there, "person")

    await ask(page, "At the door.")
    await answered(page, "Flint", 2)
    first, second = await the_sessions(house)
    assert (first["id"], first["messages"]) == (session["id"], 1)
    assert (second["ended_at"], second["messages"]) == (None, 1)
    hairlines = page.locator(".gap a")
    await expect(hairlines).to_have_count(2)
    await expect(hairlines.last).to_have_text(
        re.compile("^(this|last|to).*, less than a minute later$")
    )
    await expect(hairlines.last).to_have_attribute("href", f"/sessions/{second['id']}")
    assert said(heard(house)[1]) == ["At the door."], (
        "nothing of the earlier session is carried over"
    )
    await expect(tool(page, "That’s all for now")).to_be_visible()


@alone
async def test_it_is_gone_on_with(house: House, desk: Desk) -> None:
    scripted(house, "Sit down.", "Still here.")
    page = await desk.open("/")
    there = await begun(house, page, "Harbor", "A long day.")
    await answered(page, "Harbor")
    await page.get_by_role("link", name="New conversation").click()
    again = page.get_by_role("link", name="Harbor go on")
    await expect(again).to_have_attribute("href", f"/c/{there}")
    await page.goto("/?with=harbor")
    await expect(page).to_have_url(f"{house.url}/c/{there}")
    await ask(page, "And longer still.")
    await answered(page, "Harbor", 2)
    assert len((await house.get("/api/conversations")).json()["items"]) == 1
    assert said(heard(house)[1]) == ["A long day.", "Sit down.", "And longer still."]
    await expect(page.locator(".gap a"), "one session").to_have_count(1)
    assert len(await the_sessions(house)) == 1


@instant
async def test_silence_makes_a_boundary(house: House, desk: Desk) -> None:
    """The idle rule, with no patience at all: every message opens a session."""
    scripted(house, "One.", "Two.", "Three.")
    page = await desk.open("/", size="tablet")
    await begun(house, page, "Margin", "First page.")
    await answered(page, "Margin")
    for number in (2, 3):
        await ask(page, f"Page {number}.")
        await answered(page, "Margin", number)
    await expect(page.locator(".gap a")).to_have_count(3)
    found = await the_sessions(house)
    assert [one["ended_by"] for one in found[:2]] == ["idle", "idle"]
    links = page.locator(".gap a")
    assert [await links.nth(n).get_attribute("href") for n in range(3)] == [
        f"/sessions/{one['id']}" for one in found
    ]
    await page.reload()
    await expect(page.locator(".gap a"), "as it is stored").to_have_count(3)


@pytest.mark.parametrize("size", ["phone", "desktop"])
@alone
async def test_one_calm_column(house: House, desk: Desk, size: Size) -> None:
    scripted(house, "A long word: " + "un" * 80 + ".\n\n| a | b |\n|---|---|\n| 1 | 2 |")
    page = await desk.open("/?with=harbor", size=size)
    await expect(page.locator(".meet .about")).to_be_visible()
    assert await spill(page) == []
    await ask(page, "Wide. " * 60)
    await answered(page, "Harbor")
    await expect(tool(page, "That’s all for now")).to_be_visible()
    assert await spill(page) == []
    width = await page.locator(".flow.calm .prose").evaluate("(one) => one.clientWidth")
    assert width <= 700, "a line that can be read"
    await composer(page).fill("@")
    await expect(page.get_by_role("option"), "there is nobody else to ask").to_have_count(0)


@pytest.mark.parametrize(
    "house", [{"models": MODELS, "limits": {"message_chars": 40}}], indirect=True, ids=["narrow"]
)
async def test_a_first_message_that_is_refused_leaves_nothing(house: House, desk: Desk) -> None:
    desk.allow("status of 422")
    scripted(house, "Yes.")
    page = await desk.open("/?with=flint")
    await expect(page.locator(".meet")).to_be_visible()
    await ask(page, "Far too long. " * 5)
    await expect(page.get_by_role("alert")).to_contain_text("Your message is still here.")
    await expect(composer(page)).to_have_value("Far too long. " * 5)
    assert (await house.get("/api/conversations")).json()["items"] == []
    await ask(page, "Short.")
    await answered(page, "Flint")


async def test_nobody_of_that_name(house: House, desk: Desk) -> None:
    page = await desk.open("/?with=nobody")
    await expect(page.get_by_role("heading", name="Nobody of that name is here")).to_be_visible()
    assert (await house.get("/api/conversations")).json()["items"] == []


@alone
async def test_who_is_talked_to_alone_sits_in_no_council_unasked(house: House, desk: Desk) -> None:
    """And what it was told has a name each in its receipt."""
    scripted(house, "Where did it begin?", "Then begin there.")
    page = await desk.open("/")
    await begun(house, page, "Flint", "I keep circling it.")
    await answered(page, "Flint")
    await ask(page, "At the door.")
    await answered(page, "Flint", 2)
    here = page.get_by_role("article", name="Flint").last
    answer = (await here.get_attribute("id") or "").removeprefix("answer-")
    receipt = (await house.get(f"/api/answers/{answer}/receipt")).json()
    names = [
        one["sources"][0] for one in receipt["description"]["spans"] if one["kind"] == "memory"
    ]
    assert len(names) > 0
    await tool(here, "Receipt").click()
    sheet = page.get_by_role("dialog", name="What Flint saw")
    await expect(sheet.locator("summary code")).to_have_text(names)
    await expect(sheet.locator("summary").filter(has_text="posture")).to_contain_text(
        "memory: How to hold itself"
    )
    await tool(sheet, "Close").click()

    await page.get_by_role("link", name="New conversation").click()
    chips = page.get_by_role("group", name="Who is asked")
    await expect(chips.get_by_role("button")).not_to_have_count(0)
    await expect(chips.get_by_role("button", name="Flint")).to_have_count(0)
    flint = (await house.get("/api/advisors/flint")).json()
    there = await house.conversation(flint)
    await page.goto(f"/c/{there}")
    chip = chips.get_by_role("button", name="Flint")
    await chip.click()
    await expect(chip).to_have_attribute("aria-pressed", "false")


async def test_a_night_lasts_until_the_morning(desk: Desk) -> None:
    page = await desk.open("/settings")
    told = await page.evaluate(
        """async () => {
          const { moment } = await import("/page/js/words.js");
          const at = (day, hour) => new Date(2026, 10, day, hour, 30);
          const say = (then, now) => moment(then.getTime() * 1000, now);
          return [
            say(at(17, 1), at(17, 2)), say(at(16, 23), at(17, 2)), say(at(16, 20), at(17, 2)),
            say(at(16, 23), at(16, 23)), say(at(17, 2), at(17, 10)), say(at(16, 23), at(17, 10)),
            say(at(16, 2), at(17, 10)), say(at(16, 20), at(17, 10)), say(at(16, 9), at(17, 2)),
            say(at(17, 9), at(17, 10)), say(at(6, 2), at(17, 10)),
          ];
        }"""
    )
    assert told == [
        *("tonight", "tonight", "this evening", "tonight", "last night", "last night"),
        *("Sunday night", "yesterday evening", "yesterday morning", "this morning"),
        "5 November, at night",
    ]


@alone
async def test_a_copy_of_the_companion_is_talked_with_alone(house: House, desk: Desk) -> None:
    scripted(house, "Good evening.")
    page = await desk.open("/recipes")
    await tool(page, "Copy the recipe Companion").click()
    await page.get_by_label("Name of your recipe").fill("evening")
    await tool(page, "Copy").click()
    await page.get_by_role("link", name="Start a conversation").click()
    await (
        page.get_by_role("region", name="Whom would you like to talk with?")
        .get_by_role("link", name=re.compile("Harbor"))
        .click()
    )
    await ask(page, "Hello.")
    await expect(page).to_have_url(re.compile(r"/c/[^/]+$"))
    await answered(page, "Harbor")
    assert heard(house)[-1][0]["content"].startswith("You are Harbor.")
    (talk,) = (await house.get("/api/conversations")).json()["items"]
    assert talk["recipe"] == "evening"
    await page.reload()
    await expect(tool(page, "That’s all for now")).to_be_visible()
    await expect(page.get_by_role("navigation").get_by_text("(companion)")).to_have_count(1)
    await expect(page.get_by_role("group", name="Who is asked")).to_have_count(0)
