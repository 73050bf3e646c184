"""The embedded model: llama.cpp in a process of its own, asked over loopback like any other server.

The process is an implementation detail that can die: its death is one failed answer with a clear
cause, and the next request finds a new process. Evaluating a prompt takes a small machine seconds,
so waiting for the first word is bounded by the answer's deadline alone.
"""

from __future__ import annotations

from dataclasses import replace

from polyvox.errors import ModelError, Unavailable
from polyvox.ids import Clock, system_clock
from polyvox.models.base import AttemptLog, Encoded, Request
from polyvox.models.endpoint import Bounds, Endpoint
from polyvox.models.llama_file import find_gguf
from polyvox.models.llama_process import LlamaProcess
from polyvox.models.llama_server import LlamaServer
from polyvox.models.openai import OpenAIModel
from polyvox.models.reply import WireReply
from polyvox.models.wire import encode
from polyvox.settings import Secret, Settings
from polyvox.transport import Transport
from polyvox.values import Attempt

PROVIDER = "local"
DIALECT = "llama"
_MOURNING = 0.5
"""Seconds after a cut connection within which a dead process is known to be dead."""


class LocalModel:
    """A GGUF file as a model. One object per name: it owns the process."""

    def __init__(
        self, settings: Settings, name: str, transport: Transport, clock: Clock = system_clock
    ) -> None:
        self._settings = settings
        self._name = name
        self._transport = transport
        self._clock = clock
        self._server: LlamaServer | None = None
        self._bounds = _bounds(settings)

    def use(self, settings: Settings) -> None:
        """From now on these settings; those of the process itself when it is next started."""
        self._settings = settings
        self._bounds = _bounds(settings)
        if self._server is not None:
            self._server.settings = settings

    @property
    def id(self) -> str:
        """local:name."""
        return f"{PROVIDER}:{self._name}"

    @property
    def pid(self) -> int | None:
        """The process, while it runs."""
        return self._server.pid if self._server is not None else None

    def encode(self, request: Request) -> Encoded:
        """The bytes that `stream` would send."""
        return encode(DIALECT, self._name, request)

    async def warm(self) -> None:
        """Start the process now rather than at the first question, or raise a `ModelError`."""
        await self._reach()

    async def close(self) -> None:
        """Stop the process."""
        if self._server is not None:
            await self._server.close()

    async def stream(self, request: Request, log: AttemptLog | None = None) -> WireReply:
        """Start a reply, and the process before it if it does not run."""
        log = AttemptLog() if log is None else log
        started_at = self._clock()
        try:
            run = await self._reach()
        except ModelError as error:
            log.encoded, log.model = self.encode(request), self.id
            log.attempts.append(
                Attempt(self.id, started_at, category=error.category, message=error.message)
            )
            raise

        async def why(error: ModelError) -> ModelError | None:
            return await run.death(_MOURNING) if isinstance(error, Unavailable) else None

        try:
            reply = await self._at(run).stream(request, log)
        except ModelError as error:
            if (cause := await why(error)) is None:
                raise
            log.attempts[-1] = replace(log.attempts[-1], message=cause.message)
            raise cause from error
        reply.cut_off(why)
        return reply

    async def _reach(self) -> LlamaProcess:
        if self._server is None:
            self._server = LlamaServer(find_gguf(self._settings, self._name), self._settings)
        return await self._server.reach()

    def _at(self, run: LlamaProcess) -> OpenAIModel:
        endpoint = Endpoint(
            PROVIDER,
            f"{run.address}/v1",
            DIALECT,
            Secret(run.key),
            # Its server drops kept connections without a word: 5 of 75 requests were cut off.
            {"Connection": "close"},
        )
        return OpenAIModel(self._name, endpoint, self._transport, self._bounds, self._clock)


def _bounds(settings: Settings) -> Bounds:
    limits = settings.limits
    return Bounds(limits.deadline, limits.stall, limits.answer_bytes)
