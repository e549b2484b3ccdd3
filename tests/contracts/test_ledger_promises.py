"""A budget's kind of promise is pinned, vouched for and checked as its wall is."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from accountant.errors import ConfigChangedError, LedgerError
from accountant.log.entries import Budgeted
from accountant.loss.gaussian import Gaussian
from accountant.records import BudgetTerms, LogIdentity, Outcome, SeenDecision
from tests.support.ledgers import (
    TOPIC_ID,
    USER,
    Series,
    held,
    must_verify,
    registration,
    status_of,
)

DATABASES = ["sqlite"]
PROMISE = Gaussian(Fraction(1), Fraction(1, 10**6))
TERMS = BudgetTerms("s", USER, PROMISE.wall_units, "lifetime", PROMISE.text)
CROWD = Series("crowd", units=PROMISE.wall_units // 3, period=10**6)
PURE = replace(TERMS, promise=None)


def set_up(ledger):
    """Register the budget and one alarm."""
    ledger.pins.register_budget(TERMS)
    ledger.pins.register_log(LogIdentity("feed", "cluster", TOPIC_ID, "topic", 2))
    ledger.pins.register_query(registration(CROWD))


def seen(*, gaussian):
    """Return a decision that another ledger released."""
    return SeenDecision(
        *("other", "crowd", "s", 0, 10, 1, Outcome.DECIDED, 5, 0, 10),
        periods=(0,),
        gaussian=gaussian,
    )


def test_another_promise_is_refused(ledger):
    """Pure for Gaussian, another delta, another epsilon: the ledger stays what it was."""
    set_up(ledger)
    ledger.pins.register_budget(TERMS)
    ledger.pins.register_budget(replace(PURE, scope="pure"))
    other = Gaussian(Fraction(1), Fraction(1, 10**7))
    wider = Gaussian(Fraction(2), Fraction(1, 10**6))
    larger = replace(TERMS, promise=wider.text, epsilon_max_units=wider.wall_units)
    for terms, said in (
        (larger, "epsilon_max '1' -> '2'"),
        (PURE, "privacy 'gdp' -> 'pure', epsilon_max '1' -> "),
        (replace(TERMS, promise=other.text), "delta '1e-06' -> '1e-07'"),
        (replace(TERMS, scope="pure"), "privacy 'pure' -> 'gdp"),
    ):
        with pytest.raises(ConfigChangedError) as refused:
            ledger.pins.register_budget(terms)
        assert said in refused.value.message
    assert status_of(ledger).promise == PROMISE.text
    must_verify(ledger)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (replace(TERMS, promise="gdp epsilon=1/1 delta=1/1000"), "does not match its epsilon_max"),
        (
            replace(TERMS, epsilon_max_units=PROMISE.wall_units + 2),
            "does not match its epsilon_max",
        ),
        (replace(TERMS, promise="gdp"), "cannot even be read"),
    ],
)
def test_a_promise_that_does_not_come_to_its_wall_is_found(ledger, changed, said):
    """It is computed again, whatever the chain vouches for."""
    set_up(ledger)
    with ledger._door.write() as writing:
        writing.append(Budgeted(replace(changed, scope="t")))
    assert said in " ".join(ledger.reports.verify())


def test_what_was_charged_under_another_promise_is_not_taken_over(ledger):
    """An epsilon is no rho: nothing is written; of the same kind it is charged."""
    set_up(ledger)
    with pytest.raises(LedgerError, match="another `privacy` than budget 's' has"):
        ledger.upkeep.reconcile([seen(gaussian=False)])
    assert held(ledger) == 0
    assert ledger.upkeep.reconcile([seen(gaussian=True)]) == 1
    assert held(ledger) == 5
    must_verify(ledger)
