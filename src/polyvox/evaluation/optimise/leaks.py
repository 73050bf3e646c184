"""Leaks: facts, names and words of the conversations that a rewritten prompt must not carry over.

A prompt is used for everybody and every question to come. Checked in code, because a model that
was told so forgets it: numbers, names, addresses and longer runs of words that stand in the
conversations, and neither in the prompt before nor in the assertions, are found in the new prompt.

A name is a word that the conversations write with a capital inside a sentence and
never without. In German all nouns are, so there one such word says nothing, and two in a row count.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from polyvox.evaluation.language import detected

RUN = 6
"""Words in a row that make a quotation."""
RUN_CHARS = 12
"""The same in scripts that part their words by no space."""
MOST_SHOWN = 5
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_NUMBER = re.compile(r"\d[\d.,:/-]*\d|\d{2,}")
_ADDRESS = re.compile(r"\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+|\bhttps?://\S+|(?<!\w)@\w{2,}")
UNSPACED = r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0e7f]"
"""A character of a script that parts its words by no space."""
_UNSPACED = re.compile(f"{UNSPACED}+")
_SENTENCE_END = ".!?…:\n\"“”„»«('‘-–—•*#>|"


def leaks(new: str, known: Sequence[str], conversations: Sequence[str]) -> list[str]:
    """Find what the new prompt carries over from the conversations; a few words at most.
    `known` is what it may hold: the prompt before, the assertions, the advisor's name."""
    carried: list[str] = []
    allowed = "\n".join(known)
    for kind in (_addresses, _numbers, _names, _quotes, _unspaced_quotes):
        for text in kind(new, allowed, conversations):
            if not any(text in other for other in carried):
                carried.append(text)
    return carried[:MOST_SHOWN]


def _addresses(new: str, allowed: str, conversations: Sequence[str]) -> Iterable[str]:
    there = {
        address.rstrip(".,;:!?)") for text in conversations for address in _ADDRESS.findall(text)
    }
    return sorted(address for address in there if address in new and address not in allowed)


def _numbers(new: str, allowed: str, conversations: Sequence[str]) -> Iterable[str]:
    there = {number for text in conversations for number in _NUMBER.findall(text)}
    fine = set(_NUMBER.findall(allowed))
    return [number for number in _NUMBER.findall(new) if number in there and number not in fine]


def _names(new: str, allowed: str, conversations: Sequence[str]) -> Iterable[str]:
    fine = {word.casefold() for word in _WORD.findall(allowed)}
    words = {word.casefold(): word for word in _WORD.findall(new)}
    for name in _named(conversations):
        parts = name.split()
        if all(part.casefold() in fine for part in parts):
            continue
        if len(parts) == 1 and name.casefold() in words:
            yield words[name.casefold()]
        elif len(parts) > 1 and _spaced(name) in _spaced(new):
            yield name


def _named(conversations: Sequence[str]) -> list[str]:
    """The names in these texts."""
    capital: dict[str, str] = {}
    lower: set[str] = set()
    pairs: list[str] = []
    for text in conversations:
        nouns = detected(text) == "de"
        before = None
        for match in _WORD.finditer(text):
            word = match.group()
            if not word[0].isupper() or len(word) == 1:
                before = None
                lower.add(word.casefold())
                continue
            if nouns and before is not None and text[before.end() : match.start()] == " ":
                pairs.append(f"{before.group()} {word}")
            elif not nouns and not _starts_sentence(text, match.start()):
                capital.setdefault(word.casefold(), word)
            before = match
    return [*pairs, *(word for key, word in capital.items() if key not in lower)]


def _starts_sentence(text: str, at: int) -> bool:
    while at and text[at - 1] in " \t":
        at -= 1
    return not at or text[at - 1] in _SENTENCE_END


def _quotes(new: str, allowed: str, conversations: Sequence[str]) -> Iterable[str]:
    fine = f" {_spaced(allowed)} "
    there = {run for text in conversations for run in _runs(_spaced(text).split())}
    words = _spaced(new).split()
    at = 0
    while at + RUN <= len(words):
        run = tuple(words[at : at + RUN])
        if run in there and f" {' '.join(run)} " not in fine:
            yield " ".join(run)
            at += RUN
        else:
            at += 1


def _unspaced_quotes(new: str, allowed: str, conversations: Sequence[str]) -> Iterable[str]:
    spoken = "\n".join(conversations)
    for stretch in _UNSPACED.findall(new):
        for at in range(len(stretch) - RUN_CHARS + 1):
            run = stretch[at : at + RUN_CHARS]
            if run in spoken and run not in allowed:
                yield run
                break


def _runs(words: Sequence[str]) -> Iterable[tuple[str, ...]]:
    return (tuple(words[at : at + RUN]) for at in range(len(words) - RUN + 1))


def _spaced(text: str) -> str:
    return " ".join(_WORD.findall(text.casefold()))
