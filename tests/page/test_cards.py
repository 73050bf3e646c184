"""What can be done with an answer, each thing seen where it counts: on the page after a reload, or
in what the models are sent next."""

from __future__ import annotations

from typing import Any

from playwright.async_api import Locator, expect
from tests.page.desk import Desk
from tests.page.house import House
from tests.page.talk import CLIPBOARD, ask, card, copied, copies, says, sent, state, tool
from tests.provider import Script

FAILURES: tuple[tuple[Script, tuple[str, ...]], ...] = (
    (
        Script(status=401),
        ("The key was not accepted.", "Incorrect API key provided.", "LAB_KEY"),
    ),
    (
        Script(status=402),
        ("no credit left", "Insufficient credits.", "Add credit to the account at lab"),
    ),
    (
        Script(status=429, error="Slow down, please."),
        ("Too many requests.", "Slow down, please.", "Wait a little"),
    ),
    (
        Script(status=400, code="context_length_exceeded", error="Too many tokens."),
        ("Too long for this model.", "Too many tokens.", "Lower limits.context"),
    ),
    (
        Script(status=404, error="Nobody knows that model."),
        ("The provider refused.", "Nobody knows that model.", "Check the name"),
    ),
    (
        Script(status=504, error="The line is slow."),
        ("No answer in time.", "The line is slow.", "Retry the answer"),
    ),
    (
        Script(fault="reset"),
        ("The provider cannot be reached.", "closed the connection", "Check that the server runs"),
    ),
    (
        Script(fault="html"),
        ("The provider sent nonsense.", "Log in to the wifi", "Check that base_url leads to"),
    ),
    (
        Script(empty=True),
        ("An empty answer.", "use another model"),
    ),
    (
        Script(text="The first half of what I mean is this. " * 30, fault="cut", after=200),
        ("The provider cannot be reached.", "Retry the answer"),
    ),
)
"""What a provider does, and words that must stand in the card: what it is, what the provider said,
what to do."""


async def test_stop_retry_regenerate_and_all_versions(house: House, desk: Desk) -> None:
    (one,) = await house.voices(Script(pieces=("Half of ", "it."), gates={1: "never"}))
    page = await desk.open("/", permissions=CLIPBOARD)
    await ask(page, "Is it so?")
    here = card(page, one)
    prose, versions = here.locator(".prose"), here.locator(".under:not(.few) .versions")
    await expect(prose).to_have_text("Half of")
    await tool(here, "Stop Skeptic").click()
    await state(here, "stopped")
    await house.provider.gone(house.provider.log[0])
    await expect(here.locator(".by")).to_contain_text("stopped")
    await expect(prose).to_have_text("Half of")

    says(house, one, "All of **it**.")
    await tool(here, "Retry").click()
    await expect(prose).to_have_text("All of it.")
    await state(here, "completed")
    await expect(versions).to_contain_text("2 of 2")
    says(house, one, "Something else.")
    await tool(here, "Regenerate").click()
    await expect(prose).to_have_text("Something else.")
    await expect(versions).to_contain_text("3 of 3")
    await expect(tool(versions, "Newer version")).to_be_disabled()

    for _ in ("as it was written", "and after a reload"):
        await tool(versions, "Older version").click()
        await expect(prose).to_have_text("All of it.")
        await expect(here.get_by_text("An earlier version")).to_be_visible()
        await expect(tool(here, "Regenerate")).to_have_count(0)
        await tool(here, "Copy").click()
        await expect(page.get_by_text("Answer copied.").last).to_be_visible()
        assert await copied(page) == "All of **it**.", "what is copied is what was written"
        await tool(versions, "Older version").click()
        await expect(prose).to_have_text("Half of")
        await expect(tool(versions, "Older version")).to_be_disabled()
        await tool(versions, "Newer version").click()
        await tool(versions, "Newer version").click()
        await expect(prose).to_have_text("Something else.")
        await page.reload()
        await expect(versions).to_contain_text("3 of 3")
    assert len(house.heard(one)) == 3
    await tool(versions, "Older version").click()
    await tool(versions, "Newer version").click()
    says(house, one, "Who looked at the newest sees the next.")
    await tool(here, "Regenerate").click()
    await expect(prose).to_have_text("Who looked at the newest sees the next.")
    await expect(versions).to_contain_text("4 of 4")


