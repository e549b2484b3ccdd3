"""In what losses are told: an epsilon, or under a Gaussian promise rho, and what that comes to.

Wherever an epsilon of a Gaussian budget is shown, its delta and the kind of promise stand beside
it; what adds up is shown as rho, which is ``mu^2 / 2``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accountant.units import from_loss_units
from stream.model.numbers import decimal

if TYPE_CHECKING:
    from accountant.loss.gaussian import Gaussian

__all__ = [
    "equivalent_text",
    "loss_name",
    "loss_text",
    "rounded_loss",
    "shown_entropy",
    "shown_epsilon",
    "spent_fields",
    "wall_fields",
    "wall_text",
]


def loss_name(gaussian: Gaussian | None) -> str:
    """Return what losses are counted in: ``epsilon``, or ``rho`` under a Gaussian promise."""
    return "epsilon" if gaussian is None else "rho"


def wall_text(gaussian: Gaussian | None, units: int) -> str:
    """Return a wall in full: what was written, the kind of promise, and what adds up to it.

    Args:
        gaussian: the Gaussian promise; ``None`` for a pure one.
        units: the wall, in loss units.
    """
    if gaussian is None:
        return f"epsilon_max {decimal(from_loss_units(units))}"
    return (
        f"epsilon_max {decimal(gaussian.epsilon)} with delta {float(gaussian.delta):g}"
        f" (privacy: gdp, rho {rounded_loss(gaussian, units)} at most)"
    )


def wall_fields(gaussian: Gaussian | None, units: int) -> dict[str, str]:
    """Return a wall as fields of a JSON object, the kind of promise beside it.

    Args:
        gaussian: the Gaussian promise; ``None`` for a pure one.
        units: the wall, in loss units.
    """
    wall = decimal(from_loss_units(units))
    if gaussian is None:
        return {"epsilon_max": wall}
    return {
        "privacy": "gdp",
        "epsilon_max": decimal(gaussian.epsilon),
        "delta": decimal(gaussian.delta),
        "rho_max": wall,
    }


def spent_fields(gaussian: Gaussian | None, units: int) -> dict[str, float]:
    """Return what a sum of rho comes to at the promise's delta; nothing of a pure loss.

    Args:
        gaussian: the Gaussian promise; ``None`` for a pure one.
        units: the sum, in loss units.
    """
    return {} if gaussian is None else {"spent_epsilon_at_delta": gaussian.epsilon_of(units)}


def rounded_loss(gaussian: Gaussian | None, units: float) -> str:
    """Return a loss to three decimals; of rho, which is small, to four digits."""
    loss = float(from_loss_units(int(units)))
    return f"{loss:.3f}" if gaussian is None else f"{loss:.4g}"


def loss_text(gaussian: Gaussian | None, units: float) -> str:
    """Return the same for a sentence, where rho is named."""
    return f"{'' if gaussian is None else 'rho '}{rounded_loss(gaussian, units)}"


def equivalent_text(gaussian: Gaussian | None, units: int) -> str:
    """Return what a sum of rho comes to, in words to put behind it; nothing of a pure loss."""
    if gaussian is None:
        return ""
    epsilon = gaussian.epsilon_of(units)
    return f" (epsilon {epsilon:.3f} with delta {float(gaussian.delta):g}, gdp)"


def shown_entropy(nats: float) -> float:
    """Return a min-entropy as it is shown: what comes behind differs between processors."""
    return float(f"{nats:.10g}")


def shown_epsilon(gaussian: Gaussian | None, units: int) -> float:
    """Return the epsilon of a loss: of a Gaussian one at its delta, which must stand beside it."""
    if gaussian is None:
        return float(from_loss_units(units))
    return gaussian.epsilon_of(units)
