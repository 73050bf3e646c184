"""Contract tests go through doors only, so that they pass unedited whatever happens inside."""

from __future__ import annotations

import ast
from pathlib import Path

PUBLIC = frozenset(
    f"polyvox{name}" for name in ("", ".app", ".errors", ".events", ".ids", ".settings", ".values")
)
"""The library and the words that its users see."""
INNER = frozenset({"database", "hub", "journal", "queue", "registry", "transport"})
"""Parts of an open `Polyvox` that are nobody's door."""


def breaches(source: str) -> list[str]:
    """The inner modules that a test file imports and the inner parts of the app that it touches."""
    bad = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            bad += [f"imports {name.name}" for name in node.names if _inner(name.name)]
        elif isinstance(node, ast.ImportFrom) and node.module and _inner(node.module):
            bad.append(f"imports {node.module}")
        elif isinstance(node, ast.Attribute) and node.attr in INNER and _of_app(node.value):
            bad.append(f"uses polyvox.{node.attr}")
    return bad


def _inner(module: str) -> bool:
    return module.partition(".")[0] == "polyvox" and module not in PUBLIC


def _of_app(value: ast.expr) -> bool:
    match value:
        case ast.Name(id="polyvox") | ast.Attribute(attr="polyvox"):
            return True
        case ast.Attribute(value=inner):
            return _of_app(inner)
    return False


def check(files: set[Path]) -> None:
    """Raise for the contract test files that go through a wall."""
    wrong = {str(file): bad for file in sorted(files) if (bad := breaches(file.read_text("utf-8")))}
    if wrong:
        lines = "\n".join(f"  {file}: {', '.join(bad)}" for file, bad in wrong.items())
        raise ValueError(f"contract tests use what is inside:\n{lines}")
