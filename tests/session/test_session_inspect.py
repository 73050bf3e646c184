"""Looking at a conversation: its branch page by page, sessions, councils, and recovery."""

from __future__ import annotations

import pytest
from tests.session.past import live
from tests.session.room import ME, Room

from polyvox.context.recipe import BUILT_IN
from polyvox.errors import ConfigError, Invalid, NotFound
from polyvox.recipes import check_recipes, endless_recipes, find_recipe
from polyvox.session.council import council_of, plain_assistant, with_model
from polyvox.settings import Settings
from polyvox.store import conversations, recipes
from polyvox.store.database import Database, Tx
from polyvox.store.sessions import is_over, placed
from polyvox.values import ASSISTANT_ID, Advisor, Conversation, Scope

MINUTE = 60_000_000


async def test_a_view_is_read_page_by_page_from_the_newest_end(both: Room) -> None:
    room = both
    ann = await room.advisor("Ann")
    talk = await room.conversation(ann)
    empty = await room.polyvox.view(ME, talk)
    assert (empty.turns, empty.more) == ((), False)
    await live(room, talk, 12)
    newest = await room.polyvox.view(ME, talk, limit=5)
    assert [turn.depth for turn, _ in newest.turns] == [8, 9, 10, 11, 12]
    assert newest.more
    before = await room.polyvox.view(ME, talk, before=8, limit=5)
    assert [turn.depth for turn, _ in before.turns] == [3, 4, 5, 6, 7]
    first = await room.polyvox.view(ME, talk, before=3, limit=5)
    assert [turn.depth for turn, _ in first.turns] == [1, 2]
    assert not first.more
    third = before.turns[0][0]
    await room.polyvox.turns.edit_message(ME, third.message_id, "Instead")
    await room.settled()
    branch = await room.polyvox.view(ME, talk)
    assert [turn.content for turn, _ in branch.turns] == ["message 1", "message 2", "Instead"]
    with pytest.raises(NotFound):
        await room.polyvox.view(Scope("somebody else"), talk)


# -- sessions ------------------------------------------------------------------------------------


def test_a_session_is_over_by_idleness_alone() -> None:
    assert not is_over(0, 5 * MINUTE, 5)
    assert is_over(0, 5 * MINUTE + 1, 5)


async def test_sessions_follow_each_other(database: Database) -> None:
    def work(tx: Tx) -> None:
        talk = conversations.create(tx, 0).id

        def at(minutes: float, idle: float | None = 5) -> str:
            return placed(tx, talk, round(minutes * MINUTE), idle).session_id

        first = at(0)
        assert at(4) == first
        assert at(8) == first, "counted from the last message"
        second = at(14)
        assert second != first
        assert at(1000, None) == second, "never cut by idleness"
        rows = tx.all("SELECT id, ended_at, last_user_at FROM sessions ORDER BY started_at")
        assert rows == [(first, 8 * MINUTE, 8 * MINUTE), (second, None, 1000 * MINUTE)]
        assert placed(tx, "elsewhere", 0, 5).session_id not in (first, second)

    await database.write(work, ME)


# -- whom a message goes to ----------------------------------------------------------------------

ANN, BOB = Advisor("1", "ann", "Ann", ""), Advisor("2", "bob", "Bob", "", active=False)
TALK = Conversation("c", "", "council", None, None, None, 0, 0, 0)


@pytest.mark.parametrize(
    ("advisors", "asked", "expected"),
    [
        (None, None, ["1"]),
        (("2", "1"), None, ["2", "1"]),
        (("2", "gone"), None, ["2"]),
        (("1",), ("2",), ["2"]),
        (("gone",), None, [ASSISTANT_ID]),
        (None, (), [ASSISTANT_ID]),
        ((ASSISTANT_ID, "1"), None, [ASSISTANT_ID, "1"]),
    ],
)
def test_a_council_is_found(
    advisors: tuple[str, ...] | None, asked: tuple[str, ...] | None, expected: list[str]
) -> None:
    from dataclasses import replace

    talk = replace(TALK, advisors=advisors)
    found = council_of(talk, [ANN, BOB], asked, BUILT_IN["council"])
    assert [one.id for one in found] == expected


def test_everyone_with_one_model_for_once() -> None:
    assert [one.model for one in with_model([ANN, plain_assistant()], "lab:x")] == ["lab:x"] * 2
    assert with_model([ANN], None) == (ANN,)


async def test_a_recipe_is_built_in_then_configured_then_the_users(database: Database) -> None:
    settings = Settings(recipes={"council": {"stamps": "none", "count_turns": True}})

    def work(tx: Tx) -> None:
        assert find_recipe(tx.of(ME), Settings(), "council").stamps == "all"
        assert find_recipe(tx.of(ME), settings, "council").stamps == "none"
        recipes.put(tx.of(ME), "council", {"stamps": "history"}, 0)
        found = find_recipe(tx.of(ME), settings, "council")
        assert (found.stamps, found.count_turns) == ("history", True)
        assert find_recipe(tx.of(Scope("you")), settings, "council").stamps == "none"
        with pytest.raises(Invalid, match="no recipe 'soup'") as caught:
            find_recipe(tx.of(ME), settings, "soup")
        assert "agent" in caught.value.hint
        recipes.put(tx.of(ME), "helper", {"base": "agent"}, 0)
        ours = Settings(recipes={"clerk": {"base": "agent"}, "quick": {"phases": []}})
        assert endless_recipes(tx, ours) == {"agent", "helper", "clerk"}

    await database.write(work, ME)


@pytest.mark.parametrize(
    ("recipes", "words", "hint"),
    [
        ({"counsil": {}}, "no recipe 'counsil'", "[recipes.council]"),
        ({"council": {"stamp": "none"}}, "no part 'stamp'", "'stamps'"),
        ({"agent": {"stamps": "maybe"}}, "[recipes.agent]: stamps", ""),
        ({"agent": {"window": {"max_messages": 0}}}, "at least one message", ""),
    ],
)
def test_a_configured_recipe_that_cannot_be_is_refused_at_the_start(
    recipes: dict[str, dict[str, object]], words: str, hint: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        check_recipes(Settings(recipes=recipes))
    assert words in caught.value.message
    assert hint in caught.value.hint
    check_recipes(Settings(recipes={"council": {"stamps": "none"}}))
