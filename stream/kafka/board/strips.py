"""A strip of windows as SVG paths: one cell a window, newest at the right.

Written from numbers alone. What a window was is told by shape, and by colour besides: full where
it rang, half where it had rung earlier in the same window, a dash where it was silent, a cross
where it was denied, a circle where it is not known; a dashed line where windows are lost.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from stream.kafka.board.standing import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from stream.kafka.board.standing import Predicate, Seen

__all__ = ["HEIGHT", "SHAPES", "WIDTH", "Strip", "strip_of"]

WIDTH: Final = 10
"""Of a cell."""
HEIGHT: Final = 20
"""Of a strip."""

_RANG: Final = "rang"
_EARLIER: Final = "earlier"
SHAPES: Final[Mapping[str, str]] = {
    _RANG: "m1 1h8v18h-8z",
    _EARLIER: "m1 11h8v8h-8z",
    Outcome.SILENT: "m3 15h4",
    Outcome.DENIED: "m2 5l6 10m0-10l-6 10",
    Outcome.UNSURE: "m2 10a3 3 0 1 0 6 0a3 3 0 1 0-6 0",
    "lost": "v20",
}


@dataclass(frozen=True, slots=True)
class Strip:
    """One row of the map.

    Args:
        paths: by kind, what is drawn.
        counts: by kind, how many windows are of it.
    """

    paths: Mapping[str, str]
    counts: Mapping[str, int]


def strip_of(seen: Sequence[Seen], predicate: Predicate | None) -> Strip:
    """Draw the windows of one predicate, or of any.

    Args:
        seen: windows, newest last.
        predicate: whose; ``None`` for any of the alarm.
    """
    paths: dict[str, list[str]] = defaultdict(list)
    counts: dict[str, int] = defaultdict(int)
    for at, window in enumerate(seen):
        kind = _kind(window, predicate)
        counts[kind] += 1
        paths[kind].append(f"M{at * WIDTH} 0{SHAPES[kind]}")
        if window.lost:
            counts["lost"] += window.lost
            paths["lost"].append(f"M{at * WIDTH} 0{SHAPES['lost']}")
    return Strip({kind: "".join(parts) for kind, parts in paths.items()}, counts)


def _kind(window: Seen, predicate: Predicate | None) -> str:
    if predicate is None:
        held = bool(window.earlier) and window.outcome is Outcome.SILENT
        return _RANG if window.rings else _EARLIER if held else window.outcome.value
    if predicate in window.rang:
        return _RANG
    return _EARLIER if predicate in window.earlier else window.outcome.value
