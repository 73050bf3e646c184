"""Synthesis: every answer labelled, attributions checked, whatever shape the reply has."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.context.world import LARGE, World, limits

from polyvox.context.budget import TooLong
from polyvox.context.rebuild import rebuild
from polyvox.context.receipt import pack
from polyvox.context.synthesis import (
    Attributable,
    AttributedPoint,
    Disagreement,
    Synthesis,
    SynthesisReader,
    as_markdown,
    attributable,
    compile_synthesis,
    read_synthesis,
)
from polyvox.models.base import ModelFacts
from polyvox.thread import Other, ThreadTurn
from polyvox.values import Params

QUESTION = ThreadTurn("t1", "m1", 1, "Shall I {words}?", 0)
ANSWERS = (
    Other("a1", "id1", "keeper", "Keeper", "Stay.\nYou promised."),
    Other("a2", "id2", "builder", "Builder", "Leave]"),
    Other("a3", "id3", "keeper-2", "Keeper", "Wait."),
    Other("a4", "id1", "keeper", "Keeper", "Builder is wrong."),
    Other("a5", "id4", "mute", "Mute", "  "),
)
COUNCIL = attributable(ANSWERS[:4])
WHOLE = """- A promise was made. [Keeper, Keeper (2)]
- Time is short. [Builder, Nobody]

## Disagreements

- Whether to stay.
  - [Keeper] Stay.
  - [Builder] Leave.
