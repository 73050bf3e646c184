"""Writing: lines, who is asked, what it will cost, what waits, and that no word is ever lost."""

from __future__ import annotations

import pytest
from playwright.async_api import Route, expect
from tests.page.desk import Desk
from tests.page.house import House
from tests.page.talk import (
    GPT,
    PRICED,
    ask,
    card,
    composer,
    last_message,
    priced,
    says,
    sent,
    state,
    tool,
)
from tests.provider import Script


async def test_lines_and_the_key_that_sends(house: House, desk: Desk) -> None:
    (one,) = await house.voices("Yes.")
    page = await desk.open("/")
    box = composer(page)
    await box.fill("First")
    low = await box.evaluate("(one) => one.offsetHeight")
    await box.press("Shift+Enter")
    await box.press_sequentially("second")
    await box.press("Shift+Enter")
    await box.press_sequentially("third")
    await expect(box).to_have_value("First\nsecond\nthird")
    assert await box.evaluate("(one) => one.offsetHeight") > low, "it grows with its text"
    await box.press("Enter")
    await state(card(page, one), "completed")
    assert last_message(house, one).endswith("First\nsecond\nthird")
    await expect(box).to_have_value("")

    there = page.url
    await page.goto("/settings")
    await page.get_by_role("group", name="Enter").get_by_text("Breaks the line").click()
    await page.goto(there)
    await box.fill("Now")
    await box.press("Enter")
    await box.press_sequentially("it breaks")
    await expect(box).to_have_value("Now\nit breaks")
    await expect(page.get_by_text("Shift+Enter sends")).to_be_visible()
    await box.press("Shift+Enter")
    await state(card(page, one, 1), "completed")
    assert last_message(house, one).endswith("Now\nit breaks")


async def test_chips_say_who_is_asked(house: House, desk: Desk) -> None:
    one, two, three = await house.voices("One.", "Two.", "Three.")
    page = await desk.open("/")
    chips = page.get_by_role("group", name="Who is asked")
    cards = page.get_by_role("article")
    await tool(chips, two["name"]).click()
    await expect(tool(chips, two["name"])).to_have_attribute("aria-pressed", "false")
    await ask(page, "You two?")
    await expect(page.locator('article[data-state="completed"]')).to_have_count(2)
    assert [len(house.heard(who)) for who in (one, two, three)] == [1, 0, 1]
    await expect(tool(chips, two["name"])).to_have_attribute("aria-pressed", "false")
    for who in (one, two):
        await tool(chips, who["name"]).click()
    await page.reload()
    await expect(tool(chips, one["name"])).to_have_attribute("aria-pressed", "false")
    await expect(tool(chips, two["name"])).to_have_attribute("aria-pressed", "true")
    await ask(page, "And you?")
    await expect(page.locator('article[data-state="completed"]')).to_have_count(4)
    assert [len(house.heard(who)) for who in (one, two, three)] == [1, 1, 2]
    names = await cards.get_by_role("heading").all_inner_texts()
    assert names == [who["name"] for who in (one, three, two, three)]


async def test_the_whole_message_is_seen_beside_its_price(house: House, desk: Desk) -> None:
    await house.voices("One.", "Two.")
    page = await desk.open("/", size="desktop")
    box = page.get_by_role("textbox", name="Your message")
    for words in range(14, 26):
        await box.fill("")
        await expect(page.locator(".price")).not_to_contain_text("tokens")
        await box.fill("five " * words)
        await expect(page.locator(".price")).to_contain_text("tokens")
        assert await box.evaluate("(box) => box.scrollHeight - box.clientHeight") <= 0, words


async def test_same_names_are_told_apart(house: House, desk: Desk) -> None:
    for _ in range(2):
        await house.advisor(script=Script(text="Yes."), name="Sam")
    page = await desk.open("/")
    chips = page.get_by_role("group", name="Who is asked")
    for name in ("Sam (1)", "Sam (2)"):
        await expect(chips.get_by_role("button", name=name, exact=True)).to_have_count(1)
    await ask(page, "Which Sam?")
    await expect(page.get_by_role("article").filter(has_text="Sam (2)")).to_have_count(1)


