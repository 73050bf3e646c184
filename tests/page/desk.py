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
    r"|INCOMPLETE_CHUNKED_ENCODING|SOCKET_NOT_CONNECTED|INTERNET_DISCONNECTED|NETWORK_CHANGED)"
)
"""Errors of requests that a killed server or a lost network left in any state."""
NOWHERE = "/page/icon.svg"
"""A place at the server's origin without any script."""
MOST_FREE = 4
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

    def wrong(self) -> list[str]:
        """What was found and not allowed."""
        return [f for f in self.found if not any(one.search(f) for one in self.allowed)]

    def policy(self, text: str) -> None:
        self.found.append(f"content security policy: {text}")

    def console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning", "assert"):
            where = message.location.get("url", "")
            self.found.append(f"console {message.type}: {message.text} ({where})")

    def error(self, error: WebError) -> None:
        self.found.append(f"uncaught: {error.error.stack or error.error}")

    def request(self, request: Request) -> None:
        self.requests.append(request.url)
        parts = urlsplit(request.url)
        if not parts.path.endswith("/events"):
            self.under_way.add(request)
        inside = parts.scheme in ("data", "blob", "about")
        if not inside and f"{parts.scheme}://{parts.netloc}" != self.origin:
            self.found.append(f"request outside: {request.url}")

    def ended(self, request: Request) -> None:
        self.under_way.discard(request)

    async def dialog(self, dialog: Dialog) -> None:
        self.found.append(f"dialog {dialog.type}: {dialog.message}")
        await dialog.dismiss()


@dataclass
class Profile:
    """A browser profile and its first page."""

    context: BrowserContext
    kind: str
    watch: Watch
    """Who watches it now."""
    page: Page = field(init=False)

    async def begin(self) -> None:
        """Open its first page; every page is watched from before its first script."""
        context = self.context
        await context.expose_binding("policyViolated", lambda _, text: self.watch.policy(text))
        await context.add_init_script(VIOLATIONS)
        context.on("console", lambda message: self.watch.console(message))
        context.on("weberror", lambda error: self.watch.error(error))
        context.on("request", lambda request: self.watch.request(request))
        context.on("requestfinished", lambda request: self.watch.ended(request))
        context.on("requestfailed", lambda request: self.watch.ended(request))
        context.on("dialog", lambda dialog: self.watch.dialog(dialog))
        context.set_default_timeout(PATIENCE)
        self.page = await context.new_page()

    async def empty(self) -> None:
        """Leave the page, close all others, forget what was stored."""
        for page in self.context.pages:
            if page is not self.page:
                await page.close()
        await self.page.unroute_all(behavior="ignoreErrors")
        await self.page.goto(NOWHERE)
        await self.page.evaluate("() => localStorage.clear()")
        if not await self.page.evaluate("() => 'ontouchstart' in window"):
            await self.page.mouse.move(-1, -1)


class Profiles:
    """Profiles that are handed on from test to test: a new one costs more than most tests do.

    All that a page can store is cleared in between. What cannot be taken back (a clock, a script
    that runs before all others) is done to a profile of one's own: `desk.open(None)`.
    """

    def __init__(self) -> None:
        self._free: list[Profile] = []

    def take(self, kind: str) -> Profile | None:
        """One of this kind, if one is free."""
        for profile in self._free:
            if profile.kind == kind:
                self._free.remove(profile)
                return profile
        return None

    async def give_back(self, profile: Profile) -> None:
        """Keep a profile for the next test; the one that nobody took for longest is closed."""
        await profile.empty()
        self._free.append(profile)
        if len(self._free) > MOST_FREE:
            await self._free.pop(0).context.close()


@dataclass
class Desk:
    """Opens pages; all of them look at one server."""

    browser: Browser
    url: str
    profiles: Profiles | None = None
    """None: every page has a profile of its own."""
    watch: Watch = field(init=False)
    open_profiles: list[Profile] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.watch = Watch(self.url)

    async def open(
        self,
        path: str | None = "/",
        *,
        size: Size = "desktop",
        theme: Theme = "light",
        own: bool | None = None,
        **more: Any,
    ) -> Page:
        """A page in a profile that no other page here has; `path` None leaves it blank. `own`: the
        profile was and will be nobody else's; so it is where the page is left blank. `more` goes to
        the browser context: reduced_motion="reduce", device_scale_factor=2, permissions=[…]."""
        width, height = SIZES[size]
        touch = size != "desktop"
        own = path is None if own is None else own
        kind = "" if own else f"{self.url} {touch} {more}"
        profile = self.profiles.take(kind) if self.profiles and kind else None
        if profile is None:
            context = await self.browser.new_context(
                base_url=self.url, has_touch=touch, locale="en-GB", timezone_id="UTC", **more
            )
            profile = Profile(context, kind, self.watch)
            await profile.begin()
        profile.watch = self.watch
        self.open_profiles.append(profile)
        page = profile.page
        await page.set_viewport_size({"width": width, "height": height})
        await page.emulate_media(color_scheme=theme)
        if path is not None:
            await visit(page, path)
        return page

    async def beside(self, page: Page, path: str | None = "/") -> Page:
        """Another tab of the same person: cookies, storage and preferences are shared."""
        other = await page.context.new_page()
        if path is not None:
            await visit(other, path)
        return other

    def allow(self, *patterns: str) -> None:
        """What may appear: regular expressions, looked for in the words of `Watch.found`."""
        self.watch.allowed += [re.compile(one) for one in patterns]

    @property
    def pages(self) -> list[Page]:
        """Every page that is open."""
        return [page for profile in self.open_profiles for page in profile.context.pages]

    async def close(self, *, keep: bool = False) -> None:
        """Close every page; `keep` leaves the profiles that may be kept to later tests."""
        for profile in self.open_profiles:
            if keep and self.profiles and profile.kind and not profile.page.is_closed():
                await self.profiles.give_back(profile)
            else:
                await profile.context.close()
        self.open_profiles.clear()


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
