"""A sparse vector's condition, aim and terms for tests."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from accountant.units import UNITS_PER_EPSILON
from operators import (
    Aim,
    Comparison,
    Condition,
    IntegerTest,
    SvtPlan,
)

RATE = Fraction(1, 20)


def condition(cells: int = 3, *, sensitivity: int = 1, monotone: bool = True) -> Condition:
    """Return COUNT > 50 in so many cells."""
    test = IntegerTest(Comparison.GT, np.full(cells, 50, dtype=np.int64), sensitivity)
    return replace(Condition.single(test), monotone=monotone)


def aim(tolerance: int = 5, *, alarms: int = 10, questions: int = 1) -> Aim:
    """Return an aim of the usual rates."""
    return Aim(RATE, (tolerance,), alarms=alarms, questions=questions)


def plan(alarms: int = 3, **changes: Any) -> SvtPlan:
    """Return terms of a run."""
    given = SvtPlan(open_units=UNITS_PER_EPSILON, alarm_units=UNITS_PER_EPSILON, alarms=alarms)
    return replace(given, **changes)
