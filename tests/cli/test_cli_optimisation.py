"""`polyvox optimize`: estimate, run, show, decide; its exit codes."""

from __future__ import annotations

import json
import os
import signal
from typing import Any

import pytest
from tests.cli.desk import SECONDS, Cli, Here, Provider, Run

pytestmark = pytest.mark.contract

PASS: dict[str, Any] = {"judges": True}
FAIL: dict[str, Any] = {"judges": True, "fails": ["kind"]}
NEW = "Names prices. Always be kind."


@pytest.fixture(autouse=True)
def workshop(provider: Provider, cli: Cli, here: Here) -> None:
    """An advisor with an assertion, and models that judge and rewrite."""
    text = cli.config.read_text()
    models = '[models]\njudge = "lab:judge"\noptimizer = "lab:writer"\n'
    cli.config.write_text(text.replace("[models]\n", models) + "[evaluation]\nconcurrency = 1\n")
    reply = json.dumps({"reason": "It is cold.", "instructions": NEW})
    provider.script(judge=FAIL, writer={"text": reply})
    made = here("advisors", "add", "Ann", "--description", "Names prices.", "--model", "lab:ann")
    assert made.code == 0, made.err
    added = here("assertions", "add", "It is kind.", "--advisor", "ann", "--ask", "How much?")
    assert added.code == 0, added.err


def improving(provider: Provider) -> None:
    """The judge fails the prompt as it was and passes the new one, in the order of a run."""
    provider.script(judge=[FAIL] * 3 + [PASS] * 2 + [FAIL, PASS] * 5)


def run_id(run: Run) -> str:
    return run.out.rsplit("run ", 1)[1].split(")")[0]


def test_an_estimate_begins_nothing(here: Here, provider: Provider) -> None:
    run = here("optimize", "ann", "--estimate", "--iterations", "3")
    assert run.code == 0, run.err
    assert "Ann: 1 assertion, 0 guards, 3 iterations" in run.out
    assert "judge lab:judge, rewriter lab:writer" in run.out
    assert "price unknown if it goes all the way" in run.out
    assert "1 assertion in 1 context can show only a change of more than" in run.out
    assert "The price of a model is not known" in run.err
    assert provider.log() == []
    told = here("optimize", "ann", "--estimate", "--json").json
    assert told["estimate"]["rewriter_calls"] == 10


def test_an_improvement_is_shown_accepted_and_undone(here: Here, provider: Provider) -> None:
    improving(provider)
    run = here("optimize", "ann")
    assert run.code == 0, run.err
    assert ["0/5", "5/5", "It", "is", "kind."] in [line.split() for line in run.out.splitlines()]
    assert "attempt 1 (from 0) scored 100%" in run.out
    assert "- Names prices." in run.out
    assert f"+ {NEW}" in run.out
    assert "Improved: 0% before, 100% after" in run.out
    assert "1/10, best 100% (before 0%)" in run.err
    assert "add some with: polyvox assertions contexts ann --count 7" in run.err
    made = run_id(run)
    assert f"--decide accept:{made}" in run.err

    assert here("optimize", "--decide", f"accept:{made}").out == "Ann: accepted\n"
    assert NEW in here("advisors", "show", "ann").out
    again = here("optimize", "--decide", f"accept:{made}")
    assert again.code != 0
    assert "accepted already" in again.err
    told = here("optimize", "--decide", f"rollback:{made}", "--json").json
    assert told["decision"] == "rolled back"
    assert NEW not in here("advisors", "show", "ann").out
    shown = here("optimize", "--show", made, "--json").json
    assert (shown["verdict"], shown["decision"]) == ("improved", "rolled back")


def test_it_can_be_accepted_at_once(here: Here, provider: Provider) -> None:
    improving(provider)
    run = here("optimize", "ann", "--accept", "--json")
    assert run.code == 0, run.err
    assert run.json["verdict"] == "improved"
    assert NEW in here("advisors", "show", "ann").out


def test_nothing_better_exits_one(here: Here) -> None:
    run = here("optimize", "ann", "--iterations", "2")
    assert run.code == 1
    assert "None of 2 attempts did clearly better" in run.out
    rejected = here("optimize", "--decide", f"reject:{run_id(run)}")
    assert (rejected.code, rejected.out) == (0, "Ann: rejected\n")


def test_what_failed_goes_on(here: Here, provider: Provider) -> None:
    provider.script(writer={"status": 500, "error": "closed"})
    run = here("optimize", "ann", "--iterations", "1")
    assert run.code == 1
    assert "failed: The rewriter could not be asked" in run.out
    before = len([one for one in provider.log() if one["model"] == "ann"])
    provider.script(writer={"text": json.dumps({"reason": "r", "instructions": NEW})})
    again = here("optimize", "--resume", run_id(run))
    assert "None of 1 attempt did clearly better" in again.out
    after = len([one for one in provider.log() if one["model"] == "ann"])
    assert (before, after) == (3, 5), "the baseline's answers were kept"


def test_ctrl_c_calls_it_off(cli: Cli, provider: Provider, here: Here) -> None:
    provider.script(ann={"hold": "never"})
    process = cli.begin("optimize", "ann")
    provider.arrived("ann")
    os.kill(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=SECONDS)
    assert process.returncode != 0
    assert "called off" in err
    made = err.split("run ", 1)[1].split(":")[0]
    assert here("optimize", "--show", made, "--json").json["state"] == "cancelled"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "Which advisor?"),
        (["nobody"], "no advisor"),
        (["ann", "--engine", "magic"], "no engine"),
        (["ann", "--budget", "1"], "no budget can be kept"),
        (["ann", "--holdout", "0.5"], "too few"),
        (["ann", "--target", "phase:early"], "not early"),
        (["ann", "--assertion", "nothing"], "no assertion"),
        (["--decide", "perhaps"], "is no decision"),
        (["--show", "nothing"], "no optimisation"),
    ],
)
def test_bad_input_is_told(here: Here, words: list[str], said: str) -> None:
    run = here("optimize", *words)
    assert run.code == 2 or said.startswith("no ")
    assert run.code != 0
    assert said in run.err
