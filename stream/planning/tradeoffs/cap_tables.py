"""Caps over a period against tolerance, as tables for a person and as JSON lines for a program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.text import Text

from accountant.units import from_loss_units
from stream.config.alarms.tolerances import tolerance_text
from stream.decisions.records import epsilon_text
from stream.planning.fitting import Fitting

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import RenderableType

    from stream.planning.tradeoffs.caps import CapChoices

__all__ = ["NO_CAPS", "cap_lines", "cap_tables"]

NO_CAPS: Final = (
    "no alarm of this file may have a cap over its period: windows_per_period is for budget"
    " unit: user and a period that ends, and neither for runs nor beside shares"
)
"""What is said where nothing can be weighed."""


def cap_tables(choices: Sequence[CapChoices]) -> list[RenderableType]:
    """Return a table an alarm: what each cap costs, and what the present loss would buy.

    Args:
        choices: of all alarms that may have a cap.
    """
    if not choices:
        return [Text(NO_CAPS)]
    return [_table(each) for each in choices]


def _table(choices: CapChoices) -> Fitting:
    query, rows = choices.query, []
    now = tolerance_text(query, query.aim.tolerances)
    for each in choices.choices:
        name = f"none: {choices.windows}" if each.cap is None else str(each.cap)
        bought = "none" if each.bought is None else tolerance_text(query, each.bought.tolerances)
        spent = "" if each.bought is None else _shown(each.bought_units)
        rows.append((f"{name} *" if each.used else name, _shown(each.units), bought, spent))
    return Fitting.of(
        f"{query.id}: windows_per_period against tolerance",
        (),
        (
            "cap",
            f"epsilon a period\nat tolerance {now}",
            "tolerance for\nthe present epsilon",
            "epsilon\na period",
        ),
        rows,
        "* as configured; a person counts in the first so many windows of a period: what that does"
        " to the counts is said by `tocsin simulate --caps`",
    )


def cap_lines(choices: Sequence[CapChoices]) -> Iterator[dict[str, object]]:
    """Yield the same as one JSON object a cap.

    Args:
        choices: of all alarms that may have a cap.
    """
    for alarm in choices:
        for each in alarm.choices:
            aim, query = each.bought, alarm.query
            yield {
                "record": "cap",
                "alarm": query.id,
                "windows_per_period": each.cap,
                "windows": alarm.windows,
                "configured": each.used,
                "worst": epsilon_text(each.units),
                "present": epsilon_text(alarm.present_units),
                "tolerance": None if aim is None else tolerance_text(query, aim.tolerances),
                "tolerance_worst": None if aim is None else epsilon_text(each.bought_units),
            }


def _shown(units: int) -> str:
    return f"{float(from_loss_units(units)):.3f}"
