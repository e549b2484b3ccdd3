"""One transaction on a ledger: its tables side by side."""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from accountant.layouts import Growth, Layouts
from accountant.regions.shapes import Shape
from accountant.store.archives import Archives
from accountant.store.charges import Charges, Totals
from accountant.store.decisions import Adopted, Decisions, Sequences
from accountant.store.finals import Finals
from accountant.store.kept import NoisyCounts, Runs, Shares
from accountant.store.links import Links
from accountant.store.partials import Marks, Partials
from accountant.store.queries import Queries, Shapes
from accountant.store.rows import Rows
from accountant.store.schema import table_of
from accountant.store.tables import TABLES
from accountant.store.tables.charged import CHARGES, LINKS, RUNS
from accountant.store.tables.counted import MARKS, PARTIALS, PLACES, USED
from accountant.store.tables.decided import ADOPTED, ARCHIVES, DECISIONS, NOISY, TALLIES
from accountant.store.tables.journal import JOURNAL
from accountant.store.tables.pinned import FILES, GROWTHS, LEDGER, LOGS, QUERIES, SCOPES, SHAPES
from accountant.store.tables.writers import WRITERS
from accountant.store.tallies import Tallies
from accountant.store.used import UsedUp

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accountant.records import LogIdentity
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
        self.growths = Rows(connection, GROWTHS)
        self.files = Rows(connection, FILES)
        self.queries = Queries(connection, QUERIES)
        self.shapes = Shapes(connection, SHAPES)
        self.runs = Runs(connection, RUNS)
        self.noisy = NoisyCounts(connection, NOISY)
        self.kept_shares = Shares(connection)
        self.partials = Partials(connection, PARTIALS)
        self.used = UsedUp(connection, USED)
        self.marks = Marks(connection, MARKS)
        self.places = Rows(connection, PLACES)
        self.charges = Charges(connection, CHARGES)
        self.totals = Totals(connection)
        self.finals = Finals(connection)
        self.links = Links(connection, LINKS)
        self.decisions = Decisions(connection, DECISIONS)
        self.sequences = Sequences(connection)
        self.archives = Archives(connection, ARCHIVES)
        self.tallies = Tallies(connection, TALLIES)
        self.adopted = Adopted(connection, ADOPTED)
        self.journal = Rows(connection, JOURNAL)
        self.writers = Rows(connection, WRITERS)

    def ledger(self, *, lock: bool = False) -> LedgerRow:
        """Return the ledger's row."""
        return _there(self.identity.get("update" if lock else "", id=1))

    def advance(self, *, clock_ms: int) -> LedgerRow:
        """Move the clock's mark, never back, and return the ledger's row, which is locked then."""
        found = self.connection.execute(_advance(), {"now_ms": clock_ms}).first()
        return _there(None if found is None else LEDGER.read(found))

    def shape(self, query: str, fingerprint: str) -> Shape | None:
        """Return which rows a query's cells cover under one configuration."""
        found = self.shapes.get(query=query, fingerprint=fingerprint)
        return None if found is None else Shape(found.region, found.grouping)

    def all_shapes(self, scope: str) -> dict[tuple[str, str], Shape]:
        """Return the shapes of a budget by query and fingerprint."""
        rows = self.shapes.of(scope)
        return {(row.query, row.fingerprint): Shape(row.region, row.grouping) for row in rows}

    def layouts(self) -> dict[str, Layouts]:
        """Return how many partitions every registered feed has had, by its name."""
        growths: defaultdict[str, list[Growth]] = defaultdict(list)
        for growth in self.growths.each():
            growths[growth.feed].append(growth)
        logs = self.logs.each()
        return {log.feed: Layouts(log.partitions, tuple(growths[log.feed])) for log in logs}

    def layouts_of(self, log: LogIdentity) -> Layouts:
        """Return how many partitions a registered feed has had."""
        # By their numbers: in the order in which they came.
        return Layouts(log.partitions, tuple(self.growths.each(feed=log.feed)))

    def exported(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield every row that may be shown, with the name of its table, as JSON has it."""
        for table in TABLES:
            for row in Rows(self.connection, table).raw() if table.shown else ():
                yield table.name, {each.name: each.shown(row[each.name]) for each in table.shown}


def _there(found: LedgerRow | None) -> LedgerRow:
    if found is None:
        raise LookupError("a ledger has its row from when it is opened")
    return found


@cache
def _advance() -> Any:
    table, now_ms = table_of(LEDGER), sa.bindparam("now_ms", type_=sa.BigInteger)
    later = sa.case((table.c.clock_ms < now_ms, now_ms), else_=table.c.clock_ms)
    return table.update().where(table.c.id == 1).values(clock_ms=later).returning(table)
