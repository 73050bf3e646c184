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
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from operator import mul
from statistics import median, pstdev

from polyvox.errors import ContextTooLong, ModelTimeout, PolyvoxError, ProtocolError
from polyvox.ids import Clock
from polyvox.memory import derive
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

# -- probes: questions whose answers are known, to learn what a model's cosines mean ---------------
# Every embeddings model has a range of its own: with one, texts that have nothing to do with each
# other have a cosine of 0.1, with another 0.7. So each is asked for the vectors of the same pairs
# (questions, and answers that share no word with them), and what it gives to pairs that belong
# together and to pairs that do not is the scale on which its cosines are read.

_PAIRS = """
Where does my sister live? | Rosa moved into a flat by the harbour in Lisbon last spring.
What do I eat for breakfast? | Mornings are oatmeal with banana and a strong coffee.
Which sport do I play? | I joined a tennis club and train on Tuesdays.
What is my job? | They hired me as a nurse at the children's hospital.
Am I allergic to anything? | Peanuts make my throat swell, so I carry medicine.
What pet do we have? | Our old dog sleeps on the sofa all day.
How do I get to work? | I cycle along the river to the office.
What am I worried about? | The exam in March keeps me awake at night.
Who is getting married? | Tom and Lena set the wedding for June.
What car do we drive? | The blue Volvo finally passed its inspection.
Which instrument am I learning? | My piano teacher gave me a waltz to practise.
Where did we spend our holidays? | Two weeks of hiking in the Alps did us good.
What happened to my leg? | I tore a ligament skiing and wore a cast.
How much rent do I pay? | The landlord takes nine hundred euros each month.
What book did I like? | That novel about the lighthouse keeper moved me to tears.
What do I want to build in the garden? | I am planning a small greenhouse behind the shed.
Why was I angry at my boss? | My manager gave the promotion to somebody else.
What medicine does my father take? | Dad swallows pills for his blood pressure.
What language do I study? | My Spanish course starts again in autumn.
When do I go to sleep? | I am usually in bed by eleven.
What did the doctor advise? | She told me to cut down on salt.
What kind of music do I enjoy? | Jazz records from the fifties are my favourite.
What is my daughter afraid of? | Emma screams whenever she sees a spider.
What did I buy for the kitchen? | The new oven arrived on Friday.
"""
PAIRS = tuple((q.strip(), a.strip()) for q, a in (x.split("|") for x in _PAIRS.strip().split("\n")))
TEXTS = tuple(text for pair in PAIRS for text in pair)
HARDLY = 0.99
"""This part of the pairs that do not belong together stays below `far`."""
USEFUL = 1.0
"""A model is listened to if texts that belong together are so many standard deviations (of those
that do not) beyond `far`. The averages of words' vectors in the package wordllama, at 0.3, only
did harm on LoCoMo."""
WIDE = 4.0
"""The scale is at least so many standard deviations wide. With that same model, forced, and a scale
of one, two foreign questions in three brought something; of three, one in ten; of four, one in
twenty, and as much evidence was found as by words."""
AT_FAR, AT_NEAR = 0.1, 0.8
"""The relevance of what is as far, or as near, as that."""


def scale_of(vectors: Sequence[Vector]) -> Scale:
    """The scale of a model, from its vectors of TEXTS."""
    questions, answers = vectors[::2], vectors[1::2]
    together = [_cosine(one, other) for one, other in zip(questions, answers, strict=True)]
    apart = sorted(
        _cosine(one, other)
        for n, one in enumerate(questions)
        for m, other in enumerate(answers)
        if n != m
    )
    far = apart[int(len(apart) * HARDLY)]
    return Scale(len(vectors[0]), median(together), far, pstdev(apart))


def useful(scale: Scale) -> bool:
    """Whether a model tells what belongs together from what does not."""
    return scale.near - scale.far >= USEFUL * scale.spread > 0


def shifted(scale: Scale, far: float) -> Scale:
    """The same scale where even texts that do not belong to a question come this near to it."""
    more = max(0.0, far - scale.far)
    return Scale(scale.size, scale.near + more, scale.far + more, scale.spread)


def relevance(scale: Scale, cosine: float) -> float:
    """How likely it is that a text with this cosine to a question has to do with it."""
    low, high = _logit(AT_FAR), _logit(AT_NEAR)
    wide = max(scale.near - scale.far, WIDE * scale.spread)
    exponent = low + (high - low) * (cosine - scale.far) / wide
    return 1 / (1 + math.exp(-max(-50.0, min(50.0, exponent))))


def _cosine(one: Vector, other: Vector) -> float:
    return float(sum(map(mul, one, other)))


def _logit(part: float) -> float:
    return math.log(part / (1 - part))


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
        scale = shifted(self.scale, beyond)
        found = {doc: relevance(scale, cosine) for doc, cosine in near}
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
        if not useful(scale):
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
        made = await self._made(scope, embedder, TEXTS)
        found, now = scale_of(made), self.clock()
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
        if scale is None or not useful(scale):
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
