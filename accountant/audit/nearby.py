"""Charges with what their decisions state, kept for as long as another pass may want them, too.

Windows in their order and links in the order of the chain tell of the same charges at nearly the
same place. Where both are followed in step, what one of them has read need not be read again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from accountant.store import rows
from accountant.store.among import listed

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from accountant.store.chain import Window
    from accountant.store.decisions import Stated
    from accountant.store.tables.charged import ChargeRow
    from accountant.store.transaction import Transaction

__all__ = ["Found", "Nearby", "in_step"]

_PAGES: Final = 2
"""So many pages of windows are kept at least, and at most about twice as many."""


class Found(NamedTuple):
    """What there is of a window.

    Args:
        charge: its charge; ``None`` without one.
        decision: what its decision states; ``None`` without one.
    """

    charge: ChargeRow | None
    decision: Stated | None


class Nearby:
    """Reads windows, and keeps those that it read last.

    Args:
        tx: sees one snapshot.
    """

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx
        self._recent: dict[Window, Found] = {}
        self._before: dict[Window, Found] = {}

    def beside(self, charges: Collection[ChargeRow]) -> dict[Window, Found]:
        """Return some charges that were just read, with their decisions."""
        windows = {one.window for one in charges}
        known = self._known(windows)
        stated = self._tx.decisions.stated_among(listed(windows - known.keys()))
        fresh = {
            one.window: Found(one, stated.get(one.window))
            for one in charges
            if one.window not in known
        }
        self._keep(fresh)
        return known | fresh

    def of(self, windows: set[Window]) -> dict[Window, Found]:
        """Return what there is of some windows."""
        known = self._known(windows)
        unknown = windows - known.keys()
        if not unknown:
            return known
        given = listed(unknown)
        charges = {one.window: one for one in self._tx.charges.among(given)}
        stated = self._tx.decisions.stated_among(given)
        fresh = {one: Found(charges.get(one), stated.get(one)) for one in unknown}
        self._keep(fresh)
        return known | fresh

    def _known(self, windows: Iterable[Window]) -> dict[Window, Found]:
        found = {}
        for one in windows:
            kept = self._recent.get(one) or self._before.get(one)
            if kept is not None:
                found[one] = kept
        return found

    def _keep(self, fresh: dict[Window, Found]) -> None:
        if len(self._recent) >= _PAGES * rows.PAGE:
            self._before, self._recent = self._recent, {}
        self._recent |= fresh


def in_step(
    leading: Iterator[tuple[int, list[str]]], following: Iterator[tuple[int, list[str]]]
) -> Iterator[str]:
    """Go through two passes a page at a time, the first no more than a page ahead of the second.

    Args:
        leading: yields how many windows a page ended, and what is wrong with them.
        following: the same.
    """
    ahead = 0
    for ended, found in leading:
        yield from found
        ahead += ended
        while ahead > 0 and (page := next(following, None)) is not None:
            ahead -= page[0]
            yield from page[1]
    for _, found in following:
        yield from found
