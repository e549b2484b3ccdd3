"""What a file may ask of a Gaussian budget, and what is refused where it stands."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pytest

from accountant.errors import ConfigError
from accountant.loss.gaussian import Gaussian, mu_of
from accountant.units import from_loss_units
from operators.formulas.mirrored import Mirrored
from operators.registry import ALL, create, price
from operators.single.adapter import Single
from operators.single.tslm import Tslm
from stream.config.loading import examine
from stream.model.fingerprints import fingerprint
from tests.statistical.enumeration import ONE
from tests.support.normal import quantile

if TYPE_CHECKING:
    from pathlib import Path

    from stream.config.loading import Report

CONFIG = """\
feeds:
  badges:
    topic: badges
    time: ts
    unit: person
    fields:
      person: string
      room: {{domain: [hall, lab]}}
      age: {{type: integer, clip: [0, 110]}}
      ts: timestamp
budget: {{unit: {unit}, epsilon_max: "20"{more}}}
alarms:
  crowd:
    sql: |
      SELECT room FROM badges
      GROUP BY room, {window}
      HAVING {having}
    max_fnr: 0.05
    {keys}
"""
GDP = ', promise: gdp, delta: "1e-6"'
TUMBLE = "TUMBLE(ts, INTERVAL '1' HOUR)"


def examined(folder: Path, text: str) -> Report:
    """Return what a file comes to."""
    return examine(folder / "alarms.yaml", environ={}, given=text.encode())


def written(
    *,
    having: str = "COUNT(*) > 30",
    keys: str = "tolerance: 9",
    window: str = TUMBLE,
    unit: str = "user",
    promise: str = GDP,
) -> str:
    """Return a file of one alarm."""
    more = (", period: 1d" if unit == "user" else "") + promise
    return CONFIG.format(unit=unit, more=more, window=window, having=having, keys=keys)


@pytest.mark.parametrize("unit", ["user", "event"])
@pytest.mark.parametrize(
    ("having", "window"),
    [
        ("COUNT(*) > 30", TUMBLE),
        ("COUNT(DISTINCT person) < 3", TUMBLE),
        ("SUM(age) >= 900", "HOP(ts, INTERVAL '10' MINUTE, INTERVAL '1' HOUR)"),
    ],
)
def test_one_comparison_is_paid(tmp_path: Path, unit: str, having: str, window: str) -> None:
    """Of counts and sums, under both units; its price and its fingerprint are others than pure."""
    report = examined(tmp_path, written(having=having, window=window, unit=unit))
    assert report.alarms is not None, report.errors
    budget = report.alarms.budget
    assert budget.gaussian == Gaussian(Fraction(20), Fraction(1, 10**6))
    assert budget.wall_units == budget.gaussian.wall_units
    query = report.alarms.queries["crowd"]
    operator = create(query.mechanism, query.condition, query.aim)
    pure = examined(tmp_path, written(having=having, window=window, unit=unit, promise=""))
    assert pure.alarms is not None
    before = pure.alarms.queries["crowd"]
    alone = create(before.mechanism, before.condition, before.aim)
    assert operator.plan.epsilon != alone.plan.epsilon
    assert query.fingerprint == fingerprint(query, budget) != before.fingerprint


def test_a_promise_without_its_rate_is_not_spoken_of(tmp_path: Path) -> None:
    """Where ``max_fpr`` lacks it is asked for; no note says what would be promised."""
    report = examined(tmp_path, written(keys="tolerance: 9\n    promise: false_alarms"))
    assert ["needs max_fpr" in each.message for each in report.errors] == [True]
    assert not [each for each in report.notes if "are promised" in each.message]


@pytest.mark.parametrize("having", ["COUNT(*) > 30", "COUNT(*) < 30"])
def test_false_alarms_promised_first_are_paid(tmp_path: Path, having: str) -> None:
    """The mirrored decision keeps both rates exactly, and its neighbours are mu-GDP at its rho."""
    keys = "tolerance: 9\n    max_fpr: 0.01\n    promise: false_alarms"
    report = examined(tmp_path, written(having=having, keys=keys))
    assert report.alarms is not None, report.errors
    query = report.alarms.queries["crowd"]
    operator = create(query.mechanism, query.condition, query.aim)
    assert operator.plan == price(query.mechanism, query.condition, query.aim)
    assert isinstance(operator, Mirrored)
    assert isinstance(operator.negation, Single)
    silent = operator.negation.operator
    assert isinstance(silent, Tslm)
    towards = 1 if ">" in having else -1
    at = np.array([30, 30 + towards * (1 + 2 * 9)])  # false still, and true beyond the tolerance
    laws = [silent.law(np.array([each, each])) for each in at]
    false_ring, miss = (1 - Fraction(int(laws[0][0]), ONE), Fraction(int(laws[1][0]), ONE))
    assert false_ring <= Fraction(1, 100)
    assert miss <= Fraction(1, 20)
    mu = mu_of(silent.units) + Fraction(1, 2**85)  # more than a quantile here is off by
    steps = [quantile(Fraction(each, ONE)) for each in silent.probabilities.tolist()]
    assert all(0 < high - low <= mu for low, high in pairwise(steps))
    assert operator.plan.epsilon == from_loss_units(silent.units)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (written(keys="mechanism: svt"), "svt has no law that a Gaussian budget pays"),
        (written(keys="mechanism: ppwlm"), "ppwlm has no law that a Gaussian budget pays"),
        (
            written(keys="mechanism: panes\n    tolerance: 9", unit="event"),
            "panes has no law that a Gaussian budget pays",
        ),
        (
            written(
                having="ABS(COUNT(*) - REFERENCE) >= 9",
                keys='mechanism: decider\n    reference: 40\n    epsilon: "0.5"',
            ),
            "decider has no law that a Gaussian budget pays",
        ),
        (written(having="COUNT(*) > 30 AND COUNT(*) < 90"), "this HAVING comes to 2 tests"),
        (
            written(window="CUMULATE(ts, INTERVAL '10' MINUTE, INTERVAL '1' HOUR)", unit="event"),
            "no Gaussian budget pays for early alarms",
        ),
        (
            written(keys="tolerance: auto\n    usual: 5\n    false_rings: 1 per week"),
            "cannot be left to `tocsin plan` under it",
        ),
    ],
)
def test_what_it_does_not_pay_is_refused(tmp_path: Path, text: str, said: str) -> None:
    """By the file's reader, in one sentence; the same file passes under a pure promise."""
    report = examined(tmp_path, text)
    errors = [one for one in report.errors if one.message.startswith("promise: gdp: ")]
    assert [said in one.message for one in errors] == [True]
    assert "promise: pure" in errors[0].hint
    assert not examined(tmp_path, text.replace(GDP, "")).errors


def test_no_mechanism_is_planned_that_it_does_not_pay(tmp_path: Path) -> None:
    """Also not by who plans without a file: a pure law is never charged as if it were another."""
    report = examined(tmp_path, written())
    assert report.alarms is not None
    query = report.alarms.queries["crowd"]
    for name, mechanism in ALL.items():
        if mechanism.gaussian is None and mechanism.bands is None:
            with pytest.raises(ConfigError, match="under a Gaussian promise"):
                create(name, query.condition, query.aim, experimental=True)
