"""`polyvox ask`: in a pipe, as JSON, from stdin, with another model, stopped, failed."""

from __future__ import annotations

import os
import signal
from typing import Any

import msgspec
import pytest
from tests.cli.desk import SECONDS, Cli, Here, Provider

pytestmark = pytest.mark.contract

KEYS = ["answer", "advisor", "state", "text", "error", "usage"]


def shown(cli: Here, conversation: str) -> list[dict[str, Any]]:
    messages = cli("conversations", "show", conversation, "--json").json["messages"]
    return [answer for message in messages for answer in message["answers"]]


def test_a_pipe_gets_one_answer_after_another_and_no_codes(here: Here, provider: Provider) -> None:
    provider.script(default={"text": "From \x1b[31m{model}\x1b[0m\x07 with **care**."})
    run = here("ask", "hi", "-a", "keeper", "-a", "@Builder")
    assert run.code == 0
    assert run.err == ""
    one = "From [31mplain[0m with **care**."
    assert run.out == f"## Keeper\n\n{one}\n\n## Builder\n\n{one}\n"
    assert "\x1b" not in run.out


def test_a_single_answer_stands_alone(here: Here) -> None:
    assert here("ask", "hi", "-a", "keeper").out == "A plain answer from plain.\n"


def test_the_first_answer_is_written_as_it_comes(cli: Cli, provider: Provider) -> None:
    provider.script(default={"pieces": ["one ", "two ", "three"], "gates": {"2": "on"}})
    process = cli.begin("ask", "hi", "-a", "keeper", "-a", "builder")
    assert process.stdout is not None
    assert process.stdout.read(len("## Keeper\n\none two ")) == "## Keeper\n\none two "
    provider.open("on")
    rest, errors = process.communicate(timeout=SECONDS)
    assert rest == "three\n\n## Builder\n\none two three\n"
    assert errors == ""
    assert process.returncode == 0


def test_json_has_exactly_this_shape(here: Here) -> None:
    run = here("ask", "hi", "--json")
    assert run.code == 0
    assert run.err == ""
    assert list(run.json) == ["conversation", "turn", "answers"]
    assert [list(row) for row in run.json["answers"]] == [KEYS] * 6
    slugs = [row["advisor"] for row in run.json["answers"]]
    assert slugs == ["empiricist", "strategist", "listener", "keeper", "builder", "dissenter"]
    first = run.json["answers"][0]
    assert first["state"] == "completed"
    assert first["text"] == "A plain answer from plain."
    assert first["error"] is None
    assert first["usage"]["output_tokens"] == 5
    assert first["usage"]["cost"] is None


def test_a_failed_answer_shows_its_cause_and_the_others_count(
    here: Here, provider: Provider
) -> None:
    provider.script(bad={"status": 401, "error": "No such key."})
    here("advisors", "edit", "builder", "--model", "lab:bad")
    run = here("ask", "hi", "--json", "-a", "keeper", "-a", "builder")
    assert run.code == 0
    good, bad = run.json["answers"]
    assert (good["state"], bad["state"]) == ("completed", "failed")
    assert bad["error"]["category"] == "authentication"
    assert "No such key." in bad["error"]["message"]
    assert bad["error"]["hint"]
    plain = here("ask", "hi", "-a", "keeper", "-a", "builder")
    assert plain.code == 0
    assert "## Builder\n\n[failed: lab (401): No such key." in plain.out


def test_no_completed_answer_ends_with_1(here: Here, provider: Provider) -> None:
    provider.script(default={"status": 500, "error": "On fire."})
    run = here("ask", "hi", "-a", "keeper")
    assert run.code == 1
    assert run.out == "\n" or run.out == ""
    assert run.err.count("\n") == 1
    assert "no answer was completed" in run.err
    assert "On fire." in run.err
    assert here("ask", "hi", "-a", "keeper", "--json").json["answers"][0]["state"] == "failed"


def test_the_message_comes_from_stdin(here: Here, provider: Provider) -> None:
    provider.script(default={"text": "You said: {last}"})
    said = here("ask", "-a", "keeper", stdin="from a pipe,\nwith lines\n").out
    assert said.endswith("from a pipe,\nwith lines\n")
    assert here("ask", "-", "-a", "keeper", stdin="dash\n").out.endswith("dash\n")
    empty = here("ask", "-a", "keeper")
    assert empty.code == 2
    assert "empty" in empty.err


def test_stdin_that_is_not_text(cli: Cli) -> None:
    process = cli.begin("ask", "-a", "keeper")
    assert process.stdin is not None
    os.write(process.stdin.fileno(), b"\xff\xfe\x00")
    _, errors = process.communicate(timeout=SECONDS)
    assert process.returncode == 2
    assert "not UTF-8" in errors


