"""Only what is near the screen is drawn, and only what changes is drawn again."""

from __future__ import annotations

from playwright.async_api import Page, expect
from tests.page.corpus import markdown, script
from tests.page.desk import Desk
from tests.page.house import House
from tests.page.kept import same_texts, stored
from tests.page.talk import ask, card, says, state
from tests.provider import Script


async def test_however_it_is_cut_markdown_ends_the_same(house: House, desk: Desk) -> None:
    page = await desk.open("/settings")
    assert await page.evaluate(script("grown"), markdown()) == []


async def test_while_it_grows_it_looks_as_it_would_anew(house: House, desk: Desk) -> None:
    """A reload in the middle of an answer changes nothing. (But a reference that is defined later
    than it is used gives the words before it their link only where all of it is drawn.)"""
    page = await desk.open("/settings")
    known = [text for text in markdown() if "[late]" not in text]
    assert await page.evaluate(script("live"), known) == []


async def test_a_very_long_answer_is_drawn_piece_by_piece(house: House, desk: Desk) -> None:
    """A block too long to be drawn with every word grows as plain text; what was finished before
    it stays untouched; and in the end all of it is as if it had come whole."""
    page = await desk.open("/settings")
    code = "```\n" + "print('and on')\n" * 2000 + "```\n\n"
    items = "".join(f"- item {number} is **here**\n" for number in range(900))
    text = "A paragraph with *words*.\n\n" * 400 + code + "Between.\n\n" + items + "\nThe end.\n"
    found = await page.evaluate(script("large"), text)
    assert found["plain"] > 0
    assert found["same"]
    assert found["kept"], "finished pieces are drawn once"
    assert found["sliced"], "a long text does not come in one go"


async def watch(page: Page, selector: str) -> None:
    """Count every change under these elements from now on."""
    await page.evaluate(
        """(selector) => {
          window.changes = [];
          const tell = ({ type, attributeName, target }) =>
            window.changes.push(`${type} ${attributeName ?? ""} ${target.className}`);
          const seen = new MutationObserver((list) => list.forEach(tell));
          const all = { subtree: true, childList: true, characterData: true, attributes: true };
          for (const one of document.querySelectorAll(selector)) seen.observe(one, all);
        }""",
        selector,
    )


async def test_finished_cards_are_not_drawn_again(house: House, desk: Desk) -> None:
    """While one advisor writes on, nothing moves in what the others said, in this turn or earlier
    ones; and what the writer has finished stays the same element."""
    pieces = [f"Paragraph {number} of **many**.\n\n" for number in range(30)]
    gates = {2: "on", 29: "over"}
    one, two, three = await house.voices("First `code`.", "- a\n- b", "Third.")
    conversation = await house.conversation(one, two, three)
    await house.say(conversation, "First?")
    page = await desk.open(f"/c/{conversation}")
    says(house, two, Script(pieces=tuple(pieces), gates=gates))
    await ask(page, "Second?")
    last = page.locator(".turn.last")
    await expect(last.locator('article[data-state="completed"]')).to_have_count(2)
    await expect(last.locator(".prose p")).to_have_count(4)
    await same_texts(page, house, conversation)
    await page.evaluate("() => new Promise(requestAnimationFrame)")
    await watch(page, "article[data-state=completed], .turn:not(.last), .turn.last p:first-child")
    first = await last.locator('[data-state="streaming"] .prose p').first.element_handle()
    house.provider.gate("on").set()
    await expect(last.locator('[data-state="streaming"] .prose p')).to_have_count(29)
    assert await page.evaluate("() => window.changes") == []
    assert first is not None
    assert await first.evaluate("(node) => node.isConnected")
    house.provider.gate("over").set()
    await state(card(page, two, 1), "completed")
    assert await first.evaluate("(node) => node.isConnected")


async def test_only_turns_near_the_screen_are_drawn(house: House, desk: Desk) -> None:
    """Of sixty turns a few are drawn; what one is looking at stays where it is when older ones
    come in above it; a link to any of them leads there; and every answer is shown once reached."""
    one, *_ = await house.voices(Script(text="Answer {n}. " + "It goes on for a while. " * 40))
    conversation = await house.conversation(one)
    turns = [await house.say(conversation, f"Question {number}?") for number in range(60)]
    page = await desk.open(f"/c/{conversation}")
    await expect(page.get_by_role("heading", name="Question 59?", level=2)).to_be_in_viewport()
    await expect(page.locator("article")).not_to_have_count(0)
    assert await page.locator("article").count() < 12
    assert await page.locator(".turn").count() < 60
    await page.evaluate("() => scrollTo(0, 0)")
    await expect(page.locator(".turn")).not_to_have_count(12)
    await page.evaluate("() => new Promise(requestAnimationFrame)")
    assert await page.evaluate("() => scrollY") > 1000, "what was at the top has stayed there"
    assert await page.locator("article").count() < 12

    await page.goto(f"/c/{conversation}#turn-{turns[3]['turn_id']}")
    await page.reload()
    await expect(page.get_by_role("heading", name="Question 3?", level=2)).to_be_in_viewport()
    await page.evaluate("() => scrollTo(0, 0)")
    await expect(page.get_by_role("heading", name="Question 0?", level=2)).to_be_visible()
    await expect(page.locator(".turn")).to_have_count(60)
    assert await page.locator("article").count() < 12
    mine = await same_texts(page, house, conversation)
    assert len(mine) == 60
    assert mine == await stored(house, conversation)
