"""Noisy panes as the ledger keeps them, and the windows that are decided from them.

A pane is drawn once, stored with its decision, and never drawn again: what is read here is what was
stored, so a window that is computed twice is the same. A window over a pane that was denied is
denied for the pane's reason, which tells of no event.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from accountant.costs.charges import WindowKey
from accountant.costs.noisy import Noisy
from stream.decisions.schedule import window_from, windows_within

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from accountant.ledger.ledger import Ledger
    from stream.model.alarm import Alarm
    from stream.model.alarms import Alarms

__all__ = ["TOKEN_BYTES", "StoredPanes", "decoded"]

TOKEN_BYTES: Final = 16
"""Random ones, so that no two draws of a pane are taken for one, even where they agree."""
_QUICKLY: Final = 1  # noise hardly shrinks by more effort
_WIDTHS: Final = ("<i1", "<i2", "<i4", "<i8")  # every window unpacks all its panes


@dataclass(frozen=True, slots=True)
class NoisyPanes:
    """The noisy counts of some panes in their order, each unpacked when its turn comes.

    Args:
        stored: of every pane, as :class:`StoredPanes` encodes them.
        cells: how many counts each of them has.
    """

    stored: tuple[bytes, ...]
    cells: int

    def __iter__(self) -> Iterator[NDArray[np.int64]]:
        """Yield the counts of each, shape (cells,), int64."""
        return (decoded(each, self.cells) for each in self.stored)


class StoredPanes:
    """Puts noisy panes into what the ledger stores, and takes windows out of it.

    Args:
        alarms: the checked configuration.
        ledger: where they are kept.
    """

    def __init__(self, alarms: Alarms, ledger: Ledger) -> None:
        self._panes = alarms.panes
        self._alarms = alarms.by_name
        self._ledger = ledger

    def kept(self, panes: Alarm, noisy: NDArray[np.int64], token: bytes) -> Noisy:
        """Return what is stored of a pane.

        Panes stay while a window that is not decided reads them: of the alarm that is furthest
        behind. Cursors are public, and so is what is kept.

        Args:
            panes: their query.
            noisy: shape (cells,), int64.
            token: of this draw alone, random.
        """
        cursors = self._ledger.progress.cursors(panes.readers)
        begun = (_begun_ms(self._alarms[name], cursor_ms) for name, cursor_ms in cursors.items())
        from_ms = max(min(begun), self._ledger.effective_from(panes.id))
        return Noisy(_encoded(noisy) + token, from_ms)

    def over(self, alarm: Alarm, start_ms: int, end_ms: int) -> NoisyPanes | str:
        """Return the noisy counts of a window's panes, or why it is denied.

        Args:
            alarm: the alarm.
            start_ms: where the window starts, also of one that is looked at in steps.
            end_ms: where it, or its step, ends. All panes have ended.

        Returns:
            Those of each pane; else one of :data:`stream.model.reasons.DENIALS`.
        """
        panes = self._panes[alarm.panes]
        rows = self._ledger.noisy.between(panes.id, start_ms, end_ms)
        stored = {row.key: row for row in rows if row.fingerprint == panes.fingerprint}
        found = []
        for one in windows_within(panes, start_ms, end_ms):
            row = stored.get(one)
            if row is None:
                return self._why_not(one)
            found.append(row.counts)
        return NoisyPanes(tuple(found), len(alarm.domain))

    def continues(self, alarm: Alarm, index: int) -> bool:
        """Tell whether the step before one was decided, where a window has steps.

        A cell that rang at a step is done, whoever was told; who counts in a step counts in none
        behind it, whoever paid for that: so all steps behind a denied one are denied.

        Args:
            alarm: an alarm over panes, or panes.
            index: of its window or step.
        """
        calendar = alarm.calendar
        if calendar.counted(index) == calendar.bounds(index):
            return True
        start_ms, end_ms = calendar.bounds(index - 1)
        before = self._ledger.decision(WindowKey(end_ms, alarm.id, start_ms))
        return before is not None and before.reason is None

    def _why_not(self, pane: WindowKey) -> str:
        """Return why a pane has no noisy counts: its denial, or that they are gone."""
        decision = self._ledger.decision(pane)
        return (decision and decision.reason) or "pane_gone"


def decoded(counts: bytes, cells: int) -> NDArray[np.int64]:
    """Return noisy counts as they were stored.

    Args:
        counts: of one pane, as :class:`StoredPanes` encodes them.
        cells: how many there are; how wide each of them is follows from it.
    """
    # Ends where the counts do: the token follows, which is no part of them.
    whole = zlib.decompressobj().decompress(counts)
    return np.frombuffer(whole, dtype=f"<i{len(whole) // cells}").astype(np.int64)


def _encoded(noisy: NDArray[np.int64]) -> bytes:
    """Return noisy counts, deflated: as wide as the widest of them needs, and all alike."""
    ends = noisy.min(), noisy.max()
    width = next(each for each in _WIDTHS if np.array_equal(np.array(ends).astype(each), ends))
    return zlib.compress(noisy.astype(width).tobytes(), _QUICKLY)


def _begun_ms(alarm: Alarm, cursor_ms: int) -> int:
    """Return where the oldest undecided window of an alarm starts, its earlier steps included."""
    return alarm.calendar.counted(window_from(alarm, cursor_ms).number)[0]
