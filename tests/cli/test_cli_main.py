"""The command itself: quick help, one-line errors, exit codes, shared options, quiet ends."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.desk import POLYVOX, SECONDS, Cli, Here, Provider

pytestmark = pytest.mark.contract

HEAVY = ("aiohttp", "fastapi", "msgspec", "pydantic", "rich", "sqlite3", "uvicorn", "yaml")


def one_line(err: str) -> str:
    assert err.count("\n") == 1, err
    assert err.startswith("polyvox: "), err
    return err


def test_help_names_every_command_and_loads_nothing_heavy() -> None:
    code = (
        "import sys; from polyvox.cli.main import start; code = start(['--help']);"
        " print(code, *sys.modules)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    *help_lines, modules = said.stdout.splitlines()
    assert modules.split()[0] == "0"
    assert not set(HEAVY) & set(modules.split())
    text = "\n".join(help_lines)
    for name in (
        "serve", "ask", "chat", "agent", "advisors", "councils", "conversations", "receipt",
        "models", "doctor", "usage",
    ):  # fmt: skip
        assert f"  {name} " in text, name


def test_help_costs_little_processor_time() -> None:
    """0.3 s is the promise; the processor's time is counted, because the machine may be busy."""
    before = os.times()
    subprocess.run([POLYVOX, "--help"], capture_output=True, check=True)
    after = os.times()
    used = after.children_user - before.children_user
    used += after.children_system - before.children_system
    assert used < 0.3


def test_version(here: Here) -> None:
    from polyvox import __version__

    assert here("--version").out == f"polyvox {__version__}\n"


def test_the_package_itself_can_be_run(cli: Cli) -> None:
    """`python -m polyvox` is the same command, by the same name, with the same exit codes."""
    from polyvox import __version__

    def module(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "polyvox", *words],
            capture_output=True, text=True, env=cli.env, timeout=SECONDS, check=False,
        )  # fmt: skip

    told = module("--version")
    assert (told.returncode, told.stdout, told.stderr) == (0, f"polyvox {__version__}\n", "")
    assert module("advisors", "--help").stdout.startswith("Usage: polyvox advisors ")
    wrong = module("frobnicate")
    assert wrong.returncode == 2
    assert "no such command 'frobnicate'" in one_line(wrong.stderr)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["frobnicate"], "no such command 'frobnicate'"),
        (["advisor"], "Did you mean 'advisors'?"),
        (["ask", "--nope", "hi"], "no such option: --nope"),
        (["receipt"], "missing argument 'ANSWER_ID'"),
        (["usage", "--by", "moon"], "'moon' is not one of"),
        (["ask", "hi", "--exchange", "0"], "greater than or equal to 1"),
        (["ask", "hi", "--exchange", "99"], "1 to 4 rounds"),
        (["ask", "hi", "--conversation", "nope"], "There is no conversation nope"),
        (["ask", "hi", "--recipe", "soup"], "Known recipes: agent, companion, council"),
        (["ask", "hi", "--model", "soup"], "provider:name"),
        (["ask", "hi", "--model", "soup:x"], "There is no provider 'soup'"),
        (["ask", "hi", "-a", "nobody"], "Known advisors: builder"),
        (["ask", ""], "empty"),
        (["ask", "\x07"], "control character"),
        (["receipt", "nope"], "There is no answer nope. `polyvox conversations show last` has"),
        (["advisors", "show", "nobody"], "Known advisors:"),
        (["conversations", "show", "last"], "no conversation yet"),
        (["--config", "/nonexistent.toml", "usage"], "no configuration file"),
        (["--database", "mysql://x", "usage"], "must begin with sqlite:///"),
    ],
)
def test_bad_input_is_told_in_one_line_and_ends_with_2(
    here: Here, words: list[str], said: str
) -> None:
    run = here(*words)
    assert run.code == 2
    assert run.out == ""
    assert said in one_line(run.err)


