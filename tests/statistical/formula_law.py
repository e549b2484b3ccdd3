"""Exact laws of walks over a formula's channels, for one cell, by driving the real walk.

What a walk does depends on a noisy value only through the intervals that the boundaries cut (and
here through its parity, for walks that choose levels by it). So the value of every channel at every
level is one of a few *classes*: their joint law follows from the chain, pushed over a lattice, and
the real mechanism, given one representative of every combination, says what it answers and reads.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING
from unittest.mock import patch

import numpy as np

from accountant.units import UNITS_PER_EPSILON
from operators.conditions.condition import Condition, ThresholdAtom
from operators.conditions.formula import Formula, atom_of
from operators.formulas.batched import Walks
from operators.formulas.probe import Probe
from operators.formulas.probe_ent import ProbeEnt
from tests.statistical.chain_law import laplace

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from operators.conditions.condition import Aim
    from operators.formulas.treewalk import Scale
    from operators.noise.source import NoiseSource
    from operators.single.batched import Decisions
    from tests.statistical.enumeration import Bools, Floats, Ints, Words

ONE = 1 << 64
FAR = 30  # from everything that a lattice is about


def condition_of(text: str, thresholds: Mapping[str, tuple[int, int]], cells: int = 1) -> Condition:
    """Return a condition of sensitivity one; per atom its statistic and its threshold."""
    formula = Formula.parse(text)
    atoms = {
        name: ThresholdAtom(thresholds[name][0], np.full(cells, thresholds[name][1]))
        for name in formula.atoms
    }
    statistics = 1 + max(atom.statistic for atom in atoms.values())
    return Condition(formula, atoms, (1,) * statistics)


@dataclass(frozen=True)
class Classes:
    """The classes of one channel's value per level.

    Args:
        lattice: the channel's values that count, consecutive.
        rates: of every level, coarsest first.
        of: per level, the class of every value of the lattice.
        some: per level, one value per class.
        fresh: levels are independent.
    """

    lattice: Ints
    rates: tuple[float, ...]
    of: tuple[Ints, ...]
    some: tuple[Ints, ...]
    fresh: bool

    @classmethod
    def by(cls, scale: Scale, parity: int) -> Classes:
        """Cut the lattice at the boundaries of every literal, and by the value modulo parity."""
        rates = tuple(units / UNITS_PER_EPSILON for units in scale.units)
        reach = math.ceil(36 / rates[0]) + FAR
        lattice = np.arange(-reach, reach + 1)
        of, some = [], []
        for level in range(len(rates)):
            cuts = set()
            for reading, rungs in zip(scale.share.readings, scale.rungs, strict=True):
                ends = [-rungs.low[level], rungs.high[level]]
                if level == scale.last:
                    ends[1] = 1 - rungs.low[level]
                offset = int(reading.offsets[0])
                rises = reading.literal == atom_of(reading.literal)
                cuts |= {end - offset if rises else -end - offset for end in ends}
            numbers = np.digitize(lattice, sorted(cuts))
            if level < scale.last:
                numbers = numbers * parity + lattice % parity
            _, first, dense = np.unique(numbers, return_index=True, return_inverse=True)
            of.append(dense)
            some.append(lattice[first])
        return cls(lattice, rates, tuple(of), tuple(some), scale.chain is None)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of classes per level."""
        return tuple(each.size for each in self.some)

    def law(self, at: int) -> Floats:
        """Return the joint law of the classes of all levels (raveled), the channel being ``at``."""
        eyes = [np.eye(size)[of] for size, of in zip(self.sizes, self.of, strict=True)]
        if self.fresh:
            joint = np.ones(1)
            for rate, eye in zip(self.rates, eyes, strict=True):
                joint = np.multiply.outer(joint, laplace(rate, self.lattice - at) @ eye).ravel()
            return joint
        paths = (laplace(self.rates[-1], self.lattice - at)[:, None] * eyes[-1])[:, None, :]
        for level in reversed(range(len(self.rates) - 1)):
            coarse, fine = self.rates[level], self.rates[level + 1]
            apart = self.lattice[:, None] - self.lattice[None, :]
            stay = (math.sinh(coarse / 2) / math.sinh(fine / 2)) ** 2
            kernel = stay * (apart == 0) + (1 - stay) * laplace(coarse, apart)
            moved = np.tensordot(kernel, paths.reshape(self.lattice.size, -1), 1)
            paths = eyes[level][:, :, None] * moved[:, None, :]
            paths = paths.reshape(self.lattice.size, 1, -1)
        return np.asarray(paths.sum(axis=(0, 1)), dtype=np.float64)


