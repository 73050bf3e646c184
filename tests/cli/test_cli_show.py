"""The small parts of the picture: room shared fairly, text wrapped, numbers as people read them."""

from __future__ import annotations

import io
import re
from typing import get_args

import pytest
from rich.console import Console
from tests.cli.desk import Here

from polyvox.cli import words
from polyvox.cli.answers import Board
from polyvox.cli.columns import columns_for, draw, markdown, share, tail
from polyvox.cli.lookup import GREY, People, find_advisor
from polyvox.cli.lookup import legible as legible_color
from polyvox.cli.main import COMMANDS
from polyvox.cli.output import harmless, printable
from polyvox.cli.receipts import cells, times
from polyvox.companion.gate import Level, Posture
from polyvox.companion.overlays import Overlay
from polyvox.context.describe import Share
from polyvox.events import (
    AnswerCompleted,
    AnswerFailed,
    AnswerStarted,
    Event,
    TextDelta,
    ThinkingDelta,
)
from polyvox.memory.trace_words import OVERLAYS, POSTURES, PRESSURES, missing
from polyvox.values import Advisor, Usage


def lines(text: str, width: int) -> list[str]:
    screen = Console(file=io.StringIO(), width=200)
    return [line.plain.rstrip() for line in markdown(screen, text, width)]


@pytest.mark.parametrize(
    ("number", "width", "across"),
    [
        (6, 160, 3), (6, 120, 2), (6, 99, 1), (6, 100, 2), (1, 200, 1), (2, 200, 2), (4, 160, 2),
        (5, 160, 3), (3, 160, 3), (9, 400, 3),
    ],
)  # fmt: skip
def test_columns(number: int, width: int, across: int) -> None:
    assert columns_for(number, width) == across


@pytest.mark.parametrize(
    ("wanted", "room", "given"),
    [
        ([5, 5], 20, [5, 5]),
        ([50, 50], 20, [10, 10]),
        ([2, 50], 20, [2, 18]),
        ([50, 2, 50], 22, [10, 2, 10]),
        ([50, 50, 50], 2, [1, 1, 1]),
    ],
)
def test_room_is_shared(wanted: list[int], room: int, given: list[int]) -> None:
    assert share(wanted, room) == given


def test_markdown_is_drawn() -> None:
    text = "# Title\n\nSome **bold** and *soft* `code`.\n\n- one item that is long\n\n> said"
    drawn = lines(text, 14)
    assert [line.strip() for line in drawn if line.strip()] == [
        "Title", "Some bold and", "soft code.", "• one item", "that is", "long", "▌ said",
    ]  # fmt: skip
    assert "x = '**no**'" in "".join(lines("```py\nx = '**no**'\n```\nafter", 30))
    assert lines("2 * 3 * 4 and a_b_c and **open", 40) == ["2 * 3 * 4 and a_b_c and **open"]
    assert lines("[bank](http://evil.example)", 60) == ["bank (http://evil.example)"]


def test_wide_letters_and_long_words_are_wrapped() -> None:
    assert lines("日本語日本語", 6) == ["日本語", "日本語"]
    assert lines("x" * 25, 10) == ["x" * 10, "x" * 10, "x" * 5]


def test_the_end_of_a_long_text_is_enough() -> None:
    text = "\n".join(f"line {n}" for n in range(10_000))
    cut = tail(text, 40, 10)
    assert len(cut) < 1000
    assert cut.endswith("line 9999")
    assert cut.startswith("line ")
    assert tail("short", 40, 10) == "short"


@pytest.mark.parametrize(
    ("nano", "said"),
    [
        (None, "price unknown"), (0, "free"), (1_500_000_000, "$1.50"), (12_340_000, "$0.012"),
        (420_000, "$0.00042"), (1, "under $0.000001"), (300_000_000, "$0.3"),
    ],
)  # fmt: skip
def test_money(nano: int | None, said: str) -> None:
    assert words.money(nano) == said


def test_numbers_in_words() -> None:
    assert words.spent(Usage(1, 1, cost=0)) == "1 token · free"
    assert words.spent(Usage(1, 1200, estimated=True)) == "≈1,200 tokens · price unknown"
    assert words.spent(None) == ""
    assert words.size(999) == "999 bytes"
    assert words.size(98_400_000) == "98.4 MB"
    assert words.size(83_200_000_000) == "83.2 GB"
    assert words.when(1_700_000_000_000_000, "Europe/Lisbon") == "2023-11-14 22:13"
    assert words.when(None) == "at an unknown time"
    assert words.one_line("a  b\nc" * 5, 8) == "a b ca…"