async def test_a_mention_asks_only_those(house: House, desk: Desk) -> None:
    one, two, three = await house.voices("One.", "Two.", "Three.")
    page = await desk.open("/")
    box, listed = composer(page), page.get_by_role("listbox", name="Advisors")
    await box.press_sequentially("@")
    await expect(listed.get_by_role("option")).to_have_count(3)
    await box.press("ArrowDown")
    await expect(listed.get_by_role("option").nth(1)).to_have_attribute("aria-selected", "true")
    active = await listed.get_by_role("option").nth(1).get_attribute("id")
    assert active
    await expect(box).to_have_attribute("aria-activedescendant", active)
    await box.press("Enter")
    await expect(box).to_have_value("@builder ")
    await expect(listed).to_have_count(0)
    await box.press_sequentially("alone, please")
    await box.press("Enter")
    await expect(page.locator('article[data-state="completed"]')).to_have_count(1)
    assert [len(house.heard(who)) for who in (one, two, three)] == [0, 1, 0]

    await box.press_sequentially("What of @sk")
    await listed.get_by_role("option", name="Skeptic").click()
    await expect(box).to_have_value("What of @skeptic ")
    await box.press_sequentially("and @li")
    await box.press("Escape")
    await expect(listed).to_have_count(0)
    await expect(box).to_have_value("What of @skeptic and @li")
    await box.press_sequentially("s")
    await box.press("Tab")
    await expect(box).to_have_value("What of @skeptic and @listener ")
    await box.press("Enter")
    await expect(page.locator('article[data-state="completed"]')).to_have_count(3)
    assert [len(house.heard(who)) for who in (one, two, three)] == [1, 1, 1]
    chips = page.get_by_role("group", name="Who is asked")
    await expect(chips.locator('[aria-pressed="true"]')).to_have_count(3)


@priced
async def test_the_price_before_it_is_sent(house: House, desk: Desk) -> None:
    (cheap,) = await house.voices("For nothing known.")
    dear = await house.advisor(GPT, name="Broker", params={"max_tokens": 4000})
    house.provider.script("gpt-4o", Script(text="It has its price."))
    page = await desk.open("/")
    shown = page.locator(".price")
    for turn in (1, 2):  # before there is a conversation, and in one
        text = "What is it worth? " * 400
        await composer(page).fill(text)
        await expect(shown).to_contain_text("2 advisors · ~")
        # 4000 tokens out are 4 cents; 7200 characters in are half a cent.
        await expect(shown).to_contain_text("at most $0.05, 1 unpriced")
        await composer(page).fill(f"@broker {text}")
        await expect(shown).to_contain_text("1 advisor · ~")
        await expect(shown).to_contain_text("at most $0.05")
        await tool(page.get_by_role("group", name="Who is asked"), "Broker").click()
        await composer(page).fill(text)
        await expect(shown).to_contain_text("1 advisor · ~")
        await expect(shown).to_contain_text("price unknown")
        await tool(page.get_by_role("group", name="Who is asked"), "Broker").click()
        await ask(page, "Short, then.")
        await expect(page.locator('article[data-state="completed"]')).to_have_count(2 * turn)
    assert len(house.heard(dear)) == len(house.heard(cheap)) == 2, "an estimate asks nobody"


async def test_a_message_waits_for_its_turn_and_all_can_be_stopped(
    house: House, desk: Desk
) -> None:
    one, two = await house.voices(
        Script(pieces=("I think ", "so."), gates={1: "one"}), Script(text="Done.", hold="two")
    )
    page = await desk.open("/")
    await ask(page, "First?")
    await expect(card(page, one).locator(".prose")).to_have_text("I think")
    await expect(tool(page, "Queue")).to_be_disabled()
    await composer(page).fill("Second?")
    await tool(page, "Queue").click()
    second = page.get_by_role("region", name="Second?")
    await expect(second.get_by_text("waits for the answers above")).to_be_visible()
    await expect(second.get_by_role("article")).to_have_count(2)
    assert len(house.provider.log) == 2
    house.provider.gate("one").set()
    house.provider.gate("two").set()
    await expect(page.locator('article[data-state="completed"]')).to_have_count(4)
    await expect(second.get_by_text("waits for the answers above")).to_have_count(0)
    assert "I think so." in sent(house, one), "it sees the answers it waited for"
    assert "I think so." in sent(house, two)
    await expect(tool(page, "Stop all")).to_have_count(0)

    says(house, one, Script(pieces=("Never ", "ends."), gates={1: "never"}))
    says(house, two, Script(hold="never"))
    await ask(page, "Third?")
    third = page.get_by_role("region", name="Third?")
    await expect(third.get_by_role("article").first).to_contain_text("Never")
    await house.provider.arrived(6)
    await ask(page, "Fourth?")
    fourth = page.get_by_role("region", name="Fourth?")
    await expect(fourth.get_by_role("article")).to_have_count(2)
    await tool(page, "Stop all").click()
    for request in house.provider.log[4:6]:
        await house.provider.gone(request)
    await expect(third.locator('article[data-state="stopped"]')).to_have_count(2)
    await expect(fourth.locator('article[data-state="stopped"]')).to_have_count(2)
    await expect(third.get_by_role("article").first).to_contain_text("Never")
    await expect(tool(page, "Send")).to_be_visible()
    assert len(house.provider.log) == 6, "what waited was not asked any more"
    stops = [one for one in desk.watch.requests if one.endswith("/stop")]
    assert len(stops) == 2
    assert stops == sorted(stops, reverse=True), "what waits is stopped before what it waits for"


