"""What is said of a decider that was chosen: from configuration alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from operators.conditions.widths import Relative

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

    from operators.conditions.widths import HalfWidth
    from operators.deciders.base import Average

__all__ = ["Choice", "of_mean", "of_quantile", "of_width"]


@dataclass(frozen=True, slots=True)
class Choice:
    """What ``decider: auto`` took.

    Args:
        decider: its name.
        threshold: its effectiveness threshold in units of the aggregate, with the boundary that it
            is planned with; for a quantile, how many privacy units past the end of the band the
            answer is right with probability 1 - delta, for a mean how many steps. ``None`` where no
            tau, or number, is enough.
        effective: whether tau reaches the threshold; ``None`` for a quantile or a mean, whose
            threshold does not compare with tau, and where tau is a share of the reference.
        why: one sentence for the plan; configuration only.
    """

    decider: str
    threshold: int | None
    effective: bool | None
    why: str


def of_width(
    tau: HalfWidth, threshold: int, written: Callable[[int], str]
) -> tuple[bool | None, str]:
    """Return whether a half-width reaches an effectiveness threshold, and the words for it.

    Args:
        tau: of the bands.
        threshold: in units of the aggregate.
        written: writes either.

    Returns:
        ``None`` for a share of references, as it depends on them.
    """
    if isinstance(tau, Relative):
        least = written(tau.reached_from(threshold))
        return None, f"tau = {float(100 * tau.share):g}% is enough from a reference of {least} on"
    effective = tau >= threshold
    return effective, f"tau = {written(tau)} is {'enough' if effective else 'too small'}"


def of_quantile(needed: int, delta: Fraction) -> str:
    """Return how sure ``tight`` is of a quantile.

    Args:
        needed: units that have to change for another answer.
        delta: error probability.
    """
    return (
        f"tight is right with probability {float(1 - delta):g} if {needed} or more persons or"
        " events would have to change for another answer; hist and em cost more"
    )


def of_mean(kind: Average, steps: int, delta: Fraction, written: Callable[[int], str]) -> str:
    """Return how sure ``tight`` is of a mean, where the ends of its band lie within the clip.

    Args:
        kind: the mean.
        steps: from the end of the band on.
        delta: error probability.
        written: writes a distance.
    """
    far = steps * kind.events * kind.scale * (kind.high - kind.low)
    return (
        f"tight is right with probability {float(1 - delta):g} about a mean of n events that lies"
        f" {written(far)} / n or more from the end of its band; lm pays for n and for the sum"
    )
