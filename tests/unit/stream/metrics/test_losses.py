"""Realised losses on the custodian's page: the costliest groups."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accountant.audit.realised import Realised
from accountant.costs.minentropy import min_entropy
from accountant.errors import DependencyError
from accountant.loss.gaussian import Gaussian
from accountant.units import Contribution, PrivacyUnit
from stream.metrics.losses import LossFamilies, costliest, group_label
from stream.model.alarms import Budget
from stream.model.feeds import Domain
from stream.model.losses import shown_entropy
from tests.support.measured import (
    MICRO,
    GroupLosses,
    fresh_metrics,
    lines_of,
    page_text,
)
from tests.support.yardstick import steps

BUDGET = Budget(PrivacyUnit.EVENT, Fraction(4), None, Contribution())


def test_realised_losses_are_shown_in_epsilon():
    """The costliest group, the min-entropy, and each group that lost something."""
    metrics = fresh_metrics()
    metrics.realised(GroupLosses(crowd=[3_000_000, 0, 500_000]))
    normalised = shown_entropy(min_entropy([3, 0, 0.5]).normalised)
    lines = lines_of(metrics.custodian)
    assert {line for line in lines if "realised" in line or "entropy_n" in line} == {
        'tocsin_realised_epsilon_max{alarm="crowd"} 3.0',
        'tocsin_realised_epsilon_max{alarm="quiet"} 0.0',
        'tocsin_realised_complete{alarm="crowd"} 1.0',
        'tocsin_realised_complete{alarm="quiet"} 1.0',
        'tocsin_group_realised_epsilon{alarm="crowd",group="r1"} 3.0',
        'tocsin_group_realised_epsilon{alarm="crowd",group="r3"} 0.5',
        f'tocsin_min_entropy_normalised{{alarm="crowd"}} {normalised}',
        'tocsin_min_entropy_normalised{alarm="quiet"} 1.0',
    }
    # compacted charges, or those still to be unpacked, are missing
    metrics = fresh_metrics()
    metrics.realised(GroupLosses(complete=False))
    assert 'tocsin_realised_complete{alarm="crowd"} 0.0' in lines_of(metrics.custodian)


def test_gaussian_losses_are_shown_as_an_epsilon_at_the_delta():
    """Uncertainty, which only pure losses bound, is not shown."""
    promise = Gaussian(Fraction(4), Fraction(1, 10**6))
    half = promise.units_of(Fraction(2))
    shown = _shown([promise.wall_units, half, half + 2], replace(BUDGET, gaussian=promise))
    assert set(shown) == {
        "tocsin_realised_epsilon_max",
        "tocsin_realised_complete",
        "tocsin_group_realised_epsilon",
    }
    assert max(shown["tocsin_group_realised_epsilon"].values()) == pytest.approx(4)


def test_realised_losses_are_read_now_and_then():
    """Every fifteen seconds, each alarm once; where the ledger is away, what was shown stays."""
    now_s = [100.0]
    metrics, losses = fresh_metrics(monotonic_s=lambda: now_s[0]), GroupLosses()
    for second, asked in ((0, 2), (1, 2), (14.9, 2), (15, 4), (16, 4), (1e6, 6)):
        now_s[0] = 100 + second
        metrics.realised(losses)
        assert losses.asked == asked
    shown = page_text(metrics.custodian)
    now_s[0] *= 2
    with pytest.raises(DependencyError):
        metrics.realised(GroupLosses(away=True))
    assert page_text(metrics.custodian) == shown
    metrics.realised(GroupLosses(crowd=[9, 9, 9]))  # the next call asks again
    assert page_text(metrics.custodian) != shown


def test_labels_stay_bounded_whatever_was_lost():
    """After several readings there are the twenty groups of the last one, and no others."""
    families = LossFamilies(_domains(100), BUDGET)
    for first in (0, 30, 80):
        costs = (np.arange(100) - first) % 100 * MICRO
        shown = _shown(costs, families=families)["tocsin_group_realised_epsilon"]
        assert list(shown) == [f"r{cell}" for cell in costliest(costs)]
        assert len(shown) == 20


@given(costs=st.lists(st.integers(0, 5), min_size=1, max_size=40), most=st.integers(0, 45))
def test_the_costliest_are_those_of_a_full_sort(costs, most):
    """Ties go to the lowest cell, and who lost nothing is not among them."""
    order = sorted((cell for cell, cost in enumerate(costs) if cost), key=lambda c: (-costs[c], c))
    assert costliest(np.array(costs, dtype=np.int64), most) == order[:most]


@pytest.mark.parametrize("levels", [1, 10**6])
def test_a_hundred_thousand_groups_are_ranked_quickly(levels):
    """A few milliseconds, equal or all different."""
    costs = np.random.default_rng(3).integers(1, levels + 1, 100_000)
    assert steps(lambda: costliest(costs)) < 500_000


def test_no_two_groups_share_a_label():
    """Two equal series would make Prometheus refuse the whole page."""
    values = ("a", "a, b", "a\\", "b", ", b", "\\, b")
    two = Domain(fields=("x", "y"), values=(values, values))
    labels = [group_label(two, cell) for cell in range(len(two))]
    assert len(set(labels)) == len(labels)
    one = Domain(fields=("x",), values=(values,))
    assert [group_label(one, cell) for cell in range(len(one))] == list(values)
    assert group_label(Domain(fields=(), values=()), 0) == "(all)"


def _domains(cells):
    return {"q": Domain(fields=("room",), values=(tuple(f"r{n}" for n in range(cells)),))}


def _shown(costs, budget=BUDGET, families=None):
    """Return the values of every family once losses are shown, by the last label."""
    families = families or LossFamilies(_domains(len(costs)), budget)
    families.show([Realised("q", 0, None, 1, np.array(costs, dtype=np.int64), True)])
    return {
        family.name: {[*sample.labels.values()][-1]: sample.value for sample in family.samples}
        for family in families.collect()
    }
