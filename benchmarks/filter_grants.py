"""What the filter grants beside an exact sequential one: ``python -m benchmarks.filter_grants``.

``--write`` puts the table into ``reports/filter-grants.md``. Both filters are asked about the same
windows in the same order; each window that is granted ends at once, at losses that a progressive
mechanism shows, drawn from a fixed seed and the same for both. The exact filter keeps the loss of
every kind of row there is, at every instant, and is written without regions, classes or cells.

- *city or age*: 20 alarms under progressive mechanisms, wall 24. Each asks WHERE on some cities and
  groups by age band, or the other way round, or by room; windows of 1 to 6 hours, most hopping.
- *many classes*: 60 alarms on twelve attributes of two values; each asks WHERE on two of them and
  groups by a third, so that rows fall into more than 1,024 maximal sets of alarms.

Under unit ``user`` there is nothing to compare: what one person can reach is the sum of the dearest
cells of every window that touches the period, and that is what the filter adds up.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from accountant.budget.filter import EventFilter
from accountant.budget.standings import Standing
from accountant.costs.charges import Charge, UniformCost, WindowKey
from accountant.costs.levels import LevelCosts
from accountant.ledger.ledger import Ledger
from accountant.loss import overlap
from accountant.loss.overlap import Held
from accountant.records import Answer, Request
from accountant.regions.groupings import Grouping, cells_key
from accountant.regions.regions import Region, ValueSet
from accountant.regions.shapes import Shape
from accountant.units import PrivacyUnit
from benchmarks import report
from tests.support.ledgers import FINGERPRINT, Series, set_up

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.random import Generator
    from numpy.typing import NDArray

__all__ = [
    "Alarm",
    "Asked",
    "Exact",
    "city_or_age",
    "histories",
    "main",
    "many_classes",
    "play",
    "run",
]

REPORT = Path(__file__).parent / "reports" / "filter-grants.md"
HOUR_MS = 3_600_000
SEEDS = 2
HOURS = 24
UNIT = 10**9

_Values = TypeVar("_Values", np.bool_, np.int64)

_GROUPED_BY_THE_OTHER = 0.8
_CALENDARS = [(size * HOUR_MS, step * HOUR_MS) for size, step in ((1, 1), (2, 1), (4, 1), (6, 2))]


@dataclass(frozen=True)
class Alarm:
    """One alarm over rows of some attributes with small domains.

    Args:
        name: of it.
        where: what it asks of attributes, per attribute the values that will do.
        by: the attribute that it groups by.
        sizes: of all attributes, how many values each has: whole numbers from 0 on.
        size_ms: length of its windows.
        step_ms: from the start of one window to that of the next.
        levels: what a cell can cost, ascending; the last is reserved.
    """

    name: str
    where: Mapping[str, frozenset[int]]
    by: str
    sizes: Mapping[str, int]
    size_ms: int
    step_ms: int
    levels: tuple[int, ...]

    @property
    def worst(self) -> int:
        """What a cell can cost at worst."""
        return self.levels[-1]

    @cached_property
    def shape(self) -> Shape:
        """What the ledger is told of it."""
        domain = {self.by: frozenset(range(self.sizes[self.by]))}
        asked = {
            name: ValueSet.integers(*values & domain.get(name, values))
            for name, values in {**domain, **self.where}.items()
        }
        values = tuple(ValueSet.integers(value) for value in range(self.sizes[self.by]))
        return Shape(
            Region.of(asked).canonical, Grouping(f"by {self.by}", (self.by,), (values,)).text
        )

    @cached_property
    def inside(self) -> NDArray[np.bool_]:
        """Which rows it counts, one axis an attribute."""
        rows = np.ones(tuple(self.sizes.values()), dtype=np.bool_)
        for name, values in self.where.items():
            held = np.isin(np.arange(self.sizes[name]), list(values))
            rows &= self._along(name, held)
        return rows

    def losses(self, costs: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return what every row loses by a window that costs its cells so."""
        return np.where(self.inside, self._along(self.by, costs), 0)

    def _along(self, name: str, values: NDArray[_Values]) -> NDArray[_Values]:
        return values.reshape([-1 if each == name else 1 for each in self.sizes])


