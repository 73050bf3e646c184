"""The machine's time zone by name, so that a request built here reads the same elsewhere."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from zoneinfo import ZoneInfo


@cache
def machine_zone() -> str:
    """The name of the machine's zone, such as Europe/Lisbon; an offset where it has none."""
    link = os.path.realpath("/etc/localtime").partition("zoneinfo/")[2]
    for name in (os.environ.get("TZ", "").removeprefix(":"), link, _written()):
        try:
            if name:
                return ZoneInfo(name).key
        except (KeyError, ValueError, OSError):
            continue
    offset = datetime.now(UTC).astimezone().strftime("%z")
    return f"UTC{offset[:3]}:{offset[3:5]}"


def _written() -> str:
    """The name that some systems keep in a file."""
    try:
        return Path("/etc/timezone").read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""
