"""Threads as they are read, against a reading that is too simple to be wrong."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.store.begin import begin_turn

from polyvox.ids import new_id
from polyvox.store import conversations, threads, turns
from polyvox.store.database import Database, Tx
from polyvox.store.threads import (
    STRIDE,
    Need,
    Reach,
    count_answered_messages,
    count_answers,
    last_answered_message,
    last_words,
    path,
    quotable_answers,
    read_threads,
    went_unanswered,
)
from polyvox.store.turns import NewTurn
from polyvox.thread import Other, Own, Peer, Thread, ThreadTurn
from polyvox.values import Advisor, Answer, AnswerKind, AnswerState, Scope, Turn

ME = Scope("me")
WHO = tuple(Advisor(f"adv{n}", f"slug{n}", f"Name {n}", "") for n in range(3))
PEERS = {who.id: Peer(who.slug, who.name, who.name) for who in WHO}


@dataclass
class Tree:
    """A conversation, remembered as plain lists."""

    conversation: str
    turns: list[Turn] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)

    def before(self, turn: Turn) -> list[Turn]:
        by_id = {one.id: one for one in self.turns}
        found: list[Turn] = []
        while turn.parent_id is not None:
            turn = by_id[turn.parent_id]
            found.insert(0, turn)
        return found

    def spoken(self, turn: Turn) -> list[Answer]:
        mine = [a for a in self.answers if a.turn_id == turn.id and a.speaks]
        mine = [a for a in mine if a.kind != "synthesis"]
        return sorted(mine, key=lambda a: (a.round, a.position, a.id))

    def answered(self, turn: Turn) -> bool:
        return any(a.text.strip() for a in self.answers if a.turn_id == turn.id)

    def said(self, turn: Turn, who: Advisor, *, whole: bool) -> ThreadTurn:
        spoken = self.spoken(turn)
        return ThreadTurn(
            turn.id,
            turn.message_id,
            turn.depth,
            turn.content,
            turn.said_at,
            turn.session_id,
            tuple(Own(a.id, a.text) for a in spoken if a.advisor_id == who.id),
            self.others(turn, who) if whole else (),
        )

    def others(self, turn: Turn, who: Advisor) -> tuple[Other, ...]:
        last: dict[str, Other] = {}
        for a in self.spoken(turn):
            if a.advisor_id != who.id:
                last[a.advisor_id] = Other(
                    a.id, a.advisor_id, PEERS[a.advisor_id].slug, a.advisor_name, a.text, turn.depth
                )
        return tuple(last.values())

    def thread(self, turn: Turn, who: Advisor, reach: Reach) -> Thread:
        """All of it, read the simple way."""
        before = [one for one in self.before(turn) if not one.excluded]
        past = before
        if reach.session_only:
            past = [one for one in before if one.session_id == turn.session_id]
        count = sum(
            1 for one in before for a in self.spoken(one) if a.advisor_id == who.id and a.round == 0
        )
        current = ThreadTurn(
            turn.id, turn.message_id, turn.depth, turn.content, turn.said_at, turn.session_id
        )
        return Thread(
            advisor=who,
            current=current,
            past=tuple(self.said(one, who, whole=reach.whole_threads) for one in past),
            answers=count if reach.count_upto is None else min(count, reach.count_upto),
        )

    def last(self, turn: Turn) -> dict[str, Other]:
        """Everybody's last words, read the simple way."""
        before = [one for one in self.before(turn) if not one.excluded]
        nobody = Advisor("", "", "", "")
        return {other.advisor_id: other for one in before for other in self.others(one, nobody)}


Step = tuple[int, bool, str, list[tuple[str, str, bool]]]
"""From how far back it goes on, whether it is excluded, its session, and its answers."""

ANSWER = st.tuples(
    st.sampled_from(
        ["well"] * 5 + ["failed", "stopped", "empty stop", "replaced", "exchange", "synthesis"]
    ),
    st.sampled_from(["short", "much longer " * 3]),
    st.booleans(),
)
STEP = st.tuples(
    st.sampled_from([0] * 8 + [1, 2, 5]),
    st.sampled_from([False] * 7 + [True]),
    st.sampled_from(["s1"] * 3 + ["s2"]),
    st.lists(ANSWER, min_size=3, max_size=3),
)


def grow(tx: Tx, steps: list[Step]) -> Tree:
    tree = Tree(conversations.create(tx, 0).id)
    session = "s1"
    for number, (back, excluded, wanted, ways) in enumerate(steps):
        if back and len(tree.turns) > back:
            tx.run(
                "UPDATE conversations SET head_id = ? WHERE id = ?",
                (tree.turns[-1 - back].id, tree.conversation),
            )
            session = tree.turns[-1 - back].session_id or session
        session = max(session, wanted)  # sessions only ever follow each other
        new = NewTurn(f"message {number}", WHO, number)
        begun = begin_turn(tx, tree.conversation, new, session, "r", 99, number)
        turn = replace(begun.turn, excluded=excluded, state="completed")
        tx.run(
            "UPDATE turns SET excluded = ?, state = 'completed' WHERE id = ?",
            (int(excluded), turn.id),
        )
        tree.turns.append(turn)
        for answer, (way, text, hidden) in zip(begun.answers, ways, strict=True):
            _answered(tx, tree, turn, answer, way, f"{text}{number}", hidden and number % 3 == 0)
    return tree


