"""The database of a log: connections and transactions are those of the present store."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import sqlalchemy as sa

from accountant.errors import LedgerError
from accountant.log.tables import ENTRIES, PARTIALS, metadata
from accountant.log.transaction import Transaction
from accountant.store.store import CREATION_LOCK, Store

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Database"]


class Database(Store):
    """One database that holds a log."""

    secret = b""
    """Of the ledger, once it is known: working rows are vouched for by it."""

    @contextmanager
    def write(self) -> Iterator[Transaction]:  # type: ignore[override]  # other rows
        """Run one write transaction: committed when the block ends, rolled back when it raises."""
        with self.translated(), self._writing() as connection:
            yield Transaction(connection, self.secret)

    @contextmanager
    def read(self, *, slow: bool = False) -> Iterator[Transaction]:  # type: ignore[override]
        """Run reads that all see one snapshot; slow ones may think for minutes between two."""
        options = {} if self._sqlite else {"isolation_level": "REPEATABLE READ"}
        with self.translated(), self._transaction("BEGIN", **options) as connection:
            if slow and not self._sqlite:
                connection.exec_driver_sql("SET LOCAL idle_in_transaction_session_timeout TO 0")
            yield Transaction(connection, self.secret)

    @contextmanager
    def glance(self) -> Iterator[Transaction]:  # type: ignore[override]  # as above
        """Run one read that no other has to agree with: nothing is begun or ended around it."""
        options = {} if self._sqlite else {"isolation_level": "AUTOCOMMIT"}
        with self.translated(), self._connect(**options) as connection:
            yield Transaction(connection, self.secret)

    def _create(self) -> None:
        """Create the tables in a database that has none.

        Raises:
            LedgerError: it holds other tables.
        """
        with self._writing() as connection:
            if not self._sqlite:
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(CREATION_LOCK)))
            names = sa.inspect(connection).get_table_names()
            if ENTRIES.name in names:
                return
            if any(name.startswith("tocsin_") for name in names):
                raise LedgerError(
                    f"a development version of Tocsin made the ledger {self.name}",
                    hint="use the version that made it, or begin a new ledger",
                )
            if names and self._sqlite:
                raise LedgerError(
                    f"the database {self.name} is not a ledger: it holds other tables",
                    hint="name a file of its own in `ledger`; nothing was written",
                )
            metadata.create_all(connection)
            if not self._sqlite:
                # Compressing a long vector of cells takes twenty times as long as storing it.
                for column in ("cell_index", "cell_value"):
                    stored = f"ALTER COLUMN {column} SET STORAGE EXTERNAL"
                    connection.exec_driver_sql(f"ALTER TABLE {PARTIALS.name} {stored}")
