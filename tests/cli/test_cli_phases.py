"""Phases in the terminal: `ask` answers at once, `/answer`, `/phases`, councils, own recipes."""

from __future__ import annotations

import pytest
from tests.cli.desk import Cli, Here, Provider, Run

pytestmark = pytest.mark.contract


def chat(cli: Here, *lines: str, words: tuple[str, ...] = ()) -> Run:
    return cli("chat", *words, stdin="".join(f"{line}\n" for line in lines))


def phases(provider: Provider) -> list[str]:
    """The phase of each request for an advisor: `1 of 3`, or `answer`."""
    heads = []
    for row in provider.log():
        body = row["body"]
        if "## Your task" in body:
            head = body.partition("## Your task")[2].partition("\\n")[0]
            heads.append(head.removeprefix(": turn ") or "answer")
    return heads


def test_asking_once_gets_answers_unless_questions_are_wanted(
    here: Here, provider: Provider
) -> None:
    assert here("ask", "-a", "keeper", "Should I?").code == 0
    assert phases(provider) == ["answer"]
    assert here("ask", "-c", "last", "And now?").code == 0
    assert set(phases(provider)[1:]) == {"answer"}, "a conversation keeps what it began with"
    provider.clear()
    assert here("ask", "-a", "keeper", "--phases", "2", "Should I?").code == 0
    assert here("ask", "-a", "keeper", "-c", "last", "Well?").code == 0
    assert here("ask", "-a", "keeper", "-c", "last", "--phases", "off", "Well?").code == 0
    assert phases(provider) == ["1 of 2", "2 of 2", "answer"]
    assert here("ask", "--phases", "many", "Should I?").code != 0


def test_a_synthesis_brings_answers_together_not_questions(here: Here, provider: Provider) -> None:
    run = here("ask", "-a", "keeper", "-a", "builder", "--synthesize", "Should I?")
    assert run.code == 0, run.err
    assert phases(provider) == ["answer", "answer"]


def test_answer_ends_the_questions_with_a_message_or_without(
    here: Here, provider: Provider
) -> None:
    run = chat(here, "/only keeper", "It broke.", "/answer It is ten years old.", "And now?")
    assert run.code == 0, run.err
    assert phases(provider) == ["1 of 3", "answer", "answer"]
    provider.clear()
    run = chat(here, "/only keeper", "It broke.", "/answer")
    assert run.code == 0, run.err
    assert phases(provider) == ["1 of 3", "answer"]
    (message,) = here("conversations", "show", "last", "--json").json["messages"]
    assert [answer["version"] for answer in message["answers"]] == [1, 2], "nothing was invented"


def test_phases_are_set_in_a_chat(here: Here, provider: Provider) -> None:
    run = chat(
        here, "/phases 1", "/only keeper", "One.", "Two.", "/phases recipe", "Three.",
        "/phases off", "Four.", "/phases", "/phases soon",
    )  # fmt: skip
    assert phases(provider) == ["1 of 1", "answer", "3 of 3", "answer"]
    assert "For how many answers?" in run.err
    assert "'soon' is not a number of answers." in run.err
    assert here("conversations", "show", "last", "--json").json["phases"] == 0
    provider.clear()
    assert chat(here, "/only keeper", "One.", words=("--phases", "off")).code == 0
    assert phases(provider) == ["answer"]


def test_a_council_has_its_own(here: Here, provider: Provider) -> None:
    assert here("councils", "add", "Pair", "-a", "keeper", "--phases", "2").code == 0
    assert here("councils", "list", "--json").json[0]["phases"] == 2
    chat(here, "One.", words=("--council", "pair"))
    assert here("ask", "--council", "pair", "Should I?").code == 0
    assert phases(provider) == ["1 of 2", "1 of 2"], "the council wants to be asked first"
    assert here("councils", "edit", "pair", "--phases", "recipe").code == 0
    assert here("councils", "list", "--json").json[0]["phases"] is None


def test_after_an_exchange_a_new_synthesis_is_offered(here: Here) -> None:
    run = chat(here, "/only keeper builder", "Should I?", "/exchange", "/synthesize", "/exchange")
    assert run.code == 0, run.err
    offered = "The synthesis is from before this round; /synthesize writes a new one."
    assert run.err.count(offered) == 1


def test_a_recipe_of_the_configuration_is_used(cli: Cli, here: Here, provider: Provider) -> None:
    with cli.config.open("a") as file:
        file.write('[recipes.quick]\nphases = [{name = "brief", text = "One line only."}]\n')
    assert here("ask", "-a", "keeper", "--recipe", "quick", "Should I?").code == 0
    assert "One line only." in provider.log()[-1]["body"]
