"""The app's hold on the embedded model's process: started when first needed, once for everybody who
asks meanwhile, noticed when it dies, started anew at the next request, and stopped with the app.

Invariant: at most one process; `reach` hands out only the address of one that has said it is
healthy.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import signal
import sys
from asyncio.subprocess import PIPE, Process
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import msgspec

from polyvox.errors import ModelError, ModelTimeout, Unavailable
from polyvox.models.llama_child import Orders, Ready
from polyvox.settings import Settings

LOG_BYTES = 256_000
"""A log that has grown to this size is set aside when more is said; one older file is kept."""
_TAIL_BYTES = 4000
_TAIL_LINES = 6
_WAITING = {"OMP_WAIT_POLICY": "passive"}
"""Its threads wait for each other asleep. Spinning, as is the default, they took 42 to 73 s for
three answers of 60 tokens on two cores that others were using too, and 10 to 16 s so."""
_PATIENCE = 5.0
"""Seconds the process gets to end politely."""


@dataclass(frozen=True, slots=True)
class Reached:
    """Where the running process can be asked, and with which key."""

    address: str
    key: str


class LlamaServer:
    """One child process that serves one GGUF file."""

    def __init__(self, gguf: Path, settings: Settings) -> None:
        self._gguf = gguf
        self._settings = settings
        self._log = settings.home / "logs" / f"llama-{gguf.stem}.log"
        self._starting: asyncio.Task[Reached] | None = None
        self._process: Process | None = None
        self._attending: asyncio.Task[None] | None = None
        self._tail = b""
        self._closed = False

    @property
    def pid(self) -> int | None:
        """The process, while it runs."""
        process = self._process
        return process.pid if process is not None and process.returncode is None else None

    async def reach(self) -> Reached:
        """The running process, started first if need be, or a `ModelError`.

        A caller that is cancelled leaves the start to the others.
        """
        if self._closed:
            raise Unavailable("The embedded model is closed.", "Start Polyvox again.")
        start = self._starting
        if start is None or (start.done() and (_failed(start) or self.pid is None)):
            start = self._starting = asyncio.create_task(self._start())
            start.add_done_callback(_failed)  # looked at even if every caller has gone away
        return await asyncio.shield(start)

    async def death(self, wait: float) -> ModelError | None:
        """Why the process is gone, if it goes within `wait` seconds; None while it lives."""
        if self._attending is None or self._closed:
            return None
        await asyncio.wait({self._attending}, timeout=wait)
        if not self._attending.done():
            return None
        return Unavailable(
            f"The embedded model stopped in the middle of its work ({self._ending()}).",
            f"Ask again: it starts anew. Its log is {self._log}.",
        )

    async def close(self) -> None:
        """Stop the process for good: asked to, then made to."""
        self._closed = True
        if self._starting is not None and not self._starting.done():
            self._starting.cancel()
            await asyncio.wait({self._starting})
        await self._end()

    async def _start(self) -> Reached:
        await self._end()
        self._tail = b""
        try:
            process = self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "polyvox.models.llama_child",
                stdin=PIPE,
                stdout=PIPE,
                stderr=PIPE,
                start_new_session=True,  # Ctrl-C is for the app, which then stops its child
                env={**_WAITING, **os.environ},
            )
        except OSError as error:
            raise Unavailable(
                f"The embedded model cannot be started: {error.strerror}.",
                "Close other programs to free memory, and ask again.",
            ) from error
        attending = self._attending = asyncio.create_task(self._attend(process))
        limit = self._settings.limits.deadline
        key = secrets.token_urlsafe(32)
        try:
            async with asyncio.timeout(limit):
                ready = await _exchange(process, self._orders(key))
        except TimeoutError:
            await self._end()
            raise ModelTimeout(
                f"The embedded model did not load within {limit:g} seconds.",
                "Choose a smaller GGUF file, or raise limits.deadline.",
            ) from None
        except asyncio.CancelledError:
            await self._end()
            raise
        if ready is None:
            await attending
            # Killed (memory was short): worth another try. It ended by itself: it would again.
            kind = Unavailable if (process.returncode or 0) < 0 else ModelError
            raise kind(
                f"The embedded model could not start ({self._ending()}).",
                f"Check the file {self._gguf}; `make setup` fetches one that works. "
                f"The log is {self._log}.",
            )
        return Reached(ready.address, key)

    def _orders(self, key: str) -> Orders:
        local = self._settings.local
        return Orders(
            model=str(self._gguf),
            key=key,
            slots=local.slots,
            slot_tokens=local.slot_tokens,
            threads=local.threads or _cores(),
            max_tokens=self._settings.limits.local_max_tokens,
        )

    async def _attend(self, process: Process) -> None:
        """Keep the log, and the last lines of it, until the process has ended."""
        stderr = cast("asyncio.StreamReader", process.stderr)
        while chunk := await stderr.read(8192):
            self._tail = (self._tail + chunk)[-_TAIL_BYTES:]
            with contextlib.suppress(OSError):  # a full disk costs the log, not the answer
                _append(self._log, chunk)
        await process.wait()

    async def _end(self) -> None:
        """Make sure that no process is left."""
        process, attending = self._process, self._attending
        if process is None or attending is None:
            return
        for stop in (process.terminate, process.kill):
            if attending.done():
                break
            with contextlib.suppress(ProcessLookupError):
                stop()
            await asyncio.wait({attending}, timeout=_PATIENCE)
        self._process = self._attending = None

    def _ending(self) -> str:
        """How it ended and what it said last, for a person."""
        code = self._process.returncode if self._process else None
        how = f"exit code {code}" if code is None or code >= 0 else signal.Signals(-code).name
        said = "; ".join(_last_lines(self._tail))
        return f"{how}; it said: {said}" if said else how


async def _exchange(process: Process, orders: Orders) -> Ready | None:
    """Give the orders and wait for the answer; None if the process ends without one."""
    stdin = cast("asyncio.StreamWriter", process.stdin)
    stdin.write(msgspec.json.encode(orders) + b"\n")
    with contextlib.suppress(ConnectionError):  # it has died already: no answer will come
        await stdin.drain()
    line = await cast("asyncio.StreamReader", process.stdout).readline()
    return msgspec.json.decode(line, type=Ready) if line else None


def _append(log: Path, chunk: bytes) -> None:
    log.parent.mkdir(parents=True, exist_ok=True)
    if log.exists() and log.stat().st_size > LOG_BYTES:
        log.replace(log.with_suffix(".old.log"))
    with log.open("ab") as file:
        file.write(chunk)


def _last_lines(said: bytes) -> list[str]:
    """The last different lines, without llama.cpp's clock and level (0.00.004.687 E …)."""
    lines = (line.strip() for line in said.decode("utf-8", "replace").splitlines())
    plain = dict.fromkeys(line.partition(" E ")[2] or line for line in lines if line)
    return list(plain)[-_TAIL_LINES:]


def _failed(task: asyncio.Task[Reached]) -> bool:
    return task.cancelled() or task.exception() is not None


def _cores() -> int:
    """Cores that this process may use, which in a container are fewer than the machine's."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