def test_another_model_for_this_turn_only(here: Here, provider: Provider) -> None:
    here("advisors", "edit", "builder", "--model", "lab:own")
    words = ("ask", "hi", "--json", "-a", "keeper", "-a", "builder")
    texts = [row["text"] for row in here(*words, "--model", "lab:other").json["answers"]]
    assert texts == ["A plain answer from other."] * 2
    texts = [row["text"] for row in here(*words).json["answers"]]
    assert texts == ["A plain answer from plain.", "A plain answer from own."]


def test_another_model_writes_exchange_and_synthesis_too(here: Here, provider: Provider) -> None:
    run = here(
        "ask", "hi", "--json", "-a", "keeper", "-a", "builder", "--exchange", "2", "--synthesize",
        "--model", "lab:other",
    )  # fmt: skip
    kinds = [(row["kind"], row["round"], row["advisor"]) for row in run.json["answers"]]
    assert kinds == [
        ("advisor", 0, "keeper"), ("advisor", 0, "builder"),
        ("exchange", 1, "keeper"), ("exchange", 1, "builder"),
        ("exchange", 2, "keeper"), ("exchange", 2, "builder"),
        ("synthesis", 0, "synthesis"),
    ]  # fmt: skip
    assert {row["model"] for row in provider.log()} == {"other"}


def test_exchange_and_synthesis_in_a_pipe(here: Here, provider: Provider) -> None:
    provider.script(syn={"text": "- Wait. [Keeper, Builder]"})
    run = here(
        "ask", "hi", "-a", "keeper", "-a", "builder", "--exchange", "1", "--synthesize",
    )  # fmt: skip
    headings = [line for line in run.out.splitlines() if line.startswith("##")]
    assert headings == [
        "## Keeper", "## Builder", "## Keeper (round 1)", "## Builder (round 1)", "## Synthesis",
    ]  # fmt: skip


def test_an_exchange_before_any_position_says_so(here: Here) -> None:
    run = here("ask", "hi", "-a", "keeper", "-a", "builder", "--exchange", "1", "--phases", "2")
    assert run.code == 0
    assert "Nobody has taken a position yet" in run.err
    assert "Nobody has taken a position yet" not in here(
        "ask", "hi", "-a", "keeper", "-a", "builder", "--exchange", "1"
    ).err  # fmt: skip


def test_an_exchange_that_a_cap_cuts_says_so(cli: Cli, here: Here, provider: Provider) -> None:
    with cli.config.open("a") as file:
        file.write(
            "cost_per_conversation = 0.8\n"
            f'[providers.openai]\nbase_url = "{provider.base_url}"\napi_key = "k-12345678"\n'
        )
    provider.script(**{"gpt-4o": {"text": "Well.", "input_tokens": 100_000, "output_tokens": 10}})
    for slug in ("keeper", "builder"):
        here("advisors", "edit", slug, "--model", "openai:gpt-4o")
    run = here("ask", "hi", "-a", "keeper", "-a", "builder", "--exchange", "4")
    assert "The exchange ended after 1 round." in run.err
    assert "cap" in run.err
    assert len(provider.log()) == 4


def test_an_exchange_that_cannot_be_is_told_and_the_answers_stay(here: Here) -> None:
    run = here("ask", "hi", "-a", "keeper", "--exchange", "1")
    assert run.code == 0
    assert run.out == "A plain answer from plain.\n"
    assert "needs at least two answers" in run.err


def test_a_conversation_goes_on(here: Here, provider: Provider) -> None:
    first = here("ask", "my first words", "-a", "keeper", "--json").json["conversation"]
    second = here("ask", "my second words", "-a", "keeper", "--json", "-c", first).json
    assert second["conversation"] == first
    assert (
        here("ask", "third", "-a", "keeper", "--json", "-c", "last").json["conversation"] == first
    )
    body = msgspec.json.decode(provider.log()[-1]["body"])
    said = " ".join(message["content"] for message in body["messages"])
    assert "my first words" in said
    assert "my second words" in said
    other = here("ask", "hi", "-c", first, "--recipe", "agent")
    assert other.code == 2
    assert "has the recipe council" in other.err


def test_a_recipe(here: Here, provider: Provider) -> None:
    assert here("ask", "bare words", "-a", "keeper", "--recipe", "agent").code == 0
    body = msgspec.json.decode(provider.log()[-1]["body"])
    assert body["messages"][-1]["content"] == "bare words"  # an agent gets no time stamps


