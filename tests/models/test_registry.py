"""Models by name: shared, chosen by keys, described, listed, checked."""

from __future__ import annotations

import pytest
from tests.models.asking import REQUEST, MakeModels, hear
from tests.provider import ProviderServer, Script

from polyvox.errors import Invalid, Refused
from polyvox.models.registry import TINY, Models
from polyvox.settings import Settings
from polyvox.settings.secret import StoredKey
from polyvox.transport import Transport


def models(env: dict[str, str] | None = None, **settings: object) -> Models:
    return Models(Settings.model_validate(settings), Transport(), env or {})


def test_a_model_is_made_once() -> None:
    registry = models()
    assert registry.get("openai:gpt-4o") is registry.get("openai:gpt-4o")
    assert registry.get("openai:gpt-4o").id == "openai:gpt-4o"
    chain = registry.chain("openai:gpt-4o", ["scripted:echo"])
    assert chain is registry.chain("openai:gpt-4o", ["scripted:echo"])
    assert chain is not registry.get("openai:gpt-4o")


@pytest.mark.parametrize("name", ["gpt-4o", "nowhere:m", "openai:", ":x"])
def test_what_is_no_model_is_invalid(name: str) -> None:
    with pytest.raises(Invalid) as caught:
        models().check_name(name)
    with pytest.raises(Refused) as refused:
        models().get(name)
    assert refused.value.message == caught.value.message
    with pytest.raises(Refused):
        models().chain("scripted:echo", [name])
    assert models().facts(name).window is None  # whoever asks it will be told


KEYS = ["OPENROUTER_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"]


def test_the_default_is_by_the_first_key_found() -> None:
    for place, key in enumerate(KEYS):
        env = dict.fromkeys(KEYS[place:], "k")
        provider = key.partition("_")[0].lower()
        assert models(env).default.startswith(f"{provider}:")
    assert models().default == "local:smollm2"
    assert models({"OPENAI_API_KEY": ""}).default == "local:smollm2"


def test_the_default_can_be_set() -> None:
    assert models({"OPENAI_API_KEY": "k"}, models={"default": "ollama:x"}).default == "ollama:x"
    table = {"openai": {"base_url": "http://x.y/v1", "default": "mine"}}
    assert models({"OPENAI_API_KEY": "k"}, providers=table).default == "openai:mine"
    own = {"gemini": {"base_url": "http://x.y/v1", "api_key": "literal-key"}}
    assert models(providers=own).default.startswith("gemini:")


def test_every_default_model_has_a_price_and_a_window() -> None:
    for key in KEYS:
        registry = models({key: "k"})
        assert registry.facts(registry.default).window, registry.default


def test_facts() -> None:
    registry = models(
        limits={"max_tokens": 900, "local_max_tokens": 300},
        local={"slot_tokens": 1024},
        models={
            "known": {
                "lab:m": {"window": 5000, "prompts": "compact", "max_tokens": 70},
                "openai:gpt-4o": {"window": 9000},
            }
        },
        providers={"lab": {"base_url": "http://127.0.0.1:9/v1"}},
    )
    local = registry.facts("local:smollm2")
    assert (local.window, local.prompts, local.max_tokens) == (1024, "compact", 300)
    assert local.note == TINY
    lab = registry.facts("lab:m")
    assert (lab.window, lab.prompts, lab.max_tokens, lab.note) == (5000, "compact", 70, "")
    other = registry.facts("lab:other")
    assert (other.window, other.prompts, other.max_tokens) == (None, "full", 900)
    assert registry.facts("openai:gpt-4o").window == 9000
    assert registry.facts("openai:gpt-4o-mini").window == 128_000


def test_listing() -> None:
    registry = models(
        {"OPENAI_API_KEY": "k"},
        providers={
            "lab": {
                "base_url": "https://lab.example/v1",
                "api_key": "env:LAB_KEY",
                "models": ["a", "b"],
                "default": "b",
            }
        },
    )
    rows = {row.name: row for row in registry.listing()}
    assert rows["openai"].key == "present"
    assert rows["anthropic"].key == "missing"
    assert rows["anthropic"].key_source == "env:ANTHROPIC_API_KEY"
    assert rows["ollama"].key == "not needed"
    assert (rows["lab"].key, rows["lab"].models) == ("missing", ("lab:b", "lab:a"))
    assert rows["local"].models == ("local:smollm2",)
    assert "scripted:echo" in rows["scripted"].models
    for row in rows.values():
        for name in row.models:
            assert registry.get(name).id == name
    assert "k" not in {part for row in rows.values() for part in (row.key, row.key_source)}


async def test_a_missing_key_fails_before_any_call(provider: ProviderServer) -> None:
    transport = Transport()
    registry = Models(Settings.model_validate({}), transport, {})
    heard = await hear(registry.get("anthropic:claude-sonnet-5-5"))
    assert heard.category == "authentication"
    assert heard.error is not None
    assert "ANTHROPIC_API_KEY" in heard.error.hint
    (attempt,) = heard.log.attempts
    assert (attempt.category, attempt.status) == ("authentication", None)
    await transport.close()


