"""Who decides a setting: the command line, the environment, the file, the page, the default."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from polyvox.errors import ConfigError
from polyvox.settings import Settings, load
from polyvox.settings.layers import (
    decision_of,
    fixed_of,
    in_force,
    with_stored,
)
from polyvox.settings.schema import changeable
from polyvox.settings.stored import StoredSettings
from polyvox.web.settings import kind_of

SECRET = "sk-very-secret-0123456789"
Read = Callable[..., Settings]


@pytest.fixture
def written(tmp_path: Path) -> Read:
    """Settings from the page's file, polyvox.toml, an environment and a command line."""

    def read(
        page: str, text: str = "", env: dict[str, str] | None = None, **overrides: str
    ) -> Settings:
        path = tmp_path / "polyvox.toml"
        path.write_text(text, encoding="utf-8")
        (tmp_path / "settings.toml").write_text(page, encoding="utf-8")
        given = {name.replace("__", "."): value for name, value in overrides.items()}
        return load(path, {"POLYVOX_HOME": str(tmp_path), **(env or {})}, given)

    return read


def test_each_wins_over_those_below(written: Read, tmp_path: Path) -> None:
    settings = written(
        "[limits]\nqueue = 1\nretries = 1\nstall = 1\nmax_tokens = 1\n",
        "[limits]\nqueue = 2\nretries = 2\nstall = 2\n",
        {"POLYVOX_LIMITS_QUEUE": "3", "POLYVOX_LIMITS_RETRIES": "3"},
        limits__queue="4",
    )
    limits = settings.limits
    assert (limits.queue, limits.retries, limits.stall, limits.max_tokens) == (4, 3, 2, 1)
    found = {
        name: (said.origin, said.where)
        for name in ("queue", "retries", "stall", "max_tokens", "deadline")
        for said in (decision_of(settings, f"limits.{name}"),)
    }
    assert found == {
        "queue": ("command line", "the command line"),
        "retries": ("environment", "the environment (POLYVOX_LIMITS_RETRIES)"),
        "stall": ("file", str(tmp_path / "polyvox.toml")),
        "max_tokens": ("page", str(tmp_path / "settings.toml")),
        "deadline": ("default", ""),
    }


def test_a_list_is_one_setting(written: Read) -> None:
    page = '[models]\nfallback = ["scripted:a", "scripted:b"]'
    settings = written(page, "", {"POLYVOX_MODELS_FALLBACK": "scripted:c"})
    assert settings.models.fallback == ("scripted:c",)
    assert decision_of(settings, "models.fallback").origin == "environment"


def test_a_provider_is_described_by_one_alone(written: Read) -> None:
    page = '[providers.lab]\nbase_url = "http://127.0.0.1:1"\n[providers.own]\n'
    page += 'base_url = "http://127.0.0.1:2"\n'
    text = f'[providers.lab]\nbase_url = "http://127.0.0.1:3"\napi_key = "{SECRET}"\n'
    settings = written(page, text)
    assert settings.providers["lab"].base_url == "http://127.0.0.1:3"
    assert settings.providers["own"].base_url == "http://127.0.0.1:2"
    assert decision_of(settings, "providers.lab").origin == "file"
    assert decision_of(settings, "providers.own").origin == "page"
    assert decision_of(settings, "providers.openai").origin == "default"
    with pytest.raises(ConfigError, match="needs a base_url") as caught:
        written(page, "", {"POLYVOX_PROVIDERS_OWN_API_KEY": SECRET})
    assert "POLYVOX_PROVIDERS_OWN_API_KEY" in caught.value.message
    assert SECRET not in caught.value.message


def test_an_empty_text_says_nothing(written: Read) -> None:
    page, text = '[models]\ndefault = "scripted:a"', '[models]\ndefault = "scripted:b"'
    assert written(page, '[models]\ndefault = ""').models.default == "scripted:a"
    assert written(page, text, {"POLYVOX_MODELS_DEFAULT": ""}).models.default == "scripted:a"
    settings = written(page, "", {"POLYVOX_LIMITS_COST_PER_DAY": ""})
    assert decision_of(settings, "limits.cost_per_day").origin == "environment", "no cap is a word"


def test_where_a_wrong_value_of_the_page_stands(written: Read, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        written("[limits]\nqueue = -1")
    assert f"'limits.queue' in {tmp_path / 'settings.toml'}" in caught.value.message
    assert "take it out" in caught.value.hint
    assert caught.value.param == "limits.queue"
    assert written("[limits]\nqueue = -1", "[limits]\nqueue = 2").limits.queue == 2


def test_settings_of_a_program(tmp_path: Path) -> None:
    made = Settings.model_validate(
        {
            "home": tmp_path,
            "limits": {"queue": 3},
            "server": {"token": SECRET},
            "models": {"default": ""},
            "providers": {"lab": {"base_url": "http://127.0.0.1:1", "api_key": SECRET}},
        }
    )
    assert with_stored(made) is made, "nothing is kept"
    assert decision_of(made, "limits.queue").origin == "program"
    assert decision_of(made, "models.default").origin == "default"
    (tmp_path / "settings.toml").write_text('[limits]\nqueue = 9\nstall = 9\n[models]\n'
                                            'default = "scripted:echo"\n')  # fmt: skip
    (tmp_path / "keys.toml").write_text(f'openai = "{SECRET}"')
    found = with_stored(made)
    assert (found.limits.queue, found.limits.stall) == (3, 9)
    assert found.models.default == "scripted:echo"
    assert found.server.token.reveal() == found.providers["lab"].api_key.reveal() == SECRET
    assert found.keys["openai"].reveal() == SECRET
    assert with_stored(found) is found
    assert SECRET not in f"{found!r}{found.model_dump()!r}{fixed_of(found)!r}{found.keys!r}"
    assert "keys" not in found.model_dump()


def test_every_setting_of_the_page_can_be_put_in_and_taken_back(tmp_path: Path) -> None:
    """Whatever a room adds later must be of a kind that the page can offer."""
    for name, field in changeable().items():
        kind = kind_of(field)
        assert field.description.endswith("."), name
        table: object = field.default if field.default not in (None, ()) else None
        if kind.type == "number":
            assert kind.max is not None, f"{name} needs a greatest value"
            table = kind.max
            if kind.whole:
                table = int(kind.max)
        if table in (None, ""):
            continue
        for part in reversed(name.split(".")):
            table = {part: table}
        assert isinstance(table, dict)
        found = in_force(fixed_of(Settings(home=tmp_path)), StoredSettings(table))
        assert decision_of(found, name).origin == "page"
