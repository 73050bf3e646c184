"""`polyvox assertions`: added, listed, changed, linted, suggested, in files and out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.desk import Here, Provider

pytestmark = pytest.mark.contract


def asked(here: Here, provider: Provider, text: str = "Keep it. Why would you sell it?") -> str:
    """The id of an answer of the keeper's."""
    provider.script(plain={"text": text})
    run = here("ask", "Should I sell the boat?", "--advisor", "keeper", "--json")
    assert run.code == 0, run.err
    return str(run.json["answers"][0]["answer"])


def listed(here: Here, *words: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = here("assertions", "list", "--json", *words).json
    return rows


def test_by_hand_with_a_question_and_tags(here: Here) -> None:
    run = here(
        "assertions", "add", "Uses a metaphor", "Is good", "--advisor", "@keeper",
        "--ask", "What is patience?", "--tag", "Tone",
    )  # fmt: skip
    assert run.code == 0
    assert [line.split("  ")[1] for line in run.out.splitlines()] == ["Uses a metaphor", "Is good"]
    assert run.err == ""
    rows = listed(here)
    assert [row["text"] for row in rows] == ["Uses a metaphor", "Is good"]
    assert {row["user_input"] for row in rows} == {"What is patience?"}
    assert {tuple(row["tags"]) for row in rows} == {("tone",)}
    shown = here("assertions").out
    assert shown.splitlines()[0].split() == ["id", "advisor", "kind", "text", "source"]
    assert "asks “What is patience?”" in shown


def test_checks_in_code_and_lines_on_stdin(here: Here) -> None:
    assert (
        here("assertions", "add", "--advisor", "keeper", "--kind", "words", "--max", "120").code
        == 0
    )
    assert here(
        "assertions", "add", "--advisor", "keeper", "--kind", "lacks", "--arg", "text=5",
        "--arg", "whole_words=true",
    ).code == 0  # fmt: skip
    run = here("assertions", "add", "-", "--advisor", "keeper", stdin="- Names a cost\n\n* Waits\n")
    assert run.code == 0
    rows = listed(here, "--advisor", "keeper")
    assert [(row["kind"], row["text"]) for row in rows] == [
        ("words", "At most 120 words"),
        ("lacks", "Does not contain “5”"),
        ("judge", "Names a cost"),
        ("judge", "Waits"),
    ]
    assert rows[1]["args"] == {"text": "5", "ignore_case": True, "whole_words": True}
    assert [row["kind"] for row in listed(here, "--kind", "words")] == ["words"]
    assert [row["text"] for row in listed(here, "--search", "cost")] == ["Names a cost"]


def test_from_an_answer_with_its_source(here: Here, provider: Provider) -> None:
    answer = asked(here, provider)
    run = here("assertions", "add", "Is brief", "--answer", answer, "--json")
    assert run.code == 0, run.err
    (made,) = run.json
    assert made["source"]["user_input"] == "Should I sell the boat?"
    assert made["source"]["context_hash"]
    assert "“Should I sell the boat?” → “Keep it." in here("assertions", "list").out
    shown = here("assertions", "show", made["id"]).out
    assert shown.startswith("Is brief\n")
    assert "answered: Keep it. Why would you sell it?" in shown
    whole = here("assertions", "show", made["id"], "--json").json
    assert whole["versions"][0]["text"] == "Is brief"


def test_edit_remove_and_history(here: Here) -> None:
    here("assertions", "add", "Is brief", "--advisor", "keeper")
    (made,) = listed(here)
    run = here("assertions", "edit", made["id"], "--text", "Is terse", "--tag", "a", "--inactive")
    assert (run.code, run.out) == (0, f"changed {made['id']}: version 2\n")
    (row,) = listed(here, "--inactive")
    assert (row["text"], row["version"], row["tags"]) == ("Is terse", 2, ["a"])
    assert listed(here, "--active") == []
    kind = here("assertions", "edit", made["id"], "--kind", "words", "--min", "2", "--no-tags")
    assert kind.code == 0
    assert "version 1: Is brief" in here("assertions", "show", made["id"]).out
    assert here("assertions", "remove", made["id"]).code == 2
    run = here("assertions", "remove", made["id"], "--yes")
    assert (run.code, run.out) == (0, f"removed {made['id']}\n")
    assert listed(here) == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["add", "x"], "Whose is it?"),
        (["add", "x", "--advisor", "keeper", "--answer", "y"], "Whose is it?"),
        (["add", "x", "--advisor", "nobody"], "no advisor 'nobody'"),
        (["add", "--advisor", "keeper"], "There is no assertion"),
        (["add", " ", "--advisor", "keeper"], "There is no assertion"),
        (["add", "x", "--advisor", "keeper", "--kind", "poem"], "no kind 'poem'"),
        (["add", "x", "--advisor", "keeper", "--kind", "words"], "number is missing"),
        (["add", "x", "--advisor", "keeper", "--arg", "max"], "NAME=VALUE"),
        (["add", "x", "--advisor", "keeper", "--max", "5"], "no argument 'max'"),
        (["add", "x", "--answer", "nothing"], "no answer nothing"),
        (["add", "x", "--answer", "y", "--ask", "z"], "has its question"),
        (["edit", "nothing", "--text", "x"], "no assertion nothing"),
        (["edit", "nothing"], "Nothing to change"),
        (["remove", "nothing", "--yes"], "no assertion nothing"),
        (["show", "nothing"], "no assertion nothing"),
        (["lint"], "nothing to look at"),
        (["list", "--advisor", "nobody"], "no advisor 'nobody'"),
        (["import", "/nonexistent.yaml"], "There is no file"),
        (["export", "nobody"], "no advisor 'nobody'"),
        (["suggest", "nothing"], "no answer nothing"),
    ],
)
def test_what_cannot_be_done(here: Here, words: list[str], said: str) -> None:
    run = here("assertions", *words)
    assert run.code == 2
    assert said in run.err
    assert run.err.count("\n") == 1
    assert listed(here) == []


