"""Providers by name: the built-in ones, the user's own, and names that are none."""

from __future__ import annotations

import pytest

from polyvox.errors import ConfigError, Invalid
from polyvox.models.providers import (
    BUILT_IN,
    check_models,
    endpoint_of,
    has_key,
    known_providers,
    split_name,
)
from polyvox.models.wire import DIALECTS
from polyvox.settings import Settings
from polyvox.settings.secret import StoredKey

PLAIN = Settings.model_validate({})


@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in_providers_are_reachable(name: str) -> None:
    endpoint = endpoint_of(name, PLAIN, {})
    assert endpoint.dialect in DIALECTS
    assert endpoint.loopback or endpoint.base_url.startswith("https://")
    assert endpoint.loopback or endpoint.secret.origin == f"env:{BUILT_IN[name].key}"
    assert not endpoint.base_url.endswith("/")


def configured(**table: object) -> Settings:
    return Settings.model_validate({"providers": {"anthropic": table, "mine": table}})


def test_a_built_in_provider_elsewhere_keeps_its_habits_and_its_key() -> None:
    endpoint = endpoint_of("anthropic", configured(base_url="http://127.0.0.1:9/v1"), {})
    assert endpoint.dialect == "anthropic"
    assert endpoint.base_url == "http://127.0.0.1:9/v1"
    assert endpoint.secret.origin == "env:ANTHROPIC_API_KEY"


def test_another_wire_can_be_named_for_it() -> None:
    other = configured(base_url="http://x.y/v1", kind="openai", api_key="env:MINE")
    assert endpoint_of("anthropic", other, {}).dialect == "compatible"
    assert endpoint_of("anthropic", other, {}).secret.origin == "env:MINE"


def test_ones_own_provider() -> None:
    own = configured(base_url="http://x.y/v1/", kind="anthropic", headers={"X-A": "b"})
    endpoint = endpoint_of("mine", own, {})
    assert (endpoint.dialect, endpoint.base_url) == ("anthropic", "http://x.y/v1")
    assert endpoint.headers == {"X-A": "b"}
    assert endpoint_of("mine", configured(base_url="http://x.y"), {}).dialect == "compatible"


def test_has_key() -> None:
    assert has_key("openai", PLAIN, {"OPENAI_API_KEY": "k"})
    assert not has_key("openai", PLAIN, {"OPENAI_API_KEY": " "})
    assert not has_key("openai", PLAIN, {})
    ring = configured(base_url="http://x.y", api_key="keyring:work")
    assert has_key("anthropic", ring, {})


def test_split_name() -> None:
    assert split_name("ollama:llama3.2:3b", PLAIN) == ("ollama", "llama3.2:3b")
    assert split_name("openrouter:a/b:free", PLAIN) == ("openrouter", "a/b:free")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("gpt-5.4-mini", "openai:gpt-5.4-mini"),
        ("opnai:gpt-4o", "'openai'"),
        ("antropic:claude", "'anthropic'"),
        ("openai:", "openai:NAME"),
        ("openai:has space", "openai:NAME"),
        ("", "polyvox models list"),
    ],
)
def test_what_is_no_model_gets_the_next_best_guess(name: str, hint: str) -> None:
    with pytest.raises(Invalid) as caught:
        split_name(name, PLAIN)
    assert hint in caught.value.hint
    assert caught.value.param == "model"


def test_every_provider_is_known() -> None:
    names = known_providers(configured(base_url="http://x.y"))
    assert names == [*BUILT_IN, "local", "scripted", "mine"]


def test_a_key_that_was_put_in_serves_where_there_is_no_other() -> None:
    kept = {"openai": StoredKey("openai", "put-in"), "mine": StoredKey("mine", "env:HOME")}
    table = {"mine": {"base_url": "http://x.y", "api_key": "env:MINE"}}
    settings = Settings.model_validate({"keys": kept, "providers": table})
    assert endpoint_of("openai", settings, {}).secret.origin == "stored:openai"
    assert (
        endpoint_of("openai", settings, {"OPENAI_API_KEY": "x"}).secret.reveal(
            {"OPENAI_API_KEY": "x"}
        )
        == "x"
    )
    secret = endpoint_of("mine", settings, {"HOME": "/home"}).secret
    assert secret.reveal({"HOME": "/home"}) == "env:HOME", "a key, not the name of a place"
    assert endpoint_of("mine", settings, {"MINE": "x"}).secret.origin == "env:MINE"
    assert endpoint_of("gemini", settings, {}).secret.origin == "env:GEMINI_API_KEY"


@pytest.mark.parametrize(
    ("table", "setting"),
    [
        ({"default": "nowhere:x"}, "models.default"),
        ({"fallback": ["scripted:echo", "nowhere:x"]}, "models.fallback"),
        ({"synthesis": "nowhere:x"}, "models.synthesis"),
        ({"known": {"nowhere:x": {}}}, "models.known"),
    ],
)
def test_a_setting_that_names_nobodys_model(table: dict[str, object], setting: str) -> None:
    with pytest.raises(ConfigError, match="no provider 'nowhere'") as caught:
        check_models(Settings.model_validate({"models": table}))
    assert caught.value.param == setting
    assert setting in caught.value.hint
    check_models(PLAIN)
