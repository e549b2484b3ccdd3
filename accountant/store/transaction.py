"""One transaction on a ledger: its tables side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from accountant.regions.shapes import Shape
from accountant.store.charges import Charges, Totals
from accountant.store.decisions import Adopted, Decisions, Sequences
from accountant.store.finals import Finals
from accountant.store.links import Links
from accountant.store.partials import Marks, Partials
from accountant.store.rows import Rows
from accountant.store.schema import table_of
from accountant.store.tables import TABLES
from accountant.store.tables.charged import CHARGES, LINKS, RUNS
from accountant.store.tables.counted import MARKS, PARTIALS
from accountant.store.tables.decided import ADOPTED, DECISIONS
from accountant.store.tables.pinned import LEDGER, LOGS, QUERIES, SCOPES, SHAPES

if TYPE_CHECKING:
    from collections.abc import Iterator

    import sqlalchemy as sa

    from accountant.store.tables.pinned import LedgerRow

__all__ = ["Transaction"]


class Transaction:
    """Rows within one transaction.

    Args:
        connection: in that transaction.
    """

    def __init__(self, connection: sa.Connection) -> None:
        self.connection = connection
        self.identity = Rows(connection, LEDGER)
        self.scopes = Rows(connection, SCOPES)
        self.logs = Rows(connection, LOGS)
        self.queries = Rows(connection, QUERIES)
        self.shapes = Rows(connection, SHAPES)
        self.runs = Rows(connection, RUNS)
        self.partials = Partials(connection, PARTIALS)
        self.marks = Marks(connection, MARKS)
        self.charges = Charges(connection, CHARGES)
        self.totals = Totals(connection)
        self.finals = Finals(connection)
        self.links = Links(connection, LINKS)
        self.decisions = Decisions(connection, DECISIONS)
        self.sequences = Sequences(connection)
        self.adopted = Adopted(connection, ADOPTED)

    def ledger(self, *, lock: bool = False) -> LedgerRow:
        """Return the ledger's row."""
        found = self.identity.get("update" if lock else "", id=1)
        if found is None:
            raise LookupError("a ledger has its row from when it is opened")
        return found

    def advance(self, *, clock_ms: int) -> None:
        """Move the clock's mark, never back."""
        table = table_of(LEDGER)
        behind = table.update().where(table.c.clock_ms < clock_ms)
        self.connection.execute(behind.values(clock_ms=clock_ms))

    def shape(self, query: str, fingerprint: str) -> Shape | None:
        """Return which rows a query's cells cover under one configuration."""
        found = self.shapes.get(query=query, fingerprint=fingerprint)
        return None if found is None else Shape(found.region, found.grouping)

    def all_shapes(self) -> dict[tuple[str, str], Shape]:
        """Return every shape by query and fingerprint."""
        rows = self.shapes.each()
        return {(row.query, row.fingerprint): Shape(row.region, row.grouping) for row in rows}

    def exported(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield every row that may be shown, with the name of its table, as JSON has it."""
        for table in TABLES:
            for row in Rows(self.connection, table).raw() if table.shown else ():
                yield table.name, {each.name: each.shown(row[each.name]) for each in table.shown}
