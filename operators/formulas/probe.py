"""ProBE: a coarse look at every condition, then a closer one where too many would ring falsely.

The first phase reads every channel at the rate of a wide tolerance. From its noisy values the
number of false alarms is estimated; channels that exceed their allowance are read once more, at the
coarsest level whose estimate keeps it, in the cells whose answer is still open. The proof is in
``docs/proofs/probe.md``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Final, get_args

import numpy as np

from accountant.arguments import expect, instance_of
from accountant.errors import ArgumentError, ConfigError
from accountant.units import from_loss_units
from operators.base import Plan, Promise
from operators.conditions.condition import Aim, Condition, Rule
from operators.descriptors import WINDOW_KEYS, Maker, Mechanism
from operators.formulas.abreast import Walks, refined_levels
from operators.formulas.chances import walk_chances
from operators.formulas.literals import apportioned, least_common_rate
from operators.formulas.treewalk import Rungs, Scale, Walk
from operators.noise.boundaries import boundaries
from operators.noise.source import SOURCE
from operators.single.abreast import Decisions
from operators.single.adapter import check_statistics, least_loss
from operators.single.converted import converted
from operators.single.tslm import MOST_STEPS, error_rates

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from operators.base import Decision
    from operators.formulas.literals import Reading, Share
    from operators.noise.boundaries import Cut
    from operators.noise.source import NoiseSource

__all__ = ["PROBE", "Probe"]

_ROUNDS: Final = 4  # levels from that of the first tolerance to the last, both included
_WIDER: Final = 2  # a first look spans at least so many times the steps of the last
_FIRST_SHARE: Final = Fraction(2, 5)  # of both error bounds
_LAST_SHARE: Final = Fraction(2, 5)
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
    - ``refine: fresh``: each phase has noise of its own and a part of both rates, the first one
      ``first_share`` of them; a cell that is refined pays for both levels.

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
        plan: worst-case loss; its limit is that of the condition's score.
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
        expect(instance_of(Condition), condition=condition)
        expect(instance_of(Aim), aim=aim)
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
        """Return the plan of :meth:`planned` without the boundaries."""
        expect(instance_of(Condition), condition=condition)
        expect(instance_of(Aim), aim=aim)
        return _plan(condition, aim, _layouts(condition, aim))

    def decide(self, statistics: NDArray[np.int64], noise: NoiseSource) -> Decision:
        """Decide every cell of one window; see :meth:`operators.base.Operator.decide`."""
        expect(SOURCE, noise=noise)
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

    def decide_many(self, statistics: NDArray[np.int64], noise: NoiseSource) -> Decisions:
        """Decide many windows; see :class:`operators.single.abreast.DecidesMany`.

        One by one where every level has noise of its own, which is for comparison only.
        """
        if any(scale.chain is None for scale in self.scales):
            return Decisions.of((self.decide(each, noise) for each in statistics), len(statistics))
        check_statistics(self.condition, statistics[0])
        walks = Walks(self.condition, self.scales, statistics, noise)
        order = sorted(range(len(self.scales)), key=lambda at: self.scales[at].charges[-1])
        for at in order:
            if (waiting := np.flatnonzero(walks.waiting(at))).size:
                walks.read(at, 0, waiting)
        for at in order:
            going = np.flatnonzero(walks.waiting(at))
            while going.size:
                wanted = refined_levels(walks, at, going, self._allowed)
                finer = wanted > walks.levels(at)[going]
                going, wanted = going[finer], wanted[finer]
                for level in np.unique(wanted).tolist():
                    walks.read(at, level, going[wanted == level])
                going = going[walks.needed(at, going).any(axis=1)]
        return walks.decisions()

    def chances(self, cell: int, statistics: NDArray[np.int64]) -> NDArray[np.float64] | None:
        """Return the law of one cell; see :meth:`operators.base.Operator.chances`.

        A cell alone in its window goes on to the last level at once: no number of false alarms is
        allowed where no negative was seen.
        """
        levels = tuple(dict.fromkeys((0, self.scales[0].last)))
        return walk_chances(self.condition.formula, self.scales, cell, statistics, levels)

    def refined(self, walk: Walk, at: int) -> int:
        """Return the coarsest level at which no literal's estimate of false alarms is too high.

        The present level, if that is so already; the last one if it is so nowhere.

        Args:
            walk: what has been read so far.
            at: a channel that was read.
        """
        readings = range(len(self.scales[at].share.readings))
        return max(self._refined_for(walk, at, literal) for literal in readings)

    def _allowed(
        self,
        rates: Reading,
        read: NDArray[np.int64],
        true: NDArray[np.int64],
        false: NDArray[np.int64],
    ) -> NDArray[np.float64]:
        """Return how many cells may stay open by the estimates of equations (22) and (23).

        Args:
            rates: what the first look at the literal may err.
            read: cells in which it was read.
            true: those decided true.
            false: those decided false.
        """
        alpha, beta = float(rates.alpha), float(rates.beta)
        negatives = np.maximum(0.0, (false - beta * read) / (1 - beta))
        share = float(self.max_fpr) / len(self.condition.formula.literals)
        return np.asarray(share * negatives - alpha * true)

    def _refined_for(self, walk: Walk, at: int, literal: int) -> int:
        """Search one literal's level: ProBE, Algorithm 3 lines 4 to 8, and Algorithm 4.

        False alarms are at most the open cells and a part alpha of those decided true (equation
        22), negatives at least ``(false - beta read) / (1 - beta)`` (equation 23).
        """
        scale, level = self.scales[at], walk.level(at)
        waiting = walk.open_cells(at, literal)
        if not waiting:
            return level
        allowed = self._allowed(scale.first[literal], *map(np.asarray, walk.tally(at, literal)))
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
        first: its literals with what the first look may err.
        share: the same for the last look (or, on a gradual release, for all looks together).
        units: rate of every level, strictly rising.
        cuts: per literal, that of the last level.
        fresh: whether phase two has noise of its own.
    """

    first: tuple[Reading, ...]
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
    """Plan the levels of every channel; for ``optimal``, those of the least worst case."""
    if not aim.first_tolerances:
        raise ConfigError(
            "probe needs the tolerance of its first phase for every comparison",
            hint="declare the range of every aggregate, or write mechanism: probe-ent",
        )
    if len(aim.first_tolerances) != len(aim.tolerances):
        raise ArgumentError("an aim has one first tolerance for each atom of the formula")
    error_rates(Promise(aim.max_fnr, min(aim.first_tolerances), aim.max_fpr))
    fresh = aim.refine == "fresh"
    wide = _looked_at_twice(condition, aim)
    if not wide:
        return tuple(_one_phase(share, fresh=fresh) for share in apportioned(condition, aim))
    # The rule that minimises the sum of one phase need not minimise that of two.
    rules = get_args(Rule) if aim.apportion == "optimal" else (aim.apportion,)
    every = [_two_phases(condition, replace(aim, apportion=rule), wide) for rule in rules]
    return min(every, key=lambda layouts: sum(layout.charges[-1] for layout in layouts))


