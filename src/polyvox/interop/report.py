"""The outcome of an import: things taken, things refused and why, remarks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from polyvox.store.database import Database, Tx
from polyvox.values import Scope


@dataclass(slots=True)
class Report:
    """Grows while a file is read and stored."""

    taken: list[str] = field(default_factory=list)
    present: list[str] = field(default_factory=list)
    """Things that were here already."""
    refused: list[str] = field(default_factory=list)
    """Things that cannot be used, each with its reason."""
    notes: list[str] = field(default_factory=list)

    @property
    def useless(self) -> bool:
        """True if there was nothing usable in the file."""
        return bool(self.refused) and not self.taken and not self.present

    def lines(self, *, dry: bool = False) -> list[str]:
        """The report as lines to read."""
        verb = "would add" if dry else "added"
        return [
            *(f"{verb} {entry}" for entry in self.taken),
            *(f"already here: {entry}" for entry in self.present),
            *(f"not taken: {entry}" for entry in self.refused),
            *(f"note: {entry}" for entry in self.notes),
        ]


class Undo(Exception):
    """Raised with the report at the end of a dry run, so that the transaction leaves nothing
    behind."""


async def take(
    database: Database, scope: Scope, work: Callable[[Tx], Report], *, dry: bool
) -> Report:
    """Import in one transaction; a `dry` run tells what would happen."""

    def import_(tx: Tx) -> Report:
        report = work(tx)
        if dry:
            raise Undo(report)
        return report

    try:
        return await database.write(import_, scope)
    except Undo as undone:
        report: Report = undone.args[0]
        return report
