"""`polyvox eval`: a suite at the command line, with its exit codes and its files."""

from __future__ import annotations

import json
import os
import signal
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from tests.cli.desk import JUDGE, POLYVOX, SECONDS, Cli, Here, Provider, suite, with_judge
from tests.cli.terminal import Terminal

pytestmark = pytest.mark.contract


@pytest.fixture(autouse=True)
def judge(provider: Provider, cli: Cli) -> None:
    with_judge(provider, cli)


def test_a_table_and_what_was_spent(here: Here, provider: Provider) -> None:
    suite(here)
    provider.script(judge={**JUDGE, "fails": ["kind"]})
    run = here("eval", "--advisor", "ann")
    assert run.code == 1, run.err
    lines = run.out.splitlines()
    assert lines[0].split() == ["outcome", "passed", "95", "%", "advisor", "assertion"]
    assert sum(line.startswith("pass") for line in lines) == 2
    assert sum(line.startswith("fail") for line in lines) == 1
    assert "fail: It is kind.: It is so, and the assertion does not hold." in run.out
    assert "2 of 3 assertions passed, 1 failed." in run.out
    assert "6 calls" in run.out


def test_a_failing_assertion_exits_one(here: Here, provider: Provider) -> None:
    suite(here)
    assert here("eval").code == 0
    provider.script(judge={**JUDGE, "fails": ["kind"]})
    run = here("eval")
    assert run.code == 1
    assert "67% passed, less than 100%." in run.err
    assert here("eval", "--fail-under", "0").code == 0


@pytest.mark.parametrize(("least", "code"), [("0.5", 0), ("0.66", 0), ("0.7", 1), ("1", 1)])
def test_less_than_wanted_exits_one(here: Here, provider: Provider, least: str, code: int) -> None:
    suite(here)
    provider.script(judge={**JUDGE, "fails": ["kind"]})
    run = here("eval", "--fail-under", least)
    assert run.code == code
    assert ("less than" in run.err) == (code == 1)


def test_what_could_not_be_found_out_is_not_passed_over(here: Here, provider: Provider) -> None:
    suite(here)
    provider.script(judge=[{**JUDGE}, {**JUDGE}, {"status": 500}])
    some = here("eval", "--fail-under", "0.5")
    assert some.code == 3
    assert "could not be found out" in some.out
    provider.script(judge={"status": 500})
    none = here("eval")
    assert none.code == 3
    assert "Nothing could be found out." in none.err
    provider.clear()
    provider.script(judge=JUDGE)
    again = here("eval", "--retry-errors", "--fail-under", "1")
    assert again.code == 0, again.err
    assert "3 of 3 assertions passed." in again.out
    asked = [one["model"] for one in provider.log()]
    assert asked == ["judge"] * 3, "the advisor's answers were kept"


def test_a_fail_counts_more_than_what_could_not_be_found_out(
    here: Here, provider: Provider
) -> None:
    suite(here)
    provider.script(judge=[{**JUDGE, "fails": ["price", "kind", "short"]}, JUDGE, {"status": 500}])
    run = here("eval")
    assert run.code == 1
    assert "50% passed, less than 100%." in run.err


def test_what_was_not_run_is_not_told_as_an_error(
    here: Here, cli: Cli, provider: Provider, tmp_path: Path
) -> None:
    suite(here)
    text = cli.config.read_text()
    cli.config.write_text(text.replace("[limits]\n", "[limits]\ncost_per_day = 0\n"))
    file = tmp_path / "run.xml"
    run = here("eval", "--junit", str(file))
    assert run.code == 1
    assert [line.split()[:2] for line in run.out.splitlines()[1:4]] == [["not", "run"]] * 3
    root = ET.fromstring(file.read_text())
    counted = [root.attrib[name] for name in ("tests", "failures", "errors", "skipped")]
    assert counted == ["3", "0", "0", "3"]
    assert [case.tag for case in root.findall("*/testcase/*")] == ["skipped"] * 3


def test_only_what_failed(here: Here, provider: Provider) -> None:
    suite(here)
    early = here("eval", "--failing")
    assert early.code == 2
    assert "no earlier run" in early.err
    provider.script(judge={**JUDGE, "fails": ["kind"]})
    here("eval", "--advisor", "ann")
    provider.script(judge=JUDGE)
    run = here("eval", "--advisor", "ann", "--failing", "--json", "-")
    assert [one["text"] for one in run.json["results"]] == ["It is kind."]


def test_files_for_machines(here: Here, provider: Provider, tmp_path: Path) -> None:
    suite(here)
    provider.script(judge={**JUDGE, "fails": ["kind"]})
    as_json, as_junit = tmp_path / "run.json", tmp_path / "run.xml"
    run = here("eval", "--repeat", "3", "--json", str(as_json), "--junit", str(as_junit))
    assert run.code == 1, run.err
    data: dict[str, Any] = json.loads(as_json.read_text())
    assert (data["repeat"], data["summary"]["failed"]) == (3, 1)
    assert len(data["verdicts"]) == 6, "each was decided after two"
    root = ET.fromstring(as_junit.read_text())
    assert (root.attrib["tests"], root.attrib["failures"]) == ("3", "1")
    assert {case.attrib["classname"] for case in root.iter("testcase")} == {"Ann"}
    full = here("eval", "--repeat", "3", "--full", "--json", "-")
    assert len(full.json["verdicts"]) == 9
    nowhere = here("eval", "--json", str(tmp_path / "no" / "where.json"))
    assert nowhere.code == 2
    assert "could not be written" in nowhere.err