def _looked_at_twice(condition: Condition, aim: Aim) -> dict[str, int]:
    """Return the first tolerance of every atom whose channel has two phases.

    Public numbers alone decide: the same channels for every rule. A first look that serves all its
    literals at little less than the last one's rate would settle little for nearly its price.
    """
    tolerances = dict(zip(condition.formula.atoms, aim.tolerances, strict=True))
    firsts = dict(zip(condition.formula.atoms, aim.first_tolerances, strict=True))
    found = {}
    for channel in condition.channels:
        tests = {name: condition.test(name) for name in channel.offsets}
        wider = {}
        for name, test in tests.items():
            # Wider than what is planned for would be cheaper still: it need not be that cheap.
            widest = (MOST_STEPS * test.sensitivity - 1) // 2
            wider[name] = max(tolerances[name], min(firsts[name], widest))
        least = min(test.steps(tolerances[name]) for name, test in tests.items())
        if min(test.steps(wider[name]) for name, test in tests.items()) >= _WIDER * least:
            found.update(wider)
    return found


def _two_phases(condition: Condition, aim: Aim, wide: Mapping[str, int]) -> tuple[_Layout, ...]:
    """Apportion both phases by one rule and plan every channel's levels."""
    fresh = aim.refine == "fresh"
    tolerances = zip(condition.formula.atoms, aim.tolerances, strict=True)
    first_aim = aim.widened(tuple(wide.get(name, own) for name, own in tolerances))
    split = (aim.first_share, 1 - aim.first_share)
    parts = split if fresh else (Fraction(1), _shape(_ROUNDS)[-1])
    layouts = []
    for first, share in zip(
        apportioned(condition, first_aim, parts[0]),
        apportioned(condition, aim, parts[1]),
        strict=True,
    ):
        if fresh:
            first, share = first.of(split[0]), share.of(split[1])  # noqa: PLW2901  # each its part
        if share.channel.name in wide:
            layouts.append(_levels(first, share, fresh=fresh))
        else:  # the one look may err as often as both
            layouts.append(_one_phase(share.joined(first) if fresh else share, fresh=fresh))
    return tuple(layouts)


