"""`polyvox memory` and the doctor where another service keeps memory: it is asked, or it is said
why not."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.app import app_in_thread
from tests.cli.desk import SECONDS, Here

pytestmark = pytest.mark.contract

TOKEN = "tok-of-the-other-one"
SAYS = "I moved to Porto last week. I need to sell the old boat."


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[str]:
    """Another Polyvox, which wants a token; its address."""
    with app_in_thread(tmp_path / "there", server={"token": TOKEN}) as (app, run):

        async def work() -> None:
            app.polyvox.work()

        run(work())
        yield app.url


@pytest.fixture
def used(elsewhere: str, here: Here, monkeypatch: pytest.MonkeyPatch) -> Here:
    """Commands whose memory is kept there."""
    monkeypatch.setenv("POLYVOX_MEMORY_URL", elsewhere)
    monkeypatch.setenv("POLYVOX_MEMORY_TOKEN", TOKEN)
    patient(monkeypatch)
    return here


def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine is no broken service."""
    for name in ("BUDGET", "RECALL_SECONDS"):
        monkeypatch.setenv(f"POLYVOX_MEMORY_{name}", "60")


def session(tmp_path: Path, **more: object) -> str:
    file = tmp_path / "session.json"
    times = {"startedAt": "2024-05-10T09:00:00Z", "endedAt": "2024-05-10T09:05:00Z"}
    said = [{"role": "user", "text": SAYS, "timestamp": "2024-05-10T09:00:00Z"}]
    file.write_text(json.dumps({"sessionId": "s1", **times, "messages": said, **more}))
    return str(file)


def doctor(here: Here, *words: str) -> tuple[str, str, str]:
    run = here("doctor", "--json", *words)
    assert TOKEN not in run.out + run.err
    (row,) = [one for one in run.json if one["what"] == "memory service"]
    return row["state"], row["found"], row["next"]


def test_what_is_remembered_there_is_told(
    used: Here, elsewhere: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "Nothing found" in used("memory", "query", "Porto").err
    assert used("memory", "ingest", session(tmp_path)).out == "ingested s1\n"
    assert used("memory", "ingest", session(tmp_path)).out == "duplicate s1\n"
    shown = used("memory", "query", "Porto").out
    assert SAYS in shown
    assert "user, s1#0" in shown
    found = used("memory", "query", "Porto", "--json").json
    assert found["facts"] == [SAYS]
    (item,) = found["factItems"]
    assert item["evidence"][0]["messageIndex"] == 0
    assert (item["source"], item["status"]) == ("episode", "current")
    assert used("memory", "query", " ").code == 2
    assert "I moved to Porto last week." in used("memory", "brief").out
    made = used("memory", "brief", "--json").json
    assert made["timeOfDayLabel"] in used("memory", "brief").out.lower()
    start = used("memory", "brief", "--start", "--json").json
    assert start["handover_depth"] == "multi_day"
    assert used("memory", "brief", "--start").out.splitlines()[0] == start["handover_text"]
    assert "Nothing is open" in used("memory", "loops").err
    assert doctor(used) == ("ok", f"{elsewhere} answers, with the token", "")
    monkeypatch.delenv("POLYVOX_MEMORY_URL")
    assert "Nothing found" in used("memory", "query", "Porto").err, "not here"


def test_the_profile_there_is_told(used: Here, elsewhere: str) -> None:
    assert "is empty" in used("memory", "profile").err
    assert used("memory", "profile", "--json").json["exists"] is False
    model = {
        "name": "Bob",
        "current_focus": "the exam",
        "north_star": {"work": "to teach"},
        "key_relationships": [{"name": "Ann", "text": "a sister"}],
        "patterns": ["works late"],
        "preferences": {"tone": "dry", "avoid": ["emojis"]},
        "instructions": ["Be brief."],
    }
    body = json.dumps({"tenantId": "polyvox", "userId": "local", "model": model}).encode()
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    change = urllib.request.Request(f"{elsewhere}/user/model", body, headers, method="PATCH")
    with urllib.request.urlopen(change, timeout=SECONDS):
        pass
    shown = used("memory", "profile").out.splitlines()[1:]
    assert [" ".join(line.split()) for line in shown] == [
        "name Bob",
        "north_star (work) manual to teach",
        "current_focus manual the exam",
        "key_relationships (Ann) manual a sister",
        "patterns manual works late",
        "preferences.tone manual dry",
        "preferences.avoid emojis",
        "instructions Be brief.",
    ]
    told = used("memory", "profile", "--json").json
    assert told["model"]["current_focus"]["text"] == "the exam"
    assert told["model"]["preferences"]["avoid"] == ["emojis"]


@pytest.mark.parametrize(
    "words",
    [
        ["facts"],
        ["correct", "f", "so"],
        ["pin", "f"],
        ["exclude", "f"],
        ["forget", "fact", "f", "--yes"],
        ["loops", "--all"],
        ["loops", "--mark", "l", "done"],
        ["profile", "--set", "{}"],
        ["query", "Porto", "--as-of", "2024-05-10"],
        ["query", "Porto", "--history"],
        ["query", "Porto", "--max-tokens", "9"],
    ],
)
def test_what_no_contract_has_is_refused_with_the_address(
    here: Here, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    monkeypatch.setenv("POLYVOX_MEMORY_URL", "http://me:pass@127.0.0.1:9")
    run = here("memory", *words)
    assert (run.code, run.out) == (2, "")
    assert "Memory is kept by another service, at http://***@127.0.0.1:9," in run.err
    assert "pass@" not in run.err


def test_what_must_not_leave_is_not_sent(used: Here, tmp_path: Path) -> None:
    run = used("memory", "ingest", session(tmp_path, neverToCloud=True))
    assert (run.code, "keeping a session on this machine" in run.err) == (2, True)
    assert used("memory", "query", "Porto", "--json").json["facts"] == []


def test_a_service_that_does_not_help_is_named_with_the_reason(
    here: Here, elsewhere: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POLYVOX_MEMORY_URL", elsewhere)
    patient(monkeypatch)
    for name in ("query", "loops", "profile", "brief"):
        run = here("memory", name, *(["Porto"] if name == "query" else []))
        assert (run.code, run.out) == (1, "")
        assert f"The memory service at {elsewhere} refuses us (401)." in run.err
    state, found, then = doctor(here)
    assert (state, found) == ("warn", f"{elsewhere} refuses us (401)")
    assert "memory.token" in then
    assert doctor(here, "--offline")[:2] == ("ok", f"{elsewhere} keeps memory; it was not asked")
    monkeypatch.setenv("POLYVOX_MEMORY_URL", "http://127.0.0.1:9")
    assert "cannot be reached" in here("memory", "loops").err
    assert doctor(here)[:2] == ("warn", "http://127.0.0.1:9 cannot be reached")
    monkeypatch.setenv("POLYVOX_MEMORY_URL", "http://ann:secret@127.0.0.1:9")
    assert "http://***@127.0.0.1:9" in doctor(here)[1], "who logs in is nobody's business"
    assert "secret" not in here("doctor").out
    monkeypatch.setenv("POLYVOX_MEMORY_URL", f"{elsewhere}/nowhere")
    monkeypatch.setenv("POLYVOX_MEMORY_TOKEN", TOKEN)
    assert "answers with status 404" in doctor(here)[1]
