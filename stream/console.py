"""What a person at a terminal sees: a replay as it runs, plans, the budget.

Only configuration and released values are shown (promise 6).
"""

from __future__ import annotations

from collections import Counter, deque
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table
from rich.text import Text

from accountant.units import PrivacyUnit, from_loss_units

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from types import TracebackType
    from typing import Self

    from rich.console import RenderableType

    from accountant.records import LedgerStatus, ScopeStatus

__all__ = ["ReplayView", "budget_bars", "iso", "ledger_place", "number", "status_table"]

_LAST_ALARMS = 8
_BAR_CELLS = 30
_FULL, _EMPTY = "█", "░"


def iso(time_ms: int) -> str:
    """Return an instant as ISO 8601 in UTC, to the second where it is whole."""
    instant = datetime.fromtimestamp(time_ms / 1000, UTC)
    return instant.isoformat(timespec="milliseconds" if time_ms % 1000 else "seconds").replace(
        "+00:00", "Z"
    )


def number(value: float) -> str:
    """Return a loss with three decimals, as plans and budgets print it."""
    return f"{value:.3f}"


def ledger_place(url: str) -> str:
    """Return where a ledger lies, without a password."""
    if url.startswith("sqlite:///"):
        return url.removeprefix("sqlite:///")
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, "", ""))
