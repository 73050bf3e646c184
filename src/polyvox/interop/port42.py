"""agents.json of Port 42, all three generations of it, as data of advisors.

An agent's prompt is everything in the file that says something to it, in one text: the template
filled in, its own prompt, personality and style, the guidance that all agents share (that which is
about implementation only where the agent implements), its example, its suffix.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from polyvox.errors import Invalid
from polyvox.interop import files
from polyvox.store.slug import slug_of

MOST = 500
KNOWN = frozenset(
    {
        "agents",
        "base_guidance",
        "base_template",
        "default_model",
        "guidance_file",
        "model_config",
        "models",
        "response_config",
    }
)
FOR_ALL = frozenset({"conversation_context"})
"""Guidance that has nothing to do with implementing."""
_SLOT = re.compile(r"\{(name|personality|style|guidance)\}")
_MAKERS = (
    (re.compile(r"claude"), "anthropic"),
    (re.compile(r"gpt|o\d|chatgpt"), "openai"),
    (re.compile(r"gemini"), "gemini"),
)

Table = Mapping[str, Any]


@dataclass(slots=True)
class Agents:
    """The contents of a file of agents: advisors as rows that nobody has checked yet."""

    advisors: list[Any] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    window: dict[str, int] = field(default_factory=dict)


def read(data: Table, path: Path) -> Agents:
    """The agents of a file as advisors, and what else it says."""
    result = Agents()
    agents = _table(data, "agents")
    if len(agents) > MOST:
        raise Invalid(f"{path} holds {len(agents):,} agents; {MOST} is the most.", "Split it.")
    guidance = _guidance(data, path, result)
    answers = _table(data, "response_config")
    longest = answers.get("max_tokens")
    used: dict[str, str] = {}
    for key, agent in agents.items():
        if not isinstance(agent, Mapping):
            result.refused.append(f"{key}: it is not a table")
            continue
        params: dict[str, Any] = {} if longest is None else {"max_tokens": longest}
        model, temperature = _model(data, agent)
        if temperature is not None:
            params["temperature"] = temperature
        full = _full_name(model)
        if model and not full:
            result.notes.append(f"{key}: nobody knows who makes {model!r}; the default is used")
        used[full] = model
        result.advisors.append(
            {
                "name": _word(agent, "name") or str(key),
                "slug": slug_of(str(key), "agent"),
                "description": _word(agent, "description"),
                "prompt": compose(str(key), data, agent, guidance),
                "model": full or None,
                "params": params,
                "active": False,
            }
        )
        _unused(str(key), agent, result)
    if result.advisors:
        result.notes.append(
            "agents are not asked with the council unless you make them active;"
            " `polyvox agent NAME` talks with one"
        )
    _rest(data, answers, used, result)
    return result


def compose(key: str, data: Table, agent: Table, guidance: str) -> str:
    """One prompt from all that the file says to one agent."""
    base = _table(data, "base_guidance")
    template = _word(data, "base_template") or _word(base, "base_template")
    implements = agent.get("no_implementation") is not True
    values = {
        "name": _word(agent, "name") or key,
        "personality": _word(agent, "personality"),
        "style": _word(agent, "style"),
        "guidance": guidance if implements else "",
    }
    filled = set(_SLOT.findall(template))
    own = [_word(agent, "prompt"), _word(agent, "custom_prompt")]
    parts = [_SLOT.sub(lambda slot: values[slot[1]], template), *own]
    if not any(parts):
        parts.append(f"You are {values['name']}. {_word(agent, 'description')}")
    parts += [
        f"{slot.capitalize()}: {values[slot]}"
        for slot in ("personality", "style")
        if values[slot] and slot not in filled
    ]
    parts += [
        text
        for name, text in base.items()
        if isinstance(text, str) and name != "base_template" and (implements or name in FOR_ALL)
    ]
    if "guidance" not in filled:
        parts.append(values["guidance"])
    if implements and agent.get("example") is not None:
        parts.append(f"Example:\n{_shown(agent['example'])}")
    parts.append(_word(agent, "suffix"))
    return "\n\n".join(part.strip() for part in parts if part.strip())


def _guidance(data: Table, path: Path, result: Agents) -> str:
    """The guidance file, from beside this file alone."""
    name = data.get("guidance_file")
    if name is None:
        return ""
    try:
        if not isinstance(name, str):
            raise Invalid("guidance_file must be a file's name.")
        return files.read_beside(path, name)
    except Invalid as error:
        result.notes.append(f"guidance_file left out: {error.message}")
        return ""


def _model(data: Table, agent: Table) -> tuple[str, object]:
    """The model's own id and the temperature, by the agent's word, else by the file's default."""
    models, older = _table(data, "models"), _table(data, "model_config")
    key = _word(agent, "model") or _word(data, "default_model")
    entry = models.get(key)
    if isinstance(entry, Mapping):
        model, temperature = _word(entry, "id") or key, entry.get("temperature")
    else:
        model = _word(older, key) if key else _word(older, "default")
        model, temperature = model or key, older.get("temperature")
    override = agent.get("temperature_override")
    return model, temperature if override is None else override


