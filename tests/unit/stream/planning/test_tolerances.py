"""How wide a tolerance may be before an alarm says little."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from stream.config.loading import load
from stream.planning.tolerances import useful_tolerance

if TYPE_CHECKING:
    from pathlib import Path

CONFIG = """\
feeds:
  doors:
    topic: shop.doors
    time: ts
    unit: person
    fields:
      ts: timestamp
      person: string
      room: {{domain: [hall, lab]}}
      bought: boolean
budget: {{privacy_unit: event, epsilon_max: 10}}
alarms:
  rate:
    sql: |
      SELECT room FROM doors
      GROUP BY room, TUMBLE(ts, INTERVAL '1' HOUR)
      HAVING {having}
    max_fnr: 0.05
    tolerance: 2
"""


@pytest.mark.parametrize(
    ("having", "tolerance"),
    [
        ("COUNT(*) > 60", 20),
        ("2 * COUNT(*) FILTER (WHERE bought) - COUNT(*) > 60", 20),
    ],
)
def test_a_third_of_the_threshold_is_the_most(tmp_path: Path, having: str, tolerance: int) -> None:
    """Also where it is a sum of several aggregates that has to reach it."""
    path = tmp_path / "alarms.yaml"
    path.write_text(CONFIG.format(having=having))
    (query,) = load(path, environ={}).by_name.values()
    (name,) = query.condition.atoms
    assert useful_tolerance(query, name) == tolerance
