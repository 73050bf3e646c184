"""The smaller parts of the room of assertions, and the ways that lead to it."""

from __future__ import annotations

import re
from typing import Any

from playwright.async_api import Page, expect
from tests.page.desk import Desk, Size, spill
from tests.page.house import House
from tests.page.talk import card, state, tool
from tests.page.test_page_evaluation import BETTER, PROMPT, advised, judged, rows, speaks
from tests.provider import Script

SIZES: tuple[Size, ...] = ("desktop", "phone")
MIDDLE = """(one) => { const box = one.getBoundingClientRect();
  return box.top >= 0 && box.bottom <= innerHeight; }"""


async def kept(house: House, advisor: Any) -> list[Any]:
    return list((await house.get(f"/api/advisors/{advisor['id']}/assertions")).json()["items"])


@judged
async def test_a_check_is_changed(house: House, desk: Desk) -> None:
    """From a judge to code and back; what a kind takes is asked for; words that nobody touched
    follow the check; what the server refuses stands at the field."""
    advisor, (one,) = await advised(house, "Is short")
    page = await desk.open(f"/assertions/{advisor['slug']}")
    await tool(page, "Edit: Is short").click()
    kind = page.get_by_role("combobox", name="Found out by")
    await kind.select_option("words")
    desk.allow("status of 422")
    await tool(page, "Save").click()
    await expect(page.locator(".edit-assertion .wrong")).to_contain_text("A number is missing")
    await page.get_by_role("spinbutton", name="At most").fill("40")
    await tool(page, "Save").click()
    await expect(rows(page).first.locator(".stamp")).to_contain_text("counts words")
    now = (await house.get(f"/api/assertions/{one['id']}")).json()
    assert (now["kind"], now["args"], now["text"]) == ("words", {"max": 40}, "Is short")

    await tool(page, "Edit: Is short").click()
    await page.get_by_role("combobox", name="Found out by").select_option("matches")
    await page.get_by_role("textbox", name="Regular expression").fill("wait[.]$")
    await page.get_by_role("checkbox", name="Capitals do not matter").check()
    await page.get_by_role("textbox", name="Assertion").fill("Says to wait")
    await tool(page, "Save").click()
    await expect(rows(page).first.locator(".says")).to_have_text("Says to wait")
    now = (await house.get(f"/api/assertions/{one['id']}")).json()
    assert (now["kind"], now["args"]["ignore_case"]) == ("matches", True)

    await tool(page, "Edit: Says to wait").click()
    await page.get_by_role("combobox", name="Found out by").select_option("language")
    await page.get_by_role("combobox", name="Language").select_option("de")
    await tool(page, "Save").click()
    await expect(rows(page).first.locator(".stamp")).to_contain_text("its language")
    now = (await house.get(f"/api/assertions/{one['id']}")).json()
    assert (now["kind"], now["args"]) == ("language", {"language": "de"})


@judged
async def test_the_words_of_a_check_follow_it(house: House, desk: Desk) -> None:
    advisor, _ = await advised(house)
    body = {"advisor_id": advisor["id"], "kind": "words", "args": {"max": 90}}
    assert (await house.post("/api/assertions", body)).status == 201
    page = await desk.open(f"/assertions/{advisor['slug']}")
    await tool(page, "Edit: At most 90 words").click()
    most = page.get_by_role("spinbutton", name="At most")
    await expect(most).to_have_value("90")
    await most.fill("120")
    await tool(page, "Save").click()
    await expect(rows(page).first.locator(".says")).to_have_text("At most 120 words")
    await expect(tool(page, "Edit: At most 120 words")).to_be_focused()


@judged
async def test_several_are_tagged(house: House, desk: Desk) -> None:
    advisor, _ = await advised(house, "Is slow", "Is kind", "Has rhymes")
    page = await desk.open(f"/assertions/{advisor['slug']}")
    await page.get_by_role("checkbox", name="Has rhymes").uncheck()
    await expect(page.get_by_text("2 of 3 assertions selected")).to_be_visible()
    await tool(page, "Tag …").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_role("combobox", name="Tag").fill("voice")
    await tool(dialog, "Put it on").click()
    await expect(rows(page).nth(1)).to_contain_text("voice")
    assert [one["tags"] for one in await kept(house, advisor)] == [["voice"], ["voice"], []]
    await page.get_by_role("checkbox", name="Is slow").uncheck()
    await tool(page, "Tag …").click()
    await dialog.get_by_role("combobox", name="Tag").fill("voice")
    await tool(dialog, "Take it off").click()
    await expect(rows(page).nth(1)).not_to_contain_text("voice")
    assert [one["tags"] for one in await kept(house, advisor)] == [["voice"], [], []]


