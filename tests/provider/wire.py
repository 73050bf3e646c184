"""The two wire formats as bytes, written apart from the product's own: each checks the other.

A stream is a list of events; each event is the bytes of one write.
"""

from __future__ import annotations

import math
from typing import Any

import msgspec
from tests.provider.script import Script, words

encode = msgspec.json.encode

STATUS_WORDS = {
    400: "The request is not valid.",
    401: "Incorrect API key provided.",
    402: "Insufficient credits.",
    403: "This key may not use the model.",
    404: "The model does not exist.",
    408: "The request took too long.",
    413: "The request is too large.",
    422: "The request cannot be processed.",
    429: "Rate limit reached.",
    500: "The server had an error.",
    503: "The service is overloaded.",
    504: "The upstream timed out.",
    529: "Overloaded",
}
ANTHROPIC_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}
GARBAGE = b"\x00\x01\xfe\xff this is no event stream \xc3\x28\n\n"
PAGE = b"<html><head><title>Welcome</title></head><body>Log in to the wifi</body></html>"


def text_of(content: Any) -> str:
    """The text of a message's content, whichever form it has."""
    if isinstance(content, str):
        return content
    return "".join(str(part.get("text", "")) for part in content or [])


def last_user(body: dict[str, Any]) -> str:
    """The last user message of a request."""
    said = [m for m in body.get("messages", []) if m.get("role") == "user"]
    return text_of(said[-1].get("content")) if said else ""


def input_tokens(script: Script, body: dict[str, Any]) -> int:
    """What is reported as the request's size."""
    if script.input_tokens is not None:
        return script.input_tokens
    texts = [text_of(m.get("content")) for m in body.get("messages", [])]
    system = body.get("system")
    if isinstance(system, str):
        texts.append(system)
    elif isinstance(system, list):
        texts += [text_of([part]) for part in system]
    return round(sum(math.ceil(len(text) / 4) for text in texts) * script.input_ratio)


