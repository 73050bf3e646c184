"""The language of a text, by the library `eld`. Nothing is said where it cannot be told: a text
that is too short, or that lies between two languages."""

from __future__ import annotations

import unicodedata
from functools import cache
from typing import TYPE_CHECKING

from polyvox.evaluation.count import without_code

if TYPE_CHECKING:
    from eld import LanguageDetector  # type: ignore[import-untyped]  # it ships no types

FEWEST_LETTERS = 4
CLEAR = 0.05
"""Lead of the likeliest language over the second. In our test sentences the smallest is 0.1."""

NAMES = {
    "ar": "Arabic", "bg": "Bulgarian", "cs": "Czech", "da": "Danish", "de": "German",
    "el": "Greek", "en": "English", "es": "Spanish", "fi": "Finnish", "fr": "French",
    "he": "Hebrew", "hi": "Hindi", "hu": "Hungarian", "it": "Italian", "ja": "Japanese",
    "ko": "Korean", "nl": "Dutch", "no": "Norwegian", "pl": "Polish", "pt": "Portuguese",
    "ro": "Romanian", "ru": "Russian", "sv": "Swedish", "th": "Thai", "tr": "Turkish",
    "uk": "Ukrainian", "zh": "Chinese",
}  # fmt: skip


@cache
def _detector() -> LanguageDetector:
    from eld import LanguageDetector  # half a second and 40 MB: only for who asks

    detector = LanguageDetector()
    detector.dynamic_lang_subset(list(NAMES))
    return detector


def detected(text: str) -> str | None:
    """The language's ISO code, or None where it cannot be told."""
    text = unicodedata.normalize("NFC", without_code(text))
    if sum(char.isalpha() for char in text) < FEWEST_LETTERS:
        return None
    result = _detector().detect(text)
    scores = sorted(result.scores().values(), reverse=True)
    if not result.is_reliable() or (len(scores) > 1 and scores[0] - scores[1] < CLEAR):
        return None
    return str(result.language)
