"""Exact laws of walks over a formula's channels, for one cell, by driving the real walk.

What a walk does depends on a noisy value only through the intervals that the boundaries cut (and
here through its parity, for walks that choose levels by it). So the value of every channel at every
level is one of a few *classes*: their joint law follows from the chain, pushed over a lattice, and
the real mechanism, given one representative of every combination, says what it answers and reads.
Every combination is a window of its own, so that all of them are decided together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import numpy as np

from accountant.units import UNITS_PER_EPSILON
from operators.conditions.condition import Aim, Condition
from operators.conditions.formula import atom_of
from operators.formulas.batched import Walks
from operators.formulas.probe import Probe
from operators.formulas.probe_ent import ProbeEnt
from operators.single.ladder import Grid
from tests.statistical.chain_law import laplace
from tests.statistical.condition_law import condition_of
from tests.statistical.enumeration import ONE
from tests.support.formulas import BETA

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from operators.formulas.treewalk import Scale
    from operators.noise.source import NoiseSource
    from tests.statistical.enumeration import Bools, Floats, Ints, Words64

FAR = 30  # from everything that a lattice is about


BETWEEN = condition_of("a AND NOT b", {"a": 0, "b": 4}, places={"a": 0, "b": 0})
THREE = Grid(first=Fraction(2, 5), rounds=2, refinement=2, finest_share=Fraction(1, 4))


def aim_of(condition: Condition, steps: int = 3, **more: Any) -> Aim:
    """Return an aim of k = ``steps`` (odd) for every atom, its first phase five times as wide."""
    atoms, tolerance = len(condition.atoms), (steps - 1) // 2
    aim = Aim(BETA, (tolerance,) * atoms, first_tolerances=(5 * tolerance + 2,) * atoms)
    return replace(aim, **more)


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
            if not level:
                numbers = numbers * parity + lattice % parity
            _, first, dense = np.unique(numbers, return_index=True, return_inverse=True)
            of.append(dense)
            some.append(lattice[first])
        return cls(lattice, rates, tuple(of), tuple(some), scale.chain is None)

    def law(self, at: int) -> Floats:
        """Return the joint law of the classes of all levels (raveled), the channel being ``at``."""
        eyes = [np.eye(some.size)[of] for some, of in zip(self.some, self.of, strict=True)]
        if self.fresh:
            joint = np.ones(1)
            for rate, eye in zip(self.rates, eyes, strict=True):
                joint = np.multiply.outer(joint, laplace(rate, self.lattice - at) @ eye).ravel()
            return joint
        paths = laplace(self.rates[-1], self.lattice - at)[:, None] * eyes[-1]
        for level in reversed(range(len(self.rates) - 1)):
            coarse, fine = self.rates[level], self.rates[level + 1]
            apart = self.lattice[:, None] - self.lattice[None, :]
            stay = (math.sinh(coarse / 2) / math.sinh(fine / 2)) ** 2
            kernel = stay * (apart == 0) + (1 - stay) * laplace(coarse, apart)
            moved = kernel @ paths
            paths = (eyes[level][:, :, None] * moved[:, None, :]).reshape(self.lattice.size, -1)
        return np.asarray(paths.sum(axis=0), dtype=np.float64)


@dataclass(frozen=True)
class Prepared:
    """A chain of given values, shape (levels, windows times cells)."""

    values: Ints

    def draw(self, _noise: NoiseSource, cells: int) -> Ints:
        """Return them."""
        assert cells == self.values.shape[1]
        return self.values


class SureCoins:
    """A source whose coins drop where they are likelier to."""

    def bernoulli(self, thresholds: Words64) -> Bools:
        """Return the likelier side."""
        return thresholds > np.uint64(1 << 63)


@dataclass(frozen=True)
class Driven:
    """What a mechanism answers and reads.

    Args:
        fired: shape (windows, cells).
        charged: loss as charged, in epsilon, of the same shape.
        stopped: last level read per channel, -1 for none, shape (channels, windows, cells).
        read: which levels of a channel any cell of a window read, (channels, levels, windows).
    """

    fired: Bools
    charged: Floats
    stopped: Ints
    read: list[Bools]


def driven(operator: ProbeEnt | Probe, chains: Sequence[Ints]) -> Driven:
    """Decide with every channel's step count at 0, so that the chains are the noisy values."""
    scales = tuple(
        replace(scale, chain=Prepared(chain))
        for scale, chain in zip(operator.scales, chains, strict=True)
    )
    condition = operator.condition
    windows = chains[0].shape[1] // condition.cells
    statistics = np.zeros((windows, condition.statistics, condition.cells), int)
    for channel in condition.channels:
        statistics[:, channel.statistic] = channel.test.thresholds
    walks, read = [], [np.zeros((len(scale.units), windows), np.bool_) for scale in scales]
    original = Walks.read

    def noted(walk, at, level, windows):
        walks.append(walk)
        read[at][level, windows] = True
        original(walk, at, level, windows)

    with patch.object(Walks, "read", noted):  # the walk itself is never returned
        found = replace(operator, scales=scales).decide_many(statistics, SureCoins())
    return Driven(found.fired, found.units / UNITS_PER_EPSILON, walks[0]._stopped, read)


