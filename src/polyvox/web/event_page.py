"""Event streams as the OpenAPI page describes them, read off the event structs."""

from __future__ import annotations

from typing import Any

import msgspec

from polyvox.events import KINDS, Event

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
