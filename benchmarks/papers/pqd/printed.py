"""What DP-PQD prints of its deciders' errors and thresholds, over real noise.

The library computes its own, over integers (``operators.deciders.effectiveness``); these are what
they are compared with.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fractions import Fraction


def laplace_error(distance: int, tau: int, epsilon: Fraction, sensitivity: int = 1) -> float:
    """Return DP-PQD's Proposition 4.2 for ``lm`` over real noise.

    With integer noise of rate r the wrong "outside" has 2 / (1 + e^-r) times this probability; the
    wrong "within" keeps the bound.

    Args:
        distance: ``|aggregate - reference|``.
        tau: half-width of the band.
        epsilon: loss.
        sensitivity: D; 1 in the paper.
    """
    rate = float(epsilon / sensitivity)
    if distance >= tau:
        return (math.exp(-rate * (distance - tau)) - math.exp(-rate * (distance + tau))) / 2
    return (math.exp(-rate * (tau + distance)) + math.exp(-rate * (tau - distance))) / 2


def laplace_threshold(
    epsilon: Fraction, delta: Fraction, sensitivity: int = 1, *, printed: bool = False
) -> float:
    """Return the effectiveness threshold of ``lm`` over real noise: (D / epsilon) ln(1 / delta).

    DP-PQD's Propositions 4.3 (D = 1) and 5.2 print ln(1 / (2 delta)); their proofs need both
    bounds, so the larger one holds.

    Args:
        epsilon: loss.
        delta: error probability.
        sensitivity: D.
        printed: return what the paper prints.
    """
    return math.log(1 / ((2 if printed else 1) * float(delta))) * float(sensitivity / epsilon)


def race_threshold(epsilon: Fraction, delta: Fraction, levels: int, largest: int) -> float:
    """Return DP-PQD's Proposition 5.5 for ``r2t``: 4 L ln(L / delta) DS / epsilon.

    Args:
        epsilon: loss.
        delta: error probability.
        levels: L, the number of caps.
        largest: DS, the largest value present (in granules, times the events of a unit).
    """
    return 4 * levels * math.log(levels / float(delta)) * float(largest / epsilon)
