"""Routes of settings: the values in force, and changes. They hold from the next message on."""

from __future__ import annotations

import time
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import BaseModel, TypeAdapter

from polyvox.app import Polyvox
from polyvox.settings import MODEL, Secret, shown_url, stored
from polyvox.settings.layers import decision_of, value_of
from polyvox.settings.schema import Origin, changeable
from polyvox.web.dependencies import App
from polyvox.web.errors import responses
from polyvox.web.openapi import Router

router = Router("settings")

Value = str | int | float | bool | list[str] | None


@router.get("/api/settings")
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


class SettingKind(BaseModel):
    """The control that a setting is put in with, and the values it accepts."""

    type: Literal["text", "number", "choice", "model", "models", "switch"]
    optional: bool = False
    """May be left empty."""
    whole: bool = False
    min: float | None = None
    max: float | None = None
    above: bool = False
    """The least itself is not accepted."""
    choices: list[str] = []
    pattern: str | None = None
    lines: bool = False
    """A text of several lines, each `name: value`."""


def kind_of(field: Any) -> SettingKind:  # noqa: ANN401 - pydantic's own type
    """The kind of a setting, read off the type that checks it: a new setting needs no word here."""
    schema = TypeAdapter(Annotated[field.annotation, field]).json_schema()
    schema = next((part for part in schema.get("anyOf", ()) if part["type"] != "null"), schema)
    empty = field.default in (None, "", ())
    match schema["type"]:
        case "boolean":
            return SettingKind(type="switch")
        case "integer" | "number" as number:
            above = schema.get("exclusiveMinimum")
            return SettingKind(
                type="number",
                optional=empty,
                whole=number == "integer",
                min=schema.get("minimum", above),
                max=schema.get("maximum"),
                above=above is not None,
            )
        case "array":
            return SettingKind(type="models", optional=empty)
        case "object":
            return SettingKind(type="text", lines=True)
    if "enum" in schema:
        return SettingKind(type="choice", choices=schema["enum"])
    pattern = schema.get("pattern")
    if pattern and pattern.startswith(MODEL):
        return SettingKind(type="model", optional=empty)
    return SettingKind(type="text", optional=empty, pattern=pattern)


@cache
def _kinds() -> dict[str, SettingKind]:
    """Of every setting on the page; all of them take 40 ms."""
    return {name: kind_of(field) for name, field in changeable().items()}


class SettingOut(SettingKind):
    """A setting that people may change on the page: what it is for, how it is, who decided that."""

    name: str
    help: str
    value: Value
    means: str
    """The meaning of an empty value now."""
    default: Value
    origin: Origin
    where: str
    """The origin, in words."""
    locked: bool
    """Decided elsewhere, which wins: it cannot be changed here."""


class SettingsPage(BaseModel):
    """Every setting that people may change on the page."""

    file: str
    """The file that keeps their changes."""
    settings: list[SettingOut]


@router.get("/api/settings/page")
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
        settings=[_setting(app, name, field) for name, field in changeable().items()],
    )


def _setting(app: Polyvox, name: str, field: Any) -> SettingOut:  # noqa: ANN401 - pydantic's own type
    decision, value = decision_of(app.settings, name), value_of(app.settings, name)
    return SettingOut(
        name=name,
        help=field.description or "",
        value=_shown(value),
        means="" if value else _meaning(app, name),
        default=_shown(field.default),
        origin=decision.origin,
        where=decision.where,
        locked=decision.origin not in ("default", "page"),
        **_kinds()[name].model_dump(),
    )


def _shown(value: Any) -> Value:  # noqa: ANN401 - of whatever type it is
    if isinstance(value, dict):
        return "\n".join(f"{name}: {text}" for name, text in value.items())
    shown: Value = list(value) if isinstance(value, tuple) else value
    return shown


def _meaning(app: Polyvox, name: str) -> str:
    """The meaning of an unset value."""
    if name in ("models.default", "models.synthesis"):
        return app.models.default
    if name == "timezone":
        return time.tzname[0]
    return ""
