"""ProBE-Ent: DPPWLM's choice of levels on every channel of a formula.

Channels are read in turns, the one on which least has been paid first, and only in the cells whose
answer they can still change. The proof is in ``docs/research/proofs/probe.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from accountant.arguments import expect
from accountant.units import UNITS_PER_EPSILON, from_loss_units
from operators.base import Plan
from operators.descriptors import WINDOW_KEYS, Maker, Mechanism, check_asked
from operators.formulas.batched import Walks
from operators.formulas.chances import walk_chances
from operators.formulas.literals import apportioned, least_common_rate
from operators.formulas.treewalk import Scale
from operators.noise.source import SOURCE
from operators.single.adapter import check_statistics, least_loss
from operators.single.choosing import levels_of_most_entropy
from operators.single.converted import converted
from operators.single.ladder import Grid, level_definition

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from operators.base import Decision
    from operators.conditions.condition import Aim, Condition
    from operators.formulas.literals import Share
    from operators.noise.boundaries import Cut
    from operators.noise.source import NoiseSource
    from operators.single.batched import Decisions

    _Levels: TypeAlias = tuple[Share, tuple[int, ...], tuple[Cut, ...]]

__all__ = ["PROBE_ENT", "ProbeEnt"]

_REFINEMENT: Final = 3


@dataclass(frozen=True, slots=True, eq=False)
class ProbeEnt:
    """Refine every channel's noise level by level, where its literals still matter.

    Guarantee: per cell and for every transcript, neighbouring statistics (each at most its
    sensitivity apart, all of them at once) have probabilities within a factor exp(cost of that
    cell), its cost being the sum over the channels of the last level read there (nothing for a
    channel that was never read); at worst ``plan.epsilon``. A cell whose condition is true is
    missed with probability at most ``max_fnr``; with ``max_fpr``, one whose condition is false with
    every literal granted its tolerance rings with probability at most that. Both refer to the
    bounded statistics of a decided window.

    The realised cost depends on the data: it is for the ledger, not for the analyst.

    Args:
        condition: when a cell should ring.
        plan: worst-case loss; its limit is that of the condition's score.
        scales: levels and boundaries, one per channel.

    Source: ProBE, Algorithm 5 (appendix C) over MIDE, Algorithms 3 and 4. What a channel leaves of
    max_fnr is not handed on to the next: the boundaries bound every level at once, so a channel
    that stops early leaves nothing over that does not depend on its noise. The first level is
    MIDE's, not that of ProBE's u_0, and the last one keeps ``max_fpr`` without an estimate.
    """

    condition: Condition
    plan: Plan
    scales: tuple[Scale, ...]

    @classmethod
    def planned(cls, condition: Condition, aim: Aim, *, grid: Grid | None = None) -> ProbeEnt:
        """Share the rates out and find the levels and boundaries of every channel.

        Args:
            condition: when a cell should ring.
            aim: what the analyst asked for.
            grid: levels; by default the aim's: unless written, MIDE's four, every interval between
                them in three parts.

        Raises:
            ConfigError: an aim that cannot be kept, is met by guessing, or spans too many steps.
        """
        check_asked(condition, aim)
        grid = grid or Grid.asked(aim.levels, _REFINEMENT)
        levels = _levels(condition, aim, grid)
        scales = tuple(
            Scale.gradual(share, units, grid.shape, cuts) for share, units, cuts in levels
        )
        return cls(condition, _plan(condition, aim, levels), scales)

    @classmethod
    def priced(cls, condition: Condition, aim: Aim) -> Plan:
        """Return the plan of :meth:`planned` without the boundaries."""
        check_asked(condition, aim)
        return _plan(condition, aim, _levels(condition, aim, Grid.asked(aim.levels, _REFINEMENT)))

    def decide(self, statistics: NDArray[np.int64], noise: NoiseSource) -> Decision:
        """Decide every cell of one window; see :meth:`operators.base.Operator.decide`."""
        expect(SOURCE, noise=noise)
        check_statistics(self.condition, statistics)
        return self.decide_many(statistics[np.newaxis], noise).only

    def chances(self, cell: int, statistics: NDArray[np.int64]) -> NDArray[np.float64] | None:
        """Return the law of one cell; see :meth:`operators.base.Operator.chances`.

        A cell alone in its window reads every level, as with
        :meth:`operators.single.progressive.Ppwlm.chances`.
        """
        return walk_chances(self.condition.formula, self.scales, cell, statistics)

    def decide_many(self, statistics: NDArray[np.int64], noise: NoiseSource) -> Decisions:
        """Decide many windows; see :class:`operators.single.batched.DecidesMany`.

        The coarsest level that any window reads next is read first: most others come to read it,
        too, and then go on together.
        """
        walks = Walks(self.condition, self.scales, statistics, noise)
        channels = np.full(len(statistics), -1, dtype=np.intp)
        levels = np.zeros(len(statistics), dtype=np.intp)
        self._choose(walks, np.arange(len(statistics)), channels, levels)
        while (waiting := np.flatnonzero(channels >= 0)).size:
            first = waiting[levels[waiting].argmin()]
            alike = np.flatnonzero((channels == channels[first]) & (levels == levels[first]))
            walks.read(int(channels[first]), int(levels[first]), alike)
            self._choose(walks, alike, channels, levels)
        return walks.decisions()

    def _choose(
        self,
        walks: Walks,
        windows: NDArray[np.intp],
        channels: NDArray[np.intp],
        levels: NDArray[np.intp],
    ) -> None:
        """Write down which channel some windows read next (-1: none) and at which level."""
        channels[windows] = -1
        dearest = [scale.charges[-1] for scale in self.scales]
        most = np.iinfo(np.int64).max
        paid = np.full(len(windows), most, dtype=np.int64)
        # Least paid, then least to pay at worst, then first: the first of these that pays less.
        for at in sorted(range(len(self.scales)), key=dearest.__getitem__):
            charges = np.array((*self.scales[at].charges, 0), dtype=np.int64)
            own = charges[walks.levels(at)[windows]]
            own[~walks.needed(at, windows).any(axis=1)] = most
            better = own < paid
            channels[windows[better]] = at
            paid = np.minimum(own, paid)
        for at in range(len(self.scales)):
            chosen = windows[channels[windows] == at]
            present = walks.levels(at)[chosen]
            for level in np.unique(present).tolist():
                alike = chosen[present == level]
                levels[alike] = 0 if level < 0 else self.following(walks, at, level, alike)

    def following(
        self, walks: Walks, at: int, level: int, windows: NDArray[np.intp]
    ) -> NDArray[np.intp]:
        """Return the next level to read: the largest expected min-entropy, the coarser on a tie.

        Args:
            walks: what has been read so far.
            at: a channel that was read and that some cell of every window needs.
            level: the last one read of it.
            windows: which, all at that level; shape (windows,), as the answer.
        """
        charges = self.scales[at].charges
        # First those cells that never read it, for nothing.
        epsilons = (0.0, *(units / UNITS_PER_EPSILON for units in charges))
        entries = range(level + 2, len(epsilons))
        likely = [walks.likely_undecided(at, entry - 1, windows) for entry in entries]
        chosen = levels_of_most_entropy(
            epsilons,
            walks.counts(at, windows),
            np.count_nonzero(walks.needed(at, windows), axis=1),
            entries,
            np.stack(likely, axis=1),
        )
        return chosen - 1


def _levels(condition: Condition, aim: Aim, grid: Grid) -> list[_Levels]:
    part = grid.shape[-1]
    found = []
    for share in apportioned(condition, aim):
        last, cuts = least_common_rate(share.readings, part)
        found.append((share, grid.units(last), cuts))
    return found


def _plan(condition: Condition, aim: Aim, levels: list[_Levels]) -> Plan:
    epsilon = from_loss_units(sum(units[-1] for _, units, _ in levels))
    return Plan(PROBE_ENT.name, epsilon, least_loss(condition, aim))


_FORMULA: Final = Maker(ProbeEnt.planned, ProbeEnt.priced)

PROBE_ENT: Final = Mechanism(
    name="probe-ent",
    releases="which predicates ring",
    proof="probe",
    decides="a noise for every comparison, to compare with the paper",
    pays="every comparison",
    keys=(*WINDOW_KEYS, "levels"),
    definition=level_definition,
    conditions=_FORMULA,
    converted=converted(_FORMULA, least_loss),
    first_phase=True,
    collective=True,
    colours=("#0e7490", "#4cc3dc"),
)
