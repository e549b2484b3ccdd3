"""How tests are shared out to processes that run side by side (pytest-xdist, ``loadfile``).

A file is run by one process from its first test to its last, so that what its tests share (a fleet
of workers, a wheel, a broker with its topics) is made once, and not once in every process. Groups
of single tests would do the same, but pytest-xdist 3.8 marks them in a way that pytest 9.2 does not
see: then each test goes to whoever is free, and nobody says so.

Files that take minutes of clock come first, then all others on a broker. They mostly wait, for
windows to end and for workers to come and go, and leave the machine to what computes; what is short
comes last, so that all processes end together.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pytest

_BROKERS = frozenset({"broker", "own_broker", "guarded"})
_MINUTES = (
    "soak/test_soak.py",
    "integration/test_up.py",
    "integration/test_crash_matrix.py",
    "integration/test_add_partitions.py",
    "integration/test_reference_feeds.py",
    "integration/test_restore_drill.py",
    "integration/test_acls.py",
    "integration/test_early_alarms.py",
)
"""Whatever begins last must not be one of these: the run would wait for it alone."""
_ON_A_BROKER: set[Path] = set()


def share(items: list[pytest.Item]) -> None:
    """Put the files that take longest first, then those on a broker; keep each file together."""
    files = [list(tests) for _, tests in groupby(items, key=lambda item: item.path)]
    _ON_A_BROKER.update(tests[0].path for tests in files if any(map(_needs_broker, tests)))
    files.sort(key=_rank)  # in each rank as they were
    items[:] = [item for tests in files for item in tests]


def _rank(tests):
    place = "/".join(tests[0].path.parts[-2:])
    if place in _MINUTES:
        return _MINUTES.index(place)
    return len(_MINUTES) + (not on_a_broker(tests[0]))


def on_a_broker(item: pytest.Item) -> bool:
    """Tell whether a test of this one's file asks for a broker; those of later files may not."""
    return item.path in _ON_A_BROKER


def _needs_broker(item):
    names: Sequence[str] = getattr(item, "fixturenames", ())
    return not _BROKERS.isdisjoint(names)
