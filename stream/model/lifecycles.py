"""When an alarm begins and ends, and what is said of it: read from rings that were published.

Rings and denials are released already, so that whatever is computed from them costs nothing. No
lifecycle enters an alarm's fingerprint: changing one changes no decision and no charge.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["EVERY_WINDOW", "Lifecycle"]


@dataclass(frozen=True, slots=True)
class Lifecycle:
    """The terms of one alarm's lifecycle; windows are answered ones, in the order they end.

    Args:
        needed: a group fires once it rang in so many ...
        among: ... of its last so many windows; ``needed`` for windows in a row.
        resolve_after: it is resolved once it was silent in so many windows in a row.
        labels: who is told, in templates over the alarm's name and its group.
        annotations: what is told, in templates over all public fields.
    """

    needed: int = 1
    among: int = 1
    resolve_after: int = 1
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)

    @property
    def every_window(self) -> bool:
        """Whether one ring is enough to fire, and one silent window to resolve."""
        return self.needed == self.among == self.resolve_after == 1


EVERY_WINDOW: Final = Lifecycle()
"""The lifecycle of an alarm that says nothing of one."""