def test_ctrl_c_stops_the_answers_and_keeps_what_came(cli: Cli, provider: Provider) -> None:
    provider.script(default={"pieces": ["begun ", "and never ended"], "gates": {"1": "never"}})
    process = cli.begin("ask", "hi", "-a", "keeper", "-a", "builder")
    assert process.stdout is not None
    assert process.stdout.read(len("## Keeper\n\nbegun ")) == "## Keeper\n\nbegun "
    process.send_signal(signal.SIGINT)
    rest, errors = process.communicate(timeout=SECONDS)
    assert process.returncode == 130
    assert rest == " [stopped]\n\n## Builder\n\nbegun  [stopped]\n"
    assert errors == "polyvox: stopped; what had come is kept.\n"
    answers = shown(cli, "last")
    assert [(one["state"], one["text"]) for one in answers] == [("stopped", "begun ")] * 2
    assert all(row["closed_at"] is not None for row in provider.log())


def test_ctrl_c_before_any_word(cli: Cli, provider: Provider) -> None:
    provider.script(default={"hold": "never"})
    process = cli.begin("ask", "hi", "-a", "keeper", "--json")
    provider.arrived("plain")
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=SECONDS)
    assert process.returncode == 130
    assert msgspec.json.decode(out)["answers"][0]["state"] == "stopped"
    assert errors == "polyvox: stopped before any words came.\n"


def test_ctrl_c_ends_an_exchange_between_its_rounds_too(
    cli: Cli, here: Here, provider: Provider
) -> None:
    for slug in ("keeper", "builder"):
        here("advisors", "edit", slug, "--model", f"lab:{slug}")
    queue = [{"text": "first"}, {"pieces": ["second ", "x"], "gates": {"1": "no"}}]
    provider.script(keeper=queue, builder=queue)
    process = cli.begin("ask", "hi", "-a", "keeper", "-a", "builder", "--exchange", "3")
    assert process.stdout is not None
    seen = ""
    while "second " not in seen:
        seen += process.stdout.read(1)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=SECONDS)
    assert process.returncode == 130
    rounds = [(one["round"], one["state"]) for one in shown(cli, "last")]
    assert rounds == [(0, "completed")] * 2 + [(1, "stopped")] * 2


def test_the_tiny_model_is_called_tiny_once_but_not_in_json(
    cli: Cli, here: Here, provider: Provider
) -> None:
    """The embedded model is the default one, and a file that is no model stands in for it: what is
    tested is what is said."""
    cli.config.write_text('[local]\nmodel_path = "/nonexistent.gguf"\n[limits]\nretries = 0\n')
    run = here("ask", "hi", "-a", "keeper", "-a", "builder")
    assert run.code == 1
    assert run.err.count("The embedded model is tiny") == 1
    assert "OPENROUTER_API_KEY" in run.err
    quiet = here("ask", "hi", "-a", "keeper", "--json")
    assert "tiny" not in quiet.err
    assert "tiny" not in quiet.out
    other = here("ask", "hi", "-a", "keeper", "--model", "scripted:echo")
    assert other.code == 0
    assert other.err == ""


def test_a_mention_of_nobody_is_told(here: Here) -> None:
    run = here("ask", "@kepeer what now?")
    assert "Whom do you mean by @kepeer?" in run.err
    assert "Did you mean @keeper?" in run.err
    assert (run.code, run.out) == (2, "")
    assert "Whom do you mean by @zzz?" in here("ask", "@zzz hi").err
    assert here("ask", "@kepeer and @builder?").code == 2
    for words in (["@Keeper hi"], ["@kepeer hi", "-a", "keeper"], ["hi @kepeer"]):
        assert here("ask", *words).code == 0


def test_a_council_is_asked(here: Here) -> None:
    here("councils", "add", "House", "-a", "keeper", "-a", "builder", "--recipe", "agent")
    run = here("ask", "--council", "house", "hi", "--json")
    assert [row["advisor"] for row in run.json["answers"]] == ["keeper", "builder"]
    assert here("conversations", "show", "last", "--json").json["recipe"] == "agent"
    again = here("ask", "-c", "last", "and?", "--json")
    assert [row["advisor"] for row in again.json["answers"]] == ["keeper", "builder"]
    both = here("ask", "-c", "last", "--council", "house", "hi")
    assert (both.code, "has its council already" in both.err) == (2, True)
    missing = here("ask", "--council", "nobody", "hi")
    assert (missing.code, "nobody" in missing.err) == (2, True)
    assert len(here("conversations", "list", "--json").json) == 1


def test_json_holds_nothing_that_a_terminal_obeys(here: Here, provider: Provider) -> None:
    provider.script(default={"text": "safe \x9b31m\x7f\x1b"})
    run = here("ask", "hi", "-a", "keeper", "--json")
    assert run.json["answers"][0]["text"] == "safe \x9b31m\x7f\x1b"
    assert "\x9b" not in run.out
    assert "\x7f" not in run.out
