"""Checks in code: assertions that cost nothing and cannot be wrong about what they say.

`understood` takes the arguments apart once, when an assertion is made; `check` looks at an answer.
The reason is worked out before the outcome, and says what was found and what was wanted. An `error`
is for an answer that a check cannot tell about; it is never a fail.

    words, sentences, questions     min, max (at least one of them)
    contains, lacks                 text, ignore_case (on), whole_words (off)
    matches                         pattern, ignore_case (off), lines (off: ^ and $ are the ends)
    ends_with_question              nothing
    language                        language (a code like "en")
    json                            keys (that the object must have)
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from polyvox.errors import Invalid
from polyvox.evaluation import count, language
from polyvox.evaluation.pattern import compiled
from polyvox.evaluation.tables.assertions import Kind, Wording
from polyvox.evaluation.tables.verdicts import Outcome
from polyvox.receive import clean

MOST = 1_000_000
LONGEST_TEXT = 2000
MOST_KEYS = 50
ENDING = 60
"""Characters of an answer's end that a reason quotes."""
_FENCE = re.compile(r"\A```[\w-]*[ \t]*\n(.*)\n```\Z", re.DOTALL)

_NUMBER = re.compile(r"\d{1,9}(?:,\d{3})*")
_QUOTED = re.compile(r"[“\"](.+)[”\"]")

Args = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Checked:
    """The finding of a check, the reason first."""

    reason: str
    outcome: Outcome


def understood(kind: Kind, args: Args | None) -> dict[str, Any]:
    """The arguments of a kind, checked and with nothing left out; Invalid says what is wrong."""
    given = {key: value for key, value in (args or {}).items() if value is not None}
    known = KNOWN[kind]
    for key in given:
        if key not in known:
            names = ", ".join(known) if known else "none at all"
            raise _invalid(
                f"A check of kind {kind!r} has no argument {key!r}.", f"It takes {names}."
            )
    whole: dict[str, Any] = {}
    for name, otherwise in known.items():
        value = given.get(name, otherwise)
        if value is ...:
            raise _invalid(f"The {name} is missing.", f"Give it as `{name}`.")
        if value not in (None, []):
            whole[name] = _READERS[name](name, value)
    if known is _RANGE:
        if not whole:
            raise _invalid("A number is missing.", "Give min, max or both.")
        if whole.get("min", 0) > whole.get("max", MOST):
            raise _invalid("`min` is more than `max`: nothing could pass.", "Swap them.")
    if kind == "matches":
        compiled(**whole)
    return whole


def check(kind: Kind, args: Args, answer: str) -> Checked:
    """Look at an answer. `judge` is no check: a model has to look."""
    return _CHECKS[kind](args, answer)


def described(kind: Kind, args: Args) -> str:
    """A check in words, for one that was given none."""
    if KNOWN[kind] is _RANGE:
        return _range(args, kind).capitalize()
    if kind in ("contains", "lacks"):
        return f"{'Contains' if kind == 'contains' else 'Does not contain'} “{args['text']}”"
    if kind == "matches":
        return f"Matches {args['pattern']}"
    if kind == "language":
        return f"Is in {language.NAMES[args['language']]}"
    if kind == "json":
        keys = ", ".join(args.get("keys", ()))
        return f"Is valid JSON with {keys}" if keys else "Is valid JSON"
    return "Ends with a question"


def written(text: str) -> Wording | None:
    """The check in code that words stand for: one whose description they are. None: there is none,
    and a judge has to look."""
    plain = _comparable(text)
    for kind, args in _candidates(text):
        try:
            whole = understood(kind, args)
        except Invalid:
            continue
        if _comparable(described(kind, whole)) == plain:
            return Wording(described(kind, whole), kind, whole)
    return None


