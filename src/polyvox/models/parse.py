"""Bytes of an answer as pieces, whatever way the network cut them.

A parser is fed what each read brought and gives at most one `Piece` for it, however many events it
held. What came before a failure is given first; the failure stands in `error` then. A provider that
ignores the wish for a stream and sends one JSON document is understood as well.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import msgspec

from polyvox.errors import EmptyAnswer, ModelError, ProtocolError, Refused, Unavailable
from polyvox.models.base import Piece
from polyvox.models.failures import Words, status_of, words_of
from polyvox.models.wire import paired
from polyvox.values import Usage

QUOTED = 200
_UNREADABLE = (ValueError, TypeError, AttributeError, LookupError, RecursionError)
"""Exceptions that reading JSON of an unexpected shape can raise."""
_SLACK = 1_000_000
"""Bytes around an answer's text that are nobody's fault."""


Explain = Callable[[Words, int | None], ModelError]
"""Makes an error of a provider's words and the status they amount to."""


class Parser:
    """The part that both wires share. A wire defines the meaning of one event (`_event`) and of a
    whole JSON answer (`_whole`)."""

    def __init__(self, who: str, limit: int, explain: Explain) -> None:
        self.error: ModelError | None = None
        """Raise this once what came before it is delivered."""
        self.done = False
        """Nothing more will come."""
        self.finish: str | None = None
        """The reason the model ended, once it has."""
        self.usage: Usage | None = None
        """The usage that the provider reported so far."""
        self.cache_write = 0
        self.reported_cost: float | None = None
        self.characters = 0
        self._who, self._limit, self._explain = who, limit, explain
        self._size = 0
        self._spoke = False
        self._thought = False
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._declined: list[str] = []
        self._head = b""
        self._streams: bool | None = None
        """True for a stream of events; None: nothing came yet."""
        self._rest: list[bytes] = []
        self._waiting = 0
        self._data: list[bytes] = []
        self._events = 0

    def feed(self, data: bytes) -> Piece | None:
        """Parse one read; return the piece that it brought."""
        if not self._events:
            data = self._begin(data)
            if not self._streams:
                return None
        cut = data.rfind(b"\n")
        if cut < 0:
            self._keep(data)
            return None
        block = data[:cut]
        if self._rest:
            block = b"".join((*self._rest, block))
            self._rest.clear()
            self._waiting = 0
        if cut + 1 < len(data):
            self._keep(data[cut + 1 :])
        self._lines(block)
        return self._take()

    def end(self) -> Piece | None:
        """The body is over: what is left of it, with `done` or `error` set."""
        rest = b"".join(self._rest)
        self._rest.clear()
        if self._streams:
            if rest or self._data:
                self._lines(rest + b"\n\n", last=True)
            if not self.done and self.error is None:
                self._judge_end()
        elif rest:
            self._parse_whole(rest)
        else:
            self.error = EmptyAnswer(f"{self._who} sent an empty body.", "Retry the answer.")
        return self._take()

    # what a wire says

    def _event(self, payload: bytes) -> None:
        raise NotImplementedError

    def _whole(self, answer: Any) -> None:  # noqa: ANN401 - decoded JSON
        raise NotImplementedError

    # for the wires

    def _fail(self, answer: Any) -> None:  # noqa: ANN401 - decoded JSON
        words = words_of(answer)
        self.error = self._explain(words, status_of(words))

    def _garbage(self, payload: bytes) -> None:
        start = payload[:QUOTED].decode("utf-8", "replace").strip()
        self.error = ProtocolError(
            f"{self._who} sent something that is not an answer: {start!r}",
            "Check that base_url leads to a model's API, then retry.",
        )

    def _refused(self, why: str) -> None:
        reason = "".join(self._declined).strip()
        self.error = Refused(
            f"{self._who} ended the answer ({why}){': ' + reason if reason else '.'}",
            "Change the message, or use another model.",
        )

    def _complete(self) -> None:
        """The stream says that it is over."""
        if self.error is None:
            if self._spoke or any(part.strip() for part in self._text):
                self.done = True
            elif self._declined:
                self._refused("refused")
            else:
                self.error = EmptyAnswer(*self._nothing())

    # framing

    def _begin(self, data: bytes) -> bytes:
        """Find out what is being sent: a stream of events, or one document."""
        if self._streams is None:
            data = data.lstrip()
            if not data:
                return data
            self._streams = data[:1] not in {b"{", b"[", b"<"}
        if len(self._head) < QUOTED:
            self._head += data[:QUOTED]
        if not self._streams:
            self._keep(data)
        return data

    def _keep(self, data: bytes) -> None:
        self._rest.append(data)
        self._waiting += len(data)
        if self._waiting > self._limit + _SLACK:
            self.error = self._too_much()

    def _lines(self, block: bytes, *, last: bool = False) -> None:
        held = self._data
        for line in block.split(b"\n"):
            if line[:5] == b"data:":
                held.append(line[5:])
            elif held and (not line or line == b"\r"):
                payload = held[0] if len(held) == 1 else b"\n".join(held)
                held.clear()
                self._dispatch(payload, last)
                if self.error is not None or self.done:
                    return

    def _dispatch(self, payload: bytes, last: bool) -> None:
        self._events += 1
        try:
            self._event(payload)
        except _UNREADABLE:
            if last:  # half an event at the end: a cut, judged as such
                return
            self._garbage(payload)

    def _judge_end(self) -> None:
        if not self._events:
            self._garbage(self._head)
        elif self.finish is not None:
            self._complete()
        else:
            self.error = Unavailable(
                f"The answer from {self._who} ended in the middle, without its end mark.",
                "Retry the answer.",
            )

    def _parse_whole(self, body: bytes) -> None:
        try:
            answer = loose(body)
        except _UNREADABLE:
            self._garbage(body)
            return
        if isinstance(answer, list):
            self._fail(answer)
        elif not isinstance(answer, dict):
            self._garbage(body)
        elif answer.get("error"):
            self._fail(answer)
        else:
            try:
                self._whole(answer)
            except _UNREADABLE:
                self._garbage(body)
            else:
                self._complete()

    def _take(self) -> Piece | None:
        """Return the text and thinking gathered since the last call."""
        text = "".join(self._text)
        thinking = "".join(self._thinking)
        if not text and not thinking:
            return None
        self._text.clear()
        self._thinking.clear()
        if "\0" in text:
            text = text.replace("\0", "\ufffd")
        if "\0" in thinking:
            thinking = thinking.replace("\0", "\ufffd")
        if not self._spoke and text and not text.isspace():
            self._spoke = True
        if thinking:
            self._thought = True
        self.characters += len(text) + len(thinking)
        self._size += _bytes_of(text) + _bytes_of(thinking)
        if self._size > self._limit and self.error is None:
            self.error = self._too_much()
        return Piece(text, thinking)

    def _too_much(self) -> ProtocolError:
        return ProtocolError(
            f"{self._who} sent an answer of more than {self._limit:,} bytes; the rest was cut off.",
            "Raise limits.answer_bytes if such an answer is wanted.",
        )

    def _nothing(self) -> tuple[str, str]:
        thought = self._thought or any(self._thinking)
        if self.finish == "length":
            return (
                f"{self._who} used up its maximum before it said a word.",
                "Raise max_tokens, or lower the reasoning budget.",
            )
        what = "only thought and said nothing" if thought else "answered without a word"
        return f"{self._who} {what}.", "Retry the answer, or use another model."


def loose(payload: bytes) -> Any:  # noqa: ANN401 - decoded JSON
    """JSON as forgivingly as it can be read: lone surrogates and broken UTF-8 become U+FFFD."""
    try:
        return msgspec.json.decode(payload)
    except (msgspec.DecodeError, UnicodeDecodeError):
        # msgspec takes neither; the standard library takes lone surrogates
        data = json.loads(payload.decode("utf-8", "replace"))
        return json.loads(paired(json.dumps(data, ensure_ascii=False)))


def _bytes_of(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())
