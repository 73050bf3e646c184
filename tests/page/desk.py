"""The browser's side of a test: pages at the three widths and in both themes, each of them watched.

Whatever a test does, it fails if a page wrote an error or a warning to the console, had an error
nobody caught, broke the content security policy, asked for anything outside the server's origin, or
opened one of the browser's own dialogs. What a test provokes on purpose it allows by name first:

    desk.allow(GONE)        # before house.kill()
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import urlsplit

from playwright.async_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Dialog,
    Page,
    Request,
    WebError,
    expect,
)

Size = Literal["phone", "tablet", "desktop"]
Theme = Literal["light", "dark"]
SIZES: dict[Size, tuple[int, int]] = {
    "phone": (390, 844),
    "tablet": (820, 1180),
    "desktop": (1440, 1000),
}
THEMES: tuple[Theme, ...] = ("light", "dark")
PATIENCE = 60_000.0
"""Milliseconds until a wait is given up: long, since nothing passes by waiting longer."""
SLOW = re.compile(r"was preloaded using link preload but not used within a few seconds")
"""Says how busy the machine is, not how the page is."""
GONE = (
    r"net::ERR_(CONNECTION_(REFUSED|RESET|CLOSED|ABORTED)|EMPTY_RESPONSE|CONTENT_LENGTH_MISMATCH"
    r"|INCOMPLETE_CHUNKED_ENCODING|SOCKET_NOT_CONNECTED)"
)
"""What is said of requests to a server that is killed, in whichever state it leaves them."""
VIOLATIONS = """
addEventListener("securitypolicyviolation", (event) =>
  window.policyViolated(`${event.effectiveDirective} ${event.blockedURI} ${event.sample}`));
"""


@dataclass
class Watch:
    """What went wrong in any page so far, and everything that was asked for."""

    origin: str
    found: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    under_way: set[Request] = field(default_factory=set)
    """What has not been answered yet; event streams, which have no end, aside."""
    allowed: list[re.Pattern[str]] = field(default_factory=lambda: [SLOW])

    async def attach(self, context: BrowserContext) -> None:
        """Watch every page of a context, from before its first script."""
        await context.expose_binding("policyViolated", self._policy)
        await context.add_init_script(VIOLATIONS)
        context.on("console", self._console)
        context.on("weberror", self._error)
        context.on("request", self._request)
        context.on("requestfinished", self._ended)
        context.on("requestfailed", self._ended)
        context.on("dialog", self._dialog)

    def wrong(self) -> list[str]:
        """What was found and not allowed."""
        return [f for f in self.found if not any(one.search(f) for one in self.allowed)]

    def _policy(self, source: Any, text: str) -> None:
        self.found.append(f"content security policy: {text}")

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning", "assert"):
            where = message.location.get("url", "")
            self.found.append(f"console {message.type}: {message.text} ({where})")

    def _error(self, error: WebError) -> None:
        self.found.append(f"uncaught: {error.error.stack or error.error}")

    def _request(self, request: Request) -> None:
        self.requests.append(request.url)
        parts = urlsplit(request.url)
        if not parts.path.endswith("/events"):
            self.under_way.add(request)
        inside = parts.scheme in ("data", "blob", "about")
        if not inside and f"{parts.scheme}://{parts.netloc}" != self.origin:
            self.found.append(f"request outside: {request.url}")

    def _ended(self, request: Request) -> None:
        self.under_way.discard(request)

    async def _dialog(self, dialog: Dialog) -> None:
        self.found.append(f"dialog {dialog.type}: {dialog.message}")
        await dialog.dismiss()


@dataclass
class Desk:
    """Opens pages; all of them look at one server."""

    browser: Browser
    url: str
    watch: Watch = field(init=False)
    contexts: list[BrowserContext] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.watch = Watch(self.url)

    async def open(
        self,
        path: str | None = "/",
        *,
        size: Size = "desktop",
        theme: Theme = "light",
        **more: Any,
    ) -> Page:
        """A page in a browser profile of its own; `path` None leaves it blank. `more` goes to the
        browser context: reduced_motion="reduce", device_scale_factor=2, permissions=[…]."""
        width, height = SIZES[size]
        context = await self.browser.new_context(
            base_url=self.url,
            viewport={"width": width, "height": height},
            has_touch=size != "desktop",
            color_scheme=theme,
            locale="en-GB",
            timezone_id="UTC",
            **more,
        )
        context.set_default_timeout(PATIENCE)
        self.contexts.append(context)
        await self.watch.attach(context)
        return await self._page(context, path)

    async def beside(self, page: Page, path: str | None = "/") -> Page:
        """Another tab of the same person: cookies, storage and preferences are shared."""
        return await self._page(page.context, path)

    async def _page(self, context: BrowserContext, path: str | None) -> Page:
        page = await context.new_page()
        if path is not None:
            await visit(page, path)
        return page

    def allow(self, *patterns: str) -> None:
        """What may appear: regular expressions, looked for in the words of `Watch.found`."""
        self.watch.allowed += [re.compile(one) for one in patterns]

    async def close(self) -> None:
        """Close every page."""
        for context in self.contexts:
            await context.close()
        self.contexts.clear()


async def visit(page: Page, path: str) -> None:
    """Go to a path of the server and wait until the page has taken over from its first words."""
    await page.goto(path)
    await expect(page.locator("#page > p", has_text="is opening")).to_have_count(0)


async def settled(page: Page, watch: Watch) -> None:
    """Wait until everything that was asked for has come, and has been drawn."""
    drawn = "() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))"
    for _ in range(3):  # what comes may ask for more
        await page.evaluate(drawn)
        while watch.under_way:
            await page.evaluate(drawn)
    await page.evaluate("() => document.fonts.ready")


async def spill(page: Page) -> list[str]:
    """What sticks out at the right of the window. What scrolls inside a box of its own (code, a
    table, the columns of a phone) does not."""
    found: list[str] = await page.evaluate(
        """() => {
          const width = document.documentElement.clientWidth;
          const boxed = (one) => {
            for (let at = one.parentElement; at && at !== document.body; at = at.parentElement) {
              if (getComputedStyle(at).overflowX !== "visible") return true;
            }
            return false;
          };
          return [...document.querySelectorAll("body *")]
            .map((one) => [one, one.getBoundingClientRect().right])
            .filter(([one, right]) => right > width + 1 && !boxed(one))
            .map(([one, right]) => `${one.tagName} ${one.className} ends at ${right}`);
        }"""
    )
    return found
