"""The OpenAPI page: completed for bodies that are values, and for streams of events."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute, iter_route_contexts

from polyvox.events import KINDS, Event
from polyvox.web.errors import responses


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


class Router(APIRouter):
    """The routes of one file. On the page an operation is called as its function; it has the errors
    that every route can have, and 404 where its path names a thing."""

    def __init__(self, tag: str) -> None:
        super().__init__(tags=[tag], generate_unique_id_function=operator.attrgetter("name"))

    def add_api_route(self, path: str, *given: Any, **options: Any) -> None:  # noqa: ANN401 - theirs
        """Add a route."""
        errors = responses(404) if "{" in path else responses()
        every = errors | (options.get("responses") or {})
        options["responses"] = dict(sorted(every.items(), key=lambda row: int(row[0])))
        super().add_api_route(path, *given, **options)


def file(description: str, *kinds: str, schema: str = "string") -> dict[int | str, Any]:
    """A response that is no JSON of ours: its content types, on the page."""
    content = {kind: {"schema": {"type": schema}} for kind in kinds}
    return {200: {"description": description, "content": content}}


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


def _events(description: str, item: dict[str, Any]) -> dict[int | str, Any]:
    content = {"text/event-stream": {"itemSchema": item}}
    return {200: {"description": description, "content": content}}


EVENTS = _events(
    "Server-sent events, one stream for all advisors. `id` is the number to come back with; it "
    "never goes backwards. A delta that begins (`at`, in Unicode characters) before the end of "
    "what you have is a piece you have already, or part of one.",
    {"oneOf": [_event(kind, cls) for kind, cls in KINDS.items()]},
)
_CHUNK = "A chat.completion.chunk or an error, as JSON; at last [DONE]."
CHUNKS = _events(
    "A chat completion; with `stream`, its chunks as server-sent events.",
    {
        "type": "object",
        "properties": {"data": {"type": "string", "description": _CHUNK}},
        "required": ["data"],
    },
)
