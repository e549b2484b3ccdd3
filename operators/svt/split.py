"""How a run's budget is shared between its threshold and its alarms.

A budget eps_1 + eps_2 buys a threshold noise of rate eps_1 and, for c alarms, query noises of rate
eps_2 / 2c (eps_2 / c where all queries move one way). The split that minimises the variance of
their difference is eps_2 = w eps_1 where the threshold's noise is the paper's. What a promise wants
is another split, which the planner finds. Source of both: ``docs/research/svt-runs.md``.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final, Literal, TypeAlias

from accountant.arguments import FLAG, WHOLE, expect, one_of
from accountant.errors import ArgumentError

__all__ = ["QueryNoise", "optimal_split"]

QueryNoise: TypeAlias = Literal["exp", "lap", "gum"]
"""Noise of a question: exponential (geometric on integers), Laplace, Gumbel."""

_VARIANCES: Final = {"exp": 1.0, "lap": 2.0, "gum": math.pi**2 / 6}
"""At scale one; the threshold's Laplace noise has 2."""
_DIGITS: Final = 10**6  # the last bits of a float power differ between machines, plans must not


def optimal_split(alarms: int, *, monotone: bool, noise: QueryNoise = "exp") -> Fraction:
    """Return w = eps_2 / eps_1 for which v - rho has the least variance, to six digits.

    With V the variance of the query noise at scale one and a its scale over c / eps_2 (2, or 1
    where monotone), 2 / eps_1^2 + V (a c / eps_2)^2 is least at w^3 = V (a c)^2 / 2 for a given
    eps_1 + eps_2.

    Args:
        alarms: c >= 1.
        monotone: whether all queries of the run move one way.
        noise: of a question.

    Raises:
        ValueError: no alarms.

    Source: SVT-Exp, Appendix G: (sqrt(2) c)^(2/3) and (c / sqrt(2))^(2/3) for "exp".
    """
    expect(WHOLE, alarms=alarms)
    expect(FLAG, monotone=monotone)
    expect(one_of(*_VARIANCES), noise=noise)
    if alarms < 1:
        raise ArgumentError("a run has at least one alarm", hint="write alarms=1 or more")
    scale = alarms if monotone else 2 * alarms
    cube = _VARIANCES[noise] * scale**2 / 2
    return Fraction(round(math.cbrt(cube) * _DIGITS), _DIGITS)
