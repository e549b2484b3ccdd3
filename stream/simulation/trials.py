"""Many draws of one setting over counted windows, and what came of them.

Windows are decided many at once, with the law that the mechanism has for each
(``operators.single.abreast``).

Whatever is tallied here is private: truth comes from exact statistics.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

from accountant.costs.minentropy import min_entropy_levels
from accountant.errors import ConfigError
from accountant.units import UNITS_PER_EPSILON
from operators.conditions.formula import atom_of
from operators.registry import create, mechanism_of
from operators.single.abreast import decide_many
from stream.simulation.runs import DRAWS_PER_TASK, drawn_run
from stream.simulation.spread import Spread

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from operators.base import Operator, Plan, RunOperator
    from operators.conditions.condition import Aim, Condition
    from operators.noise.source import NoiseSource
    from stream.simulation.history import CountedAlarm
    from stream.simulation.settings import Setting

__all__ = ["Bench", "Tally", "Task", "Trier", "condition_holds", "may_ring", "tasks_of"]

_DRAWS_PER_TASK: Final = 512  # a task ends within about a second, so that Ctrl-C does too
_CELLS_PER_TASK: Final = 400_000
_NODES: Final = 1_000  # of the min-entropy search: the bracket is closed to a few per cent anyway


@dataclass(frozen=True, slots=True, eq=False)
class Bench:
    """Everything that is tried out, as every process gets it once.

    Args:
        counted: per alarm its exact statistics.
        conditions: per alarm.
        reached: per alarm, how many cells of a window one privacy unit reaches.
        settings: what is tried.
        stretches: of alarms tried in runs, the windows that one run covers at most.
    """

    counted: Mapping[str, CountedAlarm]
    conditions: Mapping[str, Condition]
    reached: Mapping[str, int]
    settings: tuple[Setting, ...]
    stretches: Mapping[str, Sequence[range]] = field(default_factory=dict)

    def tasks(self, setting: int, runs: int) -> list[Task]:
        """Cut the draws of one setting into tasks of about a second at most.

        Args:
            setting: index of the setting.
            runs: draws per window.
        """
        tried = self.settings[setting]
        if mechanism_of(tried.mechanism).run is None:
            return tasks_of(self.counted[tried.alarm], setting, runs)
        return [
            Task(setting, windows.start, windows.stop, min(DRAWS_PER_TASK, runs - done))
            for windows in self.stretches[tried.alarm]
            for done in range(0, runs, DRAWS_PER_TASK)
        ]


@dataclass(frozen=True, slots=True)
class Task:
    """Some windows of one setting, each decided so many times.

    Args:
        setting: index into the bench's settings.
        first: its first window.
        last: the window after its last.
        runs: draws per window.
    """

    setting: int
    first: int
    last: int
    runs: int

    @property
    def draws(self) -> int:
        """Windows decided."""
        return (self.last - self.first) * self.runs


@dataclass(slots=True)
class Tally:
    """What came of the draws of one setting; tallies add up.

    A cell counts as *true* where its condition holds, as *false* where it does not even hold with
    every literal granted twice its tolerance, else as *uncertain*: there either answer is right.

    Args:
        windows: windows decided, over all runs.
        true: true cells decided.
        missed: those that did not ring.
        false: false cells decided.
        false_rings: those that rang.
        uncertain: uncertain cells decided.
        uncertain_rings: those that rang.
        losses: cells by realised loss, in loss units.
        dearest: windows by the loss of the dearest cells one unit reaches, in loss units.
        entropy: sum over the windows of the normalised min-entropy of their losses.
        missed_spread: of misses over runs, where windows share any.
        false_spread: of false rings, likewise.
    """

    windows: int = 0
    true: int = 0
    missed: int = 0
    false: int = 0
    false_rings: int = 0
    uncertain: int = 0
    uncertain_rings: int = 0
    losses: Counter[int] = field(default_factory=Counter)
    dearest: Counter[int] = field(default_factory=Counter)
    entropy: float = 0.0
    missed_spread: Spread = field(default_factory=Spread)
    false_spread: Spread = field(default_factory=Spread)

    def add(self, other: Tally) -> None:
        """Add another tally of the same setting."""
        self.windows += other.windows
        self.true += other.true
        self.missed += other.missed
        self.false += other.false
        self.false_rings += other.false_rings
        self.uncertain += other.uncertain
        self.uncertain_rings += other.uncertain_rings
        self.losses.update(other.losses)
        self.dearest.update(other.dearest)
        self.entropy += other.entropy
        self.missed_spread.add(other.missed_spread)
        self.false_spread.add(other.false_spread)

    def count(
        self,
        fired: NDArray[np.bool_],
        *,
        true: NDArray[np.bool_],
        granted: NDArray[np.bool_],
    ) -> None:
        """Count the decisions of one window, or of several.

        Args:
            fired: shape (cells,) or (windows, cells), which cells rang.
            true: the same shape, which cells' condition holds.
            granted: the same shape, as ``may_ring``.
        """
        false = ~(granted | true)
        uncertain = granted & ~true
        self.windows += fired.size // fired.shape[-1]
        self.true += int(np.count_nonzero(true))
        self.missed += int(np.count_nonzero(true & ~fired))
        self.false += int(np.count_nonzero(false))
        self.false_rings += int(np.count_nonzero(false & fired))
        self.uncertain += int(np.count_nonzero(uncertain))
        self.uncertain_rings += int(np.count_nonzero(uncertain & fired))

    def charge(self, units: NDArray[np.int64], reached: int) -> None:
        """Count the realised losses of some windows.

        Args:
            units: shape (windows, cells), in loss units.
            reached: cells that one privacy unit reaches.
        """
        windows, cells = units.shape
        reached = min(reached, cells)
        dearest = np.partition(units, cells - reached, axis=1)[:, cells - reached :].sum(axis=1)
        self.dearest.update(dearest.tolist())
        levels, at = np.unique(units, return_inverse=True)
        entries = np.arange(windows)[:, np.newaxis] * levels.size + at.reshape(units.shape)
        counts = np.bincount(entries.reshape(-1), minlength=windows * levels.size)
        counts = counts.reshape(windows, levels.size)
        self.losses.update(dict(zip(levels.tolist(), counts.sum(axis=0).tolist(), strict=True)))
        for row, times in Counter(map(tuple, counts.tolist())).items():
            used = [entry for entry, cells in enumerate(row) if cells]
            on = tuple(levels[used].tolist()), tuple(row[entry] for entry in used)
            self.entropy += times * _normalised_entropy(*on)

    def charge_run(self, units: int, before: tuple[int, int, int, int]) -> None:
        """Count what one run lost, which all its windows and cells share, and how it spreads.

        Args:
            units: its loss.
            before: this tally's true, missed, false cells and false rings before its windows.
        """
        true, missed, false, false_rings = before
        self.losses[units] += 1
        self.dearest[units] += 1
        self.missed_spread.count(self.missed - missed, self.true - true)
        self.false_spread.count(self.false_rings - false_rings, self.false - false)


class Trier:
    """Decides windows of a bench again and again, in one process.

    Args:
        bench: what is tried out.
        noise: the cryptographic source.
    """

    def __init__(self, bench: Bench, noise: NoiseSource) -> None:
        self._bench = bench
        self._noise = noise
        self._operators: dict[int, Operator] = {}

    def plan(self, setting: int) -> Plan | str:
        """Return the worst case of a setting, or why its mechanism cannot keep the promise."""
        try:
            return self._operator(setting).plan
        except ConfigError as error:
            return error.message

    def run(self, task: Task) -> Tally:
        """Decide windows and tally what came of it.

        Args:
            task: of a setting that could be planned.
        """
        setting = self._bench.settings[task.setting]
        counted = self._bench.counted[setting.alarm]
        condition = self._bench.conditions[setting.alarm]
        reached = self._bench.reached[setting.alarm]
        run = mechanism_of(setting.mechanism).run
        if run is not None:
            return self._run_of_windows(task, run(condition, setting.aim))
        operator = self._operator(task.setting)
        statistics = counted.stacked(task.first, task.last)
        rows = statistics.transpose(1, 0, 2)
        true = np.repeat(condition_holds(condition, rows), task.runs, axis=0)
        granted = np.repeat(may_ring(condition, setting.aim, rows), task.runs, axis=0)
        decided = decide_many(operator, np.repeat(statistics, task.runs, axis=0), self._noise)
        tally = Tally()
        tally.count(decided.fired, true=true, granted=granted)
        tally.charge(decided.units, reached)
        return tally

    def _run_of_windows(self, task: Task, operator: RunOperator) -> Tally:
        """Decide a stretch of windows by one run, as often as the task says."""
        setting = self._bench.settings[task.setting]
        counted = self._bench.counted[setting.alarm]
        condition = self._bench.conditions[setting.alarm]
        windows = [counted.dense(window) for window in range(task.first, task.last)]
        truths = [condition.truth(statistics) for statistics in windows]
        granted = [may_ring(condition, setting.aim, statistics) for statistics in windows]
        tally = Tally()
        for _ in range(task.runs):
            before = (tally.true, tally.missed, tally.false, tally.false_rings)
            drawn = drawn_run(operator, windows, self._noise)
            for fired, true, may in zip(drawn.fired, truths, granted, strict=True):
                tally.count(fired, true=true, granted=may)
            tally.charge_run(drawn.units, before)
        tally.entropy = float(tally.windows)  # all cells of a run lost the same
        return tally

    def _operator(self, at: int) -> Operator:
        if at not in self._operators:
            setting = self._bench.settings[at]
            self._operators[at] = create(
                setting.mechanism,
                self._bench.conditions[setting.alarm],
                setting.aim,
                experimental=setting.baseline,
            )
        return self._operators[at]


def may_ring(condition: Condition, aim: Aim, statistics: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Tell in which cells an alarm is no false one: the condition, every literal granted 2u.

    Private as the statistics are.

    Args:
        condition: of the alarm.
        aim: whose tolerances are granted.
        statistics: shape (statistics, ..., cells), int64.

    Returns:
        Shape (..., cells), bool.
    """
    return _holds(condition, [2 * each for each in aim.tolerances], statistics)


