"""What a user sees stays byte for byte what was recorded.

A change that is wanted is recorded anew: ``python -m tests.golden.record --write``, and the diff of
the records is reviewed like any other.
"""

from __future__ import annotations

import pytest

from tests.golden.record import GROUPS, RECORDS
from tests.golden.texts import difference, parse


@pytest.mark.parametrize("group", GROUPS)
def test_nothing_a_user_sees_has_changed(group):
    """Every text of a group is the recorded one; the diff says what is not."""
    recorded = parse((RECORDS / f"{group}.txt").read_text())
    changed = difference(recorded, GROUPS[group]())
    assert not changed, changed
