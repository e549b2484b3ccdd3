"""What was counted: partials of undecided windows, punctuation marks, how partitions stand."""

from dataclasses import dataclass
from typing import Final

from accountant.records import Stand
from accountant.store.declaration import Kind, Table
from accountant.store.tables.windows import WINDOW, OfWindow

__all__ = [
    "MARKS",
    "PARTIALS",
    "PLACES",
    "USED",
    "MarkRow",
    "PartialRow",
    "PlaceRow",
    "UsedRow",
]


@dataclass(frozen=True, slots=True)
class PartialRow(OfWindow):
    """One :class:`accountant.records.Partial`; its vectors are little-endian 64-bit integers.

    Once it is ``conflicted``, its digest says so too (:meth:`accountant.store.partials.Partials`).
    """

    query: str
    start_ms: int
    end_ms: int
    partition: int
    fingerprint: str
    topic_id: str
    complete: bool
    cells: int
    cell_index: bytes
    cell_value: bytes
    first_offset: int
    last_offset: int
    digest: str
    conflicted: bool


PARTIALS: Final = Table(
    "partials",
    PartialRow,
    key=[*WINDOW, "partition"],
    refers={"query": "queries"},
    kinds={"partition": Kind.SMALL},
    private=None,
)


@dataclass(frozen=True, slots=True)
class UsedRow:
    """What people used up of a cap over a period, through the window that starts at ``start_ms``.

    As confidential as a partial. ``digest`` is a checksum over the rest.
    """

    query: str
    partition: int
    start_ms: int
    fingerprint: str
    topic_id: str
    state: bytes
    digest: bytes


USED: Final = Table(
    "used",
    UsedRow,
    key=["query", "partition", "start_ms"],
    refers={"query": "queries"},
    kinds={"partition": Kind.SMALL},
    private=None,
)


@dataclass(frozen=True, slots=True)
class MarkRow:
    """Where a punctuation mark lies; ``digest`` is a checksum over the rest."""

    feed: str
    partition: int
    time_ms: int
    log_offset: int
    digest: bytes


MARKS: Final = Table(
    "marks",
    MarkRow,
    key=["feed", "partition", "time_ms"],
    kinds={"partition": Kind.SMALL},
    private=None,
)


@dataclass(frozen=True, slots=True)
class PlaceRow:
    """How far a partition is read, and since when it has not gone on."""

    feed: str
    partition: int
    log_offset: int
    stand: Stand
    still_since_ms: int
    seen_ms: int


PLACES: Final = Table(
    "places",
    PlaceRow,
    key=["feed", "partition"],
    kinds={"partition": Kind.SMALL},
    private=None,
)
