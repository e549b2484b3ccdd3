"""The ledger's rows and tables, each declared here, once.

Every loss is a 64-bit integer of loss units, every time a 64-bit integer of milliseconds. What a
row means is decided by :mod:`accountant.ledger.ledger`.
"""

from typing import Any, Final

from accountant.store.declaration import Table
from accountant.store.tables.charged import (
    CHARGES,
    COMPACTED,
    DRAWN,
    LINKS,
    RUNS,
    SHARES,
    TOTALS,
)
from accountant.store.tables.counted import MARKS, PARTIALS, PLACES, USED
from accountant.store.tables.decided import (
    ADOPTED,
    ARCHIVES,
    DECISIONS,
    GAPS,
    NOISY,
    SEQUENCES,
    TALLIES,
)
from accountant.store.tables.journal import JOURNAL
from accountant.store.tables.pinned import FILES, GROWTHS, LEDGER, LOGS, QUERIES, SCOPES, SHAPES
from accountant.store.tables.writers import WRITERS

__all__ = ["TABLES"]

TABLES: Final[tuple[Table[Any], ...]] = (
    *(LEDGER, SCOPES, LOGS, QUERIES, SHAPES, PARTIALS, MARKS, PLACES, CHARGES, RUNS, DECISIONS),
    *(ADOPTED, SEQUENCES, GAPS, TALLIES, TOTALS, COMPACTED, LINKS, JOURNAL, GROWTHS, WRITERS),
    *(FILES, SHARES, DRAWN, ARCHIVES, NOISY, USED),
)
"""All of them, in the order of an export."""
