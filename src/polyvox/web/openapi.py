"""The OpenAPI page: completed for bodies that are values, and for streams of events."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from fastapi import FastAPI
from fastapi.routing import APIRoute, iter_route_contexts

from polyvox.events import KINDS, Event


class Api(FastAPI):
    """FastAPI whose page says that a response holds every field of its value.

    A field's default is for those who build the value; whoever reads the body always finds it.
    """

    def openapi(self) -> dict[str, Any]:
        """The page, made once."""
        if self.openapi_schema is None:
            routes = [context.original_route for context in iter_route_contexts(self.routes)]
            _complete(super().openapi(), [r for r in routes if isinstance(r, APIRoute)])
        return super().openapi()


def _complete(page: dict[str, Any], routes: Sequence[APIRoute]) -> None:
    partial = {route.name for route in routes if route.response_model_exclude_unset}
    whole, parts = set[str](), set[str]()
    components = page["components"]["schemas"]
    for operation in (operation for row in page["paths"].values() for operation in row.values()):
        names = parts if operation["operationId"] in partial else whole
        for response in operation["responses"].values():
            names.update(_components(response, components))
    for name in whole - parts:
        if properties := components[name].get("properties"):
            components[name]["required"] = list(properties)


def _components(node: object, components: dict[str, Any]) -> Iterator[str]:
    """Names of all components that a part of the page refers to, directly or not."""
    if isinstance(node, list):
        for inner in node:
            yield from _components(inner, components)
    elif isinstance(node, dict):
        if isinstance(reference := node.get("$ref"), str):
            name = reference.rpartition("/")[2]
            yield name
            yield from _components(components.get(name), components)
        for inner in node.values():
            yield from _components(inner, components)


REFERENCE = "#/components/schemas/{name}Out"
"""The one struct inside an event is its usage, which doors show as `UsageOut`."""


def _event(kind: str, cls: type[Event]) -> dict[str, Any]:
    _, components = msgspec.json.schema_components((cls,), ref_template=REFERENCE)
    properties = components[cls.__name__]["properties"]
    inside = {"type": "object", "properties": properties, "required": list(properties)}
    json = {"type": "string", "contentMediaType": "application/json", "contentSchema": inside}
    return {
        "type": "object",
        "properties": {
            "id": {"type": "string", "pattern": "^[0-9]+$"},
            "event": {"const": kind},
            "data": json,
        },
        "required": ["id", "event", "data"],
    }


EVENTS: dict[str, Any] = {
    "description": "Server-sent events, one stream for all advisors. `id` is the number to come "
    "back with; it never goes backwards. A delta that begins (`at`, in Unicode characters) before "
    "the end of what you have is a piece you have already, or part of one.",
    "content": {
        "text/event-stream": {
            "itemSchema": {"oneOf": [_event(kind, cls) for kind, cls in KINDS.items()]}
        }
    },
}

CHUNKS: dict[str, Any] = {
    "description": "A chat completion; with `stream`, its chunks as server-sent events.",
    "content": {
        "text/event-stream": {
            "itemSchema": {
                "type": "object",
                "properties": {
                    "data": {
                        "type": "string",
                        "description": "A chat.completion.chunk or an error, as JSON; at last "
                        "[DONE].",
                    }
                },
                "required": ["data"],
            }
        }
    },
}
