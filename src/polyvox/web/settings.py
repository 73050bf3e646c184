"""Routes of the settings room: settings, models, keys and providers, as they are and as people
change them. Changes hold from the next message on; keys go in and never come out."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path
from pydantic import BaseModel, ConfigDict, Field, SecretStr

from polyvox.app import Polyvox
from polyvox.configure import LONGEST_KEY, check_reached
from polyvox.fields import ModelName
from polyvox.models.providers import BUILT_IN, OWN
from polyvox.models.registry import ProviderRow
from polyvox.settings import Secret, shown_url, stored
from polyvox.settings.layers import decision_of, value_of
from polyvox.settings.schema import Origin, changeable
from polyvox.web.dependencies import App, Key
from polyvox.web.errors import responses
from polyvox.web.setting_kinds import Kind, kind_of

router = APIRouter(tags=["settings"])

Value = str | int | float | bool | list[str] | None
KeyState = Literal["present", "missing", "not needed"]


# settings


@router.get("/api/settings", responses=responses())
async def get_settings(app: App) -> dict[str, Any]:
    """The settings in force; of secrets only where they come from."""
    shown: dict[str, Any] = _without_secrets(app.settings.model_dump())
    shown["models"]["default"] = app.models.default
    return shown


def _without_secrets(value: Any) -> Any:  # noqa: ANN401 - any tree of settings
    if isinstance(value, Secret):
        return value.origin
    if isinstance(value, str):
        return shown_url(value)
    if isinstance(value, dict):
        shown = {key: _without_secrets(inner) for key, inner in value.items()}
        if isinstance(headers := shown.get("headers"), dict):
            shown["headers"] = dict.fromkeys(headers, "***")  # a key may be among them
        return shown
    return (
        [_without_secrets(inner) for inner in value] if isinstance(value, list | tuple) else value
    )


class SettingOut(Kind):
    """A setting that people may change on the page: what it is for, how it is, who decided that."""

    name: str
    help: str
    value: Value
    means: str
    """What an empty value stands for now."""
    default: Value
    origin: Origin
    where: str
    """Who decided it, in words."""
    locked: bool
    """Decided elsewhere, which wins: it cannot be changed here."""


class SettingsPage(BaseModel):
    """Every setting that people may change on the page."""

    file: str
    """Where their changes are kept."""
    settings: list[SettingOut]


@router.get("/api/settings/page", responses=responses())
async def get_settings_page(app: App) -> SettingsPage:
    """The settings that can be changed on the page, each with its help, its bounds and its
    origin."""
    return _page(app)


@router.patch("/api/settings", responses=responses(409))
async def change_settings(app: App, body: dict[str, Value]) -> SettingsPage:
    """Change settings by their dotted names, all of them or none; null: back to the default. Holds
    from the next message on; answers that are being written go on as they began."""
    await app.configuration.change(body)
    return _page(app)


def _page(app: Polyvox) -> SettingsPage:
    return SettingsPage(
        file=str(app.settings.home / stored.SETTINGS),
        settings=[_setting(app, name, one) for name, one in changeable().items()],
    )


def _setting(app: Polyvox, name: str, one: Any) -> SettingOut:  # noqa: ANN401 - pydantic's own type
    said, value = decision_of(app.settings, name), value_of(app.settings, name)
    return SettingOut(
        name=name,
        help=one.description or "",
        value=list(value) if isinstance(value, tuple) else value,
        means="" if value else _meaning(app, name),
        default=list(one.default) if isinstance(one.default, tuple) else one.default,
        origin=said.origin,
        where=said.where,
        locked=said.origin not in ("default", "page"),
        **kind_of(one).model_dump(),
    )


def _meaning(app: Polyvox, name: str) -> str:
    """What it means that nothing is set."""
    if name in ("models.default", "models.synthesis"):
        return app.models.default
    if name == "timezone":
        import time

        return time.tzname[0]
    return ""


# models


class ProviderOut(BaseModel):
    """A provider, whether its key is there (never the key), and its models by full name."""

    name: str
    kind: str
    base_url: str
    key: KeyState
    key_source: str
    models: list[str]


class ModelsOut(BaseModel):
    """The models there are."""

    default: str
    note: str
    """What to know of the default model (the embedded one is tiny)."""
    providers: list[ProviderOut]


@router.get("/api/models", responses=responses())
async def list_models(app: App) -> ModelsOut:
    """Providers, whether each has its key, and their models; which model is the default."""
    return ModelsOut(
        default=app.models.default,
        note=app.models.facts(app.models.default).note,
        providers=[ProviderOut(**_without_secrets(asdict(row))) for row in app.models.listing()],
    )


class CheckIn(BaseModel):
    """A model to be asked."""

    model_config = ConfigDict(extra="forbid")

    model: ModelName


class CheckOut(BaseModel):
    """How one short call to a model went."""

    model: str
    ok: bool
    first_byte_ms: float | None
    status: int | None
    category: str | None
    message: str
    hint: str


@router.post("/api/models/check", responses=responses())
async def check_model(app: App, body: CheckIn) -> CheckOut:
    """Ask a model for one word, once, and tell how that went; a failure is an answer, too."""
    return CheckOut(**asdict(await app.models.check(body.model)))


# keys


class KeyIn(BaseModel):
    """A key."""

    model_config = ConfigDict(extra="forbid")

    key: Annotated[SecretStr, Field(min_length=1, max_length=LONGEST_KEY + 100)]


class KeyOut(BaseModel):
    """Whether a provider has its key, and where that comes from; never the key."""

    provider: str
    key: KeyState
    source: str
    stored: bool
    """One was put in on the page."""
    overruled: bool
    """That one is not used: the configuration or the environment has another."""


@router.get("/api/keys", responses=responses())
async def list_keys(app: App) -> list[KeyOut]:
    """Every provider that is reached over HTTP: whether it has its key, and from where."""
    return [_key(app, row) for row in app.models.listing() if row.name not in OWN]


@router.put("/api/keys/{provider}", responses=responses(404, 409))
async def put_key(app: App, provider: Key, body: KeyIn) -> KeyOut:
    """Put in a provider's key; it is used from the next message on."""
    await app.configuration.put_key(provider, body.key.get_secret_value())
    return _key(app, _row(app, provider))


