"""Runs: windows of one query that share one noisy threshold, and one charge for it.

Guarantee: along every transcript the windows of a run with ``n`` alarms so far have lost, together,
at most what they were charged: what it cost to open it, and ``n`` times what one alarm costs
(``docs/research/proofs/filter.md``). So a window's own cost follows from its alarms alone, and it
holds the most that it can cost: the whole run where it opens one, the alarms that are left inside
one.

A run ends when its alarms are spent, at the next budget period, and whenever its query's
configuration or past changes; its state is never used again then. The state (noisy threshold, cells
to ask again) is as private as a raw count, and leaves the ledger's database for its judge only.

Source: Sparse Vector with exponential noise, privacy at the positives used (ex post).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from accountant.errors import ArgumentError

__all__ = ["RunAfter", "RunTerms", "StoredRun"]


@dataclass(frozen=True, slots=True)
class RunTerms:
    """What a run of a query costs, from its configuration alone.

    Args:
        open_units: loss of the noisy threshold, in loss units.
        alarm_units: loss of one alarm, in loss units.
        alarms: how many alarms one run can give.
    """

    open_units: int
    alarm_units: int
    alarms: int

    def __post_init__(self) -> None:
        """Refuse a run that is free to open or to ring, or that never rings."""
        if min(self.open_units, self.alarm_units, self.alarms) < 1:
            raise ArgumentError("an SVT run needs open_units, alarm_units and alarms of 1 or more")

    @property
    def worst_units(self) -> int:
        """Loss of the whole run when all its alarms are spent."""
        return self.open_units + self.alarms * self.alarm_units


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A query's newest run, as its last decided window left it.

    Args:
        query: whose it is.
        fingerprint: of the configuration it was opened under.
        periods: the budget periods that each of its windows touches; empty under unit ``event``.
        open_units: loss of opening it, in loss units.
        alarm_units: loss of one alarm, in loss units.
        left: alarms it can still give.
        alarms_rung: alarms it has given.
        opened_start_ms: start of the window that opened it.
        last_start_ms: start of the last window decided in it.
        state: the mechanism's own, in its encoding; private, and in no text of this record.
    """

    query: str
    fingerprint: str
    periods: tuple[int, ...]
    open_units: int
    alarm_units: int
    left: int
    alarms_rung: int
    opened_start_ms: int
    last_start_ms: int
    state: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class RunAfter:
    """What deciding one window made of a run.

    Args:
        state: the mechanism's own, to go on from; private.
        left: alarms that are left now.
        rung: alarms that this window used up.
        previous: the run that it went on from, as :meth:`accountant.ledger.ledger.Ledger.run`
            returned it; ``None`` where it opened one.
        terms: what a run costs.
        ended: the run that was over when this one was opened, though it had alarms left; ``None``
            where it goes on with ``previous``.
    """

    state: bytes = field(repr=False)
    left: int
    rung: int
    previous: StoredRun | None
    terms: RunTerms
    ended: StoredRun | None = None
