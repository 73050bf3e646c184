"""What only the Messages API has: its events, its usage in two parts, its stop reasons."""

from __future__ import annotations

import pytest
from tests.models.asking import REQUEST, MakeModels, hear
from tests.models.test_parse import make
from tests.provider import ProviderServer, Script

from polyvox.values import Usage


async def test_the_request_is_what_encode_says(
    provider: ProviderServer, make_models: MakeModels
) -> None:
    model = make_models().get("claude:m")
    await hear(model)
    received = provider.log[0]
    assert received.path == "/v1/messages"
    assert received.body == model.encode(REQUEST).body
    assert received.json()["system"] == "Be brief."
    assert received.headers["x-api-key"] == "sk-lab-0123456789"
    assert received.headers["anthropic-version"] == "2023-06-01"
    assert "authorization" not in received.headers


async def test_thinking_and_text(provider: ProviderServer, make_models: MakeModels) -> None:
    provider.script("m", Script(thinking="let me see", text="It is so."))
    heard = await hear(make_models().get("claude:m"))
    assert (heard.thinking, heard.text) == ("let me see", "It is so.")


async def test_usage_adds_up_both_events_and_the_cache(
    provider: ProviderServer, make_models: MakeModels
) -> None:
    provider.script("m", Script(input_tokens=100, cached_tokens=60, tokens=5))
    heard = await hear(make_models().get("claude:m"))
    assert heard.usage == Usage(100, 5, cached_tokens=60)


async def test_usage_is_estimated_where_none_is_reported(
    provider: ProviderServer, make_models: MakeModels
) -> None:
    provider.script("m", Script(text="12345", usage=False))
    heard = await hear(make_models().get("claude:m"))
    assert heard.usage == Usage(3 + 3, 2, estimated=True)


def event(data: str) -> bytes:
    return b"event: x\ndata: " + data.encode() + b"\n\n"


def test_what_was_written_to_the_cache_is_counted_in() -> None:
    parser = make("anthropic")
    parser.feed(
        event(
            '{"type":"message_start","message":{"usage":{"input_tokens":10,"output_tokens":1,'
            '"cache_read_input_tokens":20,"cache_creation_input_tokens":30}}}'
        )
    )
    parser.feed(event('{"type":"message_delta","delta":{},"usage":{"output_tokens":9}}'))
    assert parser.usage == Usage(60, 9, cached_tokens=20)
    assert parser.cache_write == 30


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("pause_turn", "pause_turn"),
    ],
)
def test_stop_reasons(reason: str, finish: str) -> None:
    parser = make("anthropic")
    parser.feed(event('{"type":"content_block_delta","delta":{"type":"text_delta","text":"a"}}'))
    parser.feed(event(f'{{"type":"message_delta","delta":{{"stop_reason":"{reason}"}}}}'))
    parser.feed(event('{"type":"message_stop"}'))
    assert (parser.finish, parser.done) == (finish, True)


def test_a_full_window_without_a_word_is_a_context_too_long() -> None:
    parser = make("anthropic")
    parser.feed(
        event('{"type":"message_delta","delta":{"stop_reason":"model_context_window_exceeded"}}')
    )
    assert parser.error is not None
    assert parser.error.category == "context_too_long"


def test_text_in_the_start_of_a_block_counts() -> None:
    parser = make("anthropic")
    start = '{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Hi"}}'
    piece = parser.feed(event(start))
    assert piece is not None
    assert piece.text == "Hi"


def test_signatures_pings_and_unknown_events_are_passed_over() -> None:
    parser = make("anthropic")
    for data in (
        '{"type":"ping"}',
        '{"type":"content_block_delta","delta":{"type":"signature_delta","signature":"x"}}',
        '{"type":"something_new","delta":{"type":"x"},"more":[1]}',
    ):
        assert parser.feed(event(data)) is None
    assert parser.error is None


def test_lone_surrogates_become_replacement_characters() -> None:
    parser = make("anthropic")
    piece = parser.feed(
        event('{"type":"content_block_delta","delta":{"type":"text_delta","text":"a\\ud83d"}}')
    )
    assert piece is not None
    assert piece.text == "a\ufffd"
