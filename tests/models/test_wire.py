"""Requests as bytes: one golden per dialect, and the properties that receipts rely on."""

from __future__ import annotations

import itertools
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyvox.models.base import ChatMessage, Request, SystemPart
from polyvox.models.wire import ALTERNATING, CACHE_CHARS, DIALECTS, encode, estimated_tokens
from polyvox.values import Params

SMALL = Request(
    (SystemPart("You are Ada."), SystemPart("It is Monday.", stable=False)),
    (
        ChatMessage("user", "Hi"),
        ChatMessage("assistant", "Hello"),
        ChatMessage("user", "Why — “so”?"),
    ),
    Params(max_tokens=100, temperature=0.5, top_p=0.9),
)
SCHEMA = '{"type":"object","properties":{"a":{"type":"string"}}}'

MESSAGES = (
    '"messages":[{"role":"system","content":"You are Ada."},'
    '{"role":"system","content":"It is Monday."},{"role":"user","content":"Hi"},'
    '{"role":"assistant","content":"Hello"},{"role":"user","content":"Why — “so”?"}],"stream":true'
)
IN_TURN = MESSAGES.replace('"},{"role":"system","content":"', r"\n\n")
USAGE = ',"stream_options":{"include_usage":true}'
SAMPLING = ',"temperature":0.5,"top_p":0.9'
GOLDEN = {
    "openai": f'{{"model":"m",{MESSAGES}{USAGE},"max_completion_tokens":100{SAMPLING}}}',
    "openrouter": f'{{"model":"m",{MESSAGES}{USAGE},"max_tokens":100{SAMPLING}}}',
    "gemini": f'{{"model":"m",{MESSAGES}{USAGE},"max_tokens":100{SAMPLING}}}',
    "ollama": f'{{"model":"m",{MESSAGES}{USAGE},"max_tokens":100{SAMPLING}}}',
    "llama": f'{{"model":"m",{IN_TURN}{USAGE},"max_tokens":100{SAMPLING}}}',
    "compatible": f'{{"model":"m",{MESSAGES}{USAGE},"max_tokens":100{SAMPLING}}}',
    "scripted": f'{{"model":"m",{MESSAGES},"max_tokens":100{SAMPLING}}}',
    "anthropic": (
        '{"model":"m","max_tokens":100,"system":[{"type":"text","text":"You are Ada.",'
        '"cache_control":{"type":"ephemeral"}},{"type":"text","text":"It is Monday."}],'
        '"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":"Hello"},'
        '{"role":"user","content":"Why — “so”?"}],"stream":true,"temperature":0.5}'
    ),
}


def body(dialect: str, request: Request, model: str = "m") -> dict[str, Any]:
    return msgspec.json.decode(encode(dialect, model, request).body, type=dict[str, Any])


def test_there_is_a_golden_for_every_dialect() -> None:
    assert set(GOLDEN) == {name for name in DIALECTS if not name.endswith(ALTERNATING)}


@pytest.mark.parametrize("dialect", GOLDEN)
def test_golden(dialect: str) -> None:
    encoded = encode(dialect, "m", SMALL)
    assert encoded.body.decode() == GOLDEN[dialect]
    assert (encoded.dialect, encoded.model) == (dialect, "m")


@pytest.mark.parametrize("dialect", GOLDEN)
def test_what_is_not_set_is_not_sent(dialect: str) -> None:
    sent = body(dialect, Request((), (ChatMessage("user", "Hi"),)))
    expected = {"model", "messages", "stream"}
    if dialect == "anthropic":
        expected |= {"max_tokens"}
        assert sent["max_tokens"] == 2048
    elif dialect != "scripted":
        expected |= {"stream_options"}
    assert set(sent) == expected


@pytest.mark.parametrize("dialect", [name for name in GOLDEN if name != "anthropic"])
def test_a_schema_is_sent_as_it_is(dialect: str) -> None:
    request = Request((), (ChatMessage("user", "Hi"),), schema=SCHEMA)
    assert f'"schema":{SCHEMA}'.encode() in encode(dialect, "m", request).body
    assert body(dialect, request)["response_format"]["type"] == "json_schema"


def test_a_schema_for_claude_where_it_can() -> None:
    request = Request((), (ChatMessage("user", "Hi"),), schema=SCHEMA)
    shape = body("anthropic", request, "claude-sonnet-4-5")["output_config"]["format"]
    assert shape == {"type": "json_schema", "schema": msgspec.json.decode(SCHEMA)}
    assert "output_config" not in body("anthropic", request, "claude-3-5-haiku-latest")
    both = body("anthropic", request, "claude-sonnet-5-5")["output_config"]
    assert set(both) == {"effort", "format"}


# Anthropic's system and cache marks


def system(*parts: SystemPart) -> Any:
    return body("anthropic", Request(parts, (ChatMessage("user", "Hi"),))).get("system")


def test_one_short_part_is_a_plain_string() -> None:
    assert system(SystemPart("Be brief.")) == "Be brief."
    assert system() is None


def test_several_short_stable_parts_are_unmarked_blocks() -> None:
    assert system(SystemPart("A"), SystemPart("B")) == [
        {"type": "text", "text": "A"},
        {"type": "text", "text": "B"},
    ]


