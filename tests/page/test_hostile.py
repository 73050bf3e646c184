"""Whatever an advisor, a provider, a file or a person writes is text: it never runs, loads nothing
from anywhere, and breaks no layout. (That nothing violates the content security policy, leaves the
origin or opens a dialog is watched by the desk in every test.)"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

from playwright.async_api import Page, Route, expect
from tests.page.corpus import injections, models, named, script
from tests.page.desk import Desk, Size, spill, visit
from tests.page.house import House
from tests.page.talk import ask, card, state, tool
from tests.provider import Script

ALL = injections()
MARKUP, MUTATIONS, CODE = map(injections, ("markup", "mutations", "code"))
LETTERS, MARKDOWN = map(injections, ("letters", "markdown"))
WHOLE = "\n\n".join(ALL)
SIZES: tuple[Size, ...] = ("phone", "desktop")
TRAP = "window.pwned = () => { window.hit = true; }; window.alert = window.pwned;"
FRAME = "() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))"
UNFOLD = "() => document.querySelectorAll('details').forEach((one) => { one.open = true; })"


async def opened(desk: Desk, path: str, size: Size = "desktop") -> Page:
    """A page in which `pwned` would be noticed."""
    page = await desk.open(None, size=size)
    await page.add_init_script(TRAP)
    await visit(page, path)
    return page


async def sound(page: Page) -> None:
    """Nothing ran, nothing is there that could, and nothing sticks out."""
    await page.evaluate(FRAME)
    assert await page.evaluate(script("audit")) == []
    assert await spill(page) == []


async def test_no_markdown_draws_anything_but_text(house: House, desk: Desk) -> None:
    """Each string by itself, and all together, in every state of being written."""
    page = await opened(desk, "/settings")
    texts = [*ALL, WHOLE, WHOLE.replace("\n\n", "\n"), "".join(ALL)]
    drawn = script("drawn").replace("AUDIT", f"({script('audit')})")
    assert await page.evaluate(drawn, texts) == []


async def test_a_hostile_conversation(house: House, desk: Desk) -> None:
    """In the answer (in small pieces), the thinking, the message, the title, names, an error, the
    receipt, the reader, the prompt, the synthesis, and what completes an @name."""
    pieces = tuple(WHOLE[start : start + 40] for start in range(0, len(WHOLE), 40))
    names = named(120)
    error = Script(status=400, error="\n".join((*MARKUP[:8], *MUTATIONS)))
    speaks = Script(pieces=pieces, thinking=WHOLE)
    one = await house.advisor(script=speaks, name=names[0], prompt=WHOLE, description=WHOLE)
    two = await house.advisor(script=error, name=names[3], description=MARKUP[3])
    three = await house.advisor(script=Script(body=WHOLE, status=500), name=names[9])
    points = f"- {MARKUP[3]} {MARKDOWN[0]} [{names[0]}]\n\n## Disagreements\n\n- {MARKUP[5]}\n"
    house.provider.script("default", Script(text=f"{points}  - [{names[0]}] {MUTATIONS[0]}\n"))
    for size in SIZES:
        conversation = await house.conversation(one, two, three, title=names[4])
        page = await opened(desk, f"/c/{conversation}", size)
        await ask(page, WHOLE)
        await state(card(page, one), "completed")
        await state(card(page, two), "failed")
        await state(card(page, three), "failed")
        await sound(page)
        await page.locator(".think summary").first.click()
        await expect(card(page, two)).to_contain_text(MARKUP[3])
        await tool(page, "Show all of it").click()
        await expect(page.locator(".ask")).to_contain_text(MARKUP[0])
        await sound(page)
    await expect(page.locator(".top h1")).to_have_text(names[4])
    await tool(card(page, one), "Read").click()
    await sound(page)
    await page.keyboard.press("Escape")
    await tool(card(page, one), "Receipt").click()
    for summary in await page.locator(".receipt summary").all():
        await summary.click()
    await expect(page.locator(".receipt")).to_contain_text(MARKUP[0])
    await sound(page)
    await page.keyboard.press("Escape")
    await tool(card(page, one), "Edit prompt").click()
    await expect(page.locator("dialog textarea").first).to_have_value(WHOLE)
    await sound(page)
    await page.keyboard.press("Escape")
    turn = (await house.get(f"/api/conversations/{conversation}")).json()["messages"][-1]["turn_id"]
    await house.post(f"/api/turns/{turn}/synthesize")
    await expect(page.locator('.syn[data-state="completed"] .who').first).to_have_text(names[0])
    await sound(page)
    await page.locator("#composer").press_sequentially("@")
    listed = page.get_by_role("listbox", name="Advisors").get_by_role("option")
    await expect(listed.first).to_be_visible()
    await sound(page)


async def hostile_house(house: House) -> str:
    """Hostile words in everything that the rooms show; a conversation made of it."""
    names = named(120)
    for number, model in enumerate(models()):
        description, prompt = ALL[number], ALL[-number]
        await house.advisor(model, name=names[number], description=description, prompt=prompt)
    for number in range(3):
        one = await house.advisor(name=names[30 + number], description=ALL[number])
        for prompt in ALL[number : number + 5]:
            await house.patch(f"/api/advisors/{one['id']}", {"prompt": prompt})
            await house.post(f"/api/advisors/{one['id']}/rollback", {"version": 1})
    advisors = (await house.get("/api/advisors")).json()
    for name in names[:12]:
        await house.council(*advisors[:3], name=name)
    early = {"name": names[0], "answers": 1, "text": WHOLE}
    phases = [early, {"name": names[3], "text": MARKUP[0]}]
    texts = {"identity": WHOLE, "shared": WHOLE, "rules": MARKUP[3]}
    reply = await house.patch("/api/recipes/council", {"phases": phases, "texts": texts})
    assert reply.status == 200, reply.text
    first = await house.conversation(*advisors[-3:], title=named(200)[0])
    await house.say(first, WHOLE)
    for title in named(200)[1:]:
        await house.conversation(title=title)
    return first


async def test_hostile_rooms(house: House, desk: Desk) -> None:
    """Advisors and their histories, councils, recipes and their texts, usage by hostile models, the
    list of conversations, search, the palette, suggestions."""
    await hostile_house(house)
    slugs = [one["slug"] for one in (await house.get("/api/advisors")).json()]
    paths = ("/", "/advisors", f"/advisors/{slugs[-1]}", "/recipes/council", "/usage", "/settings")
    for size in SIZES:
        page = await opened(desk, "/search?q=pwned", size)
        await expect(page.locator(".room mark").first).to_be_visible()
        await sound(page)
        for path in paths:
            await visit(page, path)
            await expect(page.locator("main").locator("h1, h2, textarea").first).to_be_visible()
            await expect(page.get_by_text("Opening …")).to_have_count(0)
            await page.evaluate(UNFOLD)
            await sound(page)
    await page.keyboard.press("Control+k")
    palette = page.get_by_role("dialog", name="Do or find anything")
    await palette.get_by_role("combobox").fill("pwned")
    await expect(palette.get_by_role("option").filter(has_text="pwned").first).to_be_visible()
    await sound(page)
    await page.keyboard.press("Escape")
    words = zip(("One", "Two", named(60)[0]), MARKUP[3:], MUTATIONS, strict=False)
    proposed = [{"name": name, "description": text * 9, "why": why} for name, text, why in words]
    house.provider.script("default", Script(text=json.dumps({"suggestions": proposed})))
    await visit(page, "/advisors")
    await tool(page, "Suggest perspectives").click()
    await page.get_by_label("The question you carry").fill(WHOLE)
    await tool(page.locator("dialog"), "Suggest").click()
    await expect(page.locator("dialog")).to_contain_text("by lab:default. Pick those")
    await expect(page.locator("dialog")).to_contain_text(MARKUP[3])
    await sound(page)


async def test_an_imported_conversation(house: House, desk: Desk) -> None:
    """A file from elsewhere is no better than anything else that is written."""
    one = await house.advisor(script=Script(text=WHOLE, thinking=WHOLE), name=named(120)[0])
    conversation = await house.conversation(one, title=named(200)[3])
    await house.say(conversation, WHOLE)
    lines = (await house.get(f"/api/conversations/{conversation}/export?format=jsonl")).body
    await house.delete(f"/api/conversations/{conversation}")
    kind = {"Content-Type": "application/x-ndjson"}
    reply = await house.post("/api/conversations/import", body=lines, headers=kind)
    assert reply.status == 201, reply.text
    page = await opened(desk, f"/c/{reply.json()['id']}")
    await expect(page.locator("article .prose")).to_contain_text("press")
    await sound(page)


FREE = {
    *("color", "content", "default", "description", "example", "hint", "label", "limit", "message"),
    *("model", "name", "note", "prompt", "reason", "snippet", "text", "thinking", "title", "value"),
    "why",
}
"""What is shown as words, and comes to the page in any field of this name."""


def poisoned(value: Any, words: Any) -> Any:
    """The same data with these words wherever words are shown."""
    if isinstance(value, dict):
        return {
            key: words if key in FREE and isinstance(given, str) else poisoned(given, words)
            for key, given in value.items()
        }
    return [poisoned(one, words) for one in value] if isinstance(value, list) else value


def poisoner(words: Any) -> Callable[[Route], Awaitable[None]]:
    """Changes every answer of the server."""

    async def change(route: Route) -> None:
        response = await route.fetch()
        if response.headers.get("content-type", "").startswith("application/json"):
            await route.fulfill(response=response, json=poisoned(await response.json(), words))
        else:
            await route.fulfill(response=response)

    return change


async def test_a_server_that_lies(house: House, desk: Desk) -> None:
    """Not even what the server itself would refuse is more than text: a colour that is a style, a
    name that turns text around, a word that is an object made to look like an element."""
    (one,) = await house.voices("Yes.")
    conversation = await house.conversation(one)
    await house.say(conversation, "Is it so?")
    element: dict[str, Any] = {"type": "img", "props": {"src": "x", "onerror": "pwned()"}}
    element |= {"key": None, "ref": None, "__v": 1, "__k": None, "__e": None, "constructor": None}
    talk, rooms = f"/c/{conversation}", ("/advisors", f"/advisors/{one['slug']}", "/usage")
    lies: list[tuple[Any, tuple[str, ...]]] = [
        (MARKUP[3] + CODE[-1] + LETTERS[0] + LETTERS[2], (talk, *rooms, "/settings")),
        (CODE[5], (talk, "/settings")),
        (element, (talk, *rooms)),
    ]
    for words, paths in lies:
        page = await opened(desk, "/search")
        await page.route(lambda url: "/api/" in url and "/events" not in url, poisoner(words))
        for path in paths:
            await visit(page, path)
            await expect(page.locator("#page main")).to_be_visible()
            await sound(page)
        await page.unroute_all(behavior="ignoreErrors")
        await page.close()
        if words != element:
            assert desk.watch.wrong() == []
    desk.allow("uncaught")  # an object where a word should be may be refused, not shown