async def test_drafts_are_kept_where_they_were_written(house: House, desk: Desk) -> None:
    (one,) = await house.voices("Yes.")
    first, second = [await house.conversation(one, title=title) for title in ("Tea", "Salt")]
    for there in (first, second):
        await house.say(there, "Is it so?")
    page = await desk.open(f"/c/{first}")
    box = composer(page)
    await box.fill("Half a thought\nabout tea")
    await page.get_by_role("link", name="Salt").click()
    await expect(page.get_by_role("heading", name="Salt", level=1)).to_be_visible()
    await expect(box).to_have_value("")
    await box.fill("About salt")
    await page.get_by_role("link", name="New conversation").click()
    await expect(box).to_have_value("")
    await box.fill("About nothing yet")
    await page.reload()
    await expect(box).to_have_value("About nothing yet")
    await page.get_by_role("link", name="Tea").click()
    await expect(box).to_have_value("Half a thought\nabout tea")
    beside = await desk.beside(page, f"/c/{second}")
    await expect(composer(beside)).to_have_value("About salt")
    await composer(beside).press("Enter")
    await state(card(beside, one, 1), "completed")
    await expect(composer(beside)).to_have_value("")
    await page.reload()
    await expect(box).to_have_value("Half a thought\nabout tea")
    await page.get_by_role("link", name="Salt").click()
    await expect(card(page, one, 1)).to_be_visible()
    await expect(box).to_have_value("")


async def lose_deletions(route: Route) -> None:
    """Whoever has lost the server cannot clean up behind himself either."""
    await (route.abort() if route.request.method == "DELETE" else route.continue_())


async def lose_the_reply(route: Route) -> None:
    """The server gets the request, and nobody hears what it says."""
    await route.fetch()
    await route.abort()


@pytest.mark.parametrize("begun", [False, True], ids=["a new conversation", "one that goes on"])
async def test_a_message_whose_reply_was_lost_is_sent_once(
    house: House, desk: Desk, begun: bool
) -> None:
    (one,) = await house.voices(Script(text="To that: {last}"))
    there = await house.conversation(one) if begun else ""
    if begun:
        await house.say(there, "Hello.")
    desk.allow("ERR_FAILED")
    page = await desk.open(f"/c/{there}" if begun else "/")
    await page.route("**/turns", lose_the_reply)
    await page.route("**/api/conversations/*", lose_deletions)
    await ask(page, "Once and only once")
    trouble = page.get_by_role("alert")
    await expect(trouble).to_contain_text("The server cannot be reached.")
    await expect(trouble).to_contain_text("Your message is still here.")
    await expect(composer(page)).to_have_value("Once and only once")
    await page.reload()
    await expect(composer(page)).to_have_value("Once and only once")
    await page.unroute("**/turns")
    await composer(page).press("Enter")
    await expect(composer(page)).to_have_value("")
    await expect(page.get_by_role("heading", name="Once and only once", level=2)).to_have_count(1)
    await expect(page.locator('article[data-state="completed"]').last).to_contain_text("Once and")
    items = (await house.get("/api/conversations")).json()["items"]
    assert len(items) == 1
    seen = (await house.get(f"/api/conversations/{items[0]['id']}")).json()["messages"]
    assert [message["content"] for message in seen][-1] == "Once and only once"
    assert len(seen) == (2 if begun else 1)
    assert len(house.heard(one)) == len(seen)


LIMITS = {"limits": {"message_chars": 40, "cost_per_conversation": 0.02}}


@pytest.mark.parametrize("house", [PRICED | LIMITS], indirect=True, ids=["limits"])
async def test_a_refused_message_stays_with_the_reason(house: House, desk: Desk) -> None:
    await house.voices()
    one = await house.advisor(GPT, name="Broker")
    house.provider.script("gpt-4o", Script(text="Dear.", input_tokens=1000, output_tokens=2000))
    desk.allow("status of 4(02|13|22)")
    page = await desk.open("/")
    long = "How much is it, and why, and for whom, and since when?"
    await ask(page, long)
    trouble = page.get_by_role("alert")
    await expect(trouble).to_contain_text("Your message is still here.")
    await expect(trouble).to_contain_text("54 characters; 40 is the most. Shorten it")
    await expect(composer(page)).to_have_value(long)
    assert (await house.get("/api/conversations")).json()["items"] == []
    await ask(page, "How much is it?")
    await state(card(page, one), "completed")
    await ask(page, "And once more?")
    await expect(trouble).to_contain_text("cost_per_conversation")
    await expect(trouble).to_contain_text("Your message is still here.")
    await expect(composer(page)).to_have_value("And once more?")
    assert len(house.provider.log) == 1
