"""Fields of request bodies, checked with plain words and shown on the OpenAPI page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from polyvox.errors import Invalid
from polyvox.receive import clean, clean_name, visible
from polyvox.settings.schema import COLOR, MODEL, SLUG
from polyvox.values import Params

SAYS = {"pattern": r"\S"}
"""On the OpenAPI page: at least one character that can be seen."""


def _checked(check: Callable[..., str]) -> AfterValidator:
    """A check of the road, for a body: its length is the field's own to bound."""

    def validate(text: str) -> str:
        try:
            return check(text, "text", len(text), empty=True)
        except Invalid as error:
            raise ValueError(error.message.removesuffix(".")) from None

    return AfterValidator(validate)


def _filled(text: str) -> str:
    if not visible(text):
        raise ValueError("must not be empty")
    return text


def _not_blank(text: str) -> str:
    return _filled(text) if text else text


_clean, _name = _checked(clean), _checked(clean_name)
Text = Annotated[str, _clean]
"""Any text without control characters."""
Filled = Annotated[str, _clean, AfterValidator(_filled), Field(json_schema_extra=SAYS)]
"""Text that says something."""
Name = Annotated[Filled, _name, Field(min_length=1, max_length=120)]
"""One line that can be seen and reads as it is written."""
Title = Annotated[str, _name, Field(max_length=200)]
"""The same, or nothing."""
Slug = Annotated[str, Field(pattern=SLUG)]
ModelName = Annotated[str, Field(pattern=MODEL, max_length=300), _clean]
Color = Annotated[str, Field(pattern=COLOR)]
Id = Annotated[Text, Field(min_length=1, max_length=200)]
Prompt = Annotated[Text, AfterValidator(_not_blank), Field(max_length=100_000)]
"""Nothing, or something that can be seen."""
Message = Annotated[str, Field(min_length=1, json_schema_extra=SAYS)]
"""A message of a person; the road itself checks it, for every door."""
RecipeName = Slug
"""The road itself checks that there is such a recipe."""
Asking = Annotated[int, Field(strict=True, ge=0, le=1000)]
"""A number of answers in which advisors only ask."""
Item = Annotated[Text, Field(min_length=1, max_length=500)]
"""The id of a memory that a session is told at its start."""
Vetoes = Annotated[list[Item], Field(max_length=200)]


class Body(BaseModel):
    """A request body; unknown keys are refused."""

    model_config = ConfigDict(extra="forbid")

    def given(self, *nullable: str) -> dict[str, Any]:
        """The fields that the body sets; a null counts only where it means "none"."""
        values = self.model_dump(exclude_unset=True)
        return {key: value for key, value in values.items() if value is not None or key in nullable}


class ParamsBody(Body):
    """Parameters for asking an advisor's model."""

    max_tokens: int | None = Field(None, ge=1, le=1_000_000)
    temperature: float | None = Field(None, ge=0, le=2)
    top_p: float | None = Field(None, gt=0, le=1)
    reasoning: int | None = Field(None, ge=0, le=1_000_000)

    def value(self) -> Params:
        """The value of the road."""
        return Params(**self.model_dump())
