"""What the alarms of a budget keep from one another, as the ledger's rows have it.

Nothing is remembered by a process: shares stand in rows of their own, and what an open run may
still cost follows from the charges of its windows. So it is there again after a restart, and is the
same for every worker.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from accountant.budget.keeping import Keeper, Keepers, OpenRun
from accountant.store.tables.charged import OPEN, ChargeRow, ChargeState

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from accountant.costs.charges import WindowKey
    from accountant.store.kept import Started
    from accountant.store.tables.charged import PeriodTotal
    from accountant.store.transaction import Transaction

__all__ = ["draw", "keepers", "kept_windows", "left_units"]

_LATEST_MS = 2**63 - 1


def left_units(charge: ChargeRow) -> int | None:
    """Return what alarms that a window left its run may cost; ``None`` where it drew nothing."""
    if not charge.in_run:
        return None
    if charge.state is ChargeState.SETTLED:
        return charge.worst_units - charge.final_units
    # The adoption that took it as spent ended the run.
    return 0 if charge.state is ChargeState.SPENT else None


def keepers(
    tx: Transaction,
    scope: str,
    *,
    periods: Collection[int],
    before: WindowKey | None,
    without: Sequence[ChargeRow],
) -> Keepers:
    """Return what alarms keep as it stands before a window.

    Args:
        tx: holds the scope's lock, or sees one snapshot.
        scope: the budget, of unit ``user``.
        periods: those that are asked about.
        before: the window; ``None`` behind every window that was served.
        without: all charges from that window on.
    """
    found: dict[str, Keeper] = {}
    shares, started = tx.kept_shares.of(scope), tx.runs.started(scope)
    if not shares and not started:
        return Keepers()
    open_charges = [
        one for one in tx.charges.in_state(scope, *OPEN) if before is None or one.key < before
    ]
    both = (open_charges, without)
    for query, units in shares.items():
        drawn = tx.kept_shares.drawn(query, periods)
        mine, later = ([one for one in each if one.query == query] for each in both)
        found[query] = _with_share(units, drawn, mine, later)
    for one in started:
        found.setdefault(one.query, Keeper()).run = _open_run(tx, one, before)
    for charge in open_charges:
        if charge.query in found:
            found[charge.query].open.add(charge.periods)
    return Keepers(found)


def draw(
    tx: Transaction, scope: str, changes: Iterable[tuple[str, Mapping[int, PeriodTotal]]]
) -> None:
    """Note what queries hold more of some periods, where they have a share.

    Args:
        tx: holds the scope's lock.
        scope: the budget.
        changes: queries, with what they hold more by period start (ms).
    """
    shares = tx.kept_shares.of(scope)
    for query, change in changes:
        if query in shares:
            tx.kept_shares.draw(query, change)


def kept_windows(tx: Transaction, scope: str, before_ms: int) -> frozenset[tuple[str, int, int]]:
    """Return the windows whose charges alone tell what an open run may still cost, by columns.

    Elsewhere the run's own row tells it, or the next window that was decided in it.

    Args:
        tx: holds the scope's lock, or sees one snapshot.
        scope: the budget.
        before_ms: no window that is open, or still to be served, starts before it.
    """
    found: set[tuple[str, int, int]] = set()
    begun = max((period for period in tx.totals.of(scope) if period <= before_ms), default=0)
    for one in tx.runs.started(scope):
        last = tx.charges.last_in_run(one.query, before_ms)
        # Where a later period has begun, no window to come touches the run's.
        if last is None or not left_units(last) or begun > last.periods[-1]:
            continue
        following = tx.charges.next_in_run(one.query, before_ms, last.start_ms)
        if len(last.periods) > 1 or (following is not None and following.periods != last.periods):
            found.add(last.window)
    return frozenset(found)


def _with_share(
    units: int,
    drawn: Mapping[int, PeriodTotal],
    open_before: Iterable[ChargeRow],
    without: Iterable[ChargeRow],
) -> Keeper:
    """Return an alarm with a share, with what it holds of it before a window.

    Args:
        units: its share.
        drawn: what it holds by now.
        open_before: its open charges that come before.
        without: its charges that do not.
    """
    least, most = Counter[int](), Counter[int]()
    for period, total in drawn.items():
        most[period], least[period] = total
    for charge in open_before:
        if charge.state is ChargeState.PENDING:
            most.update(dict.fromkeys(charge.periods, charge.loss_units))
    for charge in without:
        most.subtract(dict.fromkeys(charge.periods, charge.total.held))
        least.subtract(dict.fromkeys(charge.periods, charge.total.final))
    return Keeper(units, least, most)


def _open_run(tx: Transaction, stored: Started, before: WindowKey | None) -> OpenRun | None:
    """Return a query's run as its windows before one left it; ``None`` where it is over."""
    query, until_ms = stored.query, _LATEST_MS
    if before is not None:
        until_ms = before.end_ms if query < before.query else before.end_ms - 1
    near = tx.charges.last_in_run(query, until_ms)
    left = None if near is None else left_units(near)
    if near is None:  # compacted, or there was none
        near = tx.charges.next_in_run(query, until_ms)
        if near is None:
            left = stored.left * stored.alarm_units
            return OpenRun.after(stored.last_start_ms, stored.last_start_ms, stored.periods, left)
        # Inside a run, a window held what the one before it left; one that opened it, more.
        left = near.worst_units if near.worst_units < near.loss_units else None
    replaced = stored.periods == near.periods and stored.opened_start_ms > near.start_ms
    if left is None or replaced:  # by a later run of the same periods: a custodian ended this one
        return None
    return OpenRun.after(near.start_ms, near.end_ms, near.periods, left)
