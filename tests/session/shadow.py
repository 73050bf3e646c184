"""What each advisor must be sent, worked out a second time from nothing but what is stored.

Written against the specification and not against the compiler: plain loops over all turns and all
answers, no windows, no budget, no receipts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from tests.session.room import ME, Room

from polyvox.store import turns
from polyvox.store.database import Tx
from polyvox.values import ASSISTANT_ID, Answer, Turn

CANARY = re.compile(r"\b(?:text|thought|error|synthesis|message|name|role)0x\d+\b")
EARLY = "Ask ONE short question"
ONGOING = "Answer fully and from your own point of view"

Message = tuple[str, str]


@dataclass(frozen=True)
class Happened:
    """Everything that is stored of one conversation."""

    turns: dict[str, Turn]
    answers: list[Answer]

    def before(self, turn: Turn) -> list[Turn]:
        """The way from the first turn to the one before this, by parents."""
        found: list[Turn] = []
        parent = turn.parent_id
        while parent is not None:
            found.insert(0, self.turns[parent])
            parent = self.turns[parent].parent_id
        return [one for one in found if not one.excluded]

    def spoken(self, turn: Turn) -> list[Answer]:
        """The answers of a turn that count, in the order of rounds and seats."""
        return sorted(
            (one for one in self.answers if one.turn_id == turn.id and counts(one)),
            key=lambda one: (one.round, one.position),
        )


def counts(answer: Answer) -> bool:
    """Completed, or stopped with text; current; not excluded; no synthesis."""
    ended_well = answer.state == "completed" or (answer.state == "stopped" and answer.text.strip())
    return bool(
        ended_well and answer.current and not answer.excluded and answer.kind != "synthesis"
    )


async def look(room: Room, conversation: str) -> Happened:
    """Read it all."""

    def read(tx: Tx) -> Happened:
        found = [
            turns.get_turn(tx, row[0])
            for row in tx.all("SELECT id FROM turns WHERE conversation_id = ?", (conversation,))
        ]
        answers = [one for turn in found for one in turns.answers_of(tx, turn.id)]
        return Happened({turn.id: turn for turn in found}, answers)

    return await room.polyvox.database.read(read, ME)


def stamped(turn: Turn) -> str:
    """The person's message as it is sent."""
    assert turn.said_at is not None
    said = datetime.fromtimestamp(turn.said_at // 1_000_000, UTC)
    return f"[{said:%Y-%m-%dT%H:%M}] {turn.content}"


Shown = dict[str, list[Answer]]
"""The words of others that stood in the reference block of a request, by the answer to it."""


def last_words(happened: Happened, before: Sequence[Turn], me: str, shown: Shown) -> list[Answer]:
    """The last word of each other advisor in the newest turn in which it spoke, oldest turn first;
    none that is older than what this advisor has been shown."""
    own = [[a for a in happened.spoken(turn) if a.advisor_id == me] for turn in before]
    newest = next((answers[0] for answers in reversed(own) if answers), None)
    seen = shown.get(newest.id, []) if newest is not None else []
    since = max((happened.turns[word.turn_id].depth for word in seen), default=0)
    last: dict[str, Answer] = {}
    for turn in before:
        words = {a.advisor_id: a for a in happened.spoken(turn) if a.advisor_id != me}
        for advisor in words:
            last.pop(advisor, None)  # who spoke again stands where it spoke again
        last |= words
    return [word for word in last.values() if happened.turns[word.turn_id].depth >= since]


@dataclass(frozen=True)
class Expected:
    """The messages that must be sent; a block of others' words stands as the answers in it."""

    history: list[Message]
    block: list[Answer] | None
    after: list[Message]
    exchange: list[Answer] | None = None
    phase: str = ""


def expected(happened: Happened, answer: Answer, shown: Shown) -> Expected:
    """What the author of an answer must have been sent for it; kept in `shown`."""
    me, turn = answer.advisor_id, happened.turns[answer.turn_id]
    before = happened.before(turn)
    history: list[Message] = []
    for one in before:
        history.append(("user", stamped(one)))
        history += [("assistant", a.text) for a in happened.spoken(one) if a.advisor_id == me]
    current = [("user", stamped(turn))]
    had = sum(
        1 for one in before for a in happened.spoken(one) if a.advisor_id == me and a.round == 0
    )
    phase = f"turn {had + 1} of 3" if had < 3 else ONGOING
    if answer.kind == "exchange":
        own = [
            ("assistant", a.text)
            for a in happened.spoken(turn)
            if a.advisor_id == me and a.round < answer.round
        ]
        others = [
            a for a in happened.spoken(turn) if a.advisor_id != me and a.round == answer.round - 1
        ]
        return Expected(history, None, [*current, *own], others, _in_exchange(happened, turn))
    words = shown[answer.id] = last_words(happened, before, me, shown)
    return Expected(history, words or None, current, phase="" if me == ASSISTANT_ID else phase)


def _in_exchange(happened: Happened, turn: Turn) -> str:
    """The phase of an exchange: the early one as long as everybody was asked in it."""
    for advisor in turn.asked:
        own = [
            a
            for one in happened.before(turn)
            for a in happened.spoken(one)
            if a.advisor_id == advisor and a.round == 0
        ]
        if len(own) >= 3 or advisor == ASSISTANT_ID:
            return ONGOING
    return EARLY


@dataclass(frozen=True)
class Sent:
    """A logged body of either wire, taken apart."""

    system: str
    messages: list[Message]

    @classmethod
    def of(cls, data: dict[str, Any]) -> Sent:
        system, messages = data.get("system", ""), []
        if isinstance(system, list):
            system = "\n\n".join(part["text"] for part in system)
        for one in data["messages"]:
            content = one["content"]
            if isinstance(content, list):
                content = "\n\n".join(part["text"] for part in content)
            if one["role"] == "system":
                system += content
            else:
                messages.append((one["role"], content))
        return cls(system, messages)


def merged(messages: Sequence[Message]) -> list[Message]:
    """Adjacent messages of one role as one, for a wire that demands it."""
    found: list[Message] = []
    for role, text in messages:
        if found and found[-1][0] == role:
            found[-1] = (role, f"{found[-1][1]}\n\n{text}")
        else:
            found.append((role, text))
    return found


def check_block(text: str, words: Sequence[Answer]) -> None:
    """One bracketed text: each answer once, in order, behind the name its author then had."""
    assert text.startswith("["), text
    assert re.search(r"\](?:\n\n|$)", text), text
    inside = text[: text.rindex("]")]
    at = 0
    for answer in words:
        # One whose name another has, too, is numbered.
        spoken = rf"\n{re.escape(answer.advisor_name)}(?: \(\d+\))?: {re.escape(answer.text)}"
        found = re.compile(spoken).search(inside, at)
        assert found, f"{answer.advisor_name}: {answer.text!r} is missing in {text!r}"
        at = found.start() + 1
    told = [one for one in CANARY.findall(inside) if one.startswith("text")]
    assert told == [one for answer in words for one in CANARY.findall(answer.text)], text


def check(sent: Sent, want: Expected, *, merge: bool) -> None:
    """The body holds exactly these messages in this order, the current one last."""
    blank = "\0block\0"
    parts = [*want.history, *([("user", blank)] if want.block else []), *want.after]
    if want.exchange is not None:
        parts.append(("user", blank))
    parts = merged(parts) if merge else parts
    assert [role for role, _ in sent.messages] == [role for role, _ in parts]
    for (_, got), (_, wanted) in zip(sent.messages, parts, strict=True):
        if blank not in wanted:
            assert got == wanted
            continue
        head, tail = wanted.split(blank)
        assert got.startswith(head), (got, head)
        assert got.endswith(tail), (got, tail)
        check_block(got[len(head) : len(got) - len(tail)], want.block or want.exchange or ())
    if want.phase:
        assert want.phase in sent.system
        assert (EARLY in sent.system) != (ONGOING in sent.system), "one phase, and no other"


def check_never(sent: Sent, happened: Happened, answer: Answer, shown: Shown) -> None:
    """The rules that begin with never, each looked for by its canaries."""
    by_canary = {
        canary: one for one in happened.answers for canary in CANARY.findall(one.text) if canary
    }
    turn = happened.turns[answer.turn_id]
    before = happened.before(turn)
    path = {one.id for one in before} | {turn.id}
    words = {word.id for word in shown.get(answer.id, ())}
    whole = sent.system + "".join(text for _, text in sent.messages)
    for kind in ("thought", "error", "synthesis"):
        assert not [one for one in CANARY.findall(whole) if one.startswith(kind)], kind
    for role, text in [("system", sent.system), *sent.messages]:
        for canary in CANARY.findall(text):
            if not canary.startswith("text"):
                continue
            said = by_canary[canary]
            assert role != "system", "nobody's words are instructions"
            assert counts(said), f"{said.state} excluded={said.excluded} current={said.current}"
            assert said.turn_id in path, "of another branch"
            own = said.advisor_id == answer.advisor_id
            assert own == (role == "assistant"), "another's words, or one's own as another's"
            if not own:
                near = said.turn_id == turn.id if answer.kind == "exchange" else said.id in words
                assert near, "an older turn of another"
    for role, text in sent.messages:
        assert EARLY not in text, role
        assert ONGOING not in text, role
