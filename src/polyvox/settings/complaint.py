"""A validator's complaint in words for people: what the value should have been."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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
    "string_pattern_mismatch": "is not written in the way it has to be",
    "literal_error": "must be one of: {expected}",
    "greater_than_equal": "must be at least {ge}",
    "greater_than": "must be more than {gt}",
    "less_than_equal": "must be at most {le}",
    "less_than": "must be less than {lt}",
    "string_too_short": "is too short or empty",
    "string_too_long": "is longer than {max_length} characters",
    "too_short": "has fewer than {min_length} entries",
    "too_long": "has more than {max_length} entries",
    "datetime_from_date_parsing": "must be a date and time, such as 2026-11-18T09:30",
    "datetime_parsing": "must be a date and time, such as 2026-11-18T09:30",
    "date_from_datetime_parsing": "must be a date, such as 2026-11-18",
}


def complaint(error: Mapping[str, Any]) -> str:
    """One of pydantic's errors in our own words, without a full stop. A check of our own has said
    it itself; what is not known by name is only called unacceptable."""
    if error["type"] == "value_error":
        return str(error["msg"]).removeprefix("Value error, ").removesuffix(".")
    return WORDS.get(error["type"], "is not acceptable").format_map(error.get("ctx") or {})
