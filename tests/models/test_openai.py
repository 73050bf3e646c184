"""What only chat completions have: their chunks, their usage, their oddities."""

from __future__ import annotations

import pytest
from tests.models.asking import REQUEST, MakeModels, hear
from tests.models.test_parse import make, outcome
from tests.provider import ProviderServer, Script

from polyvox.models.base import Request, SystemPart
from polyvox.models.parse import Parser
from polyvox.values import Usage


def fed(*events: str) -> Parser:
    parser = make("openai")
    outcome(parser, [f"data: {event}\n\n".encode() for event in events])
    return parser


async def test_the_request_is_what_encode_says(
    provider: ProviderServer, make_models: MakeModels
) -> None:
    model = make_models().get("lab:m")
    heard = await hear(model)
    received = provider.log[0]
    assert received.path == "/v1/chat/completions"
    assert received.body == model.encode(REQUEST).body
    assert received.headers["authorization"] == "Bearer sk-lab-0123456789"
    assert received.headers["content-type"] == "application/json"
    assert received.headers["accept-encoding"] == "identity"
    assert heard.log.encoded == model.encode(REQUEST)
    (attempt,) = heard.log.attempts
    assert (attempt.model, attempt.status, attempt.category) == ("lab:m", 200, None)
    assert attempt.first_byte_ms is not None
    assert attempt.started_at > 0


async def test_usage_with_cached_and_reasoning_tokens(
    provider: ProviderServer, make_models: MakeModels
) -> None:
    provider.script("m", Script(input_tokens=90, cached_tokens=40, reasoning_tokens=7, tokens=5))
    heard = await hear(make_models().get("lab:m"))
    assert heard.usage == Usage(90, 12, reasoning_tokens=7, cached_tokens=40)


async def test_usage_is_estimated_where_none_is_reported(
    provider: ProviderServer, make_models: MakeModels
) -> None:
    provider.script("m", Script(text="12345", thinking="1234", usage=False))
    request = Request((SystemPart("12345"),), REQUEST.messages)
    heard = await hear(make_models().get("lab:m"), request)
    assert heard.usage == Usage(2 + 3, 3, estimated=True)


@pytest.mark.parametrize("style", ["reasoning_content", "reasoning", "reasoning_details"])
async def test_thinking_of_every_style(
    style: str, provider: ProviderServer, make_models: MakeModels
) -> None:
    data = {"thinking": "let me see", "thinking_style": style}
    provider.configure({"m": data})
    heard = await hear(make_models().get("lab:m"))
    assert heard.thinking == "let me see"
    assert "let me see" not in heard.text


def test_thinking_told_twice_is_taken_once() -> None:
    delta = (
        '{"content":"","reasoning":"hm","reasoning_content":"hm",'
        '"reasoning_details":[{"type":"reasoning.text","text":"hm"}]}'
    )
    parser = make("openai")
    piece = parser.feed(f'data: {{"choices":[{{"delta":{delta}}}]}}\n\n'.encode())
    assert piece is not None
    assert (piece.text, piece.thinking) == ("", "hm")


def test_think_tags_are_text() -> None:
    parser = make("openai")
    piece = parser.feed(b'data: {"choices":[{"delta":{"content":"<think>a</think>b"}}]}\n\n')
    assert piece is not None
    assert (piece.text, piece.thinking) == ("<think>a</think>b", "")


def test_content_as_a_list_of_parts() -> None:
    parser = make("openai")
    piece = parser.feed(
        b'data: {"choices":[{"delta":{"content":[{"type":"thinking","thinking":'
        b'[{"type":"text","text":"hm"}]},{"type":"text","text":"so"}]}}]}\n\n'
    )
    assert piece is not None
    assert (piece.text, piece.thinking) == ("so", "hm")


def test_lone_surrogates_become_replacement_characters() -> None:
    parser = make("openai")
    piece = parser.feed(b'data: {"choices":[{"delta":{"content":"a\\ud83d"}}]}\n\n')
    assert piece is not None
    assert piece.text == "a\ufffd"


def test_usage_in_every_chunk_counts_once() -> None:
    parser = fed(
        '{"choices":[{"delta":{"content":"a"}}],"usage":{"prompt_tokens":3,"completion_tokens":1}}',
        '{"choices":[{"delta":{"content":"b"},"finish_reason":"stop"}],'
        '"usage":{"prompt_tokens":3,"completion_tokens":2}}',
        "[DONE]",
    )
    assert parser.usage == Usage(3, 2)


def test_the_price_that_openrouter_names_is_kept() -> None:
    parser = fed(
        '{"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}',
        '{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2,"cost":0.0125}}',
        "[DONE]",
    )
    assert parser.reported_cost == 0.0125


@pytest.mark.parametrize(
    ("event", "category", "words"),
    [
        ('{"error":{"message":"Busy","code":503}}', "unavailable", "Busy [503]"),
        ('{"error":"just words"}', "unavailable", "just words []"),
        ('{"object":"error","message":"Bad","code":400}', "unavailable", "Bad [400]"),
        (
            '{"choices":[{"delta":{},"finish_reason":"content_filter"}]}',
            "refused",
            "content filter",
        ),
    ],
)
def test_errors_in_the_stream(event: str, category: str, words: str) -> None:
    error = fed('{"choices":[{"delta":{"content":"a"}}]}', event).error
    assert error is not None
    assert error.category == category
    assert words in error.message


def test_a_refusal_is_told_in_its_own_words() -> None:
    error = fed(
        '{"choices":[{"delta":{"refusal":"I will "}}]}',
        '{"choices":[{"delta":{"refusal":"not."},"finish_reason":"stop"}]}',
        "[DONE]",
    ).error
    assert error is not None
    assert error.category == "refused"
    assert "I will not." in error.message


def test_thinking_that_used_up_the_maximum_is_told_as_such() -> None:
    error = fed(
        '{"choices":[{"delta":{"reasoning":"hm"}}]}',
        '{"choices":[{"delta":{},"finish_reason":"length"}]}',
        "[DONE]",
    ).error
    assert error is not None
    assert error.category == "empty"
    assert "max_tokens" in error.hint


def test_unknown_events_are_passed_over() -> None:
    parser = fed(
        '{"type":"ping"}',
        '{"choices":null}',
        '{"choices":[{"delta":null}]}',
        '{"choices":[{"delta":{"content":"a","tool_calls":null}}],"error":null}',
        '{"choices":[{"delta":{},"finish_reason":"stop"}]}',
        "[DONE]",
    )
    assert (parser.done, parser.error) == (True, None)
