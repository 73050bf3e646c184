"""Assertions where people are: on a card, from a selection, in the reader; verdicts; Instruct."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from playwright.async_api import Locator, Page, Route, expect
from tests.page.desk import GONE, Desk, Size, spill
from tests.page.house import House, Process
from tests.page.talk import card, sent, state, tool
from tests.provider import Script

MODELS = {"models": {"default": "lab:default", "judge": "lab:judge"}}
judged = pytest.mark.parametrize("house", [MODELS], indirect=True, ids=["judged"])
badged = pytest.mark.parametrize(
    "house", [{**MODELS, "evaluation": {"badges": True}}], indirect=True, ids=["badged"]
)
ANSWER = "Sleep on it, then call your sister. What would she say?"


async def answered(house: House, *texts: str) -> tuple[list[Any], str, list[str]]:
    """Advisors who have answered a question; the conversation and the ids of the answers."""
    house.provider.script("judge", Script(judges=True, fails=("rhymes",)))
    advisors = await house.voices(*(texts or (ANSWER,)))
    conversation = await house.conversation(*advisors)
    turn = await house.say(conversation, "Should I sell the boat?")
    return advisors, conversation, [one["answer_id"] for one in turn["answers"]]


async def asserted(house: House, advisor: Any) -> list[Any]:
    """What is asserted of an advisor, oldest first."""
    return list((await house.get(f"/api/advisors/{advisor['id']}/assertions")).json()["items"])


def sheet(page: Page, advisor: Any) -> Locator:
    """The dialog for assertions."""
    return page.get_by_role("dialog", name=f"How {advisor['name']} should answer")


def linted(findings: list[Any], check: Any) -> Script:
    """A judge's second opinion on one assertion."""
    items = [{"id": "1", "findings": findings, "check": check}]
    return Script(pieces=(json.dumps({"items": items}),))


async def opened(page: Page, advisor: Any, size: Size = "desktop") -> Locator:
    here = card(page, advisor)
    await state(here, "completed")
    where: Locator | Page = here
    if size == "phone":
        await here.get_by_role("button", name="Tools for").click()
        where = page.get_by_role("dialog")
    await tool(where, "Assert how it should answer").click()
    found = sheet(page, advisor)
    await expect(found.get_by_role("textbox")).to_be_visible()
    return found


@pytest.mark.parametrize("size", ["phone", "desktop"])
@judged
async def test_assertions_from_a_card(house: House, desk: Desk, size: Size) -> None:
    """Written one per line, kept with what was asked and answered; a mark on the card and never a
    count; judged with reasons; and overruled."""
    (one, two), conversation, (answer, _) = await answered(house, ANSWER, "Keep it.")
    page = await desk.open(f"/c/{conversation}", size=size)
    await state(card(page, two), "completed")
    mark = card(page, one).get_by_role("img", name="There are assertions on this answer")
    await expect(mark).to_have_count(0)
    dialog = await opened(page, one, size)
    await dialog.get_by_role("textbox").fill("Names somebody to talk to\n- Is written as rhymes")
    await tool(dialog, "Keep 2 assertions").click()
    await expect(
        dialog.get_by_label("Assertions drawn from this answer").locator("li")
    ).to_have_text(["Names somebody to talk to", "Is written as rhymes"])
    kept = await asserted(house, one)
    assert [each["text"] for each in kept] == ["Names somebody to talk to", "Is written as rhymes"]
    assert {each["source"]["answer_id"] for each in kept} == {answer}
    assert kept[0]["source"]["user_input"] == "Should I sell the boat?"

    await tool(dialog, "Judge this answer").click()
    verdicts = dialog.locator(".verdict")
    await expect(verdicts).to_have_count(2)
    wrong = verdicts.filter(has_text="Is written as rhymes")
    await expect(wrong.locator(".outcome")).to_contain_text("does not hold")
    await expect(wrong.locator("q")).not_to_be_empty()
    right = verdicts.filter(has_text="Names somebody")
    await expect(right.locator(".outcome")).to_contain_text("holds")
    await wrong.get_by_role("button", name="Overrule").click()
    await expect(wrong).to_contain_text("you say so; the judge: does not hold")
    said = (await house.get(f"/api/answers/{answer}/verdicts")).json()["verdicts"]
    assert {each["text"]: each["overruled"] for each in said} == {
        "Names somebody to talk to": None,
        "Is written as rhymes": "pass",
    }
    assert await spill(page) == []
    await tool(dialog, "Close").click()
    stands = card(page, one).get_by_role("img", name="All its assertions hold")
    await expect(stands).to_have_text("✓")
    await expect(card(page, two).locator(".asserted")).to_have_count(0)
    await page.reload()
    await state(card(page, one), "completed")
    await expect(mark).to_have_text("§")


