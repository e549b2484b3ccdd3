"""PPWLM and DPPWLM: each cell pays for no more precision than its own decision needs.

All cells start at a rate that costs next to nothing. Whatever is far above or below its threshold
is decided there; the rest goes on to finer levels of the same noise, and a cell pays for the level
where it stopped (``operators.single.ladder``). The proof is in
``docs/research/proofs/progressive.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, Self

from accountant.arguments import expect
from accountant.costs.levels import LevelCosts
from accountant.units import from_loss_units
from operators.base import Decision, Plan, Promise
from operators.descriptors import WINDOW_KEYS, Mechanism
from operators.noise.source import SOURCE
from operators.single.adapter import least_loss, scored
from operators.single.batched import EachByItself
from operators.single.choosing import level_of_most_entropy, walk_by_entropy
from operators.single.converted import converted
from operators.single.ladder import Grid, Ladder, level_definition
from operators.single.tslm import room_of, theoretical_limit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from operators.conditions.atoms import IntegerTest
    from operators.noise.source import NoiseSource
    from operators.single.batched import Decisions

__all__ = ["DPPWLM", "PPWLM", "Dppwlm", "Ppwlm"]


@dataclass(frozen=True, slots=True, eq=False)
class Ppwlm(EachByItself):
    """Refine the noise level by level until a cell is decided; every level is read.

    Guarantee: per cell and for every transcript, neighbouring statistics (at most ``sensitivity``
    apart) have probabilities within a factor exp(cost of that cell), cost being that of the level
    where it stopped; at worst ``plan.epsilon``, the last level's. A cell whose test is true is
    missed with probability at most ``max_fnr``; one at ``s' <= -k`` fires with probability at most
    ``max_fpr``; both refer to the bounded statistic of a decided window.

    The realised cost depends on the data: it is for the ledger, not for the analyst.

    Args:
        test: the integer test.
        plan: worst-case loss and its limit (that of a single-level mechanism).
        ladder: levels and boundaries.

    Source: MIDE, Algorithm 2 and Theorem 9, with exact gradual release and boundaries on the grid
    in place of beta/m per step.
    """

    name: ClassVar[str] = "ppwlm"
    refinement: ClassVar[int] = 1

    test: IntegerTest
    plan: Plan
    ladder: Ladder

    @classmethod
    def planned(cls, test: IntegerTest, promise: Promise, *, grid: Grid | None = None) -> Self:
        """Find the levels and boundaries that keep the promise.

        Args:
            test: the integer test.
            promise: what the analyst asked for.
            grid: levels; by default MIDE's four, every interval between them in ``refinement``
                parts.

        Raises:
            ConfigError: a promise that cannot be kept, is met by guessing, or spans too many steps.
        """
        room = room_of(test, promise)
        ladder = Ladder.planned(*room, grid or Grid(refinement=cls.refinement))
        epsilon = from_loss_units(ladder.units[-1])
        plan = Plan(cls.name, epsilon, theoretical_limit(*room))
        return cls(test=test, plan=plan, ladder=ladder)

    def decide(self, statistics: NDArray[np.int64], noise: NoiseSource) -> Decision:
        """Decide every cell; see :meth:`operators.single.adapter.CellOperator.decide`."""
        expect(SOURCE, noise=noise)
        values, drops = self.ladder.noisy(self.test.quantise(statistics), noise)
        fired, stopped = self.ladder.walk(values, drops, self.following)
        return Decision(fired=fired, cost=LevelCosts(self.ladder.units, stopped))

    def chances(self, steps: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the law; see :meth:`operators.single.adapter.CellOperator.chances`.

        A cell alone in its window reads every level, whichever mechanism chooses: with one cell no
        level leaves more min-entropy than another, and the coarser one is taken.
        """
        return self.ladder.chances(steps)

    def following(self, level: int, _read: NDArray[np.int64], _counts: NDArray[np.int64]) -> int:
        """Return the next level to read: the one after ``level``."""
        return level + 1


@dataclass(frozen=True, slots=True, eq=False)
class Dppwlm(Ppwlm):
    """As PPWLM on a finer grid, skipping to the level whose expected costs leave most min-entropy.

    Guarantee: as ``Ppwlm``. Levels are chosen from noisy values only, and the boundaries hold for
    every choice, so nothing needs to be handed on between levels.

    Source: MIDE, Algorithms 3 and 4 and Theorem 10. The expected number still undecided uses the
    chain's own step where MIDE's equation (12) convolves as if the noise were fresh.
    """

    name: ClassVar[str] = "dppwlm"
    refinement: ClassVar[int] = 3

    def decide_many(self, statistics: NDArray[np.int64], noise: NoiseSource) -> Decisions:
        """Decide many windows; see :func:`operators.single.batched.walk_by_entropy`."""
        return walk_by_entropy(self.ladder, self.test, statistics, noise)

    def following(self, level: int, read: NDArray[np.int64], counts: NDArray[np.int64]) -> int:
        """Return the next level to read: the largest expected min-entropy, the coarser on a tie.

        Args:
            level: the level just read.
            read: its values for the cells still undecided, shape (cells,), at least one.
            counts: cells that have stopped at each level, shape (levels,).
        """
        return level_of_most_entropy(
            self.ladder.costs,
            counts,
            read.size,
            range(level + 1, len(self.ladder.units)),
            lambda candidate: self.ladder.likely_undecided(level, candidate, read),
        )


def _named(kind: type[Ppwlm], colours: tuple[str, str]) -> Mechanism:
    """Return a progressive mechanism as configurations name it, over the aim's levels."""
    maker = scored(kind.planned, more=lambda aim: {"grid": Grid.asked(aim.levels, kind.refinement)})
    return Mechanism(
        name=kind.name,
        releases="which predicates ring",
        proof="progressive",
        decides="each window by itself, through coarse noise first",
        pays="the worst case at first; groups far from the threshold give back",
        keys=(*WINDOW_KEYS, "levels", "hold"),
        conditions=maker,
        converted=converted(maker, least_loss),
        definition=level_definition,
        quantifies=True,
        collective=True,
        colours=colours,
    )


PPWLM: Final = _named(Ppwlm, ("#c2570c", "#fb9a55"))
DPPWLM: Final = _named(Dppwlm, ("#15803d", "#55c27d"))
