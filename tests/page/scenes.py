"""Every state of the page that is worth looking at, one line each: where it is, what has to be done
to see it, and what shows that it is there. The accessibility check visits them all, and so does
`make screenshots`.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, Self

from playwright.async_api import Page, expect
from tests.page.desk import SIZES, Desk, Size, Theme, settled
from tests.page.evaluation_world import open_evaluation
from tests.page.memory_world import open_memory
from tests.page.world import NOW, World, open_world

Act = Callable[[Page], Awaitable[None]]
Where = Literal["known", "fresh", "crowd", "alone", "memory", "judged"]


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


def last(name: str) -> Act:
    """Press that button of the newest answer there is."""

    async def act(page: Page) -> None:
        await page.locator("article").last.get_by_role("button", name=name, exact=True).click()

    return act


async def remembered(page: Page) -> None:
    """Open what the session is told."""
    await page.locator(".menu-box summary").click()
    await page.get_by_role("button", name="What is remembered here …").click()


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


def unfold(name: str, at: int = 0) -> Act:
    """Press a button of a list whose name begins so: the first, or one further down."""

    async def act(page: Page) -> None:
        await page.get_by_role("button", name=re.compile(f"^{name}[:,]")).nth(at).click()

    return act


def of_listener(name: str) -> Act:
    """Press that button of the card whose answer has assertions, or the one of its tools."""

    async def act(page: Page) -> None:
        card = page.locator("article[aria-label=Listener]").last
        few = card.get_by_role("button", name="Tools for Listener's answer")
        if name != "Read" and await few.is_visible():
            await few.click()
            await page.get_by_role("dialog").get_by_role("button", name=name).click()
        else:
            await card.locator(".under:visible").get_by_role("button", name=name).click()

    return act


async def writing(page: Page) -> None:
    """Write assertions that deserve a second opinion."""
    await of_listener("Assert how it should answer")(page)
    words = "Names a next step and asks a question\nAt most 60 words"
    dialog = page.get_by_role("dialog")
    await dialog.get_by_role("textbox").fill(words)
    await dialog.get_by_role("button", name="Ask for a second opinion").click()


async def answers(page: Page) -> None:
    """The answers before and after, side by side."""
    await page.get_by_role("button", name="Answers side by side: Ends with").click()


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
    "sessions": Scene("/sessions", ".stretches li", where="alone", sizes=ALL),
    "session": Scene("/sessions/{ended}", ".work li", where="alone", sizes=ALL),
    "trace": Scene("/c/{alone}", ".trace .steps", last("Why this answer"), "alone", sizes=WIDE),
    "why": Scene("/sessions/{ended}", ".trace .steps", click(".heard button"), "alone", sizes=SLIM),
    "companion": Scene("/c/{alone}", ".farewell", where="alone", sizes=ALL),
    "recall": Scene("/c/{alone}", ".recall", click(".menu-box summary"), "alone", sizes=BOTH),
    "told": Scene("/c/{alone}", "dialog .items", remembered, "alone", sizes=BOTH),
    "strip": Scene("/", ".start-strip", where="alone", sizes=BOTH),
    "remembers": Scene(
        "/", ".start-strip .items", click(".start-strip .line"), "alone", sizes=BOTH
    ),
    "begin-alone": Scene("/?with=flint", ".meet h1", where="alone", sizes=ALL),
    "memory": Scene("/memory", ".memo .whence a", where="memory", sizes=ALL),
    "memory-history": Scene("/memory", ".line .words", unfold("History"), "memory", sizes=BOTH),
    "memory-correct": Scene("/memory", ".reword", unfold("Correct"), "memory", sizes=BOTH),
    "memory-forget": Scene(
        "/memory?q=choir", ".going .answers a", unfold("Forget"), "memory", sizes=BOTH
    ),
    "memory-found": Scene("/memory?q=letter", ".memo .whence", where="memory", sizes=BOTH),
    "memory-excluded": Scene("/memory?only=excluded", ".memo", where="memory", sizes=WIDE),
    "memory-nothing": Scene("/memory", ".empty", where="fresh", sizes=BOTH),
    "loops": Scene("/memory/open-loops", ".memo .whence a", where="memory", sizes=ALL),
    "profile": Scene("/memory/profile", ".profile-line .words", where="memory", sizes=ALL),
    "profile-add": Scene("/memory/profile", ".reword", unfold("Add"), "memory", sizes=BOTH),
    "days": Scene("/memory/days", ".day-entry .whence a", where="memory", sizes=ALL),
    "assert": Scene("/c/{asserted}", "dialog .lint", writing, "judged", sizes=ALL),
    "asserted": Scene("/c/{asserted}", "article .asserted", where="judged", sizes=BOTH),
    "beside": Scene(
        "/c/{asserted}", ".standing .verdict", of_listener("Read"), "judged", sizes=ALL
    ),
    "assertions": Scene("/assertions", ".voices li", where="judged", sizes=BOTH),
    "checklist": Scene("/assertions/listener", ".rates circle", where="judged", sizes=ALL),
    "assertion-edit": Scene(
        "/assertions/listener", ".edit-assertion", unfold("Edit", 4), "judged", sizes=BOTH
    ),
    "unasserted": Scene("/assertions/empiricist", ".nobody", where="judged", sizes=SLIM),
    "run": Scene(
        "/assertions/listener/runs/{run}", ".verdict", unfold("Reasons", 2), "judged", sizes=ALL
    ),
    "improve": Scene("/assertions/listener/improve", ".estimate", where="judged", sizes=ALL),
    "improved": Scene(
        "/assertions/listener/improve/{improved}", ".samples", answers, "judged", sizes=ALL
    ),
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
            self._open[where] = await self._stack.enter_async_context(self._opening(where))
        return self._open[where]

    def _opening(self, where: Where) -> AbstractAsyncContextManager[World]:
        if where == "memory":
            return open_memory(self.home / where)
        if where == "judged":
            return open_evaluation(self.home / where)
        known, crowd, alone = where != "fresh", where == "crowd", where == "alone"
        return open_world(self.home / where, known=known, crowd=crowd, alone=alone)

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
    page = await desk.open(None, size=size, theme=theme, own=False, reduced_motion="reduce")
    if height:
        await page.set_viewport_size({"width": SIZES[size][0], "height": height})
    await page.clock.set_fixed_time(NOW)
    await page.goto(scene.path.format(**world.places))
    if scene.act is not None:
        await expect(page.locator("main h1").first).to_be_visible()
        # What arrives late moves what is below it, and a click would meet something else.
        await settled(page, desk.watch)
        await scene.act(page)
    await expect(page.locator(scene.shows).first).to_be_visible()
    await settled(page, desk.watch)
    return page
