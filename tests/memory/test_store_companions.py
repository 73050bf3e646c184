"""A companion's states, its sessions' packets and its traces, on both databases."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.store.begin import begin_turn

from polyvox.memory.tables import companions
from polyvox.memory.tables.companions import Kept, Marks
from polyvox.store import conversations, turns
from polyvox.store.database import Database, Tx
from polyvox.store.migrate import shipped
from polyvox.store.open import open_database
from polyvox.store.turns import NewTurn
from polyvox.values import Scope, Turn

A, B = Scope("anna"), Scope("bert")
Say = Callable[..., Turn]


def talk(tx: Tx) -> Say:
    """A conversation, and how to say something in it."""
    made = conversations.create(tx, 0).id

    def say(edits: Turn | None = None, session: str = "s") -> Turn:
        new = NewTurn("Well?", (), 7, edits=None if edits is None else edits.id)
        return begin_turn(tx, made, new, session, "runner", 99, 9).turn

    return say


def before(tx: Tx, turn: Turn, persona: str = "harbor") -> str | None:
    return companions.state(tx, persona, turn)


def live(tx: Tx, turn: Turn, after: str) -> str | None:
    """Go through a turn; answers the state that it started from."""
    was = before(tx, turn)
    companions.put_state(tx, "harbor", turn, was or "none", after, 1)
    return was


async def test_a_state_is_of_one_person_with_one_persona(database: Database) -> None:
    def work(tx: Tx) -> None:
        say = talk(tx)
        first = say()
        assert live(tx, first, "1") is None
        second, theirs = say(), talk(tx.of(B))()
        assert before(tx, second) == "1"
        assert before(tx, second, "flint") is None
        assert before(tx.of(B), theirs) is None

    await database.write(work, A)


async def test_a_turn_written_again_starts_where_it_started(database: Database) -> None:
    def work(tx: Tx) -> None:
        say = talk(tx)
        made = [say() for _ in range(3)]
        assert [live(tx, one, str(n)) for n, one in enumerate(made)] == [None, "0", "1"]
        assert [before(tx, one) for one in made] == ["none", "0", "1"]
        assert live(tx, made[1], "another") == "0"
        assert before(tx, made[1]) == "0"
        assert before(tx, say()) == "2", "the newest is what it was"
        assert live(tx, made[2], "again") == "1"
        assert before(tx, say()) == "again", "the newest itself was written again"

    await database.write(work, A)


async def test_a_turn_that_never_got_that_far_starts_after_the_one_before(
    database: Database,
) -> None:
    def work(tx: Tx) -> None:
        say = talk(tx)
        first, failed, last = say(), say(), say()
        live(tx, first, "1")
        assert live(tx, last, "3") == "1"
        assert live(tx, failed, "2") == "1"
        assert before(tx, say()) == "3"

    await database.write(work, A)


async def test_an_edit_starts_before_what_it_replaces_and_its_branch_goes_on(
    database: Database,
) -> None:
    def work(tx: Tx) -> None:
        say = talk(tx)
        old = [say() for _ in range(3)]
        for number, one in enumerate(old):
            live(tx, one, f"old {number}")
        edit = say(edits=old[1])
        assert live(tx, edit, "new 1") == "old 0"
        after = say()
        assert live(tx, after, "new 2") == "new 1"
        assert before(tx, old[2]) == "old 1"
        assert before(tx, talk(tx)()) == "new 2", "the newest of all"
        again = say(edits=edit)
        assert before(tx, again) == "old 0"
        assert before(tx, say(edits=old[0])) == "none"
        turns.move_head(tx, old[0].conversation_id, old[2].id)
        assert before(tx, say()) == "old 2", "back on the first branch"

    await database.write(work, A)


async def test_an_edit_does_not_undo_what_was_said_elsewhere_since(database: Database) -> None:
    def work(tx: Tx) -> None:
        here, there = talk(tx), talk(tx)
        first = here()
        live(tx, first, "here")
        assert live(tx, there(), "there") == "here"
        edit = here(edits=first)
        assert live(tx, edit, "edited") == "none"
        assert before(tx, here()) == "there"
        assert before(tx, there()) == "there"

    await database.write(work, A)


async def test_the_newest_state_outlives_its_conversation(database: Database) -> None:
    def work(tx: Tx) -> None:
        gone = talk(tx)()
        live(tx, gone, "1")
        companions.put_marks(tx, gone, ["corrected"])
        conversations.delete(tx, gone.conversation_id)
        for table in ("companion_turns", "companion_marks"):
            assert tx.all(f"SELECT * FROM {table}") == []
        assert before(tx, talk(tx)()) == "1"

    await database.write(work, A)


async def test_so_many_states_are_kept(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(companions, "KEPT", 3)

    def work(tx: Tx) -> None:
        say = talk(tx)
        made = [say() for _ in range(6)]
        for number, one in enumerate(made):
            live(tx, one, str(number))
        companions.put_state(tx, "flint", made[0], "none", "0", 1)
        count = "SELECT COUNT(*) FROM companion_turns WHERE persona_id = ?"
        assert tx.one(count, ("harbor",)) == (3,)
        assert tx.one(count, ("flint",)) == (1,)
        assert live(tx, made[0], "x") == "2", "the first that is known"
        assert before(tx, say()) == "5"

    await database.write(work, A)


async def test_marks_count_on_their_branch_of_their_session(database: Database) -> None:
    def work(tx: Tx) -> None:
        def seen(turn: Turn) -> Marks:
            return companions.marks(tx.of(A), turn)

        say = talk(tx)
        first, wrong = say(), say()
        companions.put_marks(tx.of(A), wrong, ["corrected", "reinjected"])
        companions.put_marks(tx.of(A), wrong, ["corrected"])
        assert seen(first) == Marks()
        assert seen(wrong) == Marks(corrected_here=True)
        assert seen(say()) == Marks(reinjected=True, corrected=True)
        assert seen(say(session="next")) == Marks()
        edit = say(edits=wrong)
        assert seen(edit) == Marks()
        companions.put_marks(tx.of(A), say(), ["reinjected"])
        assert seen(say()) == Marks(reinjected=True)
        turns.move_head(tx.of(A), wrong.conversation_id, wrong.id)
        assert seen(say()) == Marks(reinjected=True, corrected=True), "back on that branch"
        assert companions.marks(tx.of(B), wrong) == Marks()
        companions.unmark(tx.of(B), wrong, "corrected")
        assert seen(wrong) == Marks(corrected_here=True)
        companions.unmark(tx.of(A), wrong, "corrected")
        assert seen(wrong) == Marks()

    await database.write(work, A)


async def test_dropped_packets_are_fetched_anew_and_the_rest_stays(database: Database) -> None:
    def write(tx: Tx) -> None:
        for scope in (A, B):
            companions.put_session(tx.of(scope), "s", "c", Kept("words"), 1)
        companions.veto(tx.of(A), "t", "c", ["handover"], 1)
        companions.put_session(tx.of(A), "t", "c", Kept("words", ("handover",)), 2)
        companions.drop_packets(tx.of(A))

    await database.write(write, A)
    assert await database.read(lambda tx: companions.session(tx, "s"), A) == Kept("")
    assert await database.read(lambda tx: companions.session(tx, "t"), A) == Kept("", ("handover",))
    assert await database.read(lambda tx: companions.session(tx, "s"), B) == Kept("words")
    assert await database.read(lambda tx: companions.session(tx, "none"), A) == Kept()


@pytest.mark.parametrize("known", [True, False])
async def test_what_was_read_before_packets_were_dropped_is_not_kept(
    database: Database, known: bool
) -> None:
    """Whether the session was known when it was read, or has just begun."""

    def read_now(tx: Tx) -> Kept:
        return companions.session(tx, "s") or Kept()

    def put(tx: Tx, read: Kept, packet: str) -> str:
        kept = Kept(packet, read.vetoed, read.drops)
        companions.put_session(tx, "s", "c", kept, 1)
        return read_now(tx).packet

    def work(tx: Tx) -> None:
        companions.drop_packets(tx.of(A))
        if known:
            put(tx, read_now(tx), "old")
        early = read_now(tx)
        companions.drop_packets(tx.of(A))
        assert put(tx, early, "old") == ""
        late = read_now(tx)
        companions.drop_packets(tx.of(B))
        assert put(tx, late, "new") == "new"
        assert put(tx, early, "old") == "new"

    await database.write(work, A)


async def test_the_first_packet_ever_is_not_kept_either_when_dropped(database: Database) -> None:
    def work(tx: Tx) -> None:
        assert companions.session(tx, "s") is None
        companions.drop_packets(tx)
        companions.put_session(tx, "s", "c", Kept("old"), 1)
        assert companions.session(tx, "s") == Kept("")

    await database.write(work, A)


async def test_each_answer_of_a_turn_has_a_trace(database: Database) -> None:
    def write(tx: Tx) -> None:
        companions.put_traces(tx.of(A), "t", "c", [("x", "old")], 1)
        companions.put_traces(tx.of(A), "t", "c", [("x", "new"), ("y", "other")], 2)
        companions.put_traces(tx.of(B), "t", "c", [("z", "theirs")], 2)

    await database.write(write, A)
    assert await database.read(lambda tx: companions.traces(tx, "t"), A) == {
        "x": "new",
        "y": "other",
    }


async def test_what_was_kept_in_the_older_way_is_taken_over(empty_url: str, tmp_path: Path) -> None:
    older = await open_database(empty_url, tmp_path, migrations=shipped()[:14])

    def prepare(tx: Tx) -> list[Turn]:
        tx.run("ALTER TABLE conversations ADD COLUMN phases INTEGER")  # as the store writes it now
        say = talk(tx)
        made = [say(), say(), say()]
        tx.run("ALTER TABLE conversations DROP COLUMN phases")
        tx.run(
            "INSERT INTO companion_states (user_id, persona_id, turn_id, was, state, updated_at)"
            " VALUES (?, 'harbor', ?, 'was', 'is', 1)",
            (A.user, made[2].id),
        )
        tx.run(
            "INSERT INTO companion_sessions (user_id, id, conversation_id, packet, reinjected_in,"
            " corrected_in, updated_at) VALUES (?, 's', ?, 'words', ?, ?, 1)",
            (A.user, made[0].conversation_id, made[1].id, made[2].id),
        )
        return made

    made = await older.write(prepare, A)
    await older.close()
    newer = await open_database(empty_url, tmp_path)

    def look(tx: Tx) -> None:
        assert before(tx, made[2]) == "was"
        assert before(tx, made[0]) == "was", "what held before it is not known; this is nearest"
        assert before(tx, talk(tx)()) == "is"
        assert companions.session(tx, "s") == Kept("words")
        seen = [companions.marks(tx, one) for one in made]
        assert seen == [Marks(), Marks(), Marks(reinjected=True, corrected_here=True)]

    await newer.write(look, A)
    await newer.close()
