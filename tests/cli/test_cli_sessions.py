"""`polyvox sessions` and `polyvox worker`."""

from __future__ import annotations

import signal

import pytest
from tests.cli.desk import SECONDS, Cli, Here


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
    assert here("sessions", "show", "none").code == 2


@pytest.mark.slow
def test_the_worker_works_until_it_is_told_to_stop(cli: Cli) -> None:
    with cli.begin("worker") as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("Working in the background")
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=SECONDS)
    assert (process.returncode, out, err) == (0, "", "")
