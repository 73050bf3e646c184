"""Packets, ours or a remote service's, as the JSON of the contract."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from pydantic.alias_generators import to_camel

from polyvox.memory.packets import Brief, LoopRow, QueryReply, Recalled, StartBrief, UserModel
from polyvox.memory.shapes.contract import EvidenceOut, iso


def query_body(reply: QueryReply, words: str, limit: int) -> dict[str, Any]:
    """The answer of a remote service to a query."""
    counted = {"facts": len(reply.items), "entities": len(reply.entities), "limit": limit}
    return {
        "facts": [item.text for item in reply.items],
        "factItems": [_item(item) for item in reply.items],
        "entities": [asdict(entity) for entity in reply.entities],
        "metadata": {"query": words, "responseMode": "remote", **counted},
    }


def loops_body(rows: Sequence[LoopRow]) -> list[dict[str, Any]]:
    """The open loops of a remote service."""
    return [_camel(asdict(row)) for row in rows]


def profile_body(model: UserModel) -> dict[str, Any]:
    """The profile of a remote service."""
    data = asdict(model)
    about = {name: data.pop(name) for name in ("exists", "completeness", "version", "stale")}
    data["preferences"] = {"tone": data.pop("tone"), "avoid": data.pop("avoid")}
    return {"model": data, **about}


def brief_body(brief: Brief | StartBrief) -> dict[str, Any]:
    """A brief or a startbrief."""
    data = asdict(brief)
    if isinstance(brief, Brief):
        return _camel(data)
    return data | {"items": [_camel(item) for item in data["items"]]}


def _item(item: Recalled) -> dict[str, Any]:
    return {
        "text": item.text,
        "relevance": item.relevance,
        "source": item.source,
        "evidence": [EvidenceOut.of(each).model_dump(by_alias=True) for each in item.evidence],
        "validFrom": iso(item.valid_from),
        "validTo": iso(item.valid_to),
        "status": item.status,
    }


def _camel(data: Mapping[str, Any]) -> dict[str, Any]:
    return {to_camel(name): value for name, value in data.items()}
