"""A conversation as JSON Lines, without loss: one thing per line, each with its `type`.

    conversation   first; `format` and `version` say what this is
    advisor, version, branch, session      what the turns refer to
    turn, answer   every turn of every branch, followed by every version of its answers
    span, receipt  what was sent for each answer, as references and the texts they name

Fields are those of `polyvox.values`. Unknown fields are passed over. Money is nano-dollars.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, TypeVar

import msgspec

from polyvox.context.receipt import read, read_history
from polyvox.context.synthesis import Synthesis
from polyvox.errors import Invalid
from polyvox.ids import content_hash
from polyvox.interop.conversation import Whole, as_ended
from polyvox.receive import escaped, mended_name
from polyvox.settings.complaint import misfit
from polyvox.store.receipts import StoredReceipt
from polyvox.store.sessions import Session
from polyvox.values import Advisor, Answer, Branch, Conversation, PromptVersion, Turn

FORMAT = "polyvox-conversation"
VERSION = 1
MOST_LINES = 1_000_000
LONGEST_LINE = 64_000_000
LARGEST = 256_000_000
"""Bytes of a file."""
LARGEST_INT = 2**62
LONGEST_NAME = 120
LONGEST_TITLE = 1000
"""A name or title that could not be given here is mended, not a reason to refuse the rest."""
SMALL = ("depth", "fork_depth", "round", "position", "version", "number", "phases")
_ID = re.compile(r"^[A-Za-z0-9_-]{1,64}$")

T = TypeVar("T")


def lines(whole: Whole) -> Iterator[str]:
    """The file, line by line."""
    yield _line("conversation", {"format": FORMAT, "version": VERSION}, whole.conversation)
    for kind, things in (
        ("advisor", whole.advisors),
        ("version", whole.versions),
        ("branch", whole.branches),
        ("session", whole.sessions),
    ):
        for thing in things:
            yield _line(kind, thing)
    for turn in whole.turns:
        yield _line("turn", turn, {"body_hash": whole.body_hashes[turn.id]})
        for answer in whole.answers[turn.id]:
            yield _line("answer", answer)
    for name, text in whole.spans.items():
        yield _line("span", {"hash": name, "text": text})
    for receipt in whole.receipts:
        yield _line("receipt", receipt)


def parse(text_lines: Iterable[str]) -> Whole:
    """The conversation that a file holds, checked so that it can be stored as it is."""
    things: dict[str, list[dict[str, Any]]] = {}
    for number, line in enumerate(text_lines, 1):
        if not line.strip():
            continue
        if number > MOST_LINES or len(line) > LONGEST_LINE:
            raise Invalid(f"Line {number:,} is more than is read.", "The file is too large.")
        data = _decoded(line, number)
        kind = data.pop("type", None)
        if not things and (kind != "conversation" or data.get("format") != FORMAT):
            raise Invalid(
                "This is not a conversation that Polyvox wrote.",
                "Export one: polyvox conversations export ID",
            )
        things.setdefault(str(kind), []).append(data)
    if len(things.get("conversation", ())) != 1:
        raise Invalid("The file does not hold exactly one conversation.", "Export it again.")
    head = things["conversation"][0]
    if head.get("version") != VERSION:
        raise Invalid(
            f"The file has version {head.get('version')!r}; this program reads {VERSION}.",
            "Upgrade Polyvox, or export it again.",
        )
    whole = _whole(head, things)
    _check(whole)
    return whole


def _whole(head: dict[str, Any], things: dict[str, list[dict[str, Any]]]) -> Whole:
    def many(kind: str, of: type[T]) -> tuple[T, ...]:
        known = _known(kind, head.get("id"))
        return tuple(_thing(kind, {**data, **known}, of) for data in things.get(kind, ()))

    answers: dict[str, tuple[Answer, ...]] = {}
    for answer in many("answer", Answer):
        named = replace(answer, advisor_name=mended_name(answer.advisor_name, LONGEST_NAME))
        answers[answer.turn_id] = (*answers.get(answer.turn_id, ()), as_ended(named))
    turns = tuple(
        replace(turn, state="completed") for turn in many("turn", Turn)
    )  # nothing of it is under way here
    (conversation,) = many("conversation", Conversation)
    return Whole(
        replace(conversation, title=mended_name(conversation.title, LONGEST_TITLE)),
        tuple(
            replace(
                advisor, name=mended_name(advisor.name, LONGEST_NAME, advisor.slug or "Advisor")
            )
            for advisor in many("advisor", Advisor)
        ),
        many("version", PromptVersion),
        many("branch", Branch),
        many("session", Session),
        turns,
        {str(data.get("id")): str(data.get("body_hash", "")) for data in things.get("turn", ())},
        answers | {turn.id: answers.get(turn.id, ()) for turn in turns},
        {str(data.get("hash")): str(data.get("text")) for data in things.get("span", ())},
        many("receipt", StoredReceipt),
    )


def _known(kind: str, conversation_id: object) -> dict[str, object]:
    """Fields that no line has: the conversation is the file's, and the numbers of live events and
    who ended a session mean nothing elsewhere."""
    fields: dict[str, dict[str, object]] = {
        "conversation": {"last_number": 0},
        "session": {"conversation_id": conversation_id, "ended_by": None},
        "receipt": {"conversation_id": conversation_id},
    }
    return fields.get(kind, {})


def _line(kind: str, *parts: object) -> str:
    data = {"type": kind}
    for part in parts:
        data |= msgspec.to_builtins(part)
    for name in _known(kind, None):
        del data[name]
    return escaped(msgspec.json.encode(data).decode())


def _decoded(line: str, number: int) -> dict[str, Any]:
    try:
        data = msgspec.json.decode(line.encode("utf-8", "strict"))
        if not isinstance(data, dict):
            raise ValueError("it is not an object")
        _sound(data)
    except (ValueError, RecursionError) as error:
        raise Invalid(
            f"Line {number:,} is not usable: {misfit(error)}.", "Export it again."
        ) from None
    return data


def _sound(value: object, key: str = "") -> None:
    """Refuse what a database could not hold: NUL, numbers without bound."""
    if isinstance(value, str):
        if "\x00" in value:
            raise ValueError("a text holds a NUL character")
    elif isinstance(value, int) and not isinstance(value, bool):
        if not 0 <= value < (2**31 if key in SMALL else LARGEST_INT):
            raise ValueError(f"the number {value} is out of range")
    elif isinstance(value, dict):
        for name, inner in value.items():
            _sound(inner, str(name))
    elif isinstance(value, list):
        for inner in value:
            _sound(inner, key)


def _thing(kind: str, data: dict[str, Any], of: type[T]) -> T:
    try:
        return msgspec.convert(data, of)
    except msgspec.ValidationError as error:
        raise Invalid(
            f"A line of type {kind} is not usable: {misfit(error)}.", "Export it again."
        ) from None


def _check(whole: Whole) -> None:
    """Refuse references to things that are not there, and circles."""
    for ids in (
        [whole.conversation.id],
        [branch.id for branch in whole.branches],
        [session.id for session in whole.sessions],
        [turn.id for turn in whole.turns],
        [turn.message_id for turn in whole.turns],
        [answer.id for some in whole.answers.values() for answer in some],
        [receipt.answer_id for receipt in whole.receipts],
        [f"{turn.branch_id}-{turn.depth}" for turn in whole.turns],
    ):
        _need(len(set(ids)) == len(ids), "two things have the same id or place")
        _need(all(len(name) <= 90 for name in ids), "an id is too long")
    ids = [whole.conversation.id, *(turn.id for turn in whole.turns)]
    _need(all(_ID.match(name) for name in ids), "an id is not one")
    _check_turns(whole)
    known = {answer.id for some in whole.answers.values() for answer in some}
    for turn_id, answers in whole.answers.items():
        _need(turn_id in whole.body_hashes, "an answer belongs to no turn")
        for answer in answers:
            _need(_ID.match(answer.id) is not None, "an id is not one")
            _need(answer.conversation_id == whole.conversation.id, "an answer is from elsewhere")
            _need(answer.replaces_id is None or answer.replaces_id in known, "a version is missing")
            _check_points(answer.points)
    for name, text in whole.spans.items():
        _need(content_hash(text) == name, "a text does not have the hash it is named by")
    _check_receipts(whole.receipts, known)


def _check_turns(whole: Whole) -> None:
    branches = {branch.id: branch for branch in whole.branches}
    turns = {turn.id: turn for turn in whole.turns}
    sessions = {session.id for session in whole.sessions}
    for branch in whole.branches:
        _need(branch.parent_id is None or branch.parent_id in branches, "a branch is missing")
        # A branch leaves an older one, so the way back always ends.
        older = branches.get(branch.parent_id or "")
        _need(older is None or _before(older, branch), "branches go round in circles")
    head = whole.conversation.head_id
    _need((head is None and not turns) or head in turns, "the newest turn is missing")
    for turn in whole.turns:
        _need(turn.conversation_id == whole.conversation.id, "a turn is from elsewhere")
        _need(turn.branch_id in branches, "a branch is missing")
        _need(turn.session_id is None or turn.session_id in sessions, "a session is missing")
        _need(turn.depth > branches[turn.branch_id].fork_depth, "a turn is not on its branch")
        parent = turns.get(turn.parent_id or "")
        _need(turn.parent_id is None or parent is not None, "an earlier turn is missing")
        above = 0 if parent is None else parent.depth
        _need(turn.depth == above + 1, "turns do not follow each other")


def _check_points(points: str | None) -> None:
    try:
        if points is not None:
            msgspec.json.decode(points, type=Synthesis)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise Invalid(f"A synthesis is not usable: {misfit(error)}.", "Export it again.") from None


def _before(older: Branch, branch: Branch) -> bool:
    return (older.created_at, older.id) < (branch.created_at, branch.id)


def _check_receipts(receipts: Iterable[StoredReceipt], answers: set[str]) -> None:
    kept = {receipt.answer_id: receipt for receipt in receipts}
    sound: set[str] = set()
    for receipt in kept.values():
        _need(receipt.answer_id in answers, "a receipt belongs to no answer")
        try:
            read(receipt.data)
            base = read_history(receipt.data).base
        except msgspec.MsgspecError as error:
            raise Invalid(
                f"A receipt is not usable: {misfit(error)}.", "Export it again."
            ) from None
        _need(base == receipt.base_id, "a receipt contradicts itself")
        walked: set[str] = set()
        at: str | None = receipt.answer_id
        while at is not None and at not in sound:
            _need(
                at in kept and at not in walked, "receipts go round in circles, or one is missing"
            )
            walked.add(at)
            at = kept[at].base_id
        sound |= walked


def _need(true: object, otherwise: str) -> None:
    if not true:
        raise Invalid(f"The file is not whole: {otherwise}.", "Export it again.")
