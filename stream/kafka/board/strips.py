"""Strips of windows as SVG paths: one cell a window, the newest at the right.

Written from numbers alone. What a window was is told by shape, and by colour besides: full where
it fired, half where it had fired earlier in the same window, a dash where it did not fire, a cross
where it was denied, a circle where it is not known; a dashed line where windows are lost.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from stream.kafka.board.standing import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from stream.kafka.board.standing import Group, Seen

__all__ = ["HEIGHT", "SHAPES", "WIDTH", "Strip", "Strips"]

WIDTH: Final = 10
"""Of a cell."""
HEIGHT: Final = 20
"""Of a strip."""

_FIRED: Final = "fired"
_EARLIER: Final = "earlier"
SHAPES: Final[Mapping[str, str]] = {
    _FIRED: "m1 1h8v18h-8z",
    _EARLIER: "m1 11h8v8h-8z",
    Outcome.NOT_FIRED: "m3 15h4",
    Outcome.DENIED: "m2 5l6 10m0-10l-6 10",
    Outcome.UNSURE: "m2 10a3 3 0 1 0 6 0a3 3 0 1 0-6 0",
    "lost": "v20",
}
"""By kind, how a window is drawn from the upper left corner of its cell."""


@dataclass(frozen=True, slots=True)
class Strip:
    """One row of the map.

    Args:
        paths: by kind, what is drawn.
        counts: by kind, how many windows are of it.
        last: which window fired last; ``None`` where none did.
    """

    paths: Mapping[str, str]
    counts: Mapping[str, int]
    last: int | None


class Strips:
    """The rows of one alarm.

    Args:
        seen: its windows, newest last.
    """

    def __init__(self, seen: Sequence[Seen]) -> None:
        self._seen = seen
        self.fired: dict[Group, list[int]] = defaultdict(list)
        """In which windows each group fired."""
        self._earlier: dict[Group, list[int]] = defaultdict(list)
        for at, window in enumerate(seen):
            for group in window.fired:
                self.fired[group].append(at)
            for group in window.earlier:
                self._earlier[group].append(at)
        lost = [at for at, window in enumerate(seen) if window.lost]
        self._lost = "".join(_cell(at, "lost") for at in lost)

    def of(self, group: Group) -> Strip:
        """Return the row of one group."""
        kinds: list[str] = [window.outcome.value for window in self._seen]
        for kind, places in ((_EARLIER, self._earlier), (_FIRED, self.fired)):
            for at in places.get(group, ()):
                kinds[at] = kind
        return self._strip(kinds)

    def any(self) -> Strip:
        """Return the row of all groups together."""
        return self._strip([_kind(window) for window in self._seen])

    def _strip(self, kinds: Sequence[str]) -> Strip:
        paths: dict[str, str] = defaultdict(str)
        for at, kind in enumerate(kinds):
            paths[kind] += _cell(at, kind)
        if self._lost:
            paths["lost"] = self._lost
        fired = [at for at, kind in enumerate(kinds) if kind == _FIRED]
        return Strip(dict(paths), Counter(kinds), fired[-1] if fired else None)


def _cell(at: int, kind: str) -> str:
    return f"M{at * WIDTH} 0{SHAPES[kind]}"


def _kind(window: Seen) -> str:
    if window.alarms:
        return _FIRED
    if window.earlier and window.outcome is Outcome.NOT_FIRED:
        return _EARLIER
    return window.outcome.value