@judged
async def test_how_far_the_judge_is_to_be_trusted(house: House, desk: Desk) -> None:
    """A person agrees with one verdict and not with another; the figures stand with the advisor's
    assertions, and nothing stands there before."""
    advisor, _ = await advised(house, "Is slow", "Has rhymes")
    page = await desk.open(f"/assertions/{advisor['slug']}")
    await expect(rows(page)).to_have_count(2)
    figures = page.get_by_role("region", name="You and the judge")
    await expect(figures).to_have_count(0)
    await tool(page, "Run 2 assertions").click()
    await tool(page, "Reasons: Is slow").click()
    await tool(page, "Agree: Is slow").click()
    await expect(page.get_by_text("you agree")).to_be_visible()
    await tool(page, "Reasons: Has rhymes").click()
    await tool(page, "Overrule: Has rhymes").click()
    await expect(page.get_by_text("you say so; the judge: does not hold")).to_be_visible()
    await page.get_by_role("link", name="How Weigher should answer").click()
    await expect(figures).to_contain_text("looked at 2 verdicts of a judge and agreed with 1")
    await figures.get_by_text("By judge and assertion").click()
    await expect(figures.locator("tr.judge")).to_contain_text(re.compile("lab:judge.*1 of 2"))
    assert await spill(page) == []


@judged
async def test_a_run_outlives_the_page_and_shows_in_another_tab(house: House, desk: Desk) -> None:
    advisor, _ = await advised(house, "Is slow")
    house.provider.made("weigher", lambda _: Script(pieces=("I", " would."), gates={1: "go"}))
    page = await desk.open(f"/assertions/{advisor['slug']}")
    await tool(page, "Run 1 assertion").click()
    await expect(page.get_by_role("progressbar")).to_be_visible()
    await page.reload()
    await expect(page.get_by_role("progressbar")).to_be_visible()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Being tried …")
    other = await desk.beside(page, f"/assertions/{advisor['slug']}")
    listed = other.get_by_role("list", name="Runs").locator("li")
    await expect(listed).to_contain_text(["under way"])
    house.provider.gate("go").set()
    await expect(page.get_by_role("heading", level=1)).to_have_text("1 of 1 hold")
    await expect(listed).to_contain_text(["1 of 1 hold"])


@judged
async def test_judging_an_answer_goes_on_when_the_dialog_is_closed(
    house: House, desk: Desk
) -> None:
    advisor, (one,) = await advised(house, "Is slow")
    judge = Script(judges=True, hold="judge")
    house.provider.script("judge", judge)
    page = await desk.open(f"/c/{one['source']['conversation_id']}")
    await state(card(page, advisor), "completed")
    assertion = tool(card(page, advisor), "Assert how it should answer")
    await assertion.click()
    await tool(page, "Judge this answer").click()
    await expect(page.get_by_role("button", name="Judging …")).to_be_visible()
    await page.reload()
    await state(card(page, advisor), "completed")
    await assertion.click()
    await expect(page.get_by_role("button", name="Judging …")).to_be_visible()
    house.provider.gate("judge").set()
    await expect(page.locator(".verdict")).to_contain_text("holds")
    await page.keyboard.press("Escape")
    await expect(assertion).to_be_focused()


@judged
async def test_the_text_of_a_phase_is_improved(house: House, desk: Desk) -> None:
    """Chosen instead of the prompt; accepted, it is the recipe's; rolled back, it is not."""
    recipe = {"phases": [{"name": "early", "answers": None, "text": "Answer in one sentence."}]}
    reply = await house.patch("/api/recipes/council", recipe)
    assert reply.status == 200, reply.text
    advisor, (one,) = await advised(house, "Closes with a question")
    await house.patch(f"/api/assertions/{one['id']}", {"kind": "ends_with_question", "args": {}})
    rewritten = f"Answer in one sentence. {BETTER}"
    said = f'{{"reason": "It never asks.", "instructions": "{rewritten}"}}'
    house.provider.made("writer", lambda _: Script(text=said))
    page = await desk.open(f"/assertions/{advisor['slug']}/improve")
    await page.get_by_role("combobox", name="What is improved").select_option("phase:early")
    await expect(page.locator(".estimate")).to_contain_text("council")
    await page.get_by_role("spinbutton", name="Spend at most").fill("")
    await page.get_by_role("spinbutton", name="Proposals at most").fill("2")
    await tool(page, "Start with 1 assertion").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Better")
    await expect(
        page.get_by_role("heading", name="What changed in the phase early of the recipe council")
    ).to_be_visible()
    await tool(page, "Accept the new text").click()
    await expect(page.get_by_text("Accepted: it is in force.")).to_be_visible()

    async def phase() -> str:
        found = (await house.get("/api/recipes/council")).json()["recipe"]["phases"]
        return str(found[0]["text"])

    assert await phase() == rewritten
    assert (await house.get(f"/api/advisors/{advisor['id']}")).json()["prompt"] == PROMPT
    await tool(page, "Roll it back").click()
    await expect(page.get_by_text("Rolled back")).to_be_visible()
    assert await phase() == "Answer in one sentence."


