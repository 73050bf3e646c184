"""Takes the pictures of the page that README and docs show; the same ones each time.

    python tools/screenshots.py                              all of them, into docs/images
    python tools/screenshots.py --out /tmp/shots             somewhere else
    python tools/screenshots.py --only usage --only palette  some (a prefix will do)
    python tools/screenshots.py --scene usage --size phone --theme dark --out /tmp/shots
                                                             any scene at any width, in any theme

What is shown is a scene of `tests.page.scenes`, served by a real server whose advisors are answered
for by the scripted provider: see `tests.page.world`.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from PIL import Image  # noqa: E402 - these need that path
from playwright.async_api import Browser, async_playwright, expect  # noqa: E402
from tests.page.desk import PATIENCE, SIZES, THEMES, Desk, Size, Theme  # noqa: E402
from tests.page.scenes import SCENES, Worlds, open_scene  # noqa: E402
from tests.page.world import World  # noqa: E402

from tools import chromium  # noqa: E402

IMAGES = ROOT / "docs" / "images"
FIT = -1
TURN = """() => {
  const turn = [...document.querySelectorAll("article")].at(-1).closest("section");
  const above = document.querySelector("main header.top").getBoundingClientRect().bottom;
  const below = document.querySelector(".composer").getBoundingClientRect().top;
  return Math.ceil(innerHeight - (below - above) + turn.offsetHeight) + 24;
}"""
"""How high the window must be for the newest turn to be all there is."""


@dataclass(frozen=True)
class Shot:
    """One picture: which scene, how wide, in which theme."""

    scene: str
    size: Size = "desktop"
    theme: Theme = "light"
    height: int = 0
    """Of the window, in pixels; 0: as usual at this width; FIT: so that the newest turn fits."""


SHOTS: dict[str, Shot] = {
    "welcome": Shot("welcome"),
    "welcome-phone": Shot("welcome", "phone"),
    "conversation": Shot("conversation", height=FIT),
    "conversation-dark": Shot("conversation", theme="dark", height=FIT),
    "conversation-tablet": Shot("conversation", "tablet"),
    "conversation-phone": Shot("conversation", "phone"),
    "streaming": Shot("streaming"),
    "failed": Shot("failed", theme="dark"),
    "receipt": Shot("receipt"),
    "reader": Shot("reader"),
    "advisors": Shot("advisors"),
    "advisor": Shot("advisor"),
    "recipes": Shot("recipe"),
    "usage": Shot("usage"),
    "settings": Shot("settings"),
    "search": Shot("search"),
    "palette": Shot("palette", theme="dark"),
    "six": Shot("six"),
    "twenty": Shot("twenty"),
    "long": Shot("long"),
    "evaluation": Shot("run"),
    "optimisation": Shot("improved", height=1180),
}


def chosen(options: argparse.Namespace) -> Iterator[tuple[str, Shot]]:
    """The pictures that were asked for."""
    if options.scene:
        for scene in options.scene:
            for size in options.size or ["desktop"]:
                for theme in options.theme or ["light"]:
                    shot = Shot(scene, size, theme, options.height)
                    yield f"{scene}-{size}-{theme}", shot
        return
    for name, shot in SHOTS.items():
        if not options.only or name.startswith(tuple(options.only)):
            yield name, shot


async def take(shots: dict[str, Shot], out: Path) -> list[str]:
    """Take them; what went wrong on the way."""
    expect.set_options(timeout=PATIENCE)
    wrong: list[str] = []
    async with AsyncExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        worlds = await stack.enter_async_context(Worlds(home))
        playwright = await stack.enter_async_context(async_playwright())
        browser = await playwright.chromium.launch(
            executable_path=chromium.get(chromium.this_machine()), args=list(chromium.FLAGS)
        )
        stack.push_async_callback(browser.close)
        for name, shot in shots.items():
            world = await worlds.get(SCENES[shot.scene].where)
            found = await _one(browser, world, shot, out / f"{name}.png")
            wrong += [f"{name}: {one}" for one in found]
    return wrong


def slim(path: Path) -> None:
    """Make a picture a third of its size: text and hairlines on paper need few colours. None is
    lost: each is kept, or one that the eye takes for the same."""
    with Image.open(path) as opened:
        whole = opened.convert("RGB")
    counted = whole.getcolors(whole.width * whole.height) or []
    colors = [color for _, color in sorted(counted, reverse=True) if isinstance(color, tuple)]
    apart = 8
    while len(kept := _few(colors, apart)) > 256:
        apart += 4
    palette = Image.new("P", (1, 1))
    palette.putpalette([part for color in kept for part in color])
    whole.quantize(palette=palette, dither=Image.Dither.NONE).save(path, optimize=True)


def _few(colors: list[tuple[int, ...]], apart: int) -> list[tuple[int, ...]]:
    """The commonest colours such that every other is near to one of them."""
    kept: list[tuple[int, ...]] = []
    for red, green, blue in colors:
        near = (abs(r - red) + abs(g - green) + abs(b - blue) <= apart for r, g, b in kept)
        if not any(near):
            kept.append((red, green, blue))
            if len(kept) > 256:
                break
    return kept


async def _one(browser: Browser, world: World, shot: Shot, path: Path) -> list[str]:
    desk = Desk(browser, world.url)
    try:
        page = await open_scene(
            desk, world, SCENES[shot.scene], shot.size, shot.theme, max(0, shot.height)
        )
        if shot.height == FIT:
            width, height = SIZES[shot.size][0], await page.evaluate(TURN)
            await page.set_viewport_size({"width": width, "height": height})
            await page.evaluate("() => document.scrollingElement.scrollTo(0, 1e6)")
    except AssertionError as error:
        await desk.pages[0].screenshot(path=path)  # what is there instead is what one wants to see
        desk.watch.found.append(f"{SCENES[shot.scene].shows} is not shown: {str(error)[:80]}")
    else:
        await page.screenshot(path=path, animations="disabled", caret="hide")
        slim(path)
    await desk.close()
    return desk.watch.wrong()


def main(words: list[str]) -> int:
    """Read the options, take the pictures, say how large they are."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--out", type=Path, default=IMAGES)
    parser.add_argument("--only", action="append", metavar="NAME", help=", ".join(SHOTS))
    parser.add_argument("--scene", action="append", choices=sorted(SCENES))
    parser.add_argument("--size", action="append", choices=list(SIZES))
    parser.add_argument("--theme", action="append", choices=list(THEMES))
    parser.add_argument("--height", type=int, default=0, help="of the window, in pixels")
    options = parser.parse_args(words)
    shots = dict(chosen(options))
    if not shots:
        sys.stderr.write(f"There is no such picture. There are: {', '.join(SHOTS)}\n")
        return 1
    options.out.mkdir(parents=True, exist_ok=True)
    wrong = asyncio.run(take(shots, options.out))
    for name in shots:
        path = options.out / f"{name}.png"
        sys.stdout.write(f"{path}  {path.stat().st_size / 1000:.0f} kB\n")
    for one in wrong:
        sys.stderr.write(f"{one}\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
