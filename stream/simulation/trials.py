"""Many draws of one setting over counted windows, and what came of them.

Windows are decided many at once, with the law that the mechanism has for each
(``operators.single.abreast``).

Whatever is tallied here is private: truth comes from exact statistics.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from accountant.errors import ConfigError
from operators.registry import create, mechanism_of
from operators.single.abreast import decide_many
from stream.simulation.draws.held import Holding
from stream.simulation.draws.looks import tally_of_looks
from stream.simulation.draws.panes import tally_of_panes
from stream.simulation.draws.runs import drawn_run
from stream.simulation.draws.tally import Tally
from stream.simulation.draws.truth import may_ring, must_ring

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from operators.base import Operator, Plan, RunOperator
    from operators.conditions.condition import Condition
    from operators.noise.source import NoiseSource
    from stream.simulation.draws.panes import OverPanes
    from stream.simulation.history import CountedAlarm
    from stream.simulation.settings import Setting

__all__ = ["Bench", "Task", "Trier", "tasks_of"]

_DRAWS_PER_TASK: Final = 512  # a task ends within about a second, so that Ctrl-C does too
_CELLS_PER_TASK: Final = 400_000
_DRAWS_TOGETHER: Final = 8  # of windows that share noise, but for very long histories likewise


@dataclass(frozen=True, slots=True, eq=False)
class Bench:
    """Everything that is tried out, as every process gets it once.

    Args:
        counted: per alarm its exact statistics.
        conditions: per alarm.
        reached: per alarm, how many cells of a window one privacy unit reaches.
        settings: what is tried.
        stretches: of alarms tried in runs, the windows that one run covers at most.
        panes: of alarms over panes, these.
        holds: of alarms with a hold, which earlier windows hold each window (``holds_since``).
        decided: of settings whose windows are counted otherwise than what is true of them, by the
            setting's index, those counts of the same windows.
    """

    counted: Mapping[str, CountedAlarm]
    conditions: Mapping[str, Condition]
    reached: Mapping[str, int]
    settings: tuple[Setting, ...]
    stretches: Mapping[str, Sequence[range]] = field(default_factory=dict)
    panes: Mapping[str, OverPanes] = field(default_factory=dict)
    holds: Mapping[str, NDArray[np.intp]] = field(default_factory=dict)
    decided: Mapping[int, CountedAlarm] = field(default_factory=dict)

    def tasks(self, setting: int, runs: int) -> list[Task]:
        """Cut the draws of one setting into tasks of about a second at most.

        Args:
            setting: index of the setting.
            runs: draws per window.
        """
        tried = self.settings[setting]
        together: Sequence[range]
        if tried.over_panes:
            together = [range(len(self.panes[tried.alarm].windows))]
        elif tried.alarm in self.holds:
            together = [range(self.counted[tried.alarm].windows)]
        elif tried.in_runs:
            together = self.stretches[tried.alarm]
        else:
            return tasks_of(self.counted[tried.alarm], setting, runs)
        return [
            Task(setting, windows.start, windows.stop, min(_DRAWS_TOGETHER, runs - done))
            for windows in together
            for done in range(0, runs, _DRAWS_TOGETHER)
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
        aim, operator = setting.aim, self._operator(task.setting)
        run = mechanism_of(setting.mechanism).run
        if setting.in_runs and run is not None:
            return self._run_of_windows(task, run(condition, aim))
        if setting.over_panes:
            over = self._bench.panes[setting.alarm]
            return tally_of_panes(operator, condition, aim, over, self._noise, runs=task.runs)
        since = self._bench.holds.get(setting.alarm)
        if counted.looks > 1:
            return tally_of_looks(
                operator,
                condition,
                aim,
                counted.looked_at(task.first, task.last),
                self._noise,
                runs=task.runs,
                reached=reached,
                since=since,
            )
        statistics = counted.stacked(task.first, task.last)
        rows = statistics.transpose(1, 0, 2)
        true = np.repeat(must_ring(condition, aim, rows), task.runs, axis=0)
        granted = np.repeat(may_ring(condition, aim, rows), task.runs, axis=0)
        if task.setting in self._bench.decided:
            statistics = self._bench.decided[task.setting].stacked(task.first, task.last)
        tally = Tally()
        for at in range(0 if since is None else task.runs):
            drawn = Holding.of(since, len(statistics), condition.answers)
            held, units = drawn.decide(operator, statistics, self._noise)
            of = slice(at, None, task.runs)
            tally.count(drawn.fired, true=true[of], granted=granted[of], held=held)
            tally.charge(units, reached)
        if since is not None:
            return tally
        decided = decide_many(operator, np.repeat(statistics, task.runs, axis=0), self._noise)
        tally.count(decided.fired, true=true, granted=granted)
        if decided.reached is not None:
            tally.count_severities(decided.reached, condition, aim, rows, task.runs)
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
        tally, since = Tally(), self._bench.holds.get(setting.alarm)
        stretches: Sequence[range] = [range(task.first, task.last)]
        if since is not None:  # what one run fired holds windows of the next
            stretches = self._bench.stretches[setting.alarm]
        for _ in range(task.runs):
            holding = Holding.of(since, len(windows), condition.answers)
            for stretch in stretches:
                before = (tally.true, tally.missed, tally.false, tally.false_rings)
                own = slice(stretch.start - task.first, stretch.stop - task.first)
                drawn = drawn_run(operator, windows[own], self._noise, holding, own.start)
                decided = zip(drawn.fired, drawn.held, truths[own], granted[own], strict=True)
                for at, (fired, held, true, may) in enumerate(decided):
                    tally.count(fired, true=true, granted=may, held=held)
                    if at >= drawn.asked:
                        tally.leave(fired, true=true & ~held)
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


def tasks_of(counted: CountedAlarm, setting: int, runs: int) -> list[Task]:
    """Cut the draws of one setting into tasks of about a second at most.

    Args:
        counted: the alarm's windows.
        setting: index of the setting.
        runs: draws per window.
    """
    entries = counted.cells * counted.statistics * counted.looks
    draws = max(1, min(_DRAWS_PER_TASK, _CELLS_PER_TASK // entries))
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
