"""The normal law by another way than the code under test: positive terms, in Decimal."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from statistics import NormalDist

_DIGITS = 80
MARGIN = Fraction(1, 10**45)
"""Nothing here is off by more."""
_PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899")


@cache
def normal(x: Fraction) -> Fraction:
    """Return Phi(x), |x| < 15: 1/2 + phi(x) (x + x^3 / 3 + x^5 / (3 5) + ...)."""
    with localcontext() as context:
        context.prec = _DIGITS
        at = Decimal(x.numerator) / Decimal(x.denominator)
        term = total = at
        order = 1
        while abs(term) > Decimal(10) ** -_DIGITS:
            order += 2
            term = term * at * at / order
            total += term
        density = (-at * at / 2).exp() / (2 * _PI).sqrt()
        return Fraction(Decimal("0.5") + density * total)


@cache
def quantile(p: Fraction) -> Fraction:
    """Return x with Phi(x) = p to 1e-27: two of Newton's steps from what floats say."""
    if p > Fraction(1, 2):
        return -quantile(1 - p)
    law = NormalDist()
    x = Fraction(law.inv_cdf(float(p)))
    for _ in range(2):
        x += (p - normal(x)) / Fraction(law.pdf(float(x)))
        x = Fraction(round(x * 2**110), 2**110)
    return x


def least_delta(epsilon: Fraction, mu: Fraction) -> Fraction:
    """Return the delta of mu-GDP at an epsilon, as the difference of two tails."""
    with localcontext() as context:
        context.prec = _DIGITS
        grown = Fraction((Decimal(epsilon.numerator) / Decimal(epsilon.denominator)).exp())
    return normal(mu / 2 - epsilon / mu) - grown * normal(-mu / 2 - epsilon / mu)
