"""How long a run of sparse-vector questions lasts, and who comes too late for it.

All questions of a run share the threshold's noise: given that, they are independent, so that every
figure is one sum over it. In floats: for plans, not for promises.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import scipy

from operators.base import Endurance
from operators.svt.terms import log_at_least, log_below, threshold_law

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from operators.svt.terms import SvtPlan

__all__ = ["asked_last", "endurance", "missed_in_silence"]


def endurance(plan: SvtPlan, steps: NDArray[np.int64], windows: int) -> Endurance:
    """Return what quiet cells leave of a run.

    The law is that of one run: alarms after it is spent, if the budget opens another, are not in
    it. The cell at its threshold takes the place of one quiet cell in the last window, and is asked
    after all others: no order, and no earlier window, is worse for it.

    Args:
        plan: the terms.
        steps: shape (cells,), int64: step counts s' of the cells, the same in every window.
        windows: in the run, at least one.

    Raises:
        ValueError: no cell or no window.
    """
    if windows < 1 or not steps.size:
        raise ValueError("a run has at least one window and one cell")
    noise, masses = threshold_law(plan)
    kinds, cells = np.unique(steps, return_counts=True)
    rates = [_rings(plan, noise, int(kind)) for kind in kinds]
    asked = cells.astype(np.int64) * windows
    before = asked.copy()
    before[int(np.argmin(kinds))] -= 1  # its place is that of the quietest
    all_rings = _law_of_rings(rates, asked, plan.alarms)
    left = _law_of_rings(rates, before, plan.alarms)
    # E[min(N, c)] as the sum of P[N > n] below c.
    taken = (1 - np.cumsum(all_rings, axis=0)).sum(axis=0)
    alive = left.sum(axis=0)
    return Endurance(
        rings=float(masses @ taken),
        unlimited=float(sum(of * (masses @ rate) for rate, of in zip(rates, asked, strict=True))),
        spent=float(masses @ (1 - alive)),
        missed=float(1 - masses @ (alive * _rings(plan, noise, 0))),
    )


def asked_last(plan: SvtPlan, steps: NDArray[np.int64], cell: int) -> float:
    """Return how likely a cell rings that is asked after all others of a fresh run's first window.

    No order of the questions is worse for it: it rings for certain where the others leave an alarm
    and one of its own questions rings. A question that is put back comes with a later window, and
    is not counted.

    Args:
        plan: the terms.
        steps: shape (cells,), int64: step counts s' of the window's cells.
        cell: which one.
    """
    now = replace(plan, questions=1, put_back=False) if plan.put_back else plan
    noise, masses = threshold_law(now)
    rings = _rings(now, noise, int(steps[cell]))
    if steps.size > now.alarms:  # fewer others cannot take all alarms
        kinds, others = np.unique(np.delete(steps, cell), return_counts=True)
        rates = [_rings(now, noise, int(kind)) for kind in kinds]
        rings = rings * _law_of_rings(rates, others, now.alarms).sum(axis=0)
    return float(masses @ rings)


def missed_in_silence(plan: SvtPlan, distance: int, asked: int) -> float:
    """Return how likely a cell at its threshold is missed, given that a run has been silent so far.

    All of so many questions before it were about cells at least ``distance`` below their
    thresholds, and none rang. Those at just that distance make high noise of the threshold the
    likeliest: cells that are lower, fewer questions, or alarms among them, leave fewer misses.

    Args:
        plan: the terms.
        distance: steps, at least 1.
        asked: questions of the run so far, at least 0.

    Raises:
        ValueError: no distance, or fewer than no questions.
    """
    if distance < 1 or asked < 0:
        raise ValueError("quiet cells are below their thresholds, and asked 0 times or more")
    # So many silences move the noise by about as far as one question in so many reaches.
    farther = math.ceil(math.log(1 + asked) / float(plan.query_rate))
    noise, _ = threshold_law(plan, farther)
    silent = log_below(plan, noise + (plan.correction + distance)) if asked else np.zeros(1)
    now = replace(plan, questions=1, put_back=False) if plan.put_back else plan
    # A geometric's masses fall below the least float long after they count; logarithms do not.
    logs = asked * silent - float(plan.threshold_rate) * np.abs(noise)
    weights = np.exp(logs - logs.max())
    return float(weights @ (1 - _rings(now, noise, 0)) / weights.sum())


def _rings(plan: SvtPlan, noise: NDArray[np.float64], steps: int) -> NDArray[np.float64]:
    """Return the probability that a cell rings in a window, per noise of the threshold."""
    once = np.exp(log_at_least(plan, noise + (plan.correction - steps)))
    rings: NDArray[np.float64] = 1 - (1 - once) ** plan.questions
    return rings


def _law_of_rings(
    rates: list[NDArray[np.float64]], asked: NDArray[np.int64], alarms: int
) -> NDArray[np.float64]:
    """Return P[n cells ring], n < alarms, per noise of the threshold: shape (alarms, noises)."""
    numbers = np.arange(alarms)[:, None]
    law = np.zeros((alarms, rates[0].size))
    law[0] = 1.0
    for rate, of in zip(rates, asked.tolist(), strict=True):
        more = _binomial(numbers, of, rate)
        law = np.stack([(law[: n + 1] * more[n::-1]).sum(axis=0) for n in range(alarms)])
    return law


def _binomial(
    numbers: NDArray[np.int64], of: int, rate: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return P[n of so many ring], broadcast: 0 where n is more.

    Of ``scipy.special``, which is imported where a plan needs it and not by every command: to
    import ``scipy.stats`` takes longer than a plan.
    """
    special = scipy.special
    left = np.maximum(of - numbers, 0)
    chosen = special.gammaln(of + 1) - special.gammaln(numbers + 1) - special.gammaln(left + 1)
    law = np.exp(chosen + special.xlogy(numbers, rate) + special.xlog1py(left, -rate))
    return np.asarray(np.where(numbers <= of, law, 0.0))
