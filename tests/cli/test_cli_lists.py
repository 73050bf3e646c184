"""The commands about what is stored: advisors, councils, conversations, usage, receipts."""

from __future__ import annotations

import asyncio
import io
import signal
import sqlite3
from pathlib import Path

import pytest
from tests.cli.desk import POLYVOX, Cli, Here, Provider
from tests.cli.terminal import Terminal

from polyvox.cli.prompt import sure


def advisor(here: Here, slug: str) -> dict[str, object]:
    found: dict[str, object] = here("advisors", "show", slug, "--json").json
    return found


def test_advisors_are_listed_and_shown(here: Here) -> None:
    rows = here("advisors", "list", "--json").json
    assert [row["slug"] for row in rows][:2] == ["empiricist", "strategist"]
    assert here("advisors").out == here("advisors", "list").out
    lines = here("advisors", "list").out.splitlines()
    assert lines[0].split() == ["slug", "name", "model", "description"]
    assert lines[4].startswith("keeper")
    assert here("advisors", "show", "@keeper").out.startswith("name: Keeper\nslug: keeper\n")


def test_an_advisor_is_added_with_every_option(here: Here) -> None:
    run = here(
        "advisors", "add", "The Gardener", "--description", "Waits.", "--prompt", "You wait.",
        "--slug", "gardener", "--model", "lab:other", "--color", "#112233", "--voice", "alto",
        "--inactive", "--max-tokens", "50", "--temperature", "0.3", "--top-p", "0.9",
        "--reasoning", "0",
    )  # fmt: skip
    assert (run.code, run.out) == (0, "added gardener\n")
    made = advisor(here, "gardener")
    assert made["name"] == "The Gardener"
    assert made["prompt"] == "You wait."
    assert made["model"] == "lab:other"
    assert (made["color"], made["voice"], made["active"]) == ("#112233", "alto", False)
    assert made["params"] == {
        "max_tokens": 50, "temperature": 0.3, "top_p": 0.9, "reasoning": 0
    }  # fmt: skip


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["add", "X"], "needs a description or a prompt"),
        (["add", " ", "--description", "x"], "name is empty"),
        (["add", "X", "--description", "x", "--slug", "keeper"], "already an advisor 'keeper'"),
        (["add", "X", "--description", "x", "--slug", "No Slug"], "cannot be a slug"),
        (["add", "X", "--description", "x", "--model", "soup"], "provider:name"),
        (["add", "X", "--description", "x", "--model", "soup:x"], "no provider 'soup'"),
        (["add", "X", "--description", "x", "--color", "red"], "like #1f6f8b"),
        (["add", "X", "--description", "x", "--temperature", "9"], "between 0 and 2"),
        (["edit", "keeper"], "Nothing to change"),
        (["edit", "nobody", "--name", "X"], "no advisor 'nobody'"),
        (["remove", "keeper"], "Add --yes"),
        (["rollback", "keeper", "9"], "has no version 9"),
        (["instruct", "keeper", "  "], "instruction is empty"),
        (["export", "nobody"], "no advisor 'nobody'"),
        (["import", "/nonexistent.yaml"], "There is no file"),
    ],
)
def test_what_cannot_be_done_to_an_advisor(here: Here, words: list[str], said: str) -> None:
    before = here("advisors", "list", "--json").out
    run = here("advisors", *words)
    assert run.code == 2
    assert said in run.err
    assert run.err.count("\n") == 1
    assert here("advisors", "list", "--json").out == before


def test_an_advisor_is_changed_and_its_history_kept(here: Here) -> None:
    assert (
        here("advisors", "edit", "keeper", "--description", "Short.", "--max-tokens", "9").code == 0
    )
    assert here("advisors", "edit", "keeper", "--temperature", "0.5").code == 0
    assert advisor(here, "keeper")["params"] == {
        "max_tokens": 9, "temperature": 0.5, "top_p": None, "reasoning": None
    }  # fmt: skip
    assert here("advisors", "instruct", "keeper", "Be brief.").code == 0
    assert advisor(here, "keeper")["prompt"] == "Short.\n\nBe brief."
    versions = here("advisors", "history", "keeper", "--json").json
    assert [row["number"] for row in versions] == [3, 2, 1]
    assert "instructed" in here("advisors", "history", "keeper").out
    assert here("advisors", "rollback", "keeper", "2").code == 0
    rolled = advisor(here, "keeper")
    assert (rolled["prompt"], rolled["description"]) == (None, "Short.")
    assert here("advisors", "edit", "keeper", "--model", "lab:x", "--prompt", "P.").code == 0
    assert here("advisors", "edit", "keeper", "--model", "", "--prompt", "", "--inactive").code == 0
    plain = advisor(here, "keeper")
    assert (plain["model"], plain["prompt"], plain["active"]) == (None, None, False)
    assert here("advisors", "remove", "keeper", "--yes").out == "removed keeper\n"
    assert here("advisors", "show", "keeper").code == 2


