"""How the losses of the regions that hold one row compose: pure, Gaussian or Renyi.

Each composition turns into tracks. A track adds up exact costs and reports the sum as a loss; every
track's report is a valid loss, so the least of them counts. Reports rise with the sum, hence the
row with the largest sum is the worst one of its track.

Source: Parallel Composition, Theorem 6 (the maximum overlap of arbitrary mechanisms) with section
3.2, Definition 8 (composition functions). Pure losses add up (Theorem 1), the mu of Gaussian
differential privacy compose to the root of the sum of squares (corollary of Theorem 3), Renyi
divergences of one order add up (Mironov 2017, Proposition 1) and are turned into epsilon by
``dp-accounting``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module
from numbers import Rational
from typing import TYPE_CHECKING, Any, TypeAlias

from accountant.errors import ArgumentError
from accountant.loss.rounding import float_up

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["Composition", "Gdp", "Loss", "PureSum", "Rdp", "Track", "composition_named"]

Loss: TypeAlias = int | Fraction | float
"""A reported loss; a float is rounded up, towards more loss."""

_CONVERSION = 1 + 2**-48  # more than the formula that turns a Renyi divergence into epsilon is off


@dataclass(frozen=True, slots=True)
class Track:
    """Costs that add up, and what their sum means.

    Args:
        costs: per region, exact, >= 0.
        report: turns a sum into a loss; never falls as the sum rises.
    """

    costs: tuple[Fraction, ...]
    report: Callable[[Fraction], Loss]


@dataclass(frozen=True, slots=True)
class PureSum:
    """Pure differential privacy: epsilons (or loss units) add up, exactly."""

    power: int = 1

    def tracks(self, weights: Sequence[object]) -> tuple[Track, ...]:
        """Return the one track of these epsilons.

        Raises:
            ValueError: one of them is no number, negative, infinite or NaN.
        """
        return (Track(tuple(_cost(weight, at) for at, weight in enumerate(weights)), _plain),)


@dataclass(frozen=True, slots=True)
class Gdp:
    """Gaussian differential privacy: mu composes to the root of the sum of squares.

    Squares are summed and compared exactly; the root is exact where it is a float, and rounded up
    where it is not.
    """

    power: int = 2

    def tracks(self, weights: Sequence[object]) -> tuple[Track, ...]:
        """Return the one track of these mu.

        Raises:
            ValueError: one of them is no number, negative, infinite or NaN.
        """
        costs = tuple(_cost(weight, at) ** 2 for at, weight in enumerate(weights))
        return (Track(costs, _root_up),)


@dataclass(frozen=True, slots=True)
class Rdp:
    """Renyi differential privacy, reported as the epsilon of (epsilon, delta).

    A weight is a noise multiplier of the Gaussian mechanism (a positive number: standard deviation
    over sensitivity) or a ``dp_accounting.DpEvent``. Needs ``dp-accounting`` (extra ``rdp``). The
    curves of events and the conversion are its floats: sums and comparisons of them are exact, the
    result is rounded up, but the curves are as accurate as that library is.

    Args:
        delta: between 0 and 1, exclusive.
        orders: Renyi orders, each above 1; left out, those of ``dp-accounting``.
    """

    delta: float
    orders: tuple[float, ...] | None = None
    power: int = 1

    def __post_init__(self) -> None:
        """Refuse a delta or an order that means nothing."""
        if not 0 < self.delta < 1:
            raise ArgumentError("delta lies between 0 and 1")
        if self.orders is not None and not self.orders:
            raise ArgumentError("at least one Renyi order is needed")
        if any(not 1 < order < math.inf for order in self.orders or ()):
            raise ArgumentError("Renyi orders are finite and above 1")

    def tracks(self, weights: Sequence[object]) -> tuple[Track, ...]:
        """Return one track per order.

        Raises:
            ValueError: a weight is neither a positive number nor an event with a curve, or no order
                has finite divergences for all of them.
            ImportError: ``dp-accounting`` is missing.
        """
        rdp = _dp_accounting().rdp
        orders = [
            float(order) for order in self.orders or rdp.rdp_privacy_accountant.DEFAULT_RDP_ORDERS
        ]
        curves = [self._curve(weight, at, orders) for at, weight in enumerate(weights)]
        tracks = []
        for number, order in enumerate(orders):
            costs = [curve[number] for curve in curves]
            finite = tuple(cost for cost in costs if cost is not None)
            if order > 1.01 and len(finite) == len(costs):
                tracks.append(Track(finite, self._reporter(order)))
        if not tracks:
            raise ArgumentError("no Renyi order has a finite divergence for every region")
        return tuple(tracks)

    def _curve(self, weight: object, at: int, orders: Sequence[float]) -> list[Fraction | None]:
        """Return a region's divergence at each order, ``None`` where it is infinite."""
        if isinstance(weight, int | float | Rational):
            multiplier = _cost(weight, at)
            if not multiplier:
                raise ArgumentError(f"weight {at}: a noise multiplier is positive")
            return [Fraction(order) / (2 * multiplier**2) for order in orders]
        accounting = _dp_accounting()
        if not isinstance(weight, accounting.DpEvent):
            raise ArgumentError(f"weight {at} is neither a noise multiplier nor a DpEvent")
        accountant = accounting.rdp.RdpAccountant(orders)
        if not accountant.supports(weight):
            raise ArgumentError(f"weight {at}: {type(weight).__name__} has no Renyi curve")
        divergences = accountant.compose(weight).rdp.tolist()
        # A divergence below 0 is a numerical failure, and dp-accounting reads it as no loss at all.
        if any(math.isnan(each) or each < 0 for each in divergences):
            raise ArgumentError(f"weight {at}: its Renyi curve could not be computed")
        return [Fraction(each) if math.isfinite(each) else None for each in divergences]

    def _reporter(self, order: float) -> Callable[[Fraction], Loss]:
        compute = _dp_accounting().rdp.rdp_privacy_accountant.compute_epsilon

        def report(total: Fraction) -> Loss:
            if not total:
                return 0.0
            epsilon, _ = compute([order], [float_up(total)], self.delta)
            return _widened(float(epsilon))

        return report


