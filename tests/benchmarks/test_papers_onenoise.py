"""One noise beside ProBE by name, in short: plan, replay and ledger say what is measured."""

from __future__ import annotations

from fractions import Fraction

import pytest

from benchmarks.papers.onenoise import report as study
from operators.conditions.condition import Aim
from operators.registry import price
from tests.support.formulas import condition


def test_conditions_go_the_whole_way():
    """Prices are the operators' own, and what the ledger has is within them."""
    found = study.measured(rooms=1, sizes=(2,))
    rate = Fraction(1, 20)
    for operator in ("OR", "AND"):
        of = condition(f"a {operator} b")
        for mechanism, one in found[operator, 2].items():
            aim = Aim(rate, (study.TOLERANCE,) * 2, rate, first_tolerances=(12, 12))
            assert one.reserved == pytest.approx(float(price(mechanism, of, aim).epsilon))
            assert 0 < one.far <= one.near <= one.reserved + 1e-9
            assert one.cells == 25
            assert max(one.missed, one.rang) < 0.4
        assert found[operator, 2]["tslm"].near == pytest.approx(found[operator, 2]["tslm"].limit)
    text = "\n".join(study.lines_of(found))
    assert text.count("`probe-ent`") == 2
    assert "OR of 2 reserves 0.415 with" in " ".join(text.split())
