"""The rows of one table within one transaction of :mod:`accountant.store.store`.

Nothing is decided here: every method is one statement or two. Locks last until the transaction
ends and are taken in the order queries, scopes, logs, ledger; they are FOR NO KEY UPDATE, so that a
row that refers to a locked one can be inserted. SQLite's write transaction holds the whole
database, so they cost nothing there.

Building a statement takes longer than running it: those that every window needs are built once.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Generic

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from accountant.store.declaration import Record, stored
from accountant.store.schema import table_of
from accountant.store.tables.windows import window_columns

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from accountant.costs.charges import WindowKey
    from accountant.store.declaration import Table

__all__ = ["CHUNK", "PAGE", "Rows", "same_window"]

CHUNK = 1_000
"""Rows that one statement inserts."""

PAGE = 1_000
"""Rows that are read at once where there may be millions: no cursor outlives a statement."""


class Rows(Generic[Record]):
    """Rows of one table.

    Args:
        connection: in a transaction.
        declared: the table.
    """

    def __init__(self, connection: sa.Connection, declared: Table[Record]) -> None:
        # Every transaction has all tables and uses few: what only these need is looked up then.
        self._connection = connection
        self._declared = declared

    def get(self, lock: str = "", **by: Any) -> Record | None:
        """Return the first row with these columns.

        Args:
            lock: ``share`` keeps it from changing, ``update`` also from being shared.
            by: the columns.
        """
        statement = _select(self._table, tuple(by), lock)
        found = self._connection.execute(statement, _given(by)).first()
        return None if found is None else self._declared.read(found)

    def at(self, key: WindowKey) -> Record | None:
        """Return the row of a window."""
        return self.get(**window_columns(key))

    def all(self, **by: Any) -> list[Record]:
        """Return the rows with these columns, or all, by primary key."""
        return list(self.each(**by))

    def each(self, **by: Any) -> Iterator[Record]:
        """Yield the rows with these columns, or all, by primary key."""
        yield from map(self._declared.read, self._ordered(by))

    def raw(self) -> Iterator[dict[str, Any]]:
        """Yield every row as it is stored, by primary key."""
        for row in self._ordered({}).mappings():
            yield {str(name): value for name, value in row.items()}

    def add(self, *rows: Record) -> None:
        """Store new rows."""
        values, statement = [self._declared.values(row) for row in rows], _add(self._table)
        for first in range(0, len(values), CHUNK):
            self._run(statement, values[first : first + CHUNK])

    def add_new(self, row: Record) -> bool:
        """Store a row unless its place is taken; say whether it was stored."""
        statement = _insert_new(self._insert, self._table)
        # A row comes back only if it was inserted; row counts differ between drivers.
        return self._connection.execute(statement, self._declared.values(row)).first() is not None

    def add_up(self, rows: Iterable[Record], *added: str) -> None:
        """Store rows; where one is there under the same key, add to its columns ``added``."""
        values = [self._declared.values(row) for row in rows]
        if values:
            self._run(_add_up(self._insert, self._table, added), values)

    def put(self, *rows: Record) -> None:
        """Store rows, each in place of one that is there under the same key."""
        values = [self._declared.values(row) for row in rows]
        if values:
            self._run(_put(self._insert, self._table), values)

    def change(self, by: Mapping[str, Any], **values: Any) -> None:
        """Set columns of the rows with the columns ``by``."""
        statement = _update(self._table, tuple(by), tuple(values))
        self._connection.execute(statement, {**_given(by), **_given(values, "new_")})

    def drop(self, **by: Any) -> None:
        """Delete the rows with these columns."""
        self._connection.execute(_delete(self._table, tuple(by)), _given(by))

    def _run(self, statement: Any, values: list[dict[str, Any]]) -> None:
        """Run a statement for each of some rows."""
        # A driver prepares for many of them, which takes longer than running it for the one.
        self._connection.execute(statement, values[0] if len(values) == 1 else values)

    def _read(self, statement: Any, **bound: Any) -> list[Record]:
        """Return the rows that a statement selects, all columns of them."""
        found = self._connection.execute(statement, bound).all()
        return [self._declared.read(row) for row in found]

    @property
    def _table(self) -> sa.Table:
        return table_of(self._declared)

    @property
    def _dialect(self) -> str:
        return self._connection.dialect.name

    @property
    def _insert(self) -> Any:
        return sqlite.insert if self._dialect == "sqlite" else postgresql.insert

    def _ordered(self, by: Mapping[str, Any]) -> sa.CursorResult[Any]:
        statement = _select(self._table, tuple(by), "", ordered=True)
        return self._connection.execute(statement, _given(by))


def same_window(one: sa.Table, other: sa.Table) -> Any:
    """Say of a row of each of two tables that they are of one window."""
    return sa.and_(*(one.c[name] == other.c[name] for name in ("query", "start_ms", "end_ms")))


@cache
def _select(table: sa.Table, by: tuple[str, ...], lock: str, *, ordered: bool = False) -> Any:
    statement = sa.select(table).where(*_equal(table, by))
    if ordered:
        statement = statement.order_by(*table.primary_key.columns)
    if not lock:
        return statement
    # An admission holds its scope and refers to queries that a decision holds while it waits for
    # that scope: FOR UPDATE would block the foreign key's check, and the two would deadlock.
    return statement.with_for_update(read=lock == "share", key_share=lock == "update")


@cache
def _add(table: sa.Table) -> Any:
    return table.insert().inline()


@cache
def _insert_new(insert: Any, table: sa.Table) -> Any:
    return insert(table).on_conflict_do_nothing().returning(*table.primary_key.columns)


@cache
def _add_up(insert: Any, table: sa.Table, added: tuple[str, ...]) -> Any:
    statement = insert(table).inline()
    new = statement.excluded
    return statement.on_conflict_do_update(
        index_elements=[column.name for column in table.primary_key.columns],
        set_={name: table.c[name] + new[name] for name in added},
    )


@cache
def _put(insert: Any, table: sa.Table) -> Any:
    statement = insert(table).inline()
    new, key = statement.excluded, [column.name for column in table.primary_key.columns]
    others = {one.name: new[one.name] for one in table.columns if one.name not in key}
    return statement.on_conflict_do_update(index_elements=key, set_=others)


@cache
def _update(table: sa.Table, by: tuple[str, ...], names: tuple[str, ...]) -> Any:
    new: dict[str, Any] = {name: sa.bindparam(f"new_{name}") for name in names}
    return table.update().where(*_equal(table, by)).values(new)


@cache
def _delete(table: sa.Table, by: tuple[str, ...]) -> Any:
    return table.delete().where(*_equal(table, by))


def _equal(table: sa.Table, by: tuple[str, ...]) -> list[Any]:
    return [table.c[name] == sa.bindparam(f"is_{name}") for name in by]


def _given(values: Mapping[str, Any], prefix: str = "is_") -> dict[str, Any]:
    """Return values under the names that statements bind them by."""
    return {f"{prefix}{name}": stored(value) for name, value in values.items()}
