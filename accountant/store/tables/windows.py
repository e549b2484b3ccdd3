"""Rows of windows: the columns that name the window."""

from typing import Any, Final

from accountant.costs.charges import WindowKey

__all__ = ["WINDOW", "OfWindow", "window_columns"]


WINDOW: Final = ("query", "start_ms", "end_ms")
"""The columns."""


class OfWindow:
    """A row of one window."""

    __slots__ = ()

    query: str
    start_ms: int
    end_ms: int

    @property
    def key(self) -> WindowKey:
        """The window."""
        return WindowKey(end_ms=self.end_ms, query=self.query, start_ms=self.start_ms)

    @property
    def window(self) -> tuple[str, int, int]:
        """The columns' values: cheaper than the key where there are many."""
        return self.query, self.start_ms, self.end_ms


def window_columns(key: WindowKey) -> dict[str, Any]:
    """Return a window as columns."""
    return {name: getattr(key, name) for name in WINDOW}
