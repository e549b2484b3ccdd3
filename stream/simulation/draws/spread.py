"""How far runs spread a count: draws that share a noise are not independent of each other."""

from __future__ import annotations

from dataclasses import dataclass

from stream.simulation.draws.adding import Adding

__all__ = ["Spread"]


@dataclass(slots=True)
class Spread(Adding):
    """Sums over runs, each of which is independent of the others; spreads add up.

    Of run r, x is how often something happened in it and n how often it could have.

    Args:
        runs: in which it could have happened.
        squares: sum of x^2.
        products: sum of x n.
        sizes: sum of n^2.
    """

    runs: int = 0
    squares: int = 0
    products: int = 0
    sizes: int = 0

    def count(self, happened: int, of: int) -> None:
        """Count one run."""
        if of:
            self.add(Spread(1, happened * happened, happened * of, of * of))

    def shared(self, count: int, of: int) -> float:
        """Return by how much the draws count for less than independent ones: at least 1.

        The variance over runs of the mean, over what it would be if draws were independent. Where
        it never happened, or always, nothing is known: then a run counts as one draw.

        Args:
            count: sum of x.
            of: sum of n.
        """
        if self.runs < 2 or not 0 < count < of:
            return max(1.0, of / max(self.runs, 1))
        rate = count / of
        apart = self.squares - 2 * rate * self.products + rate * rate * self.sizes
        return max(1.0, apart * self.runs / (self.runs - 1) / (of * rate * (1 - rate)))
