"""The named points of the protocol at which a process may die, for tests that make it die there."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

from accountant.costs.charges import WindowKey

__all__ = ["Step", "StepHook", "no_step"]


class Step(StrEnum):
    """A point between two effects."""

    AFTER_POLL = "after_poll"
    """Records were fetched, none was counted."""
    BEFORE_PARTIAL = "before_partial"
    """A window was counted on one partition, its partial is not stored."""
    AFTER_PARTIAL = "after_partial"
    """The partial is stored, no wake-up message was sent."""
    AFTER_RESERVE = "after_reserve"
    """The worst case is reserved, nothing was drawn."""
    AFTER_DRAW = "after_draw"
    """Noise was drawn, the decision is not stored."""
    AFTER_COMMIT = "after_commit"
    """The decision is stored, nothing was published."""
    AFTER_PUBLISH = "after_publish"
    """Records were sent, the decision is not marked as published."""


StepHook = Callable[[Step, WindowKey | None], None]
"""Told the step, and the window where there is one."""


def no_step(_step: Step, _key: WindowKey | None) -> None:
    """Do nothing: what production passes."""
