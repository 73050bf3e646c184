"""Texts that are hard on a page, and scripts that look at what it makes of them.

Markdown whose beginning is not yet what its end makes of it is in markdown.yaml; strings that would
like to be more than text in injections.yaml; what is run inside the page in scripts/.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import yaml

HERE = Path(__file__).parent
TURNING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


@cache
def _read(name: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = yaml.safe_load((HERE / name).read_text(encoding="utf-8"))
    return found


@cache
def script(name: str) -> str:
    """A function to run inside a page."""
    return (HERE / "scripts" / f"{name}.js").read_text(encoding="utf-8")


def markdown() -> list[str]:
    """All Markdown."""
    return [text for group in _read("markdown.yaml").values() for text in group]


def injections(*groups: str) -> list[str]:
    """The strings of these groups, or all of them."""
    found = _read("injections.yaml")
    return [text for group in groups or found for text in found[group]]


def named(longest: int) -> list[str]:
    """Those that the server takes as a name or a title: one line, not turned around, not longer
    than this."""
    lines = (" ".join(one.split())[:longest].strip() for one in injections())
    return list(dict.fromkeys(line for line in lines if line and not TURNING & set(line)))


def models() -> list[str]:
    """Some as the name of a model, which has no spaces."""
    some = (*injections("markup")[:6], *injections("mutations")[-2:], *injections("code"))
    return ["lab:" + "".join(one.split())[:120] for one in some]
