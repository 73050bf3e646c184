"""The event stream as the OpenAPI page tells it: one entry per kind of event, with its data."""

from __future__ import annotations

from typing import Any

_TEXT: dict[str, Any] = {"type": "string"}
_WHOLE: dict[str, Any] = {"type": "integer", "minimum": 0}
_USAGE: dict[str, Any] = {"$ref": "#/components/schemas/UsageOut"}
_DELTA: dict[str, Any] = {
    "answer_id": _TEXT,
    "text": _TEXT,
    "at": {**_WHOLE, "description": "Where the text begins in the answer, in Unicode characters."},
}

DATA: dict[str, dict[str, Any]] = {
    "turn.started": {"turn_id": _TEXT, "message_id": _TEXT},
    "answer.started": {
        "turn_id": _TEXT,
        "answer_id": _TEXT,
        "advisor_id": _TEXT,
        "name": _TEXT,
        "kind": {"enum": ["advisor", "exchange", "synthesis"]},
        "round": _WHOLE,
        "replaces": {"type": ["string", "null"]},
    },
    "answer.delta": _DELTA,
    "answer.thinking": _DELTA,
    "answer.completed": {"answer_id": _TEXT, "usage": _USAGE, "model": _TEXT},
    "answer.failed": {"answer_id": _TEXT, "category": _TEXT, "message": _TEXT, "hint": _TEXT},
    "answer.stopped": {"answer_id": _TEXT, "usage": {"anyOf": [_USAGE, {"type": "null"}]}},
    "answer.interrupted": {"answer_id": _TEXT},
    "turn.completed": {"turn_id": _TEXT},
    "conversation.changed": {
        "what": {"enum": ["details", "head", "answer", "message"]},
        "id": {**_TEXT, "description": "Of the conversation, turn, answer or message."},
    },
}
"""What each kind of event carries; every key is always there."""


def _event(kind: str, data: dict[str, Any]) -> dict[str, Any]:
    inside = {"type": "object", "properties": data, "required": list(data)}
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
    "back with; it never goes backwards. A delta that begins (`at`) before the end of what you "
    "have is a piece you have already, or part of one.",
    "content": {
        "text/event-stream": {
            "itemSchema": {"oneOf": [_event(kind, data) for kind, data in DATA.items()]}
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