def _candidates(text: str) -> Iterator[tuple[Kind, dict[str, Any]]]:
    """Checks that could be meant, by the numbers and the quoted words of a text."""
    numbers = [int(number.replace(",", "")) for number in _NUMBER.findall(text)][:2] or [0]
    for kind, known in KNOWN.items():
        if known is _RANGE:
            yield kind, {"max": numbers[-1]}
            yield kind, {"min": numbers[0]}
            yield kind, {"min": numbers[0], "max": numbers[-1]}
        elif known is _TEXT and (quote := _QUOTED.search(text)) is not None:
            yield kind, {"text": quote[1]}
        elif kind == "language":
            yield from ((kind, {"language": code}) for code in language.NAMES)
        elif kind in ("ends_with_question", "json"):
            yield kind, {}


def _comparable(text: str) -> str:
    """A description however it is typed: small letters, straight quotes, no full stop."""
    plain = " ".join(text.split()).rstrip(".").casefold().replace("“", '"').replace("”", '"')
    return _NUMBER.sub(lambda number: number[0].replace(",", ""), plain)


# -- arguments -------------------------------------------------------------------------------------

_RANGE: Args = {"min": None, "max": None}
_TEXT: Args = {"text": ..., "ignore_case": True, "whole_words": False}
KNOWN: dict[Kind, Args] = {
    "judge": {},
    "words": _RANGE,
    "sentences": _RANGE,
    "questions": _RANGE,
    "contains": _TEXT,
    "lacks": _TEXT,
    "matches": {"pattern": ..., "ignore_case": False, "lines": False},
    "ends_with_question": {},
    "language": {"language": ...},
    "json": {"keys": None},
}
"""The arguments of each kind with their defaults; `...`: there is none, None: it may be absent."""


def _invalid(message: str, hint: str = "Correct it.") -> Invalid:
    return Invalid(message, hint, param="args")


def _number(name: str, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MOST:
        raise _invalid(f"`{name}` must be a whole number from 0 to {MOST:,}.")
    return value


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise _invalid(f"`{name}` must be text.")
    # A pattern may look for blanks alone.
    return clean(value, name, LONGEST_TEXT, empty=name == "pattern" and value != "")


def _flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise _invalid(f"`{name}` must be true or false.")
    return value


def _language(name: str, value: object) -> str:
    code = _text(name, value).strip().lower()
    codes = {name.lower(): known for known, name in language.NAMES.items()}
    wanted = codes.get(code) or code.partition("-")[0]
    if wanted not in language.NAMES:
        known = ", ".join(sorted(language.NAMES))
        raise _invalid(
            f"The language {code[:40]!r} cannot be told from others here.",
            f"Known are {known}; leave others to a judge.",
        )
    return wanted


def _keys(name: str, value: object) -> list[str]:
    if not isinstance(value, list | tuple) or len(value) > MOST_KEYS:
        raise _invalid(f"`{name}` must be a list of at most {MOST_KEYS} names.")
    return list(dict.fromkeys(_text(name, key) for key in value))


_READERS: dict[str, Callable[[str, object], object]] = {
    "min": _number,
    "max": _number,
    "text": _text,
    "pattern": _text,
    "ignore_case": _flag,
    "whole_words": _flag,
    "lines": _flag,
    "language": _language,
    "keys": _keys,
}

# -- answers ---------------------------------------------------------------------------------------


def _counted(what: str, counter: Callable[[str], int]) -> Callable[[Args, str], Checked]:
    def look(args: Args, answer: str) -> Checked:
        number = counter(answer)
        reason = f"It has {_many(number, what)}; wanted: {_range(args, what)}."
        inside = args.get("min", 0) <= number <= args.get("max", number)
        return Checked(reason, "pass" if inside else "fail")

    return look


def _contains(args: Args, answer: str) -> Checked:
    there = _found(args, answer)
    reason = f"“{args['text']}” is {'in' if there else 'not in'} it."
    return Checked(reason, "pass" if there else "fail")


def _lacks(args: Args, answer: str) -> Checked:
    there = _contains(args, answer)
    return Checked(there.reason, "fail" if there.outcome == "pass" else "pass")


def _found(args: Args, answer: str) -> bool:
    """True if a text stands in an answer, however its accents are coded and its lines are
    broken."""
    wanted, text = _plain(args["text"]), _plain(answer)
    if args.get("ignore_case", True):
        wanted, text = wanted.casefold(), text.casefold()
    at = text.find(wanted)
    while at >= 0 and args.get("whole_words", False):
        before, after = text[at - 1 : at] if at else "", text[at + len(wanted) :][:1]
        if not (_joined(before, wanted[:1]) or _joined(wanted[-1:], after)):
            return True
        at = text.find(wanted, at + 1)
    return at >= 0


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).replace("’", "'").split())


