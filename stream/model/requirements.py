"""What is required of an alarm, beside its bounded error."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from stream.model.numbers import decimal

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["SPANS", "FalseAlarmRate"]

SPANS: Final[Mapping[str, int]] = {"day": 1, "week": 7, "month": 30}
"""Spans of time in which false alarms are counted, in days."""


@dataclass(frozen=True, slots=True)
class FalseAlarmRate:
    """How often an alarm may fire falsely, over all its cells, each at its baseline.

    Args:
        number: expected false alarms, > 0.
        span: one of ``SPANS``; of all of them, the one with most windows counts.

    Raises:
        ValueError: no such number or span.
    """

    number: Fraction
    span: str

    def __post_init__(self) -> None:
        """Refuse what cannot be tolerated."""
        if self.number <= Fraction(0) or self.span not in SPANS:
            raise ValueError(f"false alarms are tolerated above 0 per {', '.join(SPANS)}")

    @property
    def days(self) -> int:
        """Length of the span."""
        return SPANS[self.span]

    @property
    def text(self) -> str:
        """As a configuration writes it."""
        return f"{decimal(self.number)} per {self.span}"