@judged
async def test_a_selection_becomes_an_assertion(house: House, desk: Desk) -> None:
    """Words of an answer that are selected are offered as a check, in a card and in the reader."""
    (one,), conversation, _ = await answered(house)
    page = await desk.open(f"/c/{conversation}")
    await state(card(page, one), "completed")
    for where in (card(page, one).locator(".prose"), page.locator(".reading .prose")):
        await where.evaluate(
            """(prose) => {
              const walk = document.createTreeWalker(prose, NodeFilter.SHOW_TEXT);
              let node;
              while ((node = walk.nextNode()) && !node.data.includes("call your sister"));
              const at = node.data.indexOf("call your sister");
              const range = document.createRange();
              range.setStart(node, at);
              range.setEnd(node, at + "call your sister".length);
              getSelection().removeAllRanges();
              getSelection().addRange(range);
            }"""
        )
        await tool(page, "Make an assertion").click()
        dialog = sheet(page, one)
        await expect(dialog.locator("blockquote")).to_have_text("call your sister")
        saying = "Should say this" if not await asserted(house, one) else "Should not say this"
        await tool(dialog, saying).click()
        await tool(dialog, "Keep 1 assertion").click()
        await expect(dialog.locator(".taken")).to_have_count(0)
        await tool(dialog, "Close").click()
        if saying == "Should say this":
            await tool(card(page, one), "Read").click()
    kinds = [(each["kind"], each["args"]["text"]) for each in await asserted(house, one)]
    assert kinds == [("contains", "call your sister"), ("lacks", "call your sister")]


@pytest.mark.parametrize("size", ["phone", "desktop"])
@judged
async def test_what_loads_late_moves_nothing(house: House, desk: Desk, size: Size) -> None:
    """A press meets what it aimed at, although the dialog grows meanwhile."""
    (one,), conversation, (answer,) = await answered(house)
    drawn = {"answer_id": answer, "text": "Names somebody to talk to"}
    await house.post("/api/assertions", drawn)
    page = await desk.open(f"/c/{conversation}", size=size)
    released = asyncio.Event()

    async def held(route: Route) -> None:
        await released.wait()
        await route.continue_()

    await page.route("**/api/answers/*/assertions", held)
    dialog = await opened(page, one, size)
    before = await dialog.get_by_role("textbox").bounding_box()
    released.set()
    await expect(
        dialog.get_by_label("How this answer stands").get_by_role("button")
    ).to_be_visible()
    assert await dialog.get_by_role("textbox").bounding_box() == before


