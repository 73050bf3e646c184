"""Text whose UTF-8 was once read as Mac Roman, put right where that is certain.

It is certain for a stretch of signs whose Mac Roman bytes are well-formed UTF-8: real words in any
language almost never are (an accented letter alone is not, nor a pair of quotation marks).
"""

from __future__ import annotations

import re

_STRETCH = re.compile(r"[^\x00-\x7f]{2,}")


def mended(text: str) -> tuple[str, int]:
    """The text as it was written, and how many stretches were put right."""
    count = 0

    def mend(match: re.Match[str]) -> str:
        nonlocal count
        try:
            right = match[0].encode("mac_roman").decode("utf-8")
        except UnicodeError:
            return match[0]
        count += 1
        return right

    return _STRETCH.sub(mend, text), count
