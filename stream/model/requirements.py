"""What is required of an alarm, beside its bounded error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from stream.model.numbers import decimal

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

__all__ = ["SPANS", "FalseAlarmRate"]

SPANS: Final[Mapping[str, int]] = {"day": 1, "week": 7, "month": 30}
"""Spans of time in which false alarms are counted, in days."""


@dataclass(frozen=True, slots=True)
class FalseAlarmRate:
    """How often an alarm may fire falsely, over all its cells, each at its baseline.

    Args:
        number: expected false alarms, > 0.
        span: one of ``SPANS``; of all of them, the one with most windows counts.
    """

    number: Fraction
    span: str

    @property
    def days(self) -> int:
        """Length of the span."""
        return SPANS[self.span]

    @property
    def text(self) -> str:
        """As a configuration writes it."""
        return f"{decimal(self.number)} per {self.span}"