@judged
async def test_a_prompt_that_was_changed_since_is_not_overwritten_unasked(
    house: House, desk: Desk
) -> None:
    advisor, (one,) = await advised(house, "Closes with a question")
    await house.patch(f"/api/assertions/{one['id']}", {"kind": "ends_with_question", "args": {}})
    page = await desk.open(f"/assertions/{advisor['slug']}/improve")
    await page.get_by_role("spinbutton", name="Spend at most").fill("")
    await tool(page, "Start with 1 assertion").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Better")
    await house.patch(f"/api/advisors/{advisor['id']}", {"prompt": "Be brief."})
    desk.allow("status of 409")
    for said, prompt in (("Leave it", "Be brief."), ("Do it anyway", f"{PROMPT} {BETTER}")):
        await tool(page, "Accept the new prompt").click()
        await tool(page.get_by_role("dialog"), said).click()
        await expect(page.get_by_role("dialog")).to_have_count(0)
        if said == "Do it anyway":
            await expect(page.get_by_text("Accepted: it is in force.")).to_be_visible()
        assert (await house.get(f"/api/advisors/{advisor['id']}")).json()["prompt"] == prompt


@judged
async def test_earlier_runs_are_there(house: House, desk: Desk) -> None:
    advisor, (one,) = await advised(house, "Is slow")
    wish = {"answer_id": one["source"]["answer_id"], "mode": "judge"}
    for _ in range(12):
        assert (await house.post("/api/evaluations", wish)).status == 202
    page = await desk.open(f"/assertions/{advisor['slug']}")
    listed = page.get_by_role("list", name="Runs").locator("li")
    await expect(listed).to_have_count(10)
    await tool(page, "Earlier ones").click()
    await expect(listed).to_have_count(12)
    await expect(tool(page, "Earlier ones")).to_have_count(0)
    await listed.last.get_by_role("link").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("1 of 1 hold")


@judged
async def test_the_ways_that_lead_there(house: House, desk: Desk) -> None:
    """From the advisor's own page; from the palette, in a conversation and among assertions."""
    advisor, (one,) = await advised(house, "Is slow")
    page = await desk.open(f"/advisors/{advisor['slug']}")
    await page.locator("header .tools").get_by_role("link", name="Assertions").click()
    await expect(page.get_by_role("heading", name="How Weigher should answer")).to_be_visible()
    await chosen(page, "Write down how Weigher")
    await expect(page.get_by_role("textbox", name="What should hold")).to_be_focused()
    await page.keyboard.press("Escape")
    await chosen(page, "Improve the prompt of Weigher")
    await expect(page.get_by_role("heading", level=1)).to_have_text("Improve how Weigher answers")
    await page.goto(f"/c/{one['source']['conversation_id']}")
    await state(card(page, advisor), "completed")
    await chosen(page, "Assert how Weigher")
    dialog = page.get_by_role("dialog", name="How Weigher should answer")
    await expect(dialog.get_by_role("textbox")).to_be_focused()


async def chosen(page: Page, words: str) -> None:
    """Do it by the palette."""
    await page.keyboard.press("Control+k")
    palette = page.get_by_role("dialog", name="Do or find anything")
    await palette.get_by_role("combobox").fill(words)
    await expect(palette.get_by_role("option").first).to_contain_text(words)
    await page.keyboard.press("Enter")


@judged
async def test_a_hundred_long_ones(house: House, desk: Desk) -> None:
    """Running them is in reach wherever one is in the list, by the keyboard too; words without a
    place to break do not stick out."""
    texts = [f"Number {n}: {'stays calm and ' * (n % 9)}answers" for n in range(99)]
    advisor, (one,) = await advised(house, "Unbroken" + "x" * 400)
    body = {"answer_id": one["source"]["answer_id"], "texts": texts}
    assert (await house.post("/api/assertions", body)).status == 201
    page = await desk.open(f"/assertions/{advisor['slug']}", size="phone")
    await expect(rows(page)).to_have_count(100)
    run = tool(page, "Run 100 assertions")
    for at in (0, 50):
        await rows(page).nth(at).scroll_into_view_if_needed()
        assert await run.evaluate(MIDDLE), at
    assert await spill(page) == []
    await page.get_by_role("checkbox", name="All").uncheck()
    await expect(tool(page, "Run 0 assertions")).to_be_disabled()
    box = rows(page).nth(50).get_by_role("checkbox")
    await box.focus()
    await page.keyboard.press("Space")
    await expect(tool(page, "Run 1 assertion")).to_be_enabled()
    house.provider.made("weigher", speaks)


@judged
async def test_words_selected_with_a_finger(house: House, desk: Desk) -> None:
    advisor, (one,) = await advised(house, "Is slow")
    page = await desk.open(f"/c/{one['source']['conversation_id']}", size="phone")
    prose = card(page, advisor).locator(".prose")
    await state(card(page, advisor), "completed")
    await prose.locator("p").first.evaluate(
        "(one) => { const next = one.closest('article').querySelector('.tools');"
        " getSelection().setBaseAndExtent(one, 0, next, 0); }"
    )  # as three clicks do: up to the beginning of what follows
    button = tool(page, "Make an assertion")
    below = await prose.evaluate(
        "() => getSelection().getRangeAt(0).getBoundingClientRect().bottom"
    )
    box = await button.bounding_box()
    assert box is not None
    assert box["y"] >= below
    await button.tap()
    dialog = page.get_by_role("dialog", name="How Weigher should answer")
    await expect(dialog.locator("blockquote")).to_have_text("I would wait.")
    await expect(dialog.get_by_role("textbox")).to_be_visible()