def _full_name(model: str) -> str:
    """provider:name, where the maker can be told from the name."""
    if not model or re.search(r"\s", model):
        return ""
    if re.match(r"^[a-z0-9][a-z0-9_.-]*:\S+$", model):
        return model
    if "/" in model:
        return f"openrouter:{model}"
    makers = (maker for pattern, maker in _MAKERS if pattern.match(model))
    maker = next(makers, "")
    return f"{maker}:{model}" if maker else ""


def _unused(key: str, agent: Table, result: Agents) -> None:
    known = {
        "name", "model", "temperature_override", "description", "prompt", "custom_prompt",
        "personality", "style", "example", "suffix", "no_implementation",
    }  # fmt: skip
    result.notes += [
        f"{key}: nothing here is called {name!r}; left out"
        for name in sorted(map(str, agent))
        if name not in known
    ]


def _rest(data: Table, answers: Table, used: Mapping[str, str], result: Agents) -> None:
    """Window, rates and whatever else the file says about all agents."""
    window = _table(answers, "context_window")
    for key in ("max_messages", "recent_messages", "system_messages"):
        value = window.get(key)
        if value is None:
            continue
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 100_000:
            result.window[key] = value
        else:
            result.notes.append(f"context_window.{key} is not a usable number; left out")
    if answers.get("stream") is False:
        result.notes.append("response_config.stream left out: answers always stream here")
    result.notes += _rates(data, used)
    result.notes += [
        f"nothing here is called {key!r}; left out" for key in data if key not in KNOWN
    ]


def _rates(data: Table, used: Mapping[str, str]) -> list[str]:
    """Notes on rate limits, which are settings here, with the lines to put into the
    configuration."""
    limits: list[tuple[str, Table]] = []
    for key, entry in _table(data, "models").items():
        if isinstance(entry, Mapping) and isinstance(entry.get("rate_limit"), Mapping):
            limits.append((_full_name(_word(entry, "id") or str(key)), entry["rate_limit"]))
    for family, entry in _table(_table(data, "model_config"), "rate_limits").items():
        if isinstance(entry, Mapping):
            limits += [(full, entry) for full, model in used.items() if str(family) in model]
    notes = []
    for full, limit in dict(limits).items():
        if full not in used or not full:
            continue
        lines = [
            f"{ours} = {limit[theirs]:g}"
            for theirs, ours in (
                ("requests_per_minute", "requests_per_minute"),
                ("min_delay_seconds", "min_delay"),
            )
            if isinstance(limit.get(theirs), int | float)
        ]
        if lines:
            notes.append(
                f"rate limit of {full}: to keep it, put into polyvox.toml"
                f' [models.known."{full}"] {", ".join(lines)}'
            )
    return notes


def _shown(example: object) -> str:
    if isinstance(example, str):
        return example
    return f"```json\n{json.dumps(example, ensure_ascii=False, indent=2)}\n```"


def _table(data: Table, key: str) -> Table:
    value = data.get(key)
    return value if isinstance(value, Mapping) else {}


def _word(data: Table, key: str) -> str:
    value = data.get(key)
    return value.strip() if isinstance(value, str) else ""
