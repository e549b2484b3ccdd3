"""Runs that keep a bound on misses also for a reader who knows that they have been silent so far.

A silent question makes high noise of the threshold likelier, the more so the likelier it was to
ring: a run whose quiet cells hardly ever ring says next to nothing by its silence. So what is asked
for is a lower rate of false alarms, and the highest that will do is looked for. Proof:
``docs/research/proofs/svt.md``.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Final

from accountant.errors import ConfigError
from operators.search import least
from operators.svt.endurance import missed_in_silence
from operators.svt.terms import threshold_law

if TYPE_CHECKING:
    from collections.abc import Callable

    from operators.svt.terms import SvtPlan

__all__ = ["quiet_rate"]

_ROUNDING: Final = 1e-6  # sums over the noise, and sketched terms, are off by less
_DIGITS: Final = 100  # a rate is written with three: 100 to 999 times a power of ten


def quiet_rate(
    planned: Callable[[Fraction], SvtPlan],
    steps: int,
    *,
    alpha: Fraction,
    beta: Fraction,
    limit: Fraction,
    asked: int,
) -> Fraction:
    """Return the highest rate of false alarms at which a silent run keeps a bound on misses.

    Guarantee: let ``asked`` questions at most have been put before it, none of which rang, about
    cells at ``s' <= -steps``. Then a cell at ``s' >= 0`` that is asked afresh in a run on the terms
    of this rate is missed with probability at most ``limit``. Lower rates than ``alpha`` have three
    digits, and the next higher of these would not do; where the threshold's noise is too wide to be
    added up step by step, it is the highest one at which a bound without a sum will do.

    Args:
        planned: terms by the rate of false alarms, certified for misses at ``beta``.
        steps: k, from "must fire" to "must not fire".
        alpha: the rate that is promised anyhow, and not passed, per cell and window.
        beta: most probable miss as seen before the run is opened.
        limit: the same, given silence; in (0, 1).
        asked: questions of the longest run but those about one cell of its last window.

    Raises:
        ConfigError: a limit that is no higher than ``beta``.

    Source: none; the bound is ``operators.svt.endurance.missed_in_silence``.
    """
    if float(limit) * (1 - _ROUNDING) <= float(beta):
        raise ConfigError(
            f"max_fnr_given_no_alarm, {float(limit):g}, is not larger than max_fnr,"
            f" {float(beta):g}",
            hint=f"write max_fnr_given_no_alarm: {float(min(2 * beta, (1 + beta) / 2)):g}",
        )

    def keeps(rate: Fraction) -> bool:
        terms = planned(rate)
        noise, _ = threshold_law(terms)
        if noise.size > 1 and noise[1] - noise[0] > 1:
            # All n stay silent with probability at least 1 - n a, whatever they share.
            return beta <= limit * (1 - asked * rate / terms.questions)
        return missed_in_silence(terms, steps, asked) <= float(limit) * (1 - _ROUNDING)

    if keeps(alpha):
        return alpha
    first = _place(alpha)
    # At the latest where beta <= limit (1 - n a): silence is then no rarer than beta over limit.
    return _rate(least(lambda at: keeps(_rate(at)), first - 1, first))


def _rate(place: int) -> Fraction:
    """Return the three-digit decimal at a place: 0.999, 0.998, ..., 0.1, 0.0999 and so on."""
    power, digits = divmod(place, 9 * _DIGITS)
    return Fraction(10 * _DIGITS - 1 - digits, 10 ** (power + 3))


def _place(rate: Fraction) -> int:
    """Return the first place whose decimal does not pass a rate."""
    return least(lambda at: _rate(at) <= rate, -1, 0)
