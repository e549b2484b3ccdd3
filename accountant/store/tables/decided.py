"""What was decided, here and on other timelines, and the numbers of decisions."""

from dataclasses import dataclass
from typing import Final

from accountant.records import Outcome
from accountant.store.declaration import Index, Kind, Table
from accountant.store.tables.windows import WINDOW, OfWindow

__all__ = [
    "ADOPTED",
    "ARCHIVES",
    "DECISIONS",
    "GAPS",
    "NOISY",
    "NOISY_BYTES",
    "SEQUENCES",
    "TALLIES",
    "AdoptedRow",
    "ArchiveRow",
    "DecisionRow",
    "GapRow",
    "NoisyRow",
    "SequenceRow",
    "TallyRow",
]


NOISY_BYTES: Final = 20
"""Length of what stands for noisy counts in a decision: more than for a run, which tells them."""


@dataclass(frozen=True, slots=True)
class DecisionRow(OfWindow):
    """One :class:`accountant.records.StoredDecision` of this ledger.

    ``archived`` says that its charge was compacted, ``alarms_digest`` what its alarms were then.
    ``next_start_ms`` is where it left the query's cursor, ``run_digest`` how it left the run that
    it was decided in or the noisy counts of its pane, ``hash`` vouches for it and for all before it
    of its query (:mod:`accountant.store.decisionchain`).
    """

    query: str
    start_ms: int
    end_ms: int
    sequence: int
    outcome: Outcome
    reason: str | None
    alarms: bytes
    alarm_count: int
    epsilon_units: int
    release_ms: int
    decided_at_ms: int
    published: bool
    fingerprint: str
    archived: bool
    next_start_ms: int | None
    run_digest: bytes | None
    alarms_digest: bytes | None
    hash: bytes

    @property
    def draw(self) -> str | None:
        """Which draw of a pane's noise it left, in hex; ``None`` where it left none."""
        left = self.run_digest
        return left.hex() if left is not None and len(left) == NOISY_BYTES else None


DECISIONS: Final = Table(
    "decisions",
    DecisionRow,
    key=WINDOW,
    refers={"query": "queries"},
    kinds={"alarms": Kind.ENCODED},
    unique=["query", "sequence"],
    indexes=[Index("decisions_outbox", ("query", "sequence"), "NOT published")],
)


@dataclass(frozen=True, slots=True)
class NoisyRow(OfWindow):
    """One :class:`accountant.costs.noisy.Noisy`: the noisy counts of a pane.

    Its digest is the ``run_digest`` of its decision: no window both keeps a run and is a pane.
    """

    query: str
    start_ms: int
    end_ms: int
    fingerprint: str
    kept_from_ms: int
    counts: bytes


NOISY: Final = Table(
    "noisy", NoisyRow, key=WINDOW, refers={"query": "queries"}, private=("counts",)
)


@dataclass(frozen=True, slots=True)
class AdoptedRow(OfWindow):
    """One :class:`accountant.records.SeenDecision` that was taken over as spent."""

    digest: str
    ledger_id: str
    sequence: int
    query: str
    start_ms: int
    end_ms: int
    scope: str
    outcome: Outcome
    epsilon_units: int
    cells_per_unit: int
    loss_units: int
    periods: tuple[int, ...]
    alarm_count: int
    adopted_at_ms: int
    draw: str | None = None


ADOPTED: Final = Table(
    "adopted",
    AdoptedRow,
    key=["digest"],
    refers={"scope": "scopes"},
    indexes=[
        Index("adopted_by_end", ("scope", "end_ms")),
        Index("adopted_by_window", ("query", "start_ms")),
    ],
)


@dataclass(frozen=True, slots=True)
class SequenceRow:
    """The number of a query's last decision, and the hash of the last that this ledger stored.

    ``base_sequence`` and ``base_hash`` are of the last one that the budget's chain tells of no
    more, or never did: the budget's state vouches for them. The row refers to no query: a decision
    of one that this copy of the ledger never registered may be adopted.

    ``moved_sequence`` and ``moved_hash`` are of the last one that lies in an archive, and
    ``archives_digest`` is that of the last of the query's :class:`ArchiveRow`: state vouches for
    these, too.
    """

    query: str
    last_sequence: int
    hash: bytes
    base_sequence: int
    base_hash: bytes
    moved_sequence: int = 0
    moved_hash: bytes = b""
    archives_digest: bytes = b""


SEQUENCES: Final = Table("sequences", SequenceRow, key=["query"])


@dataclass(frozen=True, slots=True)
class TallyRow:
    """How many windows of a query ended in one way, and when the last of them did.

    ``reason`` is empty where they were decided.
    """

    query: str
    outcome: Outcome
    reason: str
    windows: int
    last_ms: int


TALLIES: Final = Table(
    "tallies", TallyRow, key=["query", "outcome", "reason"], refers={"query": "queries"}
)


@dataclass(frozen=True, slots=True)
class GapRow:
    """Numbers of a query that another timeline of this ledger used."""

    query: str
    first_sequence: int
    last_sequence: int
    declared_at_ms: int


GAPS: Final = Table("gaps", GapRow, key=["query", "first_sequence"])


@dataclass(frozen=True, slots=True)
class ArchiveRow:
    """Decisions of one query, with consecutive numbers, that lie in a file and no more here.

    Args:
        query: its name.
        first_sequence: number of the first of them.
        last_sequence: number of the last.
        file: name of the archive's file.
        hash: of the last: it covers all of them, and those before.
        seen: what tells each of them from another decision under its number, in order, 8 bytes
            each: the beginning of :attr:`accountant.records.SeenDecision.digest`.
        tallies: how many of them ended in which way, as :class:`TallyRow` without the query, as
            JSON.
        digest: covers the rest of the row, and the row before it of the query.
    """

    query: str
    first_sequence: int
    last_sequence: int
    file: str
    hash: bytes
    seen: bytes
    tallies: str
    digest: bytes


ARCHIVES: Final = Table(
    "archives", ArchiveRow, key=["query", "first_sequence"], refers={"query": "queries"}
)
