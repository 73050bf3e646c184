"""The second arm of recall: what a text means to an embeddings model, beside the words it has.

Vectors are made in the background, by a job that gives one to everything that has none; the rows
themselves say what is done, so it can die anywhere. When something is asked, the question's own
vector is waited for no longer than the settings allow, and whatever goes wrong leaves recall by
words, with the reason beside it. Invariant: what must not leave this machine is sent to no model
elsewhere, and with no model set nothing here does anything.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from polyvox.errors import ContextTooLong, ModelTimeout, PolyvoxError, ProtocolError
from polyvox.ids import Clock
from polyvox.memory import derive, probes
from polyvox.memory.asking import Asker
from polyvox.memory.recall import Reader
from polyvox.memory.tables import shelves, vectors
from polyvox.memory.tables.vectors import LAST, Scale, Waiting
from polyvox.memory.values import Partition
from polyvox.models.embeddings import Embedder, Vector
from polyvox.models.registry import Models
from polyvox.settings import Settings
from polyvox.store.database import Database, Tx
from polyvox.store.jobs import Job
from polyvox.values import Scope

BATCH, BATCHES = 32, 25
"""Texts in a request, and requests in a row."""
LONGEST = (2_000, 1_000, 500)
"""Characters of a text that are embedded: about what the smaller models take. Less, where a model
says that it is too much."""
SECONDS = 60.0
"""That a batch may take to begin its answer, in the background."""
PERSISTENT = 3
"""Attempts after which vectors of another size are believed: the model behind a name changed."""
CROWD = 20
"""What so many others (or one in a hundred) are as near to as well does not stand out: a question
with a name in it is near to everything in which that name is."""
FAINT = 0.05
"""What is less relevant than this is not worth looking at."""


@dataclass(frozen=True, slots=True)
class Sense:
    """What a question means to the model, or why that is not known."""

    model: str = ""
    vector: Vector | None = None
    scale: Scale | None = None
    degrade: str = ""
    """Why recall goes by words alone, where it should not."""

    def also(self, tx: Tx, partition: Partition, reader: Reader) -> dict[int, float]:
        """What it finds on the reader's shelves: relevance by number in the index."""
        if self.vector is None or self.scale is None:
            return {}
        stocks = shelves.stocks(tx, partition.key)
        visible = [one for one in stocks if reader.sees(one.shelf)]
        shown = [one.shelf for one in visible]
        near = vectors.nearest(tx, shown, self.model, self.vector)
        crowd = max(CROWD, sum(one.docs for one in visible) // 100)
        beyond = near[min(crowd, len(near)) - 1][1] if len(near) > CROWD else self.scale.far
        scale = probes.shifted(self.scale, beyond)
        found = {doc: probes.relevance(scale, cosine) for doc, cosine in near}
        return {doc: value for doc, value in found.items() if value >= FAINT}


WORDS_ALONE = Sense()


@dataclass(slots=True)
class Embeddings:
    """Makes vectors, and asks for those of questions."""

    database: Database
    models: Models
    asker: Asker
    settings: Callable[[], Settings]
    clock: Clock
    _seen: str = ""

    @property
    def model(self) -> str:
        """Its name; empty: there is none."""
        return self.settings().models.embeddings

    # in the background

    async def keep_up(self) -> bool:
        """Where another model is set than when this was last called, everything wants vectors, and
        the answer is yes."""
        name, now = self.model, self.clock()
        if name == self._seen:
            return False

        def write(tx: Tx) -> None:
            for scope, key in vectors.partitions(tx):
                derive.want_vectors(tx.of(scope), Partition(*json.loads(key)), now)

        if name:
            await self.database.write(write)
        self._seen = name
        return bool(name)

    async def embed(self, job: Job) -> None:
        """Everything in a partition that has no vector gets one, the newest first. Where that is
        much, it is done in portions, and other jobs have their turn between."""
        name, scope = self.model, job.scope
        if not name:
            return
        partition, _ = derive.parse(job.subject)
        embedder = self.models.embedder(name)
        await self.database.write(vectors.prepare)
        scale = await self.database.read(lambda tx: vectors.scale(tx, name), scope)
        if scale is None:
            scale = await self._learn(scope, embedder)
        await self.database.write(lambda tx: vectors.keep_only(tx, partition, name), scope)
        if not probes.useful(scale):
            return  # the doctor says so
        before, cloud = LAST, not embedder.here

        def next_batch(tx: Tx) -> list[Waiting]:
            return vectors.waiting(tx, partition, name, cloud, before, BATCH)

        for _ in range(BATCHES):
            if not (some := await self.database.read(next_batch, scope)):
                return
            before = some[-1].doc
            batch = [one for one in some if one.text.strip()]
            if not batch:
                continue
            made = await self._made(scope, embedder, [one.text for one in batch])
            await self._check(job, name, scale, made)
            pairs = list(zip(batch, made, strict=True))
            await self.database.write(
                lambda tx, pairs=pairs: vectors.keep(tx, partition, name, pairs),  # type: ignore[misc]  # mypy infers no lambda with a default
                scope,
            )
        now = self.clock()
        await self.database.write(lambda tx: derive.want_vectors(tx, partition, now), scope)

    async def _learn(self, scope: Scope, embedder: Embedder) -> Scale:
        """What this model's cosines mean."""
        made = await self._made(scope, embedder, probes.TEXTS)
        found, now = probes.scale_of(made), self.clock()
        await self.database.write(lambda tx: vectors.keep_scale(tx, embedder.id, found, now), scope)
        return found

    async def _made(
        self, scope: Scope, embedder: Embedder, texts: Sequence[str]
    ) -> tuple[Vector, ...]:
        await self.asker.check_cap(scope)
        for most in LONGEST:
            try:
                made = await embedder.embed([text[:most] for text in texts], SECONDS)
            except ContextTooLong:
                if most == LONGEST[-1]:
                    raise
            else:
                used = replace(made.usage, cost=self.models.cost(embedder.id, made.usage))
                await self.asker.record(scope, embedder.id, used)
                return made.vectors
        raise AssertionError("the last try returns or raises")

    async def _check(self, job: Job, name: str, scale: Scale, made: Sequence[Vector]) -> None:
        size = len(made[0])
        if size == scale.size:
            return
        scope = job.scope
        if job.attempts >= PERSISTENT:
            await self.database.write(lambda tx: vectors.drop_model(tx, name), scope)
        raise ProtocolError(
            f"{name} made vectors of {scale.size} numbers before, and now of {size}.",
            "If another model answers under this name now, the next attempts start anew with it.",
        )

    # when something is asked

    async def sense(self, scope: Scope, words: str) -> Sense:
        """What a question means, within the time that it may take."""
        name = self.model
        if not name or not words.strip():
            return WORDS_ALONE
        try:
            return await self._sense(scope, name, words)
        except TimeoutError:
            return Sense(degrade=f"embeddings: {ModelTimeout.category}")
        except PolyvoxError as error:
            return Sense(degrade=f"embeddings: {error.code} ({error.message})")

    async def _sense(self, scope: Scope, name: str, words: str) -> Sense:
        def known(tx: Tx) -> tuple[Scale | None, str | None]:
            return vectors.scale(tx, name), vectors.space(tx)

        scale, space = await self.database.read(known, scope)
        if scale is None or not probes.useful(scale):
            return WORDS_ALONE  # nothing was embedded yet, or this model is of no use
        if space is None:
            return Sense(degrade="embeddings: the server's pgvector is gone")
        embedder, seconds = self.models.embedder(name), self.settings().memory.embedding_seconds
        await self.asker.check_cap(scope)
        async with asyncio.timeout(seconds):
            made = await embedder.embed([words[: LONGEST[-1]]], seconds)
        if not embedder.here:  # what is free is not counted: a commit would be in the way
            used = replace(made.usage, cost=self.models.cost(name, made.usage))
            await self.asker.record(scope, name, used)
        (vector,) = made.vectors
        if len(vector) != scale.size:
            return Sense(degrade=f"embeddings: {len(vector)} numbers, not {scale.size}")
        return Sense(name, vector, scale)
