"""The processes that released something from the ledger."""

from dataclasses import dataclass
from typing import Final

from accountant.store.declaration import Table

__all__ = ["WRITERS", "WriterRow"]


@dataclass(frozen=True, slots=True)
class WriterRow:
    """How often one process was about to release; see :mod:`accountant.ledger.writers`."""

    writer: str
    releases: int
    started_ms: int


WRITERS: Final = Table("writers", WriterRow, key=["writer"])
