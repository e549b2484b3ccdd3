"""One way to have an alarm, and what it does: cost, false rings, misses, delay."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from operators.registry import mechanism_of
from stream.model.holds import in_runs
from stream.planning.usefulness import poor_rates, poor_tolerances

if TYPE_CHECKING:
    from stream.model.queries import Query
    from stream.planning.advice.case import Case

__all__ = ["Candidate"]


@dataclass(frozen=True, eq=False)
class Candidate:
    """One way to run an alarm, and what it does.

    Args:
        case: what is asked.
        query: the alarm, with mechanism and aim.
        units: loss of one cell, or of a whole run, in loss units.
        rings: expected false rings in the span; ``None`` where they cannot be computed.
        missed: probability that a cell at its threshold does not ring, at worst.
    """

    case: Case
    query: Query
    units: int
    rings: float | None
    missed: float

    @property
    def mechanism(self) -> str:
        """Its name."""
        return self.query.mechanism

    @property
    def runs(self) -> bool:
        """Whether a whole run of windows is charged once."""
        return in_runs(self.query)

    @property
    def early(self) -> bool:
        """Whether windows are looked at before they are over."""
        return self.query.aim.looks > 1

    @property
    def paned(self) -> bool:
        """Whether windows share the noise of the panes that they are made of."""
        return mechanism_of(self.mechanism).panes is not None

    @property
    def cap(self) -> int | None:
        """In how many windows of a period a person is to count, where that is not written yet."""
        few = self.case.budget.contribution.windows_per_period
        asked = self.case.standing.budget.contribution.windows_per_period
        return None if few == asked else few

    @cached_property
    def worst_units(self) -> int | None:
        """What it costs a privacy unit in a period at worst; ``None`` without end."""
        reached = self.case.reached(self.mechanism)
        return None if reached is None else reached * self.units

    @property
    def fits(self) -> bool:
        """Whether the budget carries it beside the others."""
        return self.worst_units is not None and self.worst_units <= self.case.room_units

    @property
    def quiet(self) -> bool:
        """Whether it rings falsely no more often than is borne."""
        return self.rings is not None and self.rings <= self.case.borne

    @property
    def sure(self) -> bool:
        """Whether it misses no more often than is wanted."""
        return self.missed <= float(self.case.query.aim.max_fnr) + 1e-12

    @property
    def prompt(self) -> bool:
        """Whether what it rings leaves no later than is wanted."""
        most = self.query.max_delay_ms
        return most is None or self.query.delay_ms <= most

    @property
    def keeps(self) -> bool:
        """Whether it does all that is wanted for what there is."""
        return self.fits and self.quiet and self.sure and self.prompt

    @property
    def poor(self) -> tuple[str, ...]:
        """Why nobody should be content with it, one sentence each."""
        aim = self.query.aim
        rates = poor_rates([aim.max_fnr, *([] if aim.max_fpr is None else [aim.max_fpr])])
        return tuple(filter(None, (rates, poor_tolerances(self.query, aim.tolerances))))
