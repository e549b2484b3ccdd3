"""How wide a band has to be for each decider, and which decider to take.

A decider is *effective* at delta where it is right with probability at least 1 - delta on an
aggregate that meets its reference, and on one at least 2 tau away from it (DP-PQD, Definition 3.4).
The least such tau is its effectiveness threshold. All of this is public: configuration only.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from accountant.arguments import EXACT, TEXT, WHOLE, expect, instance_of
from accountant.errors import ArgumentError, ConfigError
from operators.conditions.widths import Relative
from operators.deciders.averages import AverageLaplaceBand
from operators.deciders.base import (
    Average,
    Count,
    Kind,
    Quantile,
    Sum,
    check_epsilon,
    check_plan,
)
from operators.deciders.quantiles import ExponentialQuantileBand, HistogramBand
from operators.deciders.single import ExponentialBand, LaplaceBand
from operators.deciders.sums import LEAST_DELTA, RaceBand, SparseBand, least_tail, levels_of
from operators.deciders.tight import MOST_REACH, TightBand
from operators.deciders.verdicts import Choice, of_mean, of_quantile, of_width

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from operators.base import Decider
    from operators.conditions.widths import HalfWidth
    from operators.deciders.bounds import PrivateBound

__all__ = [
    "DECIDERS",
    "DECIDER_NAMES",
    "Choice",
    "choose",
    "exponential_threshold",
    "planned",
    "tau_min",
    "units_min",
]

_HALF: Final = Fraction(1, 2)

_PLANNERS: Final[Mapping[type, Mapping[str, Any]]] = {
    kind: {each.name: each for each in planners}
    for kind, planners in (
        (Count, (TightBand, ExponentialBand, LaplaceBand)),
        (Sum, (TightBand, ExponentialBand, LaplaceBand, RaceBand, SparseBand)),
        (Quantile, (TightBand, ExponentialQuantileBand, HistogramBand)),
        (Average, (TightBand, AverageLaplaceBand)),
    )
}

DECIDERS: Final = {kind: tuple(planners) for kind, planners in _PLANNERS.items()}
"""Names that ``decider:`` may hold per aggregate, besides ``auto``."""

DECIDER_NAMES: Final = tuple(
    each.name
    for each in (TightBand, LaplaceBand, ExponentialBand, RaceBand, SparseBand, HistogramBand)
)
"""All of them, as they are listed."""


def planned(
    name: str,
    kind: Kind,
    epsilon: Fraction,
    tau: HalfWidth,
    delta: Fraction = Fraction(1, 20),
    *,
    bound: PrivateBound | None = None,
) -> Decider:
    """Plan a decider by its name.

    Args:
        name: one of ``DECIDERS`` for this aggregate.
        kind: the aggregate.
        epsilon: exact loss.
        tau: half-width of the band, or its share of the reference.
        delta: error probability that ``r2t`` aims at, as given to :func:`choose` and
            :func:`tau_min`; the others have no such parameter.
        bound: what ``svt`` asks of its private bound; the others have none.

    Raises:
        ConfigError: a name or numbers that cannot be used, a bound where none is asked for.
    """
    _expect_kind(kind)
    expect(TEXT, name=name)
    expect(EXACT, epsilon=epsilon, delta=delta)
    _expect_width(tau)
    planners = _PLANNERS[type(kind)]
    if name not in planners:
        raise ConfigError(
            f"decider {name} does not support {type(kind).__name__.upper()}",
            hint=f"write one of: auto, {', '.join(planners)}",
        )
    own: tuple[object, ...] = ()
    if planners[name] is RaceBand:
        own = (delta,)
    elif planners[name] is SparseBand:
        own = (bound,)
    elif bound is not None:
        raise ConfigError(
            f"decider {name} has no key bound",
            hint=f"remove bound, or write decider: {SparseBand.name}",
        )
    decider: Decider = planners[name].planned(kind, epsilon, tau, *own)
    return decider


def choose(
    kind: Kind,
    epsilon: Fraction,
    tau: HalfWidth,
    delta: Fraction,
    *,
    largest: int | None = None,
    boundary: Fraction | None = None,
    written: Callable[[int], str] = str,
) -> Choice:
    """Choose the decider with the least effectiveness threshold, and say why.

    Deciders are compared at their best: ``tight`` with its default boundary, or not at all where
    epsilon is too small for its table. Another boundary is kept by ``tight`` alone, which is then
    taken; its threshold is that of the boundary it is planned with.

    Args:
        kind: the aggregate.
        epsilon: exact loss.
        tau: half-width of the band, or its share of the reference.
        delta: error probability to judge by, in (0, 1/2).
        largest: for SUM, a *public* guess of the largest value present in a cell, in granules.
        boundary: most probable "within" just outside the band, where one has to be kept.
        written: writes a threshold, or tau, for the sentence.

    Raises:
        ConfigError: numbers that cannot be used; a quantile or a mean at too small an epsilon for
            ``tight``.
    """
    _expect_kind(kind)
    expect(EXACT, epsilon=epsilon, delta=delta)
    _expect_width(tau)
    check_plan("auto", kind, (Count, Sum, Quantile, Average), epsilon, tau)
    _check_delta(delta)
    if boundary is not None:
        return _keeping(kind, epsilon, tau, delta, boundary, written)
    if isinstance(kind, Quantile):
        needed = units_min(epsilon, delta, kind)
        return Choice("tight", needed, None, of_quantile(needed, delta))
    if isinstance(kind, Average):
        needed = _steps(epsilon, delta)
        return Choice("tight", needed, None, of_mean(kind, needed, delta, written))
    thresholds = _thresholds(kind, epsilon, delta, largest)
    best = min(thresholds, key=lambda name: thresholds[name])  # the first of equals: tight
    listed = ", ".join(f"{name} {written(value)}" for name, value in thresholds.items())
    unknown = "; no threshold is known for svt" if isinstance(kind, Sum) and kind.low >= 0 else ""
    effective, verdict = of_width(tau, thresholds[best], written)
    return Choice(
        best,
        thresholds[best],
        effective,
        f"{best} has the least effectiveness threshold at delta = {float(delta):g} ({listed});"
        f" {verdict}{unknown}",
    )


def tau_min(
    name: str, kind: Count | Sum, epsilon: Fraction, delta: Fraction, *, largest: int | None = None
) -> int:
    """Return the effectiveness threshold of a decider: the least tau it is effective with.

    Exact for ``lm``, ``em`` and ``tight`` (integer noise; its default boundary); for ``r2t``,
    planned with the same delta, an upper bound.

    Args:
        name: lm, em, tight or r2t.
        kind: COUNT or SUM.
        epsilon: exact loss.
        delta: error probability, in (0, 1/2).
        largest: for ``r2t``, the largest value present, in granules.

    Returns:
        In units of the aggregate, at least 1.

    Raises:
        ConfigError: an epsilon or delta that is no use, an epsilon too small for the table of
            ``tight``, or a largest value beyond the kind's.
        ValueError: ``svt`` (no bound is known), or ``r2t`` without ``largest``.
    """
    expect(instance_of(Count, Sum), kind=kind)
    expect(TEXT, name=name)
    expect(EXACT, epsilon=epsilon, delta=delta)
    _check_delta(delta)
    check_epsilon(epsilon)
    rate, chance = float(epsilon / kind.sensitivity), float(delta)
    if name == "lm":  # 2 P[z >= tau] <= delta
        return least_tail(rate, chance / 2)
    if name == "em":
        return max(1, math.ceil(exponential_threshold(epsilon, delta, kind.sensitivity)))
    if name == "tight":
        return kind.sensitivity * (_steps(epsilon, delta) - 1) + 1
    if name == "r2t" and isinstance(kind, Sum) and largest is not None:
        if largest > kind.high:
            raise ConfigError(
                f"the largest value {largest} is above {kind.high}, the end of the clip",
                hint="write a value within the clip",
            )
        levels = levels_of(kind)
        cap = next((t for t in levels if t >= largest), levels[-1])
        slow = float(epsilon) / (len(levels) * kind.events * cap)
        penalty = least_tail(slow, chance / (2 * len(levels))) - 1
        return penalty + least_tail(slow, chance / 2)
    raise ArgumentError(
        f"no effectiveness threshold is known for {name} here",
        hint="take tight, em or lm, whichever takes this kind",
    )


def units_min(epsilon: Fraction, delta: Fraction, kind: Quantile) -> int:
    """Return how many privacy units must separate a cell from the other answer for ``tight``.

    Args:
        epsilon: exact loss.
        delta: error probability, in (0, 1/2).
        kind: the quantile.

    Returns:
        The least number m such that a cell whose answer cannot be changed by fewer than m units
        is decided wrongly with probability at most delta, with the default boundary.

    Raises:
        ConfigError: an epsilon or delta that is no use, or an epsilon too small for its table.
    """
    expect(instance_of(Quantile), kind=kind)
    expect(EXACT, epsilon=epsilon, delta=delta)
    _check_delta(delta)
    check_epsilon(epsilon)
    a, b = kind.share.numerator, kind.share.denominator
    # One event can move the margin by min(a, b - a), while a step is as wide as max(a, b - a).
    whole = _steps(epsilon, delta) - 1
    return -(-whole * max(a, b - a) // min(a, b - a)) + 1


def exponential_threshold(epsilon: Fraction, delta: Fraction, sensitivity: int = 1) -> float:
    """Return the effectiveness threshold of ``em``, DP-PQD's Proposition 4.7 (D = 1 there).

    Args:
        epsilon: loss.
        delta: error probability.
        sensitivity: D.
    """
    expect(EXACT, epsilon=epsilon, delta=delta)
    expect(WHOLE, sensitivity=sensitivity)
    if not (epsilon > 0 and 0 < delta < 1 and sensitivity > 0):
        raise ArgumentError(
            "epsilon and sensitivity are above 0, and delta lies between 0 and 1",
            hint="write Fraction(1, 2) and Fraction(1, 20)",
        )
    return (math.log1p(-float(delta)) - math.log(float(delta))) * float(sensitivity / epsilon)


def _expect_kind(kind: object) -> None:
    expect(instance_of(Count, Sum, Quantile, Average), kind=kind)


def _expect_width(tau: object) -> None:
    if not isinstance(tau, Relative):
        expect(WHOLE, tau=tau)


def _keeping(  # noqa: PLR0917  # what choose was given
    kind: Kind,
    epsilon: Fraction,
    tau: HalfWidth,
    delta: Fraction,
    boundary: Fraction,
    written: Callable[[int], str],
) -> Choice:
    """Choose ``tight``, the only one to keep a boundary, and say what it takes to be effective."""
    threshold = TightBand.planned(kind, epsilon, tau, boundary).threshold(delta)
    kept = f"keeps {float(boundary):g} at the end of the band"
    if threshold is None:
        return Choice(
            "tight",
            None,
            None if isinstance(kind, Quantile | Average) else False,
            f"only tight {kept}, but at this epsilon no tau makes false alarms rare",
        )
    if isinstance(kind, Quantile):
        return Choice("tight", threshold, None, of_quantile(threshold, delta))
    if isinstance(kind, Average):
        return Choice("tight", threshold, None, of_mean(kind, threshold, delta, written))
    effective, verdict = of_width(tau, threshold, written)
    return Choice(
        "tight",
        threshold,
        effective,
        f"only tight {kept}. At the reference it fires with probability {float(delta):g} or less"
        f" if tau is {written(threshold)} or more; {verdict}",
    )


def _thresholds(
    kind: Count | Sum, epsilon: Fraction, delta: Fraction, largest: int | None
) -> dict[str, int]:
    """Return the effectiveness thresholds that are known, by name."""
    names = ["em", "lm"]
    if least_tail(float(epsilon), float(delta)) <= MOST_REACH:
        names.insert(0, "tight")
    if isinstance(kind, Sum) and kind.low >= 0 and largest is not None:
        names.append("r2t")
    return {name: tau_min(name, kind, epsilon, delta, largest=largest) for name in names}


def _steps(epsilon: Fraction, delta: Fraction) -> int:
    """Return how many steps ``tight``, with its default boundary, takes to an error of delta.

    Raises:
        ConfigError: more than its table is sure to hold.
    """
    steps = least_tail(float(epsilon), float(delta))
    if steps > MOST_REACH:
        raise ConfigError(
            f"epsilon is too small for tight at an error probability of {float(delta):g}",
            hint="write a larger epsilon",
        )
    return steps


def _check_delta(delta: Fraction) -> None:
    if not LEAST_DELTA <= delta < _HALF:
        raise ConfigError(
            "the error probability of a decider is not from 1e-12 to 1/2",
            hint='write delta: "0.05"',
        )
