"""Assertions, contexts and earlier runs as rows, on both databases."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest
from tests.evaluation.suites import stored_context

from polyvox.errors import Conflict, Invalid, NotFound
from polyvox.evaluation.tables import assertions, contexts, past_runs
from polyvox.evaluation.tables.assertions import (
    Assertion,
    AssertionFilter,
    AssertionSource,
    AssertionVersion,
)
from polyvox.evaluation.tables.past_runs import PastRun
from polyvox.ids import content_hash
from polyvox.memory.tables.redaction import Gone, redact
from polyvox.store.database import Database, Tx
from polyvox.values import REDACTED, Scope

ME, YOU = Scope("me"), Scope("you")
ASKED = "Should I sell the garden in Zanzibar?"
SAID = "Keep it: a garden in Zanzibar is worth more than you think."
CONTEXT = msgspec.json.encode(
    {
        "asked": ASKED,
        "messages": [
            {"kind": "user", "text": "Good morning.", "refs": ["ut0"]},
            {"kind": "reference", "text": "[Bob: Zanzibar again]", "refs": ["ab1", "ab2"]},
            {"kind": "current", "text": f"[2025-10-30T12:00] {ASKED}", "refs": ["ut1"]},
        ],
        "memory": [{"kind": "facts", "text": "Owns a garden in Zanzibar."}],
        "blocks": [{"kind": "identity", "text": "You are Ann."}],
    }
).decode()


def source(context: str = "", **more: str) -> AssertionSource:
    found = AssertionSource("a1", "c1", "t1", ASKED, SAID, context)
    return replace(found, **more)


def made(number: int, text: str, **more: object) -> Assertion:
    one = Assertion(f"id{number}", "ann", "Ann", 1, text, created_at=number, updated_at=number)
    return replace(one, **more)  # type: ignore[arg-type]  # as given


async def test_an_assertion_comes_back_as_it_went_in(database: Database) -> None:
    drawn = made(1, "Is brief", source=source("hash"), tags=("tone", "länge"))
    check = made(2, "Short", kind="words", args={"max": 9}, user_input="Wie geht’s?", active=False)

    def work(tx: Tx) -> None:
        assert assertions.add(tx.of(ME), drawn) == drawn
        assertions.add(tx.of(ME), check)
        assert assertions.get(tx.of(ME), "id1") == drawn
        assert assertions.get_many(tx.of(ME), ["id2", "id1"]) == [check, drawn]
        assert assertions.find(tx.of(YOU), "id1") is None
        assert assertions.list_all(tx.of(YOU), AssertionFilter()) == []
        assert assertions.versions(tx.of(YOU), "id1") == []

    await database.write(work, ME)
    for call in (
        lambda tx: assertions.get(tx.of(YOU), "id1"),
        lambda tx: assertions.get_many(tx, ["id1", "nothing"]),
    ):
        with pytest.raises(NotFound, match="no assertion"):
            await database.read(call, ME)
    with pytest.raises(Conflict):
        await database.write(lambda tx: assertions.add(tx, made(1, "Another")), ME)


async def test_versions_are_added_and_never_changed(database: Database) -> None:
    def work(tx: Tx) -> list[AssertionVersion]:
        assertions.add(tx, made(1, "Is brief"))
        same = assertions.change(tx, "id1", 5, {"text": "Is brief", "tags": ("a",)})
        assert same.number == 1
        new = assertions.change(tx, "id1", 6, {"kind": "words", "args": {"max": 3}})
        assert (new.number, new.text, new.tags, new.updated_at) == (2, "Is brief", ("a",), 6)
        assert assertions.get(tx, "id1") == new
        assertions.add_version(tx, AssertionVersion("id1", 1, "Something else", "judge", {}, 9))
        return assertions.versions(tx, "id1")

    assert await database.write(work, ME) == [
        AssertionVersion("id1", 2, "Is brief", "words", {"max": 3}, 6),
        AssertionVersion("id1", 1, "Is brief", "judge", {}, 1),
    ]


async def test_lists_are_searched_filtered_and_paged(database: Database) -> None:
    rows = [
        made(1, "Uses a metaphor", tags=("tone",)),
        made(2, "Mentions the SEA, or the shore", source=source(), tags=("tone_x", "a-b")),
        made(3, "Schön kurz", kind="words", args={"max": 3}, active=False),
        made(4, "100% sure", user_input="Wie tief ist die See?"),
        made(5, "Of another", advisor_id="bob", advisor_name="Bob"),
    ]

    def ids(tx: Tx, **wanted: object) -> str:
        found = assertions.list_all(tx, AssertionFilter(**{"advisor_id": "ann", **wanted}))  # type: ignore[arg-type]  # as given
        return "".join(one.id[2:] for one in found)

    def work(tx: Tx) -> None:
        for one in rows:
            assertions.add(tx.of(ME), one)
        assertions.add(tx.of(YOU), rows[0])
        assert ids(tx) == "1234"
        assert ids(tx, query="sea") == "2"
        assert ids(tx, query="SHORE Mentions") == "2"
        assert ids(tx, query="zanzibar") == "2"
        assert ids(tx, query="schon") == "3"
        assert ids(tx, query="tiefste") == ""
        assert ids(tx, query="tie") == "4"
        assert ids(tx, query="%") == "1234"
        assert ids(tx, tag="tone") == "1"
        assert ids(tx, tag="tone_x") == "2"
        assert ids(tx, tag="tone%x") == ""
        assert ids(tx, kind="words") == "3"
        assert ids(tx, active=True) == "124"
        assert ids(tx, answer_id="a1") == "2"
        assert ids(tx, advisor_id=None) == "12345"
        assert assertions.tags_of(tx.of(ME), "ann") == ["a-b", "tone", "tone_x"]
        assert assertions.owners(tx.of(ME)) == [("ann", "Ann"), ("bob", "Bob")]
        assert assertions.owner(tx.of(ME), "bob") == ("bob", "Bob")
        with pytest.raises(NotFound):
            assertions.owner(tx.of(YOU), "bob")
        assert assertions.asserted(tx.of(ME), "c1") == ["a1"]
        seen, after = [], None
        while True:
            page = assertions.list_page(tx.of(ME), AssertionFilter("ann"), 2, after)
            seen += [one.id for one in page.items]
            if (after := page.next) is None:
                break
        assert seen == ["id1", "id2", "id3", "id4"]
        with pytest.raises(Invalid):
            assertions.list_page(tx.of(ME), AssertionFilter(), 2, "nowhere")

    await database.write(work, ME)


async def test_contexts_are_shared_and_go_with_the_last_that_needs_them(
    database: Database,
) -> None:
    def work(tx: Tx) -> None:
        name = contexts.put(tx.of(ME), CONTEXT, 7)
        assert name == content_hash(CONTEXT)
        assert contexts.put(tx.of(ME), CONTEXT, 9) == name
        assert stored_context(tx.of(ME), name) == contexts.StoredContext(name, CONTEXT, False, 7)
        assert contexts.find(tx.of(YOU), name) is None
        assertions.add(tx.of(ME), made(1, "One", source=source(name)))
        assertions.add(tx.of(ME), made(2, "Two", source=source(name)))
        past_runs.add(tx.of(ME), PastRun("a1", "evaluation", "e1", 3, {"results": []}))
        assert assertions.context_hashes(tx.of(ME), "ann") == [name]
        assertions.remove(tx.of(ME), "id1", 8)
        assert contexts.find(tx.of(ME), name) is not None
        assert past_runs.of_answer(tx.of(ME), "a1")
        assertions.remove(tx.of(ME), "id2", 9)
        assert contexts.find(tx.of(ME), name) is None
        assert past_runs.of_answer(tx.of(ME), "a1") == []
        assert assertions.context_hashes(tx.of(ME), "ann") == []
        assert [one.text for one in assertions.versions(tx.of(ME), "id2")] == ["Two"]
        assert assertions.is_known(tx.of(ME), "id2")
        with pytest.raises(NotFound):
            assertions.remove(tx.of(ME), "id2", 9)

    await database.write(work, ME)


async def test_a_removed_one_can_come_back_as_itself_alone(database: Database) -> None:
    drawn = made(1, "One", source=source())

    def work(tx: Tx) -> None:
        assertions.add(tx, drawn)
        assert not assertions.restore(tx, drawn, 8)
        assertions.remove(tx, "id1", 8)
        assert not assertions.restore(tx, replace(drawn, advisor_id="bob"), 9)
        assert not assertions.restore(tx, replace(drawn, source=source(answer_id="x")), 9)
        assert assertions.restore(tx, replace(drawn, text="One and a half"), 9)
        found = assertions.get(tx, "id1")
        assert (found.text, found.number, found.source) == ("One and a half", 2, drawn.source)

    await database.write(work, ME)


async def test_earlier_runs_are_kept_once_and_as_they_were(database: Database) -> None:
    run = PastRun("a1", "evaluation", "e1", None, {"results": [{"reason": "“so”", "n": 1.5}]})

    def work(tx: Tx) -> None:
        assert past_runs.add(tx.of(ME), run)
        assert not past_runs.add(tx.of(ME), run)
        assert past_runs.add(tx.of(ME), replace(run, kind="optimisation", at=4))
        assert past_runs.of_answer(tx.of(ME), "a1")[0] == run
        assert past_runs.of_answer(tx.of(YOU), "a1") == []

    await database.write(work, ME)


def fill(tx: Tx) -> str:
    name = contexts.put(tx, CONTEXT, 10)
    other = contexts.put(tx, '{"asked":"So?","messages":[{"text":"So?","refs":["ut9"]}]}', 10)
    elsewhere = source(other, turn_id="t9", answer_id="a9", user_input="So?", answer="Yes.")
    assertions.add(tx, made(10, "Mentions Zanzibar", source=source(name)))
    assertions.add(tx, made(11, "Is brief", source=elsewhere))
    assertions.add(tx, made(12, "x", kind="contains", args={"text": "garden in Zanzibar"}))
    past_runs.add(tx, PastRun("a1", "evaluation", "e", 3, {"reason": "It says Zanzibar twice"}))
    return name


async def test_forgetting_reaches_what_an_assertion_was_drawn_from(database: Database) -> None:
    await database.write(fill, ME)
    gone = Gone(turns=frozenset({"t1"}), answers=frozenset({"a1"}), now=20)

    def dry(tx: Tx) -> list[tuple[str, str]]:
        return sorted((one.kind, one.id) for one in redact(tx, gone, dry=True))

    told = await database.read(dry, ME)
    assert [kind for kind, _ in told] == ["assertion", "context", "past_run"]

    def work(tx: Tx) -> None:
        found = sorted((one.kind, one.id) for one in redact(tx, gone, dry=False))
        assert found == told
        assert redact(tx, gone, dry=True) == []

    await database.write(work, ME)

    def look(tx: Tx) -> None:
        assert tx.all("SELECT * FROM past_runs") == []
        one = assertions.get(tx, "id10")
        assert one.source is not None
        assert (one.source.user_input, one.source.answer) == (REDACTED, REDACTED)
        assert one.text == "Mentions Zanzibar", "what it asks for is the person's own"
        kept = stored_context(tx, one.source.context_hash)
        assert kept.redacted
        assert msgspec.json.decode(kept.data)["redacted"] is True
        assert ASKED not in kept.data
        assert "Owns a garden" not in kept.data
        assert "Good morning." in kept.data
        other = assertions.get(tx, "id11")
        assert other.source is not None
        assert not stored_context(tx, other.source.context_hash).redacted

    await database.read(look, ME)


async def test_a_conversation_that_is_only_deleted_leaves_its_assertions(
    database: Database,
) -> None:
    name = await database.write(fill, ME)
    gone = Gone(turns=frozenset({"t1"}), leaving="c1", now=20)

    def work(tx: Tx) -> None:
        redact(tx, gone, dry=False)
        assert stored_context(tx, name).data == CONTEXT
        one = assertions.get(tx, "id10")
        assert one.source is not None
        assert one.source.user_input == ASKED

    await database.write(work, ME)