def condition_holds(condition: Condition, statistics: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return ``condition.truth`` of many windows, private as the statistics are.

    Args:
        condition: of the alarm.
        statistics: shape (statistics, ..., cells), int64.

    Returns:
        Shape (..., cells), bool.
    """
    return _holds(condition, [0 for _ in condition.formula.atoms], statistics)


def _holds(
    condition: Condition, grants: Sequence[int], statistics: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Tell where a condition holds, every literal granted that of its atom."""
    granted = dict(zip(condition.formula.atoms, grants, strict=True))
    holds: dict[str, NDArray[np.bool_]] = {}
    for literal in condition.formula.literals:
        name = atom_of(literal)
        atom = condition.atoms[name]
        values = statistics[atom.statistic]
        if literal == name:
            holds[literal] = values >= _moved(atom.thresholds, -granted[name])
        else:
            holds[literal] = values < _moved(atom.thresholds, granted[name])
    return condition.formula.evaluate_literals(holds)


def tasks_of(counted: CountedAlarm, setting: int, runs: int) -> list[Task]:
    """Cut the draws of one setting into tasks of about a second at most.

    Args:
        counted: the alarm's windows.
        setting: index of the setting.
        runs: draws per window.
    """
    draws = max(1, min(_DRAWS_PER_TASK, _CELLS_PER_TASK // (counted.cells * counted.statistics)))
    if draws >= runs:
        stride = draws // runs
        return [
            Task(setting, first, min(first + stride, counted.windows), runs)
            for first in range(0, counted.windows, stride)
        ]
    return [
        Task(setting, window, window + 1, min(draws, runs - done))
        for window in range(counted.windows)
        for done in range(0, runs, draws)
    ]


def _moved(thresholds: NDArray[np.int64], by: int) -> NDArray[np.int64]:
    """Return thresholds moved by a whole number (2^63 - 1 at most), clamped to int64."""
    ends = np.iinfo(np.int64)
    by = max(-ends.max, min(by, ends.max))
    if by < 0:
        return np.maximum(thresholds, ends.min - by) + np.int64(by)
    return np.minimum(thresholds, ends.max - by) + np.int64(by)


@lru_cache(maxsize=65_536)
def _normalised_entropy(levels: tuple[int, ...], counts: tuple[int, ...]) -> float:
    epsilons = [units / UNITS_PER_EPSILON for units in levels]
    return min_entropy_levels(epsilons, counts, node_limit=_NODES).normalised
