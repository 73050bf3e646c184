"""Embeddings: texts as vectors, from any endpoint that speaks OpenAI's `/embeddings`.

A vector has length 1, so that the product of two is their cosine. Whatever comes back is checked
(as many vectors as texts, all of one size, all of numbers) before anybody relies on it. It tries
once; who asks decides whether to try again.
"""

from __future__ import annotations

import base64
import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import msgspec

from polyvox.errors import ModelError, ProtocolError
from polyvox.models.endpoint import Endpoint
from polyvox.models.failures import failure, read_body, retry_after
from polyvox.models.wrappers import Gate
from polyvox.transport import Response, Transport
from polyvox.values import Usage

LARGEST = 16_000
"""Numbers in a vector: as many as PostgreSQL's pgvector takes."""
ANSWER_BYTES = 64_000_000

Vector: TypeAlias = "array[float]"  # a name in quotes: before Python 3.12 it cannot be written out
"""Single precision ("f"), of length 1."""


@dataclass(frozen=True, slots=True)
class Embedded:
    """The vectors of some texts, in their order, and what they took."""

    vectors: tuple[Vector, ...]
    usage: Usage


class Embedder:
    """One embeddings model of one provider."""

    def __init__(
        self, name: str, endpoint: Endpoint, transport: Transport, gates: Sequence[Gate] = ()
    ) -> None:
        self._name = name
        self._endpoint = endpoint
        self._transport = transport
        self._gates = tuple(gates)

    @property
    def id(self) -> str:
        """provider:name."""
        return f"{self._endpoint.provider}:{self._name}"

    @property
    def here(self) -> bool:
        """True if texts stay on this machine."""
        return self._endpoint.loopback

    async def embed(self, texts: Sequence[str], seconds: float) -> Embedded:
        """The vectors of these texts; `seconds` may pass until the answer begins, and between two
        of its pieces."""
        entered: list[Gate] = []
        try:
            for gate in self._gates:
                await gate.enter()
                entered.append(gate)
            return await self._ask(texts, seconds)
        finally:
            while entered:
                entered.pop().leave()

    async def _ask(self, texts: Sequence[str], seconds: float) -> Embedded:
        endpoint = self._endpoint
        key = await endpoint.key()
        body = msgspec.json.encode(
            {"model": self._name, "input": list(texts), "encoding_format": "float"}
        )
        headers = {
            "Content-Type": "application/json",
            **({"Authorization": f"Bearer {key}"} if key else {}),
            **endpoint.headers,
        }
        response = await self._transport.post(
            f"{endpoint.base_url}/embeddings", headers, body, first_byte=seconds, stall=seconds
        )
        try:
            if not 200 <= response.status < 300:
                raise await self._refusal(response, key)
            whole = await response.read_all(ANSWER_BYTES)
        except BaseException:
            response.close()
            raise
        return self._read(whole, texts)

    async def _refusal(self, response: Response, key: str) -> ModelError:
        try:
            body = await response.read_all()
        except ModelError:  # the status alone says enough
            body = b""
        wait = retry_after(response.headers)
        words = read_body(body)
        return failure(self._endpoint, key, self._name, words, response.status, wait=wait)

    def _read(self, whole: bytes, texts: Sequence[str]) -> Embedded:
        try:
            data = msgspec.json.decode(whole)
            rows = sorted(data["data"], key=lambda row: int(row.get("index", 0)))
            vectors = tuple(unit(row["embedding"]) for row in rows)
            used = data.get("usage") or {}
            sent = int(used.get("prompt_tokens") or used.get("total_tokens") or 0)
        except (msgspec.DecodeError, KeyError, TypeError, ValueError, AttributeError) as error:
            raise self._wrong("is not a list of vectors") from error
        if len(vectors) != len(texts):
            raise self._wrong(f"holds {len(vectors)} vectors for {len(texts)} texts")
        if len({len(vector) for vector in vectors}) > 1:
            raise self._wrong("holds vectors of different sizes")
        guess = sum(-(-len(text) // 4) for text in texts)
        return Embedded(vectors, Usage(sent or guess, 0, estimated=not sent))

    def _wrong(self, what: str) -> ProtocolError:
        return ProtocolError(
            f"What {self.id} replied {what}.",
            "Check that models.embeddings names an embeddings model.",
        )


def unit(given: Any) -> Vector:  # noqa: ANN401 - decoded JSON
    """A vector, made as long as 1; ValueError where it has no direction."""
    if isinstance(given, str):  # base64, which some servers send whatever was asked for
        vector = array("f")
        vector.frombytes(base64.b64decode(given, validate=True))
    else:
        vector = array("f", given)
    length = math.sqrt(math.fsum(number * number for number in vector))
    if not (vector and len(vector) <= LARGEST and math.isfinite(length) and length):
        raise ValueError("no direction")
    return array("f", [number / length for number in vector])
