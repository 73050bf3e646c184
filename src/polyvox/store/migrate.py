"""The tables, as numbered SQL files applied in order: one list for both databases.

All that is missing is applied in one transaction that holds the write lock, so a crash leaves the
old state and two programs that start at once migrate once. A file may hold sections for one
database: a line `-- sqlite:` or `-- postgresql:` begins one, `-- both:` ends it.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from polyvox.errors import ConfigError, StoreError
from polyvox.ids import Clock
from polyvox.store.adopt_statements import adopt
from polyvox.store.database import Dialect, Tx

FOLDER = Path(__file__).parent / "migrations"
WORDS: dict[Dialect, dict[str, str]] = {
    "sqlite": {"blob": "BLOB", "real": "REAL"},
    "postgresql": {"blob": "BYTEA", "real": "DOUBLE PRECISION"},
}
STEPS: dict[int, Callable[[Tx], None]] = {19: adopt}
"""Steps behind the statements of a version, where SQL alone cannot say them."""
_SECTION = re.compile(r"^-- (sqlite|postgresql|both):\s*$")


@dataclass(frozen=True)
class Migration:
    """One step from a version of the tables to the next."""

    version: int
    name: str
    text: str

    def statements(self, dialect: Dialect) -> Sequence[str]:
        """The statements for a database of this kind, in order."""
        statements: list[str] = []
        section = "both"
        pending = ""
        for line in self.text.splitlines():
            if (mark := _SECTION.match(line)) is not None:
                section = mark[1]
            elif section in ("both", dialect) and not line.lstrip().startswith("--"):
                pending += f"{line}\n"
                # SQLite's own splitter knows strings and trigger bodies.
                if pending.strip() and sqlite3.complete_statement(pending):
                    statements.append(_worded(pending, dialect))
                    pending = ""
        if pending.strip():
            raise ValueError(f"migration {self.version} ends in the middle of a statement")
        return statements


def shipped() -> tuple[Migration, ...]:
    """The migrations of this program, in order."""
    migrations = []
    for path in sorted(FOLDER.glob("[0-9]*.sql")):
        number, _, name = path.stem.partition("_")
        migrations.append(Migration(int(number), name, path.read_text(encoding="utf-8")))
    return tuple(migrations)


def migrate(
    tx: Tx,
    migrations: Sequence[Migration],
    clock: Clock,
    where: str,
    before: Callable[[int], object],
) -> None:
    """Apply what is missing, inside the transaction that `tx` belongs to, which holds the write
    lock. `before` gets the old version when there is something to apply to tables that exist."""
    version = _version(tx, where)
    latest = migrations[-1].version
    if version > latest:
        raise ConfigError(
            f"{where} was written by a newer Polyvox "
            f"(its tables have version {version}, this program knows {latest}).",
            "Upgrade Polyvox, or choose another database with the setting `database`.",
        )
    missing = [migration for migration in migrations if migration.version > version]
    if missing and version:
        before(version)
    for migration in missing:
        for statement in migration.statements(tx.dialect):
            tx.run(statement)
        if (step := STEPS.get(migration.version)) is not None:
            step(tx)
        tx.run(
            "INSERT INTO schema_version (version, applied_at, name) VALUES (?, ?, ?)",
            (migration.version, clock(), migration.name),
        )


def backup(source: Path, version: int, clock: Clock) -> Path:
    """Copy an SQLite database, whole or not at all; return the copy's path."""
    stamp = datetime.fromtimestamp(clock() // 1_000_000, UTC).strftime("%Y%m%dT%H%M%S")
    target = source.with_name(f"{source.name}.v{version}-{stamp}.bak")
    part = target.with_name(f"{target.name}.part")
    try:
        part.unlink(missing_ok=True)
        part.touch(mode=0o600)
        _copy(source, part)
        part.replace(target)
    except OSError as error:
        raise StoreError(
            f"No backup of {source} could be made before changing its tables: {error.strerror}.",
            f"Make room for {target}; until then nothing is changed.",
        ) from error
    return target


def _copy(source: Path, target: Path) -> None:
    origin, copy = sqlite3.connect(source), sqlite3.connect(target)
    try:
        origin.backup(copy)
    except BaseException:
        target.unlink(missing_ok=True)
        raise
    finally:
        copy.close()
        origin.close()


def not_migrated(where: str, error: Exception) -> StoreError:
    """The error for a step that is wrong itself."""
    return StoreError(
        f"{where} could not be brought up to date: {error}.",
        "Nothing was changed. Go on with the version of Polyvox that you had, and report this.",
    )


def _version(tx: Tx, where: str) -> int:
    """The version of the tables; creates `schema_version` where there are no tables at all."""
    if tx.dialect == "sqlite":
        names = "SELECT name FROM sqlite_master WHERE type = 'table'"
    else:
        names = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
    tables = {row[0] for row in tx.all(names)}
    if "schema_version" not in tables:
        foreign = tables & {"users", "advisors", "conversations", "turns", "answers", "events"}
        if foreign or (tables and tx.dialect == "sqlite"):
            raise ConfigError(
                f"{where} holds the tables of another program.",
                "Choose another database with the setting `database`.",
            )
        tx.run(
            "CREATE TABLE schema_version "
            "(version INTEGER PRIMARY KEY, applied_at BIGINT NOT NULL, name TEXT NOT NULL)"
        )
    row = tx.one("SELECT MAX(version) FROM schema_version")
    return int(row[0]) if row is not None and row[0] is not None else 0


def _worded(statement: str, dialect: Dialect) -> str:
    for word, meaning in WORDS[dialect].items():
        statement = statement.replace(f"{{{word}}}", meaning)
    return statement.strip().removesuffix(";")
