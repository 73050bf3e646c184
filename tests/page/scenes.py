"""Every state of the page that is worth looking at, one line each: where it is, what has to be done
to see it, and what shows that it is there. The accessibility check visits them all, and so does
`make screenshots`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, Self

from playwright.async_api import Page, expect
from tests.page.desk import SIZES, Desk, Size, Theme, settled
from tests.page.world import NOW, World, open_world

Act = Callable[[Page], Awaitable[None]]
Where = Literal["known", "fresh", "crowd"]


class Open(Protocol):
    """Opens a scene by name."""

    async def __call__(self, name: str, size: Size = ..., theme: Theme = ...) -> Page: ...


@dataclass(frozen=True)
class Scene:
    """A place, and how to get there."""

    path: str
    """{name} is the id of that conversation of the world."""
    shows: str
    """A selector of what must be visible before anyone looks."""
    act: Act | None = None
    where: Where = "known"
    sizes: tuple[Size, ...] = ("desktop",)
    """The widths at which it is checked besides being drawn."""


def press(name: str) -> Act:
    """Press the button of that name."""

    async def act(page: Page) -> None:
        await page.get_by_role("button", name=name, exact=True).last.click()

    return act


def under(name: str) -> Act:
    """Press the button of that name under the first answer of the newest turn."""

    async def act(page: Page) -> None:
        newest = page.locator("article[aria-label=Empiricist]").last
        await newest.get_by_role("button", name=name, exact=True).click()

    return act


def click(selector: str) -> Act:
    """Click what has no name of its own."""

    async def act(page: Page) -> None:
        await page.locator(selector).first.click()

    return act


def keys(*strokes: str) -> Act:
    """Press these keys, one after another."""

    async def act(page: Page) -> None:
        for stroke in strokes:
            await page.keyboard.press(stroke)

    return act


WIDE: tuple[Size, ...] = ("desktop",)
SLIM: tuple[Size, ...] = ("phone",)
BOTH: tuple[Size, ...] = ("desktop", "phone")
ALL: tuple[Size, ...] = ("desktop", "tablet", "phone")

SCENES: dict[str, Scene] = {
    "welcome": Scene("/", ".composer textarea", where="fresh", sizes=ALL),
    "new": Scene("/", ".composer textarea", sizes=BOTH),
    "menu": Scene("/", ".nav.open", press("Conversations and rooms"), sizes=SLIM),
    "conversation": Scene("/c/{finished}", ".syn", sizes=ALL),
    "streaming": Scene("/c/{streaming}", "[data-state=streaming]", sizes=ALL),
    "failed": Scene("/c/{failed}", ".err", sizes=BOTH),
    "long": Scene("/c/{long}", "article pre", sizes=BOTH),
    "six": Scene("/c/{six}", "article:nth-of-type(6)", sizes=BOTH),
    "twenty": Scene("/c/{twenty}", "article:nth-of-type(20)", where="crowd", sizes=BOTH),
    "receipt": Scene("/c/{finished}", "dialog .receipt", under("Receipt"), sizes=WIDE),
    "reader": Scene("/c/{finished}", "dialog .reader", under("Read"), sizes=BOTH),
    "prompt": Scene("/c/{finished}", "dialog textarea", under("Edit prompt"), sizes=WIDE),
    "tools": Scene(
        "/c/{finished}", "dialog .tool-list", under("Tools for Empiricist's answer"), sizes=SLIM
    ),
    "export": Scene("/c/{finished}", ".menu-list", click(".menu-box summary"), sizes=WIDE),
    "advisors": Scene("/advisors", ".room h1", sizes=BOTH),
    "suggest": Scene("/advisors", "dialog[open]", press("Suggest perspectives"), sizes=WIDE),
    "sure": Scene("/advisors", "dialog[open]", press("Remove Keeper"), sizes=WIDE),
    "advisor": Scene("/advisors/strategist", ".changes ins", sizes=BOTH),
    "recipes": Scene("/recipes", ".room h1", sizes=BOTH),
    "recipe": Scene("/recipes/council", ".room h1", sizes=BOTH),
    "usage": Scene("/usage", ".room h1", sizes=BOTH),
    "settings": Scene("/settings", ".room h1", sizes=BOTH),
    "search": Scene("/search?q=letters", ".room mark", sizes=BOTH),
    "palette": Scene("/c/{finished}", "dialog.palette", keys("Control+k"), sizes=WIDE),
    "help": Scene("/advisors", "dialog[open] kbd", keys("?"), sizes=WIDE),
}


class Worlds:
    """The worlds in which the scenes are, each opened when it is first asked for."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self._stack = AsyncExitStack()
        self._open: dict[Where, World] = {}

    async def get(self, where: Where) -> World:
        """That world."""
        if where not in self._open:
            opened = open_world(self.home / where, known=where != "fresh", crowd=where == "crowd")
            self._open[where] = await self._stack.enter_async_context(opened)
        return self._open[where]

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()


async def open_scene(
    desk: Desk,
    world: World,
    scene: Scene,
    size: Size = "desktop",
    theme: Theme = "light",
    height: int = 0,
) -> Page:
    """A page that shows it. Time stands still at the world's own; nothing moves."""
    page = await desk.open(None, size=size, theme=theme, reduced_motion="reduce")
    if height:
        await page.set_viewport_size({"width": SIZES[size][0], "height": height})
    await page.clock.set_fixed_time(NOW)
    await page.goto(scene.path.format(**world.places))
    if scene.act is not None:
        await expect(page.locator("main h1").first).to_be_visible()
        await scene.act(page)
    await expect(page.locator(scene.shows).first).to_be_visible()
    await settled(page, desk.watch)
    return page
