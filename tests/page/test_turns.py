"""A turn as a whole: its answers brought together and set against each other, its other wordings,
and more advisors than stand side by side."""

from __future__ import annotations

import pytest
from playwright.async_api import expect
from tests.page.desk import SIZES, Desk, spill
from tests.page.house import House
from tests.page.talk import GPT, PRICED, ask, card, last_message, says, sent, state, tool
from tests.provider import Script

TOGETHER = """\
- The letters hold the proof. [Skeptic, Builder]

## Disagreements

- What comes first?
  - [Skeptic] An afternoon of counting.
  - [Builder] A talk outside the meeting.
"""


async def test_answers_are_brought_together(house: House, desk: Desk) -> None:
    one, two = await house.voices("Count the letters.", "Talk to them first.")
    house.provider.script("default", Script(text=TOGETHER))
    page = await desk.open("/")
    await ask(page, "Who is right?")
    await tool(page, "Bring the answers together").click()
    synthesis = page.get_by_role("region", name="Synthesis")
    await state(synthesis, "completed")
    agreed = synthesis.get_by_role("listitem").filter(has_text="The letters hold the proof.")
    await expect(agreed.locator(".who")).to_have_text([one["name"], two["name"]])
    for advisor, text in ((one, "An afternoon of counting."), (two, "A talk outside the meeting.")):
        side = synthesis.get_by_role("listitem").filter(has_text=text).last
        await expect(side.locator(".who")).to_have_text(advisor["name"])
        given = await side.locator(".who").evaluate("(one) => one.style.getPropertyValue('--c')")
        assert given == advisor["color"]
    for heading in ("Where they agree", "Where they pull apart"):
        await expect(synthesis.get_by_role("heading", name=heading)).to_be_visible()
    asked = house.provider.requests("default")[0].json()
    assert all(text in str(asked) for text in ("Count the letters.", "Talk to them first."))

    # Done again it is another version; where it fails it says why.
    house.provider.script("default", Script(text="They agree on nothing I can name."))
    await tool(synthesis, "Regenerate").click()
    await expect(synthesis.locator(".prose")).to_have_text("They agree on nothing I can name.")
    await expect(synthesis.get_by_text("gave no attributions")).to_be_visible()
    await expect(synthesis.locator(".versions")).to_contain_text("2 of 2")
    await tool(synthesis, "Older version").click()
    await expect(agreed).to_be_visible()
    await tool(synthesis, "Newer version").click()
    house.provider.script("default", Script(status=402))
    await tool(synthesis, "Regenerate").click()
    await expect(synthesis.locator(".err")).to_contain_text("Insufficient credits.")
    await expect(synthesis.locator(".err")).to_contain_text("Add credit")
    await page.reload()
    await expect(synthesis.locator(".err")).to_contain_text("Insufficient credits.")
    await ask(page, "And now?")
    await expect(page.locator('article[data-state="completed"]')).to_have_count(4)
    assert "proof" not in sent(house, one), "a synthesis reaches no thread"


async def test_they_respond_to_each_other(house: House, desk: Desk) -> None:
    one, two = await house.voices("I say plum.", "I say pear.")
    page = await desk.open("/")
    await ask(page, "Which fruit?")
    await state(card(page, two), "completed")
    says(house, one, "Pear is too soft.")
    says(house, two, "Plum is too blue.")
    await tool(page, "Let them respond to each other").click()
    notice = page.get_by_text("Nobody has taken a position yet")
    await expect(notice).to_be_visible()
    first = page.get_by_role("region", name="Round 1")
    await expect(first.get_by_role("article")).to_have_count(2)
    await expect(first.get_by_role("article").nth(0)).to_contain_text("Pear is too soft.")
    await expect(first.get_by_role("article").nth(1)).to_contain_text("Plum is too blue.")
    assert "I say pear." in last_message(house, one)
    assert "I say plum." in last_message(house, two)
    await expect(card(page, one)).to_contain_text("I say plum.")
    says(house, one, "Blue is a colour.")
    await tool(page, "Another round").click()
    second = page.get_by_role("region", name="Round 2")
    await expect(second.get_by_role("article").nth(0)).to_contain_text("Blue is a colour.")
    assert "Plum is too blue." in last_message(house, one)
    await page.reload()
    await expect(notice).to_be_visible()
    await expect(page.get_by_role("region", name="Round 2").get_by_role("article")).to_have_count(2)
    await tool(second.get_by_role("article").nth(0), "Read").click()
    reader = page.get_by_role("dialog")
    await expect(reader.get_by_text("5 of 6")).to_be_visible()
    await expect(reader.locator(".prose")).to_have_text("Blue is a colour.")


@pytest.mark.parametrize(
    "house", [PRICED | {"limits": {"cost_per_conversation": 0.8}}], indirect=True, ids=["capped"]
)
async def test_an_exchange_that_a_cap_cuts_says_so(house: House, desk: Desk) -> None:
    house.provider.script("gpt-4o", Script(text="Well.", input_tokens=100_000, output_tokens=10))
    one, two = await house.advisor(GPT), await house.advisor(GPT)
    talk = await house.conversation(one, two)
    turn = await house.say(talk, "Which fruit?")
    page = await desk.open(f"/c/{talk}")
    await state(card(page, two), "completed")
    await house.make(f"/api/turns/{turn['turn_id']}/exchange", {"rounds": 4})
    notice = page.get_by_text("The exchange ended after 1 round.")
    await expect(notice).to_contain_text("cap")
    await page.reload()
    await expect(notice).to_be_visible()
    await expect(page.get_by_role("region", name="Round 2")).to_have_count(0)


