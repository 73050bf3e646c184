"""Counts of words, sentences and questions, for checks. The same for every answer.

A word is what stands between spaces or dashes and has a letter or a digit in it; in scripts that do
not part their words, every character is one. A sentence ends with its mark before a space or the
end of a line, or with the line itself; abbreviations, initials and numbers do not end one. A
question ends with a question mark; one inside an address (`?page=2`) asks nothing. Code between
fences counts as words, and has no sentences and no questions.
"""

from __future__ import annotations

import re
import unicodedata

_FENCED = re.compile(r"^(```|~~~)[^\n]*\n.*?(?:^\1[`~]*[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_APART = re.compile(r"[\s\u2013\u2014\u2015]+|--+")
_UNPARTED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]"
)
_CLOSING = "\"'”’»)]}*_`~"
_END = re.compile(r"(?:[.!?…]+[\"'”’»)\]}*_`]*(?=\s|$)|[。！？]+[」』）”’]*)")
_SHORT = re.compile(
    r"(?:^|[\s(\[\"“‘'])(?:[A-Za-z]|[A-Za-z]\.[A-Za-z]|[Mm]rs?|[Mm]s|[Dd]r|[Pp]rof|[Ss]r|[Jj]r|[Ss]t"
    r"|vs|etc|approx|fig|no|vol|pp|cf|ca|bzw|z\.B|usw|Nr|Abs|p\.ej|Sra?|Exmo)\.$"
)
_QUESTION = re.compile(r"[!?‽]*[?‽][!?‽]*(?=[\"'”’»)\]}*_`]*(?:\s|$|[,;:.]))|[？؟]+")
_ITEM = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)])\s+|^\s*#{1,6}\s+|^\s*>\s?")


def without_code(text: str) -> str:
    """The text without what stands between fences."""
    return _FENCED.sub("\n", text)


def words(text: str) -> int:
    """Count the words of a text."""
    count = 0
    for token in _APART.split(text):
        alone = len(_UNPARTED.findall(token))
        rest = _UNPARTED.sub(" ", token) if alone else token
        count += alone + sum(any(c.isalnum() for c in part) for part in rest.split())
    return count


def sentences(text: str) -> int:
    """Count the sentences of a text."""
    return sum(_in_line(line) for line in without_code(text).splitlines())


def _in_line(line: str) -> int:
    line = _ITEM.sub("", line).strip()
    count, start = 0, 0
    for mark in _END.finditer(line):
        sentence = line[start : mark.end()]
        short = mark[0].startswith(".") and _SHORT.search(line[: mark.start() + 1])
        if short and mark.end() < len(line):
            continue
        if any(char.isalnum() for char in sentence):
            count += 1
        start = mark.end()
    return count + any(char.isalnum() for char in line[start:])


def questions(text: str) -> int:
    """Count the questions of a text."""
    return len(_QUESTION.findall(without_code(text)))


def ends_with_question(text: str) -> bool:
    """True if the last thing in it is a question."""
    last = text.rstrip()
    while last and (last[-1] in _CLOSING or _drawn(last[-1])):
        last = last[:-1].rstrip()
    return bool(last) and last.rstrip("!")[-1:] in ("?", "？", "؟", "‽")


def _drawn(char: str) -> bool:
    """True for a little picture, as it may stand behind a question."""
    return unicodedata.category(char) in ("So", "Sk", "Cf", "Mn")
