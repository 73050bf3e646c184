"""Quotations cut to a length, and without times where a text must not tell any."""

from __future__ import annotations

import re

from polyvox.quoting import plain

LONGEST = 160
"""Characters of one quotation."""
GAP = "…"
"""Stands where something was left out."""
_NUMBER = (
    "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen"
    "|sixteen|seventeen|eighteen|nineteen|twenty|thirty|forty|fifty"
)
_HOUR = rf"(?:\d{{1,2}}|{_NUMBER})"
_UNIT = r"\s*(?:%|percent|minute|hour|day|night|week|month|year|time|people|talk|more|other)"
CLOCK = re.compile(
    rf"""(?<!\w)(?:
      \d{{1,2}}\s?[:h]\s?\d{{2}}(?::\d{{2}})?(?:\s?[ap]\.?m\b\.?)?(?!\d)
    | {_HOUR}(?:[.]\d{{2}})?\s?(?:[ap]\.?m\b\.?|o'?\s?clock|uhr\b)
    | (?:half|quarter|{_HOUR}(?:\s(?:minutes?))?)\s(?:past|to)\s{_HOUR}\b
    | (?:at|by|around|until|till|before|after|since)\s\d{{1,2}}\b(?!{_UNIT}|[.,]?\d)
    | noon\b | midday\b | midnight\b
    )""",
    re.IGNORECASE | re.VERBOSE,
)
"""A time of the clock, as people write it."""
YEAR = re.compile(r"(?<!\d)(?:1[5-9]|20|21)\d\d(?!\d)|(?<!\w)'\d\d(?!\d)")
"""A year."""


def quote(text: str, words: int = 40, *, timeless: bool = False) -> str:
    """The words between marks, cut where they are too many; nothing where they say nothing.
    `timeless`: times of the clock and years are left out, and it shows."""
    inside = plain(text)
    if timeless:
        inside = _without_times(inside)
    kept = inside.split()[: max(0, words)]
    short = " ".join(kept)[:LONGEST].rstrip()
    if short != inside:
        short = f"{short.rstrip(GAP + ' ')}{GAP}"
    if timeless and _without_times(short) != short:
        short = _without_times(short)  # a cut can leave a time behind: "at 12 minutes" → "at 12"
    return f"“{short}”" if any(letter.isalnum() for letter in short) else ""


def ended(text: str) -> str:
    """A sentence with its full stop, which a quotation at its end may hold already."""
    return text if re.search(r"[.!?…]”$", text) else f"{text}."


def _without_times(text: str) -> str:
    before = None
    while text != before:  # leaving one out can bring another together
        before = text
        text = YEAR.sub(GAP, CLOCK.sub(GAP, text))
        text = re.sub(rf"{GAP}(?:\s*{GAP})+", GAP, text)
    return text
