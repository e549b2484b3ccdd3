"""Draws of alarms in SVT runs: windows are decided in order, by threshold and alarms they share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accountant.costs.runs import StoredRun
from accountant.rules.runs import usable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from operators.base import RunOperator
    from operators.noise.source import NoiseSource
    from stream.simulation.draws.held import Holding

__all__ = ["RunDraws"]


class RunDraws:
    """The SVT runs of one alarm in one draw of its windows.

    Args:
        operator: of the alarm.
        noise: the cryptographic source.
        holding: the draw: who fires is noted there, also where a cell was asked again later.

    Attributes:
        units: what each run has cost so far, in loss units.
        cut: the windows in which a run was spent: they may not be answered in full.
    """

    def __init__(self, operator: RunOperator, noise: NoiseSource, holding: Holding) -> None:
        self._operator = operator
        self._noise = noise
        self._holding = holding
        self._run: StoredRun | None = None
        self.units: list[int] = []
        self.cut: list[int] = []

    def open(self, periods: tuple[int, ...] = ()) -> StoredRun | None:
        """Return the run that a window of some budget periods goes on with; ``None`` for a new one.

        As :meth:`accountant.ledger.ledger.Ledger.run`.
        """
        return usable(self._run, "", periods)

    def ask(
        self, at: int, statistics: NDArray[np.int64], periods: tuple[int, ...] = ()
    ) -> tuple[NDArray[np.bool_], int]:
        """Decide a window that was granted; those before it have ended.

        Args:
            at: its number.
            statistics: shape (statistics, cells), int64.
            periods: the budget periods that it touches.

        Returns:
            Who was held, and what the window cost, in loss units.
        """
        before, held = self.open(periods), self._holding.at(at)
        step = self._operator.go_on(statistics, before, self._noise, window=at, held=held)
        self._holding.fired[at] |= step.fired
        for window, cell in step.late:
            self._holding.fired[window][cell] = True
        if before is None:
            self.units.append(0)
        self.units[-1] += step.units
        if not step.after.left:
            self.cut.append(at)
        terms = self._operator.run_terms
        self._run = StoredRun(
            query="",
            fingerprint="",
            periods=periods,
            open_units=terms.open_units,
            alarm_units=terms.alarm_units,
            left=step.after.left,
            alarms_rung=step.after.rung + (0 if before is None else before.alarms_rung),
            opened_start_ms=0,
            last_start_ms=at,
            state=step.after.state,
        )
        return held, step.units
