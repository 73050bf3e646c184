"""A provider's error mapped to one of ours, in the provider's own words.

The same rules hold for a refused request (a status and a body) and for an error in the middle of a
stream (a code or a type): first what the words say plainly, then the status.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

import msgspec

from polyvox.errors import (
    AuthenticationFailed,
    ContextTooLong,
    ModelError,
    ModelTimeout,
    ProtocolError,
    QuotaExceeded,
    RateLimited,
    Refused,
    Unavailable,
)
from polyvox.models.endpoint import Endpoint

QUOTED = 300
"""This much of a body is quoted when it has no words of its own."""

_TOO_LONG = (
    "context_length_exceeded",
    "exceed_context_size",
    "request_too_large",
    "maximum context length",
    "prompt is too long",
    "context window",
    "context size",
    "context length",
    "too many tokens",
    "exceeds the maximum number of tokens",
    "reduce the length of the messages",
)
_QUOTA = (
    "insufficient_quota",
    "billing_error",
    "credit balance is too low",
    "insufficient credits",
    "spend limit",
)
_KEY = ("api key not valid", "invalid api key", "incorrect api key", "authentication_error")
_JUDGED = ("moderation", "flagged", "guardrail", "content policy", "content_policy")
_ALTERNATE = re.compile(
    r"(roles?|messages?)\b.*\b(alternat|interleav)"
    r"|alternat\w* .*\b(roles?|messages?)"
    r"|successive (user|assistant)"
    r"|system (message|role|prompt)s?\b.*\b(beginning|first|start)",
    re.IGNORECASE | re.DOTALL,
)
"""A chat template's complaint about the order of roles, as vLLM and llama.cpp pass it on."""
_BY_TYPE: dict[str, int] = {
    "overloaded_error": 529,
    "api_error": 500,
    "server_error": 500,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "invalid_request_error": 400,
    "timeout_error": 504,
    "billing_error": 402,
    "request_too_large": 413,
}


@dataclass(frozen=True, slots=True)
class Words:
    """A provider's description of an error."""

    message: str
    code: str = ""
    delay: float | None = None
    """Seconds to wait, where the body says so."""


def words_of(error: Any) -> Words:  # noqa: ANN401 - whatever JSON a provider makes up
    """The words in an error of any provider's shape."""
    if isinstance(error, list) and error:
        error = error[0]  # Gemini wraps it in a list
    if not isinstance(error, dict):
        return Words(str(error) if error else "")
    inner = error.get("error", error)
    if not isinstance(inner, dict):
        return Words(str(inner), str(error.get("code") or error.get("type") or ""))
    message = str(inner.get("message") or inner.get("detail") or error.get("message") or "")
    metadata = inner.get("metadata")
    if isinstance(metadata, dict) and metadata.get("raw"):
        message = f"{message} ({metadata['raw']})"  # OpenRouter quotes the real provider there
    marks = (inner.get("code"), inner.get("type"), inner.get("status"))
    return Words(message, " ".join(str(mark) for mark in marks if mark), _delay(inner))


def read_body(body: bytes) -> Words:
    """The words of an error's body, or its beginning."""
    try:
        words = words_of(msgspec.json.decode(body))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        words = Words("")
    if words.message:
        return words
    return Words(" ".join(body.decode("utf-8", "replace").split())[:QUOTED], words.code)


def status_of(words: Words) -> int | None:
    """The HTTP status that an error inside a stream amounts to."""
    for mark in words.code.split():
        if mark.isdigit() and 400 <= int(mark) < 600:
            return int(mark)
        if mark in _BY_TYPE:
            return _BY_TYPE[mark]
    return None


def retry_after(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """Seconds that the provider asks to wait: in milliseconds, in seconds, or as a date."""
    try:
        if (given := headers.get("retry-after-ms")) is not None:
            return max(0.0, float(given) / 1000)
        if (given := headers.get("retry-after")) is None:
            return None
        try:
            return max(0.0, float(given))
        except ValueError:
            then = parsedate_to_datetime(given).timestamp()
            return max(0.0, then - (time.time() if now is None else now))
    except ValueError:
        return None


def failure(
    endpoint: Endpoint,
    key: str,
    model: str,
    words: Words,
    status: int | None,
    *,
    wait: float | None = None,
) -> ModelError:
    """The error that these words, with this status, amount to."""
    message = endpoint.scrub(words.message, key).strip() or "(no words)"
    text = f"{words.code} {message}".lower()
    kind = _kind(status, text)
    number = f" ({status})" if status is not None else ""
    return kind(
        f"{endpoint.provider}{number}: {message[:2000]}",
        _hint(kind, endpoint, model, status),
        http_status=status,
        retry_after=wait if wait is not None else words.delay,
    )


def demands_alternation(error: ModelError) -> bool:
    """True if a request was refused for messages of one role in a row, or a second system text."""
    refused = error.http_status is not None and (
        400 <= error.http_status <= 422 or error.http_status == 500
    )
    return refused and _ALTERNATE.search(error.message) is not None


def _kind(status: int | None, text: str) -> type[ModelError]:
    client = status is None or 400 <= status < 500
    if status == 413 or (client and any(phrase in text for phrase in _TOO_LONG)):
        return ContextTooLong
    if status == 402 or (client and any(phrase in text for phrase in _QUOTA)):
        return QuotaExceeded
    if status == 403 and any(phrase in text for phrase in _JUDGED):
        return Refused
    if status in {401, 403} or (status == 400 and any(phrase in text for phrase in _KEY)):
        return AuthenticationFailed
    if status == 429:
        return RateLimited
    if status in {408, 504}:
        return ModelTimeout
    if status is not None and 300 <= status < 400:
        return ProtocolError
    if status is not None and status < 500:
        return Refused
    return Unavailable


def _hint(kind: type[ModelError], endpoint: Endpoint, model: str, status: int | None) -> str:
    provider = endpoint.provider
    if kind is AuthenticationFailed:
        return endpoint.key_hint
    if kind is QuotaExceeded:
        return f"Add credit to the account at {provider}, or use another model."
    if kind is RateLimited:
        return f"Wait a little, or set requests_per_minute in [providers.{provider}]."
    if kind is ContextTooLong:
        return f"Lower limits.context, or set window for {provider}:{model} in [models.known]."
    if kind is ProtocolError:
        return f"Set base_url in [providers.{provider}] to where the API really is."
    if status == 404:
        return f"Check the name {model!r}: `polyvox models list` shows the known ones."
    if kind is Refused:
        return "Change the request or its parameters, or use another model."
    return "Retry the answer, or use another model."


def _delay(inner: dict[str, Any]) -> float | None:
    """Gemini's retryDelay: "17s", in a detail."""
    details = inner.get("details")
    for detail in details if isinstance(details, list) else []:
        given = detail.get("retryDelay") if isinstance(detail, dict) else None
        if isinstance(given, str) and given.endswith("s"):
            try:
                return float(given[:-1])
            except ValueError:
                return None
    return None
