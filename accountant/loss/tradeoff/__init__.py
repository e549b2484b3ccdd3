"""Trade-off functions (f-differential privacy): composed, in parallel, and told as epsilon, delta.

Nothing that is live rests on them: budgets are sums of pure losses.
"""

from accountant.loss.tradeoff.curve import TradeOff, lower_envelope
from accountant.loss.tradeoff.families import (
    approximate,
    discrete_laplace,
    gaussian,
    identity,
    laplace,
    pure,
)
from accountant.loss.tradeoff.overlapping import overlapping
from accountant.loss.tradeoff.product import Between, tensor, tensor_power

__all__ = [
    "Between",
    "TradeOff",
    "approximate",
    "discrete_laplace",
    "gaussian",
    "identity",
    "laplace",
    "lower_envelope",
    "overlapping",
    "pure",
    "tensor",
    "tensor_power",
]
