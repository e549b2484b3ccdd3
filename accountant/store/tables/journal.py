"""What befell those who work with the ledger."""

from dataclasses import dataclass
from typing import Final

from accountant.store.declaration import Table

__all__ = ["CLOCK_SET", "JOURNAL", "JournalRow"]

CLOCK_SET: Final = "clock_set"
"""The entry of a mark of time that a custodian put back: the chains vouch for it."""


@dataclass(frozen=True, slots=True)
class JournalRow:
    """How often something happened, and when last; see :mod:`accountant.ledger.journal`."""

    entry: str
    times: int
    last_ms: int


JOURNAL: Final = Table("journal", JournalRow, key=["entry"])
