"""Routes of models, keys and providers. Keys go in and never come out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Literal

from fastapi import Path
from pydantic import Field, SecretStr

from polyvox.app import Polyvox
from polyvox.configure import LONGEST_KEY, check_reached
from polyvox.fields import Body, ModelName
from polyvox.models.providers import BUILT_IN, OWN
from polyvox.models.registry import Check, ProviderRow
from polyvox.settings import shown_url
from polyvox.settings.layers import decision_of
from polyvox.settings.schema import Origin
from polyvox.shapes import shape
from polyvox.web.dependencies import App, Key
from polyvox.web.errors import responses
from polyvox.web.openapi import Router

router = Router("settings")


def _shown(row: ProviderRow) -> ProviderRow:
    """A provider whose address shows no password."""
    return replace(row, base_url=shown_url(row.base_url))


@dataclass(frozen=True, slots=True)
class ModelsOut:
    """The models there are."""

    default: str
    note: str
    """A note on the default model (the embedded one is tiny)."""
    providers: list[ProviderRow]


@router.get("/api/models")
async def list_models(app: App) -> ModelsOut:
    """Providers, whether each has its key, and their models; which model is the default."""
    return ModelsOut(
        default=app.models.default,
        note=app.models.facts(app.models.default).note,
        providers=[_shown(row) for row in app.models.listing()],
    )


class CheckIn(Body):
    """A model to be asked."""

    model: ModelName


@router.post("/api/models/check")
async def check_model(app: App, body: CheckIn) -> Check:
    """Ask a model for one word, once, and tell how that went; a failure is an answer, too."""
    return await app.models.check(body.model)


class KeyIn(Body):
    """A key."""

    key: Annotated[SecretStr, Field(min_length=1, max_length=LONGEST_KEY + 100)]


@dataclass(frozen=True, slots=True)
class KeyOut:
    """The state of a provider's key and its source; never the key."""

    provider: str
    key: Literal["present", "missing", "not needed"]
    source: str
    stored: bool
    """One was put in on the page."""
    overruled: bool
    """That one is not used: the configuration or the environment has another."""


@router.get("/api/keys")
async def list_keys(app: App) -> list[KeyOut]:
    """Every provider that is reached over HTTP: whether it has its key, and from where."""
    return [_key(app, row) for row in app.models.listing() if row.name not in OWN]


@router.put("/api/keys/{provider}", responses=responses(409))
async def put_key(app: App, provider: Key, body: KeyIn) -> KeyOut:
    """Put in a provider's key; it is used from the next message on."""
    await app.configuration.put_key(provider, body.key.get_secret_value())
    return _key(app, _row(app, provider))


@router.delete("/api/keys/{provider}", status_code=204, responses=responses(409))
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


class ProviderIn(Body):
    """A server that speaks like OpenAI's or Anthropic's."""

    kind: Literal["openai", "anthropic"] | None = None
    base_url: Annotated[str, Field(max_length=1000)] | None = None
    requests_per_minute: Annotated[float, Field(gt=0, le=1_000_000)] | None = None
    concurrency: Annotated[int, Field(ge=1, le=10_000)] | None = None
    min_delay: Annotated[float, Field(ge=0, le=3600)] = 0
    models: Annotated[
        list[Annotated[str, Field(pattern=r"^[!-~]{1,200}$")]], Field(max_length=100)
    ] = Field([])
    """Names to list, without the provider's."""


@dataclass(frozen=True, slots=True)
class ProviderSetting(ProviderRow):
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


@router.get("/api/providers")
async def list_providers(app: App) -> list[ProviderSetting]:
    """Every provider that is reached over HTTP, built in or described by people."""
    return [_provider(app, row) for row in app.models.listing() if row.name not in OWN]


@router.put("/api/providers/{provider}", responses=responses(409))
async def put_provider(app: App, provider: Name, body: ProviderIn) -> ProviderSetting:
    """Describe a provider of one's own, or the pace of one that is built in; replaces what was said
    here before. One that moves to another machine loses the key that was put in for it."""
    await app.configuration.put_provider(provider, body.model_dump(exclude_defaults=True))
    return _provider(app, _row(app, provider))


@router.delete("/api/providers/{provider}", status_code=204, responses=responses(409))
async def delete_provider(app: App, provider: Name) -> None:
    """Forget what was said here of a provider, and the key that was put in for it. Advisors keep
    the model's name; their answers fail and say why."""
    await app.configuration.remove_provider(provider)


def _provider(app: Polyvox, row: ProviderRow) -> ProviderSetting:
    decision, built = decision_of(app.settings, f"providers.{row.name}"), BUILT_IN.get(row.name)
    given = app.settings.providers.get(row.name)
    return shape(
        ProviderSetting,
        _shown(row),
        origin="built in" if decision.origin == "default" else decision.origin,
        where=decision.where,
        locked=decision.origin not in ("default", "page"),
        address_fixed=built is not None and bool(built.key),
        requests_per_minute=given.requests_per_minute if given else None,
        concurrency=given.concurrency if given else None,
        min_delay=given.min_delay if given else 0,
        key_stored=row.name in app.settings.keys,
    )
