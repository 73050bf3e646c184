"""The cost of an answer and the window of a model, by the table of `genai-prices`.

Costs are whole nano-dollars. A price that is not known is None, never 0; what runs on this machine
costs 0. The table (0.1 s to load) is loaded when it is first asked.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from polyvox.events import NANO
from polyvox.transport import is_loopback
from polyvox.values import Usage

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo, Provider

_TABLE = {"openai": "openai", "anthropic": "anthropic", "gemini": "google"}
_TABLE["openrouter"] = "openrouter"
_FREE = {"local", "scripted"}
MOST = 1e6 * NANO
"""Nobody pays a million dollars for an answer."""


def cost_of(
    model: str,
    usage: Usage,
    *,
    base_url: str = "",
    cache_write: int = 0,
    dollars: float | None = None,
) -> int | None:
    """Nano-dollars for this usage of `provider:name`. `base_url` finds the prices of a provider of
    the user's own; `dollars` is what the provider itself says, taken where the table is silent."""
    provider, _, name = model.partition(":")
    if provider in _FREE or (provider == "ollama" and is_loopback(base_url or "http://localhost")):
        return 0
    if (cost := _by_table(provider, name, base_url, usage, cache_write)) is not None:
        return cost
    return _sane(dollars * NANO) if dollars is not None else None


def window_of(model: str, base_url: str = "") -> int | None:
    """Tokens that fit the window of `provider:name`, where the table knows."""
    provider, _, name = model.partition(":")
    entry = _find(provider, name, base_url)
    return entry[1].context_window if entry else None


def _by_table(
    provider: str, name: str, base_url: str, usage: Usage, cache_write: int
) -> int | None:
    if (entry := _find(provider, name, base_url)) is None:
        return None
    from genai_prices import Usage as Counted

    read = min(usage.cached_tokens, usage.input_tokens)
    counted = Counted(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=read,
        cache_write_tokens=min(cache_write, usage.input_tokens - read),
    )
    priced = entry[1].calc_price(counted, entry[0])
    prices = priced.model_price
    per_token = (getattr(prices, "input_mtok", None), getattr(prices, "output_mtok", None))
    if per_token == (None, None) and not name.endswith(":free"):
        return None
    return _sane(float(priced.total_price * NANO))


def _sane(nano: float) -> int | None:
    """A cost that can be stored and summed up; a provider's nonsense is an unknown price."""
    return round(nano) if 0 <= nano < MOST else None


@lru_cache(maxsize=512)
def _find(provider: str, name: str, base_url: str) -> tuple[Provider, ModelInfo] | None:
    table = _TABLE.get(provider)
    if table is None and (not base_url or is_loopback(base_url)):
        return None
    from genai_prices.data_snapshot import get_snapshot

    try:
        url = base_url if table is None else None
        return get_snapshot().find_provider_model(name, None, table, url)
    except LookupError:
        return None
