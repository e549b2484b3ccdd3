"""How what was published is shown to analysts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Board"]


@dataclass(frozen=True, slots=True)
class Board:
    """A page for analysts.

    Args:
        listen: ``(host, port)`` of the page; port 0 for any that is free.
        token: password of the page; empty for none.
        windows: how many of the last windows of an alarm are shown.
        groups: how many groups of an alarm are shown.
        lookback_ms: how far back the topics are read at the start, to find what is firing.
        links: what else analysts may see, by what it is called: addresses of dashboards.
    """

    listen: tuple[str, int] = ("127.0.0.1", 8470)
    token: str = field(default="", repr=False)
    windows: int = 48
    groups: int = 40
    lookback_ms: int = 7 * 86_400_000
    links: Mapping[str, str] = field(default_factory=dict)
