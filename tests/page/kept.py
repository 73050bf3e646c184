"""What a page holds of a conversation, to the letter: the raw texts (that it keeps in memory),
and the picture that it makes of them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

from playwright.async_api import CDPSession, Page
from tests.page.corpus import script
from tests.page.house import House

FIND = 'import("/page/js/conversation/state.js").then(({ Live }) => Live.prototype)'
TEXTS = """function () {
  const live = this.find((one) => !one.closed);
  const answers = live ? live.turns.peek().flatMap((turn) => turn.answers.peek()) : [];
  return answers.map(({ id, said, thought, data }) =>
    [id, said.text.peek(), thought.text.peek(), data.peek().state]);
}"""
NUMBER = "function () { return this.find((one) => !one.closed)?.stream?.after ?? -1; }"
FRAME = "() => new Promise(requestAnimationFrame)"
PATIENCE = 60.0

Texts = dict[str, tuple[str, str, str]]
_wires: WeakKeyDictionary[Page, CDPSession] = WeakKeyDictionary()


async def _held(page: Page, function: str) -> Any:
    """What a function says of the conversations that the page holds in memory: the debugger finds
    them, the page itself has no door to them."""
    wire = _wires.get(page)
    if wire is None:
        wire = _wires[page] = await page.context.new_cdp_session(page)
    like = await wire.send("Runtime.evaluate", {"expression": FIND, "awaitPromise": True})
    kind = {"prototypeObjectId": like["result"]["objectId"]}
    found = (await wire.send("Runtime.queryObjects", kind))["objects"]["objectId"]
    call = {"objectId": found, "functionDeclaration": function, "returnByValue": True}
    return (await wire.send("Runtime.callFunctionOn", call))["result"]["value"]


async def kept(page: Page) -> Texts:
    """Text, thinking and state of every answer that the page has, by id."""
    found: list[list[str]] = await _held(page, TEXTS)
    return {key: (text, thinking, state) for key, text, thinking, state in found}


async def stored(house: House, conversation: str) -> Texts:
    """The same as the server has it now."""
    seen = (await house.get(f"/api/conversations/{conversation}")).json()
    return {
        one["answer_id"]: (one["text"], one["thinking"], one["state"])
        for message in seen["messages"]
        for one in message["answers"]
    }


async def same_texts(page: Page, house: House, conversation: str) -> Texts:
    """Wait until the page has what the server has, to the letter."""
    mine: Mapping[str, Any] = {}
    theirs: Texts = {}
    try:
        async with asyncio.timeout(PATIENCE):
            while True:
                theirs, mine = await stored(house, conversation), await kept(page)
                if theirs and mine == theirs:
                    return theirs
                await page.evaluate(FRAME)
    except TimeoutError:
        assert mine == theirs, "the page never caught up"
        raise


async def picture(page: Page) -> dict[str, Any]:
    """What is to be seen: the title, and of every turn what was asked and what each card shows."""
    found: dict[str, Any] = await page.evaluate(script("picture"))
    return found


async def agree(one: Page, two: Page) -> dict[str, Any]:
    """Wait until both pages show the same."""
    here: dict[str, Any] = {}
    there: dict[str, Any] = {}
    try:
        async with asyncio.timeout(PATIENCE):
            while True:
                here, there = await picture(one), await picture(two)
                if here == there:
                    return here
                await two.evaluate(FRAME)
    except TimeoutError:
        assert here == there, "the tabs do not agree"
        raise


async def heard(page: Page, number: int) -> None:
    """Wait until the page has taken in every event up to this number."""
    async with asyncio.timeout(PATIENCE):
        while await _held(page, NUMBER) < number:
            await page.evaluate(FRAME)


async def written(house: House, answer: str, text: str) -> None:
    """Wait until the server has stored this much of an answer."""
    async with asyncio.timeout(PATIENCE):
        while (await house.answer(answer))["text"] != text:
            pass
