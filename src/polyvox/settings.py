"""Every setting once: name, type, default, one sentence of help.

A setting comes from the environment (`POLYVOX_LIMITS_MAX_TOKENS`), else from `polyvox.toml`
(`[limits] max_tokens`), else from its default here. Unknown keys are refused and the nearest known
one is named. A secret is held as a `Secret`, which prints as stars wherever it goes.
"""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin
from zoneinfo import ZoneInfo, available_timezones

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from polyvox.errors import ConfigError

BUILT_IN_PROVIDERS = ("openrouter", "openai", "anthropic", "gemini", "ollama", "local", "scripted")
MODEL = r"^[a-z0-9][a-z0-9_.-]*:\S+$"
ModelName = Annotated[str, Field(pattern=MODEL)]
OptionalModel = Annotated[str, Field(pattern=rf"{MODEL}|^$")]


class Secret:
    """A key or token as configured: `env:NAME`, `keyring:NAME` or a literal. Never printed."""

    __slots__ = ("_source",)

    def __init__(self, source: str) -> None:
        self._source = source

    @property
    def literal(self) -> bool:
        """Whether the secret itself stands in the configuration (worth a warning)."""
        return bool(self._source) and not self._source.startswith(("env:", "keyring:"))

    @property
    def origin(self) -> str:
        """Where the secret comes from, without telling it."""
        if not self._source:
            return "not set"
        return "written in the configuration" if self.literal else self._source

    def reveal(self, env: Mapping[str, str] = os.environ) -> str:
        """The secret, or an empty string where its source holds none."""
        kind, _, name = self._source.partition(":")
        if kind == "env":
            return env.get(name, "")
        if kind == "keyring":
            import keyring

            return keyring.get_password("polyvox", name) or ""
        return self._source

    def __bool__(self) -> bool:
        return bool(self._source)

    def __repr__(self) -> str:
        return "Secret('***')" if self._source else "Secret('')"

    __str__ = __repr__


_URL = re.compile(r"([A-Za-z][\w+.-]*://)([^\s?#]*@)?([^\s?#]*)(\?[^\s#]*)?(#\S*)?")


def shown_url(text: str) -> str:
    """The text with every address in it as it may be shown: who logs in, and the values of its
    query, are starred, for a key may be among them."""

    def starred(found: re.Match[str]) -> str:
        query = re.sub(r"=[^&]*|(?<=[?&])[^&=]+(?=&|$)", _star, found[4] or "")
        return f"{found[1]}{'***@' if found[2] else ''}{found[3]}{query}"

    return _URL.sub(starred, text)


def _star(found: re.Match[str]) -> str:
    return "=***" if found[0].startswith("=") else "***"


class Section(BaseModel):
    """A table of the configuration file."""

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True, frozen=True)

    @field_validator("*", mode="before")
    @classmethod
    def _given(cls, value: object, info: Any) -> object:  # noqa: ANN401 - pydantic's own type
        kind = cls.model_fields[info.field_name].annotation
        if isinstance(value, bool) and {int, float} & {kind, *get_args(kind)}:
            raise ValueError("must be a number, not true or false")
        return Secret(value) if kind is Secret and isinstance(value, str) else value


class ModelFactsSetting(Section):
    """What to know of one model; everything here is optional."""

    prompts: Literal["full", "compact"] | None = Field(
        None, description="Prompt set: full, or compact for small models."
    )
    window: int | None = Field(None, ge=256, description="Tokens that fit the model's window.")
    max_tokens: int | None = Field(None, ge=1, description="Longest answer in tokens.")
    requests_per_minute: float | None = Field(None, gt=0, description="Pace of requests.")
    concurrency: int | None = Field(
        None, ge=1, description="Requests to this model under way at once."
    )
    min_delay: float = Field(0, ge=0, description="Seconds between two requests.")


class Models(Section):
    """Which models are used for what. A model is always `provider:name`."""

    default: OptionalModel = Field(
        "", description="The advisors' model; empty: by the keys found, else the embedded one."
    )
    fallback: tuple[ModelName, ...] = Field(
        (), description="Tried in this order when a model fails before its first word."
    )
    synthesis: OptionalModel = Field("", description="Writes syntheses; empty: the default model.")
    known: dict[str, ModelFactsSetting] = Field(
        default_factory=dict, description="Facts about models, by full name."
    )