@dataclass(frozen=True, slots=True)
class Asked:
    """One window, and what its cells will have cost if it is granted."""

    alarm: Alarm
    key: WindowKey
    costs: NDArray[np.int64]


class Exact:
    """The exact sequential filter: the loss of every row at every instant, kept as it is.

    Args:
        wall: in loss units.
        grain_ms: no window starts or ends between two multiples of it.
    """

    def __init__(self, wall: int, grain_ms: int) -> None:
        self._wall = wall
        self._grain_ms = grain_ms
        self._losses: dict[int, NDArray[np.int64]] = {}

    def grants(self, asked: Asked) -> bool:
        """Say whether the worst case fits, and hold what the window cost."""
        instants = range(asked.key.start_ms, asked.key.end_ms, self._grain_ms)
        room = self._wall - asked.alarm.worst
        inside = asked.alarm.inside
        held = [self._losses[at] for at in instants if at in self._losses]
        if room < 0 or any(int(losses.max(where=inside, initial=0)) > room for losses in held):
            return False
        losses = asked.alarm.losses(asked.costs)
        for at in instants:
            self._losses[at] = self._losses.get(at, np.int64(0)) + losses
        return True

    @property
    def worst(self) -> int:
        """What the dearest row has lost."""
        return max((int(losses.max()) for losses in self._losses.values()), default=0)


