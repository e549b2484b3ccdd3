"""Deciders: is a private aggregate less than tau away from a public reference?

After DP-PQD. Every decider is planned from (aggregate, epsilon, tau), says which integer statistics
of every cell it needs, and answers with one bit per cell. The proofs are in
``docs/proofs/deciders.md``. May import ``operators.single`` and what is below it.
"""

from operators.base import Decider
from operators.conditions.weights import Statistic
from operators.deciders.base import Count, Kind, Quantile, Sum
from operators.deciders.effectiveness import (
    DECIDER_NAMES,
    DECIDERS,
    Choice,
    choose,
    effective_from,
    exponential_threshold,
    kept_from,
    planned,
    tau_min,
    units_min,
)
from operators.deciders.quantiles import ExponentialQuantileBand, HistogramBand
from operators.deciders.single import ExponentialBand, LaplaceBand
from operators.deciders.sums import LevelBound, RaceBand, SparseBand, levels_of
from operators.deciders.tight import TightBand

__all__ = [
    "DECIDERS",
    "DECIDER_NAMES",
    "Choice",
    "Count",
    "Decider",
    "ExponentialBand",
    "ExponentialQuantileBand",
    "HistogramBand",
    "Kind",
    "LaplaceBand",
    "LevelBound",
    "Quantile",
    "RaceBand",
    "SparseBand",
    "Statistic",
    "Sum",
    "TightBand",
    "choose",
    "effective_from",
    "exponential_threshold",
    "kept_from",
    "levels_of",
    "planned",
    "tau_min",
    "units_min",
]
