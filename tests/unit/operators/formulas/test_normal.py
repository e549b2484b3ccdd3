"""Formulas under a Gaussian budget: on which grid a statistic's noise is planned."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from operators.conditions.condition import Aim, Condition, ThresholdAtom
from operators.conditions.formula import Formula
from operators.formulas.normal import NormalTslm


def test_a_finer_grid_whose_steps_leave_the_numbers_is_not_taken() -> None:
    """Thresholds near 2^61 are planned in steps of three, and on no grid of single ones."""
    far, rate = 1 << 61, Fraction(1, 20)
    atoms = {
        "a": ThresholdAtom(0, np.array([far], dtype=np.int64)),
        "b": ThresholdAtom(0, np.array([far + 31], dtype=np.int64)),
    }
    condition = Condition(Formula.parse("a AND NOT b"), atoms, (3,))
    operator = NormalTslm.planned(condition, Aim(rate, (3, 3), gaussian=True))
    assert len(operator.values) == 2
    chances = operator.chances(0, np.array([[far - 50, far + 15, far + 90]], dtype=np.int64))
    assert chances is not None
    assert (chances > 1 - float(rate)).tolist() == [False, True, False]
