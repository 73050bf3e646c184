"""`polyvox chat` and `polyvox agent`: talking line by line, in a pipe and in a terminal."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.cli.desk import POLYVOX, Cli, Here, Provider, Run
from tests.cli.terminal import Terminal

pytestmark = pytest.mark.contract


def chat(cli: Here, *lines: str, words: tuple[str, ...] = ("chat",)) -> Run:
    return cli(*words, stdin="".join(f"{line}\n" for line in lines))


def last_turn(cli: Here) -> list[dict[str, Any]]:
    messages = cli("conversations", "show", "last", "--json").json["messages"]
    answers: list[dict[str, Any]] = messages[-1]["answers"]
    return answers


def test_lines_are_messages_and_slashes_are_commands(here: Here, provider: Provider) -> None:
    provider.script(default={"text": "Answer."})
    run = chat(here, "/only keeper @BUILDER", "first", "/new", "/all", "/only keeper", "second")
    assert run.code == 0
    assert run.out == "## Keeper\n\nAnswer.\n\n## Builder\n\nAnswer.\n\nAnswer.\n"
    listed = here("conversations", "list", "--json").json
    assert [one["title"] for one in listed] == ["second", "first"]


def test_looking_in_leaves_nothing_behind(here: Here) -> None:
    assert chat(here, "/advisors", "/help", "/quit", "never sent").code == 0
    assert here("conversations", "list", "--json").json == []


def test_help_lists_every_command_and_an_unknown_one_names_the_nearest(here: Here) -> None:
    run = chat(here, "/help", "/exlude keeper", "/xyzzy")
    for name in (
        "help", "new", "advisors", "only", "all", "retry", "regenerate", "exclude", "include",
        "synthesize", "exchange", "receipt", "title", "quit",
    ):  # fmt: skip
        assert f"/{name}" in run.out, name
    assert "There is no command /exlude. Did you mean /exclude?" in run.err
    assert "There is no command /xyzzy." in run.err


def test_mistakes_are_told_and_the_talk_goes_on(here: Here) -> None:
    run = chat(
        here, "/retry", "/receipt", "/only", "/only nobody", "/exchange many", "/synthesize",
        "/title", "/only keeper", "hi", "/receipt nobody", "/retry", "/exclude",
    )  # fmt: skip
    assert run.code == 0
    assert run.out == "A plain answer from plain.\n"
    lines = run.err.splitlines()
    assert sum("Nothing has been said yet" in line for line in lines) == 3
    assert any("Known advisors:" in line for line in lines)
    assert any("'many' is not a number of rounds" in line for line in lines)
    assert any("title" in line and "empty" in line for line in lines)
    assert any("'nobody' did not answer" in line for line in lines)
    assert any("There is nothing to retry" in line for line in lines)
    assert not any("Traceback" in line for line in lines)


def test_retry_completes_what_failed(here: Here, provider: Provider) -> None:
    provider.script(plain=[{"status": 500, "error": "On fire."}, {"text": "Better now."}])
    run = chat(here, "/only keeper", "hi", "/retry")
    assert "Better now." in run.out
    old, new = last_turn(here)
    assert (old["state"], old["current"]) == ("failed", False)
    assert (new["state"], new["version"]) == ("completed", 2)


def test_regenerate_exclude_and_include(here: Here, provider: Provider) -> None:
    provider.script(plain=[{"text": "One."}, {"text": "Two."}])
    chat(here, "/only keeper", "hi", "/regenerate keeper", "/exclude keeper")
    old, new = last_turn(here)
    assert (old["text"], old["current"]) == ("One.", False)
    assert (new["text"], new["excluded"]) == ("Two.", True)
    words = ("chat", "--conversation", "last")
    chat(here, "/include Keeper", "/exclude message", words=words)
    message = here("conversations", "show", "last", "--json").json["messages"][-1]
    assert message["excluded"] is True
    assert message["answers"][-1]["excluded"] is False
    chat(here, "/include message", words=words)
    assert here("conversations", "show", "last", "--json").json["messages"][-1]["excluded"] is False


def test_synthesis_exchange_receipt_and_title(here: Here, provider: Provider) -> None:
    run = chat(
        here, "/only keeper builder", "hi", "/synthesize", "/exchange 1", "/receipt keeper",
        "/title A name", "/advisors",
    )  # fmt: skip
    assert run.code == 0
    assert "## Synthesis" in run.out
    assert "## Builder (round 1)" in run.out
    assert "the others' words to respond to" in run.out  # the receipt of the newest answer
    assert "* keeper" in run.out
    assert "  listener" in run.out
    assert here("conversations", "list", "--json").json[0]["title"] == "A name"


def test_a_message_may_begin_with_a_slash(here: Here, provider: Provider) -> None:
    chat(here, "/only keeper", "//new is a command")
    body = msgspec.json.decode(provider.log()[0]["body"])
    assert body["messages"][-1]["content"].endswith("/new is a command")


def test_chat_goes_on_with_a_conversation(here: Here, provider: Provider) -> None:
    first = here("ask", "alpha", "-a", "keeper", "--json").json["conversation"]
    chat(here, "/only keeper", "beta", words=("chat", "-c", first))
    chat(here, "/only keeper", "gamma", words=("chat", "--conversation", "last"))
    messages = here("conversations", "show", first, "--json").json["messages"]
    assert [one["content"] for one in messages] == ["alpha", "beta", "gamma"]
    assert here("chat", "--conversation", "nope").code == 2
    assert here("chat", "--recipe", "soup").code == 2


def test_an_agent_is_found_by_many_names_and_keeps_its_conversation(
    here: Here, provider: Provider
) -> None:
    for name in ("keeper", "@keeper", "KEEPER", "Keeper", "@ai-Keeper"):
        assert here("agent", name, "--say", f"I call you {name}").code == 0, name
    here("agent", "builder", "--say", "somebody else")
    here("agent", "keeper", "--say", "again")
    listed = here("conversations", "list", "--json").json
    assert [one["recipe"] for one in listed] == ["agent", "agent"]
    assert listed[0]["title"] == "I call you keeper"
    body = msgspec.json.decode(provider.log()[-1]["body"])
    said = [one["content"] for one in body["messages"] if one["role"] == "user"]
    assert said[0] == "I call you keeper"
    assert said[-1] == "again"
    assert len(said) == 6


def test_an_agents_session_is_chosen_or_begun(here: Here, provider: Provider) -> None:
    assert here("agent", "keeper", "--say", "one").out == "A plain answer from plain.\n"
    first = here("conversations", "list", "--json").json[0]["id"]
    here("agent", "keeper", "--new", "--say", "two")
    here("agent", "keeper", "--session", first, "--say", "three")
    messages = here("conversations", "show", first, "--json").json["messages"]
    assert [one["content"] for one in messages] == ["one", "three"]
    wrong = here("agent", "builder", "--session", first, "--say", "x")
    assert wrong.code == 2
    assert "is not one with Builder" in wrong.err


def test_an_unknown_agent_is_refused_with_the_known_ones(here: Here, provider: Provider) -> None:
    run = here("agent", "nobody", "--say", "hi")
    assert run.code == 2
    assert "There is no agent 'nobody'. Known are: empiricist, strategist" in run.err
    assert provider.log() == []


def test_an_agents_failure_and_its_lines(here: Here, provider: Provider) -> None:
    run = chat(here, "one", "two", words=("agent", "keeper"))
    assert run.out == "A plain answer from plain.\n\nA plain answer from plain.\n"
    piped = here("agent", "keeper", "--say", "-", stdin="all\nof it\n")
    assert piped.code == 0
    body = msgspec.json.decode(provider.log()[-1]["body"])
    assert body["messages"][-1]["content"] == "all\nof it"
    provider.script(plain={"status": 500, "error": "On fire."})
    failed = here("agent", "keeper", "--say", "hi")
    assert failed.code == 1
    assert "On fire." in failed.err


@pytest.mark.slow
def test_chat_in_a_terminal(cli: Cli, provider: Provider) -> None:
    provider.script(
        plain=[{"text": "Hello."}, {"pieces": ["Half a", " word"], "gates": {"1": "never"}}]
    )
    with Terminal([POLYVOX, "chat"], cli.env, 110, 30) as terminal:
        terminal.until("/help lists the commands")
        terminal.type("/only keeper\r")
        terminal.until("Only keeper from now on")
        terminal.type("hi\r")
        terminal.until("conversation 0")
        assert "Hello." in terminal.screen.text
        terminal.type("and now?\r")
        terminal.until("Half a")
        terminal.type("\x03")  # stops the answer, and the talk goes on
        terminal.until("(stopped; what had come is kept)")
        terminal.until(lambda screen: screen.text.endswith("›"))
        terminal.press("\x03", lambda screen: "Ctrl-C again" in screen.text)
        assert terminal.process.poll() is None  # one alone does not leave
        terminal.press("\x03", lambda screen: False)
        assert terminal.end() == 130
    assert "and now?" in (cli.home / "chat_history").read_text()
    assert last_turn(cli)[0]["state"] == "stopped"
    with Terminal([POLYVOX, "chat", "-c", "last"], cli.env, 110, 30) as terminal:
        terminal.until("going on with “hi”")
        terminal.type("\x1b[A")  # what was typed last time is remembered
        terminal.until("› and now?")
        terminal.type("\x15\x04")
        assert terminal.end() == 0


def test_chat_with_a_council_and_a_mention_of_nobody(here: Here) -> None:
    here("councils", "add", "House", "-a", "keeper", "-a", "builder")
    run = chat(here, "@kepeer hi", "/new", "again", words=("chat", "--council", "house"))
    assert "Whom do you mean by @kepeer?" in run.err
    assert run.out.count("A plain answer") == 2
    assert here("chat", "--council", "nobody").code == 2
