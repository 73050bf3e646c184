"""The import rules hold, a breach would be noticed, and the doors load nothing heavy."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
HEAVY = ("aiohttp", "fastapi", "keyring", "psycopg", "pydantic", "rich", "uvicorn", "xllamacpp")


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder / "src")},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_the_road_points_down_only() -> None:
    result = lint_imports(ROOT)
    assert result.returncode == 0, result.stdout
    assert "0 broken" in result.stdout


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("values.py", "from polyvox import settings"),
        ("store/database.py", "import polyvox.session"),
        ("context/recipe.py", "import polyvox.models.wire"),
        ("context/recipe.py", "import asyncio"),
        ("web/__init__.py", "import polyvox.cli"),
        ("cli/usage.py", "import polyvox.web.usage"),
        ("models/base.py", "import polyvox.store"),
        ("ids.py", "import pydantic"),
    ],
)
def test_a_breach_is_noticed(copy: Path, module: str, line: str) -> None:
    with (copy / "src" / "polyvox" / module).open("a", encoding="utf-8") as file:
        file.write(f"\n{line}\n")
    result = lint_imports(copy)
    assert result.returncode == 1, result.stdout
    assert " broken." in result.stdout


def test_a_module_without_a_place_is_noticed(copy: Path) -> None:
    (copy / "src" / "polyvox" / "cellar.py").write_text('"""Nobody said where."""\n')
    result = lint_imports(copy)
    assert result.returncode == 1
    assert "polyvox.cellar" in result.stdout


@pytest.mark.parametrize("module", ["polyvox", "polyvox.cli", "polyvox.models.llama_child"])
def test_nothing_heavy_is_loaded_by(module: str) -> None:
    code = f"import sys, {module}; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert not set(HEAVY) & set(loaded.stdout.split())
