"""The daily analysis: what a day was about, and one sentence for whoever talks with them next.

By a model where one is set; else plain counts, which say of themselves that they are not enough to
steer by.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from polyvox.memory.asking import Asker, number_of, prompt, text_of
from polyvox.memory.extract import Said, as_data
from polyvox.memory.tables.derived import Daily, Quality
from polyvox.memory.words import words_of
from polyvox.values import Scope

ENOUGH_MESSAGES, ENOUGH_WORDS = 3, 40
"""With less, a day says nothing, whoever looks at it."""
SURE = 0.75
NOTE_WORDS = 24
MOST_THEMES = 5
MOST_CHARS = 24_000
SCORES = ("mood", "energy", "clarity", "connection")
_SENTENCE = re.compile(r"(?<=[.!?…])\s+")
_WORD = re.compile(r"[^\W\d_][\w'’-]+")


def bounds(day: date, zone: tzinfo | None) -> tuple[int, int]:
    """When a day begins and ends where the person is."""
    first, after = (
        datetime.combine(one, time(), zone).astimezone()
        if zone is None
        else datetime.combine(one, time(), zone)
        for one in (day, day + timedelta(days=1))
    )
    return int(first.timestamp() * 1e6), int(after.timestamp() * 1e6)


async def analyse(
    asker: Asker, scope: Scope, day: date, said: Sequence[Said], zone: tzinfo | None = UTC
) -> Daily:
    """What a day was about, from what was said in it."""
    name = asker.model
    if name is not None and asker.is_cloud(name):
        said = [one for one in said if one.cloud]
    cloud = all(one.cloud for one in said)
    sessions = tuple(dict.fromkeys(one.episode.session_id for one in said))
    counted = counts(said)
    words = sum(len(one.episode.text.split()) for one in said)
    if name is None or len(said) < ENOUGH_MESSAGES or words < ENOUGH_WORDS:
        return Daily(
            day.isoformat(),
            themes(said),
            counted,
            None,
            0.3 if said else 0.0,
            "insufficient_data",
            sessions,
            "",
            asker.clock(),
            cloud,
        )
    data = await asker.ask(scope, name, prompt("daily"), as_data(_last(said), zone), "themes")
    listed = data.get("themes")
    found = [text_of({"t": one}, "t", 60) for one in listed] if isinstance(listed, list) else []
    given = data.get("scores")
    scores = given if isinstance(given, dict) else {}
    confidence = round(number_of(data, "confidence", 0, 1, 0.5), 3)
    quality: Quality = "ok" if confidence >= SURE else "needs_review"
    note = _short(text_of(data, "steering_note", 600))
    return Daily(
        day.isoformat(),
        tuple(one for one in found if one)[:MOST_THEMES],
        {
            **counted,
            **{
                one: number_of(scores, one, 1, 10, 5)
                for one in SCORES
                if isinstance(scores.get(one), int | float)
            },
        },
        note or None,
        confidence,
        quality,
        sessions,
        name,
        asker.clock(),
        cloud,
    )


def _short(note: str) -> str:
    """One sentence to steer by: of a longer note the first, of a longer sentence nothing."""
    kept = note if len(note.split()) <= NOTE_WORDS else _SENTENCE.split(note)[0]
    return kept if len(kept.split()) <= NOTE_WORDS else ""


def counts(said: Sequence[Said]) -> dict[str, float]:
    """How much was said."""
    return {
        "messages": float(len(said)),
        "sessions": float(len({one.episode.session_id for one in said})),
    }


def themes(said: Sequence[Said]) -> tuple[str, ...]:
    """The words that came back in several messages, the most frequent first, as they were said."""
    seen: Counter[str] = Counter()
    spelt: dict[str, str] = {}
    for one in said:
        met = set()
        for match in _WORD.finditer(one.episode.text):
            for stem in words_of(match[0]):
                spelt.setdefault(stem, match[0].lower())
                met.add(stem)
        seen.update(met)
    often = [(-count, stem) for stem, count in seen.items() if count > 1]
    return tuple(spelt[stem] for _, stem in sorted(often)[:MOST_THEMES])


def _last(said: Sequence[Said]) -> list[Said]:
    """As much of a day as a model is shown: its end."""
    kept: list[Said] = []
    left = MOST_CHARS
    for one in reversed(said):
        left -= len(one.episode.text)
        if left < 0 and kept:
            break
        kept.append(one)
    return kept[::-1]
