"""Words of providers as our errors: each shape, each phrase, each way to say when to come back."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyvox.errors import MODEL_ERRORS
from polyvox.models.endpoint import Endpoint
from polyvox.models.failures import Words, failure, read_body, retry_after, status_of, words_of
from polyvox.settings import Secret

ENDPOINT = Endpoint("openai", "https://api.openai.com/v1", "openai", Secret("env:OPENAI_API_KEY"))


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'{"error":{"message":"No","type":"t","code":"c"}}', Words("No", "c t")),
        (b'{"type":"error","error":{"type":"overloaded_error","message":"Busy"}}', None),
        (b'[{"error":{"code":400,"message":"Bad","status":"INVALID_ARGUMENT"}}]', None),
        (b'{"error":"plain"}', Words("plain")),
        (b'{"message":"top"}', Words("top")),
        (b'{"detail":"fast"}', Words("fast")),
        (b'{"object":"error","message":"v","type":"BadRequestError","code":400}', None),
        (b"<html>\n <b>502</b>  bad gateway", Words("<html> <b>502</b> bad gateway")),
        (b"", Words("")),
        (b"\xff\xfe", Words("\ufffd\ufffd")),
        (b'{"error":{"code":7}}', Words('{"error":{"code":7}}', "7")),
    ],
)
def test_words_of_every_shape(body: bytes, words: Words | None) -> None:
    found = read_body(body)
    assert found.message or not body
    if words is not None:
        assert found == words


def test_openrouter_quotes_the_provider_behind_it() -> None:
    error = {"error": {"message": "Provider error", "metadata": {"raw": "model is loading"}}}
    assert words_of(error).message == "Provider error (model is loading)"


def test_a_long_body_is_quoted_from_its_start() -> None:
    assert read_body(b"x" * 5000).message == "x" * 300


def test_gemini_says_in_the_body_when_to_come_back() -> None:
    details = [{"@type": "Help"}, {"@type": "RetryInfo", "retryDelay": "17s"}]
    words = words_of([{"error": {"code": 429, "message": "Quota", "details": details}}])
    error = failure(ENDPOINT, "", "m", words, 429)
    assert (error.category, error.retry_after) == ("rate_limit", 17.0)


@given(st.recursive(st.none() | st.booleans() | st.text() | st.floats(), st.lists, max_leaves=5))
def test_any_json_has_words(value: object) -> None:
    assert isinstance(words_of(value).message, str)
    assert isinstance(words_of({"error": value, "details": value}).message, str)
    assert isinstance(words_of({"error": {"details": value, "metadata": value}}).message, str)


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("overloaded_error", 529),
        ("502", 502),
        ("rate_limit_exceeded requests", 429),
        ("something", None),
        ("7", None),
        ("", None),
    ],
)
def test_status_of_an_error_in_a_stream(code: str, status: int | None) -> None:
    assert status_of(Words("x", code)) == status


NOW = 1_800_000_000.0


def date(at: float) -> str:
    return format_datetime(datetime.fromtimestamp(at, UTC), usegmt=True)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "-4"}, 0.0),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "soon"}, None),
        ({"retry-after-ms": "soon"}, None),
        (
            {"retry-after": format_datetime(datetime.fromtimestamp(NOW + 30, UTC), usegmt=True)},
            30.0,
        ),
        ({"retry-after": format_datetime(datetime.fromtimestamp(NOW - 30, UTC), usegmt=True)}, 0.0),
    ],
)
def test_retry_after(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, NOW) == seconds


@pytest.mark.parametrize(
    ("status", "words", "category"),
    [
        (400, "This model's maximum context length is 8192 tokens", "context_too_long"),
        (400, "the request exceeds the available context size", "context_too_long"),
        (400, "The input token count exceeds the maximum number of tokens allowed", None),
        (None, "prompt is too long", "context_too_long"),
        (500, "lost the context window", "unavailable"),
        (400, "temperature must be below 2", "refused"),
        (409, "conflict", "refused"),
        (418, "teapot", "refused"),
        (599, "?", "unavailable"),
        (None, "?", "unavailable"),
        (302, "elsewhere", "protocol"),
        (429, "You exceeded your current quota, please check your plan", "rate_limit"),
    ],
)
def test_category(status: int | None, words: str, category: str | None) -> None:
    error = failure(ENDPOINT, "", "m", Words(words), status)
    assert error.category == (category or "context_too_long")
    assert words in error.message
    assert error.http_status == status


@given(st.none() | st.integers(100, 999), st.text(max_size=30), st.text(max_size=30))
def test_every_failure_has_a_category_words_and_a_hint(
    status: int | None, code: str, message: str
) -> None:
    error = failure(ENDPOINT, "", "m", Words(message, code), status)
    assert error.category in MODEL_ERRORS
    assert error.hint
    assert error.message.startswith("openai")


def test_hints_name_what_to_fix() -> None:
    assert "OPENAI_API_KEY" in failure(ENDPOINT, "", "m", Words("no"), 401).hint
    assert "polyvox models list" in failure(ENDPOINT, "", "gone", Words("no"), 404).hint
    assert "[providers.openai]" in failure(ENDPOINT, "", "m", Words("no"), 429).hint


def test_secrets_are_scrubbed() -> None:
    endpoint = Endpoint(
        "lab",
        "http://127.0.0.1/v1",
        "compatible",
        headers={"X-Api-Token": "tok-12345", "X-Team": "blue"},
    )
    error = failure(endpoint, "key-6789", "m", Words("key-6789 and tok-12345 of blue"), 400)
    assert error.message == "lab (400): *** and *** of blue"


def test_a_body_too_deep_to_read_is_quoted() -> None:
    body = b'{"error":' + b"[" * 500_000
    assert read_body(body).message.startswith('{"error":[[[')