def test_a_long_stable_text_is_marked_at_its_end() -> None:
    half = "x" * (CACHE_CHARS // 2)
    first, second = system(SystemPart(half), SystemPart(half))
    assert "cache_control" not in first
    assert second["cache_control"] == {"type": "ephemeral"}
    (alone,) = system(SystemPart("x" * CACHE_CHARS))
    assert alone["cache_control"] == {"type": "ephemeral"}
    assert system(SystemPart("x" * (CACHE_CHARS - 1))) == "x" * (CACHE_CHARS - 1)


def test_the_mark_is_before_what_changes() -> None:
    marks = [
        "cache_control" in block
        for block in system(SystemPart("A"), SystemPart("B"), SystemPart("now", stable=False))
    ]
    assert marks == [False, True, False]
    assert system(SystemPart("now", stable=False)) == [{"type": "text", "text": "now"}]


def thread(*texts: str, settled: int = 0, stable: bool = True) -> list[dict[str, Any]]:
    """Messages from "u:text" and "a:text"."""
    roles = {"u": "user", "a": "assistant"}
    messages = tuple(
        ChatMessage(roles[text[0]], text[2:])  # type: ignore[arg-type]  # one of the two
        for text in texts
    )
    request = Request((SystemPart("S", stable=stable),), messages, settled=settled)
    messages_sent: list[dict[str, Any]] = body("anthropic", request)["messages"]
    return messages_sent


def test_neighbours_of_one_role_are_merged_by_a_blank_line() -> None:
    assert thread("u:a", "u:b", "a:c", "u:d", "u:e") == [
        {"role": "user", "content": "a\n\nb"},
        {"role": "assistant", "content": "c"},
        {"role": "user", "content": "d\n\ne"},
    ]


def test_the_last_settled_message_is_marked_when_it_pays() -> None:
    long = "y" * CACHE_CHARS
    sent = thread(f"u:{long}", "a:b", "u:c", settled=2)
    assert sent[1]["content"] == [
        {"type": "text", "text": "b", "cache_control": {"type": "ephemeral"}}
    ]
    assert sent[0]["content"] == long
    assert sent[2]["content"] == "c"
    assert thread("u:short", "a:b", "u:c", settled=2)[1]["content"] == "b"
    assert thread(f"u:{long}", "a:b", "u:c", settled=0)[1]["content"] == "b"


def test_no_mark_on_messages_behind_a_system_part_that_changes() -> None:
    sent = thread("u:" + "y" * CACHE_CHARS, "a:b", "u:c", settled=2, stable=False)
    assert sent[1]["content"] == "b"


def test_a_mark_inside_a_merged_message_parts_it() -> None:
    long = "y" * CACHE_CHARS
    (sent,) = thread(f"u:{long}", "u:reference", "u:current", settled=1)
    head, tail = sent["content"]
    assert (head["text"], "cache_control" in head) == (long, True)
    assert tail == {"type": "text", "text": "reference\n\ncurrent"}


# properties

TEXTS = st.text(max_size=40)
REQUESTS = st.builds(
    Request,
    st.lists(st.builds(SystemPart, TEXTS, st.booleans()), max_size=3).map(tuple),
    st.lists(st.builds(ChatMessage, st.sampled_from(["user", "assistant"]), TEXTS), max_size=6).map(
        tuple
    ),
    st.builds(
        Params,
        max_tokens=st.none() | st.integers(1, 9999),
        temperature=st.none() | st.floats(0, 2),
        top_p=st.none() | st.floats(0, 1),
        reasoning=st.none() | st.integers(0, 30_000),
    ),
    settled=st.integers(0, 6),
)
NAMES = [
    "m",
    "gpt-5.4-mini",
    "o3",
    "gpt-4o",
    "claude-sonnet-4-5",
    "claude-opus-5-5",
    "gemini-2.5-pro",
]


@given(REQUESTS, st.sampled_from(sorted(DIALECTS)), st.sampled_from(NAMES))
def test_same_input_same_bytes_and_always_json(request: Request, dialect: str, name: str) -> None:
    one, two = encode(dialect, name, request), encode(dialect, name, request)
    assert one == two
    assert msgspec.json.decode(one.body)["model"] == name


@given(REQUESTS, st.sampled_from(NAMES))
def test_claude_gets_roles_that_alternate_and_every_text(request: Request, name: str) -> None:
    sent = body("anthropic", request, name)
    roles = [message["role"] for message in sent["messages"]]
    assert all(one != two for one, two in itertools.pairwise(roles))
    contents = [message["content"] for message in sent["messages"]]
    texts = [
        content if isinstance(content, str) else "\n\n".join(block["text"] for block in content)
        for content in contents
    ]
    assert "\n\n".join(texts) == "\n\n".join(message.text for message in request.messages)
    if request.params.reasoning and "thinking" in sent:
        assert sent["max_tokens"] > sent["thinking"].get("budget_tokens", 0)
        assert "temperature" not in sent


@pytest.mark.parametrize("dialect", GOLDEN)
def test_a_lone_surrogate_does_not_stop_a_request(dialect: str) -> None:
    request = Request((SystemPart("a\ud800"),), (ChatMessage("user", "b\udfffc"),))
    sent = encode(dialect, "m", request).body.decode()
    assert "a\ufffd" in sent
    assert "b\ufffdc" in sent


def test_the_estimate_is_a_quarter_of_the_characters_rounded_up_each() -> None:
    request = Request(
        (SystemPart("12345"),), (ChatMessage("user", "1"), ChatMessage("user", "1234"))
    )
    assert estimated_tokens(request) == 2 + 1 + 1


def test_llama_gets_one_system_text_and_roles_in_turn() -> None:
    request = Request(
        (SystemPart("Who."), SystemPart("Memory.", stable=False)),
        (
            ChatMessage("user", "one"),
            ChatMessage("assistant", "two"),
            ChatMessage("user", "[reference]"),
            ChatMessage("user", "three"),
        ),
    )
    body = msgspec.json.decode(encode("llama", "m", request).body)
    assert body["messages"] == [
        {"role": "system", "content": "Who.\n\nMemory."},
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": "two"},
        {"role": "user", "content": "[reference]\n\nthree"},
    ]
