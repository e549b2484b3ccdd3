"""Sparse vector: alarms over many windows under one noisy threshold, paid per alarm.

May import ``operators.single`` and what is below it.
"""

from operators.svt.correction import (
    Exponential,
    Gaussian,
    Gumbel,
    Laplace,
    integer_correction,
    svt_correction,
)
from operators.svt.mechanism import Svt
from operators.svt.run import RunDecision, RunState, ask, open_run
from operators.svt.split import optimal_split
from operators.svt.terms import SvtPlan, accuracy

__all__ = [
    "Exponential",
    "Gaussian",
    "Gumbel",
    "Laplace",
    "RunDecision",
    "RunState",
    "Svt",
    "SvtPlan",
    "accuracy",
    "ask",
    "integer_correction",
    "open_run",
    "optimal_split",
    "svt_correction",
]
