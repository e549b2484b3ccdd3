"""Theory and ledger: what was lost, and whether more may be; imports neither other package."""

from __future__ import annotations

from accountant.costs.charges import CellCosts, Charge, UniformCost, WindowKey
from accountant.costs.minentropy import MinEntropy, min_entropy
from accountant.loss.maxoverlap import Overlap, maximum_overlap
from accountant.regions.regions import Not, Region, ValueSet
from accountant.units import (
    UNITS_PER_EPSILON,
    Contribution,
    PrivacyUnit,
    floor_loss_units,
    from_loss_units,
    to_loss_units,
)

__all__ = [
    "UNITS_PER_EPSILON",
    "CellCosts",
    "Charge",
    "Contribution",
    "MinEntropy",
    "Not",
    "Overlap",
    "PrivacyUnit",
    "Region",
    "UniformCost",
    "ValueSet",
    "WindowKey",
    "floor_loss_units",
    "from_loss_units",
    "maximum_overlap",
    "min_entropy",
    "to_loss_units",
]
