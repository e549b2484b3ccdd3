"""ProBE: a coarse look at every condition, then a closer one where too many would ring falsely.

The first phase reads every channel at the rate of a wide tolerance. From its noisy values the
number of false alarms is estimated; channels that exceed their allowance are read once more, at the
coarsest level whose estimate keeps it, in the cells whose answer is still open. The proof is in
``docs/proofs/probe.md``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from accountant.errors import ConfigError
from accountant.units import from_loss_units
from operators.base import Plan
from operators.boundaries import boundaries
from operators.literals import apportioned, formula_limit, least_common_rate
from operators.progressive import Grid
from operators.treewalk import Rungs, Scale, Walk
from operators.tslm import MOST_STEPS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from operators.base import Decision
    from operators.boundaries import Cut
    from operators.condition import Aim, Condition
    from operators.literals import Reading, Share
    from operators.noise import NoiseSource

__all__ = ["Probe"]

_ROUNDS: Final = 4  # levels from that of the first tolerance to the last, both included
_COIN: Final = 1 << 64
_SINGLE: Final = (Fraction(1),)


@dataclass(frozen=True, slots=True, eq=False)
class Probe:
    """Two phases: every channel at a wide tolerance, then some of them at a narrower one.

    Phase one reads a channel at the rate that its literals' ``first_tolerances`` ask for, phase two
    at one level of a geometric grid between that and the last, whose tolerances are the aim's. A
    channel is read only in cells whose answer it can still change, and what is open in the end
    counts as true.

    - ``refine: gradual``: both phases read one gradual release; a cell that is refined has paid
      for its last level only. The boundaries hold over the whole grid at once, so phase two goes on
      where its estimate, made again from what it read, is still too high.
    - ``refine: fresh``: each phase has noise of its own and half of both rates; a cell that is
      refined pays for both levels. A baseline.

    Guarantee: per cell and for every transcript, neighbouring statistics (each at most its
    sensitivity apart, all of them at once) have probabilities within a factor exp(cost of that
    cell), its cost being the sum over the channels of what was read there (nothing for a channel
    that was never read); at worst ``plan.epsilon``. A cell whose condition is true is missed with
    probability at most ``max_fnr``. Both for the bounded statistics of a decided window.

    ``max_fpr`` (``max_fnr`` where it is absent) is NOT promised: phase two ends where an estimate
    from noisy values says that it is kept, on average over the cells of the window. What is
    promised is that a condition false beyond the tolerances rings with nothing left open, as at the
    last level, with probability at most ``max_fpr``, where that is given.

    The realised cost depends on the data: it is for the ledger, not for the analyst.

    Args:
        condition: when a cell should ring.
        plan: worst-case loss and its limit, see ``operators.literals.formula_limit``.
        scales: levels and boundaries, one per channel.
        max_fpr: what the estimate is held against.

    Source: ProBE, Algorithms 2 to 4 and equations (22) and (23). ProBE reruns with fresh noise and
    half of beta for each phase; the same halves on one gradual release would miss too often.
    """

    condition: Condition
    plan: Plan
    scales: tuple[Scale, ...]
    max_fpr: Fraction

    @classmethod
    def planned(cls, condition: Condition, aim: Aim) -> Probe:
        """Share the rates out for both phases and find every channel's levels and boundaries.

        Args:
            condition: when a cell should ring.
            aim: what the analyst asked for, ``first_tolerances`` included.

        Raises:
            ConfigError: an aim that cannot be kept, is met by guessing, or spans too many steps; no
                first tolerances.
            ValueError: not one first tolerance per atom.
        """
        build = _fresh if aim.refine == "fresh" else _gradual
        layouts = _layouts(condition, aim)
        scales = tuple(map(build, layouts))
        return cls(
            condition=condition,
            plan=_plan(condition, aim, layouts),
            scales=scales,
            max_fpr=aim.max_fnr if aim.max_fpr is None else aim.max_fpr,
        )

    @classmethod
    def priced(cls, condition: Condition, aim: Aim) -> Plan:
        """Return the plan of :meth:`planned` without the boundaries.

        Args:
            condition: when a cell should ring.
            aim: what the analyst asked for, ``first_tolerances`` included.

        Raises:
            ConfigError: as :meth:`planned`.
            ValueError: as :meth:`planned`.
        """
        return _plan(condition, aim, _layouts(condition, aim))

    def decide(self, statistics: NDArray[np.int64], noise: NoiseSource) -> Decision:
        """Decide every cell of one window.

        Args:
            statistics: shape (statistics, cells), int64.
            noise: the cryptographic source.

        Returns:
            Shape (cells,) decisions and what each cell has paid over all channels.

        Raises:
            ValueError: statistics of another shape or type.
        """
        walk = Walk(self.condition, self.scales, statistics, noise)
        order = sorted(range(len(self.scales)), key=lambda at: self.scales[at].charges[-1])
        for at in order:
            if walk.needed(at).size:
                walk.read(at, 0)
        for at in order:
            while walk.needed(at).size and (level := self.refined(walk, at)) > walk.level(at):
                walk.read(at, level)
                if self.scales[at].chain is None:  # a third look would need a third of the rates
                    break
        return walk.decision()

    def refined(self, walk: Walk, at: int) -> int:
        """Return the coarsest level at which no literal's estimate of false alarms is too high.

        The present level, if that is so already; the last one if it is so nowhere.

        Args:
            walk: what has been read so far.
            at: a channel that was read.
        """
        readings = range(len(self.scales[at].share.readings))
        return max(self._refined_for(walk, at, literal) for literal in readings)

    def _refined_for(self, walk: Walk, at: int, literal: int) -> int:
        """Search one literal's level: ProBE, Algorithm 3 lines 4 to 8, and Algorithm 4.

        False alarms are at most the open cells and a part alpha of those decided true (equation
        22), negatives at least ``(false - beta read) / (1 - beta)`` (equation 23).
        """
        scale, level = self.scales[at], walk.level(at)
        reading = scale.share.readings[literal]
        waiting = walk.open_cells(at, literal)
        if not waiting:
            return level
        read, true, false = walk.tally(at, literal)
        alpha, beta = float(reading.alpha), float(reading.beta)
        negatives = max(0.0, (false - beta * read) / (1 - beta))
        allowed = float(self.max_fpr) / len(self.condition.formula.literals) * negatives
        allowed -= alpha * true
        if waiting <= allowed:
            return level
        for candidate in range(level + 1, scale.last):
            if walk.likely_open(at, literal, candidate) <= allowed:
                return candidate
        return scale.last


@dataclass(frozen=True, slots=True, eq=False)
class _Layout:
    """A channel's levels before its boundaries are computed.

    Args:
        first: its apportionment at the first tolerances.
        share: its apportionment at the aim's.
        units: rate of every level, strictly rising.
        cuts: per literal, that of the last level.
        fresh: whether phase two has noise of its own.
    """

    first: Share
    share: Share
    units: tuple[int, ...]
    cuts: tuple[Cut, ...]
    fresh: bool

    @property
    def charges(self) -> tuple[int, ...]:
        """What a cell has lost at every level."""
        if not self.fresh:
            return self.units
        return (self.units[0], *(self.units[0] + units for units in self.units[1:]))


def _layouts(condition: Condition, aim: Aim) -> tuple[_Layout, ...]:
    if not aim.first_tolerances:
        raise ConfigError(
            "probe needs the tolerance of its first phase for every comparison",
            hint="declare the range of every aggregate, or write mechanism: probe-ent",
        )
    if len(aim.first_tolerances) != len(aim.tolerances):
        raise ValueError("an aim has one first tolerance for each atom of the formula")
    fresh = aim.refine == "fresh"
    if fresh:
        max_fpr = None if aim.max_fpr is None else aim.max_fpr / 2
        aim = replace(aim, max_fnr=aim.max_fnr / 2, max_fpr=max_fpr)
    part = Fraction(1) if fresh else Grid(rounds=_ROUNDS).shape[-1]
    # Wider than what is planned for would be cheaper still: the first phase need not be that cheap.
    widest = (
        (MOST_STEPS * condition.sensitivity_of(name) - 1) // 2 for name in condition.formula.atoms
    )
    first_tolerances = tuple(map(min, aim.first_tolerances, widest))
    firsts = apportioned(condition, aim.widened(first_tolerances))
    shares = apportioned(condition, aim, part)
    return tuple(_layout(*both, part, fresh=fresh) for both in zip(firsts, shares, strict=True))


def _layout(first: Share, share: Share, part: Fraction, *, fresh: bool) -> _Layout:
    alone, cuts = least_common_rate(share.readings)
    if first.units >= alone:  # the first tolerance is none too wide: one phase, which decides
        return _Layout(first, share, (alone,), cuts, fresh)
    last, cuts = least_common_rate(share.readings, part)
    growth = last / first.units
    inner = {round(first.units * growth ** (j / (_ROUNDS - 1))) for j in range(1, _ROUNDS - 1)}
    between = sorted(level for level in inner if first.units < level < last)
    return _Layout(first, share, (first.units, *between, last), cuts, fresh)


def _gradual(layout: _Layout) -> Scale:
    shape = Grid(rounds=len(layout.units)).shape
    return Scale.gradual(layout.share, layout.units, shape, layout.cuts)


def _fresh(layout: _Layout) -> Scale:
    rates = [from_loss_units(units) for units in layout.units]

    def rungs(first: Reading, reading: Reading, cut: Cut) -> Rungs:
        low, high = [], []
        for number, rate in enumerate(rates[:-1]):
            each = reading if number else first
            low.append(_shift(rate, each.beta))
            high.append(_shift(rate, each.alpha) + 1 - reading.steps)
        low.append(cut.shift)
        high.append(1 - cut.shift)
        return Rungs(tuple(low), tuple(high), int(cut.drop * _COIN))

    every = zip(layout.first.readings, layout.share.readings, layout.cuts, strict=True)
    return Scale(
        share=layout.share,
        units=layout.units,
        charges=layout.charges,
        rungs=tuple(rungs(*each) for each in every),
        chain=None,
    )


def _shift(rate: Fraction, bound: Fraction) -> int:
    """Return the least shift that noise of one level passes with probability at most ``bound``."""
    return boundaries((rate,), bound, shape=_SINGLE).shifts[0]


def _plan(condition: Condition, aim: Aim, layouts: tuple[_Layout, ...]) -> Plan:
    return Plan(
        mechanism="probe",
        epsilon=from_loss_units(sum(layout.charges[-1] for layout in layouts)),
        limit=formula_limit(condition, aim),
    )
