"""Bytes into pieces: however the network cuts a stream, what comes out of it is the same."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.provider.script import Fault, Script
from tests.provider.wire import Anthropic, OpenAI, Wire

from polyvox.errors import ModelError, Unavailable
from polyvox.models.anthropic import AnthropicParser
from polyvox.models.failures import Words
from polyvox.models.openai import OpenAIParser
from polyvox.models.parse import Parser, loose
from polyvox.values import Usage

PARSERS: dict[str, tuple[type[Parser], Callable[..., Wire]]] = {
    "openai": (OpenAIParser, OpenAI),
    "anthropic": (AnthropicParser, Anthropic),
}
BODY = {"model": "m", "stream": True, "stream_options": {"include_usage": True}}
BODY |= {"messages": [{"role": "user", "content": "Hi"}]}


def explain(words: Words, status: int | None) -> ModelError:
    return Unavailable(f"{words.message} [{words.code}]", http_status=status)


def make(wire: str, limit: int = 10_000_000) -> Parser:
    return PARSERS[wire][0]("lab:m", limit, explain)


def stream(wire: str, script: Script, pieces: list[str]) -> bytes:
    """All events of an answer, as one text."""
    maker = PARSERS[wire][1](script, BODY, 1, pieces)
    events = [*maker.start(), *(maker.token(piece) for piece in pieces)]
    if script.fault == "error_event":
        events.append(maker.error_event())
    elif script.fault != "unfinished":
        events += maker.end(script.fault or "stop")
    if script.comments:
        events = [b": wait\n\n" + event for event in events]
    whole = b"".join(events)
    return whole.replace(b"\n", b"\r\n") if script.newline == "crlf" else whole


Outcome = tuple[str, str, Usage | None, str | None, str, str]


def outcome(parser: Parser, chunks: list[bytes]) -> Outcome:
    text = thinking = ""
    for chunk in [*chunks, b""]:
        if parser.done or parser.error:
            break
        piece = parser.feed(chunk) if chunk else parser.end()
        if piece is not None:
            text, thinking = text + piece.text, thinking + piece.thinking
    error = parser.error
    said = (error.category, error.message) if error else ("", "")
    return text, thinking, parser.usage, parser.finish, *said


def cut(whole: bytes, places: list[int]) -> list[bytes]:
    marks = sorted({place % (len(whole) + 1) for place in places} | {0, len(whole)})
    return [whole[a:b] for a, b in itertools.pairwise(marks) if a < b]


FAULTS: list[Fault] = ["", "length", "refusal", "unfinished", "error_event", "no_done", "no_finish"]
SCRIPTS = st.builds(
    Script,
    thinking=st.sampled_from(["", "hm", "思 考"]),
    thinking_style=st.sampled_from(["reasoning_content", "reasoning", "reasoning_details"]),
    fault=st.sampled_from(FAULTS),
    comments=st.booleans(),
    newline=st.sampled_from(["lf", "crlf"]),
    usage=st.booleans(),
)


@pytest.mark.parametrize("wire", PARSERS)
@given(
    script=SCRIPTS,
    pieces=st.lists(st.text(min_size=1, max_size=8), max_size=5),
    places=st.lists(st.integers(0, 10_000), max_size=30),
)
def test_any_cut_of_the_stream_gives_the_same(
    wire: str, script: Script, pieces: list[str], places: list[int]
) -> None:
    whole = stream(wire, script, pieces)
    at_once = outcome(make(wire), [whole])
    assert outcome(make(wire), cut(whole, places)) == at_once
    if script.fault in {"", "length"} and any(piece.strip() for piece in pieces):
        assert at_once[0] == "".join(pieces).replace("\0", "\ufffd")
        assert at_once[1] == script.thinking
        assert at_once[4] == ""


@pytest.mark.parametrize("wire", PARSERS)
def test_byte_by_byte(wire: str) -> None:
    script = Script(thinking="hm 思", newline="crlf")
    whole = stream(wire, script, ["Ünï", " 👩‍👧", "\0"])
    chunks = [whole[n : n + 1] for n in range(len(whole))]
    assert outcome(make(wire), chunks) == outcome(make(wire), [whole])


@pytest.mark.parametrize("wire", PARSERS)
@given(places=st.lists(st.integers(0, 500), max_size=8), junk=st.binary(max_size=200))
@settings(max_examples=200)
def test_no_bytes_whatever_break_the_parser(wire: str, junk: bytes, places: list[int]) -> None:
    whole = stream(wire, Script(), ["one", "two"])
    middle = whole.index(b"two")
    for body in (junk, whole[:middle] + junk + whole[middle:], b"data: " + junk + b"\n\n"):
        parser = make(wire)
        outcome(parser, cut(body, places))
        assert parser.done or parser.error is not None


@pytest.mark.parametrize("wire", PARSERS)
def test_one_read_is_one_piece(wire: str) -> None:
    parser = make(wire)
    whole = stream(wire, Script(thinking="hm"), ["one", " two", " three"])
    piece = parser.feed(whole)
    assert piece is not None
    assert (piece.text, piece.thinking) == ("one two three", "hm")
    assert parser.done


@pytest.mark.parametrize("wire", PARSERS)
def test_nothing_after_the_end_is_read(wire: str) -> None:
    parser = make(wire)
    piece = parser.feed(stream(wire, Script(), ["one"]) * 2)
    assert piece is not None
    assert piece.text == "one"


def test_data_on_several_lines_is_one_event() -> None:
    parser = make("openai")
    event = b'data: {"choices":\ndata: [{"delta":{"content":"split"}}]}\nid: 7\nretry: 5\n\n'
    piece = parser.feed(event)
    assert piece is not None
    assert piece.text == "split"


def test_an_end_without_its_blank_line_still_counts() -> None:
    whole = stream("openai", Script(), ["one"]).removesuffix(b"\n\n")
    assert outcome(make("openai"), [whole])[0] == "one"
    assert outcome(make("openai"), [whole])[4] == ""


@pytest.mark.parametrize("wire", PARSERS)
def test_garbage_is_quoted_from_its_start_however_it_was_cut(wire: str) -> None:
    garbage = b"  \n Gateway closed for lunch\n\nsee you"
    for chunks in ([garbage], [garbage[n : n + 1] for n in range(len(garbage))]):
        result = outcome(make(wire), chunks)
        assert result[4] == "protocol"
        assert "'Gateway closed for lunch" in result[5]


@pytest.mark.parametrize(
    ("payload", "value"),
    [
        (b'{"a":"\\ud800x"}', {"a": "\ufffdx"}),
        (b'{"a":"\\ud83d\\ude00"}', {"a": "😀"}),
        (b'{"a":"\xff"}', {"a": "\ufffd"}),
        (b'{"a":[1,null]}', {"a": [1, None]}),
    ],
)
def test_loose_reads_what_can_be_read(payload: bytes, value: object) -> None:
    assert loose(payload) == value


def test_loose_refuses_what_is_no_json() -> None:
    with pytest.raises(ValueError, match="Expecting"):
        loose(b"oops")
