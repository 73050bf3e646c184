"""Every setting once: name, type, default, one sentence of help, and whether people may change it
on the page."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, available_timezones

from pydantic import BaseModel, Field, InstanceOf, field_validator

from polyvox.settings.evaluation import EvaluationSettings
from polyvox.settings.secret import Secret, StoredKey
from polyvox.settings.section import DAY, MOST, ON_PAGE, Section

BUILT_IN_PROVIDERS = ("openrouter", "openai", "anthropic", "gemini", "ollama", "local", "scripted")
MODEL = r"^[a-z0-9][a-z0-9_.-]*:\S+$"
ModelName = Annotated[str, Field(pattern=MODEL)]
OptionalModel = Annotated[str, Field(pattern=rf"{MODEL}|^$")]
MAPS = ("providers", "recipes", "models.known")


class ModelFactsSetting(Section):
    """Facts about one model; each is optional."""

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


class ModelSettings(Section):
    """The models for each purpose. A model is always `provider:name`."""

    default: OptionalModel = Field(
        "",
        max_length=300,
        description="The advisors' model; empty: by the keys found, else the embedded one.",
        json_schema_extra=ON_PAGE,
    )
    fallback: tuple[ModelName, ...] = Field(
        (),
        max_length=20,
        description="Tried in this order when a model fails before its first word.",
        json_schema_extra=ON_PAGE,
    )
    synthesis: OptionalModel = Field(
        "",
        max_length=300,
        description="Writes syntheses; empty: the default model.",
        json_schema_extra=ON_PAGE,
    )
    gate: OptionalModel = Field(
        "",
        max_length=300,
        description="Small model that reads messages to a companion; empty: the companion's own.",
        json_schema_extra=ON_PAGE,
    )
    memory: OptionalModel = Field(
        "",
        max_length=300,
        description="Reads ended sessions for facts; empty: the default, unless it is embedded.",
        json_schema_extra=ON_PAGE,
    )
    judge: OptionalModel = Field(
        "",
        max_length=300,
        description="Judges answers; empty: gemini-2.5-flash-lite with a key for it, else the"
        " default, unless it is embedded.",
        json_schema_extra=ON_PAGE,
    )
    optimizer: OptionalModel = Field(
        "",
        max_length=300,
        description="Rewrites prompts; empty: the judge.",
        json_schema_extra=ON_PAGE,
    )
    embeddings: OptionalModel = Field(
        "",
        max_length=300,
        description="Makes vectors for recall; empty: recall goes by words alone.",
        json_schema_extra=ON_PAGE,
    )
    known: dict[str, ModelFactsSetting] = Field(
        default_factory=dict, description="Facts about models, by full name."
    )


class Limits(Section):
    """Limits on size, time and cost."""

    context: str = Field(
        "150000 chars",
        pattern=r"^[1-9][0-9]{0,8} *(chars|tokens)$",
        description='Largest request, with its unit: "… chars" or "… tokens".',
        json_schema_extra=ON_PAGE,
    )
    low_water: float = Field(
        0.85, gt=0.1, le=1, description="Once over the limit, trim to this part of it."
    )
    max_tokens: int = Field(
        2048, ge=1, le=MOST, description="Longest answer in tokens.", json_schema_extra=ON_PAGE
    )
    local_max_tokens: int = Field(
        512,
        ge=1,
        le=MOST,
        description="The same for the embedded model.",
        json_schema_extra=ON_PAGE,
    )
    message_chars: int = Field(400_000, ge=1, description="Longest message a person can send.")
    answer_bytes: int = Field(
        32_000_000, ge=1000, description="A longer answer is cut off as a protocol error."
    )
    first_byte: float = Field(
        15,
        gt=0,
        le=DAY,
        description="Seconds to wait for a model's first byte.",
        json_schema_extra=ON_PAGE,
    )
    stall: float = Field(
        30,
        gt=0,
        le=DAY,
        description="Seconds without a byte that end an answer.",
        json_schema_extra=ON_PAGE,
    )
    deadline: float = Field(
        600,
        gt=0,
        le=DAY,
        description="Seconds that one answer may take in all.",
        json_schema_extra=ON_PAGE,
    )
    retries: int = Field(
        2,
        ge=0,
        le=10,
        description="Further tries after a passing failure.",
        json_schema_extra=ON_PAGE,
    )
    retry_wait: float = Field(
        20,
        ge=0,
        le=DAY,
        description="Longest Retry-After, in seconds, that is waited for.",
        json_schema_extra=ON_PAGE,
    )
    cost_per_turn: float | None = Field(
        None, ge=0, le=MOST, description="USD that one turn may cost.", json_schema_extra=ON_PAGE
    )
    cost_per_conversation: float | None = Field(
        None,
        ge=0,
        le=MOST,
        description="USD that one conversation may cost.",
        json_schema_extra=ON_PAGE,
    )
    cost_per_day: float | None = Field(
        None,
        ge=0,
        le=MOST,
        description="USD that one (UTC) day may cost.",
        json_schema_extra=ON_PAGE,
    )
    exchange_rounds: int = Field(
        4, ge=1, le=20, description="Most rounds of one exchange.", json_schema_extra=ON_PAGE
    )
    queue: int = Field(
        8,
        ge=0,
        le=1000,
        description="Messages that may wait in one conversation.",
        json_schema_extra=ON_PAGE,
    )

    @property
    def capped(self) -> bool:
        """True if there is any cap on cost."""
        caps = (self.cost_per_turn, self.cost_per_conversation, self.cost_per_day)
        return any(cap is not None for cap in caps)


class Provider(Section):
    """Any OpenAI- or Anthropic-compatible server."""

    kind: Literal["openai", "anthropic"] = Field("openai", description="The wire format.")
    base_url: str = Field(
        "",
        repr=False,  # a login may be in it
        description="Where its API begins, for instance http://127.0.0.1:8080/v1.",
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
        return _address(value)


def _address(value: str) -> str:
    """Check the start of an API's address, without the slash at its end; empty is fine."""
    if value and not re.match(r"^https?://[^\s/]+", value):
        raise ValueError("must be an address that begins with http:// or https://")
    if not value.isprintable() or " " in value or not _has_host(value):
        raise ValueError("is not an address")
    return value.rstrip("/")


