"""`polyvox sessions` and `polyvox worker`."""

from __future__ import annotations

import signal

import pytest
from tests.cli.desk import SECONDS, Cli, Here

from polyvox.cli.words import when


def test_sessions_are_listed_shown_and_ended(here: Here) -> None:
    assert "no sessions yet" in here("sessions").err
    asked = here("ask", "Is it so?", "--advisor", "keeper", "--json").json
    (one,) = here("sessions", "list", "--json").json
    assert one["conversation_id"] == asked["conversation"]
    assert here("sessions", "list", "--conversation", "other", "--json").json == []
    shown = here("sessions", "show", one["id"])
    assert "Is it so?" in shown.out
    assert "still open" in shown.out
    told = here("sessions", "show", one["id"], "--json").json
    assert [said["content"] for said in told["said"]] == ["Is it so?"]
    assert here("sessions", "end", one["id"]).out == f"ended the session {one['id']}\n"
    assert "by you" in here("sessions", "list").out
    again = here("sessions", "end", one["id"])
    assert again.code == 2
    assert "has ended" in again.err
    for word in ("show", "end"):
        none = here("sessions", word, "none")
        assert none.code == 2
        assert "There is no session none. `polyvox sessions list` shows them." in none.err
    assert "A session's id is needed." in here("sessions", "show", "").err


def test_a_session_is_known_by_its_first_words_and_its_time_where_one_is(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    here("ask", "Is it so?", "--advisor", "keeper")
    (one,) = here("sessions", "list", "--json").json
    for zone in ("Pacific/Kiritimati", "Pacific/Pago_Pago"):
        monkeypatch.setenv("POLYVOX_TIMEZONE", zone)
        began = when(one["started_at"], zone)
        row = here("sessions", "list").out.splitlines()[1]
        assert row.split("  ")[:2] == [one["id"], began]
        assert row.endswith("Is it so?")
        assert one["conversation_id"] not in row
        shown = here("sessions", "show", one["id"]).out
        assert f"began {began}" in shown
        assert f"\n{began}  Is it so?" in shown
        assert one["conversation_id"] in shown


@pytest.mark.slow
def test_the_worker_works_until_it_is_told_to_stop(cli: Cli) -> None:
    with cli.begin("worker") as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("Working in the background")
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=SECONDS)
    assert (process.returncode, out, err) == (0, "", "")
