"""What was measured as rows, a table in the terminal and a page in the docs."""

from __future__ import annotations

import os
import platform
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

PACKAGES = ("polyvox", "aiohttp", "uvicorn", "uvloop", "fastapi", "msgspec", "pydantic")


@dataclass(frozen=True)
class Row:
    """One figure beside its bar."""

    what: str
    figure: str
    bar: str = ""
    met: bool | None = None
    """None: there is no bar, it stands here for comparison."""

    @property
    def mark(self) -> str:
        """Whether the bar is met, in a word."""
        return "" if self.met is None else "yes" if self.met else "NO"


def at_least(what: str, value: float, bar: float, unit: str = "", detail: str = "") -> Row:
    """A figure that should be large."""
    return Row(what, _said(value, unit, detail), f"≥ {bar:g}{unit}", value >= bar)


def at_most(what: str, value: float, bar: float, unit: str = "", detail: str = "") -> Row:
    """A figure that should be small."""
    return Row(what, _said(value, unit, detail), f"≤ {bar:g}{unit}", value <= bar)


def plain(what: str, value: float, unit: str = "", detail: str = "") -> Row:
    """A figure to compare with."""
    return Row(what, _said(value, unit, detail))


def _said(value: float, unit: str, detail: str) -> str:
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    return f"{value:,.{digits}f}{unit}" + (f" ({detail})" if detail else "")


def median(values: Sequence[float]) -> float:
    """The middle one."""
    return statistics.median(values)


def percentile(values: Sequence[float], part: float) -> float:
    """The value that this part of them does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))]


def table(rows: Sequence[Row]) -> str:
    """For the terminal."""
    heads = ("measure", "here", "bar", "met")
    cells = [heads, *((row.what, row.figure, row.bar, row.mark) for row in rows)]
    widths = [max(len(line[n]) for line in cells) for n in range(4)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        for line in cells
    ]
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])


def busy() -> str:
    """How much else the machine is doing, in words; figures taken beside much else wobble."""
    load = os.getloadavg()[0]
    return f"load average {load:.1f} before it began" + (": not a quiet machine" * (load > 1))


def machine(before: str) -> list[str]:
    """What it was measured on, and how busy that was before."""
    versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return [
        f"{os.cpu_count()} cores ({_processor()}), {platform.system()} {platform.release()}",
        f"Python {platform.python_version()}, {versions}",
        before,
    ]


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
        names = [line.partition(":")[2].strip() for line in lines if "model name" in line]
        return names[0] if names else platform.machine()
    except OSError:
        return platform.machine()
