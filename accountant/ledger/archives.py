"""Moving decisions of the past to an archive: what may go, and letting it go once it lies there.

Files are the caller's. A file is written from what :meth:`Archives.movable` and
:meth:`Archives.decisions` return, is read again, and only then :meth:`Archives.move` lets its
decisions go. Whoever is killed in between has lost nothing: what lies in a file and is still here
goes when that is called again.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Final, NamedTuple

from accountant.charging import archiving
from accountant.ledger.access import registered_query, registered_scope
from accountant.ledger.upkeep import give_back, pause
from accountant.store.archives import hash_before

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from accountant.ledger.access import Access
    from accountant.store.tables.decided import ArchiveRow, DecisionRow

__all__ = ["Archives", "Span"]

_STEP_DECISIONS: Final = 8_192
_STEP_PARTS: Final = 20
"""Each asks again what may go: with hundreds of alarms that takes longer than the rows."""


class Span(NamedTuple):
    """Decisions of one query.

    Args:
        query: its name.
        after: the number that they come behind.
        last: the number up to which they go.
    """

    query: str
    after: int
    last: int


class Archives:
    """Says which decisions may go, and lets them."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._store = access.store

    def movable(self, before_ms: int) -> list[Span]:
        """Return the decisions that may go, of each query that has any, by name.

        Args:
            before_ms: windows that end after it stay; so do others, as
                :mod:`accountant.charging.archiving` says.
        """
        with self._store.read() as tx:
            found = [
                Span(
                    kept.query,
                    kept.moved_sequence,
                    archiving.last_to_move(tx, kept, before_ms),
                )
                for kept in tx.sequences.all()
            ]
        return [span for span in found if span.last > span.after]

    def decisions(self, span: Span) -> Iterator[DecisionRow]:
        """Yield decisions in the order of their numbers; each page is read by itself."""
        after = span.after
        while True:
            with self._store.read() as tx:
                page = tx.decisions.page(span.query, after)
            for one in page:
                if one.sequence > span.last:
                    return
                yield one
            if not page:
                return
            after = page[-1].sequence

    def moved(self) -> dict[str, tuple[int, bytes]]:
        """Return, by query, up to which number its decisions lie in archives, or 0.

        Beside it stands the hash that the first decision behind covers.
        """
        with self._store.read() as tx:
            every = tx.sequences.all()
        return {kept.query: (kept.moved_sequence, hash_before(kept)) for kept in every}

    def kept(self) -> list[ArchiveRow]:
        """Return what is kept of archives, by query and number."""
        with self._store.read() as tx:
            return tx.archives.all()

    def move(self, parts: Sequence[ArchiveRow], before_ms: int) -> int:
        """Let decisions go that lie in a file, in short transactions; return how many.

        Others go on meanwhile. It may be killed at any instant and called again. The space that
        they took is given back to the disk where it can be.

        Args:
            parts: of the file, as a :class:`accountant.charging.archiving.Binder` gave them.
            before_ms: as for :meth:`movable`.

        Raises:
            LedgerCorruptError: what the chain vouches for was changed behind the ledger's back.
            LedgerError: one of its queries is not registered.
        """
        with self._store.read() as tx:
            scope_of = {
                one: registered_query(tx, one).scope for one in sorted({p.query for p in parts})
            }
        ordered = sorted(parts, key=lambda one: (scope_of[one.query], one.query))
        gone = 0
        for scope, mine in groupby(ordered, key=lambda one: scope_of[one.query]):
            for together in _steps(mine):
                with self._store.write() as tx:
                    locked = registered_scope(tx, scope, lock=True)
                    gone += archiving.move(tx, locked, together, before_ms)
                    self._access.tick(tx)
                pause(self._store)
        give_back(self._store)
        return gone


def _steps(parts: Iterator[ArchiveRow]) -> Iterator[list[ArchiveRow]]:
    """Yield some parts at a time: as many as one short transaction takes."""
    together: list[ArchiveRow] = []
    many = 0
    for part in parts:
        size = part.last_sequence - part.first_sequence + 1
        if together and (many + size > _STEP_DECISIONS or len(together) == _STEP_PARTS):
            yield together
            together, many = [], 0
        together.append(part)
        many += size
    if together:
        yield together
