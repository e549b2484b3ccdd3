"""TSLM for formulas under a Gaussian budget: one normal noise per channel serves every literal.

A threshold on a statistic with normal noise is the extremal curve of mu-GDP, so that a literal pays
what it would pay alone, and every other literal of the channel reads the same noise for nothing.
Noise is compared and never rounded: what is decided is a function of the continuous Gaussian
mechanism. The proof is in ``docs/proofs/gaussian.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import scipy

from accountant.arguments import expect, instance_of
from accountant.costs.charges import UniformCost
from accountant.units import from_loss_units, to_loss_units
from operators.base import Decision, Plan
from operators.conditions.condition import Aim, Condition
from operators.conditions.formula import atom_of
from operators.formulas.chances import channel_steps, shared_chances
from operators.formulas.literals import adds_up, apportioned, atom_test, formula_limit
from operators.noise.normal import Quantiles
from operators.noise.source import SOURCE
from operators.single.abreast import Decisions, steps_of_many
from operators.single.adapter import check_statistics
from operators.single.gaussian import least_mu, quantile_above
from operators.single.tslm import MOST_STEPS

if TYPE_CHECKING:
    from collections.abc import Iterable
    from fractions import Fraction

    from numpy.typing import NDArray

    from operators.conditions.condition import Channel
    from operators.formulas.literals import Reading, Share
    from operators.noise.normal import NormalDraws
    from operators.noise.source import NoiseSource

__all__ = ["NormalTslm", "NormalValue"]


@dataclass(frozen=True, eq=False)
class NormalValue:
    """One channel's normal noise, and how its literals are read off it.

    The noise is ``-Z / apart`` on the channel's step count, Z of N(0, 1) and apart being mu over
    the steps that a neighbour moves. A literal whose own step count is x rings where ``Z < top + x
    apart``; that of ``NOT a``, whose own noise is the same turned round, where ``-Z < top + x
    apart``.

    Args:
        share: the channel and its literals.
        mu: what the channel costs: ``mu^2 / 2`` in loss units, rounded up.
    """

    share: Share
    mu: Fraction

    @classmethod
    def planned(cls, share: Share) -> NormalValue:
        """Return the least noise that serves every literal of a channel."""
        apart = max(least_mu(each.steps, each.alpha, each.beta) for each in share.readings)
        return cls(share, share.channel.moves * apart)

    @property
    def units(self) -> int:
        """Loss of the channel, in loss units."""
        return to_loss_units(self.mu**2 / 2)

    @cached_property
    def quantiles(self) -> tuple[Quantiles, ...]:
        """Per literal, where Z has to be below (``a``) or not below (``NOT a``), by its steps."""
        return tuple(self._line(each) for each in self.share.readings)

    def holds(self, steps: NDArray[np.int64], draws: NormalDraws) -> list[NDArray[np.bool_]]:
        """Return which literals hold by one noise for all of them.

        Args:
            steps: of the channel, shape (windows, cells), int64.
            draws: as many.

        Returns:
            Shape (windows, cells) per literal.
        """
        found = []
        for reading, line in zip(self.share.readings, self.quantiles, strict=True):
            below = draws.below(line, reading.own(steps).ravel()).reshape(steps.shape)
            found.append(below if _plain(reading) else ~below)
        return found

    def outcomes(
        self, cell: int, statistics: NDArray[np.int64]
    ) -> dict[tuple[bool, ...], NDArray[np.float64]]:
        """Return the law; see :meth:`operators.formulas.chances.ChannelValue.outcomes`."""
        steps = channel_steps(self.share, cell, statistics)
        every = list(zip(self.share.readings, self.quantiles, strict=True))
        zero, one = np.zeros(1, dtype=np.int64), np.array([cell])
        # All cuts move alike with the steps, so that they keep their order.
        cuts = [line.top + int(each.own(zero, one)[0]) * line.apart for each, line in every]
        order = sorted(range(len(cuts)), key=cuts.__getitem__)
        moved = float(self.mu / self.share.channel.moves) * steps
        ends = [np.full(steps.size, -np.inf), *(float(cuts[at]) + moved for at in order)]
        ends.append(np.full(steps.size, np.inf))
        found: dict[tuple[bool, ...], NDArray[np.float64]] = {}
        for passed in range(len(ends) - 1):  # how many of the cuts lie below Z
            below = [order.index(at) >= passed for at in range(len(order))]
            outcome = tuple(
                each is _plain(reading)
                for each, reading in zip(below, self.share.readings, strict=True)
            )
            mass = _between(ends[passed], ends[passed + 1])
            found[outcome] = found.get(outcome, 0.0) + mass
        return found

    def _line(self, reading: Reading) -> Quantiles:
        top, apart = quantile_above(reading.beta), self.mu / self.share.channel.moves
        return Quantiles(top, apart) if _plain(reading) else Quantiles(-top, -apart)


@dataclass(frozen=True, slots=True, eq=False)
class NormalTslm:
    """Threshold shift over a formula, with normal noise.

    Guarantee: per cell, neighbouring statistics (each at most its sensitivity apart, all of them at
    once) give outcomes that are mu-GDP, ``mu^2 / 2`` being the plan's loss: the sum over the
    channels, however many literals read each. Misses and false alarms as
    :class:`operators.formulas.tslm.SharedTslm` has them.

    Args:
        condition: when a cell should ring.
        plan: worst-case loss and its limit, see ``formula_limit``.
        values: one per channel.

    Source: Dong, Roth and Su, *Gaussian differential privacy*, Theorem 1 and Corollary 2; ProBE,
    Theorems 4.3 and 4.5, with the sum over occurrences replaced by that over each prime implicant.
    """

    condition: Condition
    plan: Plan
    values: tuple[NormalValue, ...]

    @classmethod
    def planned(cls, condition: Condition, aim: Aim) -> NormalTslm:
        """Share the rates out and find the least mu per channel that serves its literals.

        Thresholds of one statistic that are no whole steps apart are read off one noise on a finer
        grid, or off several, whichever is cheaper.

        Args:
            condition: when a cell should ring.
            aim: what the analyst asked for, of a Gaussian budget.

        Raises:
            ConfigError: an aim that cannot be kept, is met by guessing, or spans too many steps.
        """
        expect(instance_of(Condition), condition=condition)
        expect(instance_of(Aim), aim=aim)
        found = [_values(condition, aim, condition.channels)]
        shared = condition.shared_channels
        if len(shared) < len(condition.channels) and _fit(condition, aim, shared):
            found.append(_values(condition, aim, shared))
        values = min(found, key=_units)
        limit = formula_limit(condition, aim)
        plan = Plan(mechanism="tslm", epsilon=from_loss_units(_units(values)), limit=limit)
        return cls(condition=condition, plan=plan, values=values)

    def decide(self, statistics: NDArray[np.int64], noise: NoiseSource) -> Decision:
        """Decide every cell of one window; see :meth:`operators.base.Operator.decide`.

        One normal per channel and cell is drawn.
        """
        check_statistics(self.condition, statistics)
        fired = self._fired(statistics[np.newaxis], noise)[0]
        return Decision(fired=fired, cost=UniformCost(units=_units(self.values), cells=fired.size))

    def decide_many(self, statistics: NDArray[np.int64], noise: NoiseSource) -> Decisions:
        """Decide many windows; see :class:`operators.single.abreast.DecidesMany`."""
        check_statistics(self.condition, statistics[0])
        fired = self._fired(statistics, noise)
        return Decisions(fired, np.full(fired.shape, _units(self.values), dtype=np.int64))

    def chances(self, cell: int, statistics: NDArray[np.int64]) -> NDArray[np.float64] | None:
        """Return the law of one cell; see :meth:`operators.base.Operator.chances`."""
        return shared_chances(self.condition.formula, self.values, cell, statistics)

    def _fired(self, statistics: NDArray[np.int64], noise: NoiseSource) -> NDArray[np.bool_]:
        """Return which cells of which windows ring, shape (windows, cells)."""
        expect(SOURCE, noise=noise)
        holds: dict[str, NDArray[np.bool_]] = {}
        for value in self.values:
            steps = steps_of_many(value.share.channel, statistics)
            held = value.holds(steps, noise.normal(steps.size))
            names = (reading.literal for reading in value.share.readings)
            holds.update(zip(names, held, strict=True))
        return self.condition.formula.evaluate_literals(holds)


def _values(
    condition: Condition, aim: Aim, channels: tuple[Channel, ...]
) -> tuple[NormalValue, ...]:
    return tuple(map(NormalValue.planned, apportioned(condition, aim, channels=channels)))


def _units(values: Iterable[NormalValue]) -> int:
    return sum(value.units for value in values)


def _fit(condition: Condition, aim: Aim, channels: tuple[Channel, ...]) -> bool:
    """Tell whether a finer grid can be planned for: tolerances and thresholds in its steps."""
    tolerances = dict(zip(condition.formula.atoms, aim.tolerances, strict=True))
    return all(adds_up(condition, channel) for channel in channels) and all(
        atom_test(condition, channel, name).steps(tolerances[name]) <= MOST_STEPS
        for channel in channels
        for name in channel.offsets
    )


def _plain(reading: Reading) -> bool:
    return reading.literal == atom_of(reading.literal)


def _between(low: NDArray[np.float64], high: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the normal law's mass between two quantiles, on the side where tails are small."""
    ndtr = scipy.special.ndtr  # imported where a plan needs it, and not by every command
    mirrored = low > 0
    mass = ndtr(np.where(mirrored, -low, high)) - ndtr(np.where(mirrored, -high, low))
    return np.asarray(mass)
