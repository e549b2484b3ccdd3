"""Noisy counts that a window leaves for others to be decided from."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Noisy"]


@dataclass(frozen=True, slots=True)
class Noisy:
    """What a pane's one draw left: stored with its decision, once, and read for nothing more.

    Args:
        counts: of all its cells, in the caller's encoding.
        kept_from_ms: no window to come reads a pane of its query that starts before this.
    """

    counts: bytes
    kept_from_ms: int
