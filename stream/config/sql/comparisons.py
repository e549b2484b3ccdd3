"""What HAVING compares with what: aggregates, thresholds, comparisons, and what names them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from dataclasses import field as member
from fractions import Fraction
from typing import TYPE_CHECKING

from stream.config.alarms.reduction import COUNTS, Aggregate, Function
from stream.model.numbers import decimal

if TYPE_CHECKING:
    from operators.conditions.comparison import Comparison
    from stream.model.alarm import Term
    from stream.model.feeds import Feed
    from stream.model.filters import Where

__all__ = ["Asked", "Measure", "Threshold"]


@dataclass(frozen=True, slots=True)
class Measure:
    """One aggregate of one query; equal where they compute the same.

    Args:
        function: what is computed.
        field: the field read, or whose presence is counted; ``None`` where every event counts.
        filter: canonical text of its FILTER, "" without one.
        quantile: of QUANTILE (the median's is 1/2).
        where: its FILTER.
        present: the field that an event must have to count; ``None`` where all of them have it.
        text: as SQL.
        written: what its COUNT counts, as SQL: the present field, or ``*``.
        suffix: its FILTER as SQL, with a space in front, or "".
        offset: where it stands.
        of_units: whether it reads the privacy unit's id, as COUNT(DISTINCT) alone is meant to.
        terms: of LINEAR, in the order in which they are written.
        step: of LINEAR, what 1 of it stands for.
        least: of LINEAR, what an event adds at least, in steps.
        most: of LINEAR, what an event adds at most, in steps.
    """

    function: Function
    field: str | None
    filter: str = ""
    quantile: Fraction = Fraction(1, 2)
    where: Where | None = member(default=None, compare=False, repr=False)
    present: str | None = member(default=None, compare=False)
    text: str = member(default="", compare=False)
    written: str = member(default="*", compare=False)
    suffix: str = member(default="", compare=False)
    offset: int = member(default=0, compare=False)
    of_units: bool = member(default=False, compare=False)
    terms: tuple[Term, ...] = ()
    step: Fraction = Fraction(1)
    least: int = member(default=0, compare=False)
    most: int = member(default=0, compare=False)

    def unit_on(self, feed: Feed) -> Fraction:
        """Return what one unit of it is in its field's own unit: a resolution, or 1 for counts.

        Of LINEAR, in the unit of the condition as it is written.
        """
        if self.function is Function.LINEAR:
            return self.step
        if self.function in COUNTS:
            return Fraction(1)
        return feed.fields[self.field or ""].resolution or Fraction(1)

    def on(self, feed: Feed) -> Aggregate:
        """Return it with the clips of its field, in granules."""
        if self.function is Function.LINEAR:
            return Aggregate(self.function, self.least, self.most)
        if self.function in COUNTS:
            return Aggregate(self.function)
        field, unit = feed.fields[self.field or ""], self.unit_on(feed)
        lo, hi = (int((bound or 0) / unit) for bound in (field.lo, field.hi))
        return Aggregate(self.function, lo, hi, self.quantile)

    @property
    def counted(self) -> Measure:
        """The number of events that it is computed from."""
        return replace(
            self,
            function=Function.COUNT,
            field=self.present,
            quantile=Fraction(1, 2),
            terms=(),
            step=Fraction(1),
            text=f"COUNT({self.written}){self.suffix}",
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
    number: Fraction | None = None
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
