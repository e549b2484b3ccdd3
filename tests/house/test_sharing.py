"""The files that are said to take longest are there."""

from __future__ import annotations

import pytest

from tests.support import sharing
from tests.support.tree import ROOT


@pytest.mark.parametrize("place", sharing._MINUTES)
def test_what_is_said_to_take_minutes_is_there(place):
    """A file that is renamed must not lose its place in silence."""
    assert (ROOT / "tests" / place).is_file()