async def test_another_prompt_is_a_version_and_is_used_at_once(house: House, desk: Desk) -> None:
    (one,) = await house.voices("As I was.")
    page = await desk.open("/")
    await ask(page, "Who are you?")
    here = card(page, one)
    await state(here, "completed")

    async def write(prompt: str, then: str) -> None:
        await tool(here, "Edit prompt").click()
        await page.get_by_role("textbox", name="Prompt").fill(prompt)
        await tool(page, "Save as a new version").click()
        await tool(page, then).click()
        await expect(page.get_by_role("dialog")).to_have_count(0)

    await write("You speak like a lighthouse keeper.", "Keep this answer")
    says(house, one, "As I am now.")
    await write("You speak like a ferryman.", "Regenerate it")
    await expect(here.locator(".prose")).to_have_text("As I am now.")
    await expect(here.locator(".under:not(.few) .versions")).to_contain_text("2 of 2")
    assert len(house.heard(one)) == 2, "only the second was asked for"
    assert "You speak like a ferryman." in sent(house, one)
    assert "lighthouse" not in sent(house, one)
    versions = (await house.get(f"/api/advisors/{one['id']}/versions")).json()
    assert [version["number"] for version in versions] == [3, 2, 1]
    assert versions[0]["text"] == "You speak like a ferryman."


async def test_what_is_left_out_is_not_sent(house: House, desk: Desk) -> None:
    one, two = await house.voices("The moon is a plum.", "The sun is a pear.")
    page = await desk.open("/")
    await ask(page, "What is in the sky tonight?")
    await state(card(page, one), "completed")
    await state(card(page, two), "completed")

    async def later(words: str, count: int) -> tuple[str, str]:
        await ask(page, words)
        await expect(page.locator('article[data-state="completed"]')).to_have_count(count)
        return sent(house, one), sent(house, two)

    await tool(card(page, one), "Exclude").click()
    await expect(card(page, one).get_by_text("Left out of later requests")).to_be_visible()
    await expect(page.get_by_text("Nothing is deleted.")).to_be_visible()
    says(house, one, "So.")
    says(house, two, "Well.")
    of_one, of_two = await later("And then?", 4)
    assert "plum" not in of_one + of_two
    assert "pear" in of_one, "the other's answer is there"
    assert "pear" in of_two
    await page.reload()
    await tool(card(page, one), "Include").click()
    await expect(card(page, one).get_by_text("Left out of later requests")).to_have_count(0)
    of_one, _ = await later("And now?", 6)
    assert "plum" in of_one

    turn = page.get_by_role("region", name="What is in the sky tonight?")
    await tool(turn.locator(".ask-tools"), "Exclude").click()
    await expect(turn.get_by_text("left out of later requests")).to_be_visible()
    of_one, _ = await later("And at last?", 8)
    assert "sky tonight" not in of_one
    assert "And now?" in of_one


