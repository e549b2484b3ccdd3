"""The largest composed loss that one row can have from a list of regions."""

from accountant.loss.maxoverlap.composing import Gdp, PureSum, Rdp
from accountant.loss.maxoverlap.l1error import L1Error, average_l1_error
from accountant.loss.maxoverlap.solver import Overlap, maximum_overlap, utility_gain

__all__ = [
    "Gdp",
    "L1Error",
    "Overlap",
    "PureSum",
    "Rdp",
    "average_l1_error",
    "maximum_overlap",
    "utility_gain",
]
