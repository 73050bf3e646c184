"""The page in a real Chromium, against a real server and a real provider, all over HTTP.

    from tests.page.desk import Desk
    from tests.page.house import House

    async def test_a_question_is_answered(house: House, desk: Desk) -> None:
        await house.voices("Yes.", Script(text="No, and here is why."))
        page = await desk.open("/", size="phone", theme="dark")
        await page.get_by_role("textbox", name="Message").fill("Is it so?")
        await page.keyboard.press("Enter")
        await expect(page.get_by_text("Yes.")).to_be_visible()

Other settings: `@pytest.mark.parametrize("house", [{"limits": {"cost_per_turn": 0.01}}],
indirect=True)`. What `desk` watches for is in `tests.page.desk`, what `house` can do in
`tests.page.house`. Every test here is slow and runs after all others, on the session's loop. When
one fails, what its pages showed is in .cache/page.
"""

from __future__ import annotations

import inspect
import re
import socket
from collections.abc import AsyncIterator, Generator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, async_playwright, expect
from tests.page.desk import PATIENCE, Desk, Profiles, Size, Theme
from tests.page.house import House, open_house, open_process
from tests.page.scenes import SCENES, Open, Worlds, open_scene

from polyvox.web.server import bind
from tools import chromium

HERE = Path(__file__).parent
PICTURES = HERE.parents[1] / ".cache" / "page"
FAILED = pytest.StashKey[bool]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is here, and put it last: the browser is the slowest of all. It comes before the
    hook of all tests, whose sorting is stable."""
    ours = {item for item in items if HERE in item.path.parents}
    for item in ours:
        item.add_marker(pytest.mark.slow)
        item.add_marker(pytest.mark.contract)
        if inspect.iscoroutinefunction(getattr(item, "function", None)):
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)
    # The longest file first, so that no worker is left alone with it at the end.
    items.sort(key=lambda item: (item in ours, item in ours and item.path.stem != "test_axe"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Remember a failure until the pages are closed."""
    report = yield
    if report.when == "call":
        item.stash[FAILED] = report.failed
    return report


@pytest_asyncio.fixture(loop_scope="session", scope="session")
async def browser() -> AsyncIterator[Browser]:
    """One Chromium for all."""
    expect.set_options(timeout=PATIENCE)
    async with async_playwright() as playwright:
        started = await playwright.chromium.launch(
            executable_path=chromium.find(chromium.this_machine()), args=list(chromium.FLAGS)
        )
        yield started
        await started.close()


@pytest.fixture(scope="session")
def profiles() -> Profiles:
    """Browser profiles that tests hand on to each other."""
    return Profiles()


@pytest.fixture(scope="session")
def door() -> Iterator[socket.socket]:
    """The one address of all servers of this process, so that a page which was loaded for one test
    is loaded faster for the next."""
    with bind("127.0.0.1", 0) as listening:
        yield listening


@pytest_asyncio.fixture(loop_scope="session")
async def house(
    request: pytest.FixtureRequest, tmp_path: Path, door: socket.socket
) -> AsyncIterator[House]:
    """A server with an empty home; a parameter is laid over its settings."""
    home, settings = tmp_path / "home", getattr(request, "param", {})
    apart = request.node.get_closest_marker("process") is not None
    opening = open_process(home, **settings) if apart else open_house(home, door.dup(), **settings)
    async with opening as server:
        yield server


@pytest_asyncio.fixture(loop_scope="session")
async def desk(
    browser: Browser, profiles: Profiles, house: House, request: pytest.FixtureRequest
) -> AsyncIterator[Desk]:
    """Pages of that server. Whatever went wrong in them fails the test."""
    async with _watched(browser, profiles, house.url, request.node) as found:
        yield found


@pytest_asyncio.fixture(loop_scope="session", scope="session")
async def worlds(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Worlds]:
    """The worlds of the scenes, each opened when it is first asked for."""
    async with Worlds(tmp_path_factory.mktemp("worlds")) as found:
        yield found


@pytest_asyncio.fixture(loop_scope="session")
async def scene(
    browser: Browser, profiles: Profiles, worlds: Worlds, request: pytest.FixtureRequest
) -> AsyncIterator[Open]:
    """Opens a scene by name, at a width and in a theme; watched like any page."""
    async with AsyncExitStack() as stack:

        async def opened(name: str, size: Size = "desktop", theme: Theme = "light") -> Page:
            world = await worlds.get(SCENES[name].where)
            watched = _watched(browser, profiles, world.url, request.node)
            desk = await stack.enter_async_context(watched)
            return await open_scene(desk, world, SCENES[name], size, theme)

        yield opened


@asynccontextmanager
async def _watched(
    browser: Browser, profiles: Profiles, url: str, test: pytest.Item
) -> AsyncIterator[Desk]:
    desk = Desk(browser, url, profiles)
    yield desk
    failed = test.stash.get(FAILED, True)
    if failed:
        await _keep_pictures(desk, test.name)
    await desk.close(keep=not failed)
    assert desk.watch.wrong() == []


async def _keep_pictures(desk: Desk, name: str) -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    for number, page in enumerate(desk.pages, 1):
        plain = re.sub(r"\W+", "-", name).strip("-")
        await page.screenshot(path=PICTURES / f"{plain}-{number}.png")
