"""What pages ask for, how much comes, and that nothing jumps: as the browser saw it."""

from __future__ import annotations

from itertools import product
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Browser, CDPSession, Locator, Page, expect
from tests.page.desk import Desk, Size, settled
from tests.page.house import House
from tests.page.scenes import SCENES, Where, Worlds
from tests.provider import Script

MOST = 300_000
"""Bytes of a first load, as they come over the wire."""
STILL = 0.01
SHIFTS = """
window.shifts = [];
new PerformanceObserver((list) => {
  for (const one of list.getEntries()) {
    const name = ({ node }) => (node?.outerHTML ?? node?.data ?? "gone").slice(0, 90);
    const place = ({ previousRect: a, currentRect: b }) => `${a.x},${a.y} to ${b.x},${b.y}`;
    const moved = one.sources.map((source) => `${name(source)}: ${place(source)}`);
    window.shifts.push([one.value, moved]);
  }
}).observe({ type: "layout-shift", buffered: true });
"""


@pytest.mark.parametrize("where", ["fresh", "known", "crowd"])
async def test_every_request_stays_at_the_origin(
    browser: Browser, worlds: Worlds, where: Where
) -> None:
    """Each address in one profile, as a person goes through them."""
    world = await worlds.get(where)
    desk = Desk(browser, world.url)
    page = await desk.open(None)
    paths = {one.path: one.shows for one in SCENES.values() if one.where == where and not one.act}
    for path, shows in paths.items():
        await page.goto(path.format(**world.places))
        await expect(page.locator(shows).first).to_be_visible()
        await settled(page, desk.watch)
    await desk.close()
    assert len(desk.watch.requests) > 20 * len(paths), "they are seen"
    places = {urlsplit(url)[:2] for url in desk.watch.requests}
    assert places <= {("http", urlsplit(world.url).netloc), ("data", "")}
    assert desk.watch.wrong() == []


class Wire:
    """The bytes of every response as they came, by its address; streams have no end."""

    def __init__(self, session: CDPSession) -> None:
        self.session = session
        self.sizes: dict[str, int] = {}
        self.plain: list[str] = []
        self._urls: dict[str, str] = {}
        self._open: set[str] = set()

    async def begin(self) -> None:
        self.session.on("Network.requestWillBeSent", self._sent)
        self.session.on("Network.responseReceived", self._answered)
        self.session.on("Network.dataReceived", self._came)
        self.session.on("Network.loadingFinished", self._ended)
        await self.session.send("Network.enable")
        await self.session.send("Network.setCacheDisabled", {"cacheDisabled": True})

    async def settled(self, page: Page) -> int:
        """Wait until everything but a stream has come; how much it was."""
        while self._open:
            await page.evaluate("() => new Promise(requestAnimationFrame)")
        return sum(self.sizes.values())

    def _sent(self, event: dict[str, Any]) -> None:
        if event["request"]["url"].startswith("http"):
            self._urls[event["requestId"]] = event["request"]["url"]
            self._open.add(event["requestId"])

    def _answered(self, event: dict[str, Any]) -> None:
        response, headers = event["response"], event["response"]["headers"]
        given = {name.lower(): value for name, value in headers.items()}
        kind = given.get("content-type", "")
        if kind.startswith("text/event-stream"):
            self._open.discard(event["requestId"])
        elif "/api/" not in response["url"] and "content-encoding" not in given:
            self.plain.append(f"{kind} {response['url']}")

    def _came(self, event: dict[str, Any]) -> None:
        self._count(event["requestId"], event["encodedDataLength"])

    def _ended(self, event: dict[str, Any]) -> None:
        if (url := self._urls.get(event["requestId"])) is not None:
            self.sizes[url] = round(event["encodedDataLength"])
        self._open.discard(event["requestId"])

    def _count(self, request: str, size: int) -> None:
        if (url := self._urls.get(request)) is not None:
            self.sizes[url] = self.sizes.get(url, 0) + size


