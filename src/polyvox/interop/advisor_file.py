"""Advisors as files: our own YAML (one advisor, or a list of them), and agents.json.

Reading says what the file holds; nothing is stored here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from polyvox.errors import Invalid
from polyvox.interop import advisor_data, files, port42
from polyvox.store.advisors import AdvisorDetails
from polyvox.values import Advisor

MOST = 500
"""Advisors in one file."""


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
        return _agents(port42.read(data, path))
    return _ours(data, path)


def write(advisors: Sequence[Advisor]) -> str:
    """Our YAML: one advisor as a table, several as a list."""
    import yaml

    class BlockDumper(yaml.SafeDumper):
        """Long texts as blocks."""

    def text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
        style = "|" if "\n" in value else ">" if len(value) > 90 else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)

    BlockDumper.add_representer(str, text)
    data = [advisor_data.as_data(advisor) for advisor in advisors]
    return yaml.dump(
        data[0] if len(data) == 1 else data,
        Dumper=BlockDumper,
        allow_unicode=True,
        sort_keys=False,
        width=90,
    )


def _agents(agents: port42.Agents) -> AdvisorFile:
    advisors, refused = [], []
    for data in agents.advisors:
        try:
            advisors.append(advisor_data.checked(data))
        except Invalid as error:
            refused.append(f"{data.get('slug') or data.get('name')}: {error.message}")
    return AdvisorFile(
        tuple(advisors), (*agents.refused, *refused), tuple(agents.notes), agents.window
    )


def _ours(data: Any, path: Path) -> AdvisorFile:  # noqa: ANN401 - whatever the file holds
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
    advisors, refused, notes = [], [], []
    for number, row in enumerate(rows, 1):
        if not isinstance(row, Mapping):
            refused.append(f"number {number}: it is not a table")
            continue
        name = str(row.get("name") or row.get("slug") or f"number {number}")[:80]
        try:
            advisors.append(advisor_data.checked(row))
        except Invalid as error:
            refused.append(f"{name}: {error.message}")
            continue
        notes += [
            f"{name}: nothing here is called {key!r}; left out"
            for key in advisor_data.unknown_fields(row)
        ]
    return AdvisorFile(tuple(advisors), tuple(refused), tuple(notes))