def _has_host(url: str) -> bool:
    """Require that an address, if there is one, names a machine and a port."""
    try:
        parts = urlsplit(url)
        return not url or (bool(parts.hostname) and parts.port != 0)
    except ValueError:
        return False


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
        5,
        gt=0,
        le=MOST,
        description="A message this long after the last one opens a new session.",
        json_schema_extra=ON_PAGE,
    )


class MemorySettings(Section):
    """The use of memory."""

    url: str = Field(
        "",
        repr=False,  # a login may be in it
        description="A remote memory service, such as http://127.0.0.1:8000; empty: our own.",
    )
    token: Secret = Field(
        Secret(""), description="Its bearer token: env:NAME, keyring:NAME, or the token itself."
    )
    recall: Literal["off", "auto"] = Field(
        "auto",
        description="Whether turns look up what was said before: off, or auto.",
        json_schema_extra=ON_PAGE,
    )
    council: bool = Field(
        True,
        description="Whether a council is told what is remembered of you, too.",
        json_schema_extra=ON_PAGE,
    )
    judge: bool = Field(
        False,
        description="Whether each turn is remembered at once, not when its session ends.",
        json_schema_extra=ON_PAGE,
    )
    budget: float = Field(
        3,
        gt=0,
        le=60,
        description="Seconds that a session's start may wait for memory.",
        json_schema_extra=ON_PAGE,
    )
    gate_seconds: float = Field(
        8,
        gt=0,
        le=120,
        description="Seconds that the gate may take to read a message.",
        json_schema_extra=ON_PAGE,
    )
    recall_seconds: float = Field(
        5,
        gt=0,
        le=60,
        description="Seconds that one look into memory may take during a conversation.",
        json_schema_extra=ON_PAGE,
    )
    embedding_seconds: float = Field(
        1,
        gt=0,
        le=60,
        description="Seconds that a question's vector may take; then recall goes by words alone.",
        json_schema_extra=ON_PAGE,
    )
    ingest_seconds: float = Field(
        60, gt=0, le=DAY, description="Seconds that a remote service may take to store a session."
    )

    @field_validator("url")
    @classmethod
    def _url(cls, value: str) -> str:
        return _address(value)


Origin = Literal["default", "page", "file", "environment", "command line", "program"]
"""The layer that decided a setting."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The origin of a setting's value, in words for people."""

    origin: Origin
    where: str = ""


@dataclass(frozen=True, slots=True)
class Fixed:
    """The part of the settings that the page cannot change, as it was written."""

    data: Mapping[str, Any] = field(default_factory=dict, repr=False)
    decisions: Mapping[str, Decision] = field(default_factory=dict)
    """By dotted name."""
    home: Path = Path()
    source: str = ""


class Settings(Section):
    """The whole configuration."""

    database: str = Field(
        "", repr=False, description="sqlite:///path or postgresql://…; empty: in the home."
    )
    timezone: str = Field(
        "",
        description="The user's time zone; empty: the machine's.",
        json_schema_extra=ON_PAGE,
    )
    debug: Literal["off", "debug", "trace"] = Field(
        "off", description="One line per model call; trace adds texts."
    )
    models: ModelSettings = Field(default_factory=lambda: ModelSettings(), description="")
    limits: Limits = Field(default_factory=lambda: Limits(), description="")
    local: Local = Field(default_factory=lambda: Local(), description="")
    server: Server = Field(default_factory=lambda: Server(), description="")
    sessions: Sessions = Field(default_factory=lambda: Sessions(), description="")
    memory: MemorySettings = Field(default_factory=lambda: MemorySettings(), description="")
    evaluation: EvaluationSettings = Field(
        default_factory=lambda: EvaluationSettings(), description=""
    )
    providers: dict[str, Provider] = Field(default_factory=dict, description="")
    recipes: dict[str, dict[str, Any]] = Field(
        default_factory=dict, description="Changes to recipes, by name."
    )
    home: Path = Field(Path(), exclude=True, description="")
    source: str = Field("", exclude=True, description="")
    keys: dict[str, StoredKey] = Field(default_factory=dict, exclude=True, repr=False)
    """Keys that people put in on the page, by provider."""
    page: dict[str, Any] = Field(default_factory=dict, exclude=True, repr=False)
    """Settings that people changed on the page."""
    fixed: InstanceOf[Fixed] | None = Field(None, exclude=True, repr=False)
    """Settings that the page cannot change; None where a program made these settings itself."""

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


def known_keys(model: type[BaseModel] = Settings, prefix: str = "") -> dict[str, Any]:
    """Every plain setting by its dotted name; what is computed is left out."""
    keys: dict[str, Any] = {}
    for name, setting in model.model_fields.items():
        if setting.exclude:
            continue
        path = f"{prefix}{name}"
        if isinstance(setting.annotation, type) and issubclass(setting.annotation, BaseModel):
            keys |= known_keys(setting.annotation, f"{path}.")
        else:
            keys[path] = setting
    return keys


def changeable() -> dict[str, Any]:
    """The settings that people may change on the page, by dotted name."""
    return {
        name: setting
        for name, setting in known_keys().items()
        if setting.json_schema_extra == ON_PAGE
    }
