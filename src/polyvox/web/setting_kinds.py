"""What a page must know to offer a setting: read off the type that checks it, so that a setting
added anywhere can be offered without a word here."""

from __future__ import annotations

import types
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

from polyvox.settings import MODEL


class Kind(BaseModel):
    """How a setting is put in, and what is accepted."""

    type: Literal["text", "number", "choice", "model", "models", "switch"]
    optional: bool = False
    """May be left empty."""
    whole: bool = False
    min: float | None = None
    max: float | None = None
    above: bool = False
    """The least itself is not accepted."""
    choices: list[str] = []
    pattern: str | None = None


def kind_of(field: Any) -> Kind:  # noqa: ANN401 - pydantic's own type
    """The kind of a setting by its field."""
    plain, empty = _plain(field.annotation), field.default in (None, "", ())
    if plain is bool:
        return Kind(type="switch")
    if plain in (int, float):
        least = _bound(field, "ge")
        return Kind(
            type="number",
            optional=empty,
            whole=plain is int,
            min=_bound(field, "gt") if least is None else least,
            max=_bound(field, "le"),
            above=least is None and _bound(field, "gt") is not None,
        )
    if get_origin(plain) is Literal:
        return Kind(type="choice", choices=[str(each) for each in get_args(plain)])
    if get_origin(plain) is tuple:
        return Kind(type="models", optional=empty)
    pattern = next((found for one in field.metadata if (found := _pattern(one))), None)
    if pattern and pattern.startswith(MODEL):
        return Kind(type="model", optional=empty)
    return Kind(type="text", optional=empty, pattern=pattern)


def _plain(annotation: Any) -> Any:  # noqa: ANN401 - any type
    """The type, without `Annotated` and `None`."""
    if get_origin(annotation) is Annotated:
        return _plain(get_args(annotation)[0])
    if get_origin(annotation) in (Union, types.UnionType):
        return _plain(next(each for each in get_args(annotation) if each is not types.NoneType))
    return annotation


def _bound(field: Any, name: str) -> float | None:  # noqa: ANN401 - pydantic's own type
    return next((getattr(one, name) for one in field.metadata if hasattr(one, name)), None)


def _pattern(one: Any) -> str | None:  # noqa: ANN401 - pydantic's own type
    found = getattr(one, "pattern", None)
    return found if isinstance(found, str) else None
