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
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from polyvox.errors import Invalid
from polyvox.evaluation import count, language
from polyvox.evaluation.pattern import compiled
from polyvox.evaluation.tables.assertions import Kind
from polyvox.evaluation.tables.verdicts import Outcome
from polyvox.receive import clean

COUNTED = ("words", "sentences", "questions")
MOST = 1_000_000
LONGEST_TEXT = 2000
MOST_KEYS = 50
ENDING = 60
"""Characters of an answer's end that a reason quotes."""
_FENCE = re.compile(r"\A```[\w-]*[ \t]*\n(.*)\n```\Z", re.DOTALL)

Args = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Checked:
    """The finding of a check, the reason first."""

    reason: str
    outcome: Outcome


def understood(kind: Kind, args: Mapping[str, Any] | None) -> Args:
    """The arguments of a kind, checked and with nothing left out; Invalid says what is wrong."""
    given = {key: value for key, value in (args or {}).items() if value is not None}
    known = KNOWN[kind]
    for key in given:
        if key not in known:
            names = ", ".join(known) if known else "none at all"
            raise Invalid(
                f"A check of kind {kind!r} has no argument {key!r}.",
                f"It takes {names}.",
                param="args",
            )
    return _READERS[kind](given)


def check(kind: Kind, args: Mapping[str, Any], answer: str) -> Checked:
    """Look at an answer. `judge` is no check: a model has to look."""
    if kind == "judge":
        raise ValueError("a judged assertion is not checked in code")
    return _CHECKS[kind](args, answer)


def described(kind: Kind, args: Mapping[str, Any]) -> str:
    """A check in words, for one that was given none."""
    if kind in COUNTED:
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


# -- arguments -------------------------------------------------------------------------------------

KNOWN: dict[Kind, tuple[str, ...]] = {
    "judge": (),
    "words": ("min", "max"),
    "sentences": ("min", "max"),
    "questions": ("min", "max"),
    "contains": ("text", "ignore_case", "whole_words"),
    "lacks": ("text", "ignore_case", "whole_words"),
    "matches": ("pattern", "ignore_case", "lines"),
    "ends_with_question": (),
    "language": ("language",),
    "json": ("keys",),
}


def _none(_: Args) -> Args:
    return {}


def _numbers(given: Args) -> Args:
    if not given:
        raise Invalid("A number is missing.", "Give min, max or both.", param="args")
    for key, value in given.items():
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MOST:
            raise Invalid(
                f"`{key}` must be a whole number from 0 to {MOST:,}.", "Correct it.", param="args"
            )
    if given.get("min", 0) > given.get("max", MOST):
        raise Invalid("`min` is more than `max`: nothing could pass.", "Swap them.", param="args")
    return {key: given[key] for key in ("min", "max") if key in given}


def _wanted_text(given: Args) -> Args:
    text = given.get("text")
    if not isinstance(text, str):
        raise Invalid("The text to look for is missing.", "Give it as `text`.", param="args")
    clean(text, "text", LONGEST_TEXT)
    return {
        "text": text,
        "ignore_case": _flag(given, "ignore_case", otherwise=True),
        "whole_words": _flag(given, "whole_words", otherwise=False),
    }


def _pattern(given: Args) -> Args:
    pattern = given.get("pattern")
    if not isinstance(pattern, str) or not pattern:
        raise Invalid("The pattern is missing.", "Give it as `pattern`.", param="args")
    clean(pattern, "pattern", LONGEST_TEXT, empty=True)
    args = {
        "pattern": pattern,
        "ignore_case": _flag(given, "ignore_case", otherwise=False),
        "lines": _flag(given, "lines", otherwise=False),
    }
    compiled(pattern, ignore_case=args["ignore_case"], lines=args["lines"])
    return args


def _language(given: Args) -> Args:
    code = given.get("language")
    known = ", ".join(sorted(language.NAMES))
    if not isinstance(code, str):
        raise Invalid("The language is missing.", f"Known are {known}.", param="args")
    wanted = code.strip().lower().partition("-")[0]
    if wanted not in language.NAMES:
        named = {name.lower(): code_ for code_, name in language.NAMES.items()}
        wanted = named.get(code.strip().lower(), "")
    if not wanted:
        raise Invalid(
            f"The language {code[:40]!r} cannot be told from others here.",
            f"Known are {known}; leave others to a judge.",
            param="args",
        )
    return {"language": wanted}


