"""Answers in a real terminal: columns in a wide one, one below the other in a narrow one."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pytest
from tests.cli.desk import POLYVOX, Cli, Here, Provider
from tests.cli.terminal import Terminal

pytestmark = [pytest.mark.contract, pytest.mark.slow]

LONG = "\n\n".join(f"Paragraph {n} of an answer that goes on for a while." for n in range(30))


def ask(cli: Cli, columns: int, rows: int, *words: str, **env: str) -> Terminal:
    return Terminal([POLYVOX, "ask", *words], {**cli.env, **env}, columns, rows)


def test_a_wide_terminal_has_rows_of_columns(cli: Cli, provider: Provider) -> None:
    provider.script(
        default={"pieces": ["Words **so** far", " and the rest."], "gates": {"1": "on"}}
    )
    with ask(cli, 160, 45, "hi") as terminal:
        live = terminal.until(lambda screen: screen.text.count("Words so far") == 6)
        names = [line for line in live.splitlines() if "writing" in line]
        assert [line.split()[::2] for line in names] == [
            ["Empiricist", "Strategist", "Listener"],
            ["Keeper", "Builder", "Dissenter"],
        ]
        assert "Ctrl-C stops the answers" in live
        provider.open("on")
        assert terminal.end() == 0
        done = terminal.screen.text
        assert done.count("Words so far and the rest.") == 6
        assert done.count("2 tokens · price unknown") == 6
        assert "writing" not in done  # the live picture is gone
        assert "Ctrl-C" not in done
        assert "6 answers" in done
        assert "\x1b[1;38;2;" in terminal.raw or "\x1b[1;38;5;" in terminal.raw  # names in colour
        assert max(map(len, done.splitlines())) <= 160


def test_a_narrow_terminal_has_one_below_the_other(cli: Cli, provider: Provider) -> None:
    provider.script(default={"text": LONG})
    with ask(cli, 70, 30, "hi", "-a", "keeper", "-a", "builder") as terminal:
        assert terminal.end() == 0
        lines = terminal.screen.text.splitlines()
        heads = [line for line in lines if "price unknown" in line and "plain" in line]
        assert [line.split()[0] for line in heads] == ["Keeper", "Builder"]
        # Everything stays, though it is far more than the screen holds.
        assert sum("Paragraph 0 of" in line for line in lines) == 2
        assert sum("Paragraph 29 of" in line for line in lines) == 2
        assert max(map(len, lines)) <= 70


def test_while_it_comes_no_more_is_drawn_than_the_screen_holds(
    cli: Cli, provider: Provider
) -> None:
    provider.script(default={"pieces": [LONG, " The end."], "gates": {"1": "on"}})
    with ask(cli, 70, 24, "hi", "-a", "keeper", "-a", "builder") as terminal:
        live = terminal.until(lambda screen: screen.text.count("Paragraph 29 of") == 2)
        assert "Paragraph 0 of" not in live
        assert len(live.rstrip().splitlines()) <= 24
        provider.open("on")
        assert terminal.end() == 0


def test_a_very_small_terminal_gets_a_line_for_each(cli: Cli, provider: Provider) -> None:
    provider.script(default={"pieces": ["Some words", " and more."], "gates": {"1": "on"}})
    with ask(cli, 60, 12, "hi") as terminal:
        live = terminal.until(lambda screen: screen.text.count("Some words") == 6)
        assert [line.split()[0] for line in live.splitlines() if "writing" in line] == [
            "Empiricist", "Strategist", "Listener", "Keeper", "Builder", "Dissenter",
        ]  # fmt: skip
        provider.open("on")
        assert terminal.end() == 0


def test_waiting_and_thinking_can_be_seen(cli: Cli, here: Here, provider: Provider) -> None:
    provider.script(
        thinker={"thinking": "Let me ponder this.", "text": "Yes.", "gates": {"0": "on"}},
        late={"hold": "on", "text": "Late."},
    )
    here("advisors", "edit", "keeper", "--model", "lab:thinker")
    here("advisors", "edit", "builder", "--model", "lab:late")
    with ask(cli, 120, 30, "hi", "-a", "keeper", "-a", "builder") as terminal:
        live = terminal.until("Let me ponder this.")
        assert "thinking" in live
        assert "waiting" in live
        provider.open("on")
        assert terminal.end() == 0
        assert "Let me ponder" not in terminal.screen.text  # thinking is not part of the answer
        assert "Yes." in terminal.screen.text


def test_ctrl_c_in_a_terminal(cli: Cli, provider: Provider) -> None:
    provider.script(default={"pieces": ["Half a", " thought."], "gates": {"1": "never"}})
    with ask(cli, 120, 30, "hi", "-a", "keeper", "-a", "builder") as terminal:
        terminal.until(lambda screen: screen.text.count("Half a") == 2)
        terminal.type("\x03")
        assert terminal.end() == 130
        done = terminal.screen.text
        assert done.count("stopped") == 3  # both answers, and the last line
        assert done.count("Half a") == 2
        assert "what had come is kept" in done


def test_a_failure_is_shown_where_the_answer_would_be(
    cli: Cli, here: Here, provider: Provider
) -> None:
    provider.script(bad={"status": 402, "error": "Out of credit.", "code": "insufficient_quota"})
    here("advisors", "edit", "builder", "--model", "lab:bad")
    with ask(cli, 120, 30, "hi", "-a", "keeper", "-a", "builder") as terminal:
        assert terminal.end() == 0
        done = terminal.screen.text
        assert "Out of credit." in done
        assert "failed" in done
        assert "A plain answer from plain." in done


def test_an_answer_cannot_repaint_the_screen(cli: Cli, provider: Provider) -> None:
    provider.script(default={"text": "safe \x1b[2J\x1b]0;owned\x07 and \x9b31m sound"})
    with ask(cli, 120, 30, "hi", "-a", "keeper") as terminal:
        assert terminal.end() == 0
        assert "\x1b[2J" not in terminal.raw
        assert "\x1b]0" not in terminal.raw
        assert "\x9b" not in terminal.raw
        assert "safe" in terminal.screen.text


def test_no_color_and_a_dumb_terminal(cli: Cli) -> None:
    with ask(cli, 120, 30, "hi", "-a", "keeper", NO_COLOR="1") as terminal:
        assert terminal.end() == 0
        assert "38;" not in terminal.raw
    with ask(cli, 120, 30, "hi", "-a", "keeper", TERM="dumb") as terminal:
        assert terminal.end() == 0
        assert "\x1b" not in terminal.raw
        assert terminal.raw.replace("\r\n", "\n") == "A plain answer from plain.\n"


def test_lists_fit_the_terminal(cli: Cli) -> None:
    with Terminal([POLYVOX, "advisors", "list"], cli.env, 100, 30) as terminal:
        assert terminal.end() == 0
        lines = terminal.screen.text.splitlines()
        assert max(map(len, lines)) <= 100
        assert sum(line.startswith("keeper") for line in lines) == 1


def test_a_narrow_list_of_conversations_has_whole_ids(cli: Cli, here: Here) -> None:
    here("ask", "A question that is so long that it has no room beside its id", "-a", "keeper")
    id_ = cli("conversations", "list", "--json").json[0]["id"]
    with Terminal([POLYVOX, "conversations", "list"], cli.env, 60, 30) as terminal:
        assert terminal.end() == 0
        lines = terminal.screen.text.rstrip().splitlines()
    assert lines[0].startswith(f"{id_}  2")
    assert lines[1:] == [
        "  council",
        "  A question that is so long that it has no room beside its",
        "  id",
    ]
    with Terminal([POLYVOX, "conversations", "list"], cli.env, 100, 30) as terminal:
        assert terminal.end() == 0
        assert any(line.startswith(id_) for line in terminal.screen.text.splitlines())


def test_a_table_without_room_is_drawn_as_blocks(cli: Cli, here: Here) -> None:
    said = "Is it so that a table without room for all of this is drawn in another way?"
    here("ask", said, "-a", "keeper")
    (session,) = cli("sessions", "list", "--json").json
    here("sessions", "end", session["id"])
    why = "The account has no credit left, so nothing could be read of what was said."
    with closing(sqlite3.connect(cli.home / "polyvox.db")) as store:
        store.execute("UPDATE jobs SET state = 'failed', attempts = 6, failure = ?", (why,))
        store.commit()

    for columns in (80, 120):
        with Terminal([POLYVOX, "jobs"], cli.env, columns, 30) as terminal:
            assert terminal.end() == 0
            lines = terminal.screen.text.rstrip().splitlines()
        assert max(map(len, lines)) <= columns
        assert lines[0].startswith(f"ingest:{session['id']}")
        assert all(line.startswith("  ") for line in lines[1:])
        told = " ".join(" ".join(lines).split())
        assert f"remember the session {session['id']} failed after 6 attempts {why}" in told

    with Terminal([POLYVOX, "sessions"], cli.env, 80, 30) as terminal:
        assert terminal.end() == 0
        first, *rest = terminal.screen.text.rstrip().splitlines()
    assert first.startswith(f"{session['id']}  2")
    told = " ".join(" ".join(rest).split())
    assert "(by you) messages: 1 Is it so that a table without room" in told
    with Terminal([POLYVOX, "sessions"], cli.env, 130, 30) as terminal:
        assert terminal.end() == 0
        assert terminal.screen.text.splitlines()[0].split()[:4] == [
            "session", "began", "ended", "messages",
        ]  # fmt: skip


def test_what_is_known_has_room_in_a_narrow_terminal(cli: Cli, here: Here) -> None:
    focus = "the exam in statistics, for which there is far too much to read"
    here("memory", "profile", "--set", json.dumps({"current_focus": focus}))
    line = cli("memory", "profile", "--json").json["model"]["current_focus"]
    with Terminal([POLYVOX, "memory", "profile"], cli.env, 80, 30) as terminal:
        assert terminal.end() == 0
        first, second = terminal.screen.text.rstrip().splitlines()
    assert first.split()[1:] == ["current_focus", line["source"]]
    assert second == f"  {focus}"
