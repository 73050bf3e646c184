"""One run of the embedded model's process, from its start to its end.

Whoever was served by a run asks that run why it ended: by then the next one may be up already.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import signal
import sys
from asyncio.subprocess import PIPE, Process
from pathlib import Path
from typing import Self, cast

import msgspec

from polyvox.errors import ModelError, ModelTimeout, Unavailable
from polyvox.models.llama_child import ChildReady, Orders
from polyvox.settings import Settings

LOG_BYTES = 256_000
"""A log that has grown to this size is set aside when more is said; one older file is kept."""
_TAIL_BYTES = 4000
_TAIL_LINES = 6
_WAITING = {"OMP_WAIT_POLICY": "passive"}
"""Its threads wait for each other asleep. On two cores with other work, three answers of 60 tokens
took 8 to 16 s so and 13 to 73 s spinning, which is the default; on idle ones 5.3 s and 4.3 s, with
the first words as early (2.4 s for all three)."""
_PATIENCE = 5.0
"""Seconds the process gets to end politely."""


class LlamaProcess:
    """A process that serves one GGUF file at `address`, to those who have the `key`."""

    def __init__(self, process: Process, log: Path) -> None:
        self.address = ""
        self.key = secrets.token_urlsafe(32)
        self._process = process
        self._log = log
        self._tail = b""
        self._attending = asyncio.create_task(self._attend())

    @classmethod
    async def start(cls, gguf: Path, settings: Settings) -> Self:
        """A process that has said it is healthy, or a `ModelError` and no process."""
        try:
            process = await asyncio.create_subprocess_exec(
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
        run = cls(process, settings.home / "logs" / f"llama-{gguf.stem}.log")
        try:
            await run._make_ready(gguf, settings)
        except BaseException:
            await run.end()
            raise
        return run

    @property
    def pid(self) -> int | None:
        """Its number, while it runs."""
        return self._process.pid if self._process.returncode is None else None

    async def death(self, wait: float) -> ModelError | None:
        """The reason it is gone, if it goes within `wait` seconds; None while it lives."""
        await asyncio.wait({self._attending}, timeout=wait)
        if not self._attending.done():
            return None
        return Unavailable(
            f"The embedded model stopped in the middle of its work ({self._ending()}).",
            f"Ask again: it starts anew. Its log is {self._log}.",
        )

    async def end(self) -> None:
        """Stop it: asked to, then made to."""
        for stop in (self._process.terminate, self._process.kill):
            if self._attending.done():
                return
            with contextlib.suppress(ProcessLookupError):
                stop()
            await asyncio.wait({self._attending}, timeout=_PATIENCE)

    async def _make_ready(self, gguf: Path, settings: Settings) -> None:
        limit = settings.limits.deadline
        orders = Orders(
            model=str(gguf),
            key=self.key,
            slots=settings.local.slots,
            slot_tokens=settings.local.slot_tokens,
            threads=settings.local.threads or _cores(),
            max_tokens=settings.limits.local_max_tokens,
        )
        try:
            async with asyncio.timeout(limit):
                line = await self._exchange(msgspec.json.encode(orders))
        except TimeoutError:
            raise ModelTimeout(
                f"The embedded model did not load within {limit:g} seconds.",
                "Choose a smaller GGUF file, or raise limits.deadline.",
            ) from None
        if not line:
            await self._attending
            # Killed (memory was short): worth another try. It ended by itself: it would again.
            kind = Unavailable if (self._process.returncode or 0) < 0 else ModelError
            raise kind(
                f"The embedded model could not start ({self._ending()}).",
                f"Check the file {gguf}; `make setup` fetches one that works. "
                f"The log is {self._log}.",
            )
        self.address = msgspec.json.decode(line, type=ChildReady).address

    async def _exchange(self, orders: bytes) -> bytes:
        """Give the orders and wait for the answer; nothing if it ends without one."""
        stdin = cast("asyncio.StreamWriter", self._process.stdin)
        stdin.write(orders + b"\n")
        with contextlib.suppress(ConnectionError):  # it has died already: no answer will come
            await stdin.drain()
        return await cast("asyncio.StreamReader", self._process.stdout).readline()

    async def _attend(self) -> None:
        """Keep the log, and the end of it, until the process has ended."""
        stderr = cast("asyncio.StreamReader", self._process.stderr)
        while chunk := await stderr.read(8192):
            self._tail = (self._tail + chunk)[-_TAIL_BYTES:]
            with contextlib.suppress(OSError):  # a full disk costs the log, not the answer
                append(self._log, chunk)
        await self._process.wait()

    def _ending(self) -> str:
        """The exit code or signal and its last words, for a person."""
        code = self._process.returncode or 0
        how = f"exit code {code}" if code >= 0 else signal.Signals(-code).name
        last = "; ".join(_last_lines(self._tail))
        return f"{how}; it said: {last}" if last else how


def append(log: Path, chunk: bytes) -> None:
    """Write to the log's end; a long log is set aside first."""
    log.parent.mkdir(parents=True, exist_ok=True)
    if log.exists() and log.stat().st_size > LOG_BYTES:
        log.replace(log.with_suffix(".old.log"))
    with log.open("ab") as file:
        file.write(chunk)


def _last_lines(output: bytes) -> list[str]:
    """The last different lines, without llama.cpp's clock and level (0.00.004.687 E …)."""
    lines = (line.strip() for line in output.decode("utf-8", "replace").splitlines())
    plain = dict.fromkeys(line.partition(" E ")[2] or line for line in lines if line)
    return list(plain)[-_TAIL_LINES:]


def _cores() -> int:
    """Cores that this process may use, which in a container are fewer than the machine's."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
