"""Decisions of the past leave the ledger for an archive, and no answer to anybody changes.

A decision may go when nothing asks for it any more; ``docs/adr/0022-decisions-move-to-archives.md``
says why that is so when

- it has left, and its charge was compacted: no run and no window to come counts it;
- no link of the chain tells of its window any more;
- it is neither the last of its query nor one of its query's open run, nor of a pane that is kept;
- its window ended by an instant that callers give, beyond every ``max_age``;
- all of its query before it go, too: what stays follows on what is kept of them.

Kept are the hash that the rest follows on, how many ended in which way, and of each a mark by which
its record on the topic is known again.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from accountant.charging import vouching
from accountant.store import decisionchain
from accountant.store.archives import archive_digest, mark_of
from accountant.store.tables.decided import ArchiveRow

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from accountant.store.tables.decided import DecisionRow, SequenceRow
    from accountant.store.tables.pinned import ScopeRow
    from accountant.store.transaction import Transaction

__all__ = ["PART", "Binder", "last_to_move", "move"]

PART: Final = 4_096
"""Decisions of one query that are kept as one row: they go together, in well under a second."""

_LAST: Final = 2**63 - 1


class Binder:
    """Follows the decisions of one file in their order, and says what will be kept of them.

    Args:
        file: its name.
        ledger_id: whose decisions it holds.
        before: by query, a number and the hash that the first decision behind it covers. A first
            one there that does not come behind it is taken as it stands, until the last is known.
    """

    def __init__(self, file: str, ledger_id: str, before: Mapping[str, tuple[int, bytes]]) -> None:
        self._file = file
        self._ledger_id = ledger_id
        self._before = before
        self._last: DecisionRow | None = None
        self._held: list[DecisionRow] = []
        self.problems: list[str] = []
        """What does not fit, one sentence each."""

    def take(self, one: DecisionRow) -> Iterator[ArchiveRow]:
        """Take the next decision, and yield what is kept of those before, once that is known."""
        self._look_at(one)
        last = self._last
        goes_on = last is not None and (last.query, last.sequence + 1) == (one.query, one.sequence)
        if not goes_on or len(self._held) == PART:
            yield from self.end()
        self._held.append(one)
        self._last = one

    def end(self) -> Iterator[ArchiveRow]:
        """Yield what is kept of those that were taken last."""
        held, self._held = self._held, []
        if not held:
            return
        first, last = held[0], held[-1]
        ended, last_ms = Counter[tuple[str, str]](), dict[tuple[str, str], int]()
        for one in held:
            how = (one.outcome.value, one.reason or "")
            ended[how] += 1
            last_ms[how] = max(one.decided_at_ms, last_ms.get(how, one.decided_at_ms))
        yield ArchiveRow(
            query=first.query,
            first_sequence=first.sequence,
            last_sequence=last.sequence,
            file=self._file,
            hash=last.hash,
            seen=b"".join(mark_of(one, self._ledger_id) for one in held),
            tallies=json.dumps([[*how, many, last_ms[how]] for how, many in sorted(ended.items())]),
            digest=b"",
        )

    def _look_at(self, one: DecisionRow) -> None:
        last, what = self._last, f"number {one.sequence} of {one.query!r}"
        if last is not None and (last.query, last.sequence) >= (one.query, one.sequence):
            self.problems.append(f"{self._file}: {what} is out of order")
        before: bytes | None = None
        if last is not None and last.query == one.query:
            before = last.hash
        elif one.query in self._before and one.sequence > self._before[one.query][0]:
            before = self._before[one.query][1]
        if before is not None and decisionchain.hash_after(before, one) != one.hash:
            self.problems.append(
                f"{self._file}: {what} is not what was decided, or not what followed"
            )
        if not (one.archived and one.published) or one.alarms:
            self.problems.append(f"{self._file}: {what} was not one that could be moved")


def last_to_move(tx: Transaction, kept: SequenceRow, before_ms: int) -> int:
    """Return the number up to which a query's decisions may go; what was moved last, if no more do.

    Args:
        tx: holds the lock of the query's budget, or sees one snapshot.
        kept: what is kept of the query's numbers.
        before_ms: windows that end after it stay.
    """
    query, moved = kept.query, kept.moved_sequence
    last, run = tx.decisions.before(query, _LAST), tx.runs.get(query=query)
    if last is None:
        return moved
    until = min(kept.base_sequence, last.sequence - 1)
    pane_ms = tx.noisy.first_start_ms(query)
    stays = tx.archives.first_to_stay(
        query,
        moved,
        before_ms=before_ms,
        run_from_ms=min(
            _LAST if run is None else run.opened_start_ms,
            _LAST if pane_ms is None else pane_ms,
        ),
    )
    return max(moved, until if stays is None else min(until, stays - 1))


def move(tx: Transaction, scope: ScopeRow, parts: Sequence[ArchiveRow], before_ms: int) -> int:
    """Let decisions go that lie in a file, and return how many.

    Parts that went before, that must not go yet, or that are of another timeline, are left out.

    Args:
        tx: holds the budget's lock.
        scope: the budget.
        parts: of its queries, as a :class:`Binder` gave them, whose file is safely on the disk.
        before_ms: windows that end after it stay.

    Raises:
        LedgerCorruptError: what the chain vouches for was changed behind the ledger's back.
    """
    vouching.check_state(tx, scope)
    gone = 0
    for part in parts:
        kept = tx.sequences.of(part.query)
        first = tx.archives.next_number(part.query, kept.moved_sequence)
        may_go = part.last_sequence <= last_to_move(tx, kept, before_ms)
        same = tx.archives.hash_at(part.query, part.last_sequence) == part.hash
        if first != part.first_sequence or not may_go or not same:
            continue
        row = replace(part, digest=archive_digest(kept.archives_digest, part))
        tx.archives.add(row)
        tx.archives.drop_decisions(part.query, part.first_sequence, part.last_sequence)
        tx.sequences.put(
            replace(
                kept,
                moved_sequence=part.last_sequence,
                moved_hash=part.hash,
                archives_digest=row.digest,
            )
        )
        gone += part.last_sequence - part.first_sequence + 1
    if gone:
        vouching.vouch(tx, scope.scope)
    return gone
