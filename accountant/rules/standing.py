"""The filter as it stands before some windows are asked about, from the state.

Nothing is remembered beside the state: shares, and what an open run may still cost, follow from
entries, so they are the same after a restart and for every worker.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from accountant.budget.filter import EventFilter, UserFilter, WithRoom
from accountant.budget.keeping import Keeper, Keepers, OpenRun
from accountant.log.state import ChargeState
from accountant.loss.overlap import told_apart, worst_instant, worst_loss

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from accountant.budget.filter import BudgetFilter
    from accountant.budget.standings import Standing
    from accountant.costs.charges import WindowKey
    from accountant.costs.runs import StoredRun
    from accountant.log.state import Budget, Query, Reservation

__all__ = ["judge", "worst_settled"]


def judge(
    budget: Budget,
    *,
    since_ms: int,
    periods: Collection[int],
    first: WindowKey | None = None,
) -> BudgetFilter:
    """Return the filter as it stands before some windows are asked about.

    Args:
        budget: whose windows they are.
        since_ms: no later than the start of the first of them.
        periods: the budget periods that they touch.
        first: the first of them; ``None`` where all come behind every window that was served.
    """
    if budget.by_user:
        return _by_user(budget, periods, first)
    limit_units = budget.terms.epsilon_max_units
    final = budget.final_after(since_ms)
    if first is not None:
        place = (first.end_ms, first.query, first.start_ms)
        final = [one for one in final if _place(one) < place]
    still_open = [
        standing
        for charge in budget.open()
        if charge.asked.end_ms > since_ms and (first is None or charge.window < first)
        if (standing := budget.standing(charge)) is not None
    ]
    # What another copy decided counts against every window, whichever comes first.
    before = [*final, *budget.recovered_after(since_ms), *still_open]
    room = limit_units - sum(one.held.loss_units for one in before)
    return WithRoom(room, lambda: EventFilter(limit_units, before, budget.shapes))


def worst_settled(
    budget: Budget, *, since_ms: int, near: WindowKey | None, fingerprint: str
) -> int:
    """Return what the dearest row of a budget of unit ``event`` has lost for good.

    Args:
        budget: as it stands.
        since_ms: what ended by then is as it was when it was looked at last.
        near: only rows of this window can have lost more; ``None`` for any.
        fingerprint: of its configuration.
    """
    above, among = budget.worst_units, budget.shapes()
    archived_ms = budget.archived_ms
    if near is None and archived_ms is not None:
        later = budget.recovered_after(since_ms, budget.archived_beside)
        beside = [one.held for one in later if one.held.start_ms < archived_ms]
        # The charges beside these lie in an archive: what their dearest row had lost is all of it.
        above = max(above, budget.archived_units + worst_instant(beside)) if beside else above
    held = [
        one.held
        for one in (*budget.final_after(since_ms), *budget.recovered_after(since_ms))
        if near is None or one.held.start_ms < near.end_ms
    ]
    if sum(one.loss_units for one in held) <= above:
        return above  # no row lost more than all of it
    within = None if near is None else (near.start_ms, near.end_ms)
    meeting = None if near is None else budget.shape(near.query, fingerprint)
    if not told_apart(frozenset(one.shape for one in held), among):
        meeting = None  # a coarser bound depends on what is looked at: it stays as it was
    return worst_loss(held, within=within, meeting=meeting, above=above, among=among)


def _by_user(budget: Budget, periods: Collection[int], first: WindowKey | None) -> UserFilter:
    wanted = set(periods)
    later = [one for one in budget.charges.values() if first is not None and one.window >= first]
    least: Counter[int] = Counter()
    most: Counter[int] = Counter()
    for period in wanted:
        total = budget.plain_total(period)
        most[period], least[period] = total.held, total.final
    for charge in budget.charges.values():
        if charge.cap is None and charge.state is ChargeState.PENDING:
            _add(most, charge, charge.loss_units)
    for charge in later:
        if charge.cap is None:
            _add(most, charge, -_held(charge))
            _add(least, charge, -charge.total.final)
    excluded = {one.window for one in later}
    capped = [
        standing
        for one in budget.charges.values()
        if one.cap is not None
        and one.window not in excluded
        and not wanted.isdisjoint(one.asked.periods)
        if (standing := budget.standing(one)) is not None
    ]
    keepers = _keepers(budget, later, first)
    return UserFilter(budget.terms.epsilon_max_units, least, most, keepers, capped)


def _keepers(budget: Budget, later: Sequence[Reservation], first: WindowKey | None) -> Keepers:
    """Return what alarms keep from one another as it stands before a window."""
    found: dict[str, Keeper] = {}
    last = budget.last_in_runs(first)
    before = [one for one in budget.open() if first is None or one.window < first]
    for name, query in budget.queries.items():
        if query.share_units:
            found[name] = _with_share(query, before, later)
        if query.run is not None:
            found.setdefault(name, Keeper()).run = _open_run(query.run, last.get(name))
    for charge in before:
        keeper = found.get(charge.asked.query)
        if keeper is not None:
            keeper.open.add(charge.asked.periods)
    return Keepers(found)


def _with_share(
    query: Query, before: Iterable[Reservation], later: Iterable[Reservation]
) -> Keeper:
    """Return an alarm with a share, with what it holds of it before a window."""
    least, most = Counter[int](), Counter[int]()
    for period, total in query.drawn.items():
        most[period], least[period] = total.held, total.final
    for charge in before:
        if charge.asked.query == query.query and charge.state is ChargeState.PENDING:
            _add(most, charge, charge.loss_units)
    for charge in later:
        if charge.asked.query == query.query:
            _add(most, charge, -charge.total.held)
            _add(least, charge, -charge.total.final)
    return Keeper(query.share_units, least, most)


def _open_run(run: StoredRun, near: Reservation | None) -> OpenRun | None:
    """Return a run as the last window decided in it before another left it; ``None`` if over."""
    if near is None or near.left_units is None:
        return None
    asked = near.asked
    if run.periods == asked.periods and run.opened_start_ms > asked.start_ms:
        return None  # a later run of the same periods: a custodian ended this one
    return OpenRun.after(asked.start_ms, asked.end_ms, asked.periods, near.left_units)


def _held(charge: Reservation) -> int:
    return charge.loss_units if charge.state is ChargeState.PENDING else charge.total.held


def _add(units: Counter[int], charge: Reservation, more: int) -> None:
    for period in charge.asked.periods:
        units[period] += more


def _place(standing: Standing) -> tuple[int, str, int]:
    return standing.held.end_ms, standing.query, standing.held.start_ms
