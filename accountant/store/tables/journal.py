"""What befell those who work with the ledger."""

from dataclasses import dataclass
from typing import Final

from accountant.store.declaration import Table

__all__ = ["JOURNAL", "JournalRow"]


@dataclass(frozen=True, slots=True)
class JournalRow:
    """How often something happened, and when last; see :mod:`accountant.ledger.journal`."""

    entry: str
    times: int
    last_ms: int


JOURNAL: Final = Table("journal", JournalRow, key=["entry"])
