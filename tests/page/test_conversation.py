"""A conversation at the three widths: who stands where, and what is seen while answers come."""

from __future__ import annotations

import time

import pytest
from playwright.async_api import Locator, Page, expect
from tests.page.desk import SIZES, Desk, Size, spill
from tests.page.house import House
from tests.page.talk import CLIPBOARD, GPT, ask, card, copies, priced, state
from tests.provider import Script

COLUMNS: dict[Size, int] = {"phone": 1, "tablet": 2, "desktop": 3}

PIECES = (
    "First *this*, then **th",
    "at**.\n\n```python\ndef answer(question):\n    return",
    ' "forty-two"  # <b>not bold</b>\n```\n\n',
    "| by | it holds |\n|---|---|\n| March | one |\n",
    "| April | two |\n\nIt costs $5 or $6, and $a_1 + b_1 = c_1$",
    " decides.\n\n$$\n\\sum_{i=1}^{n} i\n$$\n",
)
"""A rich answer, cut where it hurts: inside emphasis, code, a table and maths."""


async def columns(page: Page, cards: Locator) -> int:
    """In how many columns the cards stand of which anything is in the window's width."""
    lefts = await cards.evaluate_all(
        "(all) => all.map((one) => Math.round(one.getBoundingClientRect().left))"
    )
    tops = await cards.evaluate_all(
        "(all) => all.map((one) => Math.round(one.getBoundingClientRect().top))"
    )
    width = await page.evaluate("() => innerWidth")
    first_row = [left for left, top in zip(lefts, tops, strict=True) if top == tops[0]]
    # On a phone the next one peeks in at the edge, to show that there is something to swipe to.
    return len([left for left in first_row if left < width * 0.8])


async def swipe(page: Page, where: Locator, *, seconds: float) -> None:
    """Draw a finger from right to left over an element, and let it come to rest."""
    await page.evaluate(
        """() => {
            window.rests = false;
            const rest = () => { window.rests = true; };
            addEventListener("scrollend", rest, { capture: true, once: true });
        }"""
    )
    box = await where.bounding_box()
    assert box is not None
    session = await page.context.new_cdp_session(page)
    steps, began = [300 - 20 * step for step in range(11)], time.time()

    async def touch(kind: str, step: int, *at: float) -> None:
        points = [{"x": x, "y": box["y"] + 60} for x in at]
        # By the finger's clock, however slow the machine is.
        then = began + seconds * step / len(steps)
        event = {"type": kind, "touchPoints": points, "timestamp": then}
        await session.send("Input.dispatchTouchEvent", event)

    await touch("touchStart", 0, steps[0])
    for step, x in enumerate(steps[1:], 1):
        await touch("touchMove", step, x)
    await touch("touchEnd", len(steps))
    await page.wait_for_function("() => window.rests")


@priced
@pytest.mark.parametrize("size", ["phone", "desktop"])
async def test_three_advisors_at_each_width(house: House, desk: Desk, size: Size) -> None:
    one, two = await house.voices(
        Script(text="Measure it first.", hold="one"),
        Script(pieces=("It is the ", "*order* that counts."), hold="two", gates={1: "on"}),
    )
    three = await house.advisor(GPT, name="Listener", color="#8a2f4f")
    wish = Script(text="What do you wish?", hold="three", input_tokens=1000, output_tokens=2000)
    house.provider.script("gpt-4o", wish)
    page = await desk.open("/", size=size)
    await ask(page, "Which comes first?")

    # Placeholders at once, in the council's order, before anybody has said a word.
    cards = page.get_by_role("article")
    await expect(page.get_by_role("heading", name="Which comes first?", level=2)).to_be_visible()
    await expect(cards).to_have_count(3)
    for place, advisor in enumerate((one, two, three)):
        await expect(cards.nth(place).get_by_role("heading", name=advisor["name"])).to_have_count(1)
        await expect(cards.nth(place).locator(".waits")).to_have_count(1)
        await state(cards.nth(place), "pending")
    assert await columns(page, cards) == COLUMNS[size]
    colors = await cards.evaluate_all(
        "(all) => all.map((one) => one.style.getPropertyValue('--c'))"
    )
    assert colors == [one["color"], two["color"], three["color"]]

    # The last one is the first to answer; nobody moves.
    house.provider.gate("three").set()
    await state(card(page, three), "completed")
    await expect(card(page, three).locator(".by")).to_contain_text("2k tok · $0.02")
    detail = card(page, three).locator(".by small")
    await expect(detail).to_have_attribute(
        "title", "1,000 tokens in, 2,000 out, $0.0225 · openai:gpt-4o"
    )
    house.provider.gate("two").set()
    await expect(card(page, two).locator(".prose")).to_have_text("It is the")
    await state(card(page, two), "streaming")
    await state(card(page, one), "pending")
    house.provider.gate("on").set()
    await expect(card(page, two).locator("em")).to_have_text("order")
    await state(card(page, two), "completed")
    house.provider.gate("one").set()
    await expect(card(page, one).locator(".prose")).to_have_text("Measure it first.")
    names = await cards.get_by_role("heading").all_inner_texts()
    assert names == [one["name"], two["name"], three["name"]]
    assert await columns(page, cards) == COLUMNS[size]
    assert await spill(page) == []

    if size != "phone":
        await expect(card(page, one).locator(".place")).to_be_hidden()
        return
    await expect(card(page, one).locator(".place")).to_have_text("1 of 3")
    await expect(card(page, two).locator(".prose")).not_to_be_in_viewport(ratio=0.5)
    for place, advisor in ((2, two), (3, three)):
        await swipe(page, card(page, advisor), seconds=1)
        # It rests on a whole pixel, so a part of one may be cut.
        await expect(card(page, advisor).locator(".prose")).to_be_in_viewport(ratio=0.98)
        await expect(card(page, advisor).locator(".place")).to_have_text(f"{place} of 3")
        await expect(card(page, advisor).locator(".place")).to_be_in_viewport(ratio=0.98)
    await expect(card(page, one).locator(".prose")).not_to_be_in_viewport()


