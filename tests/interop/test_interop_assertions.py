"""Suites as files: everything comes back, twice adds nothing, and nothing hostile gets in."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.evaluation.suites import stored_context
from tests.provider import Script
from tests.session.room import ME, Room, open_room

from polyvox.errors import Invalid, TooLarge
from polyvox.evaluation import assertion
from polyvox.evaluation.assertion import Wording
from polyvox.evaluation.contexts import Context, SentMessage, SystemBlock, read
from polyvox.evaluation.tables import assertions
from polyvox.evaluation.tables.assertions import (
    Assertion,
    AssertionFilter,
    AssertionSource,
    AssertionVersion,
)
from polyvox.interop import assertion_file, assertion_import
from polyvox.interop.assertion_file import AssertionEntry, Suite
from polyvox.interop.assertion_import import understand
from polyvox.interop.report import Report
from polyvox.store.database import Database, Tx
from polyvox.values import Params, Scope

YOU = Scope("you")


async def take(database: Database, text: str, scope: Scope = ME, **more: object) -> Report:
    parsed = understand(text, "it")
    return await assertion_import.store(database, scope, 99, parsed, **more)  # type: ignore[arg-type]  # as given


def everything(tx: Tx) -> list[tuple[object, ...]]:
    """All that is stored of assertions, whoever they belong to."""
    found: list[tuple[object, ...]] = []
    for table in ("assertions", "assertion_versions", "contexts", "past_runs"):
        rows = tx.all(f"SELECT * FROM {table} WHERE user_id = ?", (tx.user,))
        found += [(table, *row[1:]) for row in sorted(rows, key=repr)]
    return found


async def furnished(room: Room) -> str:
    """An advisor with assertions of every kind; her id."""
    ann = await room.advisor("Ann", Script(text="Keep it:\n\n- «sea»\u2028- shore  \n"))
    talk = await room.conversation(ann)
    _, (answer,) = await room.say(talk, "Should I\nsell: the boat? # really")
    road = room.polyvox.resources
    said = [Wording("Is brief"), Wording("", "matches", {"pattern": r"^\w+:"})]
    made = await assertion.from_answer(road, ME, answer.id, said, ["tone"])
    await assertion.change(road, ME, made[0].id, {"text": "Is terse"})
    await assertion.change(road, ME, made[0].id, {"text": "Is very terse", "active": False})
    await assertion.by_hand(road, ME, "ann", [Wording("Is calm")], user_input="yes")
    await assertion.by_hand(road, ME, "ann", [Wording("null")])
    return ann.id


async def exported(room: Room, advisor_id: str) -> str:
    return await room.polyvox.database.read(
        lambda tx: assertion_file.export(tx, [(advisor_id, "Ann")]), ME
    )


async def test_a_suite_comes_back_whole(tmp_path: Path) -> None:
    async with open_room(tmp_path) as room:
        database = room.polyvox.database
        text = await exported(room, ann := await furnished(room))
        before = await database.read(everything, ME)
        again = await take(database, text)
        assert (again.taken, again.refused, len(again.present)) == ([], [], 4)
        assert await database.read(everything, ME) == before

        def gone(tx: Tx) -> None:
            for table in ("assertions", "assertion_versions", "contexts"):
                tx.run(f"DELETE FROM {table}")

        await database.write(gone, ME)
        report = await take(database, text)
        assert (len(report.taken), report.refused, report.notes) == (4, [], [])
        after = await database.read(everything, ME)
        plain = [row for row in after if row[0] != "contexts"]
        assert plain == [row for row in before if row[0] != "contexts"]
        assert await exported(room, ann) == text


async def test_the_context_in_a_file_is_the_context_to_the_byte(tmp_path: Path) -> None:
    async with open_room(tmp_path) as room:
        text = await exported(room, await furnished(room))
        (stored,) = await room.polyvox.database.read(
            lambda tx: tx.all("SELECT hash, data FROM contexts"), ME
        )
        (found,) = understand(text, "it").contexts.items()
        assert found[0] == stored[0] == found[1].hash
        assert found[1] == read(stored[1])


async def test_elsewhere_by_slug_and_into_somebody_else(tmp_path: Path) -> None:
    async with open_room(tmp_path) as room:
        text = await exported(room, await furnished(room))
        database = room.polyvox.database
        async with open_room(tmp_path / "other", provider=room.provider) as other:
            there = other.polyvox.database
            lost = await take(there, text)
            assert len(lost.refused) == 4
            assert lost.useless
            assert await there.read(everything, ME) == []
            mine = await other.advisor("Ann")
            report = await take(there, text)
            assert len(report.taken) == 4
            found = await there.read(
                lambda tx: assertions.list_all(tx, AssertionFilter(advisor_id=mine.id)), ME
            )
            here = await database.read(lambda tx: assertions.list_all(tx, AssertionFilter()), ME)
            assert {one.id for one in found} == {one.id for one in here}
        bob = await room.advisor("Bob")
        for count in (4, 0):
            report = await take(database, text, into=bob.slug)
            assert len(report.taken) == count
        ids = await database.read(lambda tx: assertions.list_all(tx, AssertionFilter(bob.id)), ME)
        assert [one.text for one in ids] == ["Is very terse", "Matches ^\\w+:", "Is calm", "null"]
        name = ids[0].source.context_hash if ids[0].source else ""
        stored = await database.read(lambda tx: stored_context(tx, name), ME)
        assert read(stored.data).advisor_id == bob.id


async def test_one_that_was_removed_comes_back_and_a_changed_one_stays(tmp_path: Path) -> None:
    async with open_room(tmp_path) as room:
        road, database = room.polyvox.resources, room.polyvox.database
        text = await exported(room, ann := await furnished(room))
        rows = await database.read(lambda tx: assertions.list_all(tx, AssertionFilter(ann)), ME)
        await assertion.bulk(road, ME, [rows[0].id], "remove")
        await assertion.change(road, ME, rows[2].id, {"text": "Is serene"})
        report = await take(database, text)
        assert report.taken == ["Is very terse (it had been removed)"]
        assert "Is calm (changed since)" in report.present
        ids = [rows[0].id, rows[2].id]
        back, changed = await database.read(lambda tx: assertions.get_many(tx, ids), ME)
        assert back.source == rows[0].source
        assert changed.text == "Is serene"


async def test_a_dry_run_changes_nothing(tmp_path: Path) -> None:
    async with open_room(tmp_path) as room:
        await room.advisor("Ann")
        database = room.polyvox.database
        report = await take(database, "advisor: ann\nassertions: [Is brief]", dry=True)
        assert report.lines(dry=True) == ["would add Is brief"]
        assert await database.read(everything, ME) == []


async def test_our_own_files_make_no_advisors(tmp_path: Path) -> None:
    async with open_room(tmp_path) as room:
        text = "suites: [{advisor: {name: Zoe}, description: Odd., assertions: [Is brief]}]"
        report = await take(room.polyvox.database, text)
        assert (report.taken, len(report.refused)) == ([], 1)
        assert "Zoe" not in [one.name for one in await room.polyvox.advisors.list(ME)]


async def test_a_list_written_by_hand_is_enough(tmp_path: Path) -> None:
    text = """
    - Uses a metaphor
    - text: Short
      kind: words
      args: {max: 120}
      tags: [Length]
    - {kind: ends_with_question}
    - 5
    - {kind: poem, text: x}
    - {text: Fine, colour: red, user_input: "Why?"}
    - {kind: words}
    """
    async with open_room(tmp_path) as room:
        await room.advisor("Ann")
        database = room.polyvox.database
        report = await take(database, text, into="ann")
        assert report.taken == ["Uses a metaphor", "Short", "Ends with a question", "Fine"]
        assert len(report.refused) == 3
        assert report.notes == ["Fine: nothing here is called 'colour'; left out"]
        assert (await take(database, text, into="ann")).taken == []


async def test_a_context_changed_by_hand_gets_the_name_it_deserves(tmp_path: Path) -> None:
    async with open_room(tmp_path) as room:
        text = await exported(room, await furnished(room))
        data = yaml.safe_load(text)
        (name,) = data["contexts"]
        data["contexts"][name]["asked"] = "Something else?"
        report = await take(room.polyvox.database, yaml.safe_dump(data))
        assert any("was changed since" in note for note in report.notes)
        data["contexts"][name] = {"v": "one"}
        spoiled = understand(yaml.safe_dump(data), "it")
        assert spoiled.contexts == {}
        assert any("cannot be used" in note for note in spoiled.notes)
        entry = spoiled.suites[0].entries[0].assertion
        assert entry.source is not None
        assert entry.source.context_hash == ""


@pytest.mark.parametrize(
    "text",
    [
        "",
        "5",
        "just words",
        "suites: 5",
        "suites: [5]",
        "suites: [{advisor: a}]",
        "version: 2\nassertions: []",
        "a: &x [1]\nb: *x",
        "!!python/object/apply:os.system ['true']",
        "[" * 5000,
        '{"assertions": "x"}',
        "\t- x",
    ],
)
def test_what_is_no_suite_is_refused_whole(text: str) -> None:
    with pytest.raises(Invalid):
        understand(text, "it")


def test_a_file_that_is_too_large_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polyvox.interop.assertion_import.LARGEST", 10)
    with pytest.raises(TooLarge):
        understand("- " + "x" * 20, "it")
    many = "\n".join(f"- Names {n}" for n in range(5001))
    monkeypatch.undo()
    with pytest.raises(Invalid, match="more than 5,000"):
        understand(many, "it")


@pytest.mark.parametrize(
    "row",
    [
        {"text": "x", "args": {"a": 1}},
        {"text": "x", "tags": "a"},
        {"text": "x", "tags": ["%"]},
        {"text": "x", "active": "yes"},
        {"text": "x", "version": 0},
        {"text": "x", "earlier": [{"version": 3, "text": "y"}]},
        {"text": "x", "earlier": ["y"]},
        {"text": "x", "source": 5},
        {"text": "x", "source": {"question": 5}},
        {"text": "x", "source": {}, "user_input": "y"},
        {"text": "x", "id": "a" * 201},
        {"text": "x", "id": "a\nb"},
        {"text": ["x"]},
        {"text": "x", "args": {"n": 2**70}},
        {"text": "x\x00"},
    ],
)
def test_a_bad_row_is_told_and_the_others_are_taken(row: dict[str, object]) -> None:
    found = understand(json.dumps({"assertions": [row, "Is brief"]}), "it")
    assert [one.assertion.text for one in found.suites[0].entries] == ["Is brief"]
    assert len(found.refused) == 1


TEXTS = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=60
) | st.sampled_from(["|", "> x\n y", " a\n  b\n", "a\r\nb", "x\x85y\u2028z", "\ufeff", "- a: b #c"])


@settings(max_examples=150, deadline=None)
@given(TEXTS, TEXTS, TEXTS)
def test_any_text_survives_the_file(asked: str, said: str, system: str) -> None:
    context = Context(
        advisor_id="a",
        name="Ann",
        identity=system,
        versioned=system,
        asked=asked,
        blocks=(SystemBlock("identity", system, "{identity}"),),
        messages=(SentMessage("current", "user", asked, ("ut1",)),),
        params=Params(temperature=0.25),
        n=3,
        wire_hash="ff",
    )
    source = AssertionSource("an", "c", "t", asked, said, context.hash)
    one = Assertion("i", "a", "Ann", 2, "Is brief", source=source, created_at=1, updated_at=2)
    suite = Suite(
        "a", "ann", "Ann", (AssertionEntry(one, (AssertionVersion("i", 1, "Is", "judge", {}, 1),)),)
    )
    found = understand(assertion_file.write([suite], {context.hash: context}), "it")
    assert (found.refused, found.notes) == ([], [])
    assert found.contexts == {context.hash: context}
    entry = found.suites[0].entries[0]
    assert entry.assertion.source == source
    assert entry.assertion.created_at == 1
    assert entry.earlier == suite.entries[0].earlier
