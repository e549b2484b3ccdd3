"""Runs that bound what silence leaves of a promise: against every silent course of small runs."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import chain, combinations_with_replacement

import pytest

from operators import Aim, Svt
from operators.svt import silence
from operators.svt.endurance import missed_in_silence
from operators.svt.planning import planned_terms
from tests.statistical.svt_law import missed_given
from tests.support.formulas import BETA
from tests.support.svt import condition as condition_of

STEPS = 7  # of a tolerance of 3, from "must fire" to "must not fire"


condition = partial(condition_of, 2)


def aim(asked, limit, **more):
    """Return what an analyst asks for, of a run with so many other questions."""
    made = Aim(BETA, (3,), BETA, alarms=2, asked_in_silence=asked, max_fnr_in_silence=limit)
    return replace(made, **more)


def worst_course(terms, steps, asked):
    """Return the most probable miss over every silent prefix and what its cells may have counted.

    Cells that must not ring are tried at the edge of the tolerance, next to it and far below; a
    cell at its threshold comes after them.
    """
    far = -steps, -steps - 1, -3 * steps
    prefixes = (combinations_with_replacement(far, each) for each in range(asked + 1))
    return max(missed_given(terms, quiet) for quiet in chain.from_iterable(prefixes))


@pytest.mark.parametrize("monotone", [True, False])
@pytest.mark.parametrize(
    ("asked", "limit", "questions", "fpr"),
    [
        (2, "0.0515", 1, "0.05"),
        (6, "0.056", 1, "0.05"),
        (4, "0.0505", 2, "0.7"),
        (8, "0.06", 2, "0.6"),
    ],
)
def test_no_silent_course_passes_the_bound(asked, limit, questions, fpr, monotone):
    """Every silent prefix keeps it, over all that its cells may have counted; one more does not.

    The broken twins plan for a question less than is asked, or promise of a run as seen before it.
    """
    bound, when = Fraction(limit), condition(monotone=monotone)
    goal = aim(asked, bound, questions=questions, max_fpr=Fraction(fpr))
    twins = replace(goal, asked_in_silence=asked - 1), replace(goal, max_fnr_in_silence=None)
    kept, short, plain = (Svt.planned(when, each) for each in (goal, *twins))
    assert worst_course(kept.terms, STEPS, asked) <= bound
    assert kept.missed_in_silence(asked, beyond=True) <= bound
    assert plain.missed_in_silence(asked, beyond=True) > bound
    assert worst_course(plain.terms, STEPS, asked) > bound
    assert worst_course(short.terms, STEPS, asked) > bound
    assert kept.plan.epsilon > short.plan.epsilon >= plain.plan.epsilon


def test_the_other_promises_are_kept_as_well():
    """Misses before the run and false alarms beyond the tolerance are at most what they were."""
    run = Svt.planned(condition(), aim(500, Fraction(1, 10)))
    law = run.terms.difference
    assert law.below(run.terms.correction) <= float(BETA)
    assert law.at_least(run.terms.correction + STEPS) < float(BETA) / 25


def test_a_bound_that_holds_anyway_costs_nothing():
    """Few questions, or rates of false alarms that silence says nothing of: the same terms."""
    for asked, fpr in ((0, BETA), (400, Fraction(1, 10**7))):
        bounded = aim(asked, Fraction(1, 10), max_fpr=fpr)
        free = replace(bounded, max_fnr_in_silence=None)
        assert Svt.planned(condition(), bounded).terms == Svt.planned(condition(), free).terms


@pytest.mark.parametrize(("asked", "limit"), [(50, "0.06"), (4_319, "0.1"), (10**6, "0.5")])
def test_the_next_higher_rate_would_not_do(asked, limit):
    """The rate that is found has three digits and keeps the bound; the next one above breaks it."""
    bound = Fraction(limit)

    def planned(alpha):
        terms = {"alarms": 2, "questions": 1, "monotone": True, "certified": False}
        return planned_terms(STEPS, alpha, BETA, **terms)

    rate = silence.quiet_rate(planned, STEPS, alpha=BETA, beta=BETA, limit=bound, asked=asked)
    mantissa, exponent = f"{float(rate):.2e}".split("e")
    assert rate == Fraction(f"{mantissa}e{exponent}") < BETA
    above = rate + Fraction(f"0.01e{exponent}")
    assert missed_in_silence(planned(rate), STEPS, asked) <= bound
    assert missed_in_silence(planned(above), STEPS, asked) > bound * (1 - Fraction(1, 10**5))


def test_noise_too_wide_to_add_up_is_bounded_without_a_sum():
    """With a tolerance of 49,000 steps all are silent with probability at least 1 - n a."""
    run = Svt.planned(condition(), aim(999, Fraction(1, 10), tolerances=(49_000,)))
    fired = run.terms.difference.at_least(run.terms.correction + 98_001)
    assert 0.49 < fired * 999 <= 0.5 * (1 + 1e-9)