class OpenAI:
    """Chat completions."""

    done = b"data: [DONE]\n\n"

    def __init__(self, script: Script, body: dict[str, Any], number: int, parts: list[str]) -> None:
        self.script, self.body, self.parts = script, body, parts
        self.head = {
            "id": f"chatcmpl-{number}",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": str(body.get("model", "")),
        }
        # Tokens are the hot path of benchmarks: everything around the text is encoded once.
        self.before, self.after = self.chunk({"content": "\0"}).split(rb'"\u0000"')

    def usage(self) -> dict[str, Any]:
        script = self.script
        sent = input_tokens(script, self.body)
        got = script.output_tokens
        got = (len(self.parts) + script.reasoning_tokens) if got is None else got
        return {
            "prompt_tokens": sent,
            "completion_tokens": got,
            "total_tokens": sent + got,
            "prompt_tokens_details": {"cached_tokens": script.cached_tokens},
            "completion_tokens_details": {"reasoning_tokens": script.reasoning_tokens},
        }

    def chunk(self, delta: dict[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return b"data: " + encode({**self.head, "choices": [choice]}) + b"\n\n"

    def start(self) -> list[bytes]:
        style = self.script.thinking_style
        events = [self.chunk({"role": "assistant", "content": ""})]
        for part in words(self.script.thinking):
            if style == "reasoning_details":
                details = [{"type": "reasoning.text", "text": part, "index": 0}]
                events.append(self.chunk({"content": "", style: details}))
            else:
                events.append(self.chunk({"content": None, style: part}))
        return events

    def token(self, text: str) -> bytes:
        return self.before + encode(text) + self.after

    def end(self, finish: str = "stop") -> list[bytes]:
        wire = {"refusal": "content_filter"}.get(finish, finish)
        events = [] if finish == "no_finish" else [self.chunk({}, wire)]
        if self.script.usage and (self.body.get("stream_options") or {}).get("include_usage"):
            usage = {**self.head, "choices": [], "usage": self.usage()}
            events.append(b"data: " + encode(usage) + b"\n\n")
        return events if self.script.fault in {"no_done", "hangup"} else [*events, self.done]

    def error_event(self) -> bytes:
        error = {
            "code": self.script.code or 502,
            "message": self.script.error or "Provider disconnected.",
        }
        choice = {"index": 0, "delta": {"content": ""}, "finish_reason": "error"}
        return b"data: " + encode({**self.head, "error": error, "choices": [choice]}) + b"\n\n"

    def whole(self) -> bytes:
        message: dict[str, Any] = {"role": "assistant", "content": "".join(self.parts)}
        if self.script.thinking:
            message["reasoning_content"] = self.script.thinking
        finish = {"refusal": "content_filter", "length": "length"}.get(self.script.fault, "stop")
        answer: dict[str, Any] = {
            **self.head,
            "object": "chat.completion",
            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        }
        if self.script.usage:
            answer["usage"] = self.usage()
        return encode(answer)

    def error(self) -> bytes:
        script = self.script
        words = script.error or STATUS_WORDS.get(script.status, "Failed.")
        kind = script.code or None
        return encode({"error": {"message": words, "type": kind, "param": None, "code": kind}})


class Anthropic:
    """Messages."""

    def __init__(self, script: Script, body: dict[str, Any], number: int, parts: list[str]) -> None:
        self.script, self.body, self.parts, self.number = script, body, parts, number
        self.block = 1 if script.thinking else 0
        delta = {"type": "text_delta", "text": "\0"}
        whole = self.event({"type": "content_block_delta", "index": self.block, "delta": delta})
        self.before, self.after = whole.split(rb'"\u0000"')

    @staticmethod
    def event(data: dict[str, Any]) -> bytes:
        kind: str = data["type"]
        return b"event: " + kind.encode() + b"\ndata: " + encode(data) + b"\n\n"

    def message(self, content: list[dict[str, Any]], stop: str | None) -> dict[str, Any]:
        script = self.script
        usage: dict[str, Any] = {}
        if script.usage:
            usage = {
                "input_tokens": input_tokens(script, self.body) - script.cached_tokens,
                "cache_read_input_tokens": script.cached_tokens,
                "cache_creation_input_tokens": 0,
                "output_tokens": self.output() if stop else 1,
            }
        return {
            "id": f"msg_{self.number}",
            "type": "message",
            "role": "assistant",
            "model": str(self.body.get("model", "")),
            "content": content,
            "stop_reason": stop,
            "stop_sequence": None,
            "usage": usage,
        }

    def output(self) -> int:
        got = self.script.output_tokens
        return (len(self.parts) + self.script.reasoning_tokens) if got is None else got

    def start(self) -> list[bytes]:
        event = self.event
        events = [event({"type": "message_start", "message": self.message([], None)})]
        if self.script.thinking:
            block = {"type": "thinking", "thinking": "", "signature": ""}
            events.append(
                event({"type": "content_block_start", "index": 0, "content_block": block})
            )
            for part in words(self.script.thinking):
                delta = {"type": "thinking_delta", "thinking": part}
                events.append(event({"type": "content_block_delta", "index": 0, "delta": delta}))
            signed = {"type": "signature_delta", "signature": "c2lnbmVk"}
            events.append(event({"type": "content_block_delta", "index": 0, "delta": signed}))
            events.append(event({"type": "content_block_stop", "index": 0}))
        block = {"type": "text", "text": ""}
        start = {"type": "content_block_start", "index": self.block, "content_block": block}
        return [*events, event(start), event({"type": "ping"})]

    def token(self, text: str) -> bytes:
        return self.before + encode(text) + self.after

    def end(self, finish: str = "stop") -> list[bytes]:
        stop = {"refusal": "refusal", "length": "max_tokens"}.get(finish, "end_turn")
        delta: dict[str, Any] = {
            "type": "message_delta",
            "delta": {"stop_reason": stop, "stop_sequence": None},
        }
        if self.script.usage:
            delta["usage"] = {"output_tokens": self.output()}
        stopped = self.event({"type": "content_block_stop", "index": self.block})
        last = [] if self.script.fault == "hangup" else [self.event({"type": "message_stop"})]
        return [stopped, self.event(delta), *last]

    def error_event(self) -> bytes:
        kind = self.script.code or "overloaded_error"
        error = {"type": kind, "message": self.script.error or "Overloaded"}
        return self.event({"type": "error", "error": error})

    def whole(self) -> bytes:
        content: list[dict[str, Any]] = []
        if self.script.thinking:
            content.append({"type": "thinking", "thinking": self.script.thinking, "signature": ""})
        if self.parts:
            content.append({"type": "text", "text": "".join(self.parts)})
        stop = {"refusal": "refusal", "length": "max_tokens"}.get(self.script.fault, "end_turn")
        return encode(self.message(content, stop))

    def error(self) -> bytes:
        script = self.script
        kind = script.code or ANTHROPIC_TYPES.get(script.status, "api_error")
        words = script.error or STATUS_WORDS.get(script.status, "Failed.")
        return encode({"type": "error", "error": {"type": kind, "message": words}})


Wire = OpenAI | Anthropic


def complaint(data: Any) -> str:
    """The words of a chat template about messages that do not alternate; empty: they do."""
    roles = [message["role"] for message in data.get("messages", ())]
    if "system" in roles[1:]:
        return "System message must be at the beginning."
    spoken = [role for role in roles if role != "system"]
    if spoken != (["user", "assistant"] * len(spoken))[: len(spoken)]:
        return (
            "After the optional system message, conversation roles must alternate"
            " user/assistant/user/assistant/..."
        )
    return ""
