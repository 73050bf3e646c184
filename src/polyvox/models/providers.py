"""The providers that are known by name, and which of the user's own settings change about them."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass

from polyvox.errors import ConfigError, Invalid
from polyvox.models.endpoint import Endpoint
from polyvox.settings import Provider, Secret, Settings
from polyvox.settings.layers import decision_of

EMBEDDED = "local:smollm2"


@dataclass(frozen=True, slots=True)
class BuiltIn:
    """A provider that needs no configuration but perhaps a key."""

    base_url: str
    dialect: str
    key: str = ""
    """The variable that holds its key."""
    default: str = ""
    models: tuple[str, ...] = ()


BUILT_IN: dict[str, BuiltIn] = {
    "openrouter": BuiltIn(
        "https://openrouter.ai/api/v1",
        "openrouter",
        "OPENROUTER_API_KEY",
        "anthropic/claude-sonnet-5.5",
        ("anthropic/claude-sonnet-5.5", "openai/gpt-5.4-mini", "google/gemini-3.8-flash"),
    ),
    "anthropic": BuiltIn(
        "https://api.anthropic.com/v1",
        "anthropic",
        "ANTHROPIC_API_KEY",
        "claude-sonnet-5-5",
        ("claude-sonnet-5-5", "claude-opus-5-5", "claude-haiku-5-5"),
    ),
    "openai": BuiltIn(
        "https://api.openai.com/v1",
        "openai",
        "OPENAI_API_KEY",
        "gpt-5.4-mini",
        ("gpt-5.4-mini", "gpt-5.4", "gpt-5.5"),
    ),
    "gemini": BuiltIn(
        "https://generativelanguage.googleapis.com/v1beta/openai",
        "gemini",
        "GEMINI_API_KEY",
        "gemini-3.8-flash",
        ("gemini-3.8-flash", "gemini-2.5-flash-lite", "gemini-2.5-pro"),
    ),
    "ollama": BuiltIn("http://127.0.0.1:11434/v1", "ollama"),
}
"""In the order in which their keys decide what is used by default."""
OWN = ("local", "scripted")
"""Providers inside the program."""


def endpoint_of(provider: str, settings: Settings, env: Mapping[str, str] = os.environ) -> Endpoint:
    """The endpoint of that provider. Not for those inside the program."""
    built, given = BUILT_IN.get(provider), settings.providers.get(provider)
    secret = _secret(provider, settings, env)
    if given is None:
        if built is None:
            raise unknown_provider(provider, settings)
        return Endpoint(provider, built.base_url, built.dialect, secret, env=env)
    base_url = given.base_url or (built.base_url if built else "")
    dialect = _dialect(built, given)
    return Endpoint(provider, base_url, dialect, secret, given.headers, env, given.alternate)


def has_key(provider: str, settings: Settings, env: Mapping[str, str]) -> bool:
    """True if a key is at hand. One in the keyring is believed to be there: asking may prompt."""
    return _holds(endpoint_of(provider, settings, env).secret, env)


def check_models(settings: Settings) -> None:
    """Refuse settings that name a model nobody can know."""
    models = settings.models
    named = {
        "models.default": (models.default,),
        "models.fallback": models.fallback,
        "models.synthesis": (models.synthesis,),
        "models.gate": (models.gate,),
        "models.memory": (models.memory,),
        "models.embeddings": (models.embeddings,),
        "models.known": tuple(models.known),
    }
    for setting, name in [(setting, name) for setting, names in named.items() for name in names]:
        try:
            provider = split_name(name, settings)[0] if name else ""
            if setting == "models.embeddings" and name and not embeds(provider, settings):
                raise no_embeddings(provider)
        except Invalid as error:
            where = decision_of(settings, setting).where
            raise ConfigError(
                f"The model {name!r} in the settings cannot be used. {error.message}",
                f"{error.hint} It is named by {setting}{' in ' if where else ''}{where}.",
                param=setting,
            ) from None


def known_providers(settings: Settings) -> list[str]:
    """All of them, the user's own last."""
    return list(dict.fromkeys([*BUILT_IN, *OWN, *settings.providers]))


def split_name(name: str, settings: Settings) -> tuple[str, str]:
    """provider and name of a model's full name, or `Invalid` with the next best guess."""
    provider, colon, rest = name.partition(":")
    known = known_providers(settings)
    if not colon or not rest or re.search(r"\s", rest):
        guess = next((p for p, b in BUILT_IN.items() if name in b.models), "")
        near = guess or (difflib.get_close_matches(provider, known, 1, cutoff=0) or ["openai"])[0]
        shown = f"{near}:{name}" if guess or not colon else f"{near}:NAME"
        raise Invalid(
            f"{name!r} is not a model: a model is written provider:name.",
            f"Did you mean {shown}? `polyvox models list` shows the known ones.",
            param="model",
        )
    if provider not in known:
        raise unknown_provider(provider, settings)
    return provider, rest


def no_embeddings(provider: str) -> Invalid:
    """An error that says who makes embeddings."""
    return Invalid(
        f"{provider} makes no embeddings.",
        "Name a model of a provider that speaks OpenAI's API, such as ollama:nomic-embed-text.",
        param="models.embeddings",
    )


def embeds(provider: str, settings: Settings) -> bool:
    """True if a provider speaks OpenAI's API."""
    return provider not in OWN and endpoint_of(provider, settings).dialect != "anthropic"


def unknown_provider(provider: str, settings: Settings) -> Invalid:
    """An error that names the nearest known one."""
    known = known_providers(settings)
    near = difflib.get_close_matches(provider, known, 1, cutoff=0)
    return Invalid(
        f"There is no provider {provider!r}.",
        f"Did you mean {near[0]!r}? Or describe it in [providers.{provider}].",
        param="model",
    )


def _secret(provider: str, settings: Settings, env: Mapping[str, str]) -> Secret:
    """The key of the configuration or the environment; where that holds none, the one that was put
    in on the page."""
    built, given = BUILT_IN.get(provider), settings.providers.get(provider)
    usual = Secret(f"env:{built.key}" if built and built.key else "")
    configured = given.api_key if given is not None and given.api_key else usual
    kept = settings.keys.get(provider)
    return configured if kept is None or _holds(configured, env) else kept


def _holds(secret: Secret, env: Mapping[str, str]) -> bool:
    return secret.origin.startswith("keyring:") or bool(secret.reveal(env).strip())


def _dialect(built: BuiltIn | None, given: Provider) -> str:
    """A built-in provider elsewhere keeps its habits, unless another wire is named for it."""
    if built is not None and "kind" not in given.model_fields_set:
        return built.dialect
    if built is not None and (built.dialect == "anthropic") == (given.kind == "anthropic"):
        return built.dialect
    return "anthropic" if given.kind == "anthropic" else "compatible"