class Limits(Section):
    """How much, how long, how dear."""

    context: str = Field(
        "150000 chars",
        pattern=r"^\d+ *(chars|tokens)$",
        description='Largest request, with its unit: "… chars" or "… tokens".',
    )
    low_water: float = Field(
        0.85, gt=0.1, le=1, description="Once over the limit, trim to this part of it."
    )
    max_tokens: int = Field(2048, ge=1, description="Longest answer in tokens.")
    local_max_tokens: int = Field(512, ge=1, description="The same for the embedded model.")
    message_chars: int = Field(400_000, ge=1, description="Longest message a person can send.")
    answer_bytes: int = Field(
        32_000_000, ge=1000, description="A longer answer is cut off as a protocol error."
    )
    first_byte: float = Field(15, gt=0, description="Seconds to wait for a model's first byte.")
    stall: float = Field(30, gt=0, description="Seconds without a byte that end an answer.")
    deadline: float = Field(600, gt=0, description="Seconds that one answer may take in all.")
    retries: int = Field(2, ge=0, le=10, description="Further tries after a passing failure.")
    retry_wait: float = Field(
        20, ge=0, description="Longest Retry-After, in seconds, that is waited for."
    )
    cost_per_turn: float | None = Field(None, ge=0, description="USD that one turn may cost.")
    cost_per_conversation: float | None = Field(
        None, ge=0, description="USD that one conversation may cost."
    )
    cost_per_day: float | None = Field(None, ge=0, description="USD that one (UTC) day may cost.")

    @property
    def capped(self) -> bool:
        """Whether there is any cap on cost."""
        caps = (self.cost_per_turn, self.cost_per_conversation, self.cost_per_day)
        return any(cap is not None for cap in caps)

    exchange_rounds: int = Field(4, ge=1, le=20, description="Most rounds of one exchange.")
    queue: int = Field(8, ge=0, description="Messages that may wait in one conversation.")


class Provider(Section):
    """Any OpenAI- or Anthropic-compatible server."""

    kind: Literal["openai", "anthropic"] = Field("openai", description="The wire format.")
    base_url: str = Field(
        "", description="Where its API begins, for instance http://127.0.0.1:8080/v1."
    )
    api_key: Secret = Field(
        Secret(""), description="env:NAME, keyring:NAME, or (not advised) the key itself."
    )
    requests_per_minute: float | None = Field(None, gt=0, description="Pace of requests.")
    concurrency: int | None = Field(None, ge=1, description="Requests under way at once.")
    min_delay: float = Field(0, ge=0, description="Seconds between two requests.")
    models: tuple[str, ...] = Field((), description="Model names to list.")
    default: str = Field("", description="The model used when this provider is chosen by its key.")
    headers: dict[str, str] = Field(
        default_factory=dict, repr=False, description="Further request headers."
    )

    @field_validator("base_url")
    @classmethod
    def _url(cls, value: str) -> str:
        if value and not re.match(r"^https?://[^\s/]+", value):
            raise ValueError("must be an address that begins with http:// or https://")
        return value.rstrip("/")


class Local(Section):
    """The embedded model."""

    model_path: str = Field("", description="A GGUF file; empty: the SmolLM2 that set-up fetched.")
    slots: int = Field(6, ge=1, le=64, description="Answers generated together.")
    slot_tokens: int = Field(2048, ge=256, description="Window of each answer, in tokens.")
    threads: int = Field(0, ge=0, description="Threads; 0: one per core.")
    warm: bool = Field(True, description="Load it when the server starts.")


class Server(Section):
    """The HTTP server."""

    host: str = Field("127.0.0.1", description="Address to listen on.")
    port: int = Field(4242, ge=0, le=65535, description="Port to listen on; 0: any free one.")
    token: Secret = Field(
        Secret(""), description="Bearer token; needed to listen on more than this machine."
    )
    hosts: tuple[str, ...] = Field((), description="Further Host names that requests may carry.")
    max_body: int = Field(8_000_000, ge=1000, description="Largest request body in bytes.")


class Sessions(Section):
    """When a stretch of talk ends."""

    idle_minutes: float = Field(
        5, gt=0, description="A message this long after the last one opens a new session."
    )