def test_lint_given_ones_and_stored_ones(here: Here, provider: Provider) -> None:
    split = {"rule": "compound", "message": "Two things.", "split": ["Is sad", "Is glad"]}
    items = [
        {"id": "1", "findings": [split], "check": None},
        {"id": "2", "findings": [], "check": {"kind": "words", "max": 99}},
    ]
    provider.script(plain={"pieces": [json.dumps({"items": items})]})
    run = here("assertions", "lint", "Is sad and glad", "Under 100 words")
    assert run.code == 0
    assert run.out.splitlines() == [
        "compound: “Is sad and glad”. Two things. (Is sad | Is glad)",
        "note: “Under 100 words” can be checked in code: --kind words --max 99",
    ]
    here("assertions", "add", "Is terse", "Is detailed", "--advisor", "keeper")
    rows = here("assertions", "lint", "--advisor", "keeper", "--json").json
    assert [[one["rule"] for one in row["findings"]] for row in rows] == [["compound"], []]
    nothing: dict[str, Any] = {"items": [{"id": "1", "findings": [], "check": None}]}
    provider.script(plain={"pieces": [json.dumps(nothing)]})
    fine = here("assertions", "lint", "Names a cost")
    assert (fine.out, fine.err) == ("", "Nothing to warn of.\n")


def test_lint_looks_at_each_in_its_phase(here: Here, provider: Provider) -> None:
    none = json.dumps({"items": [{"id": "1", "findings": [], "check": None}]})
    provider.script(plain={"pieces": [none]})

    def looked_at(*words: str) -> list[tuple[list[str], str]]:
        """Texts and the phase's own text, by request."""
        before = len(provider.log())
        assert here("assertions", "lint", *words).code == 0
        sent = [json.loads(call["body"])["messages"][-1] for call in provider.log()[before:]]
        data = [json.loads(message["content"]) for message in sent]
        return [([row["text"] for row in one["assertions"]], one["phase"]) for one in data]

    ((_, early),) = looked_at("Gives advice", "--phase", "early")
    ((_, ongoing),) = looked_at("Gives advice")
    assert "turn {k} of {n}" in early
    assert "Answer fully" in ongoing
    here("assertions", "add", "Gives advice", "--advisor", "keeper", "--phase", "early")
    here("assertions", "add", "Names a cost", "--advisor", "keeper")
    both = [(["Gives advice"], early), (["Names a cost"], ongoing)]
    assert looked_at("--advisor", "keeper") == both
    assert looked_at("--advisor", "keeper", "--phase", "early") == both[:1]
    assert here("assertions", "lint", "Gives advice", "--phase", "late").code == 2


def test_suggestions_of_the_judges_model(here: Here, provider: Provider) -> None:
    answer = asked(here, provider)
    reply = json.dumps({"assertions": [{"text": "Asks for the reason"}]})
    provider.script(plain={"pieces": [reply]})
    rows = here("assertions", "suggest", answer, "--json").json
    assert [(row["kind"], row["by"]) for row in rows] == [
        ("judge", "lab:plain"), ("words", "rule"), ("ends_with_question", "rule"),
        ("language", "rule"),
    ]  # fmt: skip
    provider.script(plain={"status": 500})
    run = here("assertions", "suggest", answer)
    assert run.code == 0
    assert "At most 10 words" in run.out
    assert "lab:plain gave nothing" in run.err


