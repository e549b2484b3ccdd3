"""Working rows of one table, within one transaction: each vouched for by a keyed digest.

Building a statement takes longer than running it: each is built once.
"""

from __future__ import annotations

from functools import cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from accountant.errors import LedgerCorruptError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Rows"]

_DIGEST_BYTES: Final = 16


class Rows:
    """Rows of one table.

    Args:
        connection: in a transaction.
        table: one of :data:`accountant.store.tables.WORKING`.
        secret: of the ledger.
    """

    def __init__(self, connection: sa.Connection, table: sa.Table, secret: bytes) -> None:
        self.name = table.name
        self._connection = connection
        self._table = table
        self._secret = secret

    def get(self, **by: Any) -> sa.Row[Any] | None:
        """Return the first row with these columns, by primary key.

        Raises:
            LedgerCorruptError: it is not what was stored.
        """
        found = self._connection.execute(_select(self._table, tuple(by), 1), by).first()
        return None if found is None else self._checked(found)

    def each(self, **by: Any) -> Iterator[sa.Row[Any]]:
        """Yield the rows with these columns, or all, by primary key; as :meth:`get`."""
        found = self._connection.execute(_select(self._table, tuple(by), None), by).all()
        yield from map(self._checked, found)

    def where(
        self, *conditions: Any, last_first: bool = False, limit: int | None = None
    ) -> Iterator[sa.Row[Any]]:
        """Yield the rows that meet some conditions, by primary key or backwards; likewise."""
        key = self._table.primary_key.columns
        order = [one.desc() for one in key] if last_first else list(key)
        found = sa.select(self._table).where(*conditions).order_by(*order).limit(limit)
        yield from map(self._checked, self._connection.execute(found).all())

    def add_new(self, *values: Any) -> bool:
        """Store a row unless its place is taken; say whether it was stored.

        Args:
            values: of all columns but the digest, in order.
        """
        statement = _insert_new(self._insert, self._table)
        return self._connection.execute(statement, self._row(values)).first() is not None

    def put(self, *values: Any) -> None:
        """Store a row, in place of one that is there under the same key."""
        self._connection.execute(_put(self._insert, self._table), self._row(values))

    def drop(self, **by: Any) -> None:
        """Delete the rows with these columns."""
        self._connection.execute(_delete(self._table, tuple(by)), by)

    def drop_where(self, *conditions: Any) -> None:
        """Delete the rows that meet some conditions."""
        self._connection.execute(self._table.delete().where(*conditions))

    def wrong(self) -> Iterator[sa.Row[Any]]:
        """Yield the rows that are not what was stored."""
        for row in self._connection.execute(_select(self._table, (), None)):
            if self._digest(tuple(row[:-1])) != row.digest:
                yield row

    def _row(self, values: tuple[Any, ...]) -> dict[str, Any]:
        names = [column.name for column in self._table.columns]
        return dict(zip(names, (*values, self._digest(values)), strict=True))

    def _checked(self, row: sa.Row[Any]) -> sa.Row[Any]:
        if self._digest(tuple(row[:-1])) != row.digest:
            raise LedgerCorruptError(
                f"a row of {self._table.name} is not what was stored",
                hint="run `tocsin ledger FILE verify`, and restore the newest backup",
            )
        return row

    def _digest(self, values: tuple[Any, ...]) -> bytes:
        # Of bytes their length, in a form that no other value has; then they themselves.
        blobs = [value for value in values if type(value) is bytes]
        plain = [(len(value),) if type(value) is bytes else value for value in values]
        said = repr((self._table.name, plain)).encode()
        hashed = blake2b(said, digest_size=_DIGEST_BYTES, key=self._secret)
        for blob in blobs:
            hashed.update(blob)
        return hashed.digest()

    @property
    def _insert(self) -> Any:
        is_sqlite = self._connection.dialect.name == "sqlite"
        return sqlite.insert if is_sqlite else postgresql.insert


@cache
def _select(table: sa.Table, by: tuple[str, ...], limit: int | None) -> Any:
    found = sa.select(table).where(*_equal(table, by)).order_by(*table.primary_key.columns)
    return found if limit is None else found.limit(limit)


@cache
def _insert_new(insert: Any, table: sa.Table) -> Any:
    # A row comes back only if it was inserted; row counts differ between drivers.
    return insert(table).on_conflict_do_nothing().returning(*table.primary_key.columns)


@cache
def _put(insert: Any, table: sa.Table) -> Any:
    statement = insert(table).inline()
    key = [column.name for column in table.primary_key.columns]
    others = {one.name: statement.excluded[one.name] for one in table.columns}
    changed = {name: new for name, new in others.items() if name not in key}
    return statement.on_conflict_do_update(index_elements=key, set_=changed)


@cache
def _delete(table: sa.Table, by: tuple[str, ...]) -> Any:
    return table.delete().where(*_equal(table, by))


def _equal(table: sa.Table, by: tuple[str, ...]) -> list[Any]:
    return [table.c[name] == sa.bindparam(name) for name in by]