class Settings(Section):
    """The whole configuration."""

    database: str = Field(
        "", repr=False, description="sqlite:///path or postgresql://…; empty: in the home."
    )
    timezone: str = Field("", description="The user's time zone; empty: the machine's.")
    debug: Literal["off", "debug", "trace"] = Field(
        "off", description="One line per model call; trace adds texts."
    )
    models: Models = Field(default_factory=lambda: Models(), description="")
    limits: Limits = Field(default_factory=lambda: Limits(), description="")
    local: Local = Field(default_factory=lambda: Local(), description="")
    server: Server = Field(default_factory=lambda: Server(), description="")
    sessions: Sessions = Field(default_factory=lambda: Sessions(), description="")
    providers: dict[str, Provider] = Field(default_factory=dict, description="")
    recipes: dict[str, dict[str, Any]] = Field(
        default_factory=dict, description="Changes to recipes, by name."
    )
    home: Path = Field(Path(), exclude=True, description="")
    source: str = Field("", exclude=True, description="")

    @field_validator("debug", mode="before")
    @classmethod
    def _debug(cls, value: object) -> object:
        plain = {"": "off", "0": "off", "false": "off", "1": "debug", "true": "debug"}
        return plain.get(str(value).lower(), value)

    @field_validator("timezone")
    @classmethod
    def _timezone(cls, value: str) -> str:
        if value:
            try:
                ZoneInfo(value)
            except (KeyError, ValueError, OSError) as error:
                near = difflib.get_close_matches(value, available_timezones(), 1)
                also = f"; did you mean {near[0]}?" if near else ""
                raise ValueError(f"is not a known time zone{also}") from error
        return value

    @field_validator("database")
    @classmethod
    def _database(cls, value: str) -> str:
        if value and not value.startswith(("sqlite:///", "postgresql://", "postgres://")):
            raise ValueError("must begin with sqlite:/// or postgresql://")
        return value

    @field_validator("providers")
    @classmethod
    def _providers(cls, value: dict[str, Provider]) -> dict[str, Provider]:
        for name, provider in value.items():
            if not provider.base_url and name not in BUILT_IN_PROVIDERS:
                raise ValueError(f"{name} needs a base_url")
        return value

    @property
    def database_url(self) -> str:
        """The database, the default one in the home included."""
        return self.database or f"sqlite:///{self.home / 'polyvox.db'}"


RESERVED = {"POLYVOX_CONFIG", "POLYVOX_HOME"}
MAPS = ("providers", "recipes", "models.known")
LARGEST = 1_000_000
"""Bytes of the configuration file."""


def known_keys(model: type[BaseModel] = Settings, prefix: str = "") -> dict[str, Any]:
    """Every plain setting by its dotted name; what is computed is left out."""
    found: dict[str, Any] = {}
    for name, field in model.model_fields.items():
        if field.exclude:
            continue
        path = f"{prefix}{name}"
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            found |= known_keys(field.annotation, f"{path}.")
        else:
            found[path] = field
    return found


def load(
    config: str | Path | None = None,
    env: Mapping[str, str] = os.environ,
    overrides: Mapping[str, str] | None = None,
) -> Settings:
    """The settings in force. `overrides` (dotted names, from the command line) win."""
    path = _config_path(config, env)
    data: dict[str, Any] = _read_file(path) if path else {}
    _refuse_unknown(data, Settings, "", str(path))
    said: dict[str, str] = {}
    for name, value in env.items():
        if name.startswith("POLYVOX_") and name not in RESERVED:
            place = _path_of(name)
            _place(data, place, value)
            said[".".join(place)] = f"the environment ({name})"
    for dotted, value in (overrides or {}).items():
        if _field_of(dotted) is None:
            raise _unknown(dotted, list(known_keys()), "the command line")
        _place(data, dotted.split("."), value)
        said[dotted] = "the command line"
    home = Path(env["POLYVOX_HOME"]) if env.get("POLYVOX_HOME") else _default_home()
    try:
        return Settings(**data, home=home.expanduser().absolute(), source=str(path or ""))
    except ValidationError as error:
        raise _unusable(error, said, str(path) if path else "the environment") from None


def _default_home() -> Path:
    import platformdirs

    return platformdirs.user_data_path("polyvox", appauthor=False)


def _config_path(config: str | Path | None, env: Mapping[str, str]) -> Path | None:
    named = config or env.get("POLYVOX_CONFIG")
    if named:
        return Path(named).expanduser()
    import platformdirs

    path = platformdirs.user_config_path("polyvox", appauthor=False) / "polyvox.toml"
    return path if path.exists() else None


