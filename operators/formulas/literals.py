"""The literals of a condition as its channels are read: shares of the error rates, noisy values.

What every mechanism for formulas plans from. A literal ``a`` has the step count of its channel plus
a public offset, ``NOT a`` that of ``a`` negated and less one, and noise on the channel's step count
is noise of the same law on each of theirs (``docs/proofs/prime-implicants.md``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import numpy as np

from accountant.arguments import sentence_of
from accountant.errors import ConfigError
from accountant.units import from_loss_units, to_loss_units
from operators.base import Promise
from operators.conditions.formula import atom_of
from operators.formulas.apportion import Atom, apportion
from operators.noise.boundaries import finest_cut
from operators.single.ladder import least_rate
from operators.single.tslm import error_rates, planned_steps

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

    def of(self, part: Fraction) -> Reading:
        """Return the same with part of both rates."""
        return replace(self, alpha=self.alpha * part, beta=self.beta * part)

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
        units: the loss, in loss units, at which one noisy value serves every literal with the part
            of its rates that was asked for.
        readings: its literals, in the formula's order.
    """

    channel: Channel
    units: int
    readings: tuple[Reading, ...]

    def of(self, part: Fraction) -> Share:
        """Return the same with part of every literal's rates."""
        return replace(self, readings=tuple(each.of(part) for each in self.readings))

    def joined(self, other: Share) -> Share:
        """Return the same with the rates of another share of the channel added."""
        pairs = zip(self.readings, other.readings, strict=True)
        added = (
            replace(one, alpha=one.alpha + two.alpha, beta=one.beta + two.beta)
            for one, two in pairs
        )
        return replace(self, readings=tuple(added))


def apportioned(
    condition: Condition,
    aim: Aim,
    part: Fraction = Fraction(1),
) -> tuple[Share, ...]:
    """Share the rates of a condition out to its literals, channel by channel.

    Args:
        condition: when a cell should ring.
        aim: what the analyst asked for.
        part: of every literal's rates, which part the level may use whose loss is minimised.

    Raises:
        ConfigError: rates or tolerances that cannot be kept, are met by guessing or span too many
            steps; a formula with too many ways to be true; thresholds too far out to share noise.

    Source: ProBE, Theorems 4.3 and 4.5, as ``operators.formulas.apportion`` restates them.
    """
    error_rates(Promise(aim.max_fnr, min(aim.tolerances), aim.max_fpr))
    tolerances = dict(zip(condition.formula.atoms, aim.tolerances, strict=True))
    channels = condition.channels
    _check_distances(condition)
    owners = {name: channel for channel in channels for name in channel.offsets}
    steps = {
        name: planned_steps(condition.test(name), Promise(aim.max_fnr, tolerance))
        for name, tolerance in tolerances.items()
    }
    # ProBE's weight is D/u. Where one is infinite all go by 1/k, which is on another scale.
    finite = all(aim.tolerances)
    weights = {
        name: Fraction(condition.sensitivity_of(name), tolerance) if finite else None
        for name, tolerance in tolerances.items()
    }
    _check_primes(condition, aim)
    found = apportion(
        condition.formula,
        {name: Atom(steps[name], owners[name].name, weights[name]) for name in tolerances},
        max_fnr=aim.max_fnr,
        max_fpr=aim.max_fpr,
        rule=aim.apportion,
        part=part,
    )
    return tuple(
        Share(
            channel=channel,
            units=to_loss_units(found.epsilons[channel.name]),
            readings=tuple(
                Reading(
                    literal=literal,
                    steps=steps[atom_of(literal)],
                    alpha=found.alpha[literal] / part,
                    beta=found.beta[literal] / part,
                    offsets=channel.offsets[atom_of(literal)],
                )
                for literal in condition.formula.literals
                if atom_of(literal) in channel.offsets
            ),
        )
        for channel in channels
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


def _check_primes(condition: Condition, aim: Aim) -> None:
    """Refuse a formula with more ways to be true, or false, than can be apportioned over."""
    try:
        condition.formula.prime_implicants()
        if aim.max_fpr is not None:
            condition.formula.prime_implicates()
    except ValueError as error:
        raise ConfigError(sentence_of(error), hint="split the query into several") from error


def _check_distances(condition: Condition) -> None:
    """Refuse thresholds whose offsets could not be added to noisy values in int64."""
    for channel in condition.channels:
        width = channel.test.sensitivity
        steps = np.stack([condition.atoms[name].thresholds // width for name in channel.offsets])
        if len(steps) > 1 and (steps.min() < -_FARTHEST or steps.max() > _FARTHEST):
            raise ConfigError(
                "thresholds of one statistic lie more than 2^60 steps from 0",
                hint="declare a coarser granule for the summed field",
            )