@judged
async def test_a_second_opinion_while_writing(house: House, desk: Desk) -> None:
    """What says two things can be split; what can be checked in code is offered so; suggestions are
    kept only when they are picked."""
    (one,), conversation, _ = await answered(house)
    page = await desk.open(f"/c/{conversation}")
    dialog = await opened(page, one)
    box = dialog.get_by_role("textbox")
    opinion = {
        "rule": "compound",
        "message": "Two things.",
        "split": ["Names a next step", "Asks a question"],
    }
    house.provider.script("judge", linted([opinion], None))
    await box.fill("Names a next step and asks a question")
    ask = dialog.get_by_role("button", name="Ask for a second opinion")
    await ask.click()
    lint = dialog.get_by_label("A second opinion")
    await lint.get_by_role("button", name="Make it 2").click()
    assert len((await box.input_value()).split("\n")) == 2
    house.provider.script("judge", linted([], {"kind": "words", "max": 60}))
    await box.fill("At most 60 words")
    await ask.click()
    await lint.get_by_role("button", name="in code").click()
    await expect(box).to_have_value("")
    await expect(dialog.locator(".taken li")).to_have_count(1)
    await tool(dialog, "Suggest some from this answer").click()
    first = dialog.locator(".take").first
    await expect(first).to_be_visible()
    text = await first.inner_text()
    assert await asserted(house, one) == []
    await first.click()
    await tool(dialog, "Keep 2 assertions").click()
    await expect(dialog.locator(".taken")).to_have_count(0)
    kept = await asserted(house, one)
    assert {each["kind"] for each in kept} >= {"words"}
    assert text in {each["text"] for each in kept}


@judged
@pytest.mark.process
async def test_a_draft_is_kept_and_a_failure_is_told(house: Process, desk: Desk) -> None:
    (one,), conversation, _ = await answered(house)
    page = await desk.open(f"/c/{conversation}")
    dialog = await opened(page, one)
    await dialog.get_by_role("textbox").fill("Is kind")
    await tool(dialog, "Close").click()
    await page.reload()
    dialog = await opened(page, one)
    await expect(dialog.get_by_role("textbox")).to_have_value("Is kind")
    desk.allow(GONE)
    await house.kill()
    await tool(dialog, "Keep 1 assertion").click()
    await expect(dialog.locator("form").get_by_role("alert")).to_contain_text(
        "The server cannot be reached."
    )
    await expect(dialog.get_by_role("textbox")).to_have_value("Is kind")
    await house.start()
    await tool(dialog, "Keep 1 assertion").click()
    await expect(
        dialog.get_by_label("Assertions drawn from this answer").locator("li")
    ).to_have_text(["Is kind"])


@judged
async def test_the_reader_has_the_assertions_beside_it(house: House, desk: Desk) -> None:
    (one,), conversation, (answer,) = await answered(house)
    await house.post("/api/assertions", {"answer_id": answer, "texts": ["Names somebody"]})
    page = await desk.open(f"/c/{conversation}")
    await state(card(page, one), "completed")
    await tool(card(page, one), "Read").click()
    side = page.get_by_label("Assertions", exact=True)
    await tool(side, "Judge this answer").click()
    await expect(side.locator(".verdict")).to_have_count(1)
    await expect(side.locator(".outcome")).to_contain_text("holds")
    assert await spill(page) == []


@badged
async def test_every_new_answer_is_marked_where_that_is_wanted(house: House, desk: Desk) -> None:
    (one,), conversation, (answer,) = await answered(house)
    made = await house.post("/api/assertions", {"answer_id": answer, "texts": ["Has no rhymes"]})
    assert made.status == 201
    page = await desk.open(f"/c/{conversation}")
    await state(card(page, one), "completed")
    turn = await house.say(conversation, "And the house?")
    newest = page.locator(f"#answer-{turn['answers'][0]['answer_id']}")
    await expect(newest.get_by_role("img", name="Not all its assertions hold")).to_be_visible()


@judged
async def test_instruct_adds_to_the_prompt(house: House, desk: Desk) -> None:
    """One step: the instruction is part of the next request, as a new version of the prompt."""
    (one,), conversation, _ = await answered(house)
    page = await desk.open(f"/c/{conversation}")
    await state(card(page, one), "completed")
    await tool(card(page, one), "Instruct this advisor").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_role("textbox", name="From now on").fill("Never mention relatives.")
    await tool(dialog, "Add it").click()
    await tool(page.get_by_role("dialog"), "Regenerate it").click()
    await expect(card(page, one).locator(".versions .num").first).to_have_text("2 of 2")
    await state(card(page, one), "completed")
    assert "Never mention relatives." in sent(house, one)
    versions = (await house.get(f"/api/advisors/{one['id']}/versions")).json()
    assert len(versions) == 2
    assert versions[0]["text"].endswith("Never mention relatives.")
