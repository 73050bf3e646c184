from __future__ import annotations

from typing import Any

import pytest
from tests.memory.house import DAY, HERE, ME, NOW, START, THERE, talk, tell

from polyvox.errors import Invalid
from polyvox.memory.query import Answer, Query, answer, shape
from polyvox.memory.recall import Reader
from polyvox.memory.values import Message
from polyvox.store.database import Database


async def asked(database: Database, query: Query, **more: Any) -> dict[str, Any]:
    found = await database.read(lambda tx: answer(tx, HERE, query, **more), ME)
    return shape(found)


async def test_the_shape_of_the_contract(database: Database) -> None:
    await tell(
        database, "s", talk("On Sunday Rosa Lind sold honey.", "How much did Rosa Lind sell?")
    )
    await tell(database, "t", talk("I met Rosa Lind in Porto.", at=START + DAY))
    await tell(database, "u", talk("Rosa Lind is somebody else.", at=START), partition=THERE)

    found = await asked(database, Query("honey of Rosa Lind", NOW, limit=2))

    assert set(found) == {"facts", "factItems", "entities", "metadata"}
    assert found["facts"] == [item["text"] for item in found["factItems"]]
    first = found["factItems"][0]
    assert first["text"] == "On Sunday Rosa Lind sold honey."
    assert first["source"] == "episode"
    assert 0 < first["relevance"] <= 1
    assert first["status"] == "current"
    assert first["validFrom"] == "2023-11-14T22:13:20Z"
    assert first["validTo"] is None
    assert first["evidence"] == [
        {
            "sessionId": "s",
            "messageIndex": 0,
            "role": "user",
            "quote": "On Sunday Rosa Lind sold honey.",
            "timestamp": "2023-11-14T22:13:20Z",
        }
    ]
    assert found["metadata"] == {
        "query": "honey of Rosa Lind",
        "responseMode": "recall",
        "facts": 2,
        "entities": len(found["entities"]),
        "limit": 2,
    }


async def test_names_that_occur(database: Database) -> None:
    await tell(
        database, "s", talk("On Sunday Rosa Lind sold honey in Porto.", "Good for Rosa Lind!")
    )
    await tell(database, "t", talk("I like honey.", at=START + DAY))

    found = await asked(database, Query("honey of Rosa", NOW))
    again = await asked(database, Query("Porto honey", NOW))

    assert [(one["name"], one["type"]) for one in found["entities"]] == [
        ("Rosa Lind", "name"),
        ("Porto", "name"),
    ]
    assert found["entities"][0]["summary"] == ("Rosa Lind, last spoken of on 2023-11-14")
    assert {one["uuid"] for one in found["entities"]} == {one["uuid"] for one in again["entities"]}
    assert (await asked(database, Query("like", NOW)))["entities"] == []


async def test_speakers_are_names_too(database: Database) -> None:
    await tell(database, "s", [Message("user", "Otto: Good morning, tea is ready", START)])

    found = await asked(database, Query("tea", NOW))

    assert [one["name"] for one in found["entities"]] == ["Otto"]


async def test_with_context(database: Database) -> None:
    said = talk("Where to?", "Home.", "By boat?", "On foot.", "Sure.", advisor="guide")
    await tell(database, "s", said)
    query = Query("boat", NOW, limit=1, include_context=True)

    found = await asked(database, query)
    for_others = await asked(database, query, reader=Reader(advisor_id="other"))

    assert found["metadata"]["responseMode"] == "context"
    [item] = found["factItems"]
    assert [one["messageIndex"] for one in item["evidence"]] == [2, 1, 3]
    [item] = for_others["factItems"]
    assert [one["messageIndex"] for one in item["evidence"]] == [2, 0, 4]


async def test_a_budget_and_the_past(database: Database) -> None:
    await tell(database, "s", talk("The boat is red.", at=START))
    await tell(database, "t", talk("The boat is blue.", at=START + DAY))

    past = await asked(database, Query("boat", NOW, as_of=START))
    few = await asked(database, Query("boat", NOW, max_tokens=6))

    assert past["facts"] == ["The boat is red."]
    assert few["facts"] == ["The boat is blue."]


@pytest.mark.parametrize(
    "query",
    [
        Query(" ", NOW),
        Query("x" * 10_001, NOW),
        Query("boat", NOW, limit=0),
        Query("boat", NOW, limit=101),
        Query("boat", NOW, max_tokens=0),
    ],
)
async def test_what_cannot_be_asked(sqlite_database: Database, query: Query) -> None:
    with pytest.raises(Invalid):
        await asked(sqlite_database, query)


async def test_an_empty_memory(sqlite_database: Database) -> None:
    query = Query("boat", NOW)

    assert await sqlite_database.read(lambda tx: answer(tx, HERE, query), ME) == Answer(
        query, (), ()
    )
