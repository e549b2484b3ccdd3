"""What the ledger pins of an alarm: shares are whole loss units that never add up to more."""

from __future__ import annotations

from fractions import Fraction
from math import floor
from pathlib import Path

import pytest

from accountant.units import UNITS_PER_EPSILON
from stream.config.loading import load
from stream.decisions.mechanisms import plans_of
from stream.decisions.registration import registration
from stream.planning.budget import budget_plan
from tests.support.commands import configuration

SECOND = """\
  hall:
    sql: |
      SELECT room FROM badges
      GROUP BY room, TUMBLE(ts, INTERVAL '2' HOUR)
      HAVING COUNT(*) > 30
    max_fnr: 0.05
    tolerance: 1
    share: SHARE
"""


@pytest.mark.parametrize(
    ("epsilon_max", "shares"),
    [
        ("100/3", ("0.5", "0.5")),
        ("4", ("0.1234567890123", "0.2")),
        ("40", ("0.25", "0.75")),
    ],
)
def test_shares_are_rounded_down(tmp_path, epsilon_max, shares):
    """In the ledger as in the plan: what one alarm keeps is never taken from that of others."""
    units = [floor(Fraction(each) * Fraction(epsilon_max) * UNITS_PER_EPSILON) for each in shares]
    first = f"share: {shares[0]}"
    path = Path(configuration(tmp_path, unit="user", epsilon_max=epsilon_max, more=first))
    path.write_text(path.read_text() + SECOND.replace("SHARE", shares[1]))
    alarms = load(path, environ={})
    registered = [registration(query, alarms, 0) for query in alarms.by_name.values()]
    planned = budget_plan(alarms, plans_of(alarms)).alarms
    for found in (registered, planned):
        assert [one.share_units for one in found] == units