async def test_a_missing_key_falls_back(make_models: MakeModels) -> None:
    heard = await hear(make_models().chain("openai:gpt-4o", ["scripted:echo"]))
    assert heard.model == "scripted:echo"
    assert heard.log.attempts[0].category == "authentication"


async def test_the_fallbacks_of_the_settings(
    provider: ProviderServer, make_models: MakeModels
) -> None:
    models_ = make_models(None, models={"fallback": ["claude:b", "scripted:echo"]})
    provider.script("a", Script(status=401))
    provider.script("b", Script(status=402))
    heard = await hear(models_.chain("lab:a"))
    assert heard.model == "scripted:echo"
    assert [a.category for a in heard.log.attempts] == ["authentication", "quota", None]
    assert (await hear(models_.get("lab:a"))).category == "authentication"
    assert (await hear(models_.chain("scripted:echo"))).model == "scripted:echo"


async def test_check(provider: ProviderServer, make_models: MakeModels) -> None:
    registry = make_models()
    good = await registry.check("lab:m")
    assert (good.ok, good.status, good.category) == (True, 200, None)
    assert good.first_byte_ms is not None
    assert provider.log[0].json()["max_tokens"] == 16
    provider.script("m", Script(status=401))
    bad = await registry.check("claude:m")
    assert (bad.ok, bad.status, bad.category) == (False, 401, "authentication")
    assert "Incorrect API key" in bad.message
    assert "LAB_KEY" in bad.hint
    provider.script("m", Script(empty=True, thinking="hm", fault="length"))
    assert (await registry.check("lab:m")).ok
    with pytest.raises(Invalid):
        await registry.check("nowhere:m")


async def test_check_tries_once(provider: ProviderServer, make_models: MakeModels) -> None:
    provider.script("m", Script(status=503))
    assert not (await make_models({"retries": 5}).check("lab:m")).ok
    assert len(provider.log) == 1


async def test_headers_of_ones_own_are_sent(
    provider: ProviderServer, make_models: MakeModels
) -> None:
    table = {"mine": {"base_url": provider.base_url, "headers": {"X-Team": "blue"}}}
    await hear(make_models(None, providers=table).get("mine:m"), REQUEST)
    assert provider.log[0].headers["x-team"] == "blue"
    assert "authorization" not in provider.log[0].headers


async def test_scripts_given_in_code() -> None:
    from polyvox.models.scripted import Script as Said

    transport = Transport()
    registry = Models(
        Settings.model_validate({}), transport, {}, scripts={"sage": Said(say="Wait.")}
    )
    assert (await hear(registry.get("scripted:sage"))).text == "Wait."
    await registry.close()
    await transport.close()


# -- other settings while it runs ------------------------------------------------------------------


async def test_other_settings_hold_for_what_is_asked_next(
    provider: ProviderServer, make_models: MakeModels
) -> None:
    registry = make_models({"retries": 1})
    before = registry.get("lab:m")
    provider.script("m", Script(status=503))
    assert (await hear(before)).category == "unavailable"
    assert len(provider.log) == 2
    settings = registry._settings
    limits = settings.limits.model_copy(update={"retries": 0, "max_tokens": 7})
    registry.use(settings.model_copy(update={"limits": limits}))
    assert registry.facts("lab:m").max_tokens == 7
    assert (await hear(registry.get("lab:m"))).category == "unavailable"
    assert len(provider.log) == 3, "tried once"
    assert (await hear(before)).category == "unavailable"
    assert len(provider.log) == 5, "what was begun before ends as it began"


def test_a_pace_that_stays_is_kept_and_another_begins_anew() -> None:
    table = {"base_url": "http://127.0.0.1:9/v1", "concurrency": 1}
    registry = models(providers={"lab": table})
    lab = registry._settings.providers["lab"]
    gate = registry._gate("lab", lab)
    registry.use(registry._settings)
    assert registry._gate("lab", lab) is gate
    assert registry._gate("lab", lab.model_copy(update={"concurrency": 2})) is not gate
    assert registry._gate("other", lab) is not gate


def test_a_key_that_was_put_in_decides_like_one_of_the_environment() -> None:
    registry = models(keys={"gemini": StoredKey("gemini", "k"), "openai": StoredKey("openai", "k")})
    assert registry.default.startswith("openai:")
    rows = {row.name: row for row in registry.listing()}
    assert (rows["openai"].key, rows["openai"].key_source) == ("present", "stored:openai")
    registry = models({"ANTHROPIC_API_KEY": "k"}, keys={"openai": StoredKey("openai", "k")})
    assert registry.default.startswith("anthropic:")
