"""What the ledger pins of an alarm: shares are whole loss units that never add up to more."""

from __future__ import annotations

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
    ("epsilon_max", "shares", "units"),
    [
        ("100/3", ("0.5", "0.5"), [16_666_666_666_666] * 2),
        ("4", ("0.1234567890123", "0.2"), [493_827_156_049, 800_000_000_000]),
        ("40", ("0.25", "0.75"), [10 * UNITS_PER_EPSILON, 30 * UNITS_PER_EPSILON]),
    ],
)
def test_shares_are_rounded_down(
    tmp_path: Path, epsilon_max: str, shares: tuple[str, str], units: list[int]
) -> None:
    """In the ledger as in the plan: what one alarm keeps is never taken from the wall of others."""
    path = Path(configuration(tmp_path, unit="user", epsilon_max=epsilon_max))
    text = path.read_text() + f"    share: {shares[0]}\n"
    path.write_text(text + SECOND.replace("SHARE", shares[1]))
    alarms = load(path, environ={})
    registered = [registration(query, alarms, 0) for query in alarms.by_name.values()]
    assert [one.share_units for one in registered] == units
    assert sum(units) <= alarms.budget.epsilon_max * UNITS_PER_EPSILON
    planned = budget_plan(alarms, plans_of(alarms)).alarms
    assert [one.share_units for one in planned] == units
