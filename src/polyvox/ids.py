"""Ids (UUIDv7 as text: sortable by time, never reused) and the clock that everything is told by."""

from __future__ import annotations

import hashlib
import secrets
import threading
import time
from collections.abc import Callable

Clock = Callable[[], int]
"""Answers the time now: UTC, whole microseconds."""

_lock = threading.Lock()
_last = 0


def system_clock() -> int:
    """The machine's time in whole microseconds, UTC."""
    return time.time_ns() // 1000


def new_id() -> str:
    """A new UUIDv7. Ids made by one process sort in the order they were made."""
    global _last
    with _lock:
        # 48 bits of milliseconds and 12 of fraction: 60 bits that only ever grow.
        stamp = (time.time_ns() << 12) // 1_000_000
        _last = stamp = max(stamp, _last + 1)
    value = (stamp >> 12) << 80 | 0x7 << 76 | (stamp & 0xFFF) << 64 | 0b10 << 62
    text = f"{value | secrets.randbits(62):032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def content_hash(text: str) -> str:
    """The name of a text by its content: 32 hex digits of SHA-256."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]
