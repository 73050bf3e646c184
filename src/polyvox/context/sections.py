"""A council's answers as one text with a section for each, and that text taken apart again. Pure.

Invariant: what one advisor wrote never comes back as another's. Labels are unique whatever the
names are; only a label is a heading of the second level, for those inside a section are moved one
level down; a label that is nobody's any more ends the section before it; and a section that tells
of a failure is nobody's words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from polyvox.errors import ModelError
from polyvox.values import Advisor

_LABEL = re.compile(r"^## (.+)$", re.MULTILINE)
_EXCUSE = re.compile(r"\*\((?:No answer|Not finished): [^\n]*\)\*\Z")


def labels(members: Sequence[Advisor]) -> dict[str, str]:
    """The label of each advisor in the text, by id."""
    labels_by_id: dict[str, str] = {}
    for advisor in members:
        name, number = " ".join(advisor.name.split()), 1
        label = name
        while label in labels_by_id.values():
            number += 1
            label = f"{name} ({number})"
        labels_by_id[advisor.id] = label
    return labels_by_id


def heading(label: str) -> str:
    """The heading of a section."""
    return f"## {label}\n\n"


def excuse(error: ModelError, *, begun: bool) -> str:
    """The line that stands in a section instead of an answer, or behind the part of it that
    came."""
    words = " ".join(error.message.split())
    return f"\n\n*(Not finished: {words})*" if begun else f"*(No answer: {words})*"


class Nested:
    """An answer on its way into a section: its headings of the second level become third."""

    def __init__(self) -> None:
        self._fresh = True
        self._held = ""

    def feed(self, text: str) -> str:
        """Return the text that can be shown by now; marks that may begin a heading wait for what
        follows."""
        if self._fresh or "#" in text:
            start = "\n" if self._fresh else ""
            text = (start + self._held + text).replace("\n## ", "\n### ")
            self._held = "##" if text.endswith("\n##") else "#" if text.endswith("\n#") else ""
            text = text[len(start) : len(text) - len(self._held)]
            if not text:
                return ""
        self._fresh = bool(self._held) or text.endswith("\n")
        return text

    def end(self) -> str:
        """Return the text that was still held."""
        held, self._held = self._held, ""
        return held


def taken_apart(text: str, called: Mapping[str, str]) -> dict[str, str]:
    """The sections of such a text by advisor id; those that failed or are nobody's are left out."""
    whose = {label: advisor_id for advisor_id, label in called.items()}
    sections: dict[str, str] = {}
    parts = _LABEL.split(text)
    for label, body in zip(parts[1::2], parts[2::2], strict=True):
        advisor_id, words = whose.get(label.strip()), body.strip()
        if advisor_id is not None and words and not _EXCUSE.search(words):
            sections[advisor_id] = words
    return sections
