"""Advisors as files: our own YAML (one advisor, or a list of them), and agents.json.

`checked` is the one set of rules for an advisor's fields, for files and commands alike. `store`
takes all that can be taken, in one transaction: an advisor that is here already, also with a text
it has had and lost since, is not added again; a slug that somebody else has is not taken from them,
the newcomer gets the next free one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from polyvox.context.recipe import BUILT_IN, changed
from polyvox.errors import Invalid
from polyvox.interop import files, port42
from polyvox.interop.report import Report, take
from polyvox.receive import clean, clean_name
from polyvox.settings import MODEL
from polyvox.store import advisors as advisor_rows
from polyvox.store import recipes as recipe_rows
from polyvox.store import versions
from polyvox.store.advisors import AdvisorDetails
from polyvox.store.database import Database, Tx
from polyvox.store.slug import candidates, check_slug, slug_of
from polyvox.values import Advisor, Params, Scope

MOST = 500
"""Advisors in one file."""
NAME = 120
DESCRIPTION = 20_000
PROMPT = 100_000
FIELDS = ("name", "slug", "description", "prompt", "model", "color", "voice", "params", "active")
_COLOR = re.compile(r"#[0-9a-fA-F]{6}")
_PARAMS: dict[str, tuple[type, float, float]] = {
    "max_tokens": (int, 1, 1_000_000),
    "temperature": (float, 0, 2),
    "top_p": (float, 0, 1),
    "reasoning": (int, 0, 1_000_000),
}
REASON = "imported"


@dataclass(frozen=True, slots=True)
class AdvisorFile:
    """The contents of a file of advisors."""

    advisors: tuple[AdvisorDetails, ...] = ()
    refused: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    window: Mapping[str, int] = field(default_factory=dict)
    """The window of the agent recipe, where the file has one."""


def read(path: Path) -> AdvisorFile:
    """The advisors in a file, whichever of the known kinds it is."""
    text = files.read_text(path)
    yaml = path.suffix.lower() in (".yaml", ".yml")
    if not yaml and text.lstrip()[:1] in ("{", "["):
        data = files.parse_json(text, str(path))
    else:
        data = files.parse_yaml(text, str(path))
    if isinstance(data, Mapping) and isinstance(data.get("agents"), Mapping):
        rows, label = port42.read(data, path), ("slug", "name")
    else:
        rows, label = port42.Agents(_ours(data, path)), ("name", "slug")
    advisors = []
    for number, row in enumerate(rows.advisors, 1):
        if not isinstance(row, Mapping):
            rows.refused.append(f"number {number}: it is not a table")
            continue
        name = str(row.get(label[0]) or row.get(label[1]) or f"number {number}")[:80]
        try:
            advisors.append(checked(row))
        except Invalid as error:
            rows.refused.append(f"{name}: {error.message}")
            continue
        rows.notes += [
            f"{name}: nothing here is called {key!r}; left out" for key in unknown_fields(row)
        ]
    return AdvisorFile(tuple(advisors), tuple(rows.refused), tuple(rows.notes), rows.window)


def write(advisors: Sequence[Advisor]) -> str:
    """Our YAML: one advisor as a table, several as a list."""
    data = [as_data(advisor) for advisor in advisors]
    return files.to_yaml(data[0] if len(data) == 1 else data, _style, width=90)


def _style(text: str) -> str | None:
    """Long texts as blocks."""
    return "|" if "\n" in text else ">" if len(text) > 90 else None


def _ours(data: Any, path: Path) -> list[Any]:  # noqa: ANN401 - whatever the file holds
    rows = data
    if isinstance(data, Mapping):
        rows = data.get("advisors", [data])
    if not isinstance(rows, list) or not rows:
        raise Invalid(
            f"{path} holds no advisors.",
            "It needs one advisor with a name and a description, a list of them, or agents.",
        )
    if len(rows) > MOST:
        raise Invalid(f"{path} holds {len(rows):,} advisors; {MOST} is the most.", "Split it.")
    return rows


# -- fields


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
    data = asdict(advisor)
    params = {key: value for key, value in data["params"].items() if value is not None}
    fields = {key: data[key] for key in FIELDS} | {"params": params}
    return {key: value for key, value in fields.items() if value not in (None, "", {}, True)}


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


# -- storing


async def store(
    database: Database,
    scope: Scope,
    now: int,
    parsed: AdvisorFile,
    *,
    check_model: Callable[[str], object],
    replacing: bool = False,
    dry: bool = False,
) -> Report:
    """Store what a file holds; `dry` tells what would happen. `replacing` gives the advisor that
    has the slug the new words, as a new version. `check_model` raises Invalid for a model that
    nobody here knows."""

    def work(tx: Tx) -> Report:
        report = Report(refused=list(parsed.refused), notes=list(parsed.notes))
        for details in parsed.advisors:
            _one(tx, now, _usable(details, check_model, report), replacing, report)
        if parsed.window:
            _window(tx, now, parsed.window, report)
        return report

    return await take(database, scope, work, dry=dry)


def _usable(
    details: AdvisorDetails, check_model: Callable[[str], object], report: Report
) -> AdvisorDetails:
    model = details.get("model")
    if model is None:
        return details
    try:
        check_model(model)
    except Invalid as error:
        report.notes.append(f"{details['name']}: {error.message} The default model is used")
        return {**details, "model": None}
    return details


def _one(tx: Tx, now: int, details: AdvisorDetails, replacing: bool, report: Report) -> None:
    wanted = details.get("slug") or slug_of(details["name"], "advisor")
    for other in advisor_rows.list_all(tx):
        if _family(other.slug, wanted) or other.name == details["name"]:
            known = _known(tx, other, details)
            if known is not None and not (replacing and other.slug == wanted):
                report.present.append(f"{other.slug}{known}")
                return
    holder = advisor_rows.find(tx, wanted)
    if holder is not None and replacing:
        if _same(holder, details):
            report.present.append(holder.slug)
            return
        advisor_rows.update(tx, now, holder.id, reason=REASON, **_whole(details))
        report.taken.append(f"{holder.slug} (its words replaced; the old ones are in its history)")
        return
    slug = next(c for c in candidates(wanted, "advisor") if advisor_rows.find(tx, c) is None)
    named: AdvisorDetails = {**details, "slug": slug}
    made = advisor_rows.create(tx, now, reason=REASON, **named)
    instead = f", because {wanted} is somebody else" if slug != wanted else ""
    report.taken.append(f"{made.slug} ({made.name}{instead})")


def _family(slug: str, wanted: str) -> bool:
    """True if a slug is the wanted one, or one that stood in for it."""
    return slug == wanted or (
        slug.startswith(f"{wanted}-") and slug.removeprefix(f"{wanted}-").isdecimal()
    )


def _known(tx: Tx, advisor: Advisor, details: AdvisorDetails) -> str | None:
    """A remark on how an advisor is known: "" unchanged, a text where it has changed since; None:
    not at all."""
    if _same(advisor, details):
        return ""
    text = details.get("prompt") or details["description"]
    if any(old.text == text for old in versions.list_all(tx, advisor.id)):
        return " (changed since it was imported)"
    return None


def _same(advisor: Advisor, details: AdvisorDetails) -> bool:
    return replace(advisor, **_whole(details)) == advisor


def _whole(details: AdvisorDetails) -> AdvisorDetails:
    """The fields that the file decides, by naming or omitting them; its place here (slug, whether
    it is active) is not the file's to decide."""
    unsaid: AdvisorDetails = {"prompt": None, "model": None, "voice": None, "params": Params()}
    merged: AdvisorDetails = {**unsaid, **details}
    merged.pop("slug", None)
    merged.pop("active", None)
    return merged


def _window(tx: Tx, now: int, window: Mapping[str, int], report: Report) -> None:
    """The window that the file's agents had becomes that of the recipe `agent`."""
    stored = recipe_rows.get(tx, "agent") or {}
    before = changed(BUILT_IN["agent"], stored)
    change = {**stored, "window": {**stored.get("window", {}), **window}}
    numbers = ", ".join(f"{key} {value}" for key, value in window.items())
    try:
        after = changed(BUILT_IN["agent"], change)
    except Invalid as error:
        report.notes.append(f"the window ({numbers}) is not usable: {error.message}")
        return
    if after.window == before.window:
        report.notes.append(f"the window ({numbers}) is what the recipe agent has")
        return
    recipe_rows.put(tx, "agent", change, now)
    report.notes.append(f"the recipe agent has the file's window now: {numbers}")
