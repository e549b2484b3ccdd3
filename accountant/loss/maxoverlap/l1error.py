"""The noise that parallel composition saves, as the average l1 error of counts.

Source: Parallel Composition, section 3.3, Equation 7, and Table 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from accountant.arguments import NUMBER, expect, instance_of, one_of, or_none, several
from accountant.errors import ArgumentError
from accountant.loss.maxoverlap.solver import Overlap

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["L1Error", "average_l1_error"]

_MEANS: Final[Mapping[str, Callable[[float], float]]] = {
    "laplace": lambda epsilon: 1 / epsilon,
    "discrete laplace": lambda epsilon: 1 / math.sinh(epsilon),
    "gaussian": lambda mu: math.sqrt(2 / math.pi) / mu,
}
"""E|Y| of noise, by what a query loses."""


@dataclass(frozen=True, slots=True)
class L1Error:
    """Expected average l1 errors of all queries within one budget.

    Args:
        plain: as if all of them shared a row.
        parallel: by the bound of the worst row.
    """

    plain: float
    parallel: float

    @property
    def saved(self) -> float:
        """The share of the error that parallel composition saves."""
        return 1 - self.parallel / self.plain


def average_l1_error(
    overlap: Overlap,
    queries: int,
    budget: float,
    *,
    noise: str = "laplace",
    weights: Sequence[float] | None = None,
) -> L1Error:
    """Return the mean of E|noise| over queries of sensitivity 1, whose budgets are used up.

    The budget is shared in proportion to the weights, once by the plain composition of all and
    once by the overlap's bound. With Gaussian noise the errors are as the roots of sums of squares:
    there less is saved than the utility gain says.

    Args:
        overlap: of the queries with these weights: of "sum", or of "gdp" for Gaussian noise.
        queries: how many.
        budget: epsilon, or mu for Gaussian noise; above 0.
        noise: "laplace", "discrete laplace" or "gaussian".
        weights: of the queries, all above 0; 1 each if left out.

    Raises:
        ValueError: another number of weights, one that is not above 0, or a composition that is not
            that of the noise.
    """
    expect(instance_of(Overlap), overlap=overlap)
    expect(instance_of(int), queries=queries)
    expect(NUMBER, budget=budget)
    expect(one_of(*_MEANS), noise=noise)
    expect(or_none(several(NUMBER)), weights=weights)
    parts = [1.0] * queries if weights is None else [float(weight) for weight in weights]
    if not 0 < budget < math.inf or len(parts) != queries or not parts or not min(parts) > 0:
        raise ArgumentError(
            "a budget above 0 is shared by queries of weights above 0, one for each",
            hint="write average_l1_error(overlap, queries=9, budget=1, noise='gaussian')",
        )
    if overlap.power != (2 if noise == "gaussian" else 1) or not overlap.upper_bound:
        raise ArgumentError(
            "Gaussian noise goes with an overlap of 'gdp', and Laplace noise with one of 'sum'",
            hint="write maximum_overlap(regions, composition='gdp')",
        )
    mean = _MEANS[noise]
    plain, parallel = (
        math.fsum(mean(part * budget / float(loss)) for part in parts) / queries
        for loss in (overlap.plain, overlap.upper_bound)
    )
    return L1Error(plain, parallel)
