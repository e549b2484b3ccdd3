"""The real filter of one budget period, asked for one window after another."""

from __future__ import annotations

from typing import Any

from accountant.budget.filter import UserFilter
from accountant.budget.standings import Standing
from accountant.costs.charges import Charge, PeriodCap, UniformCost, WindowKey
from accountant.loss.overlap import Held
from accountant.records import Answer
from accountant.regions.shapes import ANYWHERE


class Served:
    """Windows of some alarms, each of them ended before the next is asked about."""

    def __init__(self, wall, *keepers, kind=UserFilter):
        """Begin a period."""
        self.judge = kind(wall, {}, {}, *keepers)
        self.place = 0

    def grants(self, query: str, units: int, cap: PeriodCap | None = None) -> bool:
        """Ask for the next window."""
        self.place += 10
        key = WindowKey(self.place, query, self.place - 10)
        asked = Charge(key, UniformCost(units, 1), 1, (0,), cap)
        return self.judge.answer(asked, ANYWHERE) is Answer.RESERVED

    def end(self, query: str, units: int, **more: Any) -> None:
        """End the window that was asked for last."""
        held = Held(self.place - 10, self.place, units)
        self.judge.hold(Standing(held, False, (0,), query, **more))