def city_or_age(rng: Generator) -> list[Alarm]:
    """Return 20 progressive alarms that ask for some cities or some ages."""
    sizes = {"age": 10, "city": 12, "room": 8}
    alarms = []
    for number in range(20):
        name, other = rng.permutation(["age", "city"]).tolist()
        first = int(rng.integers(0, sizes[name] - 2))
        many = int(rng.integers(2, sizes[name] // 2 + 1))
        where = frozenset(range(first, min(first + many, sizes[name])))
        by = other if rng.random() < _GROUPED_BY_THE_OTHER else "room"
        size, step = _CALENDARS[int(rng.integers(4))]
        alarms.append(
            Alarm(f"alarm-{number:02}", {name: where}, by, sizes, size, step, _levels(rng))
        )
    return alarms


def many_classes(rng: Generator) -> list[Alarm]:
    """Return 60 progressive alarms whose regions fall into more than 1,024 maximal sets."""
    names = [f"a{number:02}" for number in range(12)]
    sizes = dict.fromkeys(names, 2)
    alarms = []
    for number in range(60):
        one, two, by = rng.choice(names, 3, replace=False).tolist()
        where = {each: frozenset([int(rng.integers(2))]) for each in (one, two)}
        size, step = _CALENDARS[int(rng.integers(3))]
        alarms.append(Alarm(f"alarm-{number:02}", where, by, sizes, size, step, _levels(rng)))
    return alarms


def histories(alarms: Sequence[Alarm], rng: Generator, hours: int) -> list[Asked]:
    """Return the windows of some alarms in the order of admission, with what they will cost."""
    found = []
    for alarm in alarms:
        for start_ms in range(0, hours * HOUR_MS, alarm.step_ms):
            cells = alarm.sizes[alarm.by]
            # Most cells are decided early; every level that is left is half as frequent.
            level = np.minimum(rng.geometric(0.5, cells) - 1, len(alarm.levels) - 1)
            costs = np.array(alarm.levels, dtype=np.int64)[level]
            key = WindowKey(start_ms + alarm.size_ms, alarm.name, start_ms)
            found.append(Asked(alarm, key, costs))
    return sorted(found, key=lambda one: one.key)


def play(asked: Sequence[Asked], wall: int) -> tuple[list[bool], list[float]]:
    """Ask our filter, each window in its turn; return its answers and what they took, in ms."""
    alarms = {one.alarm.name: one.alarm for one in asked}
    shapes = {name: alarm.shape for name, alarm in alarms.items()}
    among = frozenset(shapes.values())
    judge = EventFilter(wall, [], lambda: among)
    answers, spent_ms = [], []
    near: list[Standing] = []
    longest_ms = max(alarm.size_ms for alarm in alarms.values())
    for one in asked:
        key, alarm = one.key, one.alarm
        charge = Charge(key, UniformCost(alarm.worst, len(one.costs)), 1)
        began_s = time.process_time()
        granted = judge.answer(charge, shapes[alarm.name]) is Answer.RESERVED
        spent_ms.append((time.process_time() - began_s) * 1e3)
        answers.append(granted)
        if granted:
            costs = LevelCosts.of(one.costs)
            held = Held(
                *(key.start_ms, key.end_ms, costs.worst_units, shapes[alarm.name]),
                cells=f"{len(one.costs)} {cells_key(shapes[alarm.name].grouping)}",
                costs=costs.encode() if len(costs.levels) > 1 else None,
            )
            near = [each for each in near if each.held.end_ms > key.end_ms - longest_ms]
            near.append(Standing(held, open=False))
            judge = EventFilter(wall, near, lambda: among)
    return answers, spent_ms


def run(seeds: int = SEEDS, hours: int = HOURS) -> dict[str, float]:
    """Return grants, ratios and times by shape.

    ``before`` is the same filter without a grid: its bound adds up the dearest cells of different
    groupings, and beyond 1,024 sets of alarms all that meet the one asked about.
    """
    results: dict[str, float] = {}
    for name, draw, wall in _SHAPES:
        exact = ours = before = above = 0
        spent_ms: list[float] = []
        for seed in range(seeds):
            rng = np.random.default_rng(seed)
            asked = histories(draw(rng), rng, hours)
            judge = Exact(wall, HOUR_MS)
            exact += sum(judge.grants(one) for one in asked)
            with _coarse():
                before += sum(play(asked, wall)[0])
            answers, taken_ms = play(asked, wall)
            ours += sum(answers)
            spent_ms += taken_ms
            above += _passes(asked, answers, wall)
        admit_ms, admit_cpu_ms = _admit_ms(asked, wall)
        results |= {
            f"{name}.exact": exact,
            f"{name}.before": before,
            f"{name}.before_ratio": before / exact,
            f"{name}.granted": ours,
            f"{name}.ratio": ours / exact,
            f"{name}.above": above,
            f"{name}.answer_ms": statistics.median(spent_ms),
            f"{name}.slowest_ms": max(spent_ms),
            f"{name}.admit_ms": admit_ms,
            f"{name}.admit_cpu_ms": admit_cpu_ms,
        }
    return results


def _admit_ms(asked: Sequence[Asked], wall: int) -> tuple[float, float]:
    """Return the median time of an admission on a SQLite ledger, and that of the processor alone.

    The commit on the disk is part of it.
    """
    taken_ms, worked_ms = [], []
    with tempfile.TemporaryDirectory() as directory:
        url = f"sqlite:///{directory}/ledger.db"
        with Ledger.open(url, clock_ms=lambda: 10**12, entropy=os.urandom) as ledger:
            alarms = {one.alarm.name: one.alarm for one in asked}.values()
            series = {
                one.name: Series(one.name, one.size_ms, one.step_ms, shape=one.shape)
                for one in alarms
            }
            set_up(ledger, PrivacyUnit.EVENT, wall, list(series.values()))
            for one in asked:
                cost = UniformCost(one.alarm.worst, len(one.costs))
                request = Request(Charge(one.key, cost, 1), FINGERPRINT)
                began_s, worked_s = time.perf_counter(), time.process_time()
                ledger.admit("s", [request])
                taken_ms.append((time.perf_counter() - began_s) * 1e3)
                worked_ms.append((time.process_time() - worked_s) * 1e3)
                end: dict[str, Any] = {
                    "fingerprint": FINGERPRINT,
                    "next_start_ms": one.key.start_ms + one.alarm.step_ms,
                    "release_ms": one.key.end_ms,
                }
                if ledger.answer(one.key) is Answer.RESERVED:
                    cells = LevelCosts.of(one.costs)
                    ledger.settle(one.key, cost=cells, alarms=b"[]", alarm_count=0, **end)
                else:
                    ledger.deny(one.key, reason="budget", **end)
    return statistics.median(taken_ms), statistics.median(worked_ms)


def main() -> None:
    """Print what ``run`` measures as Markdown, and write the report where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"write {REPORT.name}")
    options = parser.parse_args()
    note = report.machine()
    text = "\n".join(["# What the filter grants", "", note, "", _WHAT, *_table(run()), ""])
    print(text)
    if options.write:
        REPORT.write_text(text, encoding="utf-8")


_WHAT = f"""\
`python -m benchmarks.filter_grants --write`: windows of {HOURS} hours, {SEEDS} seeds a shape, asked
one after the other; the module's docstring describes the shapes. *Exact* is a sequential filter
that keeps the loss of every kind of row at every instant. *Before* is this filter without a grid,
as it was until 2026-11-22. Answers are in milliseconds of the processor; *an admission* is the
whole transaction on a SQLite ledger, its commit on the disk included. Where the last column says 0,
no window that was granted could pass the wall.
"""


def _table(measured: Mapping[str, float]) -> Iterator[str]:
    heads = (
        *("shape", "exact", "before", "ratio", "now", "ratio", "an answer, median ms"),
        *("slowest ms", "an admission, median ms", "of it processor", "above the wall"),
    )
    yield f"| {' | '.join(heads)} |"
    yield "|---|" + "--:|" * (len(heads) - 1)
    for name, _, _ in _SHAPES:
        of = {key.removeprefix(f"{name}."): value for key, value in measured.items()}
        yield (
            f"| {name} | {of['exact']:,.0f} | {of['before']:,.0f} | {of['before_ratio']:.3f} | "
            f"{of['granted']:,.0f} | {of['ratio']:.3f} | {of['answer_ms']:.2f} | "
            f"{of['slowest_ms']:.1f} | {of['admit_ms']:.2f} | {of['admit_cpu_ms']:.2f} | "
            f"{of['above']:.0f} |"
        )


def _levels(rng: Generator) -> tuple[int, ...]:
    """Return levels that double from a sixteenth of the worst case, which is 1 to 4."""
    worst = int(rng.integers(2, 9)) * UNIT // 2
    return tuple(worst >> (4 - level) for level in range(5))


def _passes(asked: Sequence[Asked], answers: Sequence[bool], wall: int) -> int:
    """Return how many granted windows passed the wall, row by row and hour by hour."""
    losses: dict[int, NDArray[np.int64]] = {}
    above = 0
    for one, granted in zip(asked, answers, strict=True):
        if not granted:
            continue
        worst = np.full(len(one.costs), one.alarm.worst, dtype=np.int64)
        at_worst, realised = one.alarm.losses(worst), one.alarm.losses(one.costs)
        for at in range(one.key.start_ms, one.key.end_ms, HOUR_MS):
            so_far = losses.get(at, np.int64(0))
            above += int((so_far + at_worst).max() > wall)
            losses[at] = so_far + realised
    return above


@contextmanager
def _coarse() -> Iterator[None]:
    """Judge without a grid."""
    own = overlap.grid_of  # type: ignore[attr-defined]  # only this comparison goes without
    overlap.grid_of = lambda _: None  # type: ignore[assignment,attr-defined]
    try:
        yield
    finally:
        overlap.grid_of = own  # type: ignore[attr-defined]


_SHAPES: tuple[tuple[str, Callable[[Generator], list[Alarm]], int], ...] = (
    ("city or age", city_or_age, 24 * UNIT),
    ("many classes", many_classes, 24 * UNIT),
)


if __name__ == "__main__":
    main()
