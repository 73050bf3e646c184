"""`polyvox chat --recipe companion` and `polyvox trace`."""

from __future__ import annotations

import msgspec
import pytest
from tests.cli.desk import POLYVOX, Cli, Here, Provider
from tests.cli.terminal import Terminal

from polyvox.companion.gate import NO_GATE

STANDING = "Always answer in one sentence."


def reading() -> dict[str, str]:
    return {"text": msgspec.json.encode(NO_GATE).decode()}


def test_a_companion_is_talked_with_alone_and_its_talk_goes_on(
    here: Here, provider: Provider
) -> None:
    provider.script(plain=[reading(), {"text": "Good to see you."}])
    first = here("chat", "--recipe", "companion", stdin="Hello you.\n")
    assert (first.code, first.out) == (0, "## Harbor\n\nGood to see you.\n")
    provider.script(plain=[reading(), {"text": "Still here."}])
    again = here("chat", "--persona", "harbor", stdin="And again.\n")
    assert again.out == "## Harbor\n\nStill here.\n"
    (talk,) = here("conversations", "list", "--json").json
    shown = here("conversations", "show", talk["id"], "--json").json
    assert shown["recipe"] == "companion"
    turn = shown["messages"][-1]
    assert [one["content"] for one in shown["messages"]] == ["Hello you.", "And again."]
    told = here("trace", turn["turn_id"]).out
    assert "reading   lab:plain read your message\n" in told
    assert "posture   keeps you company, with some pressure (" in told
    assert "attempt   lab:plain: answered (HTTP 200)\n" in told
    assert ("hearing you" in told, "speaking" in told, "the model " in told) == (False, False, True)
    assert "blocks    persona → posture" in told
    assert "message 2" in told
    data = here("trace", turn["turn_id"], "--json").json
    assert data["startbrief_runtime"]["userTurnsSeen"] == 2
    assert data["answer_id"] == turn["answers"][0]["answer_id"]
    none = here("trace", "none")
    assert (none.code, "`polyvox conversations show last --json` has" in none.err) == (2, True)


def test_a_copy_of_the_recipe_is_talked_with_alone(
    cli: Cli, here: Here, provider: Provider
) -> None:
    with cli.config.open("a") as file:
        file.write('[recipes.evening]\nbase = "companion"\n')
    provider.script(plain=[reading(), {"text": "Good evening."}])
    first = here("chat", "--recipe", "evening", "--persona", "flint", stdin="Hello you.\n")
    assert (first.code, first.out) == (0, "## Flint\n\nGood evening.\n")
    provider.script(plain=[reading(), {"text": "Still here."}])
    again = here("chat", "-c", "last", stdin="And again.\n")
    assert again.out == "## Flint\n\nStill here.\n"
    (talk,) = here("conversations", "list", "--json").json
    assert talk["recipe"] == "evening"
    (turn, _) = here("conversations", "show", talk["id"], "--json").json["messages"]
    shown = here("receipt", turn["answers"][0]["answer_id"]).out
    assert "The council as it was" not in shown
    none = here("chat", "--recipe", "agent", "--persona", "flint", stdin="Hello.\n")
    assert "A persona is no part of the recipe agent." in none.err