def test_compared_with_a_blessed_run(here: Here, provider: Provider) -> None:
    suite(here)
    missing = here("eval", "--compare", "nothing")
    assert missing.code == 2
    assert "There is no evaluation" in missing.err
    blessed = here("eval", "--advisor", "ann", "--bless")
    assert "blessed" in blessed.err
    same = here("eval", "--advisor", "ann", "--compare", "blessed")
    assert same.code == 0
    assert "nothing has changed" in same.out
    provider.script(judge={**JUDGE, "fails": ["kind"]})
    worse = here("eval", "--advisor", "ann", "--compare", "blessed")
    assert worse.code == 1
    assert "went from pass to fail: It is kind." in worse.out


def test_bad_input(here: Here) -> None:
    for words in (["--advisor", "nobody"], ["--repeat", "0"], ["--fail-under", "2"], []):
        run = here("eval", *words)
        assert run.code == 2, words
        assert len(run.err.strip().splitlines()[-1]) > 10
        assert "Traceback" not in run.err
    assert "There are no active assertions" in here("eval").err
    assert "no run yet" in here("eval", "--retry-errors").err


def test_checks_in_code_work_with_nothing_but_the_embedded_model(here: Here, cli: Cli) -> None:
    """No key, no network: what a judge would be needed for is an error that says why."""
    suite(here)
    made = here(
        "assertions", "add", "--advisor", "ann", "--kind", "words", "--max", "50",
        "--ask", "How much?",
    )  # fmt: skip
    assert made.code == 0, made.err
    cli.config.write_text(
        cli.config.read_text()
        .replace('judge = "lab:judge"\n', "")
        .replace('default = "lab:plain"', 'default = "local:smollm2"')
    )
    run = here("eval", "--advisor", "ann")
    assert run.code == 3, run.err
    assert "too small" in run.err
    outcomes = [line.split()[0] for line in run.out.splitlines()[1:5]]
    assert sorted(outcomes) == ["error", "error", "error", "pass"]


@pytest.mark.slow
def test_a_killed_run_goes_on_and_pays_only_for_what_was_in_flight(
    here: Here, cli: Cli, provider: Provider
) -> None:
    suite(here)
    cli.config.write_text(cli.config.read_text() + "[evaluation]\nconcurrency = 1\n")
    provider.script(ann=[{"text": "12 francs."}, {"text": "13 francs.", "hold": "never"}])
    running = cli.begin("eval", "--advisor", "ann")
    provider.arrived("ann", 2)
    os.kill(running.pid, signal.SIGKILL)
    running.communicate(timeout=SECONDS)
    provider.script(ann={"text": "14 francs."})
    run = here("eval", "--advisor", "ann", "--retry-errors", "--json", "-")
    assert run.code == 0, run.err
    assert run.json["summary"]["passed"] == 3
    asked = [one["model"] for one in provider.log()]
    assert asked.count("ann") == 3 + 1
    assert asked.count("judge") <= 3 + 1
    texts = {one["sample_text"] for one in run.json["verdicts"]}
    assert texts == {"12 francs.", "14 francs."}


@pytest.mark.slow
def test_ctrl_c_calls_it_off_and_closes_the_call(here: Here, cli: Cli, provider: Provider) -> None:
    suite(here)
    provider.script(ann={"text": "one two three", "gates": {"1": "never"}})
    running = cli.begin("eval", "--advisor", "ann", "--assertion", first(here))
    provider.arrived("ann")
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=SECONDS)
    assert running.returncode == 130
    assert "called off" in err
    (call,) = [one for one in provider.log() if one["model"] == "ann"]
    assert call["closed_at"] is not None


def first(here: Here) -> str:
    found = here("assertions", "list", "--json").json
    rows = found["items"] if isinstance(found, dict) else found
    return str(rows[0]["id"])


@pytest.mark.slow
def test_a_terminal_shows_how_far_it_is(here: Here, cli: Cli, provider: Provider) -> None:
    suite(here)
    provider.script(judge=[JUDGE, {**JUDGE, "hold": "on"}])
    cli.config.write_text(cli.config.read_text() + "[evaluation]\nconcurrency = 1\n")
    with Terminal([POLYVOX, "eval", "--advisor", "ann"], cli.env, 120, 30) as terminal:
        live = terminal.until(lambda screen: "33%" in screen.text)
        assert "evaluating" in live
        provider.open("on")
        assert terminal.end() == 0
        done = terminal.screen.text
    assert "evaluating" not in done
    assert "3 of 3 assertions passed." in done
