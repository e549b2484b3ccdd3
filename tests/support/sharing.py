"""How tests are shared out to processes that run side by side (pytest-xdist, ``loadgroup``).

Tests on a broker mostly wait: for windows to end, for workers to come and go. They are the first to
start, in four groups, each in one process with a broker and a database of its own; meanwhile the
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
_GROUPS: Final = {
    "broker-2": (
        "test_acls.py",
        "test_commands.py",
        "test_corrupt_batches.py",
        "test_crash_matrix.py",
        "test_formula_alarms.py",
        "test_pages.py",
    ),
    "broker-3": (
        "test_bad_feeds.py",
        "test_batches.py",
        "test_bridge.py",
        "test_claims.py",
        "test_consumers.py",
        "test_deliver.py",
        "test_downtime.py",
        "test_ends.py",
        "test_reference_feeds.py",
    ),
    "broker-4": (
        "test_growth.py",
        "test_outages.py",
        "test_partitions.py",
        "test_punctuation.py",
        "test_restore_drill.py",
        "test_rollback.py",
        "test_same_aggregates.py",
        "test_upgrade.py",
        "test_workers.py",
    ),
    "soak": ("test_soak.py",),
}
"""The files on other brokers than the first: a group takes about as long as all other files do, and
the run ends when the slowest of the groups does."""

_GROUP_OF: Final = {name: group for group, names in _GROUPS.items() for name in names}


def share(items: list[pytest.Item]) -> None:
    """Put tests on a broker first, and mark the group of each."""
    items.sort(key=lambda item: not _needs_broker(item))
    for item in items:
        if _needs_broker(item):
            group = _GROUP_OF.get(item.path.name, "broker-1")
            item.add_marker(pytest.mark.xdist_group(group))


def _needs_broker(item: pytest.Item) -> bool:
    if _GROUP_OF.get(item.path.name) == "soak":
        return True
    names: Sequence[str] = getattr(item, "fixturenames", ())
    return not _BROKERS.isdisjoint(names)