def test_advisors_go_out_and_come_back(here: Here, tmp_path: Path) -> None:
    file = tmp_path / "all.yaml"
    assert here("advisors", "export", "-o", str(file)).code == 0
    twice = here("advisors", "import", str(file))
    assert twice.code == 0
    assert twice.out.count("already here") == 6
    here("advisors", "remove", "keeper", "--yes")
    assert "would add keeper (Keeper)" in here("advisors", "import", str(file), "--dry-run").out
    assert here("advisors", "show", "keeper").code == 2
    assert "added keeper (Keeper)" in here("advisors", "import", str(file)).out
    one = here("advisors", "export", "keeper", "builder").out
    assert one.startswith("- name: Keeper\n")
    nowhere = here("advisors", "export", "-o", str(tmp_path / "no" / "where.yaml"))
    assert nowhere.code == 2
    assert "cannot be written" in nowhere.err


def test_councils(here: Here) -> None:
    assert here("councils", "list", "--json").json == []
    added = here("councils", "add", "Two heads", "-a", "keeper", "-a", "builder", "--slug", "two")
    assert added.out == "added the council two\n"
    assert here("councils").out.splitlines()[1].split()[-2:] == ["keeper,", "builder"]
    edit = here("councils", "edit", "two", "--name", "One", "-a", "keeper", "--recipe", "agent")
    assert edit.code == 0
    (row,) = here("councils", "list", "--json").json
    assert (row["name"], row["recipe"], len(row["advisors"])) == ("One", "agent", 1)
    for words in (
        ["add", "X", "-a", "nobody"], ["add", "X", "--slug", "two"], ["add", " "],
        ["add", "X", "--recipe", "soup"], ["edit", "two"], ["edit", "nope", "--name", "x"],
        ["remove", "two"], ["remove", "nope", "--yes"],
    ):  # fmt: skip
        assert here("councils", *words).code == 2, words
    assert here("councils", "remove", "two", "--yes").code == 0
    assert here("councils", "list", "--json").json == []


def test_conversations_are_listed_shown_found_and_deleted(here: Here, provider: Provider) -> None:
    assert "no conversation yet" in here("conversations").err
    first = here("ask", "Should I plant oaks?", "-a", "keeper", "-a", "builder", "--json").json
    here("ask", "Something else", "-a", "keeper")
    listed = here("conversations", "list", "--json").json
    assert [one["title"] for one in listed] == ["Something else", "Should I plant oaks?"]
    assert here("conversations", "list", "--limit", "1", "--json").json == listed[:1]
    assert "There are more" in here("conversations", "list", "--limit", "1").err
    shown = here("conversations", "show", first["conversation"]).out
    assert "Should I plant oaks?" in shown
    assert shown.count("A plain answer from plain.") == 2
    assert first["answers"][0]["answer"] in shown
    assert "2 answers" in shown
    hits = here("conversations", "search", "oak", "--json").json
    assert {hit["kind"] for hit in hits} == {"message", "title"} or hits[0]["kind"] == "message"
    assert first["conversation"] in here("conversations", "search", "plant oaks").out
    assert "Nothing was found" in here("conversations", "search", "zebra").err
    refused = here("conversations", "delete", first["conversation"])
    assert (refused.code, refused.out) == (2, "")
    assert here("conversations", "delete", first["conversation"], "--yes").code == 0
    assert here("conversations", "show", first["conversation"]).code == 2
    assert here("conversations", "search", "oak", "--json").json == []