@router.delete("/api/keys/{provider}", status_code=204, responses=responses(404, 409))
async def delete_key(app: App, provider: Key) -> None:
    """Forget the key that was put in for a provider."""
    await app.configuration.remove_key(provider)


def _row(app: Polyvox, name: str) -> ProviderRow:
    check_reached(name, app.settings)
    return next(row for row in app.models.listing() if row.name == name)


def _key(app: Polyvox, row: ProviderRow) -> KeyOut:
    kept = row.name in app.settings.keys
    return KeyOut(
        provider=row.name,
        key=row.key,
        source=row.key_source,
        stored=kept,
        overruled=kept and not row.key_source.startswith("stored:"),
    )


# providers


class ProviderIn(BaseModel):
    """A server that speaks like OpenAI's or Anthropic's."""

    model_config = ConfigDict(extra="forbid")

    kind: Literal["openai", "anthropic"] | None = None
    base_url: Annotated[str, Field(max_length=1000)] | None = None
    requests_per_minute: Annotated[float, Field(gt=0, le=1_000_000)] | None = None
    concurrency: Annotated[int, Field(ge=1, le=10_000)] | None = None
    min_delay: Annotated[float, Field(ge=0, le=3600)] = 0
    models: Annotated[
        list[Annotated[str, Field(pattern=r"^[!-~]{1,200}$")]], Field(max_length=100)
    ] = []
    """Names to list, without the provider's."""


class ProviderSetting(ProviderOut):
    """A provider that is reached over HTTP, and who described it."""

    origin: Literal[Origin, "built in"]
    where: str
    locked: bool
    """Described elsewhere, which wins: it cannot be changed here."""
    address_fixed: bool
    """Built in with its address; its pace can be changed."""
    requests_per_minute: float | None
    concurrency: int | None
    min_delay: float
    key_stored: bool


Name = Annotated[str, Path(pattern=r"^[a-z0-9][a-z0-9_-]{0,39}$")]


@router.get("/api/providers", responses=responses())
async def list_providers(app: App) -> list[ProviderSetting]:
    """Every provider that is reached over HTTP, built in or described by people."""
    return [_provider(app, row) for row in app.models.listing() if row.name not in OWN]


@router.put("/api/providers/{provider}", responses=responses(404, 409))
async def put_provider(app: App, provider: Name, body: ProviderIn) -> ProviderSetting:
    """Describe a provider of one's own, or the pace of one that is built in; replaces what was said
    here before. One that moves to another machine loses the key that was put in for it."""
    await app.configuration.put_provider(provider, body.model_dump(exclude_defaults=True))
    return _provider(app, _row(app, provider))


@router.delete("/api/providers/{provider}", status_code=204, responses=responses(404, 409))
async def delete_provider(app: App, provider: Name) -> None:
    """Forget what was said here of a provider, and the key that was put in for it. Advisors keep
    the model's name; their answers fail and say why."""
    await app.configuration.remove_provider(provider)


def _provider(app: Polyvox, row: ProviderRow) -> ProviderSetting:
    said, built = decision_of(app.settings, f"providers.{row.name}"), BUILT_IN.get(row.name)
    given = app.settings.providers.get(row.name)
    return ProviderSetting(
        **_without_secrets(asdict(row)),
        origin="built in" if said.origin == "default" else said.origin,
        where=said.where,
        locked=said.origin not in ("default", "page"),
        address_fixed=built is not None and bool(built.key),
        requests_per_minute=given.requests_per_minute if given else None,
        concurrency=given.concurrency if given else None,
        min_delay=given.min_delay if given else 0,
        key_stored=row.name in app.settings.keys,
    )
