"""What watches the pages sees what it must see: each of these would fail a test by itself."""

from __future__ import annotations

import pytest
from playwright.async_api import Page
from tests.page.desk import SIZES, Desk, spill
from tests.page.house import House, Process

WRONG = {
    "console error: on purpose": "() => console.error('on purpose')",
    "console warning: on purpose": "() => console.warn('on purpose')",
    "uncaught: ": "() => { setTimeout(() => { throw new Error('on purpose'); }) }",
    "content security policy: img-src": (
        "() => new Promise((done) => { const one = new Image(); one.onerror = done;"
        " one.src = 'https://example.org/one.png'; })"
    ),
    "content security policy: style-src": "() => document.body.setAttribute('style', 'top: 0')",
    "content security policy: require-trusted-types-for": (
        "() => { try { document.body.innerHTML = '<p>'; } catch { /* refused */ } }"
    ),
    "dialog alert: on purpose": "() => { setTimeout(() => alert('on purpose')) }",
}


async def test_each_is_seen(house: House, desk: Desk) -> None:
    page = await desk.open()
    for what, script in WRONG.items():
        desk.watch.found.clear()
        await page.evaluate(script)
        await _until(page, desk, what)
        assert any(found.startswith(what) for found in desk.watch.wrong()), what
    desk.watch.found.clear()


async def test_a_request_that_leaves_the_origin_is_seen(house: House, desk: Desk) -> None:
    page = await desk.open(None)
    await page.goto("about:blank")
    await page.evaluate("() => fetch('http://localhost:9/one').catch(() => null)")
    assert "request outside: http://localhost:9/one" in desk.watch.wrong()
    desk.watch.found.clear()


async def test_what_is_allowed_does_not_count(house: House, desk: Desk) -> None:
    page = await desk.open()
    desk.allow("on purpose")
    await page.evaluate("() => console.error('on purpose')")
    assert desk.watch.wrong() == []


async def test_pages_have_their_width_and_what_sticks_out_is_seen(house: House, desk: Desk) -> None:
    for size, (width, height) in SIZES.items():
        page = await desk.open(size=size)
        assert await page.evaluate("() => [innerWidth, innerHeight]") == [width, height]
        await page.evaluate(
            "() => { const one = document.createElement('p'); one.style.width = '2000px';"
            " document.body.append(one); }"
        )
        assert any("ends at 20" in one for one in await spill(page))


@pytest.mark.process
async def test_a_restarted_house_has_its_address_and_its_past(house: Process, desk: Desk) -> None:
    (one,) = await house.voices("Yes.")
    conversation = await house.conversation(one)
    await house.say(conversation, "Is it so?")
    before = house.url
    await house.restart()
    assert house.url == before
    assert list((await house.texts(conversation)).values()) == ["Yes."]
    assert [m["content"] for m in house.heard(one)[0]["messages"]][-1].endswith("Is it so?")


async def _until(page: Page, desk: Desk, what: str) -> None:
    """Events come in their own time: go to the page and back until this one is there."""
    for _ in range(1000):
        if any(found.startswith(what) for found in desk.watch.wrong()):
            return
        await page.evaluate("() => new Promise(requestAnimationFrame)")
