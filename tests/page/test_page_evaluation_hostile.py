"""Whatever is asserted, answered, judged or proposed is text wherever evaluation shows it: it never
runs, loads nothing, and breaks no layout."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable
from textwrap import wrap
from typing import Any

from playwright.async_api import Page, Route, expect
from tests.page.corpus import injections, named
from tests.page.desk import Desk, Size, visit
from tests.page.house import House
from tests.page.talk import card, state, tool
from tests.page.test_hostile import FREE, UNFOLD, opened, sound
from tests.page.test_page_evaluation import BETTER, judged
from tests.provider import Script

ALL = [one for one in injections() if "\x00" not in one]
LINES = wrap(" ".join(" ".join(ALL).split()), 300, break_long_words=True)
"""All of it, in as few assertions as can hold it."""
WHOLE = "\n\n".join(ALL)
SIZES: tuple[Size, ...] = ("phone", "desktop")


def judges(body: Any) -> Script:
    """A judge whose reasons are hostile; the first of a batch holds, the others do not."""
    question = json.loads(body["messages"][-1]["content"])
    if notes := question.get("notes"):
        read = [{"id": note["id"], "meaning": "fail"} for note in notes]
        return Script(text=json.dumps({"meanings": [{**read[0], "meaning": "pass"}, *read[1:]]}))
    asked = question["assertions"]
    verdicts = [(LINES[0], "pass"), *[(WHOLE[:1500], "fail")] * (len(asked) - 1)]
    said = [
        {"id": one["id"], "reason": reason, "verdict": verdict}
        for one, (reason, verdict) in zip(asked, verdicts, strict=True)
    ]
    return Script(text=json.dumps({"verdicts": said}))


def speaks(body: Any) -> Script:
    asks = any(BETTER in str(one["content"]) for one in body["messages"])
    return Script(text=f"{WHOLE}\n\nWhat now?" if asks else WHOLE)


async def hostile(house: House, lines: list[str]) -> tuple[Any, str, str, str]:
    """An advisor with an assertion for each line, a conversation with it, a run and an
    optimisation, all made of hostile words."""
    house.provider.made("judge", judges)
    house.provider.made("weigher", speaks)
    given = {"reason": WHOLE[:900], "instructions": f"{WHOLE[:3000]} {BETTER}"}
    house.provider.made("writer", lambda _: Script(text=json.dumps(given)))
    for one in (await house.get("/api/advisors")).json():
        await house.delete(f"/api/advisors/{one['id']}")
    body = {"name": named(100)[0], "prompt": WHOLE[:3000], "model": "lab:weigher"}
    advisor = (await house.post("/api/advisors", {**body, "description": ALL[0]})).json()
    conversation = await house.conversation(advisor)
    turn = await house.say(conversation, WHOLE)
    answer = turn["answers"][0]["answer_id"]
    made = await house.post("/api/assertions", {"answer_id": answer, "texts": lines})
    assert made.status == 201, made.text
    check = {"answer_id": answer, "kind": "ends_with_question", "args": {}, "text": LINES[5]}
    asks = (await house.post("/api/assertions", check)).json()
    first = [one["id"] for one in made.json()["assertions"][:4]]
    wish = {"advisor_id": advisor["id"], "assertion_ids": [*first, asks["id"]]}
    run = await begun(house, "evaluations", wish)
    wish |= {"assertion_ids": [asks["id"]], "iterations": 2}
    return advisor, conversation, run, await begun(house, "optimizations", wish)


async def begun(house: House, what: str, wish: dict[str, Any]) -> str:
    """Begin it and wait for its end."""
    reply = await house.post(f"/api/{what}", wish)
    assert reply.status == 202, reply.text
    run = reply.json()
    while run["state"] in ("waiting", "running"):
        run = (await house.get(f"/api/{what}/{run['id']}")).json()
    assert run["state"] == "finished", run
    return str(run["id"])


async def unfolded(page: Page) -> None:
    """Open whatever can be opened."""
    for name in ("Reasons:", "Answers side by side:", "History:"):
        for one in (await page.get_by_role("button", name=name).all())[:4]:
            await one.click()
    await page.evaluate(UNFOLD)
    await expect(page.get_by_text("Fetching …")).to_have_count(0)


@judged
async def test_hostile_evaluation(house: House, desk: Desk) -> None:
    """Assertions, tags, sources, reasons, sample answers, notes of the rewriter, the change to the
    prompt and its attempts, the dialog on a card, the reader's side."""
    advisor, conversation, run, improved = await hostile(house, LINES)
    base = f"/assertions/{advisor['slug']}"
    places = {
        base: ".checklist .says",
        f"{base}/runs/{run}": ".results .says",
        f"{base}/improve": ".estimate",
        f"{base}/improve/{improved}": ".changes ins",
    }
    for size in SIZES:
        page = await opened(desk, "/assertions", size)
        await expect(page.locator(".voices a").first).to_be_visible()
        await sound(page)
        for path, shows in places.items():
            await visit(page, path)
            await expect(page.locator(shows).first).to_be_visible()
            await unfolded(page)
            await sound(page)
    await visit(page, base)
    await page.get_by_role("button", name="Edit: ").first.click()
    await sound(page)
    await visit(page, f"/c/{conversation}")
    await state(card(page, advisor), "completed")
    await tool(card(page, advisor), "Read").click()
    await tool(page, "Judge this answer").click()
    await expect(page.locator(".verdict q").nth(1)).to_be_visible()
    await sound(page)
    await tool(page, "Close").last.click()
    suggested = [{"text": one, "kind": "judge"} for one in LINES[:6]]
    house.provider.script("default", Script(text=json.dumps({"assertions": suggested})))
    await tool(card(page, advisor), "Assert how it should answer").click()
    await page.get_by_role("dialog").get_by_role("textbox").fill("\n".join(LINES[:9]))
    await tool(page, "Suggest some from this answer").click()
    await expect(tool(page, "Suggest others")).to_be_visible()
    await expect(page.locator(".drawn li").first).to_be_visible()
    await sound(page)


