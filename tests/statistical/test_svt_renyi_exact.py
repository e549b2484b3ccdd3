"""Renyi losses of runs by enumeration: the bounds hold, and adding alarm by alarm is refuted."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from accountant.units import UNITS_PER_EPSILON, to_loss_units
from operators.svt.terms import SvtPlan
from operators.svt.variants import renyi_loss
from tests.statistical.enumeration import laplace_masses
from tests.statistical.svt_law import AT, law, run_of, terms
from tests.statistical.test_svt_exact import moved, moves_of

ORDERS = (1.5, 2.0, 8.0)
PATTERNS = ((4, -1), (0, 0), (1, 3), (-2, 2))


def divergence(ours, theirs, order):
    """Renyi divergence of two laws on the same outcomes."""
    seen = ours > 0
    if (theirs[seen] == 0).any():
        return math.inf
    logs = order * np.log(ours[seen]) + (1 - order) * np.log(theirs[seen])
    return float(np.logaddexp.reduce(logs)) / (order - 1)


def firing(masses):
    """Return the chance that a step count fires, by masses of a query's noise."""
    tails, reach = np.cumsum(masses[::-1])[::-1] / masses.sum(), masses.size // 2
    return lambda step: tails[np.clip(AT - step + reach, 0, masses.size - 1)]


def laplace_ring(plan):
    """Return it for discrete Laplace queries of the same rate."""
    return firing(laplace_masses(plan.query_rate, 900))


def gaussian_ring(variance):
    """Return it for discrete Gaussian queries."""
    return firing(np.exp(-(np.arange(-900, 901) ** 2) / (2 * variance)))


def worst(plan, ring, order):
    """Return the largest divergence over the patterns and all their neighbours."""
    found, run = 0.0, run_of(plan, **({"ring": ring} if ring else {}))
    for steps, moves in product(PATTERNS, moves_of(2, monotone=plan.monotone)):
        both = steps, moved(steps, moves)
        ours, theirs = (np.array([*law(run, each).values()]) for each in both)
        found = max(found, divergence(ours, theirs, order))
    return found


@pytest.mark.parametrize("one_sided", [True, False])
@pytest.mark.parametrize("monotone", [False, True])
def test_no_run_loses_more_than_its_bound(monotone, one_sided):
    """Exponential, Laplace and Gaussian questions, against every neighbour of four patterns."""
    for alarms in (1, 2):
        plan = terms(alarms, monotone=monotone, one_sided=one_sided)
        for order in ORDERS:
            bound = renyi_loss(plan, order)
            assert bound <= plan.epsilon_units / UNITS_PER_EPSILON
            for ring in (None, laplace_ring(plan)):
                assert worst(plan, ring, order) <= bound + 1e-9
            # Tails beyond the table count for nothing at this variance.
            gauss = renyi_loss(plan, order, variance=4.0, questions=2)
            assert worst(plan, gaussian_ring(4.0), order) <= gauss + 1e-9


def test_noise_too_small_is_caught():
    """Questions without noise, and with an eighth of it, break the same check."""
    plan = terms(1, monotone=True)
    assert worst(plan, lambda step: (step >= AT).astype(float), 2.0) == math.inf
    sharp = replace(plan, alarm_units=8 * plan.alarm_units)
    assert worst(sharp, None, 8.0) > renyi_loss(plan, 8.0)
    assert worst(plan, gaussian_ring(1 / 16), 2.0) > renyi_loss(
        plan, 2.0, variance=4.0, questions=2
    )


@pytest.mark.parametrize("order", [1.5, 2.0, 4.0])
def test_adding_alarm_by_alarm_is_refuted(order):
    """200 alarms of loss 0.1 lose 20 of any order, where min(x, a x^2 / 2) each promises less.

    All cells stand at the threshold, and ring for certain where the threshold's noise is 0, which
    it nearly always is; a step lower, each rings with exp(-x). One event decides: all rang.
    """
    plan = SvtPlan(
        open_units=to_loss_units(5),
        alarm_units=to_loss_units(Fraction(1, 10)),
        alarms=200,
        monotone=True,
        one_sided=True,
    )
    run = run_of(plan)
    rang = [float(run.threshold @ run.ring(step) ** 200) for step in (0, -1)]
    ours, theirs = (np.array([p, 1 - p]) for p in rang)
    lost = divergence(ours, theirs, order)
    assert 5 + 200 * min(0.1, order * 0.1**2 / 2) < lost - 3
    assert lost <= renyi_loss(plan, order)