def _one_phase(share: Share, *, fresh: bool) -> _Layout:
    units, cuts = least_common_rate(share.readings)
    return _Layout(share.readings, share, (units,), cuts, fresh)


def _levels(first: Share, share: Share, *, fresh: bool) -> _Layout:
    last, cuts = least_common_rate(share.readings, _SINGLE[0] if fresh else _shape(_ROUNDS)[-1])
    coarse = min(first.units, max(1, last // _WIDER))
    growth = last / coarse
    inner = {round(coarse * growth ** (j / (_ROUNDS - 1))) for j in range(1, _ROUNDS - 1)}
    units = tuple(sorted({coarse, *inner, last}))
    return _Layout(share.readings if not fresh else first.readings, share, units, cuts, fresh)


def _shape(levels: int) -> tuple[Fraction, ...]:
    """Return the levels' weights in both error bounds: of those in between few are ever read."""
    if levels == 1:
        return _SINGLE
    between = levels - 2
    rest = 1 - _FIRST_SHARE - _LAST_SHARE
    if not between:
        return (_FIRST_SHARE + rest, _LAST_SHARE)
    return (_FIRST_SHARE, *(rest / between for _ in range(between)), _LAST_SHARE)


def _gradual(layout: _Layout) -> Scale:
    shape = _shape(len(layout.units))
    return Scale.gradual(layout.share, layout.units, shape, layout.cuts)


def _fresh(layout: _Layout) -> Scale:
    rates = [from_loss_units(units) for units in layout.units]

    def rungs(first: Reading, reading: Reading, cut: Cut) -> Rungs:
        low, high = [], []
        for number, rate in enumerate(rates[:-1]):
            each = reading if number else first
            low.append(_shift(rate, each.beta))
            # A wide tolerance on a rate that serves a narrow one: the sides would overlap.
            high.append(max(_shift(rate, each.alpha) + 1 - reading.steps, 1 - low[-1]))
        low.append(cut.shift)
        high.append(1 - cut.shift)
        return Rungs(tuple(low), tuple(high), int(cut.drop * _COIN))

    every = zip(layout.first, layout.share.readings, layout.cuts, strict=True)
    return Scale(
        share=layout.share,
        units=layout.units,
        charges=layout.charges,
        rungs=tuple(rungs(*each) for each in every),
        chain=None,
        first=layout.first,
    )


def _shift(rate: Fraction, bound: Fraction) -> int:
    """Return the least shift that noise of one level passes with probability at most ``bound``."""
    return boundaries((rate,), bound, shape=_SINGLE).shifts[0]


def _plan(condition: Condition, aim: Aim, layouts: tuple[_Layout, ...]) -> Plan:
    return Plan(
        mechanism=PROBE.name,
        epsilon=from_loss_units(sum(layout.charges[-1] for layout in layouts)),
        limit=least_loss(condition, aim),
    )


_FORMULA: Final = Maker(Probe.planned, Probe.priced)

PROBE: Final = Mechanism(
    name="probe",
    releases="which predicates ring",
    keys=WINDOW_KEYS,
    conditions=_FORMULA,
    converted=converted(_FORMULA, least_loss),
    first_phase=True,
    collective=True,
    colours=("#a21caf", "#e27bec"),
)
