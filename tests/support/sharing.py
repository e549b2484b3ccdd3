"""How tests are shared out to processes that run side by side (pytest-xdist, ``loadgroup``).

Tests on a broker mostly wait: for windows to end, for workers to come and go. They are the first to
start, in three groups, each in one process with a broker and a database of its own; meanwhile the
other processes take the rest, test by test. What waits in one leaves the machine to the others and
to what computes. The soak kills its broker, and has a process to itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["share"]

_BROKERS: Final = frozenset({"broker", "own_broker", "guarded"})
_SECOND: Final = frozenset(
    {
        "test_acls.py",
        "test_commands.py",
        "test_corrupt_batches.py",
        "test_crash_matrix.py",
        "test_formula_alarms.py",
        "test_pages.py",
        "test_punctuation.py",
        "test_restore_drill.py",
        "test_same_aggregates.py",
    }
)
_THIRD: Final = frozenset(
    {
        "test_bad_feeds.py",
        "test_batches.py",
        "test_bridge.py",
        "test_claims.py",
        "test_consumers.py",
        "test_deliver.py",
        "test_downtime.py",
        "test_embedded.py",
        "test_ends.py",
        "test_ledger_rolled_back.py",
        "test_partitions.py",
        "test_progressive_alarms.py",
        "test_rollback.py",
        "test_simulate.py",
    }
)
"""The files on the second and on the third broker: they take about as long as all other ones, and
the run ends when the slowest of the groups does."""

_SOAK: Final = "test_soak.py"


def share(items: list[pytest.Item]) -> None:
    """Put tests on a broker first, and mark the group of each."""
    items.sort(key=lambda item: not _needs_broker(item))
    for item in items:
        if _needs_broker(item):
            item.add_marker(pytest.mark.xdist_group(_group(item)))


def _group(item: pytest.Item) -> str:
    if item.path.name == _SOAK:
        return "soak"
    if item.path.name in _SECOND:
        return "broker-2"
    return "broker-3" if item.path.name in _THIRD else "broker-1"


def _needs_broker(item: pytest.Item) -> bool:
    if item.path.name == _SOAK:
        return True
    names: Sequence[str] = getattr(item, "fixturenames", ())
    return not _BROKERS.isdisjoint(names)
