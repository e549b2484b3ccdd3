"""A plan as one HTML page that loads nothing: from configuration alone, for anybody to see."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream.planning.drawings import HEIGHT, WIDTH, curve_drawing
from stream.planning.pages import template_of
from stream.planning.shown import plan_lines
from stream.planning.utility import utilities

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream.model.alarms import Alarms
    from stream.planning.figures import BudgetFigures

__all__ = ["plan_page"]


def plan_page(alarms: Alarms, budgets: Sequence[BudgetFigures]) -> str:
    """Return the whole page: the lines of the plan, and every detection curve.

    Args:
        alarms: the configuration.
        budgets: its figures.
    """
    return template_of(__package__, "plan.html").render(
        file=alarms.file,
        height=HEIGHT,
        width=WIDTH,
        lines=list(plan_lines(budgets)),
        alarms=[
            {
                "name": one.alarm.id,
                "sql": one.alarm.sql.strip(),
                "drawing": None if one.law is None else curve_drawing(one),
                "why_not": one.why_not,
            }
            for one in utilities(alarms)
        ],
    )
