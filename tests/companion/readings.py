"""Readings for tests: the one without a gate, with what a test changes of it."""

from __future__ import annotations

from typing import Any

import msgspec

from polyvox.companion.gate import NO_GATE, Reading


def reading(**changes: Any) -> Reading:
    return msgspec.structs.replace(NO_GATE, **changes)
