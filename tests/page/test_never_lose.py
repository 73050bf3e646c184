"""Reload, close, sleep, lose the network, restart the server: the page has the very text again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from playwright.async_api import Page, expect
from tests.page.desk import GONE, Desk
from tests.page.house import House, Process
from tests.page.kept import agree, kept, same_texts, written
from tests.page.line import Line
from tests.page.talk import CLIPBOARD, ask, card, composer, copied, state, tool
from tests.provider import Script

PIECES = (
    *(
        "Astral 😀",
        "👩‍👩‍👧 and e",
        "\u0301 combining",
        ", 漢字.\r",
        "\n\r\n1. one\n\n2",
        ". two **bo",
    ),
    *("ld**\n\n``", "`py\nx = ", "'𝒳'\n``", "`\n\n| a | b |\n|-", "--|---|\n| 1 | [2"),
    *("](https://a.example) |\n\n$$\nx_", "1\n$$\n\n<b>no", "t</b> \ufeff\u200bend"),
)
"""Cut in the worst places: inside characters that belong together, line ends, and Markdown."""
AWAY = "The server is away"


async def begun(house: House, *scripts: Script | str) -> tuple[str, list[Any], Any]:
    """A conversation whose first turn is under way."""
    voices = await house.voices(*scripts)
    conversation = await house.conversation(*voices)
    return conversation, voices, await house.send(conversation, "How does it go on?")


@asynccontextmanager
async def other_desk(desk: Desk, url: str) -> AsyncIterator[Desk]:
    """A desk at another address of the same server, whose connections may break."""
    found = Desk(desk.browser, url)
    found.allow("net::ERR_")
    yield found
    await found.close()
    assert found.watch.wrong() == []


def events_asked(desk: Desk) -> int:
    """How often any page has opened a stream."""
    return sum("/events?after=" in one for one in desk.watch.requests)


async def test_at_every_number_a_reload_has_the_very_text(house: House, desk: Desk) -> None:
    """Three pages: one is left alone, one loses its line before each piece, one is reloaded after
    it. At every piece all three have the server's text, and draw it alike."""
    gates = {index: f"gate {index}" for index in range(1, len(PIECES))}
    script = Script(pieces=PIECES, gates=gates, thinking="First 😀 this, then that.")
    conversation, (one, _), turn = await begun(house, script, "Yes.")
    answer = turn["answers"][0]["answer_id"]
    path = f"/c/{conversation}"
    async with Line(house.url) as line, other_desk(desk, line.url) as elsewhere:
        steady, reloaded = await desk.open(path, permissions=CLIPBOARD), await desk.open(path)
        flapping = await elsewhere.open(path)
        for number in range(1, len(PIECES) + 1):
            await written(house, answer, "".join(PIECES[:number]))
            for page in (steady, flapping, reloaded):
                await same_texts(page, house, conversation)
            await agree(steady, flapping)
            await agree(steady, reloaded)
            if number < len(PIECES):
                line.cut()
                await expect(flapping.get_by_text(AWAY)).to_be_visible()
                house.provider.gate(f"gate {number}").set()
                await written(house, answer, "".join(PIECES[: number + 1]))
                assert (await kept(flapping))[answer][0] == "".join(PIECES[:number])
                line.mend()
                await reloaded.reload()
        await state(card(steady, one), "completed")
        text = (await same_texts(steady, house, conversation))[answer][0]
        assert text == "".join(PIECES)
        await tool(card(steady, one), "Copy").click()
        await expect(steady.get_by_text("Answer copied.")).to_be_visible()
        assert (await copied(steady)).replace("\r\n", "\n") == text.replace("\r\n", "\n")
        seen = await agree(steady, flapping)
        fresh = await desk.open(path)
        await same_texts(fresh, house, conversation)
        assert await agree(fresh, steady) == seen


async def test_without_the_network_nothing_is_lost(house: House, desk: Desk) -> None:
    """New requests fail while it is gone, whatever is open stays: the page asks again for what it
    could not get, and keeps what it could not send."""
    script = Script(pieces=("One", ", two."), gates={1: "on"})
    conversation, (one,), turn = await begun(house, script)
    page = await desk.open(f"/c/{conversation}")
    await expect(card(page, one).locator(".prose")).to_have_text("One")
    desk.allow(GONE)
    await page.context.set_offline(True)
    house.provider.gate("on").set()
    await house.ended(conversation, turn["turn_id"])
    await ask(page, "Do you hear me?")
    await expect(page.get_by_role("alert")).to_contain_text("Your message is still here.")
    other = await desk.open(f"/c/{conversation}")
    await tool(card(other, one), "Exclude").click()
    await ask(other, "From elsewhere?")
    await expect(other.locator('article[data-state="completed"]')).to_have_count(2)
    await page.context.set_offline(False)
    await same_texts(page, house, conversation)
    await composer(page).press("Enter")
    await expect(page.locator('article[data-state="completed"]')).to_have_count(3)
    await agree(page, other)


