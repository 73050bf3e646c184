"""The parts that every room works with: settings, database, models, journal, clock."""

from __future__ import annotations

from dataclasses import dataclass

from polyvox.ids import Clock
from polyvox.models.registry import Models
from polyvox.settings import Settings
from polyvox.store.database import Database
from polyvox.stream.hub import Hub
from polyvox.stream.journal import Journal
from polyvox.work.worker import Bell


@dataclass(slots=True, eq=False)
class Resources:
    """Built by the app before any room. `settings` is replaced as a whole when a person changes
    them, so read it anew for every step."""

    settings: Settings
    database: Database
    models: Models
    journal: Journal
    hub: Hub
    clock: Clock
    runner_id: str
    bell: Bell
    """Rung by whoever has wanted a job, once that is stored."""
