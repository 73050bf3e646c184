"""The documentation says what is so: examples run, links lead somewhere, settings in it exist."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from polyvox.recipes import check_recipes
from polyvox.settings import load

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(language: str) -> list[tuple[str, str]]:
    found = []
    for page in PAGES:
        for kind, text in BLOCK.findall(page.read_text(encoding="utf-8")):
            if kind == language:
                found.append((page.name, text))
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("page", "text"), blocks("python"))
def test_examples_run(page: str, text: str, tmp_path: Path) -> None:
    env = {
        **{k: v for k, v in os.environ.items() if not k.endswith("_API_KEY")},
        "POLYVOX_HOME": str(tmp_path),
        "POLYVOX_MODELS_DEFAULT": "scripted:echo",
    }
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", text],
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, f"{page}: {done.stderr}"
    assert done.stdout.strip(), f"the example in {page} shows nothing"


def test_there_are_examples() -> None:
    assert {page for page, _ in blocks("python")} >= {"README.md", "tutorial.md"}


@pytest.mark.parametrize(("page", "text"), blocks("toml"))
def test_configurations_are_accepted(page: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / "polyvox.toml"
    path.write_text(text, encoding="utf-8")
    settings = load(path, env={"POLYVOX_HOME": str(tmp_path)})
    check_recipes(settings)
    assert tomllib.loads(text), page


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_settings_that_are_named_exist(page: Path) -> None:
    from polyvox.settings import Provider, known_keys

    known = set(known_keys()) | {"recipes.council"}
    sections = {key.partition(".")[0] for key in known if "." in key}
    for name in re.findall(r"`([a-z_]+\.[a-z_]+)`", page.read_text(encoding="utf-8")):
        section, _, key = name.partition(".")
        if section in sections:
            assert name in known or key in Provider.model_fields, f"{page.name} names {name}"
