"""No page has a serious or critical finding of axe, in either theme or at any width it has.

A new page needs one line in `tests.page.scenes`, and is checked from then on.
"""

from __future__ import annotations

from importlib import resources
from typing import Any

import pytest
from playwright.async_api import Page, expect
from tests.page.desk import SIZES, Desk, Theme, spill
from tests.page.house import House
from tests.page.scenes import SCENES, Open

AXE = (resources.files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
BAD = ("serious", "critical")


COLORS = ("color-contrast", "link-in-text-block")
"""The rules that depend on the theme."""
RULES: dict[Theme, tuple[str, ...]] = {"dark": COLORS, "light": ()}


async def findings(page: Page, *rules: str) -> list[str]:
    """What axe calls serious or critical, one line for each element; by these rules, or by all."""
    if not await page.evaluate("() => 'axe' in window"):
        await page.evaluate(AXE)
    options: dict[str, Any] = {"resultTypes": ["violations"]}
    if rules:
        options["runOnly"] = list(rules)
    result: dict[str, Any] = await page.evaluate("(options) => axe.run(options)", options)
    return [
        f"{found['id']} ({found['impact']}): {' '.join(map(str, node['target']))}: "
        f"{node['failureSummary']}"
        for found in result["violations"]
        if found["impact"] in BAD
        for node in found["nodes"]
    ]


@pytest.mark.parametrize("name", SCENES)
async def test_nothing_serious(scene: Open, name: str) -> None:
    """In light by every rule at each width, to which the window is drawn where nothing has been
    opened in it; in dark by those for colours at the first width."""
    first, *others = SCENES[name].sizes
    page = await scene(name, first)
    found: dict[str, list[str]] = {}
    for theme, rules in RULES.items():
        await page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        await expect(page.locator("html")).to_have_attribute("data-theme", theme)
        found[f"{first} {theme}"] = await findings(page, *rules)
    found[f"{first} sticks out"] = await spill(page)
    for size in others:
        if SCENES[name].act is None:
            width, height = SIZES[size]
            await page.set_viewport_size({"width": width, "height": height})
            await expect(page.locator(SCENES[name].shows).first).to_be_visible()
        else:
            page = await scene(name, size)
        found[size] = await findings(page)
        found[f"{size} sticks out"] = await spill(page)
    assert {place: lines for place, lines in found.items() if lines} == {}


async def test_it_would_be_found(house: House, desk: Desk) -> None:
    page = await desk.open()
    await page.evaluate(
        "() => { const one = document.createElement('button');"
        " document.querySelector('#page').append(one); }"
    )
    assert [one.partition(" ")[0] for one in await findings(page)] == ["button-name"]