def _keys(given: Args) -> Args:
    keys = given.get("keys", [])
    if not isinstance(keys, list | tuple) or not all(isinstance(key, str) for key in keys):
        raise Invalid("`keys` must be a list of names.", "Correct it.", param="args")
    if len(keys) > MOST_KEYS:
        raise Invalid(f"`keys` has more than {MOST_KEYS} names.", "Name fewer.", param="args")
    for key in keys:
        clean(key, "keys", 200)
    return {"keys": list(dict.fromkeys(keys))} if keys else {}


def _flag(given: Args, key: str, *, otherwise: bool) -> bool:
    value = given.get(key, otherwise)
    if not isinstance(value, bool):
        raise Invalid(f"`{key}` must be true or false.", "Correct it.", param="args")
    return value


_READERS: dict[Kind, Callable[[Args], Args]] = {
    "judge": _none,
    "words": _numbers,
    "sentences": _numbers,
    "questions": _numbers,
    "contains": _wanted_text,
    "lacks": _wanted_text,
    "matches": _pattern,
    "ends_with_question": _none,
    "language": _language,
    "json": _keys,
}


Check = Callable[[Mapping[str, Any], str], Checked]
"""Looks at an answer, with the arguments of its kind."""

# -- answers ---------------------------------------------------------------------------------------


def _counted(
    what: str, counter: Callable[[str], int]
) -> Callable[[Mapping[str, Any], str], Checked]:
    def look(args: Mapping[str, Any], answer: str) -> Checked:
        number = counter(answer)
        reason = f"It has {_many(number, what)}; wanted: {_range(args, what)}."
        inside = args.get("min", 0) <= number <= args.get("max", number)
        return Checked(reason, "pass" if inside else "fail")

    return look


def _contains(args: Mapping[str, Any], answer: str) -> Checked:
    there = _found(args, answer)
    reason = f"“{args['text']}” is {'in' if there else 'not in'} it."
    return Checked(reason, "pass" if there else "fail")


def _lacks(args: Mapping[str, Any], answer: str) -> Checked:
    there = _found(args, answer)
    reason = f"“{args['text']}” is {'in' if there else 'not in'} it."
    return Checked(reason, "fail" if there else "pass")


def _found(args: Mapping[str, Any], answer: str) -> bool:
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


def _matches(args: Mapping[str, Any], answer: str) -> Checked:
    pattern = compiled(
        args["pattern"],
        ignore_case=bool(args.get("ignore_case", False)),
        lines=bool(args.get("lines", False)),
    )
    match = pattern.search(answer.strip())
    reason = f"The pattern {args['pattern']} is {'' if match else 'not '}found in it."
    return Checked(reason, "pass" if match else "fail")


def _ending(answer: str) -> str:
    """Its last words, whole ones where they are of usual length."""
    text = " ".join(answer.split())
    if len(text) <= ENDING:
        return text
    cut = text[-ENDING:]
    return f"… {cut.partition(' ')[2] or cut}"


def _asks(_: Mapping[str, Any], answer: str) -> Checked:
    last = _ending(answer)
    asks = count.ends_with_question(answer)
    reason = f"It ends with “{last}”." if last else "It says nothing."
    return Checked(reason, "pass" if asks else "fail")


def _spoken(args: Mapping[str, Any], answer: str) -> Checked:
    wanted = args["language"]
    spoken = language.detected(answer)
    if spoken is None:
        return Checked(
            "Its language cannot be told: it is too short, or between language.", "error"
        )
    reason = f"It is in {language.NAMES[spoken]}; {language.NAMES[wanted]} was wanted."
    return Checked(reason, "pass" if spoken == wanted else "fail")


def _json(args: Mapping[str, Any], answer: str) -> Checked:
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


def _range(args: Mapping[str, Any], what: str) -> str:
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


_CHECKS: dict[Kind, Check] = {
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
