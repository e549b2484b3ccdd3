"""Which noise levels a progressive mechanism may read, as far as the analyst says it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from accountant.arguments import EXACT, WHOLE, expect, or_none

if TYPE_CHECKING:
    from fractions import Fraction

__all__ = ["LevelGrid"]


@dataclass(frozen=True, slots=True)
class LevelGrid:
    """What is asked of the levels; what is ``None`` is left to the mechanism.

    Args:
        first: MIDE's epsilon_1, rate of the coarsest level.
        rounds: m, levels in geometric progression, the first and the last included.
        refinement: m_f, equal parts that every interval between two of them is cut into.
        finest_share: part of ``max_fnr`` and ``max_fpr`` that the last level may use.

    Source: MIDE, Algorithm 2 line 3 and Algorithm 4 lines 4 and 5.
    """

    first: Fraction | None = None
    rounds: int | None = None
    refinement: int | None = None
    finest_share: Fraction | None = None

    def __post_init__(self) -> None:
        """Check what the parts are; mechanisms say which levels they can make."""
        expect(or_none(EXACT), first=self.first, finest_share=self.finest_share)
        expect(or_none(WHOLE), rounds=self.rounds, refinement=self.refinement)

    @property
    def written(self) -> dict[str, int | Fraction]:
        """What is said, by name."""
        said = {
            "first": self.first,
            "rounds": self.rounds,
            "refinement": self.refinement,
            "finest_share": self.finest_share,
        }
        return {name: value for name, value in said.items() if value is not None}
