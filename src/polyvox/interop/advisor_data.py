"""An advisor as plain data, checked field by field: one set of rules for files and commands."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from polyvox.errors import Invalid
from polyvox.receive import clean, clean_name
from polyvox.settings import MODEL
from polyvox.store.advisors import AdvisorDetails
from polyvox.store.slug import check_slug
from polyvox.values import Advisor, Params

NAME = 120
DESCRIPTION = 20_000
PROMPT = 100_000
FIELDS = ("name", "slug", "description", "prompt", "model", "color", "voice", "active", "params")
_COLOR = re.compile(r"#[0-9a-fA-F]{6}")
_PARAMS: dict[str, tuple[type, float, float]] = {
    "max_tokens": (int, 1, 1_000_000),
    "temperature": (float, 0, 2),
    "top_p": (float, 0, 1),
    "reasoning": (int, 0, 1_000_000),
}


def checked(data: Mapping[str, Any], *, new: bool = True) -> AdvisorDetails:
    """Check the fields of an advisor; Invalid names the first field that cannot be used. A `new`
    one needs a name, and a description or a prompt."""
    details: AdvisorDetails = {}
    for key in ("name", "description"):
        if data.get(key) is not None:
            details[key] = _text(data[key], key)
    for key in ("prompt", "voice", "model"):
        if key in data:
            value = data[key]
            text = None if value is None else _text(value, key)
            details[key] = text or None  # type: ignore[literal-required]  # all three are keys
    if data.get("slug") is not None:
        details["slug"] = check_slug(_text(data["slug"], "slug"))
    if (color := data.get("color", data.get("colour"))) is not None:
        details["color"] = _color(color)
    if data.get("active") is not None:
        details["active"] = _flag(data["active"])
    if data.get("params") is not None:
        details["params"] = checked_params(data["params"])
    if (model := details.get("model")) is not None and not re.match(MODEL, model):
        raise Invalid(f"The model {model!r} is not written provider:name.", param="model")
    if new:
        _enough(details)
    return details


def unknown_fields(data: Mapping[str, Any]) -> list[str]:
    """Names in the data that mean nothing here."""
    return sorted(str(key) for key in data if key not in (*FIELDS, "colour"))


def checked_params(data: object) -> Params:
    """Check the parameters with which an advisor's model is asked."""
    if not isinstance(data, Mapping):
        raise Invalid("`params` must be a table.", param="params")
    params: dict[str, Any] = {}
    for key, value in data.items():
        if key not in _PARAMS:
            raise Invalid(
                f"There is no parameter {key!r}.",
                f"Known are {', '.join(_PARAMS)}.",
                param="params",
            )
        if value is not None:
            params[str(key)] = _number(str(key), value)
    return Params(**params)


def as_data(advisor: Advisor) -> dict[str, Any]:
    """The inverse of `checked`: what is worth writing down of an advisor."""
    params = {key: value for key, value in asdict(advisor.params).items() if value is not None}
    data: dict[str, Any] = {
        "name": advisor.name,
        "slug": advisor.slug,
        "description": advisor.description,
        "prompt": advisor.prompt,
        "model": advisor.model,
        "color": advisor.color,
        "voice": advisor.voice,
        "params": params,
    }
    kept = {key: value for key, value in data.items() if value not in (None, "", {})}
    return kept if advisor.active else {**kept, "active": False}


def _enough(details: AdvisorDetails) -> None:
    if not details.get("name", "").strip():
        raise Invalid("An advisor needs a name.", param="name")
    if not (details.get("description") or "").strip() and not (details.get("prompt") or "").strip():
        raise Invalid("An advisor needs a description or a prompt.", param="description")
    details.setdefault("description", "")


def _text(value: object, key: str) -> str:
    if not isinstance(value, str):
        raise Invalid(f"`{key}` must be text, not {type(value).__name__}.", param=key)
    longest = {"description": DESCRIPTION, "prompt": PROMPT, "model": 300}.get(key, NAME)
    text = value.strip()
    if key in ("name", "voice"):
        return clean_name(text, key, longest, empty=key == "voice")
    return clean(text, key, longest, empty=True)


def _color(value: object) -> str:
    if not isinstance(value, str) or (value and not _COLOR.fullmatch(value)):
        raise Invalid("`color` must be written like #1f6f8b.", param="color")
    return value


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise Invalid("`active` must be true or false.", param="active")
    return value


def _number(key: str, value: object) -> float | int:
    kind, least, most = _PARAMS[key]
    wanted = isinstance(value, int) if kind is int else isinstance(value, int | float)
    if not wanted or isinstance(value, bool) or not isinstance(value, int | float):
        word = "a whole number" if kind is int else "a number"
        raise Invalid(f"`{key}` must be {word}.", param="params")
    if not math.isfinite(value) or not least <= value <= most or (key == "top_p" and value == 0):
        raise Invalid(f"`{key}` must be between {least:g} and {most:g}.", param="params")
    return value
