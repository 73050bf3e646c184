"""Finding data in what a model replied: whole objects, however they are wrapped or cut off."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

MOST_STARTS = 400
"""Braces at which an object is looked for: a reply of nothing else must not take long."""


Pairs = Callable[[list[tuple[str, Any]]], dict[str, Any]]


def objects(text: str, pairs: Pairs | None = None) -> Iterator[dict[str, Any]]:
    """Every complete JSON object of a text, the outermost ones; where the whole cannot be read, for
    its end is missing, its parts can. `pairs` makes an object of its names and values; one that it
    refuses with a ValueError is none."""
    decoder = json.JSONDecoder(strict=False, object_pairs_hook=pairs)
    at = text.find("{")
    for _ in range(MOST_STARTS):
        if at < 0:
            return
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            yield value
        at = text.find("{", end)
