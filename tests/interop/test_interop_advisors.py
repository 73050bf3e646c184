"""Advisors as YAML: what is read, what is refused, and how it is stored on both databases."""

from __future__ import annotations

from pathlib import Path

import pytest

from polyvox.errors import Invalid
from polyvox.interop import advisor_file
from polyvox.interop.advisor_file import AdvisorFile
from polyvox.interop.report import Report
from polyvox.store import recipes
from polyvox.store.advisors import Advisors
from polyvox.store.database import Database
from polyvox.values import Advisor, Params, Scope

SCOPE = Scope()
FIXTURES = Path(__file__).parent / "fixtures"

GARDENER = """
name: Gardener
slug: gardener
description: Waits for things to grow.
prompt: |-
  You wait.

  Then you cut.
model: lab:own
colour: "#112233"
voice: alto
params: {max_tokens: 9, temperature: 0.5, top_p: 1, reasoning: 0}
active: false
"""


def read(tmp_path: Path, text: str) -> AdvisorFile:
    path = tmp_path / "advisors.yaml"
    path.write_text(text)
    return advisor_file.read(path)


async def store(database: Database, parsed: AdvisorFile, **how: bool) -> Report:
    def known(model: str) -> None:
        if not model.startswith(("lab:", "anthropic:")):
            raise Invalid(f"There is no provider {model!r}.")

    return await advisor_file.store(database, SCOPE, 7, parsed, check_model=known, **how)


def test_one_advisor_with_every_field(tmp_path: Path) -> None:
    parsed = read(tmp_path, GARDENER)
    assert parsed.advisors == (
        {
            "name": "Gardener",
            "slug": "gardener",
            "description": "Waits for things to grow.",
            "prompt": "You wait.\n\nThen you cut.",
            "model": "lab:own",
            "color": "#112233",
            "voice": "alto",
            "params": Params(9, 0.5, 1, 0),
            "active": False,
        },
    )
    assert parsed.refused == parsed.notes == ()


def test_a_list_a_table_and_the_starter_council(tmp_path: Path) -> None:
    one = "- {name: A, description: x}\n- {name: B, prompt: y}\n"
    assert [a["name"] for a in read(tmp_path, one).advisors] == ["A", "B"]
    table = "advisors:\n- {name: A, description: x}\n"
    assert [a["name"] for a in read(tmp_path, table).advisors] == ["A"]
    shipped = Path(advisor_file.__file__).parent.parent / "starter" / "council.yaml"
    assert len(advisor_file.read(shipped).advisors) == 6
    assert read(tmp_path, '[{"name": "J", "description": "from JSON"}]').advisors[0]["name"] == "J"


