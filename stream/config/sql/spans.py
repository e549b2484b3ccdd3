"""Lengths of windows and steps, as SQL writes them: INTERVAL literals."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from stream.config.scalars import LONGEST_MS, Duration
from stream.config.sql.nodes import SqlProblem, named
from stream.windows.localtime import DAY_MS

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = ["MOST_STEPS", "check_steps", "span_of"]

MOST_STEPS: Final = 1_000
"""Most steps of one cumulative window: so often a sparse vector asks about a cell at most."""

_WRITTEN: Final = re.compile(r"INTERVAL '([0-9]{1,9})' (SECOND|MINUTE|HOUR|DAY|WEEK)S?")
_UNITS: Final = {
    "SECOND": Duration(1_000),
    "MINUTE": Duration(60_000),
    "HOUR": Duration(3_600_000),
    "DAY": Duration(DAY_MS, 1),
    "WEEK": Duration(7 * DAY_MS, 7),
}


def check_steps(step: Duration, size: Duration, node: exp.Expr) -> None:
    """Refuse steps that do not divide their window, or leave it as it is.

    Args:
        step: of a cumulative window.
        size: its length.
        node: where the step stands.

    Raises:
        SqlProblem: this window has no such steps.
    """
    steps, rest = divmod(size.milliseconds, step.milliseconds)
    if step.days or size.days or rest or not 2 <= steps <= MOST_STEPS:
        raise SqlProblem(
            "CUMULATE takes hours or shorter units, and a step that divides its window into 2 to"
            f" {MOST_STEPS:,}",
            "write the step first: CUMULATE(time, INTERVAL '5' MINUTE, INTERVAL '1' HOUR)",
            node,
        )


def span_of(node: exp.Expr) -> Duration:
    """Return the length an INTERVAL literal says.

    Raises:
        SqlProblem: it is none, or not one that windows have.
    """
    written = _WRITTEN.fullmatch(node.sql(comments=False).upper())
    times, one = (0, Duration(1)) if written is None else (int(written[1]), _UNITS[written[2]])
    if not 0 < times * one.milliseconds <= LONGEST_MS:
        message = f"{named(node)} is not an INTERVAL that windows have"
        hint = "write INTERVAL '15' MINUTE, in SECOND, MINUTE, HOUR, DAY or WEEK, ten years at most"
        raise SqlProblem(message, hint, node)
    return Duration(times * one.milliseconds, times * one.days)
