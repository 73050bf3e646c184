"""Search on both databases: one contract."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.store.rows import insert_answer, insert_turn

from polyvox.store import search
from polyvox.store.conversations import Conversations
from polyvox.store.database import Database, Tx
from polyvox.store.search import Hit, phrases_of
from polyvox.values import Scope

ME, YOU = Scope("me"), Scope("you")


async def talk(database: Database, *texts: str, scope: Scope = ME, title: str = "") -> str:
    conversation = await Conversations(database).create(scope, title=title)

    def work(tx: Tx) -> None:
        for number, text in enumerate(texts):
            insert_turn(tx, conversation.id, f"{scope.user}-{number}", text, at=77)

    await database.write(work, scope)
    return conversation.id


def marked(hit: search.Hit) -> str:
    text, done = "", 0
    for start, end in hit.marks:
        text += f"{hit.snippet[done:start]}[{hit.snippet[start:end]}]"
        done = end
    return text + hit.snippet[done:]


async def found(database: Database, query: str, scope: Scope = ME) -> list[str]:
    hits = await search.search(database, scope, query)
    return [marked(hit) for hit in hits]


async def test_words_in_any_form_and_any_case(database: Database) -> None:
    await talk(database, "She was running late, às vezes.", "Nothing of the kind.")

    assert await found(database, "RUN") == ["She was [running] late, às vezes."]
    assert await found(database, "as runs") == ["She was [running] late, [às] vezes."]
    assert await found(database, "the") == ["Nothing of [the] kind."]
    assert await found(database, "run kind") == []
    assert await found(database, "ru") == []


async def test_phrases(database: Database) -> None:
    await talk(database, "the quick brown fox", "brown and quick")

    assert await found(database, '"quick brown"') == ["the [quick] [brown] fox"]
    assert len(await found(database, "quick brown")) == 2
    assert await found(database, '"brown quick"') == []
    assert await found(database, '"quick fo') == []


async def test_scripts_without_spaces(database: Database) -> None:
    await talk(database, "我明天去东京看朋友。", "한국어로 말해요")

    assert await found(database, "东京") == ["我明天去[东京]看朋友。"]
    assert await found(database, "京东") == []
    assert await found(database, "한국어로") == ["[한국어로] 말해요"]


async def test_what_a_hit_tells(database: Database) -> None:
    conversation = await talk(database, "about marmots", title="Alpine days")
    await database.write(
        lambda tx: insert_answer(tx, conversation, "t1", "x1", "Marmots whistle.", at=88), ME
    )

    hits = {hit.kind: hit for hit in await search.search(database, ME, "marmot")}
    title = await search.search(database, ME, "alpine")

    assert hits["message"] == Hit(
        conversation, "Alpine days", "message", "me-0", "me-0", None, None,
        "about marmots", ((6, 13),), 77,
    )  # fmt: skip
    assert hits["answer"] == Hit(
        conversation, "Alpine days", "answer", "x1", "t1", "a1", "Ann",
        "Marmots whistle.", ((0, 7),), 88,
    )  # fmt: skip
    assert [(one.kind, one.id, one.turn_id) for one in title] == [("title", conversation, None)]


async def test_the_best_comes_first_and_no_more_than_asked_for(database: Database) -> None:
    await talk(
        database,
        "bees " + "and many other things that fill the page " * 20,
        "bees, bees and again bees",
        "wasps",
    )

    hits = await search.search(database, ME, "bees")
    assert [hit.id for hit in hits] == ["me-1", "me-0"]
    assert [hit.id for hit in await search.search(database, ME, "bees", 1)] == ["me-1"]
    assert await search.search(database, ME, "bees", 0) == []


async def test_a_snippet_shows_the_place(database: Database) -> None:
    filler = "lorem ipsum dolor sit amet " * 40
    await talk(database, f"{filler}the hidden\nbadger sleeps {filler}")

    (hit,) = await search.search(database, ME, "badgers hidden")

    assert len(hit.snippet) <= search.SNIPPET + 2
    assert hit.snippet.startswith("…")
    assert hit.snippet.endswith("…")
    assert "\n" not in hit.snippet
    assert [hit.snippet[start:end] for start, end in hit.marks] == ["hidden", "badger"]


async def test_scopes_do_not_see_each_other(database: Database) -> None:
    await talk(database, "a secret plan", scope=ME)
    await talk(database, "another plan", scope=YOU)

    assert await found(database, "secret", YOU) == []
    assert await found(database, "plan", YOU) == ["another [plan]"]
    assert await found(database, "plan", Scope("me2")) == []
    await database.write(lambda tx: search.remove(tx, "message", "me-0"), YOU)
    assert await found(database, "plan") == ["a secret [plan]"]


async def test_said_again_in_other_words(database: Database) -> None:
    conversation = await talk(database, "first words")

    def again(tx: Tx) -> None:
        tx.run("UPDATE turns SET content = 'second thoughts'")
        search.index(tx, conversation, "message", "me-0", "second thoughts")

    await database.write(again, ME)

    assert await found(database, "words") == []
    assert await found(database, "thoughts") == ["second [thoughts]"]


async def test_removing(database: Database) -> None:
    conversation = await talk(database, "one thing", "one more")
    other = await talk(database, "one elsewhere", scope=YOU)

    await database.write(lambda tx: search.remove(tx, "message", "me-0"), ME)
    assert await found(database, "one") == ["[one] more"]
    await database.write(lambda tx: search.remove_conversation(tx, conversation), ME)
    assert await found(database, "one") == []
    await database.write(lambda tx: search.remove_conversation(tx, other), ME)
    assert await found(database, "one", YOU) == ["[one] elsewhere"]


async def test_a_very_long_text_is_found_by_its_beginning(database: Database) -> None:
    words = " ".join(f"w{n:x}" for n in range(400_000))
    await talk(database, words, "x" * 3_000_000)

    (hit,) = await search.search(database, ME, "w1f")
    assert marked(hit).startswith("…") or "[w1f]" in marked(hit)
    assert await found(database, "y" * 5000) == []


@pytest.mark.parametrize(
    "query",
    ['"', '""', "AND", "NOT a", "a OR", "NEAR(a b)", "words:a", "^a", "a*", "(", "a <-> b", "!a",
     "a & | b", "'", "\\", "%", "?", "%s", "-", "", "   ", "\n", "…", "x:*", "{a}", "a\u0000b"],
)  # fmt: skip
async def test_nothing_typed_is_a_syntax_error(database: Database, query: str) -> None:
    assert await search.search(database, ME, query) == []


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(query=st.text(max_size=60))
async def test_anything_typed_is_a_query(database: Database, query: str) -> None:
    assert isinstance(await search.search(database, ME, query), list)


def test_a_query_is_bounded() -> None:
    assert len(phrases_of("word " * 1000)) == search.MOST_PHRASES
    assert phrases_of('don\'t "a b" c"d e') == [["don", "t"], ["a", "b"], ["c"], ["d"], ["e"]]


async def test_operators_are_words(database: Database) -> None:
    await talk(database, "this and that, not those", "cats or dogs")

    assert await found(database, "AND NOT") == ["this [and] that, [not] those"]
    assert await found(database, "or") == ["cats [or] dogs"]