@pytest.mark.parametrize("name", ["welcome", "new", "conversation", "long", "usage"])
async def test_a_first_load_is_small(browser: Browser, worlds: Worlds, name: str) -> None:
    scene = SCENES[name]
    world = await worlds.get(scene.where)
    desk = Desk(browser, world.url)
    page = await desk.open(None)
    wire = Wire(await page.context.new_cdp_session(page))
    await wire.begin()
    await page.goto(scene.path.format(**world.places))
    await expect(page.locator(scene.shows).first).to_be_visible()
    await page.evaluate("() => document.fonts.ready")
    total = await wire.settled(page)
    await desk.close()
    assert f"{world.url}/page/js/main.js" in wire.sizes, "it was a load from nothing"
    largest = sorted(wire.sizes.items(), key=lambda one: -one[1])
    assert total < MOST, f"{total} bytes: {largest}"
    assert [one for one in wire.plain if not one.startswith("font/")] == [], "not compressed"


WORDS = (
    "## What to look at first\n\n",
    "Nobody has shown a number yet, so let us get one before anyone wins. ",
    "Take last month's mail and sort it into three heaps.\n\n",
    "- the first is the largest, as a rule, and the one that nobody wants to count\n",
    "- the second is what broke\n- the third is what does not exist yet\n\n",
    "| month | it holds if | it fails if |\n|---|---|---|\n| January | one day | more |\n",
    "| March | three of ten are gone | the same letters keep coming |\n\n",
    "```python\nfor letter in letters:\n",
    '    heaps[kind(letter)].append(letter)  # "kind" is a person who reads\n```\n\n',
    "> Whoever holds the list decides what gets built.\n\n",
    "And then one more paragraph, **long enough** to wrap at every width there is, so that lines ",
    "are broken while it is being written, and broken again.",
)


@pytest.mark.parametrize("size", ["phone", "desktop"])
async def test_nothing_jumps_while_three_answers_stream(
    house: House, desk: Desk, size: Size
) -> None:
    """Word by word, each shown before the next is let go; a turn that is finished stands above."""
    steps = range(len(WORDS))
    voices = await house.voices(
        *(
            Script(pieces=WORDS, gates={step: f"{voice}.{step}" for step in steps})
            for voice in range(3)
        )
    )
    conversation = await house.conversation(*voices)
    for voice in voices:
        house.provider.queue(voice["model"].partition(":")[2], Script(text="A first answer."))
    await house.say(conversation, "Who is right?")
    page = await desk.open(None, size=size)
    await page.add_init_script(SHIFTS)
    await page.goto(f"/c/{conversation}")
    await expect(page.locator("article")).to_have_count(3)
    await page.evaluate("() => document.fonts.ready")
    await page.evaluate("() => { window.shifts.length = 0; }")

    turn = await house.send(conversation, "And by March?")
    cards = [page.locator(f"#answer-{answer['answer_id']}") for answer in turn["answers"]]
    lengths = [0, 0, 0]
    for step, voice in product(steps, range(3)):
        house.provider.gate(f"{voice}.{step}").set()
        lengths[voice] = await _grown(cards[voice], lengths[voice])
    await house.ended(conversation, turn["turn_id"])
    for card in cards:
        await expect(card).to_have_attribute("data-state", "completed")
    shifts: list[tuple[float, list[str]]] = await page.evaluate(
        "() => new Promise((done) => requestAnimationFrame(() => setTimeout(() => done(shifts))))"
    )
    told = "\n".join(f"{value:.5f} {'; '.join(moved)}" for value, moved in shifts)
    assert sum(value for value, _ in shifts) < STILL, told


async def _grown(card: Locator, before: int) -> int:
    """Wait until a card's text is longer than it was, or is folded and will not be; how long it is
    now."""
    handle = await card.page.wait_for_function(
        """([card, before]) => {
          const now = card.textContent.length;
          return (now > before || card.querySelector("button.more")) && now;
        }""",
        arg=[await card.element_handle(), before],
    )
    return int(await handle.json_value())
