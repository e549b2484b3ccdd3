"""How wide a band is: so many units of the aggregate, or a share of every cell's reference.

References are public, and so is whatever is computed from them alone: a band that widens with its
reference leaks no more than one that does not (``docs/research/proofs/deciders.md``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from accountant.arguments import EXACT, INTEGERS, WHOLE, expect
from accountant.errors import ArgumentError

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray

__all__ = ["HalfWidth", "Relative", "fixed_width", "half_widths"]

_FINEST_SHARE: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Relative:
    """A half-width that is a share of the reference's magnitude, cell by cell.

    ``|x - r| < share |r|`` and ``|x - r| < ceil(share |r|)`` say the same of whole numbers; of a
    mean, which need not be one, the band is wider by less than a unit at each end. Where the
    reference is 0 the half-width is one unit: an aggregate that meets it is within.

    Args:
        share: in (0, 1], with a denominator of at most 1,000,000.

    Source: DP-PQD, sections 3 and 7.1, where the interval is (1 -+ tau) times the reference.
    """

    share: Fraction

    def __post_init__(self) -> None:
        """Check the share."""
        expect(EXACT, share=self.share)
        if not 0 < self.share <= 1 or self.share.denominator > _FINEST_SHARE:
            raise ArgumentError(
                "a half-width is more than 0 and at most all of its reference, in steps of"
                " 1/1,000,000 at the finest",
                hint="write Fraction(1, 20) for five per cent",
            )

    def of(self, references: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the half-width of every cell, in units of the aggregate.

        Args:
            references: shape (cells,), int64, less than 2^60 from zero.

        Returns:
            Shape (cells,), int64, at least 1.
        """
        expect(INTEGERS, references=references)
        a, b = self.share.numerator, self.share.denominator
        whole, rest = np.divmod(np.abs(references), b)
        found: NDArray[np.int64] = np.maximum(whole * a - (-rest * a) // b, 1)
        return found

    def reached_from(self, half_width: int) -> int:
        """Return the least reference, in magnitude, whose half-width is so many units or more.

        Args:
            half_width: in units of the aggregate.
        """
        if half_width <= 1:
            return 0
        return int((half_width - 1) / self.share) + 1


HalfWidth: TypeAlias = int | Relative
"""tau: so many units of the aggregate, at least 1, or a share of the reference."""


def half_widths(tau: HalfWidth, references: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the half-width of every cell's band, shape (cells,), in units of the aggregate.

    Args:
        tau: of the bands.
        references: shape (cells,), int64, less than 2^60 from zero.
    """
    if isinstance(tau, Relative):
        return tau.of(references)
    expect(WHOLE, tau=tau)
    expect(INTEGERS, references=references)
    return np.full(references.shape, tau, dtype=np.int64)


def fixed_width(tau: HalfWidth, of_cell: int | None) -> int:
    """Return a band's half-width, in units of the aggregate.

    Args:
        tau: of the bands.
        of_cell: of this one; needed where tau is a share of its reference.

    Raises:
        ValueError: it is not known.
    """
    if of_cell is not None:
        return of_cell
    if isinstance(tau, Relative):
        raise ArgumentError(
            "this half-width is a share of the reference, cell by cell",
            hint="give the cell's own: tau=half_widths(decider.tau, references)[cell]",
        )
    return tau