def _answered(
    tx: Tx, tree: Tree, turn: Turn, answer: Answer, way: str, text: str, hidden: bool
) -> None:
    kinds: dict[str, AnswerKind] = {"synthesis": "synthesis"}
    state: AnswerState = "completed"
    if way in ("failed", "stopped"):
        state = "failed" if way == "failed" else "stopped"
    if way == "empty stop":
        state, text = "stopped", " \n\t\u3000"
    done = replace(
        answer,
        state=state,
        text=text,
        excluded=hidden,
        kind=kinds.get(way, answer.kind),
        current=way != "replaced",
    )
    tx.run(
        "UPDATE answers SET state = ?, text = ?, excluded = ?, kind = ?, current = ? WHERE id = ?",
        (done.state, done.text, int(hidden), done.kind, int(done.current), done.id),
    )
    tree.answers.append(done)
    if way in ("replaced", "exchange"):
        more = replace(
            done,
            id=new_id(),
            text=f"{text} again",
            current=True,
            kind="exchange" if way == "exchange" else done.kind,
            round=1 if way == "exchange" else 0,
            version=2,
        )
        turns.insert_answer(tx, turn, more, None)
        tree.answers.append(more)


REACHES = [
    Reach(count_upto=3),
    Reach(count_upto=None),
    Reach(whole_threads=True),
    Reach(session_only=True, count_upto=None),
]


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(steps=st.lists(STEP, min_size=1, max_size=14))
async def test_threads_equal_a_simple_reading(database: Database, steps: list[Step]) -> None:
    tree = await database.write(lambda tx: grow(tx, steps), ME)

    def look(tx: Tx) -> None:
        needs = [Need(who, 10**6) for who in WHO]
        for turn in tree.turns[-4:]:
            for reach in REACHES:
                for who, got in zip(WHO, read_threads(tx, turn, reach, needs, PEERS), strict=True):
                    assert got == tree.thread(turn, who, reach)
            last = last_words(tx, turn, 0, PEERS)
            assert {other.advisor_id: other for other in last} == tree.last(turn)
            assert last_words(tx, turn, 3, PEERS) == tuple(o for o in last if o.depth >= 3)
            for who in WHO:
                want = tree.thread(turn, who, Reach(count_upto=None)).answers
                assert count_answers(tx, turn, who.id) == want
                assert count_answers(tx, turn, who.id, 2) == min(2, want)
            mine = [one for one in tree.before(turn) if one.session_id == turn.session_id]
            mine = [one for one in mine if tree.answered(one)]
            assert count_answered_messages(tx, turn) == len(mine), "excluded or not"
            assert last_answered_message(tx, turn) == (mine[-1].content if mine else None)
            assert went_unanswered(tx, turn.id) != tree.answered(turn)
            segments = path(tx, turn.branch_id, turn.depth)
            on_path = turns.on_path(tx, tree.conversation, segments)
            assert [one.id for one in on_path] == [
                *(one.id for one in tree.before(turn)),
                turn.id,
            ]
            assert [word[0] for word in quotable_answers(tx, turn.id)] == [
                a.id for a in tree.spoken(turn)
            ]

    await database.read(look, ME)


async def test_the_messages_of_a_session_are_counted_further_than_a_stride(
    database: Database,
) -> None:
    steps = plainly(5) + [(0, n % 3 == 0, "s2", [("well", "text", False)] * 3) for n in range(120)]
    tree = await database.write(lambda tx: grow(tx, steps), ME)
    counts = [0, *range(5), *range(120)][1:]
    look = [4, 5, 4 + STRIDE, 5 + STRIDE, 6 + STRIDE, 124]
    found = await database.read(
        lambda tx: [count_answered_messages(tx, tree.turns[n]) for n in look], ME
    )
    assert found == [counts[n] for n in look]


def plainly(count: int) -> list[Step]:
    return [(0, False, "s1", [("well", "text", False)] * 3)] * count


async def test_a_long_thread_is_read_only_as_far_as_can_fit(database: Database) -> None:
    tree = await database.write(lambda tx: grow(tx, plainly(STRIDE * 4)), ME)
    turn = tree.turns[-1]

    def read(tx: Tx, need: Need, reach: Reach = REACHES[0]) -> Thread:
        return read_threads(tx, turn, reach, [need], PEERS)[0]

    def look(tx: Tx) -> None:
        whole = read(tx, Need(WHO[0], 10**6))
        assert (len(whole.past), whole.unread) == (STRIDE * 4 - 1, 0)
        little = read(tx, Need(WHO[0], 100))
        assert (len(little.past), little.unread) == (STRIDE, STRIDE * 3 - 1)
        assert little.past == whole.past[-STRIDE:]
        one, two = read_threads(
            tx, turn, REACHES[0], [Need(WHO[0], 100), Need(WHO[1], 10**6)], PEERS
        )
        assert len(one.past) == len(two.past) == STRIDE * 4 - 1, "one walk for all"

    await database.read(look, ME)


