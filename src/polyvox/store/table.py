"""Rows as values: a table whose columns are the fields of a frozen dataclass.

A bool is stored as 0 or 1; text, numbers and bytes as they are; anything else as JSON. A `flat`
field is a dataclass itself, with a column for each of its own fields (NULL: the field is None).
Every statement stays within the rows of one user.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from types import NoneType, UnionType
from typing import (
    Any,
    Concatenate,
    Generic,
    Literal,
    ParamSpec,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec

from polyvox.errors import NotFound
from polyvox.ids import Clock, system_clock
from polyvox.store.database import Database, Row, Tx, Value
from polyvox.values import Scope

T = TypeVar("T")
P = ParamSpec("P")
R = TypeVar("R")
MANY = 400
"""Keys that one statement may list: both databases bound what one IN may hold."""


class Table(Generic[T]):
    """Reads and writes the values of one kind."""

    def __init__(self, name: str, kind: type[T], *, flat: str | None = None) -> None:
        hints = get_type_hints(kind)
        self._name = name
        self._kind: Callable[..., T] = kind
        self._names = tuple(field.name for field in fields(kind))  # type: ignore[arg-type]
        self._flat = flat
        self._place = self._names.index(flat) if flat else 0
        self._part = Table(name, _unwrapped(hints[flat])) if flat else None
        self._plain = tuple(name for name in self._names if name != flat)
        self._columns = (*self._plain, *(self._part.columns.split(", ") if self._part else ()))
        self._decoders = [
            (index, decode)
            for index, column in enumerate(self._plain)
            if (decode := _decoder(hints[column])) is not None
        ]
        self._encoders = {self._plain[index]: _encoder(decode) for index, decode in self._decoders}
        self.columns: str = ", ".join(self._columns)

    def of(self, alias: str) -> str:
        """The columns under an alias of the table."""
        return ", ".join(f"{alias}.{column}" for column in self._columns)

    def value(self, row: Row) -> T:
        """A row of `columns` as a value."""
        count = len(self._plain)
        values = list(row[:count])
        for index, decode in self._decoders:
            if values[index] is not None:
                values[index] = decode(values[index])
        if self._part is not None:
            part = None if row[count] is None else self._part.value(row[count:])
            values.insert(self._place, part)
        return self._kind(*values)

    def one(self, tx: Tx, rest: str, *params: Value) -> T | None:
        """The first row that `rest` (the text behind WHERE user_id = ?) selects, as a value."""
        row = tx.one(self._select(rest), (tx.user, *params))
        return None if row is None else self.value(row)

    def all(self, tx: Tx, rest: str, *params: Value) -> list[T]:
        """All rows that `rest` selects, as values, in its order."""
        return [self.value(row) for row in tx.all(self._select(rest), (tx.user, *params))]

    def holds(self, tx: Tx, column: str, keys: Sequence[str]) -> bool:
        """True if a row has one of these keys in a column."""
        sql = f"SELECT {column} FROM {self._name} WHERE user_id = ? AND {column}"
        return bool(rows_in(tx, sql, keys))

    def insert(self, tx: Tx, value: T, **others: Value) -> None:
        """Store a new row; `others` are columns that are no fields."""
        self._insert(tx, value, others)

    def try_insert(self, tx: Tx, value: T, **others: Value) -> bool:
        """Store a new row unless another one stands where it should go; True if it was stored."""
        return self._insert(tx, value, others, " ON CONFLICT DO NOTHING") > 0

    def update(self, tx: Tx, value: T, names: str, **others: Value) -> None:
        """Store these fields (names parted by spaces) in the row that has the value's id."""
        row = {**self._row(value, names.split()), **others}
        changes = ", ".join(f"{column} = ?" for column in row)
        tx.run(
            f"UPDATE {self._name} SET {changes} WHERE user_id = ? AND id = ?",
            (*row.values(), tx.user, value.id),  # type: ignore[attr-defined]
        )

    def _select(self, rest: str) -> str:
        return f"SELECT {self.columns} FROM {self._name} WHERE user_id = ? {rest}"

    def _insert(self, tx: Tx, value: T, others: Mapping[str, Value], rest: str = "") -> int:
        row = {"user_id": tx.user, **self._row(value, self._names), **others}
        marks = ", ".join("?" * len(row))
        return tx.run(
            f"INSERT INTO {self._name} ({', '.join(row)}) VALUES ({marks}){rest}",
            tuple(row.values()),
        )

    def _row(self, value: T, names: Iterable[str]) -> dict[str, Value]:
        """Columns and what is stored in them, for these fields."""
        row: dict[str, Value] = {}
        for name in names:
            field = getattr(value, name)
            if self._part is not None and name == self._flat:
                none = dict.fromkeys(self._part._names)  # noqa: SLF001 - a table too
                row |= none if field is None else self._part._row(field, none)  # noqa: SLF001
            elif field is None or name not in self._encoders:
                row[name] = field
            else:
                row[name] = self._encoders[name](field)
        return row


def known(value: T | None, message: str, hint: str = "") -> T:
    """The value, or NotFound with these words where there is none."""
    if value is None:
        raise NotFound(message, hint)
    return value


def rows_in(tx: Tx, sql: str, keys: Iterable[str], rest: str = "") -> list[Row]:
    """Rows for many keys, some at a time; `sql` ends with the column that holds the key."""
    wanted = sorted(set(keys))
    rows: list[Row] = []
    for start in range(0, len(wanted), MANY):
        some = wanted[start : start + MANY]
        rows += tx.all(f"{sql} IN ({', '.join('?' * len(some))}){rest}", (tx.user, *some))
    return rows


def _unwrapped(hint: Any) -> Any:  # noqa: ANN401 - any type
    """A type without `| None`."""
    if get_origin(hint) in (Union, UnionType):
        options = [option for option in get_args(hint) if option is not NoneType]
        return options[0] if len(options) == 1 else hint
    return hint


def _decoder(hint: Any) -> Callable[[Any], Any] | None:  # noqa: ANN401 - any type
    """The converter from a column to a field of this type; None where they are equal."""
    kind = _unwrapped(hint)
    if kind is bool:
        return bool
    if kind in (str, int, float, bytes) or get_origin(kind) is Literal:
        return None
    return msgspec.json.Decoder(kind).decode


def _encoder(decode: Callable[[Any], Any]) -> Callable[[Any], Value]:
    return int if decode is bool else _json


def _json(field: object) -> str:
    return msgspec.json.encode(field).decode()


# -- functions of rows as methods for the doors, each in a transaction of its own ------------------

Method = Callable[Concatenate[Any, Scope, P], Awaitable[R]]


class Verbs:
    """A room's functions, bound to a database and a clock."""

    def __init__(self, database: Database, clock: Clock = system_clock) -> None:
        self._database = database
        self._clock = clock


def reading(function: Callable[Concatenate[Tx, P], R]) -> Method[P, R]:
    """Make a method of a function that reads."""

    async def method(self: Verbs, scope: Scope, /, *given: P.args, **named: P.kwargs) -> R:
        return await self._database.read(lambda tx: function(tx, *given, **named), scope)

    return method


def writing(function: Callable[Concatenate[Tx, int, P], R]) -> Method[P, R]:
    """Make a method of a function that writes; it is told the time."""

    async def method(self: Verbs, scope: Scope, /, *given: P.args, **named: P.kwargs) -> R:
        now = self._clock()
        return await self._database.write(lambda tx: function(tx, now, *given, **named), scope)

    return method
