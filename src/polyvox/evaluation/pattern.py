"""Regular expressions of assertions, matched by RE2 in linear time.

Python's own matcher goes back and tries again; a short pattern from somebody's file can keep it
busy for years. RE2 never goes back, so back references and lookaround are refused. Its classes are
ASCII; `\\d \\w \\s` are rewritten to mean what they mean in Python, `\\b` is not.
"""

from __future__ import annotations

import re
from functools import lru_cache

import re2  # type: ignore[import-untyped]  # it ships no types

from polyvox.errors import Invalid

LONGEST = 1000
"""Characters of a pattern."""
_CLASSES = {"d": r"\p{Nd}", "w": r"\p{L}\p{N}_", "s": r"\s\v\p{Z}\x{1c}-\x{1f}\x{85}"}
_TOKEN = re.compile(
    r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))|(\[\^?\]?)|(\])|\{(,\d+)\}", re.DOTALL
)


@lru_cache(maxsize=64)
def compiled(pattern: str, *, ignore_case: bool = False, lines: bool = False) -> re2._Regexp[str]:
    """Compile a pattern; `lines`: ^ and $ are the ends of lines. Raises Invalid, saying why."""
    if len(pattern) > LONGEST:
        raise Invalid(
            f"The pattern has {len(pattern):,} characters; {LONGEST:,} is the most.",
            "Make it several assertions.",
            param="pattern",
        )
    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = not ignore_case
    flags = "(?m)" if lines else ""
    try:
        return re2.compile(flags + _translated(pattern), options)
    except re2.error as error:
        reason = error.args[0]
        reason = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        raise Invalid(
            f"The pattern is not usable: {reason}.",
            "Correct it. Back references and lookaround are not supported, nor are repetitions of"
            " more than 1,000.",
            param="pattern",
        ) from error


def _translated(pattern: str) -> str:
    """Rewrite Python's syntax to RE2's where the two differ."""
    in_class = False

    def rewritten(token: re.Match[str]) -> str:
        nonlocal in_class
        short, long, escaped, opening, closing, upto = token.groups()
        if short or long:
            return rf"\x{{{short or long}}}"
        if opening and not in_class:
            in_class = True
            return opening.replace("]", r"\]")
        if closing:
            in_class = False
        if upto:
            return token[0] if in_class else f"{{0{upto}}}"
        if escaped == "Z":
            return r"\z"
        if escaped and escaped in "dws":
            return _CLASSES[escaped] if in_class else f"[{_CLASSES[escaped]}]"
        if escaped and escaped in "DWS" and not in_class:
            return f"[^{_CLASSES[escaped.lower()]}]"
        if escaped == "b" and in_class:
            return r"\x08"
        return token[0]

    return _TOKEN.sub(rewritten, pattern)
