"""Theory and ledger: what was lost, and whether more may be; imports neither other package."""

from __future__ import annotations

from accountant.budget.filter import EventFilter, UserFilter
from accountant.budget.keeping import Keeper, Keepers, OpenRun
from accountant.costs.charges import CellCosts, Charge, PeriodCap, UniformCost, WindowKey
from accountant.costs.levels import LevelCosts
from accountant.costs.minentropy import MinEntropy, min_entropy
from accountant.loss.composition import WorstRow, worst_row
from accountant.loss.maxoverlap import (
    Gdp,
    L1Error,
    Overlap,
    PureSum,
    Rdp,
    average_l1_error,
    maximum_overlap,
    utility_gain,
)
from accountant.loss.rowcharges import Cells, RowCharge
from accountant.regions.regions import Not, Region, ValueSet
from accountant.regions.shapes import ANYWHERE
from accountant.units import (
    UNITS_PER_EPSILON,
    Contribution,
    PrivacyUnit,
    floor_loss_units,
    from_loss_units,
    to_loss_units,
)

__all__ = [
    "ANYWHERE",
    "UNITS_PER_EPSILON",
    "CellCosts",
    "Cells",
    "Charge",
    "Contribution",
    "EventFilter",
    "Gdp",
    "Keeper",
    "Keepers",
    "L1Error",
    "LevelCosts",
    "MinEntropy",
    "Not",
    "OpenRun",
    "Overlap",
    "PeriodCap",
    "PrivacyUnit",
    "PureSum",
    "Rdp",
    "Region",
    "RowCharge",
    "UniformCost",
    "UserFilter",
    "ValueSet",
    "WindowKey",
    "WorstRow",
    "average_l1_error",
    "floor_loss_units",
    "from_loss_units",
    "maximum_overlap",
    "min_entropy",
    "to_loss_units",
    "utility_gain",
    "worst_row",
]