@judged
async def test_a_provider_that_refuses_in_hostile_words(house: House, desk: Desk) -> None:
    """What it says is the message of a run, and of an optimisation that could not go on."""
    advisor, _, _, _ = await hostile(house, LINES[:5])
    error = Script(status=400, error="\n".join(ALL[:12]))
    for model in ("judge", "weigher", "writer"):
        house.provider.made(model, lambda _: error)
    page = await opened(desk, f"/assertions/{advisor['slug']}")
    await page.get_by_role("checkbox", name="All").uncheck()
    await page.locator(".checklist input").first.check()
    await tool(page, "Run 1 assertion").click()
    await expect(page.get_by_role("heading", level=1)).to_contain_text("could not be judged")
    await unfolded(page)
    await sound(page)
    listed = (await house.get(f"/api/advisors/{advisor['id']}/assertions")).json()["items"]
    wish = {"advisor_id": advisor["id"], "assertion_ids": [listed[-1]["id"]]}
    run = (await house.post("/api/optimizations", wish)).json()
    await visit(page, f"/assertions/{advisor['slug']}/improve/{run['id']}")
    await expect(page.locator(".verdict-words")).to_be_visible()
    await sound(page)


SHOWN = FREE | {
    *("advisor_name", "answer", "answer_after", "answer_before", "decision", "engine", "judge"),
    *("final_prompt", "message", "optimizer", "original_prompt", "recipe", "sample_text", "stage"),
    *("target", "user_input", "verdict"),
}
"""What evaluation shows as words, or what should be one of a few."""


def lied(value: Any, words: str) -> Any:
    """The same data with these words wherever words are shown, in lists (tags, warnings) too."""
    if isinstance(value, dict):
        return {
            key: words if key in SHOWN and isinstance(one, str) else lied(one, words)
            for key, one in value.items()
        }
    if isinstance(value, list):
        return [words if isinstance(one, str) else lied(one, words) for one in value]
    return value


def liar(words: str) -> Callable[[Route], Awaitable[None]]:
    """Changes every answer of the server."""

    async def lie(route: Route) -> None:
        response = await route.fetch()
        await route.fulfill(response=response, json=lied(await response.json(), words))

    return lie


@judged
async def test_an_evaluation_that_lies(house: House, desk: Desk) -> None:
    """Not even what the server would never say is more than text."""
    advisor, conversation, run, improved = await hostile(house, LINES[:5])
    base = f"/assertions/{advisor['slug']}"
    paths = (base, f"{base}/runs/{run}", f"{base}/improve/{improved}", f"/c/{conversation}")
    for words in (injections("markup")[3], injections("code")[5], injections("letters")[2]):
        page = await opened(desk, "/search")
        for path in ("advisors", "agreement", "assertions", "evaluations", "optimizations"):
            await page.route(re.compile(f"/api/{path}"), liar(words))
        for path in paths:
            await visit(page, path)
            await expect(page.locator("#page main h1, #page main h2").first).to_be_visible()
            await unfolded(page)
            await sound(page)
        await page.unroute_all(behavior="ignoreErrors")
        await page.close()
