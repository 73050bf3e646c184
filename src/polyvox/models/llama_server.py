"""Keeps the embedded model's process: started when first needed, once for everybody who asks
meanwhile, started anew when it has died, stopped with the app.

Invariant: at most one process at a time.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from polyvox.errors import Unavailable
from polyvox.models.llama_process import LlamaProcess
from polyvox.settings import Settings


class LlamaServer:
    """One GGUF file, served when asked for."""

    def __init__(self, gguf: Path, settings: Settings) -> None:
        self._gguf = gguf
        self.settings = settings
        """Settings of the next start."""
        self._starting: asyncio.Task[LlamaProcess] | None = None
        self._closed = False

    @property
    def pid(self) -> int | None:
        """The process, while one runs and is ready."""
        run = self._run
        return run.pid if run is not None else None

    async def reach(self) -> LlamaProcess:
        """The running process, started first if need be, or a `ModelError`.

        A caller that is cancelled leaves the start to the others.
        """
        if self._closed:
            raise _closed()
        start = self._starting
        if start is None or (start.done() and self.pid is None):
            start = asyncio.create_task(LlamaProcess.start(self._gguf, self.settings))
            start.add_done_callback(_failed)  # looked at even if every caller has gone away
            self._starting = start
        await asyncio.wait({start})
        if start.cancelled():
            raise _closed()
        return start.result()

    async def close(self) -> None:
        """Stop the process for good."""
        self._closed = True
        if self._starting is not None and not self._starting.done():
            self._starting.cancel()
            await asyncio.wait({self._starting})
        if (run := self._run) is not None:
            await run.end()

    @property
    def _run(self) -> LlamaProcess | None:
        start = self._starting
        return start.result() if start is not None and start.done() and not _failed(start) else None


def _closed() -> Unavailable:
    return Unavailable("The embedded model is closed.", "Start Polyvox again.")


def _failed(task: asyncio.Task[LlamaProcess]) -> bool:
    return task.cancelled() or task.exception() is not None
