"""What is usual: an alarm's aggregate in an ordinary window, as its author says.

It moves no decision and enters no fingerprint. It is part of the configuration, and so as public
as the threshold beside it: a plan says from it how often an alarm would ring for nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accountant.errors import ConfigError
from stream.config.alarms.reduction import FARTHEST
from stream.model.numbers import decimal

if TYPE_CHECKING:
    from fractions import Fraction

    import numpy as np
    from numpy.typing import NDArray

    from stream.config.alarms.thresholds import ThresholdReader
    from stream.config.keys import AlarmModel
    from stream.config.sql.select import ParsedQuery

__all__ = ["baseline_of"]

_HINT = "write baseline: 8, or baseline: usual[room] with tables: {usual: usual.csv}"


def baseline_of(
    model: AlarmModel, parsed: ParsedQuery, tables: ThresholdReader
) -> NDArray[np.float64] | None:
    """Return an alarm's baseline, or ``None`` where it says none.

    Args:
        model: the alarm's keys.
        parsed: its SQL.
        tables: reads public tables for the alarm's domain; errors go to its findings.

    Returns:
        Shape (cells,), in the aggregate's own unit; relative to a reference that is counted on
        another feed.

    Raises:
        Refused: it says a wrong one.
    """
    if model.baseline is None:
        return None

    findings, measures = tables.findings, parsed.measures
    if parsed.members or len(measures) != 1:
        message = "baseline needs a condition with one aggregate, which counts no groups"
        hint = "remove it, or write an alarm for each aggregate"
        raise findings.wrong("baseline", message, hint)
    (measure,) = measures
    least = measure.span[0]
    relative = model.mechanism.reference_feed is not None
    lowest = None if least is None or relative else least * measure.unit

    def checked(number: Fraction) -> Fraction:
        if abs(number / measure.unit) >= FARTHEST or (lowest is not None and number < lowest):
            message = f"{measure.text} is never {decimal(number)}"
            raise ConfigError(message, hint="write a number that it may be")
        return number

    return tables.per_cell(
        model.baseline, parsed.reader, checked, "baseline", what="baseline", hint=_HINT, kind=float
    )
