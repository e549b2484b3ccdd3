"""Windows of which a person counts in a few only, as the ledger's rows have them.

What they hold of a period is the sum of the dearest: that does not add up window by window, so it
is worked out from all charges of the period whenever one of them changes. Their charges therefore
stay until the period is over (:func:`kept_windows`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from accountant.budget.dearest import dearest_sum
from accountant.store.tables.charged import PeriodTotal

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from accountant.costs.charges import PeriodCap
    from accountant.store.among import Listed
    from accountant.store.tables.charged import ChargeRow
    from accountant.store.transaction import Transaction

__all__ = ["Dearest", "change", "kept_windows", "left_among", "reserved_units", "touching"]


class Dearest:
    """Adds up, by period, the dearest of the windows that people count in a few of."""

    def __init__(self) -> None:
        """Begin with no window."""
        self._totals: defaultdict[tuple[int, PeriodCap], list[PeriodTotal]] = defaultdict(list)

    def take(self, charge: ChargeRow, total: PeriodTotal | None = None) -> None:
        """Count a charge, where it has a cap.

        Args:
            charge: any.
            total: what it holds, if not what its row says.
        """
        if charge.cap is not None:
            for period in charge.periods:
                self._totals[period, charge.cap].append(charge.total if total is None else total)

    def of_queries(self) -> dict[tuple[str, int], PeriodTotal]:
        """Return what every query holds of every period."""
        held, final = Counter[tuple[str, int]](), Counter[tuple[str, int]]()
        for (period, cap), totals in self._totals.items():
            held[cap.query, period] += dearest_sum((one.held for one in totals), cap.windows)
            final[cap.query, period] += dearest_sum((one.final for one in totals), cap.windows)
        return {at: PeriodTotal(held[at], final[at]) for at in held}

    def of_periods(self) -> dict[int, PeriodTotal]:
        """Return what all of them hold of every period."""
        held, final = Counter[int](), Counter[int]()
        for (_, period), total in self.of_queries().items():
            held[period] += total.held
            final[period] += total.final
        return {period: PeriodTotal(held[period], final[period]) for period in held}


def touching(tx: Transaction, scope: str, periods: Collection[int]) -> list[ChargeRow]:
    """Return a budget's charges with a cap whose windows touch some periods."""
    if not periods:
        return []
    wanted = set(periods)
    charges = tx.charges.capped(scope, min(wanted))
    return [one for one in charges if not wanted.isdisjoint(one.periods)]


def change(
    tx: Transaction, scope: str, changes: Sequence[tuple[PeriodTotal, ChargeRow]]
) -> Mapping[tuple[str, int], PeriodTotal]:
    """Return how much more queries hold of periods, once charges with a cap have changed.

    Args:
        tx: has the charges as they are now.
        scope: the budget.
        changes: charges as they are now, each with what it held before.
    """
    before = {row.window: total for total, row in changes}
    concerned = {period for _, row in changes for period in row.periods}
    was, now = Dearest(), Dearest()
    for row in touching(tx, scope, concerned):
        was.take(row, before.get(row.window))
        now.take(row)
    found, earlier = now.of_queries(), was.of_queries()
    return {
        (query, period): PeriodTotal(
            total.held - earlier[query, period].held, total.final - earlier[query, period].final
        )
        for (query, period), total in found.items()
        if period in concerned
    }


def reserved_units(charges: Iterable[ChargeRow]) -> Mapping[int, int]:
    """Return what reservations hold of every period."""
    dearest, held = Dearest(), Counter[int]()
    for charge in charges:
        dearest.take(charge)
        if charge.cap is None:
            held.update(dict.fromkeys(charge.periods, charge.worst_units))
    held.update({period: total.held for period, total in dearest.of_periods().items()})
    return held


def kept_windows(tx: Transaction, scope: str, begun_ms: int) -> frozenset[tuple[str, int, int]]:
    """Return the windows whose charges a window to come may have to be compared with, by columns.

    Args:
        tx: holds the scope's lock, or sees one snapshot.
        scope: the budget.
        begun_ms: start of the newest period that begins before every window that is open, or still
            to be served.
    """
    charges = tx.charges.capped(scope, begun_ms)
    return frozenset(one.window for one in charges if one.periods[-1] >= begun_ms)


def left_among(tx: Transaction, scope: str, windows: Listed) -> Mapping[int, int]:
    """Return what periods hold for good by some charges with a cap, beyond what is left of them.

    Args:
        tx: still has the charges.
        scope: the budget.
        windows: those that go; where one goes, no charge of its periods is open.
    """
    going = {one.window: one for one in tx.charges.among(windows) if one.cap is not None}
    periods = {period for one in going.values() for period in one.periods}
    whole, rest = Dearest(), Dearest()
    for row in touching(tx, scope, periods):
        whole.take(row)
        if row.window not in going:
            rest.take(row)
    left = rest.of_periods()
    return {
        period: total.final - left.get(period, PeriodTotal()).final
        for period, total in whole.of_periods().items()
        if period in periods
    }
