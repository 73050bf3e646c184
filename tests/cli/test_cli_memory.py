"""`polyvox memory`: everything that can be done with what is remembered."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest
from tests.cli.desk import Cli, Here, Provider

from polyvox.app import Polyvox

SAYS = "I moved to Porto last week. I'll call the bank tomorrow. Always answer briefly."
NOTE: dict[str, Any] = {
    "facts": [
        {"n": 0, "quote": "I moved to Porto", "subject": "user", "attribute": "home",
         "text": "Lives in Porto."}
    ],
    "loops": [], "profile": [], "instructions": [], "summary": "They moved.",
}  # fmt: skip


def remember(here: Here, tmp_path: Path) -> None:
    file = tmp_path / "session.json"
    session = {
        "sessionId": "s1",
        "startedAt": "2024-05-10T09:00:00Z",
        "endedAt": "2024-05-10T09:05:00Z",
        "messages": [{"role": "user", "text": SAYS, "timestamp": "2024-05-10T09:00:00Z"}],
    }
    file.write_text(json.dumps(session))
    assert here("memory", "ingest", str(file)).out == "ingested s1\n"
    assert here("memory", "ingest", str(file)).out == "duplicate s1\n"


async def work() -> None:
    """What `polyvox worker` does, as far as it is due."""
    async with Polyvox() as app:
        await app.worker.run_due()


def test_what_was_said_is_found_with_its_source(here: Here, tmp_path: Path) -> None:
    assert "No facts" in here("memory").err
    remember(here, tmp_path)
    shown = here("memory", "query", "Porto")
    assert SAYS in shown.out
    assert "user, s1#0" in shown.out
    found = here("memory", "query", "Porto", "--json").json
    assert found["factItems"][0]["evidence"][0]["sessionId"] == "s1"
    assert here("memory", "query", "Porto", "--as-of", "2020-01-01", "--json").json["facts"] == []
    assert "Nothing found" in here("memory", "query", "zeppelin").err
    wrong = here("memory", "query", "Porto", "--as-of", "soon")
    assert (wrong.code, "is no time" in wrong.err) == (2, True)


@pytest.mark.parametrize(
    ("as_of", "zone", "known"),
    [
        ("2024-05-10", "UTC", True),
        ("2024-05-09", "UTC", False),
        ("2024-05-09", "Pacific/Honolulu", True),  # 09:00 UTC is 23:00 the day before there
        ("2024-05-08", "Pacific/Honolulu", False),
        ("2024-05-10T09:00", "UTC", True),
        ("2024-05-10T10:30", "Europe/Lisbon", True),
        ("2024-05-10T09:30", "Europe/Lisbon", False),  # there it is an hour later
        ("2024-05-10T09:30Z", "Europe/Lisbon", True),
        ("2024-05-10T11:59:59+03:00", "Europe/Lisbon", False),
    ],
)
def test_a_day_is_meant_to_its_end_and_a_time_where_one_is(
    here: Here, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, as_of: str, zone: str, known: bool
) -> None:
    remember(here, tmp_path)
    monkeypatch.setenv("POLYVOX_TIMEZONE", zone)
    found = here("memory", "query", "Porto", "--as-of", as_of, "--json").json
    assert bool(found["facts"]) == known
    assert here("memory", "query", "Porto", "--as-of", "9999-12-31").code == 2
    assert here("memory", "query", "Porto", "--as-of", "0001-01-01").code == 2


def test_without_a_zone_the_machines_counts(
    here: Here, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember(here, tmp_path)
    try:
        with monkeypatch.context() as machine:
            for zone, known in (("Pacific/Honolulu", True), ("UTC", False)):
                machine.setenv("TZ", zone)
                time.tzset()
                found = here("memory", "query", "Porto", "--as-of", "2024-05-09", "--json").json
                assert bool(found["facts"]) == known
    finally:
        time.tzset()


def test_what_is_hardly_about_a_question_stands_apart(here: Here, tmp_path: Path) -> None:
    remember(here, tmp_path)
    file = tmp_path / "other.json"
    said = ("The harbour bank has a bench.", "I walk the dog by the river on Fridays.")
    messages = [
        {"role": "user", "text": text, "timestamp": "2024-05-11T09:00:00Z"} for text in said
    ]
    times = {"startedAt": "2024-05-11T09:00:00Z", "endedAt": "2024-05-11T09:05:00Z"}
    file.write_text(json.dumps({"sessionId": "s2", **times, "messages": messages}))
    here("memory", "ingest", str(file))
    sure, rest = here("memory", "query", "When shall I call the bank?").out.split(
        "\nless likely:\n"
    )
    assert SAYS in sure
    assert said[0] not in sure
    assert said[0] in rest
    assert here("memory", "query", "the weather in Oslo by the river").out.startswith(
        "No sure result;"
    )


def test_a_query_has_a_budget_of_tokens(here: Here, tmp_path: Path) -> None:
    remember(here, tmp_path)
    assert here("memory", "query", "Porto", "--max-tokens", "1", "--json").json["facts"] == []
    assert here("memory", "query", "Porto", "--max-tokens", "500", "--json").json["facts"]
    assert here("memory", "query", "Porto", "--max-tokens", "0").code == 2


def test_the_brief_is_told_in_words_and_as_the_contract_has_it(here: Here, tmp_path: Path) -> None:
    assert "the first talk." in here("memory", "brief").out
    remember(here, tmp_path)
    here("memory", "profile", "--set", json.dumps({"current_focus": "the \x1b[31mexam"}))
    shown = here("memory", "brief").out
    assert "since the last talk." in shown.splitlines()[0]
    assert "in focus: the" in shown
    assert "before: They said: “I moved to Porto last week." in shown
    assert "\x1b" not in shown
    made = here("memory", "brief", "--json").json
    assert (made["timeOfDayLabel"] in shown.lower(), made["openLoops"]) == (True, [])
    start = here("memory", "brief", "--start", "--json").json
    assert (start["handover_depth"], start["items"]) == ("multi_day", [])
    assert here("memory", "brief", "--start").out.splitlines()[0] == start["handover_text"]


def test_the_profile_is_shown_and_changed(here: Here) -> None:
    assert "is empty" in here("memory", "profile").err
    change = json.dumps({"current_focus": "the exam", "north_star": {"work": "to teach"}})
    shown = here("memory", "profile", "--set", change)
    assert "the exam" in shown.out
    assert "north_star (work)" in shown.out
    model = here("memory", "profile", "--json").json
    assert model["model"]["current_focus"]["source"] == "manual"
    assert here("memory", "profile", "--set", '{"shoe": 1}').code == 2
    assert here("memory", "profile", "--set", "exam").code == 2
    half = here("memory", "profile", "--set", '{"current_focus": "a\\ud800"}')
    assert (half.code, "cannot be stored" in half.err) == (2, True)


def test_a_fact_from_the_first_word_to_the_last(
    here: Here, tmp_path: Path, provider: Provider
) -> None:
    provider.script(plain={"pieces": [json.dumps(NOTE)]})
    remember(here, tmp_path)
    asyncio.run(work())
    (fact,) = here("memory", "facts", "--json").json
    assert "Lives in Porto." in here("memory", "facts", "Porto").out
    assert here("memory", "pin", fact["id"]).out == "pinned: Lives in Porto.\n"
    assert here("memory", "exclude", fact["id"]).out == "pinned and hidden: Lives in Porto.\n"
    assert "pinned:" in here("memory", "exclude", fact["id"], "--off").out
    assert "Braga" in here("memory", "correct", fact["id"], "Lives in Braga.").out
    assert here("memory", "correct", fact["id"], " ").code == 2
    assert "outdated" in here("memory", "facts", "--history").out
    assert here("memory", "undo", fact["id"]).out == "current: Lives in Porto.\n"
    assert len(here("memory", "facts", "--json").json) == 2

    shown = here("memory", "forget", "fact", fact["id"], "--preview").out
    assert shown == "This is deleted:\n  fact: Lives in Porto.\n"
    assert here("memory", "forget", "fact", fact["id"]).code == 2, "nobody was asked"
    assert here("memory", "forget", "fact", fact["id"], "--yes").out.endswith("forgotten\n")
    assert here("memory", "query", "Porto", "--json").json["factItems"][0]["source"] == "episode"
    shown = here("memory", "forget", "message", "s1#0", "--preview").out
    assert f"  message: {SAYS}\n" in shown
    assert "This is rewritten without it:\n  the summary of s1\n" in shown
    here("memory", "forget", "message", "s1#0", "--yes")
    assert here("memory", "query", "Porto", "--json").json["facts"] == []


def test_a_loop_is_pinned_ended_and_opened_again(
    here: Here, tmp_path: Path, provider: Provider
) -> None:
    loop = {"n": 0, "quote": "I moved to Porto", "type": "thread", "horizon": "today"}
    plans = [{**loop, "text": "Find a flat in Porto"}, {**loop, "text": "Learn to surf waves"}]
    provider.script(plain={"pieces": [json.dumps({**NOTE, "facts": [], "loops": plans})]})
    remember(here, tmp_path)
    asyncio.run(work())
    first, last = here("memory", "loops", "--all", "--json").json
    assert here("memory", "pin", last["id"]).out == f"pinned: {last['text']}\n"
    told = here("memory", "loops", "--json").json
    assert [(one["id"], one["pinned"]) for one in told] == [(last["id"], True)], "it is not stale"
    (row,) = [line for line in here("memory", "loops").out.splitlines() if last["text"] in line]
    assert row.split()[:5] == [last["id"], "open", "thread", "today", "pinned"]
    assert here("memory", "pin", last["id"], "--off").out == f"not pinned: {last['text']}\n"
    assert "Nothing is open" in here("memory", "loops").err
    here("memory", "loops", "--mark", first["id"], "done")
    over = here("memory", "pin", first["id"])
    assert (over.code, "This loop is over." in over.err) == (2, True)
    assert here("memory", "undo", first["id"]).out == f"open: {first['text']}\n"
    none = here("memory", "undo", "none")
    assert (none.code, "no fact or loop none" in none.err) == (2, True)


def test_without_a_model_what_is_told_outright_is_kept(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POLYVOX_MODELS_DEFAULT", "local:tiny")
    assert "nothing is noted by itself" in here("memory").err
    assert here("memory", "remember", " ").code == 2
    assert "My bike is green." in here("memory", "remember", "My bike is green.").out
    chat = here("chat", stdin="/remember The key is under the mat.\n/remember\n")
    assert "Remembered: The key is under the mat." in chat.err
    assert "There is nothing to remember." in chat.err
    texts = [one["text"] for one in here("memory", "facts", "--json").json]
    assert texts == ["The key is under the mat.", "My bike is green."]
    assert "nothing is noted by itself" in here("doctor", "--offline").out


def test_an_answer_is_kept_when_its_message_is_forgotten(
    here: Here, tmp_path: Path, provider: Provider
) -> None:
    provider.script(default={"text": "Rivers are good."})
    here("chat", stdin="I moved to the river.\n/end\n")
    asyncio.run(work())
    (said, *_) = [
        one["evidence"][0]
        for one in here("memory", "query", "river", "--json").json["factItems"]
        if one["evidence"][0]["role"] == "user"
    ]
    message = f"{said['sessionId']}#{said['messageIndex']}"
    shown = here("memory", "forget", "message", message, "--preview", "--json").json
    answer, *others = [one["id"] for one in shown["answers"]]
    assert others
    assert f"  {answer}  Rivers are good." in here(
        "memory", "forget", "message", message, "--preview"
    ).out  # fmt: skip
    here("memory", "forget", "message", message, "--keep", answer, "--yes")
    kept = here("conversations", "show", "last").out
    assert kept.count("Rivers are good.") == 1
    assert "I moved to the river." not in kept


def test_conversations_held_on_this_machine_are_asked_about(
    here: Here, cli: Cli, provider: Provider
) -> None:
    """A loopback model counts as this machine; then the memory's model runs online."""
    provider.script(default={"text": "Rivers are good."})
    here("chat", stdin="I moved to the river.\n/end\n")
    asyncio.run(work())
    away = '\n[providers.away]\nbase_url = "https://away.example/v1"\napi_key = "k"\n'
    text = cli.config.read_text().replace("[models]\n", '[models]\nmemory = "away:big"\n')
    cli.config.write_text(text + away)
    asked = here("memory").err
    assert "1 conversation was held with a model on this computer." in asked
    assert "away:big runs online. May it read it?" in asked
    found = {one["what"]: one for one in here("doctor", "--offline", "--json").json}
    assert "polyvox memory share" in found["memory"]["next"]
    assert "private" in here("memory", "share", "--never").out
    assert "stays private" in here("memory").err
    assert "1 conversation until now." in here("memory", "share").out
    assert "conversation" not in here("memory").err