async def test_reading_on_the_whole_screen(house: House, desk: Desk) -> None:
    one, two, three = await house.voices(
        "One **is**.", Script(pieces=("Two ", "grows."), gates={1: "on"}), "Three ends."
    )
    page = await desk.open("/", permissions=CLIPBOARD)
    await ask(page, "How many are there?")
    await expect(card(page, two).locator(".prose")).to_have_text("Two")
    await state(card(page, one), "completed")
    await state(card(page, three), "completed")
    await tool(card(page, one), "Read").click()
    reader = page.get_by_role("dialog")

    async def shows(advisor: Any, text: str, place: str) -> None:
        await expect(reader.get_by_role("heading", level=2)).to_have_text(advisor["name"])
        await expect(reader.locator(".prose")).to_have_text(text)
        await expect(reader.get_by_text(place)).to_be_visible()

    await shows(one, "One is.", "1 of 3")
    await expect(reader.get_by_text("How many are there?")).to_be_visible()
    box, window = await reader.bounding_box(), page.viewport_size
    assert box is not None
    assert window is not None
    assert (box["width"], box["height"]) == (window["width"], window["height"])
    await tool(reader, "Next").click()
    await shows(two, "Two", "2 of 3")
    house.provider.gate("on").set()
    await shows(two, "Two grows.", "2 of 3")
    await page.keyboard.press("ArrowRight")
    await shows(three, "Three ends.", "3 of 3")
    await page.keyboard.press("ArrowRight")
    await shows(one, "One is.", "1 of 3")
    await tool(reader, "Copy").click()
    await copies(page, "One **is**.")
    await page.keyboard.press("ArrowLeft")
    await shows(three, "Three ends.", "3 of 3")
    await tool(reader, "Previous").click()
    await shows(two, "Two grows.", "2 of 3")
    await page.keyboard.press("Escape")
    await expect(reader).to_have_count(0)
    await expect(tool(card(page, one), "Read")).to_be_focused()


async def shown_whole(here: Locator) -> bool:
    """Whether the error of a card is neither cut off nor covered where cards are folded."""
    shown: bool = await here.locator(".words").evaluate(
        """(words) => {
          const more = words.querySelector(".more")?.getBoundingClientRect().top ?? Infinity;
          const { bottom } = words.querySelector(".err").getBoundingClientRect();
          return bottom <= Math.min(words.getBoundingClientRect().bottom, more) + 1;
        }"""
    )
    return shown


async def test_every_failure_says_what_happened_and_what_to_do(house: House, desk: Desk) -> None:
    voices = await house.voices(*(script for script, _ in FAILURES))
    page = await desk.open("/")
    await ask(page, "Is anybody there?")
    for advisor, (_, words) in zip(voices, FAILURES, strict=True):
        here = card(page, advisor)
        await state(here, "failed")
        trouble = here.locator(".err")
        for expected in (*words, "Your message is safe."):
            await expect(trouble).to_contain_text(expected)
        await expect(trouble).not_to_contain_text("sk-lab")
        assert await shown_whole(here), (advisor["name"], words)
        link = trouble.get_by_role("link", name="Use another model")
        await expect(link).to_have_attribute("href", f"/advisors/{advisor['slug']}")
        await expect(tool(here, "Retry")).to_be_visible()
    cut = card(page, voices[-1])
    await expect(cut.locator(".prose").first).to_contain_text("The first half of what I mean")
    says(house, voices[-1], "I am.")
    await tool(cut, "Retry").click()
    await state(cut, "completed")
    await expect(cut.locator(".prose")).to_have_text("I am.")
    await expect(cut.locator(".err")).to_have_count(0)


async def test_the_tools_on_a_phone(house: House, desk: Desk) -> None:
    (one,) = await house.voices("As I said.")
    page = await desk.open("/", size="phone", permissions=CLIPBOARD)
    await ask(page, "What did you say?")
    here = card(page, one)
    more = tool(here, "Tools for Skeptic's answer")
    sheet = page.get_by_role("dialog")
    await more.click()
    await tool(sheet, "Copy").click()
    await expect(sheet).to_have_count(0)
    await copies(page, "As I said.")
    await more.click()
    await tool(sheet, "Exclude").click()
    await expect(here.get_by_text("Left out of later requests")).to_be_visible()
    await more.click()
    await tool(sheet, "Receipt").click()
    await expect(sheet.get_by_role("heading", name="What Skeptic saw")).to_be_visible()
    await tool(sheet, "Close").click()
    says(house, one, "Something new.")
    await more.click()
    await tool(sheet, "Regenerate").click()
    await expect(here.locator(".prose")).to_have_text("Something new.")
    await tool(here.locator(".few"), "Older version").click()
    await expect(here.locator(".prose")).to_have_text("As I said.")
