"""The base of every table of the configuration."""

from __future__ import annotations

from typing import Any, get_args

from pydantic import BaseModel, ConfigDict, field_validator

from polyvox.settings.secret import Secret

ON_PAGE: dict[str, Any] = {"page": True}
"""Marks a setting that people may change on the page: it takes effect without a restart, and does
not decide who can reach the program."""
DAY = 86_400
MOST = 10_000_000
"""Tokens or dollars: more is a slip of the pen."""


class Section(BaseModel):
    """A table of the configuration file."""

    model_config = ConfigDict(
        extra="forbid", arbitrary_types_allowed=True, frozen=True, allow_inf_nan=False
    )

    @field_validator("*", mode="before")
    @classmethod
    def _given(cls, value: object, info: Any) -> object:  # noqa: ANN401 - pydantic's own type
        kind = cls.model_fields[info.field_name].annotation
        if isinstance(value, bool) and {int, float} & {kind, *get_args(kind)}:
            raise ValueError("must be a number, not true or false")
        return Secret(value) if kind is Secret and isinstance(value, str) else value
