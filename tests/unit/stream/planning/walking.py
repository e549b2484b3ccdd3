"""Windows looked at and served one by one, as tests of plans do it by hand."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from accountant.budget.filter import EventFilter
from accountant.budget.standings import Standing
from accountant.costs.charges import Charge, UniformCost, WindowKey
from accountant.loss.overlap import Held
from accountant.records import Answer
from accountant.units import PrivacyUnit, floor_loss_units, to_loss_units
from stream.decisions.mechanisms import plans_of
from stream.decisions.registration import shape_of
from stream.model.alarms import cells_per_unit, has_runs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stream.model.alarms import Alarms
    from stream.windows.calendars import Calendar

__all__ = ["served", "touching"]


def touching(calendar: Calendar, since_ms: int, until_ms: int) -> Iterator[tuple[int, int, int]]:
    """Yield number, start and end of every active window that touches a span, in order."""
    index = calendar.first_starting_at(since_ms)
    while calendar.bounds(index - 1)[1] > since_ms:
        index -= 1
    while (bounds := calendar.bounds(index))[0] < until_ms:
        if calendar.active(index) and bounds[1] > since_ms:
            yield index, *bounds
        index += 1


def served(alarms: Alarms, since_ms: int, until_ms: int) -> Iterator[tuple[WindowKey, bool]]:
    """Yield every window that starts in a span, in a ledger's order, and whether it is granted.

    Each ends at its worst. What people lose is a plain sum by period: the first window of a run
    pays for all of it, and every alarm leaves the others their shares. What events lose is the real
    filter's to say, of the regions that are registered.
    """
    plans, budget = plans_of(alarms), alarms.budget
    wall = floor_loss_units(budget.epsilon_max)
    shares = {
        name: floor_loss_units(query.share * budget.epsilon_max)
        for name, query in alarms.by_name.items()
    }
    held, opened, events = Counter[tuple[str, int]](), set(), EventFilter(wall, [])
    for key in sorted(
        WindowKey(end_ms, query.id, start_ms)
        for query in alarms.by_name.values()
        for _, start_ms, end_ms in touching(query.calendar, since_ms, until_ms)
        if start_ms >= since_ms
    ):
        query = alarms.by_name[key.query]
        units, cells = to_loss_units(plans[query.id].epsilon), cells_per_unit(query, budget)
        if budget.unit is PrivacyUnit.EVENT:
            charge, shape = (
                Charge(key, UniformCost(units, len(query.domain)), cells),
                shape_of(query),
            )
            granted = events.answer(charge, shape) is Answer.RESERVED
            if granted:
                whole = Held(key.start_ms, key.end_ms, charge.loss_units, shape)
                events.hold(Standing(whole, open=False))
            yield key, granted
            continue
        periods = budget.touched(key.start_ms, key.end_ms)
        loss = 0 if (key.query, periods) in opened else units * cells
        granted = all(
            held[key.query, period]
            + loss
            + sum(max(held[one, period], shares[one]) for one in shares if one != key.query)
            <= wall
            for period in periods
        )
        if granted:
            held.update(dict.fromkeys(((key.query, period) for period in periods), loss))
            if has_runs(query, budget):
                opened.add((key.query, periods))
        yield key, granted