@pytest.mark.slow
def test_deleting_asks_first(cli: Cli, here: Here) -> None:
    here("ask", "hi", "-a", "keeper")
    with Terminal([POLYVOX, "conversations", "delete", "last"], cli.env, 100, 20) as terminal:
        terminal.until("for good?")
        terminal.type("n\r")
        assert terminal.end() == 1
    with Terminal([POLYVOX, "conversations", "delete", "last"], cli.env, 100, 20) as terminal:
        terminal.until("for good?")
        terminal.type("\x03")
        assert terminal.end() == 130
    assert len(cli("conversations", "list", "--json").json) == 1
    with Terminal([POLYVOX, "conversations", "delete", "last"], cli.env, 100, 20) as terminal:
        terminal.until("for good?")
        terminal.type("y\r")
        assert terminal.end() == 0
    assert cli("conversations", "list", "--json").json == []


def test_ctrl_c_is_heard_from_the_question_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is read, too: the loop's own handler would only note it for later."""

    class Asked(io.StringIO):
        def flush(self) -> None:
            signal.raise_signal(signal.SIGINT)

    class Person(io.StringIO):
        def isatty(self) -> bool:
            return True

    done = []

    async def ask() -> None:
        sure("For good?", yes=False)
        done.append("it")

    monkeypatch.setattr("sys.stderr", Asked())
    monkeypatch.setattr("sys.stdin", Person("y\n"))
    with pytest.raises(KeyboardInterrupt), asyncio.Runner() as runner:
        runner.run(ask())
    assert not done


def test_a_conversation_goes_out_in_three_formats_and_comes_back(
    here: Here, provider: Provider, tmp_path: Path
) -> None:
    provider.script(default={"text": "<script>alert(1)</script>\n# Heading"})
    made = here("ask", "Is <b>it</b>?", "-a", "keeper", "-a", "builder", "--json").json
    kept = tmp_path / "kept.jsonl"
    assert here("conversations", "export", "last", "-o", str(kept)).code == 0
    markdown = here("conversations", "export", "last", "--format", "markdown").out
    assert markdown.startswith("# Is <b>it</b>?\n")
    assert markdown.count("### ") == 2
    assert "**Heading**" in markdown
    assert "price unknown" in markdown
    html = here("conversations", "export", "last", "--format", "html").out
    assert "<script" not in html
    assert "&lt;script&gt;alert(1)" in html
    assert "Builder" in html
    answer = made["answers"][0]["answer"]
    receipt = here("receipt", answer, "--json").out
    assert "already here" in here("conversations", "import", str(kept)).out
    here("conversations", "delete", "last", "--yes")
    assert "would add" in here("conversations", "import", str(kept), "--dry-run").out
    assert here("conversations", "list", "--json").json == []
    assert "1 turns, 2 answers" in here("conversations", "import", str(kept)).out
    assert here("conversations", "export", "last").out == kept.read_text()
    assert here("receipt", answer, "--json").out == receipt
    broken = tmp_path / "broken.jsonl"
    broken.write_text(kept.read_text()[:-20])
    refused = here("conversations", "import", str(broken))
    assert refused.code == 2
    assert "is not usable" in refused.err


def test_usage_calls_an_unknown_price_unknown(cli: Cli, here: Here) -> None:
    assert "Nothing has been used" in here("usage").err
    here("ask", "hi", "-a", "keeper", "-a", "builder")
    here("ask", "hi", "-a", "keeper", "--model", "scripted:echo")
    by_model = here("usage", "--by", "model").out.splitlines()
    assert by_model[0].split() == ["model", "answers", "tokens", "in", "tokens", "out", "cost"]
    costs = {line.split()[0]: line.split()[-1] for line in by_model[1:]}
    assert costs["lab:plain"] == "unknown"
    assert costs["scripted:echo"] == "free"
    assert by_model[-1].endswith("free + 2 answers of unknown price")
    assert here("usage", "--by", "advisor").out.splitlines()[1].startswith("Keeper")
    assert (
        here("usage", "--by", "conversation", "-c", "last", "--json").json["total"]["answers"] == 1
    )
    data = here("usage", "--json").json
    assert data["by"] == "day"
    assert data["total"]["answers"] == 3
    assert data["total"]["unpriced"] == 2
    assert here("usage", "--by", "model", "--json").json["rows"][0]["cost"] in (None, 0.0)


