"""agents.json of three generations: everything that says something is used, the rest is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from polyvox.errors import Invalid, TooLarge
from polyvox.interop import advisor_file, files, port42

FIXTURES = Path(__file__).parent / "fixtures"


def raw(generation: int) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((FIXTURES / f"agents-gen{generation}.json").read_text())
    return data


def agents(generation: int) -> dict[str, Any]:
    parsed = advisor_file.read(FIXTURES / f"agents-gen{generation}.json")
    assert parsed.refused == ()
    return {one["slug"]: one for one in parsed.advisors}


def written(tmp_path: Path, data: object) -> Path:
    path = tmp_path / "agents.json"
    path.write_text(json.dumps(data))
    return path


@pytest.mark.parametrize(
    ("generation", "slugs"),
    [
        (1, ["muse", "engineer", "echo", "claude"]),
        (2, ["muse", "engineer", "growth", "founder"]),
        (3, ["muse", "engineer", "analyst", "founder"]),
    ],
)
def test_every_agent_becomes_an_advisor(generation: int, slugs: list[str]) -> None:
    found = agents(generation)
    assert list(found) == slugs
    data = raw(generation)
    for key, one in found.items():
        told = data["agents"][key]
        assert one["name"] == told["name"]
        assert one["description"] == told["description"]
        assert one["active"] is False
        for part in ("prompt", "custom_prompt", "personality", "style", "suffix"):
            assert told.get(part, "") in one["prompt"], (key, part)
        assert one["prompt"].endswith(told.get("suffix", ""))
        assert "{" + "name}" not in one["prompt"]


def test_first_generation_guidance_example_and_no_implementation() -> None:
    found, base = agents(1), raw(1)["base_guidance"]
    for text in base.values():
        assert text.strip() in found["engineer"]["prompt"]
        assert text.strip() not in found["echo"]["prompt"]
    assert '"name": "git-haiku"' in found["muse"]["prompt"]
    assert found["claude"]["prompt"].startswith("You are Claude, directly accessible")
    assert "Personality: Reflective" in found["echo"]["prompt"]


def test_second_generation_template_and_guidance_inside_base_guidance() -> None:
    found, base = agents(2), raw(2)["base_guidance"]
    assert "Your personality: Creative, poetic" in found["muse"]["prompt"]
    assert "Personality:" not in found["muse"]["prompt"]  # the template has said it
    assert base["tool_creation_framework"] in found["engineer"]["prompt"]
    assert base["tool_creation_framework"] not in found["founder"]["prompt"]
    assert base["conversation_context"] in found["founder"]["prompt"]


def test_models_temperatures_and_lengths() -> None:
    first = agents(1)["engineer"]
    assert first["model"] == "anthropic:claude-3-5-sonnet-20241022"
    assert (first["params"].temperature, first["params"].max_tokens) == (None, 4096)
    third = agents(3)
    assert third["engineer"]["model"] == "anthropic:claude-opus-4-1-20250805"
    assert third["engineer"]["params"].temperature == 0.5
    assert third["muse"]["params"].temperature == 0.9
    assert third["muse"]["params"].max_tokens == 16384


def test_what_is_told_of_the_rest() -> None:
    first = advisor_file.read(FIXTURES / "agents-gen1.json")
    assert first.window == {"max_messages": 20, "recent_messages": 17, "system_messages": 3}
    assert any("requests_per_minute = 50, min_delay = 1" in note for note in first.notes)
    assert any("stream" in note for note in first.notes)
    third = advisor_file.read(FIXTURES / "agents-gen3.json")
    assert any("agent_guidance.md" in note and "beside it" in note for note in third.notes)
    rates = [note for note in third.notes if "rate limit" in note]
    assert len(rates) == 1  # of the model that is used, not of the others
    assert "requests_per_minute = 10, min_delay = 5" in rates[0]


def test_the_guidance_file_is_read_from_beside_the_file(tmp_path: Path) -> None:
    (tmp_path / "agent_guidance.md").write_text("Build with care.")
    parsed = advisor_file.read(written(tmp_path, raw(3)))
    assert all("Build with care." in (one["prompt"] or "") for one in parsed.advisors)
    assert not any("guidance_file" in note for note in parsed.notes)


@pytest.mark.parametrize(
    "name", ["../secret.md", "/etc/hostname", "sub/secret.md", "..", "", 5, "link.md", "sub"]
)
def test_the_guidance_file_is_read_from_nowhere_else(tmp_path: Path, name: object) -> None:
    (tmp_path / "secret.md").write_text("A SECRET")
    folder = tmp_path / "agents"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub" / "secret.md").write_text("A SECRET")
    (folder / "link.md").symlink_to(tmp_path / "secret.md")
    parsed = advisor_file.read(written(folder, {**raw(3), "guidance_file": name}))
    assert len(parsed.advisors) == 4
    assert "A SECRET" not in str(parsed)
    assert any("guidance_file left out" in note for note in parsed.notes)


def test_a_template_is_filled_once() -> None:
    """A value that looks like a slot stays as it is: no text of an agent reaches another slot."""
    data = {
        "base_template": "I am {name}. {personality} {unknown}",
        "agents": {"x": {"name": "{style}", "personality": "{guidance}", "style": "S"}},
    }
    prompt = port42.compose("x", data, data["agents"]["x"], "G")  # type: ignore[index]  # test data
    assert prompt == "I am {style}. {guidance} {unknown}\n\nStyle: S\n\nG"


def test_models_of_other_makers() -> None:
    data = {
        "models": {
            "a": {"id": "gpt-5.4", "temperature": 1},
            "b": {"id": "meta-llama/llama-4"},
            "c": {"id": "lab:own"},
            "d": {"id": "mystery-1"},
            "e": {"id": "gemini-2.5-pro"},
        },
        "agents": {key: {"name": key, "model": key} for key in "abcdef"},
    }
    found = port42.read(data, Path("agents.json"))
    assert [one["model"] for one in found.advisors] == [
        "openai:gpt-5.4", "openrouter:meta-llama/llama-4", "lab:own", None, "gemini:gemini-2.5-pro",
        None,
    ]  # fmt: skip
    assert any("mystery-1" in note for note in found.notes)


@pytest.mark.parametrize(
    ("agent", "why"),
    [
        ("words", "not a table"),
        ({"name": "x" * 200}, "121"),
        ({"name": "two\nlines"}, "one line"),
        ({"prompt": "bell \x07"}, "control character"),
        ({"prompt": "x" * 200_000}, "200,00"),
        ({"temperature_override": 9}, "between 0 and 2"),
        ({"temperature_override": "hot"}, "must be a number"),
        ({"temperature_override": float("nan")}, "between 0 and 2"),
    ],
)
def test_an_agent_that_cannot_be_used_is_refused_and_the_others_are_taken(
    tmp_path: Path, agent: object, why: str
) -> None:
    data = {"agents": {"bad": agent, "good": {"name": "Good", "prompt": "Be good."}}}
    parsed = advisor_file.read(written(tmp_path, data))
    assert [one["slug"] for one in parsed.advisors] == ["good"]
    assert len(parsed.refused) == 1
    assert parsed.refused[0].startswith("bad: ")
    assert why in parsed.refused[0] or why == "121"


def test_hostile_files(tmp_path: Path) -> None:
    path = tmp_path / "agents.json"
    path.write_text("[" * 100_000)
    with pytest.raises(Invalid, match="nested too deeply"):
        advisor_file.read(path)
    path.write_text('{"agents": {')
    with pytest.raises(Invalid, match="not valid JSON"):
        advisor_file.read(path)
    path.write_bytes(b"\xff\xfe{}")
    with pytest.raises(Invalid, match="not UTF-8"):
        advisor_file.read(path)
    path.write_bytes(b" " * (files.LARGEST + 1))
    with pytest.raises(TooLarge, match="bytes"):
        advisor_file.read(path)
    with pytest.raises(Invalid, match="is a directory"):
        advisor_file.read(tmp_path)
    path.write_text(json.dumps({"agents": {str(n): {} for n in range(600)}}))
    with pytest.raises(Invalid, match="500 is the most"):
        advisor_file.read(path)


def test_odd_shapes_say_nothing(tmp_path: Path) -> None:
    data = {
        "agents": {"x": {"name": "X", "prompt": "P", "mood": 1}},
        "models": [], "base_guidance": "text", "response_config": {"context_window": {
            "max_messages": "many", "recent_messages": True, "system_messages": -1}},
        "extra": 1,
    }  # fmt: skip
    parsed = advisor_file.read(written(tmp_path, data))
    assert parsed.advisors[0]["prompt"] == "P"
    assert parsed.window == {}
    assert sum("not a usable number" in note for note in parsed.notes) == 3
    assert any("'extra'" in note for note in parsed.notes)
    assert any("x: nothing here is called 'mood'" in note for note in parsed.notes)
