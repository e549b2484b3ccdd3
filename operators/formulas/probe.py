"""ProBE: a coarse look at every condition, then a closer one where too many would ring falsely.

The first phase reads every channel at the rate of a wide tolerance. From its noisy values the
number of false alarms is estimated; channels that exceed their allowance are read once more, at the
coarsest level whose estimate keeps it, in the cells whose answer is still open. The proof is in
``docs/research/proofs/probe.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import numpy as np

from accountant.arguments import EXACT, expect, or_none
from accountant.errors import ArgumentError, ConfigError
from accountant.units import from_loss_units
from operators.base import Plan, Promise
from operators.descriptors import WINDOW_KEYS, Maker, Mechanism, check_asked
from operators.formulas.batched import Walks
from operators.formulas.chances import walk_chances
from operators.formulas.literals import apportioned, least_common_rate
from operators.formulas.treewalk import Rungs, Scale
from operators.noise.boundaries import boundaries
from operators.noise.source import SOURCE
from operators.single.adapter import check_statistics, least_loss
from operators.single.converted import converted
from operators.single.tslm import MOST_STEPS, error_rates

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from operators.base import Decision
    from operators.conditions.condition import Aim, Condition
    from operators.formulas.literals import Reading, Share
    from operators.noise.boundaries import Cut
    from operators.noise.source import NoiseSource
    from operators.single.batched import Decisions

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
    counts as true. Both phases read one gradual release; a cell that is refined has paid for its
    last level only. The boundaries hold over the whole grid at once, so phase two goes on where its
    estimate, made again from what it read, is still too high.

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
    half of beta for each phase (``planned(fresh=Fraction(1, 2))``); the same halves on one gradual
    release would miss too often.
    """

    condition: Condition
    plan: Plan
    scales: tuple[Scale, ...]
    max_fpr: Fraction

    @classmethod
    def planned(cls, condition: Condition, aim: Aim, *, fresh: Fraction | None = None) -> Probe:
        """Share the rates out for both phases and find every channel's levels and boundaries.

        Args:
            condition: when a cell should ring.
            aim: what the analyst asked for, ``first_tolerances`` included.
            fresh: as the paper has it, each phase has noise of its own, the first one this part of
                both rates, in (0, 1), and a cell that is refined pays for both. By default both
                phases read one gradual release.

        Raises:
            ConfigError: an aim that cannot be kept, is met by guessing, or spans too many steps; no
                first tolerances.
            ValueError: not one first tolerance per atom; a part outside (0, 1).
        """
        check_asked(condition, aim)
        expect(or_none(EXACT), fresh=fresh)
        if fresh is not None and not 0 < fresh < 1:
            raise ArgumentError(
                "the first phase has a part of the rates between 0 and 1, both left out",
                hint="write fresh=Fraction(1, 2)",
            )
        layouts = _layouts(condition, aim, fresh)
        return cls(
            condition=condition,
            plan=_plan(condition, aim, layouts),
            scales=tuple(_gradual(each) if fresh is None else _fresh(each) for each in layouts),
            max_fpr=aim.max_fnr if aim.max_fpr is None else aim.max_fpr,
        )

    @classmethod
    def priced(cls, condition: Condition, aim: Aim) -> Plan:
        """Return the plan of :meth:`planned` without the boundaries."""
        check_asked(condition, aim)
        return _plan(condition, aim, _layouts(condition, aim, None))

    def decide(self, statistics: NDArray[np.int64], noise: NoiseSource) -> Decision:
        """Decide every cell of one window; see :meth:`operators.base.Operator.decide`."""
        expect(SOURCE, noise=noise)
        check_statistics(self.condition, statistics)
        return self.decide_many(statistics[np.newaxis], noise).only

    def decide_many(self, statistics: NDArray[np.int64], noise: NoiseSource) -> Decisions:
        """Decide many windows; see :class:`operators.single.batched.DecidesMany`."""
        walks = Walks(self.condition, self.scales, statistics, noise)
        order = sorted(range(len(self.scales)), key=lambda at: self.scales[at].charges[-1])
        for at in order:
            if (waiting := walks.waiting(at)).size:
                walks.read(at, 0, waiting)
        for at in order:
            going = walks.waiting(at)
            while going.size:
                wanted = self.refined(walks, at, going)
                finer = wanted > walks.levels(at)[going]
                going, wanted = going[finer], wanted[finer]
                for level in np.unique(wanted).tolist():
                    walks.read(at, level, going[wanted == level])
                if self.scales[at].chain is None:  # a third look would need a third of the rates
                    break
                going = going[walks.needed(at, going).any(axis=1)]
        return walks.decisions()

    def chances(self, cell: int, statistics: NDArray[np.int64]) -> NDArray[np.float64] | None:
        """Return the law of one cell; see :meth:`operators.base.Operator.chances`.

        A cell alone in its window goes on to the last level at once: no number of false alarms is
        allowed where no negative was seen.
        """
        levels = tuple(dict.fromkeys((0, self.scales[0].last)))
        return walk_chances(self.condition.formula, self.scales, cell, statistics, levels)

    def refined(self, walks: Walks, at: int, windows: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the coarsest level at which no literal's estimate of false alarms is too high.

        The present level, if that is so already; the last one if it is so nowhere.

        Args:
            walks: what has been read so far.
            at: a channel that was read.
            windows: which; shape (windows,), as the answer.
        """
        found = walks.levels(at)[windows]
        for level in np.unique(found).tolist():
            alike = np.flatnonzero(walks.levels(at)[windows] == level)
            for literal in range(len(self.scales[at].rungs)):
                refined = self._refined_for(walks, at, literal, windows[alike])
                found[alike] = np.maximum(found[alike], refined)
        return found

    def _refined_for(
        self, walks: Walks, at: int, literal: int, windows: NDArray[np.intp]
    ) -> NDArray[np.intp]:
        """Search one literal's level: ProBE, Algorithm 3 lines 4 to 8, and Algorithm 4.

        False alarms are at most the open cells and a part alpha of those decided true (equation
        22), negatives at least ``(false - beta read) / (1 - beta)`` (equation 23).
        """
        scale, level = self.scales[at], int(walks.levels(at)[windows[0]])
        alpha, beta = float(scale.first[literal].alpha), float(scale.first[literal].beta)
        read, true, false = walks.tally(at, literal, windows)
        negatives = np.maximum(0.0, (false - beta * read) / (1 - beta))
        share = float(self.max_fpr) / len(self.condition.formula.literals)
        allowed = share * negatives - alpha * true
        waiting = walks.open_cells(at, literal, windows)
        found = np.where((waiting == 0) | (waiting <= allowed), level, scale.last)
        left = np.flatnonzero(found == scale.last)
        for candidate in range(level + 1, scale.last):
            kept = walks.likely_open(at, literal, candidate, windows[left]) <= allowed[left]
            found[left[kept]] = candidate
            left = left[~kept]
        return found


@dataclass(frozen=True, slots=True, eq=False)
class _Layout:
    """A channel's levels before its boundaries are computed.

    Args:
        first: its literals with what the first look may err.
        share: the same for the last look (or, on a gradual release, for all looks together).
        units: rate of every level, strictly rising.
        cuts: per literal, that of the last level.
        charges: what a cell has lost at every level.
    """

    first: tuple[Reading, ...]
    share: Share
    units: tuple[int, ...]
    cuts: tuple[Cut, ...]
    charges: tuple[int, ...]


def _layouts(condition: Condition, aim: Aim, fresh: Fraction | None) -> tuple[_Layout, ...]:
    """Plan the levels of every channel."""
    if not aim.first_tolerances:
        raise ConfigError(
            "mechanism probe needs a first tolerance for every comparison",
            hint="declare a clip for every field, or write mechanism: probe-ent",
        )
    if len(aim.first_tolerances) != len(aim.tolerances):
        raise ArgumentError("an aim has one first tolerance for each atom of the formula")
    error_rates(Promise(aim.max_fnr, min(aim.first_tolerances), aim.max_fpr))
    wide = _looked_at_twice(condition, aim)
    tolerances = zip(condition.formula.atoms, aim.tolerances, strict=True)
    wider = aim.widened(tuple(wide.get(name, own) for name, own in tolerances))
    every = zip(apportioned(condition, wider), apportioned(condition, aim), strict=True)
    return tuple(
        _two_phases(first, share, fresh)
        if share.channel.name in wide
        # With noise of their own, the one look may err as often as both.
        else _one_phase(first.mixed(share, fresh) if fresh and wide else share)
        for first, share in every
    )


def _looked_at_twice(condition: Condition, aim: Aim) -> dict[str, int]:
    """Return the first tolerance of every atom whose channel has two phases.

    Public numbers alone decide. A first look that serves all its literals at little less than the
    last one's rate would settle little for nearly its price.
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


def _one_phase(share: Share) -> _Layout:
    units, cuts = least_common_rate(share.readings)
    return _Layout(share.readings, share, (units,), cuts, (units,))


def _two_phases(first: Share, share: Share, fresh: Fraction | None) -> _Layout:
    """Plan a channel's levels from what suffices for the first look to what the last one needs."""
    part = _shape(_ROUNDS)[-1] if fresh is None else 1 - fresh
    last, cuts = least_common_rate(share.readings, part)
    widest = max(each.least_loss(fresh or Fraction(1)) for each in first.readings)
    coarse = min(widest, max(1, last // _WIDER))
    growth = last / coarse
    inner = {round(coarse * growth ** (j / (_ROUNDS - 1))) for j in range(1, _ROUNDS - 1)}
    units = tuple(sorted({coarse, *inner, last}))
    if fresh is None:
        return _Layout(share.readings, share, units, cuts, units)
    charges = (units[0], *(units[0] + later for later in units[1:]))
    return _Layout(first.of(fresh).readings, share.of(part), units, cuts, charges)


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
    proof="probe",
    decides="a noise for every comparison, to compare with the paper",
    pays="every comparison",
    keys=WINDOW_KEYS,
    conditions=_FORMULA,
    converted=converted(_FORMULA, least_loss),
    first_phase=True,
    collective=True,
    colours=("#a21caf", "#e27bec"),
)