async def test_a_bookends_window_gets_the_first_turns_and_exact_counts(database: Database) -> None:
    steps = plainly(STRIDE * 3)
    steps[1] = (0, True, "s1", [("well", "text", False)] * 3)  # excluded
    steps[4] = (0, False, "s1", [("failed", "text", False)] * 3)
    steps[6] = (0, False, "s1", [("exchange", "text", False)] * 3)
    tree = await database.write(lambda tx: grow(tx, steps), ME)
    turn = tree.turns[-1]
    reach = Reach(first_turns=3)

    def look(tx: Tx) -> Thread:
        return read_threads(tx, turn, reach, [Need(WHO[0], 100)], PEERS)[0]

    got = await database.read(look, ME)
    whole = tree.thread(turn, WHO[0], reach)
    unread = whole.past[: -len(got.past)]
    assert got.past == whole.past[-len(got.past) :]
    assert got.unread_messages == len(unread) + sum(len(said.own) for said in unread)
    assert got.head == tuple(said for said in whole.past if said.depth <= 3)

    branched = await database.write(lambda tx: _branched(tx, tree), ME)
    got = await database.read(
        lambda tx: read_threads(tx, branched, reach, [Need(WHO[0], 100)], PEERS)[0], ME
    )
    whole = tree.thread(branched, WHO[0], reach)
    unread = whole.past[: -len(got.past)]
    assert got.past == whole.past[-len(got.past) :]
    assert got.unread_messages == len(unread) + sum(len(said.own) for said in unread)
    assert got.head == tuple(said for said in whole.past if said.depth <= 3)


def _branched(tx: Tx, tree: Tree) -> Turn:
    """A turn that says something else at depth 100."""
    old = tree.turns[99]
    new = NewTurn("instead", (WHO[0],), 0, edits=old.id)
    begun = begin_turn(tx, tree.conversation, new, "s1", "r", 99, 0)
    assert (begun.turn.depth, begun.turn.parent_id) == (old.depth, old.parent_id)
    tree.turns.append(begun.turn)
    return begun.turn


async def test_the_last_words_are_of_the_last_turn_that_is_complete(database: Database) -> None:
    tree = await database.write(lambda tx: grow(tx, plainly(4)), ME)
    one, two, three, now = tree.turns

    def last(tx: Tx) -> list[str]:
        last = {other.answer_id for other in last_words(tx, now, 0, PEERS)}
        return sorted({answer.turn_id for answer in tree.answers if answer.id in last})

    async def reopen(turn: Turn, kind: AnswerKind) -> None:
        def add(tx: Tx) -> None:
            turns.add(tx, turn, [(WHO[2], None)], kind, 0, "r", 0)

        await database.write(add, ME)

    assert await database.read(last, ME) == [three.id]
    await reopen(three, "synthesis")
    assert await database.read(last, ME) == [three.id], "a synthesis takes nothing away"
    await reopen(three, "advisor")
    assert await database.read(last, ME) == [two.id], "an answer is being written again"
    await database.write(lambda tx: turns.set_excluded(tx, "turns", two.id, True), ME)
    assert await database.read(last, ME) == [one.id]


async def test_what_is_further_back_than_a_stride_is_found(database: Database) -> None:
    steps = plainly(STRIDE * 2 + 4)
    steps[2:-1] = [(0, True, "s1", [("well", "text", False)] * 3)] * (STRIDE * 2 + 1)  # excluded
    tree = await database.write(lambda tx: grow(tx, steps), ME)
    now, who = tree.turns[-1], WHO[0]

    def look(tx: Tx) -> None:
        (thread,) = read_threads(tx, now, REACHES[0], [Need(who, 10**6)], PEERS)
        assert thread == tree.thread(now, who, REACHES[0])
        assert [len(thread.past), thread.answers] == [2, 2]
        assert len(last_words(tx, now, 0, PEERS)) == 3

    await database.read(look, ME)


@pytest.mark.parametrize("blank", ["", " ", "\n\t ", "\u3000\u00a0"])
async def test_blank_words_are_no_words_here_and_there(database: Database, blank: str) -> None:
    tree = await database.write(lambda tx: grow(tx, plainly(1)), ME)
    answer = replace(tree.answers[0], state="stopped", text=blank)

    def both(tx: Tx) -> int:
        tx.run("UPDATE answers SET state = 'stopped', text = ? WHERE id = ?", (blank, answer.id))
        return len(quotable_answers(tx, tree.turns[0].id))

    assert await database.write(both, ME) == 2
    assert not answer.speaks
    assert threads.BLANK.strip() == ""
