"""Quotations cut to a length, and without times where a text must not tell any."""

from __future__ import annotations

import re

from polyvox.quote import plain

LONGEST = 160
"""Characters of one quotation."""
READ = 20 * LONGEST
"""Characters that are looked at for it, however long a text is."""
GAP = "…"
"""Stands where something was left out."""
_SPELT = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
_NUMBER = (
    f"{_SPELT}|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen|twenty|thirty|forty"
    "|fifty"
)
_HOUR = rf"(?:\d{{1,2}}|{_NUMBER})"
_UNIT = r"\s*(?:%|percent|minute|hour|day|night|week|month|year|time|people|talk|more|other)"
_AT = r"(?:at|by|around|until|till|before|after|since)"
_MINUTES = rf"(?:oh[\s-]\w+|fifteen|(?:twenty|thirty|forty|fifty)(?:[\s-](?:{_SPELT}))?)"
_FOUR = r"(?:[01]\d|2[0-3])[0-5]\d"
_THEN = rf"""(?=\s*(?:$|[^\w\s-]|-(?!\w)) | \s(?:
      (?:and|or|to)\s(?!{_HOUR}\b)
    | (?:about|as|at|because|before|but|by|daily|each|every|exactly|for|from|he|here|i|if|in|instead
      |is|it|latest|my|next|on|please|sharp|she|so|the|then|there|they|this|today|tomorrow|tonight
      |until|was|we|when|while|with|you|(?:mon|tues|wednes|thurs|fri|satur|sun)days?)\b))"""
"""What may follow a bare number that is an hour; after it, anything else is what it counts."""
_HAN = r"[\d零〇一二两兩三四五六七八九十]{1,3}"
_PART = r"(?:[上下]午|中午|早上|早晨|晚上|凌晨|清晨|傍晚|夜里|午[前後])"
CLOCK = re.compile(
    rf"""(?<!\w)(?:
      (?:{_AT}\s)?\d{{1,2}}\s?[:h]\s?\d{{2}}(?::\d{{2}})?(?:\s?(?:[ap]\.?m|h)\b\.?)?(?!\d)
    | (?:{_AT}\s)?{_HOUR}(?:[.]\d{{2}})?\s?(?:[ap]\.?m\b\.?|o'?\s?clock|uhr\b(?:\s[0-5]?\d\b)?)
    | (?:half|quarter|{_HOUR}(?:\s(?:minutes?))?)\s(?:past|to)\s{_HOUR}\b
    | {_AT}\s\d{{1,2}}\b(?!{_UNIT}|[.,]?\d)
    | {_AT}\s\d{{1,2}}[.][0-5]\d\b{_THEN}
    | {_AT}\s{_FOUR}\b{_THEN}
    | {_FOUR}\s?(?:hours|hrs|h)\b(?!\sof\b)
    | {_AT}\s(?<!by\s)one\b(?!\s(?:and|with)\b){_THEN}
    | {_AT}\s(?!one\b)(?:{_SPELT})(?:\s(?:and|or|to)\s(?:{_SPELT}))?\b{_THEN}
    | {_AT}\s(?:{_SPELT})[\s-]{_MINUTES}\b(?!{_UNIT})
    | (?:{_SPELT})-(?:fifteen|thirty|forty-five)\b(?!{_UNIT})
    | (?:{_AT}\s)?(?:\d{{1,2}}|{_SPELT})-?ish\b{_THEN}
    | noon\b | midday\b | midnight\b
    )
    | {_PART}\s?{_HAN}[点點时時](?!间|間)(?:半|钟|鐘|整|[一三]刻|{_HAN}分?)?
    | {_HAN}[点點](?:半|钟|鐘|整|[一三]刻|{_HAN}分) | \d{{1,2}}時(?:半|{_HAN}分|(?!間))
    | 오[전후]\s?\d{{1,2}}\s?시(?:\s?(?:반|\d{{1,2}}\s?분))?
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""A time of the clock, as people write it."""
YEAR = re.compile(r"(?<!\d)(?:1[5-9]|20|21)\d\d(?!\d)|(?<!\w)'\d\d(?!\d)")
"""A year."""
_TOKEN = re.compile(r"[\w/'-]+")
"""A word, or a date: with a year in it, it goes as a whole."""


def quote(text: str, words: int = 40, *, timeless: bool = False) -> str:
    """The words between marks, cut where they are too many; nothing where they say nothing.
    `timeless`: times of the clock and years are left out, and it shows."""
    inside = plain(text[:READ])
    if timeless:
        inside = _without_times(inside)
    kept = inside.split()[: max(0, words)]
    short = " ".join(kept)[:LONGEST].rstrip()
    if short != inside or len(text) > READ:
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
        text = _TOKEN.sub(_yearless, CLOCK.sub(GAP, text))
        text = re.sub(rf"{GAP}(?:\s*{GAP})+", GAP, text)
    return text


def _yearless(token: re.Match[str]) -> str:
    return GAP if YEAR.search(token[0]) else token[0]
