"""① Any door's input becomes one validated message, or a clear error; never something between."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from polyvox.errors import Invalid
from polyvox.ids import content_hash
from polyvox.values import ASSISTANT_ID, Advisor

OBEYED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""Characters that a terminal would take as a command; tabs and line breaks are not among them."""
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_BREAK = re.compile(r"[\n\r\u2028\u2029]")
_TURNED = re.compile(r"[\u202a-\u202e\u2066-\u2069]")
"""Makes a name read as another one: letters after it run the other way."""
_UNSEEN = frozenset({"Zs", "Zl", "Zp", "Cc", "Cf", "Cs", "Mn", "Me"})
_BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Letters and signs by their category, but nothing is drawn for them."""
_MENTION = re.compile(r"(?<![\w@/.])@([\w][\w-]*)")


@dataclass(frozen=True, slots=True)
class UserMessage:
    """A person's message and the advisors it names. `asked` is None when it names nobody."""

    content: str
    asked: tuple[str, ...] | None = None
    idempotency_key: str | None = None
    body_hash: str = ""


def body_hash(content: str, advisors: Sequence[str] | None, *, answer_now: bool = False) -> str:
    """Tells whether a repeated idempotency key came with the same body: as it was given, whoever
    those names mean by now."""
    given = (content, None if advisors is None else list(advisors))
    return content_hash(repr((*given, "answer now") if answer_now else given))


def clean(text: str, what: str, limit: int, *, empty: bool = False) -> str:
    """`text` if it can be stored, sent and shown as it is; else Invalid, saying why."""
    if len(text) > limit:
        raise Invalid(
            f"The {what} has {len(text):,} characters; {limit:,} is the most.",
            "Shorten it, or raise the limit in the settings.",
            param=what,
        )
    if (match := _CONTROL.search(text)) is not None:
        raise Invalid(
            f"The {what} holds a control character (U+{ord(match[0]):04X}) at position"
            f" {match.start()}.",
            "Remove it; tabs and line breaks are fine.",
            param=what,
        )
    if not empty and not visible(text):
        raise Invalid(f"The {what} is empty.", "Write something.", param=what)
    return text


def visible(text: str) -> bool:
    """True if there is anything to see in it."""
    return any(c not in _BLANK and unicodedata.category(c) not in _UNSEEN for c in text)


def clean_name(text: str, what: str, limit: int, *, empty: bool = False) -> str:
    """`text` if it can be a name or a title: clean, one line, seen, and read as it is written."""
    clean(text, what, limit, empty=empty and not text)
    if _BREAK.search(text) is not None:
        raise Invalid(f"The {what} has more than one line.", "Write it in one.", param=what)
    if (match := _TURNED.search(text)) is not None:
        raise Invalid(
            f"The {what} holds a character that turns text around (U+{ord(match[0]):04X}).",
            "Remove it.",
            param=what,
        )
    return text


def mended_name(text: str, limit: int, otherwise: str = "") -> str:
    """The nearest name that `clean_name` takes; `otherwise` where nothing of it can be seen."""
    line = _TURNED.sub("", _CONTROL.sub("", _BREAK.sub(" ", text)))[:limit]
    return line if visible(line) else otherwise


def printable(text: str) -> str:
    """The text without anything that a terminal would take as a command (tabs and line breaks
    stay): an answer must not be able to repaint the screen of who reads it."""
    return OBEYED.sub("", text.replace("\r\n", "\n"))


def escaped(json: str) -> str:
    """JSON that means the same, and that a terminal can be given: JSON itself lets U+007F to
    U+009F stand in a text."""
    return re.sub("[\x7f-\x9f]", lambda match: f"\\u{ord(match[0]):04x}", json)


def receive(
    content: str,
    *,
    known: Sequence[Advisor],
    limit: int,
    advisors: Sequence[str] | None = None,
    idempotency_key: str | None = None,
    answer_now: bool = False,
) -> UserMessage:
    """A message from any door. Advisors named by the caller win over @mentions in the text; an @
    that names no advisor is just text, unless the message begins with it."""
    clean(content, "content", limit)
    if idempotency_key is not None:
        clean(idempotency_key, "idempotency_key", 200)
    given = body_hash(content, advisors, answer_now=answer_now)
    by_name = {ASSISTANT_ID: ASSISTANT_ID}
    by_name |= {key: a.id for a in known for key in (a.slug.casefold(), a.id)}
    if advisors is not None:
        if not advisors:
            raise Invalid(
                "The list of advisors is empty.",
                "Name somebody, or leave it out.",
                param="advisors",
            )
        asked = []
        for name in advisors:
            key = name.removeprefix("@").casefold()
            if key not in by_name:
                slugs = ", ".join(sorted(a.slug for a in known)) or "none yet"
                raise Invalid(
                    f"There is no advisor {name!r}.", f"Known advisors: {slugs}.", param="advisors"
                )
            asked.append(by_name[key])
        return UserMessage(content, tuple(dict.fromkeys(asked)), idempotency_key, given)
    _check_addressed(content, known)
    return UserMessage(content, mentioned(content, known) or None, idempotency_key, given)


def _check_addressed(content: str, known: Sequence[Advisor]) -> None:
    """Ask whom a message is meant for that begins with an @ and the name of nobody. Later in a
    text an @ may be anything."""
    slugs = {advisor.slug.casefold() for advisor in known}
    for word in content.split():
        if (match := _MENTION.match(word)) is None:
            return
        if match[1].casefold() in slugs or not slugs:
            continue
        near = difflib.get_close_matches(match[1].casefold(), slugs, 1, cutoff=0.5)
        guess = f"Did you mean @{near[0]}? " if near else ""
        raise Invalid(
            f"Whom do you mean by @{match[1]}? There is no advisor of that name.",
            f"{guess}Known: {', '.join(f'@{slug}' for slug in sorted(slugs))}.",
            param="content",
        )


def mentioned(content: str, known: Sequence[Advisor]) -> tuple[str, ...]:
    """The advisors that a text names with an @, in the order it names them."""
    by_slug = {advisor.slug.casefold(): advisor.id for advisor in known}
    names = (by_slug.get(name.casefold()) for name in _MENTION.findall(content))
    return tuple(dict.fromkeys(name for name in names if name is not None))
