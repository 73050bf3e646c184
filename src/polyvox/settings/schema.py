"""Every setting once: name, type, default, one sentence of help, and whether people may change it
on the page."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, get_args
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, available_timezones

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, InstanceOf, field_validator

from polyvox.settings.secret import Secret, StoredKey
from polyvox.settings.zone import machine_zone

BUILT_IN_PROVIDERS = ("openrouter", "openai", "anthropic", "gemini", "ollama", "local", "scripted")
MODEL = r"^[a-z0-9][a-z0-9_.-]*:\S+$"
CONTEXT = r"^[1-9][0-9]{0,8} *(chars|tokens)$"
SLUG = r"^[a-z0-9][a-z0-9_-]{0,63}$"
COLOR = r"^(#[0-9a-fA-F]{6})?$"
ModelName = Annotated[str, Field(pattern=MODEL)]
OptionalModel = Annotated[str, Field(pattern=rf"{MODEL}|^$", max_length=300)]
MAPS = ("providers", "recipes", "models.known")
ON_PAGE: dict[str, Any] = {"page": True}
"""Marks a setting that people may change on the page: it takes effect without a restart, and does
not decide who can reach the program."""
DAY = 86_400
MOST = 10_000_000
"""Tokens or dollars: more is a slip of the pen."""


def setting(default: Any, about: str, **rules: Any) -> Any:  # noqa: ANN401 - as pydantic's Field
    """A setting: its default, one sentence of help, and the rules that its value must keep."""
    return Field(default, description=about, **rules)


def on_page(default: Any, about: str, **rules: Any) -> Any:  # noqa: ANN401 - as pydantic's Field
    """A setting that people may change on the page."""
    return setting(default, about, json_schema_extra=ON_PAGE, **rules)


class Section(BaseModel):
    """A table of the configuration file."""

    model_config = ConfigDict(
        extra="forbid", arbitrary_types_allowed=True, frozen=True, allow_inf_nan=False
    )

    @field_validator("*", mode="before")
    @classmethod
    def _given(cls, value: object, info: Any) -> object:  # noqa: ANN401 - pydantic's own type
        kind = cls.model_fields[info.field_name].annotation
        if isinstance(value, bool) and {int, float} & {kind, *get_args(kind)}:
            raise ValueError("must be a number, not true or false")
        return Secret(value) if kind is Secret and isinstance(value, str) else value


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


Address = Annotated[str, AfterValidator(_address)]
"""Where an API begins, or nothing."""


class ModelFactsSetting(Section):
    """Facts about one model; each is optional."""

    prompts: Literal["full", "compact"] | None = setting(
        None, "Prompt set: full, or compact for small models."
    )
    window: int | None = setting(None, "Tokens that fit the model's window.", ge=256)
    max_tokens: int | None = setting(None, "Longest answer in tokens.", ge=1)
    requests_per_minute: float | None = setting(None, "Pace of requests.", gt=0)
    concurrency: int | None = setting(None, "Requests to this model under way at once.", ge=1)
    min_delay: float = setting(0, "Seconds between two requests.", ge=0)


class ModelSettings(Section):
    """The models for each purpose. A model is always `provider:name`."""

    default: OptionalModel = on_page(
        "", "The advisors' model; empty: by the keys found, else the embedded one."
    )
    fallback: tuple[ModelName, ...] = on_page(
        (), "Tried in this order when a model fails before its first word.", max_length=20
    )
    synthesis: OptionalModel = on_page("", "Writes syntheses; empty: the default model.")
    gate: OptionalModel = on_page(
        "", "Small model that reads messages to a companion; empty: the companion's own."
    )
    memory: OptionalModel = on_page(
        "", "Reads ended sessions for facts; empty: the default, unless it is embedded."
    )
    judge: OptionalModel = on_page(
        "",
        "Judges answers; empty: gemini-2.5-flash-lite with a key for it, else the"
        " default, unless it is embedded.",
    )
    optimizer: OptionalModel = on_page("", "Rewrites prompts; empty: the judge.")
    embeddings: OptionalModel = on_page(
        "", "Makes vectors for recall; empty: recall goes by words alone."
    )
    known: dict[str, ModelFactsSetting] = Field(
        default_factory=dict, description="Facts about models, by full name."
    )


class Limits(Section):
    """Limits on size, time and cost."""

    context: str = on_page(
        "150000 chars",
        'Largest request, with its unit: "… chars" or "… tokens".',
        pattern=CONTEXT,
    )
    low_water: float = setting(0.85, "Once over the limit, trim to this part of it.", gt=0.1, le=1)
    reference_share: float = on_page(
        0.35, "Part of the room that the other advisors' words may take.", ge=0, le=1
    )
    max_tokens: int = on_page(2048, "Longest answer in tokens.", ge=1, le=MOST)
    local_max_tokens: int = on_page(512, "The same for the embedded model.", ge=1, le=MOST)
    message_chars: int = setting(400_000, "Longest message a person can send.", ge=1)
    answer_bytes: int = setting(
        32_000_000, "A longer answer is cut off as a protocol error.", ge=1000
    )
    first_byte: float = on_page(15, "Seconds to wait for a model's first byte.", gt=0, le=DAY)
    stall: float = on_page(30, "Seconds without a byte that end an answer.", gt=0, le=DAY)
    deadline: float = on_page(600, "Seconds that one answer may take in all.", gt=0, le=DAY)
    retries: int = on_page(2, "Further tries after a passing failure.", ge=0, le=10)
    retry_wait: float = on_page(
        20, "Longest Retry-After, in seconds, that is waited for.", ge=0, le=DAY
    )
    cost_per_turn: float | None = on_page(None, "USD that one turn may cost.", ge=0, le=MOST)
    cost_per_conversation: float | None = on_page(
        None, "USD that one conversation may cost.", ge=0, le=MOST
    )
    cost_per_day: float | None = on_page(None, "USD that one (UTC) day may cost.", ge=0, le=MOST)
    exchange_rounds: int = on_page(4, "Most rounds of one exchange.", ge=1, le=20)
    queue: int = on_page(8, "Messages that may wait in one conversation.", ge=0, le=1000)

    @property
    def capped(self) -> bool:
        """True if there is any cap on cost."""
        caps = (self.cost_per_turn, self.cost_per_conversation, self.cost_per_day)
        return any(cap is not None for cap in caps)


class Provider(Section):
    """Any OpenAI- or Anthropic-compatible server."""

    kind: Literal["openai", "anthropic"] = setting("openai", "The wire format.")
    base_url: Address = Field(
        "",
        repr=False,  # a login may be in it
        description="Where its API begins, for instance http://127.0.0.1:8080/v1.",
    )
    api_key: Secret = setting(
        Secret(""), "env:NAME, keyring:NAME, or (not advised) the key itself."
    )
    alternate: Literal["auto", "always", "never"] = setting(
        "auto",
        "Merge messages so that user and assistant alternate: always, never, or auto, once a"
        " model demands it.",
    )
    requests_per_minute: float | None = setting(None, "Pace of requests.", gt=0)
    concurrency: int | None = setting(None, "Requests under way at once.", ge=1)
    min_delay: float = setting(0, "Seconds between two requests.", ge=0)
    models: tuple[str, ...] = setting((), "Model names to list.")
    default: str = setting("", "The model used when this provider is chosen by its key.")
    headers: dict[str, str] = Field(
        default_factory=dict, repr=False, description="Further request headers."
    )


class Local(Section):
    """The embedded model."""

    model_path: str = setting("", "A GGUF file; empty: the SmolLM2 that set-up fetched.")
    slots: int = setting(6, "Answers generated together.", ge=1, le=64)
    slot_tokens: int = setting(2048, "Window of each answer, in tokens.", ge=256)
    threads: int = setting(0, "Threads; 0: one per core.", ge=0)
    warm: bool = setting(True, "Load it when the server starts.")


class Server(Section):
    """The HTTP server."""

    host: str = setting("127.0.0.1", "Address to listen on.")
    port: int = setting(4242, "Port to listen on; 0: any free one.", ge=0, le=65535)
    token: Secret = setting(Secret(""), "Bearer token; needed to listen on more than this machine.")
    hosts: tuple[str, ...] = setting((), "Further Host names that requests may carry.")
    max_body: int = setting(8_000_000, "Largest request body in bytes.", ge=1000)


class Sessions(Section):
    """When a stretch of talk ends."""

    idle_minutes: float = on_page(
        5, "A message this long after the last one opens a new session.", gt=0, le=MOST
    )


class MemorySettings(Section):
    """The use of memory."""

    url: Address = Field(
        "",
        repr=False,  # a login may be in it
        description="A remote memory service, such as http://127.0.0.1:8000; empty: our own.",
    )
    token: Secret = setting(
        Secret(""), "Its bearer token: env:NAME, keyring:NAME, or the token itself."
    )
    recall: Literal["off", "auto"] = on_page(
        "auto", "Whether turns look up what was said before: off, or auto."
    )
    council: bool = on_page(True, "Whether a council is told what is remembered of you, too.")
    share: Literal["ask", "always", "never"] = on_page(
        "ask",
        "Whether online models may read what you told a model on this machine: ask, always, or"
        " never.",
    )
    judge: bool = on_page(
        False, "Whether each turn is remembered at once, not when its session ends."
    )
    budget: float = on_page(3, "Seconds that a session's start may wait for memory.", gt=0, le=60)
    gate_seconds: float = on_page(
        8, "Seconds that the gate may take to read a message.", gt=0, le=120
    )
    recall_seconds: float = on_page(
        5, "Seconds that one look into memory may take during a conversation.", gt=0, le=60
    )
    embedding_seconds: float = on_page(
        1,
        "Seconds that a question's vector may take; then recall goes by words alone.",
        gt=0,
        le=60,
    )
    ingest_seconds: float = setting(
        60, "Seconds that a remote service may take to store a session.", gt=0, le=DAY
    )


class EvaluationSettings(Section):
    """How answers are checked against assertions."""

    badges: bool = on_page(
        False, "Check every new answer against its advisor's assertions, and mark its card."
    )
    concurrency: int = on_page(
        4, "Model calls that one evaluation or optimisation makes at once.", ge=1, le=64
    )
    confirm: bool = on_page(False, "Ask the judge again before a fail counts.")
    iterations: int = on_page(
        10, "Rewritten prompts that one optimisation tries at most.", ge=1, le=100
    )
    budget: float | None = on_page(
        1.0,
        "USD that one optimisation may spend, unless it is started with another sum.",
        gt=0,
        le=MOST,
    )


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

    data: Mapping[str, Any] = field(repr=False)
    decisions: Mapping[str, Decision]
    """By dotted name."""
    home: Path
    source: str


class Settings(Section):
    """The whole configuration."""

    database: str = Field(
        "", repr=False, description="sqlite:///path or postgresql://…; empty: in the home."
    )
    timezone: str = on_page("", "The user's time zone; empty: the machine's.")
    debug: Literal["off", "debug", "trace"] = setting(
        "off", "One line per model call; trace adds texts."
    )
    models: ModelSettings = ModelSettings()
    limits: Limits = Limits()
    local: Local = Local()
    server: Server = Server()
    sessions: Sessions = Sessions()
    memory: MemorySettings = MemorySettings()
    evaluation: EvaluationSettings = EvaluationSettings()
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
    def zone(self) -> str:
        """The person's time zone by name, the machine's where none is set."""
        return self.timezone or machine_zone()

    @property
    def database_url(self) -> str:
        """The database, the default one in the home included."""
        return self.database or f"sqlite:///{self.home / 'polyvox.db'}"


def known_keys(model: type[BaseModel] = Settings, prefix: str = "") -> dict[str, Any]:
    """Every plain setting by its dotted name; what is computed is left out."""
    keys: dict[str, Any] = {}
    for name, info in model.model_fields.items():
        if info.exclude:
            continue
        path = f"{prefix}{name}"
        if isinstance(info.annotation, type) and issubclass(info.annotation, BaseModel):
            keys |= known_keys(info.annotation, f"{path}.")
        else:
            keys[path] = info
    return keys


def changeable() -> dict[str, Any]:
    """The settings that people may change on the page, by dotted name."""
    return {name: info for name, info in known_keys().items() if info.json_schema_extra == ON_PAGE}
