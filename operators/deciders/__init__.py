"""Deciders: is a private aggregate less than tau away from a public reference?

After DP-PQD. Every decider is planned from (aggregate, epsilon, tau), says which integer statistics
of every cell it needs, and answers with one bit per cell. The proofs are in
``docs/research/proofs/deciders.md``. May import ``operators.single`` and what is below it.
"""

from operators.base import Decider
from operators.conditions.weights import Statistic
from operators.conditions.widths import HalfWidth, Relative, half_widths
from operators.deciders.averages import AverageLaplaceBand
from operators.deciders.base import Average, Count, Kind, Quantile, Sum
from operators.deciders.bounds import LevelBound, PrivateBound
from operators.deciders.effectiveness import (
    DECIDER_NAMES,
    DECIDERS,
    Choice,
    choose,
    exponential_threshold,
    planned,
    tau_min,
    units_min,
)
from operators.deciders.overdomain import OverDomain
from operators.deciders.quantiles import ExponentialQuantileBand, HistogramBand
from operators.deciders.single import ExponentialBand, LaplaceBand
from operators.deciders.sums import RaceBand, SparseBand, levels_of
from operators.deciders.tight import TightBand

__all__ = [
    "DECIDERS",
    "DECIDER_NAMES",
    "Average",
    "AverageLaplaceBand",
    "Choice",
    "Count",
    "Decider",
    "ExponentialBand",
    "ExponentialQuantileBand",
    "HalfWidth",
    "HistogramBand",
    "Kind",
    "LaplaceBand",
    "LevelBound",
    "OverDomain",
    "PrivateBound",
    "Quantile",
    "RaceBand",
    "Relative",
    "SparseBand",
    "Statistic",
    "Sum",
    "TightBand",
    "choose",
    "exponential_threshold",
    "half_widths",
    "levels_of",
    "planned",
    "tau_min",
    "units_min",
]
