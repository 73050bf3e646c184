"""A person's question in other words: the request to a model, and the reading of its reply. Pure.

A prompt that repeats an assertion word for word may have learnt the question it was tried on.
Asked in other words, it must do as well.
"""

from __future__ import annotations

import json

from polyvox.evaluation.judge_prompt import THOUGHT, object_schema, prompt, quoted
from polyvox.models.base import ChatMessage, Request, SystemPart
from polyvox.models.wire import paired
from polyvox.replies import objects
from polyvox.values import Params

MAX_TOKENS = 4_096


def request(asked: str) -> Request:
    """Ask for a message in other words."""
    return Request(
        (SystemPart(prompt("reword")),),
        (ChatMessage("user", quoted({"message": asked})),),
        Params(max_tokens=MAX_TOKENS, temperature=0.7),
        schema=json.dumps(object_schema(message={"type": "string"})),
    )


def read(reply: str, asked: str) -> str | None:
    """The message in a reply; None where there is none, or the same again."""
    for value in objects(THOUGHT.sub(" ", reply)):
        message = value.get("message")
        if isinstance(message, str):
            text = paired(message).replace("\0", " ").strip()
            return text if text and text.split() != asked.split() else None
    return None
