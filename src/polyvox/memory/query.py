"""Query: the verb behind `POST /memory/query`. What is remembered, with dates and sources.

The answer is a value; `shape` writes it as the contract has it, which other memory services speak
too. Names in it are those that occur in what was found, nothing is made up about them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, tzinfo

from polyvox.errors import Invalid
from polyvox.memory.recall import (
    MOST_ITEMS,
    NOTHING,
    PERSON,
    Entity,
    Exclude,
    Reader,
    Source,
    entities_in,
    recall,
)
from polyvox.memory.tables import episodes
from polyvox.memory.times import iso
from polyvox.memory.values import Evidence, Item, Partition
from polyvox.store.database import Tx

LONGEST_QUERY = 10_000

BESIDE = 20
"""So far from a message what was said just before and after it is looked for."""


@dataclass(frozen=True, slots=True)
class Query:
    """What somebody wants to know."""

    query: str
    reference_time: int
    """When it is asked."""
    limit: int = 10
    include_context: bool = False
    """Also quote what was said just before and after."""
    as_of: int | None = None
    include_history: bool = False
    max_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What is remembered about a query."""

    query: Query
    items: tuple[Item, ...]
    entities: tuple[Entity, ...]
    degrade: str = ""
    """Why it was looked for by words alone, where a model should have helped."""


def answer(
    tx: Tx,
    partition: Partition,
    query: Query,
    *,
    reader: Reader = PERSON,
    exclude: Exclude = NOTHING,
    sources: Mapping[str, Source] | None = None,
    also: Mapping[int, float] | None = None,
    zone: tzinfo | None = UTC,
) -> Answer:
    """What is remembered about a query; its "yesterday" is a day there."""
    _check(query)
    items = recall(
        tx,
        partition,
        query.query,
        reference_time=query.reference_time,
        limit=query.limit,
        reader=reader,
        as_of=query.as_of,
        include_history=query.include_history,
        max_tokens=query.max_tokens,
        exclude=exclude,
        sources=sources,
        also=also,
        zone=zone,
    )
    if query.include_context:
        items = _with_context(tx, partition, items, reader, query.as_of)
    return Answer(query, tuple(items), entities_in(partition, items))


def shape(found: Answer) -> dict[str, object]:
    """An answer as the contract has it."""
    return {
        "facts": [item.text for item in found.items],
        "factItems": [_fact(item) for item in found.items],
        "entities": [
            {"summary": one.summary, "type": "name", "uuid": one.uuid, "name": one.name}
            for one in found.entities
        ],
        "metadata": {
            "query": found.query.query,
            "responseMode": "context" if found.query.include_context else "recall",
            "facts": len(found.items),
            "entities": len(found.entities),
            "limit": found.query.limit,
            **({"degraded": found.degrade} if found.degrade else {}),
        },
    }


def _check(query: Query) -> None:
    if not query.query.strip():
        raise Invalid("There is no question.", "Say what to look for.", param="query")
    if len(query.query) > LONGEST_QUERY:
        raise Invalid(
            f"A question of {len(query.query):,} characters is too long.",
            f"Ask with at most {LONGEST_QUERY:,}.",
            param="query",
        )
    if not 1 <= query.limit <= MOST_ITEMS:
        raise Invalid(
            f"{query.limit} is not a number of items.", f"Ask for 1 to {MOST_ITEMS}.", param="limit"
        )
    if query.max_tokens is not None and query.max_tokens < 1:
        raise Invalid(
            f"{query.max_tokens} tokens hold nothing.",
            "Leave the budget out or give a positive number.",
            param="maxTokens",
        )


def _with_context(
    tx: Tx, partition: Partition, items: Sequence[Item], reader: Reader, as_of: int | None
) -> list[Item]:
    """Episodes with what was said just before and after, as far as the reader may see it."""
    told = []
    for item in items:
        if item.source != "episode":
            told.append(item)
            continue
        said = item.evidence[0]
        near = range(said.index - BESIDE, said.index + BESIDE + 1)
        around = [
            Evidence(one.session_id, one.index, one.role, one.text, one.said_at)
            for one in episodes.visible_of(tx, partition, said.session_id, reader.sees, as_of, near)
        ]
        place = next((n for n, one in enumerate(around) if one.index == said.index), None)
        if place is not None:
            beside = (*around[max(0, place - 1) : place], *around[place + 1 : place + 2])
            item = replace(item, evidence=(*item.evidence, *beside))
        told.append(item)
    return told


def _fact(item: Item) -> dict[str, object]:
    return {
        "id": item.id,
        "text": item.text,
        "relevance": item.relevance,
        "source": item.source,
        "evidence": [
            {
                "sessionId": one.session_id,
                "messageIndex": one.index,
                "role": one.role,
                "quote": one.quote,
                "timestamp": None if one.said_at is None else iso(one.said_at),
            }
            for one in item.evidence
        ],
        "validFrom": None if item.valid_from is None else iso(item.valid_from),
        "validTo": None if item.valid_to is None else iso(item.valid_to),
        "status": item.status,
    }