def choices(scale: Scale, *, ends: bool) -> list[list[int]]:
    """Return every way to choose levels: per level, which is read next; itself at the end.

    Args:
        scale: a channel's levels.
        ends: a walk may end before the last level, as those of ProBE may.
    """
    if scale.charges != scale.units:  # every level has noise of its own: one more is read, or none
        return [[level, *range(1, scale.last + 1)] for level in range(scale.last + 1)]
    found = []
    for taken in product((False, True), repeat=scale.last - 1 + ends):
        after = [level for level, each in enumerate(taken, 1) if each] + [scale.last] * (not ends)
        found.append(
            [min((to for to in after if to > at), default=at) for at in range(scale.last + 1)]
        )
    return found


class _Free:
    """Levels are chosen by each channel's first value: as good as any rule."""

    __slots__ = ()

    def chosen(
        self, at: int, windows: NDArray[np.intp], present: int | NDArray[np.intp]
    ) -> NDArray[np.intp]:
        """Return the level that every window reads next."""
        scale = self.scales[at]
        ways = np.array(choices(scale, ends=isinstance(self, Probe)))
        return np.asarray(ways[scale.chain.values[0, windows] % len(ways), present])


class FreeEnt(_Free, ProbeEnt):
    """ProBE-Ent with any rule."""

    __slots__ = ()

    def following(
        self,
        walks: Walks,  # noqa: ARG002  as its base has it
        at: int,
        level: int,
        windows: NDArray[np.intp],
    ) -> NDArray[np.intp]:
        """Return the next level."""
        return self.chosen(at, windows, level)


class FreeProbe(_Free, Probe):
    """ProBE with any rule for its second phase."""

    __slots__ = ()

    def refined(self, walks: Walks, at: int, windows: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the next level, the present one at its end."""
        return self.chosen(at, windows, walks.levels(at)[windows])


@dataclass(frozen=True)
class FormulaLaw:
    """A mechanism, planned for a condition of one cell, enumerated over classes and coins.

    Outcomes have the shape (coins, combinations); ``weights`` is the probability of the coins.
    """

    operator: ProbeEnt | Probe

    @cached_property
    def classes(self) -> list[Classes]:
        """The classes of every channel."""
        free, ends = isinstance(self.operator, _Free), isinstance(self.operator, Probe)
        return [
            Classes.by(scale, len(choices(scale, ends=ends)) if free else 1)
            for scale in self.operator.scales
        ]

    @cached_property
    def outcomes(self) -> list[tuple[float, Driven]]:
        """Every combination of coins: its probability, and what is answered and read."""
        paths = [np.array(list(product(*each.some))).T for each in self.classes]
        combined = np.indices([each.shape[1] for each in paths]).reshape(len(paths), -1)
        chains = [path[:, at] for path, at in zip(paths, combined, strict=True)]
        return [
            (weight, driven(replace(self.operator, scales=scales), chains))
            for weight, scales in _coins(self.operator.scales)
        ]


def _coins(scales):
    """Return every way that the literals' coins may fall, with its probability."""
    owners = [rungs.coin / ONE for scale in scales for rungs in scale.rungs]
    for drops in product((False, True), repeat=len(owners)):
        rest = iter(drops)
        weight = math.prod(p if drop else 1 - p for p, drop in zip(owners, drops, strict=True))
        yield (
            weight,
            tuple(
                replace(
                    scale,
                    rungs=tuple(
                        replace(each, coin=ONE - 1 if next(rest) else 0) for each in scale.rungs
                    ),
                )
                for scale in scales
            ),
        )
