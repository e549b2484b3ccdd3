"""How tests are shared out to processes: the longest file first."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.support import sharing
from tests.support.tree import ROOT


def item(path: str, *fixtures: str) -> Any:
    """Return what looks like a test of a file."""
    return SimpleNamespace(path=ROOT / "tests" / path, fixturenames=fixtures)


def test_the_longest_come_first_and_then_what_waits_for_a_broker() -> None:
    """Whole files, and otherwise in the order that they had."""
    items = [
        item("docs/test_a.py"),
        item("integration/test_b.py"),
        item("integration/test_b.py", "broker"),
        item("integration/test_up.py"),
        item("soak/test_soak.py", "own_broker"),
        item("unit/stream/cli/test_worker.py"),
        item("unit/test_c.py", "guarded"),
    ]
    shared = list(items)
    sharing.share(shared)
    assert shared == [items[at] for at in (4, 3, 1, 2, 6, 0, 5)]


@pytest.mark.parametrize("place", sharing._MINUTES)
def test_what_is_said_to_take_minutes_is_there(place: str) -> None:
    """A file that is renamed must not lose its place in silence."""
    assert (ROOT / "tests" / place).is_file()