async def test_a_part_that_could_not_be_fetched_comes_with_the_network(
    house: House, desk: Desk
) -> None:
    """A sheet and a room, asked for while the network is gone."""
    conversation, (one,), turn = await begun(house, "Yes.")
    await house.ended(conversation, turn["turn_id"])
    page = await desk.open(f"/c/{conversation}")
    await state(card(page, one), "completed")
    desk.allow(GONE)
    await page.context.set_offline(True)
    await tool(card(page, one), "Receipt").click()
    await expect(page.get_by_role("alert")).to_contain_text("could not be loaded")
    await page.context.set_offline(False)
    await expect(page.get_by_role("dialog")).to_contain_text("The request itself")
    await expect(page.get_by_role("alert")).to_have_count(0)
    await page.keyboard.press("Escape")
    await page.context.set_offline(True)
    await page.get_by_role("link", name="Usage").click()
    await expect(page.get_by_role("alert")).to_contain_text("could not be loaded")
    await page.context.set_offline(False)
    await expect(page.get_by_role("heading", name="Usage", level=1)).to_be_visible()


@pytest.mark.process
async def test_a_killed_server_comes_back(house: Process, desk: Desk) -> None:
    """The page says that it is away, then what became of the answer, and one retry completes it."""
    script = Script(pieces=("Half of it, ", "and the rest."), gates={1: "never"})
    conversation, (one, two), _ = await begun(house, script, "Yes.")
    page = await desk.open(f"/c/{conversation}")
    await expect(card(page, one).locator(".prose")).to_have_text("Half of it,")
    await state(card(page, two), "completed")
    desk.allow(GONE)
    await house.kill()
    await expect(page.get_by_text(AWAY)).to_be_visible()
    await expect(card(page, one).locator(".prose")).to_have_text("Half of it,")
    await ask(page, "Do you hear me?")
    await expect(page.get_by_role("alert")).to_contain_text("Your message is still here.")
    await house.start()
    await expect(page.get_by_text(AWAY)).to_have_count(0)
    await state(card(page, one), "interrupted")
    await expect(card(page, one)).to_contain_text("What had come is kept")
    await expect(card(page, two).locator(".prose")).to_have_text("Yes.")
    assert await composer(page).input_value() == "Do you hear me?"
    house.provider.script(one["model"].partition(":")[2], Script(text="All of it."))
    await tool(card(page, one), "Retry").click()
    await state(card(page, one), "completed")
    await expect(card(page, one).locator(".prose")).to_have_text("All of it.")
    await same_texts(page, house, conversation)
    await composer(page).press("Enter")
    await expect(page.get_by_role("heading", name="Do you hear me?", level=2)).to_be_visible()


async def test_a_message_whose_reply_is_lost_is_sent_once(house: House, desk: Desk) -> None:
    one, *_ = await house.voices("Yes.")
    conversation = await house.conversation(one)
    page = await desk.open(f"/c/{conversation}")
    desk.allow("ERR_FAILED")

    async def swallow(route: Any) -> None:
        await route.fetch()
        await route.abort()

    await page.route("**/turns", swallow, times=1)
    await ask(page, "Only once?")
    await expect(page.get_by_role("alert")).to_contain_text("Your message is still here.")
    await composer(page).press("Enter")
    await expect(composer(page)).to_have_value("")
    await state(card(page, one), "completed")
    await expect(page.locator(".turn")).to_have_count(1)
    assert len(house.heard(one)) == 1


async def test_a_second_message_waits_and_is_there_after_a_reload(house: House, desk: Desk) -> None:
    script = Script(pieces=("One", ", two."), gates={1: "on"})
    conversation, (one,), _ = await begun(house, script)
    page, other = await desk.open(f"/c/{conversation}"), await desk.open(f"/c/{conversation}")
    await expect(card(page, one).locator(".prose")).to_have_text("One")
    await ask(page, "And then?")
    for at in (page, other):
        await expect(at.get_by_text("waits for the answers above")).to_be_visible()
    await page.reload()
    await expect(page.get_by_text("waits for the answers above")).to_be_visible()
    await agree(page, other)
    house.provider.gate("on").set()
    for at in (page, other):
        await expect(at.locator('article[data-state="completed"]')).to_have_count(2)
        await expect(at.get_by_text("waits for the answers above")).to_have_count(0)
        await same_texts(at, house, conversation)
    assert "One, two." in str(house.heard(one)[-1]["messages"])


