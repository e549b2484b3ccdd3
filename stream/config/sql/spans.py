"""Lengths of windows and steps, as SQL writes them: INTERVAL literals."""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from stream.config.scalars import Duration
from stream.config.sql.nodes import SqlProblem, named
from stream.windows.localtime import DAY_MS

__all__ = ["MOST_STEPS", "check_steps", "span_of"]

MOST_STEPS: Final = 1_000
"""Most steps of one cumulative window: so often a sparse vector asks about a cell at most."""

_UNITS: Final = {
    "SECOND": Duration(1_000),
    "MINUTE": Duration(60_000),
    "HOUR": Duration(3_600_000),
    "DAY": Duration(DAY_MS, 1),
    "WEEK": Duration(7 * DAY_MS, 7),
}
_LONGEST_DAYS: Final = 3660


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
    hint = "write INTERVAL '15' MINUTE, in SECOND, MINUTE, HOUR, DAY or WEEK"
    if not isinstance(node, exp.Interval):
        raise SqlProblem(f"{named(node)} is not an INTERVAL", hint, node)
    amount, unit = node.this, node.args.get("unit")
    text = amount.name if isinstance(amount, exp.Literal) else ""
    word = unit.name.upper().removesuffix("S") if isinstance(unit, exp.Var) else ""
    whole = text.isascii() and text.isdigit() and len(text) <= 9 and int(text) > 0
    if not whole or word not in _UNITS:
        raise SqlProblem(
            "the INTERVAL is not a whole number of a unit that windows have", hint, node
        )
    times, one = int(text), _UNITS[word]
    span = Duration(times * one.milliseconds, times * one.days)
    if span.milliseconds > _LONGEST_DAYS * DAY_MS:
        raise SqlProblem("the INTERVAL is longer than ten years", "write a shorter one", node)
    return span
