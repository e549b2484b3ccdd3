"""Noisy panes as the ledger keeps them, and the windows that are decided from them.

A pane is drawn once, stored with its decision, and never drawn again: what is read here is what was
stored, so a window that is computed twice is the same. A window over a pane that was denied is
denied for the pane's reason, which tells of no event.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Final

import numpy as np

from accountant.costs.charges import WindowKey
from accountant.costs.noisy import Noisy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from accountant.ledger.ledger import Ledger
    from stream.model.alarms import Alarms
    from stream.model.queries import Query

__all__ = ["TOKEN_BYTES", "StoredPanes", "noisy_in"]

TOKEN_BYTES: Final = 16
"""Random ones, so that no two draws of a pane are taken for one, even where they agree."""
_QUICKLY: Final = 1  # noise hardly shrinks by more effort


class StoredPanes:
    """Puts noisy panes into what the ledger stores, and takes windows out of it.

    Args:
        alarms: the checked configuration.
        ledger: where they are kept.
    """

    def __init__(self, alarms: Alarms, ledger: Ledger) -> None:
        self._panes = alarms.panes
        self._ledger = ledger

    def kept(self, panes: Query, noisy: NDArray[np.int64], token: bytes) -> Noisy:
        """Return what is stored of a pane.

        Panes stay while a window that is not decided reads them: of the alarm that is furthest
        behind. Cursors are public, and so is what is kept.

        Args:
            panes: their query.
            noisy: shape (cells,), int64.
            token: of this draw alone, random.
        """
        cursors = self._ledger.progress.cursors(panes.readers)
        from_ms = max(min(cursors.values()), self._ledger.effective_from(panes.id))
        return Noisy(zlib.compress(noisy.astype("<i8").tobytes(), _QUICKLY) + token, from_ms)

    def ended(self, query: Query, key: WindowKey) -> bool:
        """Tell whether all panes of an alarm's window have been decided or denied."""
        return self._ledger.cursor(query.panes) >= key.end_ms

    def over(self, query: Query, key: WindowKey) -> NDArray[np.int64] | str:
        """Return the noisy counts of a window's panes, or why it is denied.

        Args:
            query: the alarm.
            key: its window, whose panes have all ended.

        Returns:
            Shape (panes, cells), int64; else one of :data:`stream.model.reasons.DENIALS`.
        """
        panes = self._panes[query.panes]
        rows = self._ledger.noisy.between(panes.id, key.start_ms, key.end_ms)
        stored = {row.key: row for row in rows if row.fingerprint == panes.fingerprint}
        found = []
        for one in _panes_of(panes, key):
            row = stored.get(one)
            if row is None:
                return self._why_not(one)
            found.append(noisy_in(row.counts))
        return np.stack(found).astype(np.int64, copy=False)

    def _why_not(self, pane: WindowKey) -> str:
        """Return why a pane has no noisy counts: its denial, or that they are gone."""
        decision = self._ledger.decision(pane)
        return (decision and decision.reason) or "pane_gone"


def noisy_in(stored: bytes) -> NDArray[np.int64]:
    """Return a pane's noisy counts as they are stored: shape (cells,), little-endian int64."""
    # Ends where the counts do: the token follows, which panes of older versions lack.
    return np.frombuffer(zlib.decompressobj().decompress(stored), dtype="<i8")


def _panes_of(panes: Query, key: WindowKey) -> Iterator[WindowKey]:
    """Yield the panes of a window, in their order."""
    calendar = panes.calendar
    index = calendar.next_active(calendar.first_starting_at(key.start_ms))
    while (bounds := calendar.bounds(index))[1] <= key.end_ms:
        yield WindowKey(end_ms=bounds[1], query=panes.id, start_ms=bounds[0])
        index = calendar.next_active(index + 1)