"""
READ = Synthesis(
    points=(
        AttributedPoint("A promise was made.", ("id1", "id3")),
        AttributedPoint("Time is short.", ("id2",)),
    ),
    disagreements=(
        Disagreement(
            "Whether to stay.",
            (AttributedPoint("Stay.", ("id1",)), AttributedPoint("Leave.", ("id2",))),
        ),
    ),
    unknown=("Nobody",),
)


def test_labels_are_unique_where_names_are_not() -> None:
    assert [(a.label, a.advisor_id) for a in COUNCIL] == [
        ("Keeper", "id1"),
        ("Builder", "id2"),
        ("Keeper (2)", "id3"),
    ]


@pytest.mark.parametrize("prompts", ["full", "compact"])
def test_the_request_holds_every_answer_and_the_form(prompts: str) -> None:
    facts = ModelFacts("m:n", None, prompts="compact" if prompts == "compact" else "full")
    request = compile_synthesis(QUESTION, ANSWERS, limits(), facts, Params(max_tokens=5)).request
    (message,) = request.messages
    assert message.role == "user"
    assert "Shall I {words}?" in message.text
    for entry in (
        "Keeper: Stay.\n  You promised.",
        "Builder: Leave\\]",
        "Keeper (2): Wait.",
        "Keeper: Builder is wrong.",
    ):
        assert entry in message.text
    assert "Mute" not in message.text
    assert request.schema is None
    assert "## Disagreements" in request.system[0].text
    assert request.params == Params(max_tokens=5)


def test_a_synthesis_has_a_receipt_like_any_answer() -> None:
    world = World(2)
    turn = world.round()
    others = turn.others(world.advisors[0]) + turn.others(world.advisors[1])
    question = ThreadTurn(turn.id, "m", 1, turn.text, turn.said_at)
    made = compile_synthesis(question, others, limits(), LARGE, Params())
    packed = pack(made.draft)
    receipt = rebuild("s", world.load("s", {"s": packed.data}, packed.spans))
    assert receipt.request == made.request
    assert receipt.draft == made.draft


def test_answers_that_do_not_fit_are_not_left_out_silently() -> None:
    with pytest.raises(TooLong, match="The answers of this turn") as caught:
        compile_synthesis(QUESTION, ANSWERS, limits("400 chars"), LARGE, Params())
    assert "Exclude an answer" in caught.value.hint


@pytest.mark.parametrize(
    "text",
    [
        WHOLE,
        f"Here it is:\n\n{WHOLE}\nHope this helps.",
        WHOLE.replace("- ", "* ").replace("[Builder]", "**[Builder]**:"),
        WHOLE.replace("Keeper (2)]", "@keeper-2].").replace("[Builder,", "[builder:;"),
        WHOLE.replace("## Disagreements", "**Where they disagree**"),
        WHOLE.replace("- A promise", "1. A promise").replace("- Time", "2) Time"),
        WHOLE.replace(", Keeper (2)]", " and Keeper (2)]"),
        WHOLE.replace("\n", "\r\n"),
    ],
)
def test_reading_what_models_write(text: str) -> None:
    assert read_synthesis(text, COUNCIL) == READ


def test_what_was_cut_off_keeps_what_came() -> None:
    cut = WHOLE[: WHOLE.index(" short.")]
    read = read_synthesis(cut, COUNCIL)
    assert read == Synthesis(points=(READ.points[0], AttributedPoint("Time is")))


@pytest.mark.parametrize(
    "text",
    [
        "They agree that time is short.",
        "- Nobody is named here.\n- Nor here.",
        "- Only strangers. [Nobody]",
        "[" * 5_000,
        "- " + "[x] " * 50_000,
        "",
    ],
)
def test_prose_is_kept_and_said_to_be_unattributed(text: str) -> None:
    read = read_synthesis(text, COUNCIL)
    assert read == Synthesis(prose=text.strip())
    if text:
        assert read.prose
        assert "does not say which advisor" in as_markdown(read, COUNCIL)


def test_a_name_with_a_comma_is_one_name() -> None:
    council = (Attributable("Grumpy, old", "one"), Attributable("Old", "two"))
    read = read_synthesis("- No. [Grumpy, old]", council)
    assert read == Synthesis(points=(AttributedPoint("No.", ("one",)),))


def test_markdown() -> None:
    assert as_markdown(READ, COUNCIL) == (
        "- A promise was made. *(Keeper, Keeper (2))*\n"
        "- Time is short. *(Builder)*\n"
        "\n"
        "**Where they disagree**\n"
        "\n"
        "- Whether to stay.\n"
        "  - **Keeper:** Stay.\n"
        "  - **Builder:** Leave.\n"
        "\n"
        "*(Attributed to nobody in this turn, and dropped: Nobody.)*"
    )
    only = Synthesis(disagreements=(Disagreement("Q", (AttributedPoint("x"),)),))
    assert as_markdown(only, ()) == "**Where they disagree**\n\n- Q\n  - x"


def test_a_label_wins_over_a_slug() -> None:
    council = (Attributable("Builder", "one", "keeper"), Attributable("Keeper", "two", "builder"))
    read = read_synthesis("- x [keeper]", council)
    assert read.points[0].advisors == ("two",)


DATA = {
    "points": [
        {"text": "A promise was made.", "advisors": ["keeper", "keeper-2"]},
        {"text": "Time is short.", "advisors": ["builder", "Nobody"]},
    ],
    "disagreements": [
        {
            "text": "Whether to stay.",
            "sides": [
                {"text": "Stay.", "advisors": ["keeper"]},
                {"text": "Leave.", "advisors": ["builder"]},
            ],
            "hinges_on": "What was promised.",
        }
    ],
    "next": [{"text": "Ask him.", "advisors": []}],
}


@given(st.data(), st.sampled_from(["plain", "fenced", "backwards", "prose", "list"]))
def test_what_is_shown_does_not_depend_on_how_the_reply_is_cut(
    data: st.DataObject, form: str
) -> None:
    text = json.dumps(DATA)
    if form == "fenced":
        text = f"```json\n{text}\n```"
    elif form == "backwards":
        text = json.dumps(dict(reversed(DATA.items())))
    elif form == "prose":
        text = "They agree."
    elif form == "list":
        text = WHOLE
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)))))
    reader = SynthesisReader(COUNCIL)
    pieces = zip([0, *cuts], [*cuts, len(text)], strict=True)
    shown = "".join(reader.feed(text[start:end]) for start, end in pieces) + reader.end()
    assert reader.read() == read_synthesis(text, COUNCIL)
    if form in ("prose", "list"):
        assert shown == text
        return
    assert shown == as_markdown(reader.read(), COUNCIL)
    assert reader.read().points == READ.points
    assert reader.read().disagreements[0].hinges_on == "What was promised."
    assert reader.read().next == (AttributedPoint("Ask him."),)


@pytest.mark.parametrize("text", ['{"a": 1}', "{not data", "{", '{"points": 3}'])
def test_data_that_says_nothing_is_shown_as_it_came(text: str) -> None:
    reader = SynthesisReader(COUNCIL)
    assert reader.feed(text) + reader.end() == text


def test_data_that_was_cut_off_keeps_what_came() -> None:
    text = json.dumps(DATA)
    reader = SynthesisReader(COUNCIL)
    shown = reader.feed(text[: text.index('"hinges_on"')])
    assert shown.startswith("- A promise was made. *(Keeper, Keeper (2))*\n")
    assert reader.read().disagreements[0].sides[1].advisors == ("id2",)


@pytest.mark.parametrize(
    ("headings", "joined"),
    [
        (("## Streitpunkte", "## Nächste Schritte"), "und"),
        (("**意見の相違**", "**次のステップ**"), "、"),
        (("Désaccords :", "Prochaines étapes :"), "et"),
        (("### Разногласия", "### Дальше"), "и"),
    ],
)
def test_headings_and_joins_of_any_language(headings: tuple[str, str], joined: str) -> None:
    apart, steps = headings
    text = (
        f"- A. [Keeper {joined} Builder]\n\n{apart}\n\n- Q?\n  - [Keeper] Yes.\n"
        f"  - [Builder] No.\n  - H.\n\n{steps}\n\n- Ask. [Builder]\n- Wait.\n"
    )
    sides = (AttributedPoint("Yes.", ("id1",)), AttributedPoint("No.", ("id2",)))
    assert read_synthesis(text, COUNCIL) == Synthesis(
        points=(AttributedPoint("A.", ("id1", "id2")),),
        disagreements=(Disagreement("Q?", sides, "H."),),
        next=(AttributedPoint("Ask.", ("id2",)), AttributedPoint("Wait.")),
    )
