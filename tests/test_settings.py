"""Where a setting comes from, what is refused and how it is told, and that no secret shows."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from polyvox.errors import ConfigError
from polyvox.settings import LARGEST, Secret, Settings, known_keys, load, shown_url

pytestmark = pytest.mark.contract

SECRET = "sk-very-secret-0123456789"  # looks like one


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., Settings]:
    """Settings from a file with this text, an environment and a command line."""

    def read(text: str = "", env: dict[str, str] | None = None, **overrides: str) -> Settings:
        path = tmp_path / "polyvox.toml"
        path.write_text(text, encoding="utf-8")
        given = {name.replace("__", "."): value for name, value in overrides.items()}
        return load(path, {"POLYVOX_HOME": str(tmp_path / "home"), **(env or {})}, given)

    return read


Read = Callable[..., Settings]


def refused(read: Callable[[], Settings]) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        read()
    return caught.value


# -- where from ----------------------------------------------------------------------------------


def test_defaults_without_anything(tmp_path: Path) -> None:
    env = {"POLYVOX_HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path), "HOME": str(tmp_path)}
    empty = tmp_path / "empty.toml"
    empty.touch()
    settings = load(empty, env)
    assert settings.limits.context == "150000 chars"
    assert settings.limits.first_byte == 15
    assert settings.home == tmp_path
    assert settings.database_url == f"sqlite:///{tmp_path}/polyvox.db"


def test_the_command_line_wins_over_the_environment_over_the_file(written: Read) -> None:
    text = '[limits]\nmax_tokens = 1\nretries = 1\nqueue = 1\n[models]\nfallback = ["lab:a"]'
    env = {"POLYVOX_LIMITS_RETRIES": "2", "POLYVOX_LIMITS_QUEUE": "2"}
    settings = written(text, env, limits__queue="3")
    limits = settings.limits
    assert (limits.max_tokens, limits.retries, limits.queue) == (1, 2, 3)
    assert settings.models.fallback == ("lab:a",)
    assert settings.source.endswith("polyvox.toml")


def test_every_plain_setting_can_be_set_in_the_environment(written: Read) -> None:
    examples: dict[str, str] = {
        "str": "x",
        "int": "300",
        "float": "1",
    }
    special = {
        "database": "sqlite:///tmp/x.db",
        "timezone": "Europe/Lisbon",
        "debug": "trace",
        "models.default": "lab:x",
        "models.synthesis": "lab:x",
        "models.gate": "lab:x",
        "models.memory": "lab:x",
        "models.judge": "lab:x",
        "models.optimizer": "lab:x",
        "models.embeddings": "lab:x",
        "limits.context": "9 tokens",
        "limits.low_water": "0.5",
        "limits.retries": "1",
        "limits.exchange_rounds": "2",
        "limits.answer_bytes": "5000",
        "local.slots": "3",
        "server.max_body": "5000",
        "memory.recall": "off",
        "memory.share": "never",
        "memory.url": "http://127.0.0.1:8000",
        "evaluation.concurrency": "3",
        "evaluation.iterations": "3",
    }
    for key, field in known_keys().items():
        if key in ("providers", "recipes", "models.known"):
            continue
        kind = str(getattr(field.annotation, "__name__", field.annotation))
        value = special.get(key) or examples.get(kind.split(" ")[0].removeprefix("<"), "")
        if field.annotation is bool:
            value = "false" if field.get_default() else "true"
        if value == "1" and field.get_default() == 1:
            value = "2"
        if not value:
            value = (
                "lab:x, lab:y" if key == "models.fallback" else "a, b" if "tuple" in kind else "1"
            )
        settings = written("", {f"POLYVOX_{key.upper().replace('.', '_')}": value})
        target: Any = settings
        for part in key.split("."):
            target = getattr(target, part)
        assert target != field.get_default(call_default_factory=True), key


def test_lists_and_nothing_in_the_environment(written: Read) -> None:
    settings = written(
        "[limits]\ncost_per_day = 5",
        {
            "POLYVOX_MODELS_FALLBACK": "lab:a, openai:b,",
            "POLYVOX_SERVER__HOSTS": "one.example",
            "POLYVOX_LIMITS_COST_PER_DAY": "",
        },
    )
    assert settings.models.fallback == ("lab:a", "openai:b")
    assert settings.server.hosts == ("one.example",)
    assert settings.limits.cost_per_day is None


def test_a_provider_from_the_environment(written: Read) -> None:
    settings = written(
        '[providers.my_lab]\nbase_url = "http://127.0.0.1:1/v1"',
        {
            "POLYVOX_PROVIDERS_MY_LAB_KIND": "anthropic",
            "POLYVOX_PROVIDERS_MY_LAB_API_KEY": "env:MY_KEY",
            "POLYVOX_PROVIDERS_MY_LAB_MODELS": "a, b",
            "POLYVOX_PROVIDERS_OTHER_BASE_URL": "http://127.0.0.1:2/v1/",
        },
    )
    lab = settings.providers["my_lab"]
    assert (lab.kind, lab.models, lab.base_url) == (
        "anthropic",
        ("a", "b"),
        "http://127.0.0.1:1/v1",
    )
    assert lab.api_key.reveal({"MY_KEY": SECRET}) == SECRET
    assert settings.providers["other"].base_url == "http://127.0.0.1:2/v1"


@pytest.mark.parametrize(
    ("given", "expected"),
    [("1", "debug"), ("true", "debug"), ("0", "off"), ("", "off"), ("trace", "trace")],
)
def test_debug_in_short(written: Read, given: str, expected: str) -> None:
    assert written("", {"POLYVOX_DEBUG": given}).debug == expected


def test_a_config_file_named_by_the_environment(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("[limits]\nqueue = 5")
    settings = load(env={"POLYVOX_CONFIG": str(path), "POLYVOX_HOME": str(tmp_path)})
    assert settings.limits.queue == 5


# -- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "key", "near"),
    [
        ("[limits]\nmax_token = 5", "limits.max_token", "limits.max_tokens"),
        ("databse = 'x'", "databse", "database"),
        ("[limit]\nstall = 5", "limit", "limits"),
        ("[providers.lab]\nbase_ulr = 'http://x'", "providers.lab.base_ulr", "base_url"),
        ('[models.known."lab:x"]\nwindo = 5', "models.known.lab:x.windo", "window"),
        ("home = 'x'", "home", ""),
    ],
)
def test_an_unknown_key_in_the_file_names_the_nearest(
    written: Read, text: str, key: str, near: str
) -> None:
    error = refused(lambda: written(text))
    assert f"Unknown setting {key!r}" in error.message
    assert "polyvox.toml" in error.message
    assert near in error.hint
    assert "Did you mean" in error.hint


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("POLYVOX_LIMIT_MAX_TOKENS", "POLYVOX_LIMITS_MAX_TOKENS"),
        ("POLYVOX_DATABSE", "POLYVOX_DATABASE"),
        ("POLYVOX_SERVER_PROT", "POLYVOX_SERVER_PORT"),
        ("POLYVOX_PROVIDERS", "POLYVOX_"),
    ],
)
def test_an_unknown_variable_names_the_nearest(written: Read, name: str, near: str) -> None:
    error = refused(lambda: written("", {name: "5"}))
    assert f"Unknown setting {name} in the environment" in error.message
    assert near in error.hint


def test_an_unknown_name_on_the_command_line(written: Read) -> None:
    error = refused(lambda: written("", limits__max_tokenz="5"))
    assert "Unknown setting 'limits.max_tokenz' in the command line" in error.message
    assert "'limits.max_tokens'" in error.hint


@pytest.mark.parametrize(
    ("text", "key", "words"),
    [
        ("[limits]\nmax_tokens = 'many'", "limits.max_tokens", "a whole number"),
        ("[limits]\nmax_tokens = true", "limits.max_tokens", "not true or false"),
        ("[limits]\ncost_per_day = true", "limits.cost_per_day", "not true or false"),
        ("[limits]\nmax_tokens = 0", "limits.max_tokens", "at least 1"),
        ("[limits]\ncontext = 150000", "limits.context", "a text"),
        ("[limits]\ncontext = '150000'", "limits.context", "with its unit"),
        ("[limits]\ncontext = '9 words'", "limits.context", "150000 chars"),
        ("limits = 5", "limits", "a table of names"),
        ("[models]\ndefault = 'smollm2'", "models.default", "provider:name"),
        ("[models]\nfallback = ['x']", "models.fallback.0", "provider:name"),
        ("timezone = 'Europe/Lisbn'", "timezone", "did you mean Europe/Lisbon?"),
        ("timezone = '../etc/passwd'", "timezone", "not a known time zone"),
        ("database = 'mysql://x'", "database", "sqlite:///"),
        ("debug = 'loud'", "debug", "'off'"),
        ("[providers.lab]\nbase_url = 'ftp://x'", "providers.lab.base_url", "http://"),
        ("[providers.lab]\nkind = 'soap'\nbase_url='http://x'", "providers.lab.kind", "openai"),
        ("[providers]\nlab = 5", "providers.lab", "a table of names"),
        ("[server]\nport = 99999", "server.port", "65535"),
    ],
)
def test_a_value_that_cannot_be_is_told(written: Read, text: str, key: str, words: str) -> None:
    error = refused(lambda: written(text))
    assert f"The setting {key!r} in" in error.message
    assert "polyvox.toml" in error.message
    assert words in error.message
    assert "?." not in error.message


def test_it_says_where_the_wrong_value_was_set(written: Read) -> None:
    error = refused(lambda: written("[limits]\nqueue = 5", {"POLYVOX_LIMITS_QUEUE": "many"}))
    assert "in the environment (POLYVOX_LIMITS_QUEUE)" in error.message
    assert error.hint == "Messages that may wait in one conversation."
    error = refused(lambda: written("", limits__queue="many"))
    assert "in the command line" in error.message
    error = refused(lambda: written("", {"POLYVOX_MODELS_FALLBACK": "lab:a,b"}))
    assert "POLYVOX_MODELS_FALLBACK" in error.message


@pytest.mark.parametrize("text", ["[limits", "a = = 1", "x = 'é\nb'", "[a]\n[a]"])
def test_broken_toml_is_told_with_its_place(written: Read, text: str) -> None:
    error = refused(lambda: written(text))
    assert "is not valid TOML" in error.message
    assert "(at " in error.message


def test_a_config_that_is_no_file(tmp_path: Path) -> None:
    env = {"POLYVOX_HOME": str(tmp_path)}
    error = refused(lambda: load(tmp_path, env))
    assert (f"{tmp_path} cannot be read" in error.message, error.hint) == (True, "Name a file.")
    error = refused(lambda: load(tmp_path / "nothing.toml", env))
    assert "There is no configuration file" in error.message
    latin = tmp_path / "latin.toml"
    latin.write_bytes("timezone = 'é'".encode("latin-1"))
    assert "is not valid TOML" in refused(lambda: load(latin, env)).message


def test_a_file_that_is_no_configuration(written: Read) -> None:
    assert "has more than 1,000,000 bytes" in refused(lambda: written("#" * (LARGEST + 1))).message
    assert written("#" * LARGEST).limits.queue == 8
    assert "nested too deeply" in refused(lambda: written("a = " + "[" * 100_000)).message


def test_a_table_that_is_none(written: Read) -> None:
    error = refused(lambda: written("limits = 5", {"POLYVOX_LIMITS_QUEUE": "1"}))
    assert "must be a table" in error.message


# -- secrets -------------------------------------------------------------------------------------


def test_a_secret_shows_nowhere(written: Read, caplog: pytest.LogCaptureFixture) -> None:
    settings = written(
        f"""
        database = "postgresql://me:{SECRET}@127.0.0.1/polyvox"
        [server]
        token = "{SECRET}"
        [providers.lab]
        base_url = "http://127.0.0.1:1/v1"
        api_key = "{SECRET}"
        headers = {{ "X-Key" = "{SECRET}" }}
        """
    )
    lab = settings.providers["lab"]
    assert lab.api_key.reveal() == SECRET
    logging.getLogger("polyvox.test").warning("%s %r", settings, [lab, settings.server.token])
    shown = [
        repr(settings),
        str(settings),
        f"{settings.server} {settings.server.token} {lab.api_key!r}",
        repr(settings.server.model_dump()),
        caplog.text,
    ]
    assert not [text for text in shown if SECRET in text]
    assert repr(lab.api_key) == "Secret('***')"
    dumped = settings.model_dump(exclude={"database": True, "providers": {"lab": {"headers"}}})
    assert SECRET not in repr(dumped)


@pytest.mark.parametrize(
    "text", [f"[server]\ntoken = ['{SECRET}']", f"[providers.lab]\napi_key = ['{SECRET}']"]
)
def test_not_even_in_an_error_about_it(written: Read, text: str) -> None:
    error = refused(lambda: written(text))
    assert SECRET not in f"{error.message}{error.hint}{error!r}{error.__cause__}"


def test_where_a_secret_is_taken_from() -> None:
    assert Secret("env:LAB").reveal({"LAB": "x"}) == "x"
    assert Secret("env:LAB").reveal({}) == ""
    assert (Secret("env:LAB").origin, Secret("env:LAB").literal) == ("env:LAB", False)
    assert Secret("keyring:LAB").origin == "keyring:LAB"
    assert Secret(SECRET).literal
    assert Secret(SECRET).origin == "written in the configuration"
    assert not Secret("")
    assert Secret("").origin == "not set"


def test_settings_cannot_be_changed() -> None:
    settings = Settings()
    with pytest.raises(ValueError, match="frozen"):
        settings.limits.queue = 5  # type: ignore[misc]  # that is the point


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://127.0.0.1:1/v1", "http://127.0.0.1:1/v1"),
        ("http://me:secret@host/v1", "http://***@host/v1"),
        ("http://secret@host/v1", "http://***@host/v1"),
        ("https://me:sec/ret@host/v1", "https://***@host/v1"),
        ("https://host/v1?key=secret&x=secret", "https://host/v1?key=***&x=***"),
        ("https://host/v1?secret", "https://host/v1?***"),
        ("https://host/v1?a=secret@secret#secret", "https://host/v1?a=***"),
        ("postgresql://me:secret@host/db?password=secret", "postgresql://***@host/db?password=***"),
        ("No. http://a:secret@b/ said 1=2 ?x=3", "No. http://***@b/ said 1=2 ?x=3"),
        ("Is x=1? a@b", "Is x=1? a@b"),
    ],
)
def test_an_address_is_shown_without_secrets(url: str, shown: str) -> None:
    assert shown_url(url) == shown
