"""What the alarms of a budget keep from one another, as the ledger's rows have it.

Nothing is remembered by a process: shares stand in rows of their own, and what an open run may
still cost follows from the charges of its windows. So it is there again after a restart, and is the
same for every worker.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from accountant.budget.keeping import Keeper, Keepers, OpenRun
from accountant.charging import capped
from accountant.store.tables.charged import OPEN, ChargeRow, ChargeState, PeriodTotal

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from accountant.costs.charges import WindowKey
    from accountant.store.kept import Started
    from accountant.store.transaction import Transaction

__all__ = ["add_to_totals", "draw", "keepers", "kept_windows", "left_units"]

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
    end_ms, name = (_LATEST_MS, "") if before is None else (before.end_ms, before.query)
    last = tx.charges.last_in_runs(scope, end_ms, name) if started else {}
    for one in started:
        run = _open_run(tx, one, last.get(one.query), end_ms)
        found.setdefault(one.query, Keeper()).run = run
    for charge in open_charges:
        if charge.query in found:
            found[charge.query].open.add(charge.periods)
    return Keepers(found)


def add_to_totals(
    tx: Transaction, scope: str, changes: Iterable[tuple[PeriodTotal, ChargeRow]]
) -> None:
    """Add to what periods hold, and to what was drawn of shares.

    Args:
        tx: holds the scope's lock, and has the charges as they are now.
        scope: the budget.
        changes: charges as they are now, each with what it added before.
    """
    grown: defaultdict[int, PeriodTotal] = defaultdict(PeriodTotal)
    few: list[tuple[PeriodTotal, ChargeRow]] = []
    for before, row in changes:
        if row.cap is not None:
            few.append((before, row))
            continue
        held, final = row.total.held - before.held, row.total.final - before.final
        for period in row.periods if held or final else ():
            so_far = grown[period]
            grown[period] = PeriodTotal(so_far.held + held, so_far.final + final)
        draw(tx, scope, row.query, dict.fromkeys(row.periods, PeriodTotal(held, final)))
    for (query, period), more in capped.change(tx, scope, few).items():
        so_far = grown[period]
        grown[period] = PeriodTotal(so_far.held + more.held, so_far.final + more.final)
        draw(tx, scope, query, {period: more})
    tx.totals.add(scope, grown)


def draw(tx: Transaction, scope: str, query: str, change: Mapping[int, PeriodTotal]) -> None:
    """Note what a query holds more of some periods, where it has a share."""
    if change and query in tx.kept_shares.of(scope):
        tx.kept_shares.draw(query, change)


def kept_windows(tx: Transaction, scope: str, before_ms: int) -> frozenset[tuple[str, int, int]]:
    """Return the windows whose charges an answer may still have to look at, by columns.

    They alone tell what an open run may still cost: elsewhere the run's own row tells it, or the
    next window that was decided in it. Or a person counts in a few only of them and of windows to
    come.

    Args:
        tx: holds the scope's lock, or sees one snapshot.
        scope: the budget.
        before_ms: no window that is open, or still to be served, starts before it.
    """
    found: set[tuple[str, int, int]] = set()
    begun = max((period for period in tx.totals.of(scope) if period <= before_ms), default=0)
    found |= capped.kept_windows(tx, scope, begun)
    decided = tx.charges.last_in_runs(scope, before_ms + 1)
    for query, last in decided.items():
        # Where a later period has begun, no window to come touches the run's.
        if not left_units(last) or begun > last.periods[-1]:
            continue
        following = tx.charges.next_in_run(query, before_ms, last.start_ms)
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


def _open_run(
    tx: Transaction, stored: Started, near: ChargeRow | None, before_ms: int
) -> OpenRun | None:
    """Return a query's run as its windows before one left it; ``None`` where it is over.

    Args:
        tx: holds the scope's lock, or sees one snapshot.
        stored: as its last window of all left it.
        near: the charge of the last window before; ``None`` where it was compacted, or never was.
        before_ms: end of the window before which it is asked for.
    """
    left = None if near is None else left_units(near)
    if near is None:
        near = tx.charges.next_in_run(stored.query, before_ms - 1)
        if near is None:
            left = stored.left * stored.alarm_units
            return OpenRun.after(stored.last_start_ms, stored.last_start_ms, stored.periods, left)
        # Inside a run, a window held what the one before it left; one that opened it, more.
        left = near.worst_units if near.worst_units < near.loss_units else None
    replaced = stored.periods == near.periods and stored.opened_start_ms > near.start_ms
    if left is None or replaced:  # by a later run of the same periods: a custodian ended this one
        return None
    return OpenRun.after(near.start_ms, near.end_ms, near.periods, left)