def test_what_a_terminal_would_obey_is_taken_out() -> None:
    assert printable("a\x1b[31mb\x07\x9bc\td\r\ne") == "a[31mbc\td\ne"
    assert harmless("a\x1bb") == "a b"


def test_colours_are_legible() -> None:
    assert legible_color("#ffffff") == "#ffffff"
    assert legible_color("#4a94b5") == "#4a94b5"
    assert legible_color("#000000") != "#000000"
    assert legible_color("nonsense") == GREY


def test_an_advisor_by_its_names() -> None:
    known = [Advisor("1", "engineer", "@ai-engineer", ""), Advisor("2", "ai-muse", "The Muse", "")]
    for name in ("engineer", "@engineer", "@ai-engineer", "AI-Engineer", "1"):
        assert find_advisor(name, known) is known[0], name
    for name in ("the muse", "ai-muse", "@ai-muse"):
        assert find_advisor(name, known) is known[1], name
    assert find_advisor("muse", known) is None


def test_every_kind_of_piece_has_a_place_in_the_bar() -> None:
    shares = tuple(Share(str(n), str(n), 1, 1, 1, part) for n, part in enumerate((0.0, 0.9, 0.3)))
    assert cells(shares, 20) == [1, 13, 6]


HOSTILE = "a\x1b[2J\x1b]0;owned\x07b\x9b31mc\rd\x7f"


@pytest.mark.parametrize("height", [None, 2, 5, 12, 40])
@pytest.mark.parametrize("width", [20, 60, 120, 200])
@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize(
    "event",
    [
        TextDelta("1", HOSTILE, 0),
        ThinkingDelta("1", HOSTILE, 0),
        AnswerCompleted("1", Usage(1, 1), f"lab:{HOSTILE}"),
        AnswerFailed("1", "quota", HOSTILE, HOSTILE),
    ],
)
def test_in_every_layout_only_our_own_codes_come_out(
    event: Event, known: bool, width: int, height: int | None
) -> None:
    name = f"{HOSTILE}\nName"
    board = Board(People({"x": Advisor("x", "x", name, "", color=GREY)} if known else {}), "turn")
    for answer in ("1", "2", "3"):
        board.apply(AnswerStarted("turn", answer, "x", "" if known else name, "advisor"))
        board.apply(TextDelta(answer, "more words" if answer != "1" else "", 0))
    board.apply(event)
    screen = Console(file=io.StringIO(), width=width, force_terminal=True, color_system="truecolor")
    lines = draw(screen, board, width, height)
    assert lines
    for line in lines:
        assert not re.search(r"[\x00-\x1f\x7f-\x9f]", line.plain)
        with screen.capture() as drawn:
            screen.print(line, no_wrap=True, overflow="ignore", crop=False)
        assert not re.search(
            r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", re.sub(r"\x1b\[[\d;]*m", "", drawn.get())
        )


def test_a_name_of_which_nothing_can_be_seen() -> None:
    people = People({"x": Advisor("x", "slug", "\x1b", "", color=GREY)})
    assert people.get("x").name == "slug"
    assert people.get("\x9b").name == "somebody"


@pytest.mark.parametrize(
    ("degrade", "words"),
    [
        (
            "handover: timeout",
            "what was before is told in plain words: the model that writes it did not come in time",
        ),
        ("startbrief: timeout (3 s)", "what a session starts with did not come in time (3 s)"),
        ("context: no room for handover, ops", "no room for handover, ops"),
        ("tea: spilt", "tea spilt"),
    ],
)
def test_what_is_missing_in_words(degrade: str, words: str) -> None:
    assert missing(degrade) == words


def test_every_decision_of_a_companion_has_words() -> None:
    assert set(POSTURES) == set(get_args(Posture))
    assert set(PRESSURES) == set(get_args(Level))
    assert set(OVERLAYS) == set(get_args(Overlay))
    timings = {"gate_ms": 0, "llm_ms": 2.5, "tts_ms": 0, "tea_ms": 1, "total_ms": None}
    assert times(timings) == "the model 2.5 ms, tea 1 ms"


def test_the_line_of_a_command_is_the_beginning_of_its_own_help(here: Here) -> None:
    for name, line in COMMANDS.items():
        assert line in " ".join(here(name, "--help").out.split()), name
