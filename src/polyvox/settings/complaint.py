"""A validator's complaint in words for people: what the value should have been."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from polyvox.settings.schema import COLOR, CONTEXT, LANGUAGE, MODEL, SLUG

WORDS = {
    "missing": "is needed",
    "extra_forbidden": "is not known here",
    "string_type": "must be a text",
    "bool_parsing": "must be true or false",
    "bool_type": "must be true or false",
    "int_parsing": "must be a whole number",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_parsing": "must be a number",
    "float_type": "must be a number",
    "finite_number": "must be a number",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
    "dict_type": "must be a table of names and values",
    "model_type": "must be a table of names and values",
    "model_attributes_type": "must be a table of names and values",
    "dataclass_type": "must be a table of names and values",
    "literal_error": "must be one of: {expected}",
    "greater_than_equal": "must be at least {ge}",
    "greater_than": "must be more than {gt}",
    "less_than_equal": "must be at most {le}",
    "less_than": "must be less than {lt}",
    "string_too_short": "must have at least {min_length} characters",
    "string_too_long": "is longer than {max_length} characters",
    "too_short": "has fewer than {min_length} entries",
    "too_long": "has more than {max_length} entries",
    "datetime_from_date_parsing": "must be a date and time, such as 2026-11-18T09:30",
    "datetime_parsing": "must be a date and time, such as 2026-11-18T09:30",
    "date_from_datetime_parsing": "must be a date, such as 2026-11-18",
}

FORMS = {
    MODEL: 'must be written "provider:name"',
    CONTEXT: 'must be a number with its unit, such as "150000 chars" or "32000 tokens"',
    SLUG: "must be small letters, digits, - and _, beginning with a letter or digit",
    LANGUAGE: "must be a language's short name, such as en",
    COLOR: "must be a colour such as #2b7283",
}
"""What a text with one of our patterns must look like."""


def complaint(error: Mapping[str, Any]) -> str:
    """One of pydantic's errors in our own words, without a full stop. A check of our own has said
    it itself; what is not known by name is only called unacceptable."""
    if error["type"] == "value_error":
        return str(error["msg"]).removeprefix("Value error, ").removesuffix(".")
    context = {
        name: int(value) if isinstance(value, float) and value.is_integer() else value
        for name, value in (error.get("ctx") or {}).items()
    }
    if error["type"] == "string_pattern_mismatch":
        wanted = str(context["pattern"]).removesuffix("|^$")
        return FORMS.get(wanted, "is not written in the way it has to be")
    if error["type"] == "string_too_short" and context["min_length"] == 1:
        return "must not be empty"
    return WORDS.get(error["type"], "is not acceptable").format_map(context)


def misfit(error: Exception) -> str:
    """One of msgspec's errors in our own words, without a full stop; a check of our own has said it
    itself."""
    said = str(error)
    if not isinstance(error, msgspec.MsgspecError):
        return said
    place = re.search(r"at `\$\.?([^`]+)`", said)
    if missing := re.search(r"missing required field `([^`]+)`", said):
        name = f"{place[1]}.{missing[1]}" if place else missing[1]
        return f"{name!r} is missing"
    return f"{place[1]!r} is not what it should be" if place else "it is not what it should be"
