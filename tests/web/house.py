"""The app for tests of the HTTP interface, under the names that they use."""

from __future__ import annotations

from tests.app import (
    KEY,
    Event,
    Page,
    Parser,
    Reply,
    Visitor,
    bare,
    settings_for,
)
from tests.app import App as House
from tests.app import app_in_thread as house_in_thread
from tests.app import open_app as open_house
from tests.app import serve as lived_in

__all__ = [
    "KEY",
    "Event",
    "House",
    "Page",
    "Parser",
    "Reply",
    "Visitor",
    "bare",
    "house_in_thread",
    "lived_in",
    "open_house",
    "settings_for",
]
