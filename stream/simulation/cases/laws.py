"""How likely the groups of a window fire, given what all of them count.

Exact by the law of the alarm's own mechanism (``docs/research/proofs/detection.md``), or an
estimate by its own draws. As private as the aggregates, which of a test are made up.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, cast

import numpy as np

from operators.noise.source import NoiseSource
from operators.registry import mechanism_of
from stream.decisions.mechanisms import operator_of, run_of, severity_chances
from stream.model.holds import in_runs
from stream.model.references import around
from stream.planning.detection import why_not
from stream.simulation.results import interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from operators.base import Operator, RunOperator
    from stream.model.alarm import Alarm

__all__ = ["ALONE", "CONFIDENCE", "FRESH", "Bounds", "WindowLaw"]

CONFIDENCE: Final = 0.999_999
"""Of estimates: chance alone fails no test."""
ALONE: Final = "of a group alone in its window"
FRESH: Final = "in the first window of a run: at least if asked last, at most if asked first"


@dataclass(frozen=True, slots=True)
class Bounds:
    """Where a probability lies.

    Args:
        least: of an exact law the same as ``most``, unless it depends on the order of queries.
        most: as ``least``.
        draws: of an estimate, whose interval this is then; ``None`` for a law.
        fired: how many of them fired.
    """

    least: float
    most: float
    draws: int | None = None
    fired: int = 0


@dataclass(frozen=True, eq=False)
class WindowLaw:
    """The law of one alarm, planned once.

    Args:
        alarm: the alarm.
    """

    alarm: Alarm

    @cached_property
    def _planned(self) -> Operator:
        return run_of(self.alarm) or operator_of(self.alarm)

    @property
    def basis(self) -> str:
        """What is computed, where it is not simply a group's probability in a window; or ""."""
        if in_runs(self.alarm):
            return FRESH
        return ALONE if mechanism_of(self.alarm.mechanism).collective else ""

    @property
    def why_not(self) -> str:
        """Why there is no law, where there is none."""
        return why_not(self.alarm) or "its noisy values have too many outcomes to add up"

    def bounds(
        self,
        cell: int,
        statistics: NDArray[np.int64],
        references: NDArray[np.int64] | None,
        severity: int = 0,
    ) -> Bounds | None:
        """Return how likely a cell fires; ``None`` where no exact law is known.

        Args:
            cell: which one.
            statistics: shape (statistics, cells), int64, of the window.
            references: shape (cells,), int64, where a feed says them.
            severity: number of a level: how likely that one fires, or a higher one.
        """
        members = len(self.alarm.members)
        own = statistics[:, cell * members : (cell + 1) * members]
        seen = own[:, np.newaxis] if members > 1 else own
        found = severity_chances(self._operator(references), severity, cell, seen)
        if found is None:
            return None
        most = float(np.clip(found[0], 0.0, 1.0))
        least = most
        if in_runs(self.alarm):
            least = cast("RunOperator", self._planned).asked_last(cell, statistics)
        return Bounds(min(max(least, 0.0), most), most)

    def estimates(
        self,
        asked: Sequence[tuple[int, int]],
        statistics: NDArray[np.int64],
        references: NDArray[np.int64] | None,
        *,
        draws: int,
    ) -> list[Bounds]:
        """Return how likely cells fire, by draws of whole windows from the cryptographic source.

        Of a run, every draw is the first window of one of its own.

        Args:
            asked: which cells, and at which severity.
            statistics: as :meth:`bounds`.
            references: as :meth:`bounds`.
            draws: how many, at least one.
        """
        operator, noise = self._operator(references), NoiseSource()
        cells, levels = np.array(asked, np.intp).T
        fired = np.zeros(len(asked), dtype=np.int64)
        for _ in range(draws):
            found = operator.decide(statistics, noise)
            reached = found.fired if found.reached is None else found.reached
            fired += reached[cells] > levels
        return [
            Bounds(*interval(count, draws, CONFIDENCE), draws, count) for count in fired.tolist()
        ]

    def _operator(self, references: NDArray[np.int64] | None) -> Operator:
        """Return the operator, around other references where they are given."""
        if references is None or self.alarm.reference is None:
            return self._planned
        return operator_of(around(self.alarm, references))
