"""The largest composed loss that one row can have from a list of regions."""

from accountant.loss.maxoverlap.composing import Gdp, PureSum, Rdp
from accountant.loss.maxoverlap.solver import Overlap, maximum_overlap, utility_gain

__all__ = ["Gdp", "Overlap", "PureSum", "Rdp", "maximum_overlap", "utility_gain"]
