"""The literals of a condition as its channels are read: shares of the error rates, noisy values.

What every mechanism for formulas plans from. A literal ``a`` has the step count of its channel plus
a public offset, ``NOT a`` that of ``a`` negated and less one, and noise on the channel's step count
is noise of the same law on each of theirs (``docs/research/proofs/probe.md``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING, Final

import numpy as np

from accountant.errors import ConfigError
from accountant.units import UNITS_PER_EPSILON, from_loss_units
from operators.base import Promise
from operators.conditions.formula import atom_of
from operators.noise.boundaries import finest_cut
from operators.single.ladder import least_rate
from operators.single.tslm import error_rates, planned_steps, theoretical_limit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from operators.conditions.condition import Aim, Channel, Condition
    from operators.noise.boundaries import Cut

__all__ = [
    "Reading",
    "Share",
    "apportioned",
    "least_common_rate",
]

_FARTHEST: Final = 1 << 60  # thresholds whose offsets add up with step counts and noise in int64


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """One literal of a channel, with what it may err.

    Args:
        literal: ``a`` or ``NOT a``.
        steps: k, from "must fire" (s' >= 0) down to "must not fire" (s' <= -k) of the literal's own
            step count.
        alpha: its bound on false alarms.
        beta: its bound on misses.
        offsets: shape (cells,), int64: how far the atom's step count lies above the channel's.
    """

    literal: str
    steps: int
    alpha: Fraction
    beta: Fraction
    offsets: NDArray[np.int64]

    def least_loss(self, part: Fraction) -> int:
        """Return the least loss units, but for floats, that keep part of both rates."""
        limit = theoretical_limit(self.steps, self.alpha * part, self.beta * part)
        return ceil(limit * UNITS_PER_EPSILON)

    def own(
        self, values: NDArray[np.int64], cells: NDArray[np.intp] | slice = slice(None)
    ) -> NDArray[np.int64]:
        """Return the literal's own (noisy) step counts from the channel's.

        Args:
            values: the channel's, int64, of the cells chosen.
            cells: which cells these are; all by default.
        """
        own: NDArray[np.int64] = values + self.offsets[cells]
        return own if self.literal == atom_of(self.literal) else ~own  # ~x is -x - 1


@dataclass(frozen=True, slots=True, eq=False)
class Share:
    """One channel with the literals that are read off it.

    Args:
        channel: what noise is added to.
        readings: its literals, in the formula's order.
    """

    channel: Channel
    readings: tuple[Reading, ...]

    def of(self, part: Fraction) -> Share:
        """Return the same with part of every literal's rates."""
        readings = (
            replace(each, alpha=each.alpha * part, beta=each.beta * part) for each in self.readings
        )
        return replace(self, readings=tuple(readings))

    def mixed(self, other: Share, part: Fraction) -> Share:
        """Return the same with part of every literal's rates, and of another's what is left."""
        pairs = zip(self.of(part).readings, other.of(1 - part).readings, strict=True)
        added = (
            replace(one, alpha=one.alpha + two.alpha, beta=one.beta + two.beta)
            for one, two in pairs
        )
        return replace(self, readings=tuple(added))


def apportioned(condition: Condition, aim: Aim) -> tuple[Share, ...]:
    """Share the rates of a condition out to its literals, channel by channel.

    Literal i gets ``w_i / sum of o_y w_y`` of both rates, w being its sensitivity over its
    tolerance and o how often it is written. A condition that is true is missed only if some literal
    of a set that makes it true is missed, so the rates of all literals, each as often as it is
    written, are more than enough. False alarms likewise.

    Args:
        condition: when a cell should ring.
        aim: what the analyst asked for.

    Raises:
        ConfigError: rates or tolerances that cannot be kept, are met by guessing or span too many
            steps; thresholds too far out to share noise.

    Source: ProBE, Theorems 4.3 and 4.5.
    """
    alpha, beta = error_rates(Promise(aim.max_fnr, min(aim.tolerances), aim.max_fpr))
    formula = condition.formula
    tolerances = dict(zip(formula.atoms, aim.tolerances, strict=True))
    _check_distances(condition)
    steps = {
        name: planned_steps(condition.test(name), Promise(aim.max_fnr, tolerance))
        for name, tolerance in tolerances.items()
    }
    weights = {
        # Where one is infinite all go by 1/k, which is on another scale.
        name: Fraction(condition.sensitivity_of(name), tolerance)
        if all(aim.tolerances)
        else Fraction(1, steps[name])
        for name, tolerance in tolerances.items()
    }
    written = zip(formula.occurrences, formula.literals, strict=True)
    total = sum((often * weights[atom_of(one)] for often, one in written), Fraction(0))

    def reading(literal: str, offsets: NDArray[np.int64]) -> Reading:
        part = weights[atom_of(literal)] / total
        return Reading(literal, steps[atom_of(literal)], alpha * part, beta * part, offsets)

    return tuple(
        Share(
            channel,
            tuple(
                reading(literal, channel.offsets[atom_of(literal)])
                for literal in formula.literals
                if atom_of(literal) in channel.offsets
            ),
        )
        for channel in condition.channels
    )


def least_common_rate(
    readings: Sequence[Reading], part: Fraction = Fraction(1)
) -> tuple[int, tuple[Cut, ...]]:
    """Return the least rate, in loss units, at which one level serves every literal, and its cuts.

    Args:
        readings: literals of one channel.
        part: of every literal's ``alpha`` and ``beta``, which part that level may use.
    """
    units = max(least_rate(e.steps, e.alpha * part, e.beta * part)[0] for e in readings)
    while True:
        cuts = _cuts_at(units, readings, part)
        if cuts is not None:
            return units, cuts
        units += 1


def _cuts_at(units: int, readings: Sequence[Reading], part: Fraction) -> tuple[Cut, ...] | None:
    """Return every literal's cut at a rate, or nothing if one would ring too often."""
    rate = from_loss_units(units)
    cuts = [finest_cut(rate, e.steps, e.alpha * part, e.beta * part) for e in readings]
    found = tuple(cut for cut in cuts if cut is not None)
    return found if len(found) == len(cuts) else None


def _check_distances(condition: Condition) -> None:
    """Refuse thresholds whose offsets could not be added to noisy values in int64."""
    for channel in condition.channels:
        width = channel.test.sensitivity
        steps = np.stack([condition.atoms[name].thresholds // width for name in channel.offsets])
        if len(steps) > 1 and (steps.min() < -_FARTHEST or steps.max() > _FARTHEST):
            raise ConfigError(
                "a threshold is more than 2^60 steps of the resolution",
                hint="declare a coarser resolution for the summed field",
            )
