"""Receipts: a draft stored as references, small however long the conversation is.

Texts that recur (system blocks, templates, the council) are spans named by their hash. History is
a list of references ("u" and a turn id, "a" and an answer id), kept as what is appended to the
advisor's previous receipt when that one's list begins the new one; else, after a cut, an exclusion
or on another branch, as a whole list. The words of others are kept as answer ids with the names
they were labelled with, and rendered again. `rebuild` is the inverse.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import msgspec

from polyvox.context.draft import Draft, Line, Unsent
from polyvox.context.words import Cut, Group, Made
from polyvox.ids import content_hash
from polyvox.models.base import Encoded
from polyvox.values import Attempt, Params

VERSION = 1


class Refs(msgspec.Struct, frozen=True, omit_defaults=True):
    """A list of references: `append` behind the list of the receipt `base`, or all by itself."""

    count: int
    hash: str
    append: list[str]
    base: str | None = None


class TailMessage(msgspec.Struct, frozen=True, omit_defaults=True):
    """A message that is not history: taken from `ref`, or made from a template."""

    kind: str
    ref: str = ""
    template: str = ""
    groups: tuple[Group, ...] = ()
    values: tuple[tuple[str, str], ...] = ()
    question: str = ""
    whole: bool = False
    sources: tuple[str, ...] = ()
    cuts: tuple[Cut, ...] = ()


@dataclass(frozen=True, slots=True)
class Seat:
    """One advisor of the council as it was when this receipt was made."""

    id: str
    name: str
    version_id: str
    model: str


@dataclass(frozen=True, slots=True)
class Sent:
    """The request as it was put on the wire in the end, and every call that was made for it."""

    dialect: str
    model: str
    """The model's name on the wire."""
    model_id: str
    """provider:name."""
    wire_hash: str
    """SHA-256 of the body's bytes."""
    wire_bytes: int
    params: Params | None = None
    """The parameters sent, where they differ from those compiled (a fallback with its own
    maximum)."""
    attempts: tuple[Attempt, ...] = ()


class ReceiptData(msgspec.Struct, frozen=True, omit_defaults=True):
    """A receipt's data. Texts are named by hash."""

    advisor: str
    turn: str
    recipe: tuple[str, str]
    prompts: tuple[str, str]
    place: tuple[str, int, int | None]
    system: list[tuple[str, str]]
    history: Refs
    tail: list[TailMessage]
    stamps: str
    ratio: float
    allowance: tuple[int, str, int | None, int, bool]
    size: int
    settled: int
    v: int = VERSION
    memory: list[tuple[str, str]] = []
    memory_sent: bool = False
    note: TailMessage | None = None
    note_at: int = 0
    unsent: list[Unsent] = []
    omitted: list[tuple[str, int, int, int, int]] = []
    cut: int | None = None
    params: Params = Params()
    schema: str | None = None
    council: str | None = None
    zone: str = "UTC"
    base: str = ""
    sent: Sent | None = None


@dataclass(frozen=True, slots=True)
class BaseHistory:
    """The part of an advisor's previous receipt that an append needs."""

    answer_id: str
    count: int
    hash: str
    cut: int | None = None
    """The cut to go on with: `Thread.cut` of the next turn."""
    shown: tuple[str, ...] = ()
    """Answers of others that stood in its reference block."""


@dataclass(frozen=True, slots=True)
class Packed:
    """A receipt ready to be stored. `spans` are texts by hash, to be inserted where absent."""

    data: str
    spans: dict[str, str]
    base_id: str | None = None


class _Link(msgspec.Struct):
    """The fields of a stored receipt that a chain needs; the rest is skipped unread."""

    history: Refs


_decoder = msgspec.json.Decoder(ReceiptData)
_links = msgspec.json.Decoder(_Link)
_encoder = msgspec.json.Encoder()


def read(data: str) -> ReceiptData:
    """The stored data as values."""
    return _decoder.decode(data)


def read_history(data: str) -> Refs:
    """The list of references alone."""
    return _links.decode(data).history