async def test_other_words_are_a_branch(house: House, desk: Desk) -> None:
    (one,) = await house.voices(Script(text="To that: {last}"))
    page = await desk.open("/")
    questions = page.get_by_role("heading", level=2).and_(page.locator(".ask"))
    await ask(page, "Shall I go?")
    await state(card(page, one), "completed")
    await ask(page, "And if it rains?")
    await state(card(page, one, 1), "completed")

    await tool(page.locator(".ask-tools").first, "Edit").click()
    sheet = page.get_by_role("dialog")
    await expect(tool(sheet, "Ask")).to_be_disabled()
    await sheet.get_by_role("textbox", name="Your message").fill("Shall I stay?")
    await tool(sheet, "Ask").click()
    await expect(questions).to_have_text(["Shall I stay?"])
    await expect(card(page, one)).to_contain_text("Shall I stay?")
    await state(card(page, one), "completed")
    branches = page.get_by_role("group", name="Branches")
    await expect(branches).to_contain_text("wording 2 of 2")
    assert "Shall I go?" not in sent(house, one)

    await tool(branches, "Earlier wording").click()
    await expect(questions).to_have_text(["Shall I go?", "And if it rains?"])
    await expect(branches).to_contain_text("wording 1 of 2")
    await expect(card(page, one, 1)).to_contain_text("And if it rains?")
    await tool(branches, "Later wording").click()
    await expect(questions).to_have_text(["Shall I stay?"])
    await ask(page, "For how long?")
    await state(card(page, one, 1), "completed")
    assert "Shall I stay?" in sent(house, one)
    assert "it rains" not in sent(house, one)
    await page.reload()
    await expect(questions).to_have_text(["Shall I stay?", "For how long?"])
    await tool(branches, "Earlier wording").click()
    await expect(questions).to_have_text(["Shall I go?", "And if it rains?"])
    await tool(branches, "Later wording").click()
    await expect(questions).to_have_text(["Shall I stay?", "For how long?"])


def speech(number: int) -> str:
    """Twenty paragraphs that can be told apart."""
    return "\n\n".join(f"Voice {number} has reason {n}. It is a long one." for n in range(1, 21))


async def test_short_answers_take_only_the_room_they_need(house: House, desk: Desk) -> None:
    voices = await house.voices("Yes.", "No.", speech(1), Script(text="Perhaps.", gates={0: "go"}))
    there = await house.conversation(*voices[:3])
    await house.say(there, "Is it so?")
    page = await desk.open(f"/c/{there}", size="tablet")
    short, long = (card(page, voices[n]).locator(".words") for n in (0, 2))
    await expect(tool(card(page, voices[2]), "more")).to_be_visible()
    heights = [await one.evaluate("(one) => one.offsetHeight") for one in (short, long)]
    assert heights[0] < 80 < 200 < heights[1], heights


async def test_many_voices_are_folded_and_can_be_jumped_to(house: House, desk: Desk) -> None:
    voices = await house.voices(*(speech(n) for n in range(20)))
    six = await house.conversation(*voices[:6])
    twenty = await house.conversation(*voices)
    await house.say(six, "What do the six say?")
    await house.say(twenty, "What do the twenty say?")
    page = await desk.open(f"/c/{six}")
    strip = page.get_by_role("navigation", name="Advisors of this turn")
    await expect(strip.get_by_role("link")).to_contain_text([one["name"] for one in voices[:6]])
    here = card(page, voices[4])
    last = here.get_by_text("Voice 4 has reason 20.")
    await expect(here).to_contain_text("Voice 4 has reason 1.")
    await expect(last).to_have_count(0)
    heights = await page.locator("article").evaluate_all(
        "(all) => all.map((one) => one.offsetHeight)"
    )
    assert len(set(heights[:3])) == 1, "folded, they are of one height"
    await tool(here, "more").click()
    await expect(last).to_be_visible()
    await tool(here, "Less").click()
    await expect(last).to_have_count(0)

    await page.goto(f"/c/{twenty}")
    await expect(strip.get_by_role("link")).to_have_count(20)
    await expect(page.get_by_role("article")).to_have_count(20)
    for width, height in (SIZES["desktop"], SIZES["phone"]):
        await page.set_viewport_size({"width": width, "height": height})
        for place in (19, 8, 0):
            seat = card(page, voices[place])
            await strip.get_by_role("link", name=voices[place]["name"], exact=True).click()
            await expect(seat.get_by_role("heading")).to_be_in_viewport(ratio=1)
            await expect(seat.get_by_text(f"Voice {place} has reason 1.")).to_be_in_viewport()
            covered = await seat.get_by_role("heading").evaluate(
                "(one) => { const { x, y } = one.getBoundingClientRect();"
                " return !one.contains(document.elementFromPoint(x + 2, y + 2)); }"
            )
            assert not covered, f"{voices[place]['name']} stands behind something"
            assert await spill(page) == []
