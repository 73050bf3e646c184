"""A small world of conversations for the tests: it keeps what a store would keep, and gives each
advisor the thread that a store would give it."""

from __future__ import annotations

from dataclasses import dataclass, field

from polyvox.context.rebuild import ReceiptSources, needs
from polyvox.models.base import ModelFacts, Request
from polyvox.settings import Limits
from polyvox.thread import Other, Own, Thread, ThreadTurn
from polyvox.values import Advisor

START = 1_761_825_600_000_000  # 2025-10-30T12:00 UTC
MINUTE = 60_000_000
LARGE = ModelFacts("test:large", None)


def advisor(number: int, name: str = "", **more: str) -> Advisor:
    return Advisor(
        id=f"adv{number}",
        slug=f"slug{number}",
        name=name or f"Advisor {number}",
        description=more.get("description", f"You are careful in way number {number}."),
        prompt=more.get("prompt"),
    )


def limits(context: str = "150000 chars", low_water: float = 0.85, share: float = 0.35) -> Limits:
    given = {"context": context, "low_water": low_water, "reference_share": share}
    return Limits.model_validate(given)


def tokens(request: Request) -> int:
    """The size of a request by the rule itself, written down a second time."""
    system = [-(-len(part.text) // 4) for part in request.system]
    return sum(system) + sum(-(-len(message.text) // 4) for message in request.messages)


def plain(request: Request) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in request.messages]


@dataclass(slots=True)
class Spoken:
    """An answer in the world."""

    id: str
    advisor: Advisor
    text: str
    round: int = 0
    speaks: bool = True


@dataclass(slots=True)
class Happened:
    """A turn in the world."""

    id: str
    depth: int
    text: str
    said_at: int | None
    answers: list[Spoken] = field(default_factory=list)
    excluded: bool = False

    def own(self, who: Advisor) -> tuple[Own, ...]:
        return tuple(Own(a.id, a.text) for a in self.answers if a.advisor is who and a.speaks)

    def others(self, who: Advisor) -> tuple[Other, ...]:
        last = {a.advisor.id: a for a in self.answers if a.advisor is not who and a.speaks}
        return tuple(
            Other(a.id, a.advisor.id, a.advisor.slug, a.advisor.name, a.text, self.depth)
            for a in last.values()
        )


class World:
    """One conversation; `turns` is the branch that is being followed."""

    def __init__(self, advisors: int = 3) -> None:
        self.advisors = [advisor(n) for n in range(advisors)]
        self.turns: list[Happened] = []
        self.everything: list[Happened] = []
        self.made = 0

    def _id(self, kind: str) -> str:
        self.made += 1
        return f"{kind}{self.made:06d}-0000-7000-8000-000000000000"

    def say(self, text: str = "hello", said_at: int | None = -1) -> Happened:
        """The person says something; answers are added by `answer`."""
        depth = self.turns[-1].depth + 1 if self.turns else 1
        when = START + depth * 5 * MINUTE if said_at == -1 else said_at
        turn = Happened(self._id("t"), depth, text, when)
        self.turns.append(turn)
        self.everything.append(turn)
        return turn

    def answer(self, turn: Happened, who: int, text: str, round: int = 0) -> Spoken:  # noqa: A002 - the word of the domain
        said = Spoken(self._id("a"), self.advisors[who], text, round)
        turn.answers.append(said)
        return said

    def round(self, text: str = "hello", size: int = 40) -> Happened:
        """A whole turn in which everybody answers."""
        turn = self.say(text)
        for who in range(len(self.advisors)):
            self.answer(turn, who, f"answer {who} in {turn.depth} ".ljust(size, "x"))
        return turn

    def fork(self, depth: int) -> None:
        """Follow a new branch from before this depth; nothing is destroyed."""
        self.turns = [turn for turn in self.turns if turn.depth < depth]

    def thread(
        self,
        who: int = 0,
        *,
        cut: int | None = None,
        ratio: float = 1.0,
        memory: tuple[tuple[str, str], ...] = (),
        read: int | None = None,
        heads: int = 3,
        round: int = 0,  # noqa: A002 - the word of the domain
    ) -> Thread:
        """The thread for the newest turn. `read`: how many turns the store read back."""
        me, now = self.advisors[who], self.turns[-1]
        before = [turn for turn in self.turns[:-1] if not turn.excluded]
        split = max(0, len(before) - read) if read is not None else 0
        seen = [self._said(turn, me) for turn in before]
        newest = {other.advisor_id: other for turn in before for other in turn.others(me)}
        words = tuple(
            Other(a.id, a.advisor.id, a.advisor.slug, a.advisor.name, a.text)
            for a in now.answers
            if a.round == round - 1 and a.advisor is not me and a.speaks
        )
        return Thread(
            advisor=me,
            current=self._said(now, me) if round else self._said(now, me, own=False),
            past=tuple(seen[split:]),
            unread=split,
            unread_messages=split + sum(len(unit.own) for unit in seen[:split]),
            head=tuple(seen[: min(heads, split)]),
            answers=sum(
                1
                for turn in before
                for a in turn.answers
                if a.advisor is me and a.speaks and a.round == 0
            ),
            last=tuple(newest.values()),
            words=words,
            round=round,
            cut=cut,
            ratio=ratio,
            memory=memory,
        )

    @staticmethod
    def _said(turn: Happened, me: Advisor, *, own: bool = True) -> ThreadTurn:
        return ThreadTurn(
            turn.id,
            f"m{turn.id}",
            turn.depth,
            turn.text,
            turn.said_at,
            None,
            turn.own(me) if own else (),
            turn.others(me) if own else (),
        )

    def load(
        self, answer_id: str, receipts: dict[str, str], texts: dict[str, str]
    ) -> ReceiptSources:
        """What a store would find for a receipt: exactly what is needed and no more."""
        needed = needs(answer_id, receipts)
        turns = {turn.id: (turn.text, turn.said_at) for turn in self.everything}
        answers = {a.id: a.text for turn in self.everything for a in turn.answers}
        return ReceiptSources(
            receipts,
            {key: turns[key] for key in needed.turns},
            {key: answers[key] for key in needed.answers},
            {key: texts[key] for key in needed.hashes},
        )