def test_what_was_written_is_read_again(tmp_path: Path) -> None:
    first = Advisor("1", "one", "One: a name", "Short", prompt="a\n\nb\n  c", active=False)
    long = "word " * 50 + "end: - # '\"" + " ünïcode…"
    second = Advisor("2", "two", "Two", long, model="lab:x", params=Params(temperature=0.1))
    parsed = read(tmp_path, advisor_file.write([first, second]))
    assert parsed.refused == parsed.notes == ()
    for before, after in zip((first, second), parsed.advisors, strict=True):
        assert advisor_file.checked(advisor_file.as_data(before)) == after
    assert read(tmp_path, advisor_file.write([first])).advisors == parsed.advisors[:1]


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ("[a]", "number 1: it is not a table"),
        ("{description: x}", "needs a name"),
        ("{name: A}", "needs a description or a prompt"),
        ("{name: 5, description: x}", "`name` must be text, not int"),
        ("{name: A, description: [x]}", "`description` must be text"),
        ("{name: A, description: x, slug: 'A b'}", "cannot be a slug"),
        ("{name: A, description: x, slug: assistant}", "cannot be a slug"),
        ("{name: A, description: x, model: plain}", "not written provider:name"),
        ("{name: A, description: x, color: red}", "like #1f6f8b"),
        ("{name: A, description: x, active: maybe}", "true or false"),
        ("{name: A, description: x, params: 5}", "must be a table"),
        ("{name: A, description: x, params: {heat: 5}}", "no parameter 'heat'"),
        ("{name: A, description: x, params: {max_tokens: 0.5}}", "a whole number"),
        ("{name: A, description: x, params: {temperature: true}}", "must be a number"),
        ("{name: A, description: x, params: {top_p: 0}}", "between 0 and 1"),
        ('{name: A, description: "nul \\0"}', "control character"),
    ],
)
def test_what_cannot_be_used_is_refused_with_its_reason(tmp_path: Path, row: str, why: str) -> None:
    parsed = read(tmp_path, f"- {row}\n- {{name: Good, description: fine}}\n")
    assert [one["name"] for one in parsed.advisors] == ["Good"]
    assert len(parsed.refused) == 1
    assert why in parsed.refused[0]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("just words", "holds no advisors"),
        ("", "holds no advisors"),
        ("[]", "holds no advisors"),
        ("a: [", "not usable YAML"),
        ("[" * 3_000, "nested too deeply"),
        ("a: &x [1]\nb: *x", "anchors and aliases"),
        ("!!python/object/apply:os.system [id]", "not usable YAML"),
        ("- {name: A, description: x}\n" * 501, "500 is the most"),
    ],
)
def test_files_that_are_refused_whole(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(Invalid, match=why):
        read(tmp_path, text)


def test_unknown_fields_are_told(tmp_path: Path) -> None:
    parsed = read(tmp_path, "{name: A, description: x, mood: sunny}")
    assert parsed.notes == ("A: nothing here is called 'mood'; left out",)


async def test_importing_twice_adds_nothing(database: Database, tmp_path: Path) -> None:
    parsed = read(tmp_path, GARDENER)
    assert (await store(database, parsed)).taken == ["gardener (Gardener)"]
    again = await store(database, parsed)
    assert (again.taken, again.present) == ([], ["gardener"])
    advisors = Advisors(database)
    # Also after it was changed here: the file brings nothing new.
    await advisors.update(SCOPE, "gardener", prompt="Other words.")
    changed = await store(database, parsed)
    assert (changed.taken, changed.present) == ([], ["gardener (changed since it was imported)"])
    assert len(await advisors.list(SCOPE)) == 1


async def test_somebody_elses_slug_is_not_taken(database: Database, tmp_path: Path) -> None:
    advisors = Advisors(database)
    await advisors.create(SCOPE, name="Other", description="Was here first.", slug="gardener")
    parsed = read(tmp_path, GARDENER)
    report = await store(database, parsed)
    assert report.taken == ["gardener-2 (Gardener, because gardener is somebody else)"]
    assert (await store(database, parsed)).present == ["gardener-2"]
    assert [one.slug for one in await advisors.list(SCOPE)] == ["gardener", "gardener-2"]


async def test_replacing_gives_new_words_and_keeps_the_old(
    database: Database, tmp_path: Path
) -> None:
    advisors = Advisors(database)
    await advisors.create(
        SCOPE, name="Other", description="Was here.", slug="gardener", prompt="Old.", voice="x"
    )
    parsed = read(tmp_path, "{name: Gardener, slug: gardener, description: New words.}")
    report = await store(database, parsed, replacing=True)
    assert report.taken[0].startswith("gardener (its words replaced")
    (one,) = await advisors.list(SCOPE)
    assert (one.name, one.identity, one.voice, one.active) == ("Gardener", "New words.", None, True)
    assert [version.text for version in await advisors.versions(SCOPE, "gardener")] == [
        "New words.", "Old.",
    ]  # fmt: skip
    assert (await store(database, parsed, replacing=True)).present == ["gardener"]


async def test_a_dry_run_changes_nothing_and_says_the_same(
    database: Database, tmp_path: Path
) -> None:
    parsed = advisor_file.read(FIXTURES / "agents-gen1.json")
    dry = await store(database, parsed, dry=True)
    assert await Advisors(database).list(SCOPE) == []
    wet = await store(database, parsed)
    assert dry.taken == wet.taken
    assert dry.notes == wet.notes
    assert dry.lines(dry=True)[0] == "would add muse (@ai-muse)"
    assert [one.slug for one in await Advisors(database).list(SCOPE)] == [
        "muse", "engineer", "echo", "claude",
    ]  # fmt: skip


async def test_three_generations_after_each_other(database: Database) -> None:
    for generation in (1, 2, 3, 1, 2, 3):
        await store(database, advisor_file.read(FIXTURES / f"agents-gen{generation}.json"))
    slugs = [one.slug for one in await Advisors(database).list(SCOPE)]
    assert sorted(slugs) == [
        "analyst", "claude", "echo", "engineer", "engineer-2", "engineer-3", "founder", "founder-2",
        "growth", "muse", "muse-2", "muse-3",
    ]  # fmt: skip


async def test_a_model_that_nobody_knows_is_left_out(database: Database, tmp_path: Path) -> None:
    report = await store(database, read(tmp_path, GARDENER.replace("lab:own", "soup:own")))
    assert any("There is no provider" in note for note in report.notes)
    assert (await Advisors(database).get(SCOPE, "gardener")).model is None


async def test_a_window_of_its_own_changes_the_recipe(database: Database, tmp_path: Path) -> None:
    usual = advisor_file.read(FIXTURES / "agents-gen3.json")
    report = await store(database, usual)
    assert any("is what the recipe agent has" in note for note in report.notes)
    assert await database.read(lambda tx: recipes.get(tx, "agent"), SCOPE) is None
    other = AdvisorFile(window={"max_messages": 9, "recent_messages": 6, "system_messages": 2})
    report = await store(database, other)
    assert any("has the file's window now" in note for note in report.notes)
    change = await database.read(lambda tx: recipes.get(tx, "agent"), SCOPE)
    assert change == {"window": other.window}
    refused = await store(database, AdvisorFile(window={"max_messages": 0}))
    assert any("is not usable" in note for note in refused.notes)
    assert await database.read(lambda tx: recipes.get(tx, "agent"), SCOPE) == change


async def test_nothing_is_half_written(database: Database, tmp_path: Path) -> None:
    parsed = read(
        tmp_path, "- {name: A, description: x}\n- {name: B, description: y, model: 'a:b'}"
    )

    def broken(model: str) -> None:
        raise RuntimeError("a bug on the way")

    with pytest.raises(RuntimeError):
        await advisor_file.store(database, SCOPE, 7, parsed, check_model=broken)
    assert await Advisors(database).list(SCOPE) == []
