"""Deciders: is a private aggregate less than tau away from a public reference?

After DP-PQD. Every decider is planned from (aggregate, epsilon, tau), says which integer statistics
of every cell it needs, and answers with one bit per cell. The proofs are in
``docs/proofs/deciders.md``.
"""

from operators.deciders.base import Count, Decider, Kind, Quantile, Statistic, Sum
from operators.deciders.effectiveness import (
    DECIDERS,
    Choice,
    choose,
    exponential_threshold,
    laplace_error,
    laplace_threshold,
    planned,
    race_threshold,
    tau_min,
    units_min,
)
from operators.deciders.quantiles import ExponentialQuantileBand, HistogramBand
from operators.deciders.single import ExponentialBand, LaplaceBand
from operators.deciders.sums import LevelBound, RaceBand, SparseBand, levels_of
from operators.deciders.tight import TightBand

__all__ = [
    "DECIDERS",
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
    "exponential_threshold",
    "laplace_error",
    "laplace_threshold",
    "levels_of",
    "planned",
    "race_threshold",
    "tau_min",
    "units_min",
]
