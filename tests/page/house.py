"""A server with a home of its own for the page, and the provider behind its advisors. It runs in
this process; one that is killed (`@pytest.mark.process`) is a real `polyvox serve`.

    one, two = await house.voices(Script(text="Yes."), Script(pieces=("No", "."), gates={1: "on"}))
    conversation = await house.conversation(one, two)     # or let the page make it
    turn = await house.say(conversation, "Is it so?")      # to the end of its answers
    house.provider.gate("on").set()                        # lets the second word of `two` go
    house.provider.log[-1].json()["messages"]              # what a model was sent
    await house.kill()                                     # kill -9, of a `Process`
    await house.start()                                    # at the same address, with the same home

Everything that `tests.web.house.Visitor` can do (get, post, advisor, conversation, send, say,
ended, texts …) is here, too. Settings are laid over the usual ones: see `configuration`.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
from tests.app import Visitor, serve
from tests.provider import ProviderServer, Script

from polyvox.settings import load

POLYVOX = str(Path(sys.executable).with_name("polyvox"))
KEY = "sk-lab-0123456789abcdef"
"""The provider's key, in the environment of the server: it must not show anywhere."""
NAMES = ("Skeptic", "Builder", "Listener", "Historian", "Economist", "Gardener", "Teacher")
COLORS = ("#7a3b12", "#1f5f6b", "#8a2f4f", "#5b4a8a", "#3f6b2a", "#7a6212", "#2f5590")
SECONDS = 300.0
"""Until a process is given up that does not start, answer or end: a machine may be very busy."""


@dataclass(kw_only=True)
class House(Visitor):
    """The server as a page meets it."""

    async def voices(self, *scripts: Script | str, **more: Any) -> list[Any]:
        """Make exactly these the advisors there are, in this order, each with a model that answers
        so; the starter council leaves. Names and colours are given."""
        for one in (await self.get("/api/advisors")).json():
            await self.delete(f"/api/advisors/{one['id']}")
        made = []
        for number, given in enumerate(scripts):
            script = Script(text=given) if isinstance(given, str) else given
            name, color = NAMES[number % len(NAMES)], COLORS[number % len(COLORS)]
            name = name if number < len(NAMES) else f"{name} {number // len(NAMES) + 1}"
            made.append(await self.advisor(script=script, name=name, color=color, **more))
        return made

    def heard(self, advisor: Any) -> list[Any]:
        """The bodies of every request that came for an advisor's model, oldest first."""
        model = advisor["model"].partition(":")[2]
        return [request.json() for request in self.provider.requests(model)]


@dataclass(kw_only=True)
class Process(House):
    """The process and what it is started with."""

    home: Path
    env: dict[str, str]
    process: asyncio.subprocess.Process | None = None
    told: str = ""
    """What it has written besides its address, of every life so far."""
    url: str = ""
    _reading: asyncio.Task[None] | None = field(default=None, repr=False)

    # its life

    async def start(self) -> None:
        """Start it, at the address that it had before."""
        assert self.process is None, "it runs already"
        port = self.url.rpartition(":")[2] or "0"
        self.process = await asyncio.create_subprocess_exec(
            *(POLYVOX, "serve", "--port", port),
            env=self.env,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        assert self.process.stdout is not None
        async with asyncio.timeout(SECONDS):
            line = (await self.process.stdout.readline()).decode()
            if not line.startswith("Polyvox is at "):
                self.told += line + (await self.process.stdout.read()).decode()
                raise AssertionError(f"polyvox serve did not start:\n{self.told}")
        self.url = line.split()[3]
        self._reading = asyncio.create_task(self._read(self.process.stdout))

    async def _read(self, stream: asyncio.StreamReader) -> None:
        while line := await stream.readline():
            self.told += line.decode()

    async def kill(self) -> None:
        """kill -9."""
        await self._end(signal.SIGKILL)

    async def stop(self) -> None:
        """Ask it to end, and wait until it has."""
        await self._end(signal.SIGTERM)

    async def restart(self) -> None:
        """kill -9, and start it again."""
        await self.kill()
        await self.start()

    async def _end(self, number: signal.Signals) -> None:
        assert self.process is not None, "it does not run"
        assert self._reading is not None
        self.process.send_signal(number)
        async with asyncio.timeout(SECONDS):
            await self.process.wait()
            await self._reading
        self.process = None


def configuration(base_url: str, **settings: Any) -> dict[str, Any]:
    """The usual settings of a test, with `settings` laid over them: no retries, patience with slow
    machines, and a provider `lab` at `base_url`. Any other provider that is given with the address
    "{provider}" is there, too."""
    usual: dict[str, Any] = {
        "limits": {"retries": 0, "first_byte": 60, "stall": 60},
        "models": {"default": "lab:default"},
        "providers": {"lab": {"base_url": base_url, "api_key": "env:LAB_KEY"}},
        "local": {"warm": False},
    }
    for name, value in settings.items():
        usual[name] = {**usual.get(name, {}), **value} if isinstance(value, dict) else value
    return usual


def toml(data: dict[str, Any], path: tuple[str, ...] = ()) -> str:
    """Tables as TOML: the plain values of each, then the tables in it."""
    plain = {key: value for key, value in data.items() if not isinstance(value, dict)}
    lines = [f"[{'.'.join(map(json.dumps, path))}]"] if path and plain else []
    lines += [f"{json.dumps(key)} = {json.dumps(value)}" for key, value in plain.items()]
    tables = [(key, value) for key, value in data.items() if isinstance(value, dict)]
    return "\n".join([*lines, *(toml(value, (*path, key)) for key, value in tables)])


def environment(home: Path) -> dict[str, str]:
    """This process's, without anything that would change how Polyvox behaves."""
    kept = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith("POLYVOX_") and not key.endswith("_API_KEY")
    }
    ours = {"POLYVOX_HOME": str(home), "POLYVOX_CONFIG": str(home / "polyvox.toml")}
    return kept | ours | {"LAB_KEY": KEY, "TZ": "UTC"}


@asynccontextmanager
async def open_house(
    home: Path, door: socket.socket | None = None, **settings: Any
) -> AsyncIterator[House]:
    """A server in this process, which does all that `polyvox serve` does; it answers at the door,
    which it closes, or at one of its own."""
    async with ProviderServer() as provider:
        env = _prepare(home, provider, settings)
        async with serve(load(env=env), provider, env, door=door) as app:
            app.polyvox.work()
            yield House(provider=provider, url=app.url, client=app.client)


@asynccontextmanager
async def open_process(home: Path, **settings: Any) -> AsyncIterator[Process]:
    """A server in a process of its own."""
    patience = aiohttp.ClientTimeout(total=SECONDS)
    async with ProviderServer() as provider, aiohttp.ClientSession(timeout=patience) as client:
        env = _prepare(home, provider, settings)
        house = Process(provider=provider, client=client, home=home, env=env)
        await house.start()
        try:
            yield house
        finally:
            if house.process is not None:
                await house.kill()


def _prepare(home: Path, provider: ProviderServer, settings: dict[str, Any]) -> dict[str, str]:
    """Write the configuration; the environment that leads to it."""
    home.mkdir(parents=True, exist_ok=True)
    config = toml(configuration(provider.base_url, **settings))
    config = config.replace("{provider}", provider.base_url)
    (home / "polyvox.toml").write_text(config, encoding="utf-8")
    return environment(home)
