"""`polyvox eval verdicts`, `overrule`, `agreement`: what a person says of a judge's word."""

from __future__ import annotations

from typing import Any

import pytest
from tests.cli.desk import JUDGE, Cli, Here, Provider, suite, with_judge

pytestmark = pytest.mark.contract


@pytest.fixture(autouse=True)
def judged(provider: Provider, cli: Cli, here: Here) -> None:
    """A run in which the judge failed one of three assertions."""
    with_judge(provider, cli)
    suite(here)
    provider.script(judge={**JUDGE, "fails": ["kind"]})
    run = here("eval", "--advisor", "ann")
    assert run.code == 1, run.err


def verdicts(here: Here) -> dict[str, Any]:
    """Those of the newest run, by what was asserted."""
    run = here("eval", "verdicts", "--json")
    assert run.code == 0, run.err
    return {one["text"]: one for one in run.json}


def test_the_verdicts_of_a_run_are_listed(here: Here) -> None:
    known = verdicts(here)
    assert {text: one["outcome"] for text, one in known.items()} == {
        "It names a price.": "pass",
        "It is kind.": "fail",
        "It is short.": "pass",
    }
    kind = known["It is kind."]
    shown = here("eval", "verdicts", kind["evaluation_id"])
    assert shown.code == 0, shown.err
    heading, *rows = shown.out.splitlines()
    assert heading.split() == ["verdict", "outcome", "assertion", "reason"]
    assert len(rows) == 3
    (row,) = [line for line in rows if kind["id"] in line]
    assert row.split(maxsplit=5)[1:2] == ["fail"]
    assert row.endswith(f"It is kind.{' ' * (len('It names a price.') - 11)}  {kind['reason']}")


def test_your_word_counts_and_can_be_taken_back(here: Here) -> None:
    kind = verdicts(here)["It is kind."]
    said = here("eval", "overrule", kind["id"], "pass")
    assert (said.code, said.out) == (0, "pass (judged: fail): It is kind.\n")
    assert "pass (judged: fail)" in here("eval", "verdicts").out
    assert "Nothing failed" in here("eval", "--advisor", "ann", "--failing").err

    back = here("eval", "overrule", kind["id"], "--off", "--json")
    assert back.code == 0, back.err
    assert (back.json["outcome"], back.json["overruled"]) == ("fail", None)
    assert back.json["sample_text"] == kind["sample_text"]
    again = here("eval", "--advisor", "ann", "--failing", "--json", "-")
    assert [one["text"] for one in again.json["results"]] == ["It is kind."]


def test_agreement_is_told_with_its_counts(here: Here) -> None:
    nothing = here("eval", "agreement")
    assert (nothing.code, nothing.out) == (0, "")
    assert "No verdict has a label yet" in nothing.err
    known = verdicts(here)
    for text, outcome in (
        ("It names a price.", "pass"),  # as the judge said
        ("It is short.", "fail"),
        ("It is kind.", "fail"),  # as the judge said
    ):
        assert here("eval", "overrule", known[text]["id"], outcome).code == 0
    run = here("eval", "agreement")
    assert run.code == 0, run.err
    heading, everything, judge, *each = run.out.splitlines()
    assert heading.split() == ["labels", "TPR", "TNR", "kappa", "of"]
    assert everything.split() == ["3", "100%", "(1/1)", "50%", "(1/2)", "0.40", "everything"]
    assert judge.split()[:6] == everything.split()[:6]
    assert "judge lab:judge (" in judge
    by_text = {" ".join(line.split()[-3:]): line.split() for line in each}
    assert by_text["It is short."][:4] == ["1", "-", "0%", "(0/1)"]
    assert by_text["It is kind."][:5] == ["1", "-", "100%", "(1/1)", "-"]

    told = here("eval", "agreement", "--advisor", "ann", "--json").json
    assert (told["overall"]["n"], told["overall"]["judge_pass"]) == (3, 1)
    assert here("advisors", "add", "Ben", "--description", "Is calm.").code == 0
    of_ben = here("eval", "agreement", "--advisor", "ben", "--json").json
    assert of_ben["overall"]["n"] == 0


def test_what_was_not_found_out_cannot_be_overruled(here: Here, provider: Provider) -> None:
    provider.script(judge={"status": 500})
    here("eval", "--advisor", "ann")
    error = verdicts(here)["It is kind."]
    assert error["outcome"] == "error"
    run = here("eval", "overrule", error["id"], "pass")
    assert run.code == 2
    assert "nothing was found out that could be overruled" in run.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["overrule"], "missing argument"),
        (["overrule", "v1"], "Say pass or fail; --off takes it back."),
        (["overrule", "v1", "perhaps"], "'perhaps' is no outcome."),
        (["overrule", "v1", "pass", "--off"], "Leave 'pass' or --off out."),
        (["overrule", "v1", "pass"], "There is no verdict v1. Those of a run:"),
        (["verdicts", "r1"], "There is no evaluation r1."),
        (["agreement", "--advisor", "nobody"], "There is no advisor 'nobody'."),
        (["--advisor", "ann", "agreement"], "--advisor before agreement belongs to a run."),
        (["--full", "verdicts"], "--full before verdicts belongs to a run."),
        (["agreements"], "no such command"),
    ],
)
def test_bad_input_is_told_in_a_line(here: Here, words: list[str], said: str) -> None:
    run = here("eval", *words)
    assert run.code == 2
    assert said in run.err
    assert len(run.err.splitlines()) == 1
    assert run.out == ""


def test_the_options_of_all_commands_stand_on_either_side(here: Here, cli: Cli) -> None:
    """`eval` is a command and a group: both take --config, wherever it stands."""
    wrong = ["--config", str(cli.config.with_name("none.toml"))]
    for words in ([*wrong, "agreement"], ["agreement", *wrong], [*wrong, "--failing"]):
        run = here("eval", *words)
        assert run.code == 2, words
        assert "none.toml" in run.err
