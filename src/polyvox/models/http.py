"""A model behind an HTTP endpoint: what the two wires do alike, from the key to the first piece."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from functools import partial
from typing import ClassVar

from polyvox.errors import ModelError
from polyvox.ids import Clock, system_clock
from polyvox.models.base import AttemptLog, Encoded, Request
from polyvox.models.endpoint import Bounds, Endpoint
from polyvox.models.failures import failure, read_body, retry_after
from polyvox.models.parse import Parser
from polyvox.models.reply import WireReply
from polyvox.models.wire import encode
from polyvox.transport import Response, Transport
from polyvox.values import Attempt

THINKING_PACE = 25
"""Tokens of a thinking budget for which the first byte may come a second later."""


class HttpModel(ABC):
    """One model of one provider. It tries once; wrappers try again."""

    path: ClassVar[str]
    parser: ClassVar[type[Parser]]

    def __init__(
        self,
        name: str,
        endpoint: Endpoint,
        transport: Transport,
        bounds: Bounds | None = None,
        clock: Clock = system_clock,
    ) -> None:
        self._name = name
        self._endpoint = endpoint
        self._transport = transport
        self._bounds = bounds or Bounds()
        self._clock = clock
        self._id = f"{endpoint.provider}:{name}"

    @property
    def id(self) -> str:
        """provider:name."""
        return self._id

    def encode(self, request: Request) -> Encoded:
        """The bytes that `stream` would send."""
        return encode(self._dialect(), self._name, request)

    def _dialect(self) -> str:
        """The habits to follow now."""
        return self._endpoint.dialect

    async def stream(self, request: Request, log: AttemptLog | None = None) -> WireReply:
        """Send the request and wait for the first piece of its answer."""
        log = AttemptLog() if log is None else log
        log.encoded, log.model = self.encode(request), self._id
        started_at, began = self._clock(), time.monotonic()
        response: Response | None = None
        status: int | None = None
        category: str | None = None
        message: str | None = "stopped before the first word"
        try:
            key = await self._endpoint.key()
            response = await self._post(log.encoded, key, request.params.reasoning or 0)
            status = response.status
            if not 200 <= status < 300:
                raise await self._refusal(response, key)
            reply = await self._reply(request, log, response, key).begin()
            message = None
            return reply
        except ModelError as error:
            category, message = error.category, error.message
            raise
        finally:
            first = response.first_at if response is not None else None
            waited = None if first is None else round((first - began) * 1000, 3)
            log.attempts.append(Attempt(self._id, started_at, waited, status, category, message))
            if response is not None and message is not None:
                response.close()

    @abstractmethod
    def _authorize(self, key: str) -> dict[str, str]:
        """The headers that carry the key."""

    async def _post(self, encoded: Encoded, key: str, thinking: int) -> Response:
        endpoint, bounds = self._endpoint, self._bounds
        first_byte = bounds.first_byte
        if first_byte is not None:  # many providers send nothing while a model thinks
            first_byte += thinking / THINKING_PACE
        headers = {
            "Content-Type": "application/json",
            "Accept": "text/event-stream",
            **self._authorize(key),
            **endpoint.headers,
        }
        return await self._transport.post(
            f"{endpoint.base_url}{self.path}",
            headers,
            encoded.body,
            first_byte=first_byte,
            stall=bounds.stall,
        )

    async def _refusal(self, response: Response, key: str) -> ModelError:
        try:
            body = await response.read_all()
        except ModelError:  # the status alone says enough
            body = b""
        words = read_body(body)
        if to := response.headers.get("location"):
            words = type(words)(f"redirects to {to}", words.code)
        wait = retry_after(response.headers)
        return failure(self._endpoint, key, self._name, words, response.status, wait=wait)

    def _reply(self, request: Request, log: AttemptLog, response: Response, key: str) -> WireReply:
        explain = partial(failure, self._endpoint, key, self._name)
        parser = self.parser(self._id, self._bounds.answer_bytes, explain)
        encoded = log.encoded or self.encode(request)
        return WireReply(self._id, encoded, request, log.attempts, response, parser)
