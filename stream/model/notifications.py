"""Where alarms are brought: targets, and what becomes of what they do not take."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["NotifySettings", "TargetSettings"]


@dataclass(frozen=True, slots=True)
class TargetSettings:
    """One target; the file of its kind in ``stream/kafka/notify/`` takes its keys by their names.

    Args:
        kind: its key below ``notify``.
        name: as configured.
        keys: what is written below the name, checked; a secret may be among it.
    """

    kind: str
    name: str
    keys: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True, slots=True)
class NotifySettings:
    """Where alarms are brought.

    Args:
        group: consumer group whose offsets say how far.
        lookback_ms: at the start, states are found by reading back so far.
        retry_for_ms: what a target did not take for so long is given up.
        targets: in the order of the file's keys.
    """

    group: str
    lookback_ms: int
    retry_for_ms: int
    targets: tuple[TargetSettings, ...]
