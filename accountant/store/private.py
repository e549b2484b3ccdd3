"""What must stay private and be deleted some day: states of runs, noisy counts of panes.

The log has a digest of each, keyed with the ledger's secret: nobody may guess at noise.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

from accountant.costs.charges import WindowKey
from accountant.errors import LedgerCorruptError
from accountant.store.rows import Rows
from accountant.store.tables import PRIVATE

if TYPE_CHECKING:
    import sqlalchemy as sa

    from accountant.costs.noisy import Noisy
    from accountant.costs.runs import StoredRun

__all__ = ["NOISY", "RUN", "NoisyCounts", "Private"]

RUN: Final = "run"
NOISY: Final = "noisy"


@dataclass(frozen=True, slots=True)
class NoisyCounts:
    """The noisy counts of a pane, as its decision left them.

    Args:
        key: the pane.
        fingerprint: of the configuration that it was decided under.
        counts: of all its cells, in the caller's encoding.
    """

    key: WindowKey
    fingerprint: str
    counts: bytes


class Private(Rows):
    """Private rows; a query has at most one run."""

    def keep_run(self, key: WindowKey, run: StoredRun) -> bytes:
        """Store a run as a window left it, and return the digest of its state."""
        self.drop(kind=RUN, query=key.query)
        return self._keep(RUN, key, run.fingerprint, run.state)

    def keep_noisy(self, key: WindowKey, fingerprint: str, noisy: Noisy) -> bytes:
        """Store noisy counts, drop those that no window reads any more; return their digest."""
        columns = PRIVATE.c
        self.drop_where(
            columns.kind == NOISY,
            columns.query == key.query,
            columns.start_ms < noisy.kept_from_ms,
        )
        return self._keep(NOISY, key, fingerprint, noisy.counts)

    def run(self, run: StoredRun | None, left: bytes | None) -> StoredRun | None:
        """Return a query's run with its state.

        Args:
            run: as the log says it.
            left: digest of its state, as the log says it.

        Raises:
            LedgerCorruptError: its state is not as its last window left it.
        """
        if run is None:
            return None
        row = self.get(kind=RUN, query=run.query)
        if row is None or row.start_ms != run.last_start_ms or self.digest_of(row) != left:
            raise LedgerCorruptError(
                f"the SVT run of alarm {run.query!r} is not what was stored",
                hint="run `tocsin ledger FILE verify`, and restore the newest backup",
            )
        return replace(run, state=row.body)

    def noisy(self, query: str, start_ms: int, end_ms: int) -> list[NoisyCounts]:
        """Return the noisy counts of a query's panes that lie in a span, in their order."""
        columns = PRIVATE.c
        mine = (columns.kind == NOISY, columns.query == query)
        span = (columns.start_ms >= start_ms, columns.end_ms <= end_ms)
        return [
            NoisyCounts(_window_of(row), row.fingerprint, row.body)
            for row in self.where(*mine, *span)
        ]

    def digest_of(self, row: sa.Row[Any]) -> bytes:
        """Return the digest of a row's private part, as the log says it."""
        return self._left(row.kind, _window_of(row), row.body)

    def forget(self, query: str) -> None:
        """Drop a query's run and its noisy counts."""
        for kind in (RUN, NOISY):
            self.drop(kind=kind, query=query)

    def _keep(self, kind: str, key: WindowKey, fingerprint: str, body: bytes) -> bytes:
        self.put(kind, key.query, key.start_ms, key.end_ms, fingerprint, body)
        return self._left(kind, key, body)

    def _left(self, kind: str, key: WindowKey, body: bytes) -> bytes:
        hashed = blake2b(body, digest_size=16, key=self._secret, person=b"tocsin.left")
        hashed.update(repr((kind, key.query, key.start_ms, key.end_ms)).encode())
        return hashed.digest()


def _window_of(row: sa.Row[Any]) -> WindowKey:
    return WindowKey(row.end_ms, row.query, row.start_ms)