@dataclass(frozen=True)
class Outcomes:
    """What a mechanism answers and reads for every combination of classes.

    Args:
        weights: probability of every combination of coins.
        fired: shape (coins, combinations).
        stopped: last level read per channel, -1 for none, shape (coins, channels, combinations).
        charged: loss as charged, in epsilon, shape (coins, combinations).
    """

    weights: Floats
    fired: Bools
    stopped: Ints
    charged: Floats


class Prepared:
    """A chain of given values."""

    def __init__(self, values: Ints) -> None:
        self.values = values

    def draw(self, _noise: NoiseSource, cells: int) -> Ints:
        """Return the values, shape (levels, cells)."""
        assert cells == self.values.shape[1]
        return self.values


class SureCoins:
    """A source whose coins drop where they are likelier to."""

    def bernoulli(self, thresholds: Words) -> Bools:
        """Return the likelier side."""
        return thresholds > np.uint64(1 << 63)


class ScheduledEnt(ProbeEnt):
    """ProBE-Ent that takes its levels from a schedule."""

    __slots__ = ()
    schedule: tuple[tuple[int, ...], ...] = ()

    def following(
        self,
        walks: Walks,  # noqa: ARG002  as its base has it
        at: int,
        level: int,
        windows: NDArray[np.intp],
    ) -> NDArray[np.intp]:
        """Return the next level of the schedule."""
        return np.full(windows.size, min(each for each in self.schedule[at] if each > level))


