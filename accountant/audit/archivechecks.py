"""What contradicts itself in what is kept of archives, and archives that are not what it says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accountant.charging.archiving import Binder
from accountant.store import decisionchain
from accountant.store.archives import SEEN_BYTES, archive_digest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from accountant.store.tables.decided import ArchiveRow, DecisionRow, SequenceRow

__all__ = ["file_problems", "kept_problems"]


def kept_problems(kept: SequenceRow, rows: Sequence[ArchiveRow]) -> Iterator[str]:
    """Yield what is wrong with what is kept of a query's archives, one sentence each.

    Args:
        kept: what is kept of the query's numbers.
        rows: by number.
    """
    digest = b""
    for row in rows:
        whole = (row.last_sequence - row.first_sequence + 1) * SEEN_BYTES == len(row.seen)
        if archive_digest(digest, row) != row.digest or not whole:
            yield (
                f"what is kept of numbers {row.first_sequence} to {row.last_sequence} of "
                f"{row.query!r}, which lie in {row.file}, is not what was stored"
            )
        digest = row.digest
    last, last_hash = (rows[-1].last_sequence, rows[-1].hash) if rows else (0, b"")
    if (kept.moved_sequence, kept.moved_hash, kept.archives_digest) != (last, last_hash, digest):
        yield f"the archives of {kept.query!r} do not end where its numbers say"


def file_problems(
    file: str, decisions: Iterable[DecisionRow], rows: Iterable[ArchiveRow], ledger_id: str
) -> Iterator[str]:
    """Yield why a file does not hold what the ledger moved there, one sentence each.

    Args:
        file: its name.
        decisions: what it holds, in its order.
        rows: what is kept of all archives, by query and number.
        ledger_id: of the ledger.
    """
    mine: dict[tuple[str, int], ArchiveRow] = {}
    before: dict[str, tuple[int, bytes]] = {}
    last: dict[str, tuple[int, bytes]] = {}
    for row in rows:
        if row.file == file:
            begin = last.get(row.query, (0, decisionchain.begin(row.query)))
            before.setdefault(row.query, begin)
            mine[row.query, row.first_sequence] = row
        last[row.query] = (row.last_sequence, row.hash)
    binder = Binder(file, ledger_id, before)
    for one in decisions:
        for part in binder.take(one):
            _take_out(part, mine)
        yield from binder.problems
        binder.problems.clear()
    for part in binder.end():
        _take_out(part, mine)
    for row in mine.values():
        numbers = f"{row.first_sequence} to {row.last_sequence}"
        yield f"{file}: numbers {numbers} of {row.query!r} are not there as they were moved"


def _take_out(part: ArchiveRow, mine: dict[tuple[str, int], ArchiveRow]) -> None:
    """Take a part out of what is still looked for, if it is what was moved."""
    kept = mine.get((part.query, part.first_sequence))
    if kept is None:
        return  # it lies there, and is still in the ledger, too, or in another file
    same = ("last_sequence", "hash", "seen", "tallies")
    if all(getattr(part, name) == getattr(kept, name) for name in same):
        del mine[part.query, part.first_sequence]
