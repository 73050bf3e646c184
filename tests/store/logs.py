"""Random logs of a conversation, kept twice: in the store, and as a plain list."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import strategies as st
from tests.store.begin import begin_turn

from polyvox.events import (
    Delta,
    Event,
    Numbered,
    TextDelta,
    ThinkingDelta,
    TurnStarted,
)
from polyvox.ids import new_id
from polyvox.store import conversations, endings, events, turns
from polyvox.store.database import Tx
from polyvox.store.endings import Ending
from polyvox.store.turns import NewTurn
from polyvox.values import Advisor, Scope

ME = Scope("me")

Doing = tuple[str, int, str]
"""What, to which answer, with which text."""

TEXTS = st.text("aé✓𝄞 \n", min_size=1, max_size=6)
DOINGS = st.lists(
    st.one_of(
        st.tuples(st.just("say"), st.integers(0, 3), TEXTS),
        st.tuples(st.just("say"), st.integers(0, 3), TEXTS),
        st.tuples(st.just("say"), st.integers(0, 3), TEXTS),
        st.tuples(st.just("think"), st.integers(0, 3), TEXTS),
        st.tuples(st.just("note"), st.integers(0, 3), st.just("")),
        st.tuples(st.just("end"), st.integers(0, 3), st.just("")),
    ),
    max_size=160,
)


@dataclass
class Log:
    """One conversation's log as a plain list."""

    conversation: str
    plain: list[Numbered] = field(default_factory=list)

    @property
    def last(self) -> int:
        return self.plain[-1].number

    def after(self, number: int) -> tuple[list[Numbered], dict[str, tuple[int, str]]]:
        """What a listener of `number` has not seen: the events that are no deltas, and for each
        answer and kind of delta where its rest begins and what it is."""
        others = [i for i in self.plain if i.number > number and not is_delta(i.event)]
        rests: dict[str, tuple[int, str]] = {}
        for item in self.plain:
            delta = item.event
            if isinstance(delta, TextDelta | ThinkingDelta) and item.number > number:
                at, text = rests.get(key_of(delta), (delta.at, ""))
                rests[key_of(delta)] = (at, text + delta.text)
        return others, rests


def is_delta(event: Event) -> bool:
    return isinstance(event, TextDelta | ThinkingDelta)


def key_of(delta: Delta) -> str:
    return f"{delta.kind} {delta.answer_id}"


def write(tx: Tx, doings: list[Doing]) -> Log:
    """Do these things, each as the journal would, and keep the plain list beside it."""
    talk = conversations.create(tx, 0)
    log = Log(talk.id)

    def append(happened: list[Event]) -> None:
        log.plain += events.append(tx, talk.id, happened, 0)

    asked = tuple(Advisor(new_id(), f"a{n}", f"A{n}", "") for n in range(4))
    begun = begin_turn(tx, talk.id, NewTurn("Well?", asked, 0), new_id(), "r", 8, 0)
    append(begun.opening)
    lengths: dict[str, int] = {}
    ended: set[int] = set()
    for what, number, text in doings:
        answer = begun.answers[number]
        if what == "note":
            append([TurnStarted(f"elsewhere{number}", "m")])
        elif number in ended:
            continue
        elif what == "end":
            append(endings.end(tx, Ending(answer.id, "interrupted"), 0)[1])
            ended.add(number)
        else:
            kind = TextDelta if what == "say" else ThinkingDelta
            key = f"{kind.kind} {answer.id}"
            append([kind(answer.id, text, lengths.get(key, 0))])
            turns.set_streaming(tx, answer.id, log.last, 0)
            lengths[key] = lengths.get(key, 0) + len(text)
    return log


def take(texts: dict[str, str], delta: Delta) -> None:
    """As a page does it: what is known already is passed over; a gap is an error."""
    have = texts.get(key_of(delta), "")
    assert delta.at <= len(have), f"a gap before {delta}"
    known = have[delta.at :]
    assert known.startswith(delta.text[: len(known)]), f"{delta} contradicts {known!r}"
    texts[key_of(delta)] = have + delta.text[len(known) :]
