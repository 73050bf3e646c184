"""The layers of settings. Each of these wins over those after it: the command line, the environment
(`POLYVOX_LIMITS_MAX_TOKENS`), `polyvox.toml` (`[limits] max_tokens`), what people changed on the
page, the default. Unknown keys are refused and the nearest known one is named."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError

from polyvox.errors import ConfigError
from polyvox.settings import stored
from polyvox.settings.complaint import complaint
from polyvox.settings.schema import (
    MAPS,
    Decision,
    Fixed,
    ModelFactsSetting,
    Provider,
    Settings,
    changeable,
    known_keys,
)
from polyvox.settings.secret import StoredKey
from polyvox.settings.stored import StoredSettings

RESERVED = {"POLYVOX_CONFIG", "POLYVOX_HOME"}
PROVIDER_ON_PAGE = (
    "kind",
    "base_url",
    "requests_per_minute",
    "concurrency",
    "min_delay",
    "models",
)
"""Fields of a provider that the page may set: not where its key is taken from, nor what else is
sent."""
PROGRAM = Decision("program", "the program that runs Polyvox")


def load(
    config: str | Path | None = None,
    env: Mapping[str, str] = os.environ,
    overrides: Mapping[str, str] | None = None,
) -> Settings:
    """The settings in force. `overrides` (dotted names, from the command line) win."""
    path = _config_path(config, env)
    hint = "Correct that line, or move the file away."
    data: dict[str, Any] = stored.read_toml(path, hint) if path else {}
    _refuse_unknown(data, Settings, "", str(path))
    decisions = {name: Decision("file", str(path)) for name in leaves(data)}
    for name, value in env.items():
        if name.startswith("POLYVOX_") and name not in RESERVED:
            place = _path_of(name)
            _place(data, place, value)
            decisions[".".join(place)] = Decision("environment", f"the environment ({name})")
    for dotted, value in (overrides or {}).items():
        if _field_of(dotted) is None:
            raise _unknown(dotted, list(known_keys()), "the command line")
        _place(data, dotted.split("."), value)
        decisions[dotted] = Decision("command line", "the command line")
    home = Path(env["POLYVOX_HOME"]) if env.get("POLYVOX_HOME") else _default_home()
    home = home.expanduser().absolute()
    fixed = Fixed(data, _without_empty(data, decisions), home, str(path or ""))
    return in_force(fixed, read_stored(home))


def in_force(fixed: Fixed, kept: StoredSettings, where: str | None = None) -> Settings:
    """Lay the stored settings under those that the page cannot change. `where` names the page's
    part in errors."""
    where = str(fixed.home / stored.SETTINGS) if where is None else where
    try:
        return Settings(
            **merged(kept.page, fixed.data),
            home=fixed.home,
            source=fixed.source,
            keys={name: StoredKey(name, key) for name, key in kept.keys.items()},
            page=dict(kept.page),
            fixed=fixed,
        )
    except ValidationError as error:
        raise _unusable(error, fixed, kept, where) from None


def fixed_of(settings: Settings) -> Fixed:
    """The settings that the page cannot change; for settings made by a program, those it set."""
    if settings.fixed is not None:
        return settings.fixed
    data = settings.model_dump(exclude_unset=True)
    decisions = dict.fromkeys(leaves(data), PROGRAM)
    return Fixed(data, _without_empty(data, decisions), settings.home, settings.source)


def with_stored(settings: Settings) -> Settings:
    """The same with what the home keeps, for settings that a program made."""
    if settings.fixed is not None:
        return settings
    kept = read_stored(settings.home)
    return in_force(fixed_of(settings), kept) if kept.page or kept.keys else settings


def read_stored(home: Path) -> StoredSettings:
    """The settings stored in the home, if all of them may be there."""
    kept, where, free = stored.read(home), str(home / stored.SETTINGS), changeable()
    _refuse_unknown(kept.page, Settings, "", where)
    for name in leaves(kept.page):
        table, _, rest = name.partition(".")
        of_provider = table == "providers" and rest.partition(".")[2] in ("", *PROVIDER_ON_PAGE)
        if not of_provider and not any(_within(name, setting) for setting in free):
            raise ConfigError(
                f"The setting {name!r} cannot be kept in {where}.",
                "Take it out there; polyvox.toml is the place for it.",
                param=name,
            )
    return kept


def decision_of(settings: Settings, name: str) -> Decision:
    """Find who decided a setting (or a provider, as `providers.NAME`)."""
    fixed = fixed_of(settings)
    for key, decision in fixed.decisions.items():
        if _touches(key, name):
            return decision
    if any(_touches(key, name) for key in leaves(settings.page)):
        return Decision("page", str(settings.home / stored.SETTINGS))
    return Decision("default")


def value_of(settings: Settings, name: str) -> Any:  # noqa: ANN401 - of whatever type it is
    """A setting by its dotted name."""
    value: Any = settings
    for part in name.split("."):
        value = getattr(value, part)
    return value


def leaves(data: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """The dotted names of everything that is set; an empty table of a provider counts."""
    for key, value in data.items():
        dotted = f"{prefix}{key}"
        if isinstance(value, Mapping) and (value or prefix != "providers."):
            yield from leaves(value, f"{dotted}.")
        else:
            yield dotted


def merged(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Both, where they differ the second. A provider is the one's or the other's as a whole: a key
    of the configuration must not go to an address of the page."""
    both = dict(over)
    for key, value in under.items():
        mine = both.get(key)
        if key not in both:
            both[key] = value
        elif isinstance(mine, Mapping) and isinstance(value, Mapping):
            both[key] = {**value, **mine} if key == "providers" else merged(value, mine)
    return both


def _within(name: str, table: str) -> bool:
    return f"{name}.".startswith(f"{table}.")


def _touches(name: str, other: str) -> bool:
    """True if one of them is the other, or lies in it."""
    return _within(name, other) or _within(other, name)


def _without_empty(data: dict[str, Any], decisions: dict[str, Decision]) -> dict[str, Decision]:
    """An empty text where empty is the default says nothing: the page may still decide."""
    for name, setting in changeable().items():
        *tables, last = name.split(".")
        table: Any = data
        for part in tables:
            table = table.get(part) if isinstance(table, dict) else None
        if isinstance(table, dict) and table.get(last) == "" == setting.default:
            del table[last]
            decisions.pop(name, None)
    return decisions


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


def _unusable(error: ValidationError, fixed: Fixed, kept: StoredSettings, page: str) -> ConfigError:
    """The error for the first unusable setting: its name, where it was set, and what it is for."""
    first = error.errors()[0]
    key = ".".join(str(part) for part in first["loc"])
    message = complaint(first)
    if first["type"] == "value_error" and key == "providers":
        key = f"providers.{message.partition(' ')[0]}"
    decision = next(
        (fixed.decisions[name] for name in fixed.decisions if _touches(key, name)), None
    )
    mine = decision is None and any(_touches(key, name) for name in leaves(kept.page))
    where = page if mine else decision.where if decision else fixed.source or "the environment"
    field = _field_of(key)
    hint = (field.description or "") if field is not None else ""
    if mine and page:
        hint = f"{hint} Correct it there, or take it out.".lstrip()
    return ConfigError(
        f"The setting {key!r}{' in ' if where else ''}{where} is not usable: {message}"
        + ("" if message.endswith("?") else "."),
        hint,
        param=next((name for name in known_keys() if name not in MAPS and _within(key, name)), key),
    )