def test_out_to_a_file_and_in_again(here: Here, provider: Provider, tmp_path: Path) -> None:
    answer = asked(here, provider)
    here("assertions", "add", "Is brief", "Names a cost", "--answer", answer)
    file = tmp_path / "suite.yaml"
    run = here("assertions", "export", "-o", str(file))
    assert run.code == 0
    assert here("assertions", "export", "keeper").out == file.read_text()
    assert here("assertions", "export", "-o", str(file)).code == 2
    again = here("assertions", "import", str(file))
    assert again.out.splitlines() == ["already here: Is brief", "already here: Names a cost"]
    ids = [row["id"] for row in listed(here)]
    here("assertions", "remove", *ids, "--yes")
    dry = here("assertions", "import", str(file), "--dry-run")
    assert dry.out.startswith("would add Is brief")
    assert listed(here) == []
    back = here("assertions", "import", str(file))
    assert back.code == 0
    assert [row["id"] for row in listed(here)] == ids
    into = here("assertions", "import", str(file), "--advisor", "strategist")
    assert into.code == 0
    assert len(listed(here, "--advisor", "strategist")) == 2
    file.write_text("- {kind: poem}")
    assert here("assertions", "import", str(file), "--advisor", "keeper").code == 1


def test_the_storage_of_another_program(here: Here, tmp_path: Path) -> None:
    record = {
        "responseId": "resp-keeper-1",
        "responseContent": "Wait.",
        "advisorName": "Keeper",
        "conversationContext": {"messages": [{"type": "user", "content": "Now?"}]},
        "assertions": [{"id": "assert-9", "text": "Is brief"}],
        "evaluations": [{"id": "eval-1", "results": [{"assertionId": "assert-9"}]}],
    }
    file = tmp_path / "space.json"
    file.write_text(json.dumps({"space_assertions_resp-keeper-1": json.dumps(record)}))
    run = here("assertions", "import", str(file))
    assert run.out.splitlines() == ["added Is brief", "note: 1 of 1 earlier runs kept as history"]
    assert "evaluation eval-1, from another program" in here("assertions", "show", "assert-9").out


def test_instruct_makes_a_version(here: Here) -> None:
    assert here("advisors", "instruct", "keeper", "Always name a cost.").code == 0
    rows = here("advisors", "history", "keeper", "--json").json
    assert (rows[0]["number"], rows[0]["reason"]) == (2, "instructed")
    assert rows[0]["text"].endswith("\n\nAlways name a cost.")


def test_the_phase_is_chosen_shown_and_changed(here: Here) -> None:
    assert here("assertions", "add", "Gives advice", "--advisor", "keeper").code == 0
    here("assertions", "add", "Asks first", "--advisor", "keeper", "--phase", "early")
    assert [row["phase"] for row in listed(here)] == ["ongoing", "early"]
    lines = here("assertions").out.splitlines()[1:]
    assert ["ongoing" in lines[0], "early" in lines[1]] == [True, True]
    first = listed(here)[0]["id"]
    assert "judged in the phase ongoing" in here("assertions", "show", first).out
    assert here("assertions", "edit", first, "--phase", "early").code == 0
    assert [row["phase"] for row in listed(here)] == ["early", "early"]
    assert here("assertions", "add", "x y", "--advisor", "keeper", "--phase", "late").code == 2


def test_more_contexts_from_other_conversations(here: Here, provider: Provider) -> None:
    here("assertions", "add", "Is brief", "--answer", asked(here, provider))
    none = here("assertions", "contexts", "keeper")
    assert (none.code, "No other conversation with Keeper" in none.err) == (2, True)
    for _ in range(3):
        asked(here, provider)
    assert here("assertions", "contexts", "keeper", "--count", "2").out == "added 2 contexts\n"
    assert here("assertions", "contexts", "keeper").out == "added 1 context\n"
    provider.script(plain={"text": "Keep it."}, judge={"judges": True})
    seen = here("optimize", "keeper", "--estimate")
    assert "1 assertion in 4 contexts" in seen.out, seen.err


def test_typed_words_of_a_check_become_one(here: Here) -> None:
    assert here("assertions", "add", "at most 150 words", "--advisor", "keeper").code == 0
    (row,) = listed(here)
    assert (row["kind"], row["args"]) == ("words", {"max": 150})