def _joined(left: str, right: str) -> bool:
    """True if two characters belong to one word (in scripts that part their words)."""
    return left.isalnum() and right.isalnum() and count.words(left + right) == 1


def _matches(args: Args, answer: str) -> Checked:
    match = compiled(**args).search(answer.strip())
    reason = f"The pattern {args['pattern']} is {'' if match else 'not '}found in it."
    return Checked(reason, "pass" if match else "fail")


def _ending(answer: str) -> str:
    """Its last words, whole ones where they are of usual length."""
    text = " ".join(answer.split())
    if len(text) <= ENDING:
        return text
    cut = text[-ENDING:]
    return f"… {cut.partition(' ')[2] or cut}"


def _asks(_: Args, answer: str) -> Checked:
    last = _ending(answer)
    asks = count.ends_with_question(answer)
    reason = f"It ends with “{last}”." if last else "It says nothing."
    return Checked(reason, "pass" if asks else "fail")


def _spoken(args: Args, answer: str) -> Checked:
    wanted = args["language"]
    spoken = language.detected(answer)
    if spoken is None:
        return Checked(
            "Its language cannot be told: it is too short, or between language.", "error"
        )
    reason = f"It is in {language.NAMES[spoken]}; {language.NAMES[wanted]} was wanted."
    return Checked(reason, "pass" if spoken == wanted else "fail")


def _json(args: Args, answer: str) -> Checked:
    text = answer.strip()
    if (fenced := _FENCE.match(text)) is not None:
        text = fenced[1]
    try:
        value = json.loads(text, parse_constant=_no_constant)
    except RecursionError:
        return Checked("It is nested too deeply to be read as JSON.", "error")
    except ValueError as error:
        return Checked(f"It is not valid JSON: {error}.", "fail")
    wanted = args.get("keys", ())
    if not wanted:
        return Checked("It is valid JSON.", "pass")
    if not isinstance(value, dict):
        return Checked("It is valid JSON, but not an object with keys.", "fail")
    missing = [key for key in wanted if key not in value]
    if missing:
        return Checked(f"It is valid JSON without {', '.join(missing)}.", "fail")
    return Checked("It is valid JSON with every key that was wanted.", "pass")


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON value")


def _range(args: Args, what: str) -> str:
    low, high = args.get("min"), args.get("max")
    if high is None:
        return f"at least {_many(low or 0, what)}"
    if high == 0:
        return f"no {what}"
    if not low:
        return f"at most {_many(high, what)}"
    return f"exactly {_many(low, what)}" if low == high else f"{low:,} to {_many(high, what)}"


def _many(number: int, what: str) -> str:
    return f"{number:,} {what if number != 1 else what[:-1]}"


_CHECKS: dict[Kind, Callable[[Args, str], Checked]] = {
    "words": _counted("words", count.words),
    "sentences": _counted("sentences", count.sentences),
    "questions": _counted("questions", count.questions),
    "contains": _contains,
    "lacks": _lacks,
    "matches": _matches,
    "ends_with_question": _asks,
    "language": _spoken,
    "json": _json,
}