def test_bad_input_leaves_no_empty_conversation(here: Here) -> None:
    assert here("ask", "hi", "-a", "nobody").code == 2
    assert here("ask", "hi", "--recipe", "soup").code == 2
    assert here("conversations", "list", "--json").json == []


def test_a_broken_configuration_names_the_nearest_setting(cli: Cli, here: Here) -> None:
    cli.config.write_text("[limits]\nmax_token = 5\n")
    run = here("usage")
    assert run.code == 2
    assert "limits.max_tokens" in one_line(run.err)
    cli.config.write_text("limits = [\n")
    assert "not valid TOML" in one_line(here("usage").err)


def test_a_database_that_cannot_be_used(cli: Cli, here: Here, tmp_path: Path) -> None:
    run = here("usage", "--database", f"sqlite:///{tmp_path}")
    assert run.code == 2
    assert "is a directory" in one_line(run.err)
    other = tmp_path / "notes.txt"
    other.write_text("not a database, but long enough to look like something " * 30)
    assert "not a database that Polyvox can read" in one_line(
        here("usage", "--database", f"sqlite:///{other}").err
    )
    refused = here("usage", "--database", "postgresql://nobody@127.0.0.1:1/none")
    assert refused.code == 1
    assert "cannot be reached" in one_line(refused.err)


def test_shared_options_stand_before_or_behind_a_command(
    cli: Cli, here: Here, tmp_path: Path
) -> None:
    first = f"sqlite:///{tmp_path / 'first.db'}"
    second = f"sqlite:///{tmp_path / 'second.db'}"
    assert here("--database", first, "councils", "add", "One").code == 0
    assert here("councils", "add", "Two", "--database", second).code == 0
    # The later word wins, and neither is the one in the home.
    names = [row["name"] for row in here("--database", second, "councils", "list", "--json").json]
    assert names == ["Two"]
    rows = here("--database", second, "councils", "list", "--json", "--database", first).json
    assert [row["name"] for row in rows] == ["One"]
    assert here("councils", "list", "--json").json == []


def test_debug_tells_of_each_call_on_stderr_without_texts(cli: Cli, provider: Provider) -> None:
    run = cli("ask", "a secret question", "-a", "keeper", "--debug")
    assert run.out == "A plain answer from plain.\n"
    assert "advisor=keeper" in run.err
    assert "status=200" in run.err
    assert "secret" not in run.err
    trace = cli("ask", "a secret question", "-a", "keeper", POLYVOX_DEBUG="trace")
    assert "a secret question" in trace.err
    assert "A plain answer" in trace.err


def test_nobody_reads_any_more(cli: Cli, provider: Provider) -> None:
    """A pipe that closes early ends the command without a word, and stops what nobody reads."""
    # More than a pipe holds: whoever writes it notices that nobody reads.
    provider.script(default={"tokens": 60_000, "gates": {"59999": "never"}})
    process = cli.begin("ask", "a long one", "-a", "keeper")
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.read(1)
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait(SECONDS) == 1
    process.stderr.close()
    assert process.stdin is not None
    process.stdin.close()
    messages = cli("conversations", "show", "last", "--json").json["messages"]
    assert messages[0]["answers"][0]["state"] == "stopped"


def test_a_bug_is_one_line_and_its_story_is_in_the_log(cli: Cli, here: Here) -> None:
    """A row that no version of the program writes stands for a bug."""
    import sqlite3

    assert here("advisors", "list").code == 0
    with sqlite3.connect(cli.home / "polyvox.db") as database:
        database.execute("UPDATE advisors SET params = '{broken'")
    database.close()
    run = here("advisors", "list")
    assert run.code == 1
    assert run.out == ""
    assert str(cli.home / "polyvox.log") in one_line(run.err)
    assert "Traceback" in (cli.home / "polyvox.log").read_text()
    assert (cli.home / "polyvox.log").stat().st_mode & 0o777 == 0o600
    shown = cli("advisors", "list", POLYVOX_DEBUG="trace")
    assert "Traceback" in shown.err
    assert shown.err.rstrip().splitlines()[-1].startswith("polyvox: something is wrong inside")