class ScheduledProbe(Probe):
    """ProBE that takes the levels of its second phase from a schedule."""

    __slots__ = ()
    schedule: tuple[tuple[int, ...], ...] = ()

    def refined(self, walks: Walks, at: int, windows: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the next level of the schedule, the present one at its end."""
        present = int(walks.levels(at)[windows[0]])
        level = min((each for each in self.schedule[at] if each > present), default=present)
        return np.full(windows.size, level)


def choices(scale: Scale, mechanism: type[ProbeEnt | Probe]) -> list[tuple[int, ...]]:
    """Return every schedule of one channel: the levels read after the first."""
    if scale.chain is None:
        return [(level,) for level in range(scale.last + 1)]
    levels = range(1, scale.last + issubclass(mechanism, Probe))
    end = () if issubclass(mechanism, Probe) else (scale.last,)
    return [
        (*(level for level, taken in zip(levels, each, strict=True) if taken), *end)
        for each in product((False, True), repeat=len(levels))
    ]


@dataclass(frozen=True)
class FormulaLaw:
    """A mechanism over a condition of one cell, enumerated.

    Args:
        text: the formula.
        thresholds: per atom its statistic and threshold.
        aim: as planned for.
        operator: the mechanism, planned for one cell.
        free: levels are chosen by each channel's first value modulo the number of schedules: as
            good as any rule. Otherwise as the mechanism would for a single cell.
    """

    text: str
    thresholds: Mapping[str, tuple[int, int]]
    aim: Aim
    operator: ProbeEnt | Probe
    free: bool

    @property
    def classes(self) -> list[Classes]:
        """The classes of every channel."""
        return [
            Classes.by(scale, len(each) if self.free else 1)
            for scale, each in zip(self.operator.scales, self.schedules, strict=True)
        ]

    @property
    def schedules(self) -> list[list[tuple[int, ...]]]:
        """The schedules of every channel."""
        kind = type(self.operator)
        if self.free:
            return [choices(scale, kind) for scale in self.operator.scales]
        if isinstance(self.operator, Probe):
            return [[(scale.last,)] for scale in self.operator.scales]
        return [[tuple(range(1, scale.last + 1))] for scale in self.operator.scales]

    def outcomes(self) -> Outcomes:
        """Run the real mechanism over every combination of classes, coins and schedules."""
        classes, schedules = self.classes, self.schedules
        paths = [list(product(*(range(size) for size in each.sizes))) for each in classes]
        combined = np.indices(tuple(map(len, paths))).reshape(len(paths), -1)
        values, chosen = [], []
        for each, own, at in zip(classes, paths, combined, strict=True):
            table = np.array(own).T
            picked = np.stack([some[row] for some, row in zip(each.some, table, strict=True)])
            values.append(picked[:, at])
            chosen.append(picked[0, at])
        coins = list(_coins(self.operator.scales))
        shape = (len(coins), combined.shape[1])
        fired = np.zeros(shape, dtype=np.bool_)
        charged = np.zeros(shape)
        stopped = np.zeros((len(coins), len(paths), combined.shape[1]), dtype=np.int64)
        condition = condition_of(self.text, self.thresholds, combined.shape[1])
        for number, (_, dropping) in enumerate(coins):
            prepared = self._prepared(condition, values, dropping)
            for picks in product(*(range(len(each)) for each in schedules)):
                here = np.ones(combined.shape[1], dtype=np.bool_)
                for pick, own, first in zip(picks, schedules, chosen, strict=True):
                    here &= first % len(own) == pick
                schedule = tuple(own[pick] for own, pick in zip(schedules, picks, strict=True))
                answer, paid, read = _driven(prepared, schedule, self.thresholds)
                fired[number, here] = answer[here]
                charged[number, here] = paid[here]
                stopped[number][:, here] = read[:, here]
        return Outcomes(np.array([weight for weight, _ in coins]), fired, stopped, charged)

    def _prepared(
        self,
        condition: Condition,
        values: Sequence[Ints],
        dropping: Sequence[Sequence[bool]],
    ) -> ProbeEnt | Probe:
        channels = condition.channels
        scales = []
        for scale, channel, chain, drops in zip(
            self.operator.scales, channels, values, dropping, strict=True
        ):
            readings = tuple(
                replace(each, offsets=channel.offsets[atom_of(each.literal)])
                for each in scale.share.readings
            )
            rungs = tuple(
                replace(each, coin=ONE - 1 if drop else 0)
                for each, drop in zip(scale.rungs, drops, strict=True)
            )
            share = replace(scale.share, channel=channel, readings=readings)
            prepared = Prepared(chain)
            scales.append(replace(scale, share=share, rungs=rungs, chain=prepared))
        return replace(self.operator, condition=condition, scales=tuple(scales))


def _driven(
    operator: ProbeEnt | Probe,
    schedule: tuple[tuple[int, ...], ...],
    thresholds: Mapping[str, tuple[int, int]],
) -> tuple[Bools, Floats, Ints]:
    """Decide with every channel's step count at 0, so that the chains are the noisy values."""
    kind = ScheduledEnt if isinstance(operator, ProbeEnt) else ScheduledProbe
    kind.schedule = schedule
    fields = {name: getattr(operator, name) for name in operator.__dataclass_fields__}
    walks = []
    original = Walks.decisions

    def kept(walk: Walks) -> Decisions:
        walks.append(walk)
        return original(walk)

    condition = operator.condition
    statistics = np.zeros((condition.statistics, condition.cells), int)
    for name in reversed(condition.formula.atoms):  # a channel is named after its first atom
        statistic, threshold = thresholds[name]
        statistics[statistic] = threshold
    with patch.object(Walks, "decisions", kept):  # the walk itself is never returned
        decision = kind(**fields).decide(statistics, SureCoins())
    units = decision.cost.as_array() / UNITS_PER_EPSILON
    return decision.fired, units, walks[0]._stopped[:, 0].astype(np.int64)


def _coins(scales: Sequence[Scale]) -> Iterator[tuple[float, list[list[bool]]]]:
    """Return every combination of coins with its probability, per channel and literal."""
    owners = [rungs.coin / ONE for scale in scales for rungs in scale.rungs]
    for drops in product((False, True), repeat=len(owners)):
        weight = math.prod(p if drop else 1 - p for p, drop in zip(owners, drops, strict=True))
        rest = iter(drops)
        yield weight, [[next(rest) for _ in scale.rungs] for scale in scales]
