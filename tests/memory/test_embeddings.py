"""The embeddings arm of recall, from the endpoint to the answer, on both databases."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.memory.desk import DAY, ME, PART, Desk, open_desk
from tests.provider import ProviderServer, Script
from tests.store.lacking import Lacking
from tests.web.house import settings_for

from polyvox.app import Polyvox
from polyvox.memory import derive, embeddings
from polyvox.memory.forget import Target
from polyvox.memory.query import Query, shape
from polyvox.memory.recall import Reader
from polyvox.memory.remembering import Lookup, OwnMemory
from polyvox.memory.service import Memory
from polyvox.memory.tables import vectors
from polyvox.memory.values import Message, Partition
from polyvox.settings import Provider, Secret
from polyvox.store import jobs
from polyvox.store.database import Database
from polyvox.store.jobs import Job
from polyvox.values import Scope
from polyvox.work.worker import Worker

E = "meaning"
MODEL = f"lab:{E}"
CAR = "We sold the automobile."
ASKS = "Which vehicle?"
"""Shares no word with it."""
OTHER = [
    "It rained all day.",
    "I called Rosa about the party.",
    "The soup was too salty again.",
    "My neighbour plays chess.",
]


@pytest.fixture
async def desk(database: Database, tmp_path: Path) -> AsyncIterator[Desk]:
    async with open_desk(database, tmp_path, "", MODEL) as desk:
        yield desk


async def remember(desk: Desk) -> None:
    await desk.ingest("s", *OTHER, CAR)
    await desk.work()


async def count(desk: Desk, model: str = MODEL) -> int:
    return await desk.database.read(lambda tx: vectors.count(tx, model), ME)


async def embedding(desk: Desk) -> list[Job]:
    """The jobs that make vectors and are not done."""
    return [one for one in await desk.jobs() if one.kind == derive.EMBED]


async def answered(desk: Desk, question: str = ASKS, **more: Any) -> dict[str, Any]:
    found = await desk.memory.query(ME, PART, Query(question, desk.clock()), **more)
    return shape(found)


def texts(reply: dict[str, Any]) -> list[str]:
    return [item["text"] for item in reply["factItems"]]


async def test_what_words_miss_is_found_by_what_it_means(desk: Desk) -> None:
    desk.held.use("models", embeddings="")
    await desk.ingest("s", *OTHER, CAR)
    await desk.work()
    assert texts(await answered(desk)) == []
    assert desk.provider.log == []

    desk.held.use("models", embeddings=MODEL)
    assert await desk.memory.embeddings.keep_up()
    await desk.work()
    reply = await answered(desk)

    assert texts(reply)[0] == CAR
    assert reply["factItems"][0]["relevance"] >= 0.6
    assert reply["factItems"][0]["evidence"][0]["messageIndex"] == 8
    assert all(item["relevance"] < 0.6 for item in reply["factItems"][1:])
    assert "degraded" not in reply["metadata"]
    assert not await desk.memory.embeddings.keep_up()


async def test_with_the_arm_off_nothing_changes(database: Database, tmp_path: Path) -> None:
    """Neither a request nor a byte of an answer, though there are vectors."""
    async with open_desk(database, tmp_path, "", MODEL) as desk:
        await remember(desk)
        on = await answered(desk, "neighbour")
        desk.held.use("models", embeddings="")
        desk.provider.log.clear()
        off = [await answered(desk, one) for one in ("neighbour", ASKS, "the party")]
        await desk.database.write(lambda tx: vectors.drop_model(tx, MODEL), ME)
        never = [await answered(desk, one) for one in ("neighbour", ASKS, "the party")]

        assert off == never
        assert desk.provider.log == []
        assert texts(off[0])[0] == OTHER[3]
        assert CAR not in texts(off[1])
        assert {*texts(on)} >= {*texts(off[0])}


async def test_the_better_of_two_opinions_counts(desk: Desk) -> None:
    """Calibrated scores are fused, not ranks: what words know for certain stays first."""
    await remember(desk)
    asked = "Did it rain all day?"
    on = await answered(desk, asked)
    desk.held.use("models", embeddings="")
    off = await answered(desk, asked)

    assert texts(on)[0] == texts(off)[0] == OTHER[0]
    assert on["factItems"][0]["relevance"] >= off["factItems"][0]["relevance"]


async def test_what_many_are_as_near_to_does_not_stand_out(desk: Desk) -> None:
    await desk.ingest("s", *(f"The automobile number {n} passed." for n in range(30)))
    await desk.ingest("t", *(f"Another automobile {n} too." for n in range(30)), at=DAY)
    await desk.ingest("u", "A vehicle!", at=2 * DAY)
    await desk.work()

    first, *rest = (await answered(desk, "car"))["factItems"]
    assert first["text"] == "A vehicle!"
    assert first["relevance"] >= 0.6
    assert rest
    assert all(item["relevance"] < 0.3 for item in rest)


async def test_ids_alone_are_in_the_job_and_texts_in_batches(desk: Desk) -> None:
    said = [f"Sentence number {n}." for n in range(40)]
    await desk.ingest("s", *said)
    (job,) = await embedding(desk)
    assert job.subject == derive.subject_of(PART, "")
    await desk.work()

    requests = desk.provider.requests(E)
    learned, *batches = [request.json()["input"] for request in requests]
    assert tuple(learned) == embeddings.TEXTS
    assert [len(batch) for batch in batches] == [32, 32, 16]
    assert {text for batch in batches for text in batch} == {*said, "I see."}
    assert all(request.path == "/v1/embeddings" for request in requests)
    assert await count(desk) == 80
    assert not await desk.jobs("failed")


async def test_other_jobs_have_their_turn_between(desk: Desk) -> None:
    await desk.ingest("s", *(f"Sentence number {n}." for n in range(410)))
    alone = {derive.EMBED: desk.memory.handlers[derive.EMBED]}
    worker = Worker(desk.database, desk.runner, desk.clock, alone)

    assert await worker.run_due() == 2
    assert await count(desk) == 820
    assert not await embedding(desk)


async def test_a_second_run_asks_for_nothing_twice(desk: Desk) -> None:
    await remember(desk)
    before = len(desk.provider.log)
    await desk.database.write(lambda tx: derive.want_vectors(tx, PART, desk.clock()), ME)
    await desk.work()
    assert len(desk.provider.log) == before

    await desk.ingest("t", "One more thing.", at=DAY)
    await desk.work()
    assert [request.json()["input"] for request in desk.provider.log[before:]] == [
        ["I see.", "One more thing."]
    ]


FAULTS: dict[str, tuple[Script, str]] = {
    "401": (Script(status=401), "Incorrect API key"),
    "429": (Script(status=429, retry_after="1"), "Rate limit"),
    "500": (Script(status=500), "The server had an error"),
    "garbage": (Script(fault="garbage"), "not a list of vectors"),
    "page": (Script(fault="html"), "not a list of vectors"),
    "reset": (Script(fault="reset"), "closed the connection"),
    "too few": (Script(raw='{"data": []}'), "0 vectors for"),
    "no numbers": (Script(raw='{"data": [{"embedding": ["x"]}]}'), "not a list of vectors"),
    "no direction": (Script(raw='{"data": [{"embedding": [0, 0]}]}'), "not a list of vectors"),
    "another size": (Script(size=128), "vectors of 256 numbers before, and now of 128"),
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_failing_endpoint_fails_the_job_which_is_tried_again(
    desk: Desk, fault: str
) -> None:
    script, words = FAULTS[fault]
    await remember(desk)
    made = await count(desk)
    desk.provider.queue(E, script, script)  # it is wanted a second time when facts were noted
    await desk.ingest("t", "Something new.", at=DAY)
    await desk.work()

    (job,) = await embedding(desk)
    assert (job.state, job.attempts) == ("pending", 1)
    assert words in (job.failure or "")
    assert job.due_at > desk.clock()
    assert await count(desk) == made
    assert texts(await answered(desk, "something new"))[0] == "Something new."

    desk.clock.now = job.due_at
    await desk.work()
    assert await count(desk) == made + 2
    assert not await embedding(desk)


@pytest.mark.parametrize("fault", [*FAULTS, "stall", "unreachable"])
async def test_a_failure_when_something_is_asked_is_a_degrade(desk: Desk, fault: str) -> None:
    await remember(desk)
    words = await answered(desk, "the party")
    if fault == "unreachable":
        await desk.provider.close()
    elif fault == "stall":
        desk.held.use("memory", embedding_seconds=0.05)
        desk.provider.script(E, Script(fault="silence"))
    else:
        desk.provider.script(E, FAULTS[fault][0])
    reply = await answered(desk, "the party")

    assert texts(reply)[:1] == texts(words)[:1] == [OTHER[1]]
    assert reply["metadata"]["degraded"].startswith("embeddings: ")
    assert texts(await answered(desk)) == []


async def test_what_must_not_leave_is_embedded_on_this_machine_alone(desk: Desk) -> None:
    held, url = desk.held, desk.provider.base_url.replace("127.0.0.1", "0.0.0.0")
    away = Provider(base_url=url, api_key=Secret("k"))  # not known as this machine, yet it is
    providers = {**held.settings.providers, "away": away}
    held.settings = held.settings.model_copy(update={"providers": providers})
    await desk.ingest("s", CAR, cloud=False)
    await desk.ingest("t", "Anybody may know.", at=DAY)
    held.use("models", embeddings=f"away:{E}")
    await desk.work()

    sent = {text for request in desk.provider.log for text in request.json()["input"]}
    assert sent == {*embeddings.TEXTS, "Anybody may know.", "I see."}
    assert await count(desk, f"away:{E}") == 2
    held.use("models", embeddings=MODEL)
    assert await desk.memory.embeddings.keep_up()
    await desk.work()
    assert CAR in {text for request in desk.provider.log for text in request.json()["input"]}
    assert texts(await answered(desk))[0] == CAR


async def test_each_reader_finds_only_what_they_may_see(desk: Desk) -> None:
    said = [
        Message("user", "Hello there.", 1),
        Message("assistant", CAR, 2, "skeptic"),
    ]
    await desk.memory.ingest(ME, PART, "s", None, 1, 2, said)
    await desk.memory.ingest(
        ME, PART, "t", None, 1, 2, [Message("user", "The Volvo is red.", 3)], cloud=False
    )
    there = Partition("elsewhere", "x")
    await desk.memory.ingest(ME, there, "u", None, 1, 2, [Message("user", "An automobile!", 3)])
    await desk.work()

    async def found(reader: Reader, part: Partition = PART) -> set[str]:
        reply = await desk.memory.query(ME, part, Query(ASKS, 9), reader=reader)
        return {item.text for item in reply.items if item.relevance >= 0.3}

    red = "The Volvo is red."
    assert await found(Reader(everything=True)) == {CAR, red}
    assert await found(Reader()) == {red}
    assert await found(Reader(cloud=True)) == set()
    assert await found(Reader("skeptic", cloud=True)) == {CAR}
    assert await found(Reader("other", cloud=True)) == set()
    assert await found(Reader(everything=True), there) == {"An automobile!"}
    nobody = await desk.memory.query(Scope("bert"), PART, Query(ASKS, 9))
    assert nobody.items == ()


async def test_forgetting_and_excluding_take_the_vector_too(desk: Desk) -> None:
    await remember(desk)
    made = await count(desk)
    await desk.memory.mark_message(ME, PART, "s", 8, excluded=True)
    assert await count(desk) == made - 1
    assert CAR not in texts(await answered(desk))
    await desk.memory.mark_message(ME, PART, "s", 8, excluded=False)
    await desk.work()
    assert await count(desk) == made
    assert texts(await answered(desk))[0] == CAR

    await desk.memory.forget(ME, PART, Target("message", "s#8"))
    await desk.work()
    assert await count(desk) == made - 2
    assert CAR not in texts(await answered(desk))
    await desk.memory.forget(ME, PART, Target("session", "s"))
    assert await count(desk) == 0


async def test_what_is_forgotten_while_it_is_read_gets_no_vector(desk: Desk) -> None:
    await remember(desk)
    desk.provider.queue(E, Script(hold="reading"))
    await desk.ingest("t", "A secret that goes away.", at=DAY)
    made = await count(desk)
    worker = desk.worker
    worker.start()
    await desk.provider.until(
        lambda: "A secret that goes away." in str(desk.provider.log[-1].json()["input"])
    )
    await desk.memory.forget(ME, PART, Target("session", "t"))
    desk.provider.gate("reading").set()
    await worker.close()
    await desk.work()

    assert await count(desk) == made
    assert not await embedding(desk)


async def test_another_model_embeds_everything_anew(desk: Desk) -> None:
    await remember(desk)
    made = await count(desk)
    desk.held.use("models", embeddings="lab:other")
    desk.provider.script("other", Script(size=512))
    assert await desk.memory.embeddings.keep_up()
    assert texts(await answered(desk)) == []
    await desk.work()

    assert (await count(desk), await count(desk, "lab:other")) == (0, made)
    assert texts(await answered(desk))[0] == CAR


async def test_a_name_behind_which_the_model_changed(desk: Desk) -> None:
    """At the third attempt the new size is believed, and everything starts anew."""
    await remember(desk)
    made = await count(desk)
    desk.provider.script(E, Script(size=512))
    await desk.ingest("t", "Something new.", at=DAY)
    for _ in range(3):
        assert await count(desk) == made
        await desk.work()
        desk.clock.now += DAY
    assert await count(desk) == 0
    await desk.work()
    assert await count(desk) == made + 2
    assert texts(await answered(desk))[0] == CAR


async def test_a_model_that_tells_nothing_apart_is_not_listened_to(desk: Desk) -> None:
    desk.provider.script(E, Script(size=1))
    await remember(desk)

    assert len(desk.provider.log) == 1
    assert await count(desk) == 0
    assert texts(await answered(desk)) == []
    assert len(desk.provider.log) == 1


async def test_facts_have_vectors_of_their_own(database: Database, tmp_path: Path) -> None:
    fact = {
        "n": 0, "quote": "I got the post at the clinic", "subject": "I", "attribute": "job",
        "text": "They hired me as a nurse.",
    }  # fmt: skip
    async with open_desk(database, tmp_path, embeddings=MODEL) as desk:
        desk.always({"facts": [], "loops": [], "profile": [], "summary": "x", "themes": []})
        desk.reply({"facts": [fact], "loops": [], "profile": [], "instructions": []})
        await desk.ingest("s", "I got the post at the clinic!")
        await desk.work()
        first = (await answered(desk, "My profession?"))["factItems"][0]
        assert (first["source"], first["text"]) == ("fact", fact["text"])
        assert first["relevance"] >= 0.6

        made = await count(desk)
        await desk.memory.change_fact(ME, PART, first["id"], excluded=True)
        assert await count(desk) == made - 1
        await desk.memory.change_fact(ME, PART, first["id"], excluded=False)
        await desk.work()
        assert await count(desk) == made


async def test_usage_is_noted_and_the_cap_holds(database: Database, tmp_path: Path) -> None:
    async with open_desk(database, tmp_path, "", MODEL, limits={"cost_per_day": 0.0}) as desk:
        await remember(desk)
        (job,) = await embedding(desk)
        assert "limits.cost_per_day" in (job.failure or "")
        assert desk.provider.log == []
        desk.held.use("limits", cost_per_day=None)
        desk.clock.now = job.due_at
        await desk.work()
        row = await database.read(
            lambda tx: tx.one("SELECT SUM(input_tokens) FROM usage WHERE model = ?", (MODEL,)), ME
        )
        assert row is not None
        assert row[0] > 100


async def test_a_text_that_is_too_long_is_cut(desk: Desk) -> None:
    long = "word " * 2_000
    too_long = Script(status=400, error="maximum context length exceeded")
    await remember(desk)
    desk.provider.log.clear()
    desk.provider.queue(E, too_long, too_long)
    await desk.ingest("t", long, at=DAY)
    await desk.work()
    sizes = [max(map(len, request.json()["input"])) for request in desk.provider.log]
    assert sizes == [2_000, 1_000, 500]
    assert not await embedding(desk)


async def test_wanted_again_while_it_runs(desk: Desk) -> None:
    """What is ingested while a batch is under way is not forgotten by the job that ends."""
    desk.provider.queue(E, Script(), Script(hold="slow"))
    await desk.ingest("s", "One.")
    worker = desk.worker
    worker.start()
    await desk.provider.arrived(2)
    await desk.ingest("t", "Two.", at=DAY)
    job = await desk.database.read(
        lambda tx: jobs.get(tx, f"{derive.EMBED}:{derive.subject_of(PART, '')}"), ME
    )
    assert job.state == "running"
    desk.provider.gate("slow").set()
    await worker.close()
    await desk.work()
    assert await count(desk) == 4


async def test_a_postgresql_server_without_pgvector(database: Database, tmp_path: Path) -> None:
    """The job says what is missing; recall goes on by words."""
    if database.dialect == "sqlite":
        return
    async with open_desk(database, tmp_path, "", MODEL) as desk:
        lacking = Lacking(database)
        memory = Memory(lacking, desk.held.models, lambda: desk.held.settings, desk.clock)
        bare = replace(desk, database=lacking, memory=memory)
        await bare.ingest("s", *OTHER, CAR)
        await bare.work()
        (job,) = await embedding(bare)
        assert "has no pgvector" in (job.failure or "")
        assert texts(await answered(bare, "the party"))[0] == OTHER[1]
        assert await count(desk) == 0
        assert desk.provider.log == []


async def test_a_companion_looks_in_both_ways(desk: Desk) -> None:
    await remember(desk)
    memory = OwnMemory(desk.database, lambda: "UTC", desk.memory.embeddings)
    wanted = Lookup("vehicle", desk.clock())
    got = await memory.look_up(ME, wanted)
    assert got.value is not None
    assert (got.value.items[0].text, got.degrade) == (CAR, None)

    desk.provider.script(E, Script(status=500))
    got = await memory.look_up(ME, wanted)
    assert got.value is not None
    assert got.value.items == ()
    assert str(got.degrade).startswith("query: words alone (embeddings: unavailable")
    alone = OwnMemory(desk.database, lambda: "UTC")
    assert (await alone.look_up(ME, wanted)).degrade is None


async def test_a_server_makes_vectors_of_what_it_has(tmp_path: Path) -> None:
    """Also of what was there before a model was set."""
    async with ProviderServer() as provider:
        settings = settings_for(tmp_path, provider, models={"default": "local:smollm2"})
        async with Polyvox(settings, env={}) as app:
            own = Partition.own(Scope())
            said = [Message("user", CAR, 1)]
            await app.memory.ingest(Scope(), own, "s", None, 1, 2, said)
        models = settings.models.model_copy(update={"embeddings": MODEL})
        settings = settings.model_copy(update={"models": models})
        async with Polyvox(settings, env={}) as app:
            app.work()
            await provider.arrived(2)
            await app.worker.close()
            await app.worker.run_due()
            reply = await app.memory.query(Scope(), own, Query(ASKS, 9))
            assert [item.text for item in reply.items] == [CAR]
