"""Numbers as people read them: times, tokens, prices. An unknown price is called unknown."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

from polyvox.models.registry import Check
from polyvox.values import Usage

NANO = 1_000_000_000


def when(stamp: int | None, zone: str = "") -> str:
    """A time in the person's zone (the machine's where none is set)."""
    if stamp is None:
        return "at an unknown time"
    place = ZoneInfo(zone) if zone else None
    return (
        datetime.fromtimestamp(stamp / 1_000_000, place)
        .astimezone(place)
        .strftime("%Y-%m-%d %H:%M")
    )


def usd(dollars: float | None) -> str:
    """A price that is given in dollars, as `money` writes it."""
    return money(None if dollars is None else round(dollars * NANO))


def money(nano: int | None) -> str:
    """A price in dollars, with as many digits as it needs."""
    if nano is None:
        return "price unknown"
    if nano == 0:
        return "free"
    dollars = nano / NANO
    if dollars < 0.000001:
        return "under $0.000001"
    return f"${dollars:.2f}" if dollars >= 1 else f"${float(f'{dollars:.2g}'):f}".rstrip("0")


def count(number: int, singular: str, plural: str = "") -> str:
    """1 turn, 2 turns."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def spent(usage: Usage | None) -> str:
    """Tokens and cost of an answer."""
    if usage is None:
        return ""
    about = "≈" if usage.estimated else ""
    return f"{about}{count(usage.output_tokens, 'token')} · {money(usage.cost)}"


def answers(check: Check) -> str:
    """A check of a model that went well."""
    waited = "" if check.first_byte_ms is None else f" after {check.first_byte_ms:.0f} ms"
    return f"{check.model} answers{waited}"


def size(number: float) -> str:
    """Bytes."""
    for unit in ("bytes", "kB", "MB"):
        if number < 1000:
            return f"{number:.0f} {unit}" if unit == "bytes" else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:.1f} GB"


def one_line(text: str, longest: int) -> str:
    """The beginning of a text as one line."""
    line = " ".join(text.split())
    return line if len(line) <= longest else line[: longest - 1].rstrip() + "…"
