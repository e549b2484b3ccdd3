"""Predicate-wise composition: what charges over different regions and groups cost together."""

from accountant.loss.composition.charges import Cells, RowCharge, row_loss
from accountant.loss.composition.losses import PredicateLosses, loss_by_predicate
from accountant.loss.composition.worst import NODE_LIMIT, WorstRow, worst_row

__all__ = [
    "NODE_LIMIT",
    "Cells",
    "PredicateLosses",
    "RowCharge",
    "WorstRow",
    "loss_by_predicate",
    "row_loss",
    "worst_row",
]
