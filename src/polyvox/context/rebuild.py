"""Rebuilding a receipt: from references and the texts they name back to exactly what was sent.

The store loads in three steps: the chain of receipts that this one is appended to, then everything
that `needs` lists, in one query per kind; nothing here asks for more. A text that is gone is shown
as "[redacted]", one that lost some words with that mark in their place; the receipt then says that
it is not exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, cast

import msgspec

from polyvox.context.budget import Allowance
from polyvox.context.draft import Block, Draft, Line, Span, request_of, spans_of
from polyvox.context.receipt import (
    ReceiptData,
    Seat,
    Sent,
    TailMessage,
    made_of,
    read,
    read_history,
    refs_hash,
    wire_hash,
)
from polyvox.context.window import Omitted, Why
from polyvox.context.words import stamp
from polyvox.models.base import Encoded, Request
from polyvox.values import REDACTED


@dataclass(frozen=True, slots=True)
class Needs:
    """Ids and hashes to load before a receipt can be rebuilt."""

    turns: frozenset[str]
    answers: frozenset[str]
    hashes: frozenset[str]


@dataclass(frozen=True, slots=True)
class ReceiptSources:
    """Texts and receipts that the store loaded for a rebuild."""

    receipts: Mapping[str, str]
    """Data by answer id: the receipt itself and all it is appended to."""
    turns: Mapping[str, tuple[str, int | None]] = field(default_factory=dict)
    """By turn id: the user's message and when it was said."""
    answers: Mapping[str, str] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    """By hash."""
    marked: frozenset[str] = frozenset()
    """Answers that have lost some of their words since."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """The request an advisor was sent, and why it was that one."""

    answer_id: str
    draft: Draft
    request: Request
    council: tuple[Seat, ...]
    sent: Sent | None
    missing: tuple[str, ...]
    """References and hashes that could not be loaded."""

    @property
    def exact(self) -> bool:
        """True if the request is the very one that was compiled."""
        return not self.missing

    def spans(self) -> list[Span]:
        """Every piece, what was left out among them."""
        return spans_of(self.draft)

    def matches(self, encoded: Encoded) -> bool:
        """True if these bytes are those that were put on the wire."""
        return self.sent is not None and self.sent.wire_hash == wire_hash(encoded)


def needs(answer_id: str, receipts: Mapping[str, str]) -> Needs:
    """List all there is to load beside the chain of receipts."""
    stored = read(receipts[answer_id])
    refs, _ = _history(answer_id, receipts)
    pieces = _pieces(stored)
    refs += [piece.ref for piece in pieces if piece.ref]
    answers = {answer for p in pieces for _, entries in p.groups for answer, _ in entries}
    hashes = {name for _, name in (*stored.system, *stored.memory)}
    hashes |= {piece.template for piece in pieces if piece.template}
    hashes |= {name for name in (stored.schema, stored.council) if name}
    asked = {piece.question for piece in pieces if piece.question}
    return Needs(
        frozenset({ref[1:] for ref in refs if ref[0] == "u"} | asked),
        frozenset({ref[1:] for ref in refs if ref[0] == "a"} | answers),
        frozenset(hashes),
    )


def rebuild(answer_id: str, loaded: ReceiptSources) -> Receipt:
    """The receipt with all its texts."""
    stored = read(loaded.receipts[answer_id])
    source = _Source(loaded, stored.zone)
    # Memory that was not sent may be gone without making the request inexact.
    memory = source if stored.memory_sent else _Source(loaded, stored.zone)
    refs, broken = _history(answer_id, loaded.receipts)
    source.missing += broken
    stamped = stored.stamps != "none"
    lines = [source.line("user" if ref[0] == "u" else "own", ref, stamped=stamped) for ref in refs]
    if stored.note is not None:
        lines.insert(min(stored.note_at, len(lines)), source.piece(stored.note, stored.stamps))
    history = len(lines)
    lines += [source.piece(piece, stored.stamps) for piece in stored.tail]
    tokens, limit, window, answer, by_window = stored.allowance
    sent = stored.sent
    params = sent.params if sent is not None and sent.params is not None else stored.params
    draft = Draft(
        advisor_id=stored.advisor,
        turn_id=stored.turn,
        recipe=stored.recipe[0],
        recipe_hash=stored.recipe[1],
        prompts=stored.prompts[0],
        prompts_hash=stored.prompts[1],
        phase=stored.place[0],
        k=stored.place[1],
        n=stored.place[2],
        blocks=tuple(Block(kind, source.text(name)) for kind, name in stored.system),
        memory=tuple(Block(kind, memory.text(name)) for kind, name in stored.memory),
        memory_sent=stored.memory_sent,
        lines=tuple(lines),
        history=history,
        unsent=tuple(stored.unsent),
        omitted=tuple(Omitted(cast("Why", why), *rest) for why, *rest in stored.omitted),
        zone=stored.zone,
        base=stored.base,
        stamps=cast('Literal["all", "history", "none"]', stored.stamps),
        cut=stored.cut,
        ratio=stored.ratio,
        allowance=Allowance(tokens, limit, window, answer, by_window),
        size=stored.size,
        params=params,
        settled=stored.settled,
        schema=None if stored.schema is None else source.text(stored.schema),
    )
    council = msgspec.json.decode(
        source.texts.get(stored.council or "", "[]"), type=tuple[Seat, ...]
    )
    missing = tuple(dict.fromkeys(source.missing))
    return Receipt(answer_id, draft, request_of(draft), council, sent, missing)


class _Source:
    """Looks texts up and remembers what was not there."""

    def __init__(self, loaded: ReceiptSources, zone: str) -> None:
        self.zone = zone
        self.turns = loaded.turns
        self.answers = loaded.answers
        self.texts = loaded.texts
        self.marked = loaded.marked
        self.missing: list[str] = []

    def text(self, name: str) -> str:
        if (text := self.texts.get(name)) is None:
            self.missing.append(name)
            return REDACTED
        return text

    def line(self, kind: str, ref: str, *, stamped: bool) -> Line:
        if ref[0] == "u":
            return Line(kind, "user", ref, self._message(ref[1:], stamped=stamped))
        text = self.answers.get(ref[1:])
        if text is None or ref[1:] in self.marked:
            self.missing.append(ref)
        return Line(kind, "assistant", ref, REDACTED if text is None else text)

    def piece(self, piece: TailMessage, stamps: str) -> Line:
        if piece.ref:
            return self.line(piece.kind, piece.ref, stamped=stamps == "all")
        made = made_of(piece, self.text(piece.template))
        answers = [answer for _, entries in piece.groups for answer, _ in entries]
        self.missing += [
            f"a{answer}"
            for answer in answers
            if answer not in self.answers or answer in self.marked
        ]
        question = self._message(piece.question, stamped=False) if piece.question else ""
        return Line(piece.kind, "user", "", made.render(self.answers, question), made)

    def _message(self, turn_id: str, *, stamped: bool) -> str:
        if (message := self.turns.get(turn_id)) is None:
            self.missing.append(f"u{turn_id}")
            return REDACTED
        text, said_at = message
        return stamp(said_at, self.zone) + text if stamped else text


def _pieces(stored: ReceiptData) -> list[TailMessage]:
    note = [stored.note] if stored.note is not None else []
    return [*note, *stored.tail]


def _history(answer_id: str, receipts: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """The whole list of references, and the receipts that are missing or do not add up."""
    appended: list[list[str]] = []
    first = link = read_history(receipts[answer_id])
    seen = {answer_id}
    while True:
        appended.append(link.append)
        if link.base is None:
            break
        if link.base not in receipts or link.base in seen:
            return _joined(appended), [f"receipt {link.base}"]
        seen.add(link.base)
        link = read_history(receipts[link.base])
    refs = _joined(appended)
    whole = len(refs) == first.count and refs_hash(refs) == first.hash
    return refs, [] if whole else [f"history of {answer_id}"]


def _joined(appended: list[list[str]]) -> list[str]:
    return [ref for part in reversed(appended) for ref in part]
