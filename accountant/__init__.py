"""Theory and ledger: what was lost, and whether more may be."""

from __future__ import annotations

from accountant.charges import CellCosts, Charge, UniformCost, WindowKey
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
    "PrivacyUnit",
    "UniformCost",
    "WindowKey",
    "floor_loss_units",
    "from_loss_units",
    "to_loss_units",
]
