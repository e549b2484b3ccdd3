"""What HAVING compares with what: aggregates, thresholds, comparisons, and what names them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from dataclasses import field as member
from fractions import Fraction
from typing import TYPE_CHECKING

from stream.config.alarms.reduction import Aggregate, Function
from stream.model.numbers import decimal

if TYPE_CHECKING:
    from operators.conditions.comparison import Comparison
    from stream.model.alarm import Term
    from stream.model.filters import Where

__all__ = ["Asked", "Measure", "Threshold"]


@dataclass(frozen=True, slots=True)
class Measure(Aggregate):
    """One aggregate of one query; equal where they compute the same.

    Args:
        field: the field read, or whose presence is counted; ``None`` where every event counts.
        unit: what 1 of it is in its field's own unit: a resolution, or 1 for counts; of LINEAR, in
            the unit of the condition as it is written.
        where: its FILTER.
        present: the field that an event must have to count; ``None`` where all of them have it.
        text: as SQL.
        counted_text: the number of events that it is computed from, as SQL.
        offset: where it stands.
        terms: of LINEAR, in the order in which they are written.
    """

    field: str | None = None
    unit: Fraction = Fraction(1)
    where: Where | None = None
    present: str | None = member(default=None, compare=False)
    text: str = member(default="", compare=False)
    counted_text: str = member(default="", compare=False)
    offset: int = member(default=0, compare=False)
    terms: tuple[Term, ...] = ()

    @property
    def counted(self) -> Measure:
        """The number of events that it is computed from."""
        return Measure(
            Function.COUNT,
            field=self.present,
            where=self.where,
            present=self.present,
            text=self.counted_text,
        )


@dataclass(frozen=True, slots=True)
class Threshold:
    """What an aggregate is compared with, in the field's own unit; equal where it is the same.

    Args:
        offset: where it stands.
        number: the number; or
        table: the public table looked up; neither where SEVERITY stands
        field: by this group field.
        written: the lookup as SQL.
    """

    offset: int = member(compare=False)
    number: Fraction | None
    table: str = ""
    field: str = ""
    written: str = member(default="", compare=False)

    @property
    def of_severity(self) -> bool:
        """Whether the key ``severity`` says it, level by level."""
        return self.number is None and not self.table

    @property
    def text(self) -> str:
        """The threshold as SQL."""
        if self.number is not None:
            return decimal(self.number)
        return self.written or "SEVERITY"


@dataclass(frozen=True, slots=True)
class Asked:
    """One comparison, NOT included; equal where it asks the same.

    Args:
        measure: the aggregate, on the left.
        comparison: one of >, >=, <, <=.
        threshold: the right-hand side.
    """

    measure: Measure
    comparison: Comparison
    threshold: Threshold

    @property
    def negated(self) -> Asked:
        """The comparison that NOT makes of it."""
        return replace(self, comparison=self.comparison.negated)

    @property
    def text(self) -> str:
        """The comparison as SQL."""
        return f"{self.measure.text} {self.comparison.value} {self.threshold.text}"