def test_help_is_printed_under_a_message_of_danger_and_nowhere_else(
    here: Here, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    danger = {"text": reading()["text"].replace('"risk":"LOW"', '"risk":"CRISIS"')}
    provider.script(plain=[reading(), {"text": "Hello."}, danger, {"text": "I am here."}])
    monkeypatch.setenv("POLYVOX_SAFETY_RESOURCES", "Call 112, or somebody who can come.")
    told = here("chat", "--persona", "flint", stdin="Hello.\nI want to die tonight.\n")
    assert told.out == "## Flint\n\nHello.\n\n## Flint\n\nI am here.\n"
    assert told.err.count("Call 112, or somebody who can come.") == 1
    provider.script(plain=[{"text": "no reading"}, {"text": "And now?"}])
    monkeypatch.delenv("POLYVOX_SAFETY_RESOURCES")
    asked = here("ask", "And still.", "--conversation", "last")
    assert "Call your local emergency number" in asked.err, "it goes on, whoever reads"


def lines(*said: str) -> str:
    return "".join(f"{line}\n" for line in said)


def test_only_commands_for_one_companion_are_listed(here: Here, provider: Provider) -> None:
    told = here("chat", "--recipe", "companion", stdin=lines("/help", "/only keeper"))
    names = [line.split()[0] for line in told.out.splitlines()[:-1]]
    assert names == [
        "/help", "/new", "/retry", "/regenerate", "/exclude", "/include", "/receipt", "/why",
        "/memory", "/veto", "/remember", "/end", "/title", "/quit",
    ]  # fmt: skip
    assert ("SLUG" in told.out, "@slug" in told.out) == (False, False)
    assert "There is no command /only." in told.err
    provider.script(plain=[reading(), {"text": "Hello."}])
    here("chat", "--recipe", "companion", stdin=lines("Hello you."))
    later = here("chat", "-c", "last", stdin=lines("/exclude", "/exchange", "/help"))
    assert "What Harbor said is left out of later requests." in later.err
    assert "There is no command /exchange." in later.err


def test_what_a_session_is_told_can_be_set_aside(here: Here, provider: Provider) -> None:
    focus = "the exam in statistics"
    here("memory", "profile", "--set", msgspec.json.encode({"instructions": [STANDING]}).decode())
    here("memory", "profile", "--set", msgspec.json.encode({"current_focus": focus}).decode())
    provider.script(plain=[reading(), {"text": "One."}, reading(), {"text": "Two."}])
    first = here(
        "chat", "--recipe", "companion",
        stdin=lines("/memory", "/veto", "/veto 99", "/veto 2", "/memory", "First words.", "/memory",
                    "/veto 2", "/memory", "Second words."),
    )  # fmt: skip
    lists = first.out.split("Told ")[1:]
    rule = f"  2  you asked for this: {STANDING}"
    assert [one.split(":")[0] for one in lists] == ["at the start"] * 2 + ["when it began"] * 2
    assert ["(set aside)" in one for one in lists] == [False, True, True, False]
    assert all(rule in one for one in lists)
    assert all(
        f"Used only if it comes up:\n  3  about you: In focus: {focus}\n" in one for one in lists
    )
    assert first.err.count("Which one? /veto N; /memory lists them") == 2
    assert f"Set aside in this session: {STANDING}" in first.err
    assert f"Used again: {STANDING}" in first.err
    asked = [one["body"] for one in provider.log()]
    for words, told in (("First words.", False), ("Second words.", True)):
        bodies = [body for body in asked if _last(body) == words]
        assert any(STANDING in body for body in bodies) == told, words


def _last(body: str) -> str:
    text: str = msgspec.json.decode(body)["messages"][-1]["content"]
    return text


def test_a_session_is_ended_and_an_answer_explained(here: Here, provider: Provider) -> None:
    provider.script(plain=[reading(), {"text": "Good to see you."}])
    said = lines("/end", "/why", "Hello you.", "/why", "/end", "/end")
    run = here("chat", "--recipe", "companion", stdin=said)
    assert "posture   keeps you company" in run.out
    assert run.err.count("No session is going on. Your next message begins one.") == 2
    assert "You ended it here." in run.err
    assert "Nothing has been said yet." in run.err
    (session,) = here("sessions", "list", "--json").json
    assert session["ended_by"] == "person"


@pytest.mark.slow
def test_a_companion_in_a_terminal_says_what_it_remembers(cli: Cli, provider: Provider) -> None:
    cli("memory", "profile", "--set", '{"current_focus": "the exam in statistics"}')
    provider.script(plain=[reading(), {"text": "Hello."}, reading(), {"text": "Still here."}])
    command = [POLYVOX, "chat", "--recipe", "companion"]
    with Terminal(command, cli.env, 120, 40) as terminal:
        start = terminal.until(lambda screen: screen.text.endswith("›"))
        assert "I remember 2 things: 1 told now, 1 if it comes up. /memory lists them" in start
        terminal.type("Hi.\r")
        terminal.until("conversation 0")
        terminal.type("And now?\r")
        terminal.until("Still here.")
        terminal.until(lambda screen: screen.text.endswith("›"))
        assert terminal.screen.text.count("conversation 0") == 1
        terminal.press("\x04", lambda screen: False)
        assert terminal.end() == 0
    with Terminal(command, cli.env, 120, 40) as terminal:
        start = terminal.until(lambda screen: screen.text.endswith("›"))
        assert "Your session goes on; /memory lists what it was told, /end ends it." in start
        terminal.press("\x04", lambda screen: False)
        assert terminal.end() == 0


def test_who_is_no_companion_is_told_so(here: Here) -> None:
    unknown = here("chat", "--persona", "nobody", stdin="")
    assert unknown.code == 2
    assert "flint, harbor, margin" in unknown.err
    assert here("chat", "--persona", "harbor", "--recipe", "agent", stdin="").code == 2
    assert here("chat", "--persona", "harbor", "--council", "x", stdin="").code == 2


def test_a_turn_of_a_council_has_a_trace_too(here: Here) -> None:
    here("ask", "Is it so?", "--advisor", "keeper")
    shown = here("conversations", "show", "last", "--json").json
    told = here("trace", shown["messages"][0]["turn_id"])
    assert "reading   no model read your message beforehand" in told.out
    assert "identity → shared" in told.out
    assert "looked up the message has no words to look for" in told.out


def test_a_receipt_tells_what_was_remembered_and_why(here: Here, provider: Provider) -> None:
    here("memory", "profile", "--set", '{"current_focus": "the bakery"}')
    made = here("ask", "Is it so?", "--advisor", "keeper", "--json").json
    answer = made["answers"][0]["answer"]
    told = here("receipt", answer).out
    assert "Told from memory:\n  user_context: lines of their profile, " in told
    assert "Decided before it was asked:\n  start     message 1 of its session; memory told" in told
    assert "  carried   nothing (there was nothing to say)\n" in told
    assert "  about you current focus\n" in told
    assert "The council as it was:" in told
    assert "--- system: memory, user_context · " in here("receipt", answer, "--texts").out
    provider.script(plain=[reading(), {"text": "Good to see you."}])
    here("chat", "--recipe", "companion", stdin="Hello you.\n")
    shown = here("conversations", "show", "last", "--json").json
    told = here("receipt", shown["messages"][0]["answers"][0]["answer_id"]).out
    for words in ("  posture: how to meet them, ", "  posture   keeps you ", "  brings up "):
        assert words in told
    assert "council" not in told


def test_in_a_terminal_alone_what_was_said_is_remembered(
    here: Here, cli: Cli, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No server runs, and nobody else works in the background."""
    monkeypatch.setenv("POLYVOX_SESSIONS_IDLE_MINUTES", "0.00001")
    said = "I promised to call the bank about the loan on Friday."
    provider.script(plain=[reading(), {"text": "Noted."}])
    assert here("chat", "--recipe", "companion", stdin=f"{said}\n").code == 0
    assert said in here("memory", "query", "bank loan").out
    provider.script(plain=[reading(), {"text": "The bank, on Friday."}])
    here("chat", "--recipe", "companion", stdin="Where were we?\n")
    asked = [one for one in provider.log() if "Where were we?" in str(one)]
    assert "call the bank about the loan" in str(asked[-1]), "the next talk knows of it"
    lines = (cli.home / "polyvox.log").read_text().splitlines()
    traces = [line for line in lines if " polyvox.chat: chat.trace {" in line]
    assert len(traces) == 2
    assert "bank" not in str(traces), "nobody's words"