def test_a_receipt_tells_what_was_sent_and_why(cli: Cli, here: Here, provider: Provider) -> None:
    made = here("ask", "What now?", "-a", "keeper", "--phases", "recipe", "--json").json
    answer = made["answers"][0]["answer"]
    told = here("receipt", answer).out
    assert told.startswith(f"Keeper: answer {answer} (completed)\n")
    assert "recipe council, early phase, turn 1 of 3" in told
    bar = next(line for line in told.splitlines() if line.startswith("█"))
    for mark, name in zip("█▓▒░", ("identity", "shared context", "protocol"), strict=False):
        assert mark in bar
        assert f"{mark} {name}" in told
    assert bar.endswith("·")
    assert "· free" in told
    assert "Nothing was left out." in told
    assert "Keeper  lab:plain" in told
    assert "attempt 1: lab:plain, HTTP 200" in told
    assert "Verified: yes" in told
    assert "What now?" not in told
    assert "What now?" in here("receipt", answer, "--texts").out
    data = here("receipt", answer, "--json").json
    assert data["verified"] is True
    assert data["request"]["messages"][-1]["content"].endswith("What now?")
    assert provider.log()[0]["body"].encode() == _sent(cli.home / "polyvox.db", answer, data)


def _sent(database: Path, answer: str, data: dict[str, object]) -> bytes:
    """The bytes whose hash the receipt has, if the request it prints is the one that was sent."""
    import hashlib
    import json

    body = json.dumps(data["request"], ensure_ascii=False, separators=(",", ":")).encode()
    with sqlite3.connect(database) as connection:
        known = connection.execute("SELECT COUNT(*) FROM receipts WHERE answer_id = ?", (answer,))
        assert known.fetchone() == (1,)
    connection.close()
    assert hashlib.sha256(body).hexdigest() == data["wire_hash"]
    return body


def test_a_receipt_of_what_was_left_out(cli: Cli, here: Here, provider: Provider) -> None:
    cli.config.write_text(cli.config.read_text() + 'context = "3100 chars"\n')
    long = "word " * 60
    for _ in range(3):
        answer = here("ask", long, "-a", "keeper", "-c", "last", "--json")
        if answer.code == 2:
            answer = here("ask", long, "-a", "keeper", "--json")
    told = here("receipt", answer.json["answers"][0]["answer"]).out
    assert "Left out:" in told
    assert "older than what fits the limit" in told


@pytest.mark.parametrize("words", [("conversations", "export", "last"), ("advisors", "export")])
def test_a_file_is_not_written_over_and_is_its_owners_alone(
    here: Here, tmp_path: Path, words: tuple[str, ...]
) -> None:
    here("ask", "hi", "-a", "keeper")
    place = tmp_path / "kept"
    assert here(*words, "-o", str(place)).code == 0
    assert place.stat().st_mode & 0o777 == 0o600
    whole = place.read_text()
    place.write_text("mine")
    place.chmod(0o644)
    refused = here(*words, "-o", str(place))
    assert (refused.code, "--force" in refused.err, place.read_text()) == (2, True, "mine")
    assert here(*words, "-o", str(place), "--force").code == 0
    assert (place.read_text(), place.stat().st_mode & 0o777) == (whole, 0o600)
    assert "cannot be written" in here(*words, "-o", str(tmp_path)).err


def test_a_table_is_padded_by_what_is_seen(here: Here) -> None:
    here("advisors", "add", "漢字", "--slug", "wide", "--description", "END")
    here("advisors", "add", "n" * 80, "--slug", "long", "--description", "END")
    rows = here("advisors", "list").out.splitlines()
    wide, plain = (next(row for row in rows if row.startswith(s)) for s in ("wide", "keeper"))
    assert wide.index("active") + 2 == plain.index("active")
    assert plain.index("active") < 60
    assert "n" * 80 in next(row for row in rows if row.startswith("long"))


@pytest.mark.parametrize("name", ["a\nb", "\u200b", "a\u202eb", "a\x9b"])
def test_names_are_one_line_that_can_be_read(here: Here, name: str) -> None:
    assert here("advisors", "add", name, "--description", "x").code == 2
    assert here("councils", "add", name, "-a", "keeper").code == 2
    assert here("ask", "\u200b\u2060").code == 2