async def test_a_closed_page_is_reopened(house: House, desk: Desk) -> None:
    """While it was closed the answer was finished; what was being written is still in the box."""
    script = Script(pieces=("One", ", two."), gates={1: "on"})
    conversation, (one,), turn = await begun(house, script)
    page = await desk.open(f"/c/{conversation}")
    await expect(card(page, one).locator(".prose")).to_have_text("One")
    await composer(page).fill("Half a thou")
    other = await desk.beside(page, "/usage")
    await page.close()
    house.provider.gate("on").set()
    await house.ended(conversation, turn["turn_id"])
    again = await desk.beside(other, f"/c/{conversation}")
    await expect(card(again, one).locator(".prose")).to_have_text("One, two.")
    await expect(composer(again)).to_have_value("Half a thou")
    await same_texts(again, house, conversation)


async def test_a_page_that_slept_catches_up(house: House, desk: Desk) -> None:
    """Frozen by the browser while many turns went by: they stand behind those it had."""
    conversation, (one,), turn = await begun(house, "Yes.")
    page = await desk.open(f"/c/{conversation}")
    await state(card(page, one), "completed")
    wire = await page.context.new_cdp_session(page)
    await wire.send("Page.setWebLifecycleState", {"state": "frozen"})
    await house.ended(conversation, turn["turn_id"])
    for number in range(2, 17):
        await house.say(conversation, f"Question {number}?")
    await wire.send("Page.setWebLifecycleState", {"state": "active"})
    await expect(page.locator(".turn")).to_have_count(16)
    await same_texts(page, house, conversation)


async def test_a_connection_that_died_without_a_word_is_replaced(house: House, desk: Desk) -> None:
    """Behind a sleeping router nothing ends and nothing comes: after a while of silence the page
    asks anew, by number."""
    conversation, (one,), turn = await begun(house, "Yes.")
    await house.ended(conversation, turn["turn_id"])
    page = await desk.open(None)
    await page.clock.install()
    silent = asyncio.Event()

    async def say_nothing(route: Any) -> None:
        if silent.is_set():
            await route.continue_()
        silent.set()  # the first one stays unanswered

    await page.route("**/events?after=*", say_nothing)
    await page.goto(f"/c/{conversation}")
    await state(card(page, one), "completed")
    await silent.wait()
    await house.say(conversation, "Two?")
    assert len(await kept(page)) == 1
    await page.clock.fast_forward(60_000)
    await expect(page.locator('article[data-state="completed"]')).to_have_count(2)
    await same_texts(page, house, conversation)


async def looked_at(page: Page, seen: bool) -> None:
    """Bring a tab to the front, or put another one before it, as far as the page can tell."""
    await page.evaluate(
        "(value) => { Object.defineProperty(document, 'hidden', { value, configurable: true });"
        " document.dispatchEvent(new Event('visibilitychange')); }",
        not seen,
    )


async def test_a_tab_nobody_looks_at_gives_its_connection_back(house: House, desk: Desk) -> None:
    conversation, (one,), turn = await begun(house, "Yes.")
    await house.ended(conversation, turn["turn_id"])
    page = await desk.open(None)
    await page.clock.install()
    await page.goto(f"/c/{conversation}")
    await state(card(page, one), "completed")

    async def listening(count: int) -> None:
        async with asyncio.timeout(60):
            while (await house.get("/healthz")).json()["listeners"] != count:
                pass

    await listening(1)
    await looked_at(page, seen=False)
    await page.clock.run_for(120_000)
    await listening(0)
    asked = events_asked(desk)
    await house.say(conversation, "Two?")
    assert len(await kept(page)) == 1
    await looked_at(page, seen=True)
    await expect(page.locator('article[data-state="completed"]')).to_have_count(2)
    await same_texts(page, house, conversation)
    assert events_asked(desk) == asked + 1


async def test_seven_tabs_of_one_browser_all_have_their_text(house: House, desk: Desk) -> None:
    """A browser has six connections to a server: the seventh tab must neither wait for one nor
    take the last from those who want to send something."""
    script = Script(pieces=("One", ", two", "."), gates={1: "on", 2: "over"})
    conversation, (one,), _ = await begun(house, script)
    first = await desk.open(f"/c/{conversation}")
    tabs = [first, *[await desk.beside(first, f"/c/{conversation}") for _ in range(6)]]
    for tab in tabs:
        await expect(card(tab, one).locator(".prose")).to_have_text("One")
    house.provider.gate("on").set()
    for tab in tabs:
        await expect(card(tab, one).locator(".prose")).to_have_text("One, two")
    await ask(tabs[-1], "And then?")
    house.provider.gate("over").set()
    for tab in tabs:
        await expect(tab.locator('article[data-state="completed"]')).to_have_count(2)
        await same_texts(tab, house, conversation)
