"""What the provider server does with one request: data, the same in code, in JSON, in a model name.

    Script(text="Yes, but.", pace=0.01)              in code
    {"text": "Yes, but.", "pace": 0.01}              in a --model-config file or POST /scripts
    "text=Yes,_but.;pace=0.01"                       as the model's name (underscores are spaces)

A model name without "=" has no script of its own and gets the server's default.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

Fault = Literal[
    "",
    "silence",  # takes the request and never answers
    "stall",  # `after` tokens, then nothing, the connection stays open
    "cut",  # `after` tokens, half an event, and the socket is closed
    "unfinished",  # `after` tokens, then the body ends properly without any end mark
    "reset",  # the connection is torn down before any byte
    "garbage",  # 200 and text/event-stream, but no events in it
    "html",  # 200 and a web page
    "malformed",  # `after` tokens, then an event whose JSON is broken
    "error_event",  # `after` tokens, then an error inside the stream
    "refusal",  # `after` tokens, then ended by the provider's content filter
    "length",  # every token, but ended by max_tokens (not an error)
    "hangup",  # every token and the finish mark, then the socket is closed (not an error)
    "no_done",  # OpenAI: a finish reason but no [DONE] (not an error)
    "alternate",  # refuses messages that do not alternate, as many chat templates do
    "no_finish",  # OpenAI: [DONE] but no finish reason (not an error)
]


class Script(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How one request is answered. The default: two dozen characters, at once, with usage."""

    text: str = "This is answer {n} of {model}."
    """Sent word by word. {n} is the request's number, {model} its model, {last} the last user
    message, {key} the first eight characters of the key it came with."""
    pieces: tuple[str, ...] = ()
    """Sent exactly so, one token each, instead of `text`."""
    tokens: int = 0
    """This many made-up tokens (" t0", " t1" …) instead of `text`."""
    stamped: bool = False
    """Every token is " t" and the monotonic clock in nanoseconds as it was sent."""
    size: int = 0
    """An answer of this many bytes in pieces of 16 kB, instead of `text`."""
    empty: bool = False
    """No text at all (thinking may still come)."""
    thinking: str = ""
    """Sent word by word before the text."""
    thinking_style: Literal["reasoning_content", "reasoning", "reasoning_details"] = (
        "reasoning_content"
    )

    judges: bool = False
    """Reply as a judge does to the assertions in the last user message: `fails` names words whose
    assertions do not hold, every other one does."""
    fails: tuple[str, ...] = ()

    usage: bool = True
    input_tokens: int | None = None
    """Reported so; None: characters / 4, rounded up per message, times `input_ratio`."""
    input_ratio: float = 1.0
    output_tokens: int | None = None
    cached_tokens: int = 0
    reasoning_tokens: int = 0

    hold: str = ""
    """The name of a gate to wait at before the first byte (`server.gate(name).set()`)."""
    gates: dict[int, str] = msgspec.field(default_factory=dict)
    """Gates to wait at before the token with that index."""
    delay: float = 0.0
    """Seconds before the first byte."""
    pace: float = 0.0
    """Seconds before every further token."""

    status: int = 200
    error: str = ""
    """The provider's words; empty: its usual ones for this status."""
    code: str = ""
    """The error's code or type, such as insufficient_quota."""
    body: str | None = None
    """The whole error body, instead of the provider's usual shape."""
    retry_after: str = ""
    headers: dict[str, str] = msgspec.field(default_factory=dict)

    fault: Fault = ""
    after: int = 2
    """Tokens sent before the fault."""
    split: int = 0
    """Write the stream in pieces of this many bytes (1 splits every UTF-8 character)."""
    newline: Literal["lf", "crlf"] = "lf"
    comments: bool = False
    """A comment line before every event, as OpenRouter sends them while it waits."""
    raw: str | None = None
    """The whole body of the stream, exactly so, instead of any events."""
    plain: bool = False
    """Answer in plain JSON though a stream was asked for."""

    @property
    def simple(self) -> bool:
        """Whether nothing happens between tokens and an event is one write as it is."""
        odd = self.gates or self.pace or self.split or self.comments or self.newline == "crlf"
        return not (odd or self.stamped)

    def parts(self, values: Mapping[str, str]) -> list[str]:
        """The answer's tokens."""
        if self.empty:
            return []
        if self.pieces:
            return list(self.pieces)
        if self.tokens:
            return [f" t{i}" for i in range(self.tokens)]
        if self.size:
            whole, rest = divmod(self.size, 16384)
            return ["x" * 16384] * whole + (["x" * rest] if rest else [])
        if self.judges:
            return words(self._verdicts(values["last"]))
        return words(fill(self.text, values))

    def _verdicts(self, asked: str) -> str:
        rows = []
        for one in msgspec.json.decode(asked)["assertions"]:
            fails = any(word in one["text"] for word in self.fails)
            reason = f"It is so, and the assertion {'does not hold' if fails else 'holds'}."
            verdict = "fail" if fails else "pass"
            rows.append({"id": one["id"], "reason": reason, "verdict": verdict})
        return msgspec.json.encode({"verdicts": rows}).decode()


def fill(text: str, values: Mapping[str, str]) -> str:
    """`text` with its {names} filled in; other braces stay."""
    for name, value in values.items():
        text = text.replace("{" + name + "}", value)
    return text


def words(text: str) -> list[str]:
    """A text as tokens: words with the space before them."""
    first, *rest = text.split(" ")
    return [part for part in (first, *(f" {word}" for word in rest)) if part]


def from_data(data: Any) -> Script:
    """A script from plain data; numbers may be written as text."""
    return msgspec.convert(data, Script, strict=False)


def from_name(name: str) -> Script | None:
    """The script that a model's name spells out, if it does."""
    name = name.rpartition("/")[2]
    if "=" not in name:
        return None
    data: dict[str, Any] = {}
    for pair in name.split(";"):
        key, _, value = pair.partition("=")
        data[key] = value.replace("_", " ") if key in {"text", "thinking", "error"} else value
    return from_data(data)