async def test_one_alone_has_one_column_and_two_have_two(house: House, desk: Desk) -> None:
    one, two = await house.voices("Yes. " * 60, "No. " * 60)
    alone = await house.conversation(one)
    pair = await house.conversation(one, two)
    await house.say(alone, "Alone?")
    await house.say(pair, "Together?")
    page = await desk.open(f"/c/{alone}")
    cards = page.get_by_role("article")
    await expect(card(page, one)).to_contain_text("Yes.")
    await expect(card(page, one).locator(".place")).to_have_count(0)
    for width, height in SIZES.values():
        await page.set_viewport_size({"width": width, "height": height})
        assert (await cards.count(), await columns(page, cards)) == (1, 1)
        assert await spill(page) == []
    await page.goto(f"/c/{pair}")
    await expect(card(page, two)).to_contain_text("No.")
    for size, (width, height) in SIZES.items():
        await page.set_viewport_size({"width": width, "height": height})
        assert await columns(page, cards) == (1 if size == "phone" else 2)
        assert await spill(page) == []


async def test_markdown_grows_piece_by_piece(house: House, desk: Desk) -> None:
    gates = {number: f"g{number}" for number in range(1, len(PIECES))}
    (one,) = await house.voices(Script(pieces=PIECES, gates=gates))
    page = await desk.open("/", permissions=CLIPBOARD)
    await ask(page, "All of it, please.")
    prose = card(page, one).locator(".prose")

    def on(number: int) -> None:
        house.provider.gate(f"g{number}").set()

    await expect(prose).to_contain_text("First this, then")
    await expect(prose.locator("em")).to_have_text("this")
    on(1)
    await expect(prose.locator("strong")).to_have_text("that")
    await expect(prose.locator("pre code")).to_contain_text("def answer(question):")
    on(2)
    await expect(prose.locator("pre code")).to_contain_text("<b>not bold</b>")
    on(3)
    await expect(prose.get_by_role("cell", name="March")).to_be_visible()
    # What is finished has its colours: a word of the language is no longer the colour of the rest.
    await expect(prose.locator("pre .hljs-keyword").first).to_have_text("def")
    color = "(one) => getComputedStyle(one).color"
    keyword = await prose.locator("pre .hljs-keyword").first.evaluate(color)
    assert keyword != await prose.locator("pre code").evaluate(color)
    on(4)
    await expect(prose.get_by_role("cell", name="April")).to_be_visible()
    await expect(prose.get_by_role("row")).to_have_count(3)
    await expect(prose.locator("span.math")).to_have_text("a_1 + b_1 = c_1")
    await expect(prose).to_contain_text("It costs $5 or $6, and")
    on(5)
    await state(card(page, one), "completed")
    await expect(prose.locator("div.math")).to_have_text("\\sum_{i=1}^{n} i")
    await expect(prose.locator("table")).to_have_count(1)
    await prose.locator("pre").hover()
    await prose.get_by_role("button", name="Copy code").click()
    await copies(page, 'def answer(question):\n    return "forty-two"  # <b>not bold</b>\n')
    grown = await prose.inner_html()
    await page.reload()
    await expect(prose.locator("pre .hljs-keyword").first).to_be_visible()
    assert await prose.inner_html() == grown, "read in one piece it looks the same"


async def test_thinking_is_folded(house: House, desk: Desk) -> None:
    thought = "The user sounds tired. " * 20
    (one,) = await house.voices(Script(thinking=thought, text="Rest.", gates={0: "say"}))
    page = await desk.open("/")
    await ask(page, "And now?")
    folded = card(page, one).get_by_role("group").filter(has_text="Thinking")
    summary = card(page, one).locator("summary")
    await expect(summary).to_have_text("Thinking …")
    await expect(card(page, one).locator(".thought")).to_be_hidden()
    await expect(folded).not_to_have_attribute("open", "")
    house.provider.gate("say").set()
    await expect(card(page, one).locator(".prose")).to_have_text("Rest.")
    await expect(summary).to_have_text("Its thinking, 115 tokens")
    await expect(card(page, one).locator(".thought")).to_be_hidden()
    await summary.click()
    await expect(card(page, one).locator(".thought")).to_be_visible()
    await expect(card(page, one).locator(".thought")).to_have_text(thought.strip())
    await ask(page, "Then?")
    await house.provider.arrived(2)
    assert "tired" not in str(house.heard(one)[-1]), "thoughts are shown and never sent"