def _read_file(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
        if len(data) > LARGEST:
            raise ConfigError(f"{path} has more than {LARGEST:,} bytes.", "Check --config.")
        return tomllib.loads(data.decode("utf-8"))
    except FileNotFoundError:
        raise ConfigError(
            f"There is no configuration file {path}.", "Check --config or POLYVOX_CONFIG."
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"{path} is not valid TOML: {error}.", "Correct that line, or move the file away."
        ) from None
    except RecursionError:
        raise ConfigError(f"{path} is nested too deeply.", "No setting needs that.") from None
    except OSError as error:
        hint = "Name a file." if path.is_dir() else "Check its permissions."
        raise ConfigError(f"{path} cannot be read: {error.strerror}.", hint) from None


def _refuse_unknown(data: Any, model: type[BaseModel], prefix: str, where: str) -> None:  # noqa: ANN401
    """Name the first unknown key and the nearest known one."""
    fields = {n: f for n, f in model.model_fields.items() if not f.exclude}
    for key, value in data.items():
        dotted = f"{prefix}{key}"
        if key not in fields:
            raise _unknown(dotted, [f"{prefix}{n}" for n in fields] + list(known_keys()), where)
        inner = fields[key].annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel) and isinstance(value, dict):
            _refuse_unknown(value, inner, f"{dotted}.", where)
        elif dotted in {"providers", "models.known"} and isinstance(value, dict):
            row = Provider if dotted == "providers" else ModelFactsSetting
            for name, table in value.items():
                if isinstance(table, dict):
                    _refuse_unknown(table, row, f"{dotted}.{name}.", where)


def _unknown(key: str, known: list[str], where: str) -> ConfigError:
    near = difflib.get_close_matches(key, known, 1, cutoff=0)
    return ConfigError(
        f"Unknown setting {key!r} in {where}.", f"Did you mean {near[0]!r}?" if near else ""
    )


def _path_of(name: str) -> list[str]:
    """POLYVOX_LIMITS_MAX_TOKENS → limits, max_tokens; a double underscore also separates."""
    rest = name.removeprefix("POLYVOX_").lower()
    flat = {key.replace(".", "_"): key for key in known_keys() if key not in MAPS}
    if (key := flat.get(rest.replace("__", "_"))) is not None:
        return key.split(".")
    table = re.match(r"providers_+(.+?)_+(" + "|".join(Provider.model_fields) + r")$", rest)
    if table:
        return ["providers", table[1], table[2]]
    near = difflib.get_close_matches(rest, flat, 1, cutoff=0)
    raise ConfigError(
        f"Unknown setting {name} in the environment.",
        f"Did you mean POLYVOX_{near[0].upper()}?" if near else "",
    )


def _place(data: dict[str, Any], path: list[str], value: str) -> None:
    for part in path[:-1]:
        table = data.setdefault(part, {})
        if not isinstance(table, dict):
            raise ConfigError(f"{part!r} must be a table in the configuration file.")
        data = table
    field = _field_of(".".join(path))
    if field is not None and get_origin(field.annotation) is tuple:
        data[path[-1]] = [part.strip() for part in value.split(",") if part.strip()]
    elif not value and field is not None and NoneType in get_args(field.annotation):
        data[path[-1]] = None
    else:
        data[path[-1]] = value


def _field_of(dotted: str) -> Any:  # noqa: ANN401 - pydantic's own type
    """A setting by its dotted name; one of a provider of any name, too."""
    table, _, rest = dotted.partition(".")
    if table == "providers":
        return Provider.model_fields.get(rest.rpartition(".")[2])
    return known_keys().get(dotted)


def _unusable(error: ValidationError, said: Mapping[str, str], file: str) -> ConfigError:
    """The first thing that is wrong: which setting, where it was set, and what it is for."""
    first = error.errors()[0]
    key = ".".join(str(part) for part in first["loc"])
    message = first["msg"].removeprefix("Value error, ")
    if first["type"] == "string_pattern_mismatch" and key.startswith("models"):
        message = 'must be written "provider:name"'
    elif first["type"] == "string_pattern_mismatch" and key == "limits.context":
        message = 'must be a number with its unit, such as "150000 chars" or "32000 tokens"'
    where = next((said[name] for name in said if f"{key}.".startswith(f"{name}.")), file)
    field = _field_of(key)
    return ConfigError(
        f"The setting {key!r} in {where} is not usable: {message}"
        + ("" if message.endswith("?") else "."),
        (field.description or "") if field is not None else "",
    )
