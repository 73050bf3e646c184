"""Prices and windows by the table; unknown is never nothing."""

from __future__ import annotations

import subprocess
import sys

import pytest

from polyvox.models.prices import cost_of, window_of
from polyvox.values import Usage

USED = Usage(1000, 100)


def test_known_models_cost_what_the_table_says() -> None:
    assert cost_of("openai:gpt-4o", USED) == (1000 * 2500 + 100 * 10_000)
    assert cost_of("anthropic:claude-sonnet-4-5", USED) == (1000 * 3000 + 100 * 15_000)
    assert (cost_of("gemini:gemini-2.5-flash", USED) or 0) > 0
    assert (cost_of("openrouter:openai/gpt-4o", USED) or 0) > 0


def test_what_is_read_from_and_written_to_a_cache_has_its_own_price() -> None:
    usage = Usage(1000, 0, cached_tokens=600)
    assert cost_of("anthropic:claude-sonnet-4-5", usage) == 400 * 3000 + 600 * 300
    written = cost_of("anthropic:claude-sonnet-4-5", usage, cache_write=100)
    assert written == 300 * 3000 + 600 * 300 + 100 * 3750


def test_counts_that_contradict_each_other_do_not_break_it() -> None:
    odd = Usage(10, 1, cached_tokens=50)
    assert cost_of("openai:gpt-4o", odd, cache_write=70) is not None


@pytest.mark.parametrize("model", ["local:smollm2", "scripted:echo", "ollama:llama3.2"])
def test_this_machine_is_free(model: str) -> None:
    assert cost_of(model, USED) == 0


@pytest.mark.parametrize(
    "model", ["openai:no-such-model", "lab:m", "openrouter:nobody/nothing", "openai:whisper-1"]
)
def test_unknown_is_none(model: str) -> None:
    assert cost_of(model, USED) is None


def test_ollama_elsewhere_is_unknown() -> None:
    assert cost_of("ollama:llama3.2", USED, base_url="https://ollama.example.com/v1") is None


def test_the_providers_own_price_where_the_table_is_silent() -> None:
    assert cost_of("openrouter:nobody/nothing", USED, dollars=0.0025) == 2_500_000
    assert cost_of("openai:gpt-4o", USED, dollars=9.0) == cost_of("openai:gpt-4o", USED)


def test_a_provider_of_ones_own_is_known_by_its_address() -> None:
    url = "https://api.mistral.ai/v1"
    assert (cost_of("mine:mistral-large-latest", USED, base_url=url) or 0) > 0
    assert cost_of("mine:mistral-large-latest", USED, base_url="http://127.0.0.1:1/v1") is None


def test_openrouters_free_models_are_free() -> None:
    assert cost_of("openrouter:meta-llama/llama-3.3-70b-instruct:free", USED) == 0


def test_windows() -> None:
    assert window_of("openai:gpt-4o") == 128_000
    assert window_of("anthropic:claude-sonnet-4-5") == 200_000
    assert window_of("lab:m") is None
    assert window_of("scripted:echo") is None


def test_the_table_is_loaded_only_when_asked() -> None:
    code = "import sys, polyvox.models.registry; print('genai_prices' in sys.modules, end='')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False"


def test_a_provider_that_names_an_absurd_price_names_none() -> None:
    for dollars in (1e300, float("inf"), -1.0, float("nan")):
        assert cost_of("lab:x", Usage(1, 1), dollars=dollars) is None
    assert cost_of("lab:x", Usage(1, 1), dollars=0.5) == 500_000_000