Composition: TypeAlias = PureSum | Gdp | Rdp


def composition_named(composition: str | Composition) -> Composition:
    """Return a composition by its name, or as it is.

    Raises:
        ValueError: there is none of that name.
    """
    match composition:
        case PureSum() | Gdp() | Rdp():
            return composition
        case "sum":
            return PureSum()
        case "gdp":
            return Gdp()
        case "rdp":
            raise ArgumentError('"rdp" needs a delta: pass Rdp(delta=...)')
        case _:
            raise ArgumentError(
                f'a composition is "sum", "gdp" or Rdp(delta=...), not {composition!r}',
                hint='write composition="sum": of pure losses it is the exact one',
            )


def _cost(weight: object, at: int) -> Fraction:
    match weight:
        case float() if math.isfinite(weight):
            cost = Fraction(weight)
        case float():
            raise ArgumentError(f"weight {at} is NaN or infinite")
        case bool():
            raise ArgumentError(f"weight {at} is a truth value, not a number")
        case Rational():
            cost = Fraction(int(weight.numerator), int(weight.denominator))
        case _:
            raise ArgumentError(
                f"weight {at} is a {type(weight).__name__}, not a number",
                hint="write a flat list of numbers, one per region: [4, Fraction(1, 2)]",
            )
    if cost < 0:
        raise ArgumentError(f"weight {at} is negative")
    return cost


def _plain(total: Fraction) -> Loss:
    return total.numerator if total.denominator == 1 else total


def _root_up(total: Fraction) -> Loss:
    """Return the root: exact where it is rational, else the next float above."""
    above, below = math.isqrt(total.numerator), math.isqrt(total.denominator)
    if above**2 == total.numerator and below**2 == total.denominator:
        return _plain(Fraction(above, below))
    # 64 bits of the root, rounded up, and then up to a float.
    shift = max(0, 128 + total.denominator.bit_length() - total.numerator.bit_length())
    shift += shift % 2
    scaled = -(-(total.numerator << shift) // total.denominator)
    return float_up(Fraction(math.isqrt(scaled) + 1, 1 << shift // 2))


def _widened(epsilon: float) -> float:
    return math.nextafter(epsilon * _CONVERSION, math.inf) if epsilon else epsilon


def _dp_accounting() -> Any:
    try:
        import_module("dp_accounting.rdp")
        return import_module("dp_accounting")
    except ImportError as error:
        raise ImportError(
            "Renyi composition needs dp-accounting: pip install 'tocsin[rdp]'"
        ) from error
