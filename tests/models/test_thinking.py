"""What each provider is told about thinking, by model and budget."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from polyvox.models.base import ChatMessage, Request
from polyvox.models.wire import NEWEST, claude_version, effort, encode
from polyvox.values import Params


def sent(dialect: str, model: str, reasoning: int | None, max_tokens: int | None = 1000) -> Any:
    params = Params(max_tokens=max_tokens, temperature=0.7, reasoning=reasoning)
    request = Request((), (ChatMessage("user", "Hi"),), params)
    return msgspec.json.decode(encode(dialect, model, request).body)


@pytest.mark.parametrize(
    ("budget", "word"),
    [(1, "low"), (8191, "low"), (8192, "medium"), (24_575, "medium"), (24_576, "high")],
)
def test_effort_stays_within_the_budget(budget: int, word: str) -> None:
    assert effort(budget) == word


@pytest.mark.parametrize(
    ("model", "reasoning", "field", "most"),
    [
        ("gpt-4o", 5000, None, 1000),
        ("gpt-5-chat-latest", 5000, None, 1000),
        ("gpt-5.4-mini", None, "none", 1000),
        ("gpt-5.4-mini", 0, "none", 1000),
        ("gpt-5-mini", 0, "minimal", 3048),
        ("gpt-5-pro", 0, None, 3048),
        ("o3", None, "low", 3048),
        ("gpt-5.4-mini", 10_000, "medium", 11_000),
        ("gpt-6-luna", 30_000, "high", 31_000),
    ],
)
def test_openai(model: str, reasoning: int | None, field: str | None, most: int) -> None:
    body = sent("openai", model, reasoning)
    assert body.get("reasoning_effort") == field
    assert body["max_completion_tokens"] == most
    reasons = not model.startswith("gpt-4") and "chat" not in model
    assert ("temperature" in body) is not reasons


@pytest.mark.parametrize(
    ("reasoning", "field", "most"),
    [(None, None, 1000), (0, {"effort": "none"}, 1000), (2000, {"max_tokens": 2000}, 3000)],
)
def test_openrouter(reasoning: int | None, field: Any, most: int) -> None:
    body = sent("openrouter", "any/model", reasoning)
    assert body.get("reasoning") == field
    assert body["max_tokens"] == most
    assert body["temperature"] == 0.7


@pytest.mark.parametrize(
    ("model", "reasoning", "field", "most"),
    [
        ("gemini-2.0-flash", None, None, 1000),
        ("gemma-3", 0, None, 1000),
        ("gemini-2.5-flash-lite", None, "none", 1000),
        ("gemini-2.5-pro", 0, "low", 3048),
        ("gemini-3.8-flash", 0, "minimal", 3048),
        ("models/gemini-3.1-pro-preview", None, "low", 3048),
        ("gemini-2.5-pro", 9000, "medium", 10_000),
    ],
)
def test_gemini(model: str, reasoning: int | None, field: str | None, most: int) -> None:
    body = sent("gemini", model, reasoning)
    assert body.get("reasoning_effort") == field
    assert body["max_tokens"] == most


@pytest.mark.parametrize(
    ("reasoning", "field"), [(None, None), (0, "none"), (500, "low"), (9000, "medium")]
)
def test_ollama(reasoning: int | None, field: str | None) -> None:
    assert sent("ollama", "qwen3", reasoning).get("reasoning_effort") == field


@pytest.mark.parametrize("dialect", ["llama", "compatible"])
@pytest.mark.parametrize(("reasoning", "enable"), [(None, None), (0, False), (500, True)])
def test_template(dialect: str, reasoning: int | None, enable: bool | None) -> None:
    field = sent(dialect, "qwen3", reasoning).get("chat_template_kwargs")
    assert field == (None if enable is None else {"enable_thinking": enable})


def test_scripted() -> None:
    assert sent("scripted", "echo", 300)["reasoning"] == 300
    assert "reasoning" not in sent("scripted", "echo", None)


@pytest.mark.parametrize("model", ["claude-sonnet-4-5", "claude-3-7-sonnet-latest", "glm-5"])
def test_a_budget_for_claude_up_to_four_five_and_other_makers(model: str) -> None:
    body = sent("anthropic", model, 5000)
    assert body["thinking"] == {"type": "enabled", "budget_tokens": 5000}
    assert body["max_tokens"] == 6000
    assert "temperature" not in body
    assert sent("anthropic", model, 10)["thinking"]["budget_tokens"] == 1024
    off = sent("anthropic", model, 0)
    assert "thinking" not in off
    assert (off["temperature"], off["max_tokens"]) == (0.7, 1000)


@pytest.mark.parametrize("model", ["claude-opus-4-6", "claude-sonnet-5-5", "claude-mythos-preview"])
def test_an_effort_for_claude_from_four_six_on(model: str) -> None:
    body = sent("anthropic", model, 9000)
    assert body["thinking"] == {"type": "adaptive", "display": "summarized"}
    assert body["output_config"] == {"effort": "medium"}
    assert body["max_tokens"] == 10_000
    assert "temperature" not in body


def test_claude_without_thinking_from_four_seven_on() -> None:
    assert sent("anthropic", "claude-opus-4-6", None)["temperature"] == 0.7
    assert "temperature" not in sent("anthropic", "claude-opus-4-7", None)
    assert "output_config" not in sent("anthropic", "claude-opus-4-7", None)
    five = sent("anthropic", "claude-sonnet-5-5", 0)
    assert five["output_config"] == {"effort": "low"}
    assert five["max_tokens"] == 3048


@pytest.mark.parametrize(
    ("model", "version"),
    [
        ("claude-sonnet-4-5-20250929", (4, 5)),
        ("claude-opus-4-20250514", (4, 0)),
        ("claude-3-7-sonnet-20250219", (3, 7)),
        ("claude-3-opus-latest", (3, 0)),
        ("claude-haiku-5-5", (5, 5)),
        ("claude-fable-5", (5, 0)),
        ("claude-mythos-preview", NEWEST),
        ("MiniMax-M2", None),
    ],
)
def test_claude_version(model: str, version: tuple[int, int] | None) -> None:
    assert claude_version(model) == version
