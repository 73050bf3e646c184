"""The settings of evaluations and optimisations."""

from __future__ import annotations

from pydantic import Field

from polyvox.settings.section import MOST, ON_PAGE, Section


class EvaluationSettings(Section):
    """How answers are checked against assertions."""

    badges: bool = Field(
        False,
        description="Check every new answer against its advisor's assertions, and mark its card.",
        json_schema_extra=ON_PAGE,
    )
    concurrency: int = Field(
        4,
        ge=1,
        le=64,
        description="Model calls that one evaluation or optimisation makes at once.",
        json_schema_extra=ON_PAGE,
    )
    confirm: bool = Field(
        False,
        description="Ask the judge again before a fail counts.",
        json_schema_extra=ON_PAGE,
    )
    iterations: int = Field(
        10,
        ge=1,
        le=100,
        description="Rewritten prompts that one optimisation tries at most.",
        json_schema_extra=ON_PAGE,
    )
    budget: float | None = Field(
        1.0,
        gt=0,
        le=MOST,
        description="USD that one optimisation may spend, unless it is started with another sum.",
        json_schema_extra=ON_PAGE,
    )