def base_of(answer_id: str, data: str) -> BaseHistory:
    """The base to which the next receipt of the same advisor can be appended."""
    stored = read(data)
    shown = tuple(
        answer
        for piece in stored.tail
        if piece.kind == "reference"
        for _, entries in piece.groups
        for answer, _ in entries
    )
    return BaseHistory(answer_id, stored.history.count, stored.history.hash, stored.cut, shown)


def pack(draft: Draft, base: BaseHistory | None = None, council: Sequence[Seat] = ()) -> Packed:
    """A draft as references and the texts that they name."""
    spans: dict[str, str] = {}

    def keep(text: str) -> str:
        name = content_hash(text)
        spans[name] = text
        return name

    history = draft.lines[: draft.history]
    note_at = next((at for at, line in enumerate(history) if line.kind == "note"), None)
    refs = _appended([line.ref for line in history if line.kind != "note"], base)
    room = draft.allowance
    stored = ReceiptData(
        advisor=draft.advisor_id,
        turn=draft.turn_id,
        recipe=(draft.recipe, draft.recipe_hash),
        prompts=(draft.prompts, draft.prompts_hash),
        place=(draft.phase, draft.k, draft.n),
        system=[(block.kind, keep(block.text)) for block in draft.blocks],
        memory=[(block.kind, keep(block.text)) for block in draft.memory],
        memory_sent=draft.memory_sent,
        history=refs,
        note=None if note_at is None else _piece(history[note_at], keep),
        note_at=note_at or 0,
        tail=[_piece(line, keep) for line in draft.lines[draft.history :]],
        unsent=list(draft.unsent),
        omitted=[(o.reason, o.turns, o.messages, o.first, o.last) for o in draft.omitted],
        stamps=draft.stamps,
        zone=draft.zone,
        base=draft.base,
        cut=draft.cut,
        ratio=draft.ratio,
        allowance=(room.tokens, room.limit, room.window, room.answer, room.by_window),
        size=draft.size,
        params=draft.params,
        settled=draft.settled,
        schema=None if draft.schema is None else keep(draft.schema),
        council=keep(_encoder.encode(list(council)).decode()) if council else None,
    )
    return Packed(_encoder.encode(stored).decode(), spans, refs.base)


def sealed(
    packed: Packed,
    encoded: Encoded,
    model_id: str,
    attempts: Iterable[Attempt] = (),
    params: Params | None = None,
) -> Packed:
    """The receipt after the call: what was put on the wire, by which model, after which attempts.
    `params` only where another request than the compiled one was sent."""
    stored = read(packed.data)
    sent = Sent(
        dialect=encoded.dialect,
        model=encoded.model,
        model_id=model_id,
        wire_hash=wire_hash(encoded),
        wire_bytes=len(encoded.body),
        params=params if params != stored.params else None,
        attempts=tuple(attempts),
    )
    return replace(
        packed, data=_encoder.encode(msgspec.structs.replace(stored, sent=sent)).decode()
    )


def wire_hash(encoded: Encoded) -> str:
    """The name of exactly these bytes."""
    return hashlib.sha256(encoded.body).hexdigest()


def refs_hash(refs: Sequence[str]) -> str:
    """The name of exactly this list of references."""
    return content_hash("\n".join(refs))


def _appended(refs: list[str], base: BaseHistory | None) -> Refs:
    count, name = len(refs), refs_hash(refs)
    if base is None or not 0 < base.count <= count or base.hash != refs_hash(refs[: base.count]):
        return Refs(count, name, refs)
    return Refs(count, name, refs[base.count :], base.answer_id)


def _piece(line: Line, keep: Callable[[str], str]) -> TailMessage:
    made = line.made
    if made is None:
        return TailMessage(line.kind, line.ref)
    return TailMessage(
        line.kind,
        template=keep(made.template),
        groups=made.groups,
        values=made.values,
        question=made.question,
        whole=made.whole,
        sources=made.sources,
        cuts=made.cuts,
    )


def made_of(piece: TailMessage, template: str) -> Made:
    """A stored message as `Made`, given its template's text."""
    return Made(
        template,
        piece.groups,
        piece.values,
        piece.question,
        piece.whole,
        piece.sources,
        piece.cuts,
    )
